"""Ray as the transport to rollout workers and tasks. The only module that imports it, and only when it is asked for.

A cluster that this process starts listens on loopback alone, wants a token, and has no dashboard unless asked. Ray
moves Python objects: anyone who reaches its ports can run code, so nothing here ever opens one to the outside.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import re
import secrets
import socket
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy.typing as npt

from pvp_ml.cluster.eval_queue import run_eval_task
from pvp_ml.cluster.roster import Ticket, WorkerLostError
from pvp_ml.cluster.worker import Handle, RolloutWorker, WorkerReply
from pvp_ml.errors import UserError, pip_install

REACH_TIMEOUT_S = 5.0
LOCAL = "local"
LEAST_STORE_BYTES = 96 << 20
START_ATTEMPTS = 3
LEAN = {
    "RAY_worker_niceness": "0",  # workers beside the trainer weigh as much as local shards
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_task_events_report_interval_ms": "0",
    "RAY_raylet_report_resources_period_milliseconds": "1000",
}
"""Settings of a cluster on this machine: what Ray does for large clusters only costs the few cores here."""

QUIET: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}


def connect(address: str, cpus: int, dashboard: bool = False, store_bytes: int = 0) -> RayCluster:
    """The cluster at `address` (`auto`, HOST:PORT; empty = $RAY_ADDRESS), or a new one here with so many CPUs."""
    if importlib.util.find_spec("ray") is None:
        raise UserError("distributing needs Ray, which is not installed", pip_install("ray"))
    address = address or os.environ.get("RAY_ADDRESS", "") or LOCAL
    _prepare(address)
    import ray

    if ray.is_initialized():
        return RayCluster(ray, is_ours=False)
    try:
        if address == LOCAL:
            _start_here(ray, cpus, dashboard, max(LEAST_STORE_BYTES, store_bytes))
        else:
            ray.init(address, **QUIET)
    except Exception as error:  # Ray raises whatever comes, plain Exception included
        raise explain(address, error) from error
    return RayCluster(ray, is_ours=True)


def _start_here(ray: ModuleType, cpus: int, dashboard: bool, store_bytes: int) -> None:
    """A cluster of one node. Ray gives its own processes 30 s to start; a busy machine may need another attempt."""
    for attempt in range(1, START_ATTEMPTS + 1):
        try:
            ray.init(LOCAL, num_cpus=cpus, include_dashboard=dashboard, object_store_memory=store_bytes, **QUIET)
            return
        except Exception as error:
            ray.shutdown()
            if attempt == START_ATTEMPTS or "timed out" not in str(error):
                raise


def _prepare(address: str) -> None:
    """Settings that Ray reads once, when it is imported or started; and a first look whether anybody is there."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # the coming default; without it Ray warns
    if address == LOCAL:
        for name, value in LEAN.items():
            os.environ.setdefault(name, value)
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        if not os.environ.get("RAY_AUTH_TOKEN_PATH"):
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        # Ray's name for "this machine only": every port is then bound to loopback, on Linux too
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    elif address.startswith("ray://"):
        raise UserError(
            f"'{address}' is the address of Ray Client",
            "train on a node of the cluster (`ray attach`), with --ray-address auto",
        )
    elif address != "auto":
        _reach(address)


def _reach(address: str) -> None:
    """Somebody listens at HOST:PORT; Ray itself would try for a minute and then end the process."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UserError(f"Ray address '{address}' is not understood", "use auto, or HOST:PORT such as 10.0.0.1:6379")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            f"no Ray cluster answers at '{address}' ({error})", "is it up? `ray up cluster.yml`, `ray start --head`"
        ) from None


def explain(address: str, error: Exception) -> UserError:
    """Ray's complaint as one line; the real reason is often in the error behind the error."""
    causes: list[BaseException] = [error]
    while behind := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(behind)
    text = " ".join(" ".join(map(str, causes)).split())
    if "ny running Ray instance" in text:
        return UserError(
            "no Ray cluster is running on this machine",
            "start one with `ray start --head` or `ray up cluster.yml`, or leave out --ray-address",
        )
    if "ersion mismatch" in text:
        found = re.findall(r"Ray: (\S+) Python: (\S+)", text)
        if len(found) == 2:
            (ray, python), (own, own_python) = found
            text = f"it runs Ray {ray} on Python {python}, this process Ray {own} on Python {own_python}"
        return UserError(f"cannot join the Ray cluster at '{address}': {text}", "install the same versions everywhere")
    if "uthenticat" in text or "token" in text.lower():
        return UserError(
            f"the Ray cluster at '{address}' refuses this token",
            "set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH as there",
        )
    return UserError(f"cannot join the Ray cluster at '{address}': {text[:300]}", "is it up? `ray status`")


class RayCluster:
    """A connection: rollout workers as actors, tasks as tasks."""

    def __init__(self, ray: ModuleType, is_ours: bool) -> None:
        self._ray = ray
        self._is_ours = is_ours
        self._actors: dict[int, Any] = {}
        self.version: str = ray.__version__

    def cpus(self) -> int:
        """CPUs of all nodes that are up."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def start(self, rank: int, blueprint: str, mix: bytes) -> None:
        """An actor on some free CPU; nodes are filled evenly. It waits for a CPU when there is none."""
        if rank in self._actors:
            with contextlib.suppress(Exception):
                self._ray.kill(self._actors[rank], no_restart=True)
        worker = self._ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")(
            RayWorker
        )
        self._actors[rank] = worker.remote(rank, blueprint, mix)

    def ask(self, rank: int, method: str, *args: Any) -> Ticket:
        """Call a method of the rank's worker."""
        return getattr(self._actors[rank], method).remote(*args)

    def put(self, arrays: Sequence[npt.NDArray[Any]]) -> Handle:
        """Into the object store; each node fetches it once. In a list, so that Ray passes it on unopened."""
        return [self._ray.put(list(arrays))]

    def wait(self, tickets: Sequence[Ticket], timeout_s: float) -> list[Ticket]:
        """Tickets that are answered or lost."""
        done, _ = self._ray.wait(list(tickets), num_returns=1, timeout=timeout_s)
        if done and len(tickets) > 1:
            done, _ = self._ray.wait(list(tickets), num_returns=len(tickets), timeout=0)
        return list(done)

    def take(self, ticket: Ticket) -> WorkerReply:
        """The answer; a worker, node or object that is gone is a WorkerLostError."""
        try:
            answer: WorkerReply = self._ray.get(ticket)
        except self._ray.exceptions.RayTaskError as error:
            raise UserError(f"a worker failed: {' '.join(str(error).split())[-300:]}") from None
        except self._ray.exceptions.RayError as error:
            if missing := re.search(r"No module named '[\w.]+'", str(error)):
                raise UserError(
                    f"a node cannot run workers: {missing[0]}", "install pvp-ml[train] on every node"
                ) from None
            raise WorkerLostError(f"was lost ({type(error).__name__})") from None
        return answer

    def run(self, tasks: Sequence[bytes], bundles: Sequence[Handle]) -> Iterator[bytes]:
        """Run the tasks, several at once; answers in their order. One whose node dies is done again."""
        cpus = (
            0 if self._actors else 1
        )  # workers hold their CPUs for the whole run; tasks beside them must not wait for one
        remote = self._ray.remote(num_cpus=cpus, max_retries=3, scheduling_strategy="SPREAD")(_eval_task)
        shared = [handle[0] for handle in bundles]
        pending = [remote.remote(task, shared) for task in tasks]
        try:
            for ticket in pending:
                yield self._ray.get(ticket)
        except self._ray.exceptions.RayError as error:
            raise UserError(f"a task was lost: {' '.join(str(error).split())[-300:]}", "see `ray status`") from None

    def close(self) -> None:
        """End the workers; leave the cluster, or end it if it was started here."""
        for actor in self._actors.values():
            with contextlib.suppress(Exception):
                self._ray.kill(actor, no_restart=True)
        self._actors = {}
        if self._is_ours and self._ray.is_initialized():
            self._ray.shutdown()


class RayWorker(RolloutWorker):
    """A rollout worker as an actor."""

    def __init__(self, rank: int, blueprint: str, mix: bytes) -> None:
        import ray

        super().__init__(rank, blueprint, mix, lambda handle: ray.get(handle[0]), ray.__version__)


def _eval_task(message: bytes, bundles: list[Any]) -> bytes:
    """A task's body; the bundles are fetched here, each once per node."""
    import ray

    return run_eval_task(message, [arrays[0].tobytes() for arrays in ray.get(bundles)])
