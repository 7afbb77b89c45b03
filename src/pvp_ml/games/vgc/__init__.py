"""Pokémon VGC doubles on the Showdown simulator. Needs Node and an npm package: `pvp-ml game setup vgc`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pvp_ml.games.registry import GameType
from pvp_ml.games.vgc.config import VgcConfig, make_spec

if TYPE_CHECKING:
    from pvp_ml.match import AsyncVecGame


def _build(config: VgcConfig, matches: int) -> AsyncVecGame:
    from pvp_ml.games.vgc.game import VgcGame

    return VgcGame(config, matches)


def _setup(progress: Callable[[str], None]) -> None:
    from pvp_ml.games.vgc.node.install import setup

    setup(progress)


def _watch(config: VgcConfig, first: str, second: str, scenario: str, seed: int) -> Iterator[str]:
    from pvp_ml.games.vgc.show.view import watch

    return watch(config, first, second, scenario, seed)


def _bench(config: VgcConfig, tell: Callable[[str], None]) -> dict[str, Any]:
    from pvp_ml.games.vgc.bench import bench

    return bench(config=config, progress=tell)


GAME = GameType(
    name="vgc",
    title="Pokémon VGC doubles",
    config=VgcConfig,
    spec=make_spec,
    build=_build,
    status="tested",
    setup=_setup,
    asynchronous=True,
    symmetric=True,
    watch=_watch,
    bench=_bench,
)
