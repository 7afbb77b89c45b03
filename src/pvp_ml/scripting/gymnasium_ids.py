"""`gymnasium.make("pvp_ml/nh-v0")`: games as Gymnasium ids, once both packages are imported, in either order.

Gymnasium loads no plug-ins by itself, and importing it here would make `import pvp_ml` slow.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

ENV = "pvp_ml.games.adapters.envs:MatchEnv"


def register() -> None:
    """Every installed game as `pvp_ml/NAME-v0`, and `pvp_ml/Match-v0` with the game as an argument."""
    from importlib import import_module
    from importlib.metadata import entry_points

    registration = import_module("gymnasium.envs.registration")
    ids: dict[str, dict[str, Any]] = {"pvp_ml/Match-v0": {}} | {
        f"pvp_ml/{entry.name}-v0": {"game": entry.name} for entry in entry_points(group="pvp_ml.games")
    }
    for name, arguments in ids.items():
        if name not in registration.registry:
            registration.register(name, entry_point=ENV, kwargs=arguments)


def register_once_imported() -> None:
    """Register now if gymnasium is imported already, else right after somebody imports it."""
    if "gymnasium" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _Waiting())


class _Waiting:
    """Waits for the import of gymnasium; finds nothing else, and leaves once it has."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of gymnasium with one step more at the end; None for everything else."""
        if fullname != "gymnasium":
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_register(module: ModuleType) -> None:
                run(module)
                register()

            spec.loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec
