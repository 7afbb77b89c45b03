"""`pvp-ml bench serve`: requests per second of a server, beside a plain one-request-at-a-time torch server."""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pvp_ml.cli.bench.command import BASELINES, AsJson, check
from pvp_ml.cli.serve import EngineName, runtimes
from pvp_ml.games import registry
from pvp_ml.model.bundle import make_bundle, model_name, read_bundle, read_metadata, write_bundle
from pvp_ml.model.network_config import NetworkConfig, normalizer_shapes, tensor_shapes
from pvp_ml.serve import onnx_runtime
from pvp_ml.serve.load import Load, closed_loop
from pvp_ml.serve.runtimes import seconds_per_call
from pvp_ml.spec import Interface

EAGER = BASELINES / "eager_torch_server.py"
SHAPES = {
    "default": NetworkConfig(),
    "original": NetworkConfig(trunk=(512, 512), critic="separate", heads="mlp", head_layers=(128, 128)),
}
JUDGED = 16  # clients of the headline figure
_SERVE = "from pvp_ml.cli.serve import *; serve(ServeOptions(model=({!r},), port=0, engine={!r}))"
_COMPARED = (1, 4, 16, 64)  # rows at which the engines themselves are compared


def serve(*, game: str = registry.DEMO_GAME, network: Literal["default", "original", "both"] = "both",
          model: Path | None = None, clients: Sequence[int] = (1, JUDGED, 64), seconds: float = 2.0, repeats: int = 3,
          engine: EngineName = "auto", as_json: AsJson = False) -> None:  # fmt: skip
    """Clients that ask again as soon as they are answered: requests per second of the server's processor time.

    Args:
        game: whose observations and actions are asked for
        network: the shape of the network, with random weights
        model: a model file instead
        clients: how many at once; may be given several times
        seconds: per repeat
        repeats: number of repeats, the two servers in turn
        engine: as in `pvp-ml serve`
        as_json: print one JSON object
    """
    check(min(clients), seconds, repeats)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        shapes = SHAPES if network == "both" else {network: SHAPES[network]}
        paths = [model] if model else [_random_model(Path(folder) / f"{n}.zip", game, s) for n, s in shapes.items()]
        for path in paths:
            rows = _measure(path, engine, clients, seconds, repeats)
            results.append({**_summary(f"serve/{model_name(path)}", rows, repeats), "engines": _engines(path)})
    if as_json:
        print(json.dumps({**results[0], "networks": results}))
        return
    for result in results:
        _print(result)


def _print(result: dict[str, Any]) -> None:
    print(result["metric"])
    for row in result["table"]:
        for who in ("ours", "eager"):
            if row[who]:
                print(f"{row['clients']:>4} clients, {who}: " + ", ".join(f"{k} {v:,}" for k, v in row[who].items()))
    for name, costs in result["engines"].items():
        print(f"  {name:>6}: " + ", ".join(f"{cost} µs a row at {rows}" for rows, cost in costs.items()))
    if result["ratio"]:
        print(f"{result['ratio']:.1f} × the eager server at {result['clients']} clients")


def _engines(path: Path) -> dict[str, dict[str, float]]:
    """Engine → rows → microseconds a row, of every engine that is installed."""
    bundle = read_bundle(path)
    names: list[EngineName] = ["numpy"]
    names += ["onnx"] if onnx_runtime.is_available() else []
    names += ["torch"] if importlib.util.find_spec("torch") is not None else []
    found: dict[str, dict[str, float]] = {}
    for name in names:
        (kind,) = runtimes(name)
        runtime = kind.make(bundle)
        found[name] = {str(n): round(seconds_per_call(runtime, bundle, n) / n * 1e6, 1) for n in _COMPARED}
    return found


def _random_model(path: Path, game: str, network: NetworkConfig) -> Path:
    found = registry.find(game)
    spec = found.spec(found.config())
    rng = np.random.default_rng(0)
    shapes = tensor_shapes(network, spec.interface)
    tensors = {name: rng.normal(size=shape, scale=0.1).astype(np.float32) for name, shape in shapes.items()}
    statistics_ = {name: np.ones(shape) for name, shape in normalizer_shapes(network, spec.interface).items()}
    write_bundle(path, make_bundle(spec, network, tensors, statistics_))
    return path


def _lines(name: str, interface: Interface) -> list[bytes]:
    """Sixteen different questions."""
    rng = np.random.default_rng(1)
    masks = [[True] * size for size in interface.head_sizes]
    ids = np.array([f.kind == "id" for f in interface.features])
    rows = np.where(ids, 0.0, rng.normal(size=(16, len(ids))).round(4)).tolist()
    return [json.dumps({"model": name, "obs": [row], "actionMasks": masks}).encode() + b"\n" for row in rows]


def _measure(
    path: Path, engine: EngineName, clients: Sequence[int], seconds: float, repeats: int
) -> list[dict[str, Any]]:
    lines = _lines(model_name(path), read_metadata(path)[1])
    commands = {"ours": [sys.executable, "-c", _SERVE.format(str(path), engine)]}
    if EAGER.is_file():
        commands["eager"] = [sys.executable, str(EAGER), str(path), "0"]
    loads: dict[tuple[str, int], list[Load]] = {}
    for number in range(1, repeats + 1):
        for who, command in commands.items():
            print(f"{model_name(path)}, {who}: repeat {number} of {repeats} …", file=sys.stderr, flush=True)
            with _running(command) as (pid, port):
                closed_loop(port, lines, 4, 0.3, pid)
                for count in clients:
                    loads.setdefault((who, count), []).append(closed_loop(port, lines, count, seconds, pid))
    return [
        {"clients": count, **{who: _facts(loads.get((who, count), [])) for who in ("ours", "eager")}}
        for count in clients
    ]


def _facts(loads: list[Load]) -> dict[str, Any]:
    if not loads:
        return {}
    per_cpu = [load.per_cpu_second for load in loads]
    return {
        "per_cpu_second": round(statistics.median(per_cpu)),
        "per_second": round(statistics.median(load.per_second for load in loads)),
        "p50_ms": round(statistics.median(load.quantile_ms(0.5) for load in loads), 3),
        "p99_ms": round(statistics.median(load.quantile_ms(0.99) for load in loads), 3),
        "errors": sum(load.errors for load in loads),
        "spread": round((max(per_cpu) - min(per_cpu)) / statistics.median(per_cpu), 3),
    }


def _summary(metric: str, rows: list[dict[str, Any]], repeats: int) -> dict[str, Any]:
    judged = next((row for row in rows if row["clients"] == JUDGED), rows[-1])
    ours, eager = judged["ours"], judged["eager"]
    baseline = eager.get("per_cpu_second")
    return {
        "metric": metric,
        "value": ours["per_cpu_second"],
        "unit": "requests per CPU-second of the server",
        "baseline": baseline,
        "ratio": round(ours["per_cpu_second"] / baseline, 2) if baseline else None,
        "repeats": repeats,
        "spread": ours["spread"],
        "split": {},
        "clients": judged["clients"],
        "table": rows,
    }


@contextmanager
def _running(command: list[str]) -> Iterator[tuple[int, int]]:
    """(pid, port) of a server that prints its port as the only number of its first line, or as the last word."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **one_thread}) as child:  # noqa: S603
        assert child.stdout is not None
        words = child.stdout.readline().replace(";", " ").replace(",", " ").split()
        try:
            yield child.pid, next(int(word) for word in words if word.isdigit())
        finally:
            child.terminate()
