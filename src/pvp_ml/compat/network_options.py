"""The original's networks in JSON (`{"layers": [{"size": 512, "activation": "relu", "repeat": 2}]}`) as ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pvp_ml.errors import UserError

ACTIVATIONS = ("relu", "tanh")
DEFAULT_TRUNK = [64, 64]
"""What the original builds when no layers are given."""


class Lookup(Protocol):
    """What a translation may ask."""

    def old(self, name: str, default: Any = None) -> Any:
        """Another option of the original."""


def layers(config: Any) -> tuple[list[int], str]:
    """Sizes of the hidden layers and their activation ("" when there are none)."""
    sizes: list[int] = []
    used: set[str] = set()
    for layer in dict(config or {}).get("layers", ()):
        if "dropout" in layer:
            raise UserError("a layer with dropout is not read", "leave dropout out: the policy must act as it learns")
        activation = layer.get("activation", "")
        if activation not in ACTIVATIONS:
            raise UserError(f"activation '{activation}' is not read", f"choose from: {', '.join(ACTIVATIONS)}, silu")
        used.add(activation)
        sizes += [int(layer["size"])] * int(layer.get("repeat", 1))
    if len(used) > 1:
        raise UserError(f"activations {', '.join(sorted(used))} in one network", "network.activation is one for all")
    return sizes, next(iter(used), "")


def _actor(value: Any, given: Lookup) -> dict[str, Any]:
    before, _ = layers(given.old("feature-extractor"))
    sizes, activation = layers(value)
    network: dict[str, Any] = {"trunk": before + (sizes or DEFAULT_TRUNK)}
    return {"network": network | ({"activation": activation} if activation else {})}


def is_old_critic(value: Any) -> bool:
    """`critic` is a word here and was a network there."""
    return isinstance(value, Mapping)


def old_critic(value: Any, extractor: Any) -> dict[str, Any]:
    """The original's critic always had a trunk of its own."""
    return {"critic": "separate", "critic_trunk": layers(extractor)[0] + (layers(value)[0] or DEFAULT_TRUNK)}


def _extractor(value: Any, given: Lookup) -> dict[str, Any]:
    """Layers before the trunk are the first layers of the trunk."""
    return _actor(given.old("actor"), given) if layers(value)[0] else {}


def _heads(value: Any, given: Lookup) -> dict[str, Any]:
    configs = [layers(config)[0] for config in (value if isinstance(value, list) else [value])]
    if any(config != configs[0] for config in configs):
        raise UserError("action-heads of different shapes are not read", "network.head_layers is one for all heads")
    return {"network": {"heads": "mlp", "head_layers": configs[0]} if configs[0] else {"heads": "table"}}


def _privileged(value: Any, given: Lookup) -> dict[str, Any]:
    return {"network": {"privileged": True, "critic": "separate"} if value else {"privileged": False}}


def _share(value: Any, given: Lookup) -> dict[str, Any]:
    return {"network": {"critic": "shared"}} if value else {}


def _policy(value: Any, given: Lookup) -> dict[str, Any]:
    flags = {str(key).replace("-", "_"): flag for key, flag in dict(value or {}).items()}
    if flags.pop("append_future_action_masks", False):
        raise UserError("append-future-action-masks is not read", "it never worked; masks decide what is legal")
    autoregressive = flags.pop("autoregressive_actions", True)
    flags.pop("normalize_autoregressive_actions", None)
    if flags:
        raise UserError(f"policy-kwargs: '{min(flags)}' is not read", "see `network` in TRAIN_OPTIONS.md")
    return {} if autoregressive else {"network": {"heads": "independent"}}


NETWORKS: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "feature-extractor": _extractor,
    "share-feature-extractor": _share,
    "actor": _actor,
    "action-heads": _heads,
    "policy-kwargs": _policy,
    "include-target-obs-in-critic": _privileged,
}
