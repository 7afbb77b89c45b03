"""A real Ray cluster of two nodes on this host: same bits; workers and nodes that come and go; a driver that is killed.

One cluster for all tests of this file: starting one costs more than most of them.
"""

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

if importlib.util.find_spec("ray") is None:
    pytest.skip("Ray is not installed: nothing here was tested (pip install 'pvp-ml[ray]')", allow_module_level=True)

os.environ.update(  # read when Ray is imported or started: loopback, token, no telemetry, workers as nice as we are
    {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "0" * 64,
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
    }
)

from course import Course
from local_pool import LocalPool

from pvp_ml.cli.runs.league import eval_queue
from pvp_ml.cluster.eval_queue import run_eval_task
from pvp_ml.cluster.ray_cluster import connect, explain
from pvp_ml.cluster.remote import RemoteShards
from pvp_ml.errors import UserError, pip_install
from pvp_ml.games import registry
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.learning import Learning
from pvp_ml.run.placement import blueprint
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Tracker
from pvp_ml.run.trainer import Run

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")

FLAGS = ["--game", "connect4", "--env.matches", "12", "--ppo.n-steps", "6", "--ppo.batch-size", "48",
         "--network.trunk", "[16]", "--eval.every", "0", "--tracking.tensorboard", "false"]  # fmt: skip
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}


PATIENCE_S = 600.0
"""The most that anything may take; Ray's own 30 s for a node to start are too few for a crowded machine."""


@pytest.fixture(scope="module")
def cluster():
    """Two nodes with a CPU each."""
    from ray.cluster_utils import Cluster

    nodes = Cluster()
    add_node(nodes, **NODE)
    add_node(nodes, num_cpus=1, object_store_memory=80 << 20)
    yield nodes
    nodes.shutdown()


def add_node(cluster, **settings):
    cluster.add_node(wait=False, **settings)
    cluster.wait_for_nodes(PATIENCE_S)


def wait_until(true):
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < PATIENCE_S, "waited in vain"
        time.sleep(0.1)
    return time.monotonic() - begun


class Training:
    """A run on the cluster, rollout by rollout."""

    def __init__(self, folder, address, *flags):
        words = [*FLAGS, "--distribute", "2", "--ray-address", address, *flags]
        self.config = load_config("", words, folder)
        self.run = Run(self.config, RunStore(folder, "r"), Tracker())

    def go(self, rollouts=1):
        for _ in range(rollouts):
            self.run.record(self.run.collect(), self.run.learn())
        return self.run.tracker.last

    @property
    def seats(self):
        return self.run.learning.shards._roster.slots


@pytest.fixture
def training(cluster, tmp_path):
    made = []

    def make(*flags):
        made.append(Training(tmp_path, cluster.address, *flags))
        return made[-1]

    yield make
    for one in made:
        one.run.close()


def pids(run):
    """Process ids of the workers, by rank."""
    pool = run.learning.shards._pool
    return {
        rank: pool._ray.get(actor.__ray_call__.remote(lambda self: os.getpid())) for rank, actor in pool._actors.items()
    }


def test_two_nodes_learn_the_same_bits_and_survive(cluster, training):
    """Bits first; then two killed workers, each back within twice the time that the run took to start (seconds on a
    quiet machine); one lost node, and one that joins.
    """
    begun = time.monotonic()
    trained = training()
    trained.go()
    start = time.monotonic() - begun
    trained.go(3)
    here = Learning(RemoteShards(blueprint(trained.config, 2), trained.run.competition.mix(trained.run.progress), "",
                                 LocalPool(version=trained.run.learning.shards._pool.version,
                                          node_version=trained.run.learning.shards._pool.version)))  # fmt: skip
    here.shards.initialise()
    course = Course(here).go(4)
    assert course.weights.tobytes() == trained.run.learning.trainees["main"].policy.flat.numpy().tobytes()

    for kill in range(1, 3):
        os.kill(pids(trained.run)[kill % 2], signal.SIGKILL)
        begun = time.monotonic()
        wait_until(lambda kill=kill: trained.go()["cluster/lost"] == kill)
        wait_until(lambda: trained.go()["cluster/workers"] == 2)
        back = time.monotonic() - begun
        print(f"figures: started in {start:.1f} s, back after {back:.1f} s")
        assert back <= 2.0 * start + 1.0, (start, back)
        assert all(seat.losses == 0 for seat in trained.seats if seat.has_played)

    node = cluster.list_all_nodes()[-1]
    cluster.remove_node(node, allow_graceful=False)
    wait_until(lambda: trained.go()["cluster/workers"] == 1)
    before = trained.run.progress.steps
    trained.go(2)
    assert trained.run.progress.steps - before == 2 * 6 * 6  # the other worker alone
    add_node(cluster, num_cpus=1, object_store_memory=80 << 20)
    wait_until(lambda: trained.go()["cluster/workers"] == 2)
    before = trained.run.progress.steps
    trained.go(2)
    assert trained.run.progress.steps - before == 2 * 12 * 6


def test_stale_rollouts_and_evaluations_as_tasks(training):
    trained = training("--staleness", "1", "--eval.matches", "8")
    last = trained.go(5)
    assert 0.0 < last["cluster/staleness"] <= last["cluster/staleness_max"] <= 1.0
    there = trained.run.evaluate()[0]
    trained.run.learning.shards.task_runner = lambda: None
    assert trained.run.evaluate()[0] == there


def test_a_tournament_as_tasks_is_the_same_tournament(cluster, tmp_path):
    kind = registry.find("connect4")
    book = eval_queue(kind, kind.config(), ["random", "noop", "bot:greedy"][:2], [(0, 1)], 20, 3)
    with contextlib.closing(connect(cluster.address, 1)) as ray:
        there = list(book.play(ray))
    assert there == list(book.play(Here()))
    assert there[0].total.matches == 20


class Here:
    """Errands done in this process."""

    def put(self, arrays):
        return arrays

    def run(self, tasks, bundles):
        return (run_eval_task(task, [arrays[0].tobytes() for arrays in bundles]) for task in tasks)


def metrics(folder):
    path = folder / "r" / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


@pytest.mark.nightly
def test_a_killed_driver_goes_on_where_it_was(cluster, tmp_path):
    command = [sys.executable, "-m", "pvp_ml.train", *FLAGS, "--distributed", "--ray-address", cluster.address,
               "--run.directory", str(tmp_path), "--run.name", "r", "--run.checkpoint-every", "360",
               "--eval.matches", "4", "--tracking.view", "off", "--run.total-steps"]  # fmt: skip
    driver = subprocess.Popen([*command, "100000000"], cwd=tmp_path, stderr=subprocess.PIPE)
    wait_until(lambda: driver.poll() is not None or RunStore(tmp_path, "r").latest() is not None)
    assert driver.poll() is None, driver.stderr.read().decode()
    driver.kill()
    driver.communicate()
    saved = RunStore(tmp_path, "r").latest().step
    done = subprocess.run(
        [*command, str(saved + 720)], cwd=tmp_path, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    rows = [row for row in metrics(tmp_path) if "cluster/workers" in row]
    assert rows[-1]["steps"] >= saved + 720
    assert rows[-1]["cluster/workers"] == 2
    steps = [row["steps"] for row in rows]
    assert steps == sorted(set(steps))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "no Ray cluster answers at '127.0.0.1:1'"),
        ("nonsense", "Ray address 'nonsense' is not understood"),
        ("ray://127.0.0.1:10001", "is the address of Ray Client"),
    ],
)
def test_an_address_that_leads_nowhere_is_one_clear_line(address, said):
    begun = time.monotonic()
    with pytest.raises(UserError) as caught:
        connect(address, 1)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - begun < 10.0 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def test_another_ray_in_the_cluster_is_one_clear_line():
    from ray._private.utils import check_version_info

    with pytest.raises(RuntimeError) as caught:
        check_version_info({"ray_version": "2.40.0", "python_version": "3.11.1"}, "node 10.0.0.1")
    line = str(explain("10.0.0.1:6379", caught.value))
    assert "it runs Ray 2.40.0 on Python 3.11.1, this process Ray" in line
    assert "\n" not in line


def test_no_ray_is_one_clear_line(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=re.escape(f"needs Ray, which is not installed — {pip_install('ray')}")):
        connect("", 1)


def descendants(root):
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def listening(pids):
    """(hex address, port) of every TCP socket that these processes listen on."""
    inodes = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            inodes |= {os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [
        line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    return {tuple(row[1].split(":")) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes}


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks at sockets the Linux way")
def test_a_cluster_of_our_own_is_for_this_machine_alone(cluster):
    with contextlib.closing(connect("local", 1)) as own:
        assert own.cpus() == 1
        sockets = listening(descendants(os.getpid()))
    assert len(sockets) > 5
    assert {address for address, _ in sockets} <= LOOPBACK
    assert f"{8265:04X}" not in {port for _, port in sockets}


def test_the_token_lets_in_and_keeps_out(cluster):
    script = f"from pvp_ml.cluster.ray_cluster import connect; connect({cluster.address!r}, 1).close(); print('in')"
    changes = {"right": {}, "wrong": {"RAY_AUTH_TOKEN": "1" * 64}, "none": {"RAY_AUTH_MODE": "disabled"}}
    # All three at once: Ray itself waits 20 s before it gives up on a refused token.
    visitors = {
        name: subprocess.Popen(
            [sys.executable, "-c", script], env={**os.environ, **change}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for name, change in changes.items()
    }
    answers = {name: visitor.communicate(timeout=PATIENCE_S) for name, visitor in visitors.items()}
    assert answers["right"][0].strip() == b"in", answers["right"][1].decode()
    for name in ("wrong", "none"):
        printed, complaint = answers[name]
        last = complaint.decode().strip().splitlines()[-1]
        assert printed == b"", printed
        assert "UserError: the Ray cluster at" in last, complaint.decode()
        assert "refuses this token" in last


def test_the_cluster_file_is_one_that_ray_reads():
    import jsonschema
    import ray
    import yaml

    schema = json.loads((Path(ray.__file__).parent / "autoscaler/ray-schema.json").read_text())
    described = yaml.safe_load((Path(__file__).parents[2] / "cluster.yml").read_text())
    jsonschema.validate(described, schema)
    assert described["head_node_type"] in described["available_node_types"]
    starts = described["head_start_ray_commands"] + described["worker_start_ray_commands"]
    assert all(line.startswith("RAY_AUTH_MODE=token ") for line in starts)
    assert "0.0.0.0" not in str(described)


@pytest.mark.nightly
@pytest.mark.parametrize("staleness", [0, 1])
def test_a_worker_killed_every_30_s_for_10_minutes(cluster, training, staleness):
    """No hang, back within 10 s, and at least 80 % of the calm throughput."""
    flags = ["--game", "nh", "--env.matches", "128", "--ppo.n-steps", "32", "--ppo.batch-size", "1024"]
    trained = training(*flags, "--network.trunk", "[256, 256]", "--staleness", str(staleness))
    trained.go(5)

    def pace(seconds, kill_every):
        begun, first, kills, backs, out = time.monotonic(), trained.run.progress.steps, 0, [], None
        while (now := time.monotonic()) - begun < seconds:
            workers = trained.go()["cluster/workers"]
            if kill_every and now - begun > kill_every * (kills + 1) and out is None:
                os.kill(pids(trained.run)[kills % 2], signal.SIGKILL)
                kills, out = kills + 1, now
            elif out is not None and trained.run.tracker.last["cluster/lost"] == kills and workers == 2:
                backs.append(time.monotonic() - out)
                out = None
        return (trained.run.progress.steps - first) / (time.monotonic() - begun), backs

    calm, _ = pace(60.0, 0)
    stormy, backs = pace(600.0, 30.0)
    print(f"figures: calm {calm:.0f}, stormy {stormy:.0f} steps per second, back after {max(backs):.1f} s at most")
    assert len(backs) >= 18
    assert max(backs) <= 10.0
    assert stormy >= 0.8 * calm
