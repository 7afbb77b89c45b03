"""What a model wants to be asked, for bot authors: `GET /v1/models/NAME`."""

from __future__ import annotations

from typing import Any

from pvp_ml.serve.models import Model, PolicyModel
from pvp_ml.spec import Feature, Head


def describe(model: Model) -> dict[str, Any]:
    """Features, heads and rules by name, what can be asked for, and a request that can be sent as it is."""
    interface = model.interface
    return {
        "model": model.name,
        "frames": model.frames,
        "memory": model.memory > 0,
        "features": [
            _feature(i, feature) | seen
            for i, (feature, seen) in enumerate(zip(interface.features, _seen(model), strict=True))
        ],
        "heads": [_head(head) for head in interface.heads],
        "gives": _gives(model),
        "request": {
            "model": model.name,
            "obs": [[0.0] * interface.obs_size for _ in range(model.frames)],
            "actionMasks": [[True] * size for size in interface.head_sizes],
        },
    }


def _feature(index: int, feature: Feature) -> dict[str, Any]:
    most = {"flag": 1, "id": (feature.vocab or 1) - 1}.get(feature.kind)
    row = {"index": index, "name": feature.name, "kind": feature.kind, "meaning": feature.doc}
    return row if most is None else row | {"min": 0, "max": most}


def _seen(model: Model) -> list[dict[str, Any]]:
    """What each feature looked like in training; a bot whose numbers lie far from it sends something else."""
    count = model.interface.obs_size
    statistics = model.bundle.normalizer if isinstance(model, PolicyModel) else {}
    if len(statistics.get("obs/mean", ())) != count:
        return [{}] * count
    means, variances = statistics["obs/mean"], statistics["obs/var"]
    return [
        {"seen": {"mean": float(f"{mean:.4g}"), "std": float(f"{variance**0.5:.4g}")}}
        for mean, variance in zip(means, variances, strict=True)
    ]


def _head(head: Head) -> dict[str, Any]:
    rules = [
        {"choice": rule.choice, "needs": rule.when, "of": [f"{earlier}={choice}" for earlier, choice in rule.picks]}
        for rule in head.rules
    ]
    return {"name": head.name, "choices": list(head.choices), "rules": rules, "fallback": head.fallback}


def _gives(model: Model) -> list[str]:
    """Request fields that are answered with more than the action."""
    if not isinstance(model, PolicyModel):
        return []
    network = model.bundle.network
    fields = ["returnLogProb", "returnEntropy", "returnProbs"]
    fields += [] if network.privileged else ["returnValue"]
    return fields + (["extensions: winrate"] if network.win_head else [])
