"""`pvp-ml serve`: answer other programs' requests for decisions."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from pvp_ml import data_files
from pvp_ml.errors import UserError, pip_install
from pvp_ml.model.bundle import Bundle, model_name
from pvp_ml.model.dial import Dial
from pvp_ml.model.sampling.heads import Heads
from pvp_ml.selfplay.dial import read_dial, with_strength
from pvp_ml.serve import onnx_runtime
from pvp_ml.serve.engine import WAITING_SHARE
from pvp_ml.serve.limits import Limits
from pvp_ml.serve.runtimes import NUMPY, ProgramRuntime, Runtime, RuntimeType
from pvp_ml.serve.server import DEFAULT_PORT, ServeConfig, serve_until_stopped

Hidden = Annotated[str, Parameter(show=False)]
EngineName = Literal["auto", "numpy", "onnx", "torch"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The flags of `pvp-ml serve`.

    Attributes:
        model: a model file or name, optionally with a dial (NAME@strength=40); may be given several times
        strength: weaken every named model to this strength, 1…100, by its measured map; 0 = full strength
        models_dir: serve every .zip in this folder; default: ./models if there is no --model
        plugin: a scripted player to serve; may be given several times
        game: the game of the plugins, if the models do not determine it
        host: address to listen on; any other than this machine needs a token
        port: port for JSON lines
        side_port: port for HTTP (/healthz /readyz /metrics /v1/models /v1/predict) and WebSocket (/v1/stream)
        token_file: file with the token; or set PVP_ML_TOKEN
        allow_origin: allow requests from pages of this origin, e.g. https://example.org; may be given several times
        deadline_ms: a request that waits longer gets an error instead
        max_connections: limit of the JSON-lines port; the side port has its own limit
        idle_timeout: close a connection after this many seconds without a message; 0 = never
        reload_seconds: how often to look for changed files; 0 = never
        float_values: return `values` as one number, as old servers did, instead of a list
        protocol: old = close the connection on an error and explain it only in the log, because clients of the old
            API do not expect a field `error` (`serve-api` uses it)
        seed: seed for sampled actions; default: a secret one
        engine: library that computes the networks; auto measures and picks the fastest for each batch size
        device: cpu, or a torch device such as cuda
    """

    model: tuple[str, ...] = ()
    strength: int = 0
    models_dir: Path | None = None
    plugin: tuple[str, ...] = ()
    game: str = ""
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    side_port: int | None = None
    token_file: Path | None = None
    allow_origin: tuple[str, ...] = ()
    deadline_ms: float = 100.0
    max_connections: int = 256
    idle_timeout: float = 60.0
    reload_seconds: float = 2.0
    float_values: bool = False
    protocol: Literal["current", "old"] = "current"
    seed: int | None = None
    engine: EngineName = "auto"
    device: str = "cpu"
    remote_processor_pool_size: Hidden = "1"
    remote_processor_type: Hidden = "thread"
    remote_processor_kwargs: Hidden = "{}"


_DEFAULTS = ServeOptions()


def serve(options: ServeOptions = _DEFAULTS) -> None:
    """Answer requests for decisions over TCP (JSON lines), HTTP and WebSocket, until Ctrl-C."""
    config = to_config(options)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve_until_stopped(config, lambda ports: _tell(options.host, ports)))


def to_config(options: ServeOptions) -> ServeConfig:
    """The flags as the server wants them; names are looked up, secrets read."""
    limits = replace(
        Limits(),
        deadline_s=options.deadline_ms / 1000.0,
        wait_s=WAITING_SHARE * options.deadline_ms / 1000.0,
        connections=options.max_connections,
        idle_s=options.idle_timeout,
    )
    folder = options.models_dir
    if folder is None and not options.model and not options.plugin:
        folder = Path("models")
    named = [read_dial(with_strength(name, options.strength)) for name in options.model]
    if options.strength and not named:
        raise UserError("--strength holds back the models that --model names, and there is none", "name one")
    found = [(_find(name), dial) for name, dial in named]
    return ServeConfig(
        models=tuple(path for path, _ in found),
        dials={model_name(path): dial for path, dial in found if dial != Dial()},
        models_dir=folder,
        plugins=options.plugin,
        game=options.game,
        host=options.host,
        port=options.port,
        side_port=options.side_port,
        token=read_token(options.token_file),
        origins=frozenset(options.allow_origin),
        float_values=options.float_values,
        closes_on_error=options.protocol == "old",
        reload_s=options.reload_seconds,
        seed=secrets.randbits(63) if options.seed is None else options.seed,
        runtimes=runtimes(options.engine, options.device),
        limits=limits,
    )


def runtimes(engine: EngineName, device: str = "cpu") -> tuple[RuntimeType, ...]:
    """What may compute a policy. On a processor torch was never the fastest, so `auto` does not load it."""
    if device != "cpu" and engine not in ("auto", "torch"):
        raise UserError(f"engine '{engine}' runs on the processor, not on '{device}'", "use --engine torch")
    if engine == "numpy":
        return (NUMPY,)
    if engine == "onnx":
        return (onnx_runtime.ONNX,)
    if engine == "torch":
        return (torch_runtime(device),)
    if device != "cpu":
        return (NUMPY, torch_runtime(device))
    return (NUMPY, onnx_runtime.ONNX) if onnx_runtime.is_available() else (NUMPY,)


def torch_runtime(device: str) -> RuntimeType:
    """Policies through torch on a device."""
    try:
        from pvp_ml.rl.policy.torch_runtime import find_device, torch_decider
    except ImportError as error:
        raise UserError("engine 'torch' needs torch", pip_install("train")) from error
    find_device(device)

    def make(bundle: Bundle) -> Runtime:
        program = torch_decider(bundle.network, bundle.interface, bundle.tensors, bundle.normalizer, device)
        return ProgramRuntime(Heads.compile(bundle.interface.heads), program)

    return RuntimeType("torch", make)


def _find(name: str) -> Path:
    path = data_files.find("models", name, (".zip",), Path.cwd())
    if path is None:
        raise UserError(f"there is no model '{name}'", "see `pvp-ml model list`, or give a path")
    return path


def read_token(file: Path | None) -> str:
    """The token of that file, else of the environment; '' for none."""
    if file is None:
        return os.environ.get("PVP_ML_TOKEN", "").strip()
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UserError(f"cannot read token file '{file}': {error.strerror}") from error


def _tell(host: str, ports: tuple[int, int | None]) -> None:
    side = f", HTTP on port {ports[1]}" if ports[1] is not None else ""
    print(f"serving on {host} port {ports[0]}{side}; Ctrl-C ends it", flush=True)
