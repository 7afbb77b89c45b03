"""Numbers that a file may hold and the code behind it cannot: too large, not whole, not finite once they are used."""

import io
import json

import numpy as np
import pytest

from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.games import registry, replay
from pvp_ml.model.bundle import make_bundle, pack_bundle, read_bundle
from pvp_ml.model.network_config import NetworkConfig, normalizer_shapes, tensor_shapes
from pvp_ml.players import actor_of
from pvp_ml.selfplay.league import League

SPEC = registry.find("connect4").spec(registry.find("connect4").config())
PLAN = {"serial": 0, "seed": 1, "scenario": SPEC.scenarios[0].name, "bots": [None, None]}
HEAD = {"format": 1, "game": "connect4", "digest": SPEC.game_digest, "config": {}, "plan": PLAN}


def replay_of(step="[[3],[0]]", **changes):
    plan = {**PLAN, **{key: changes.pop(key) for key in list(changes) if key in (*PLAN, "home")}}
    return f"{json.dumps({**HEAD, 'plan': plan, **changes})}\n{step}\n"


def test_the_replay_that_is_spoilt_below_plays():
    assert len(list(replay.play(replay.parse_replay(io.BytesIO(replay_of().encode()), "x")))) == 2


@pytest.mark.parametrize(
    "text",
    [
        replay_of("[[99999999999999999999],[0]]"), replay_of("[[Infinity],[0]]"), replay_of("[[2147483648],[0]]"),
        replay_of("[[1e308],[0]]"), replay_of("[[3.5],[0]]"), replay_of('[["3"],[0]]'), replay_of("[[null],[0]]"),
        replay_of("[3,0]"), replay_of("{}"), replay_of(serial=float("inf")), replay_of(serial=1 << 70),
        replay_of(serial=-1), replay_of(seed=float("nan")), replay_of(seed=1 << 64), replay_of(seed=-5),
        replay_of(home=1 << 40), replay_of(home=-1), replay_of(home=float("inf")), replay_of(bots=[3, 4]),
        replay_of(bots=[]), replay_of(bots=[None] * 1000), replay_of(plan=[]), replay_of(config=[["a", 1]]),
        replay_of(names="ab"), replay_of(names=[1]), replay_of(format=1e999), replay_of(format="\x1b[2J"),
    ],
)  # fmt: skip
def test_replays(tmp_path, capsys, text):
    (tmp_path / "x.replay").write_text(text)
    assert run(["replay", str(tmp_path / "x.replay")]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("scale", [1e20, 3e38])
@pytest.mark.parametrize("heads", ["table", "independent", "mlp"])
def test_a_policy_whose_numbers_overflow_still_chooses_legally(scale, heads):
    """Finite weights, logits that are not: the choice was the first column, legal or not."""
    kind = registry.find("nh")
    interface, rng = kind.spec(kind.config()).interface, np.random.default_rng(3)
    network = NetworkConfig(trunk=(8, 8), heads=heads, head_layers=(4,))
    weights = {
        name: np.clip(rng.normal(size=shape) * scale, -3e38, 3e38).astype(np.float32)
        for name, shape in tensor_shapes(network, interface).items()
    }
    statistics = {name: np.ones(shape) for name, shape in normalizer_shapes(network, interface).items()}
    made = make_bundle(kind.spec(kind.config()), network, weights, statistics)
    actor = actor_of(read_bundle(pack_bundle(made)))
    mask = np.zeros((64, interface.mask_size), np.bool_)
    for low, size in zip(actor.heads.offset[:-1], interface.head_sizes, strict=True):
        mask[np.arange(64), low + rng.integers(min(1, size - 1), size, 64)] = True
    out = actor.heads.decision(64)
    with np.errstate(all="ignore"):
        obs = rng.normal(size=(64, interface.obs_size)).astype(np.float32)
        actor.act(obs, mask, np.arange(64, dtype=np.uint64), np.zeros(64, np.bool_), out)
    chosen = actor.heads.offset[:-1] + out.actions
    assert np.take_along_axis(out.legal, chosen, axis=1).all()


@pytest.mark.parametrize(
    ("system", "rating"),
    [("openskill", [1e8, 1.0]), ("openskill", [-2000.0, 8.0]), ("openskill", [25.0, -1.0]), ("elo", [1e7, 0.0])],
)
def test_ratings_that_no_league_has(system, rating):
    saved = {**League().to_json(), "rating_system": system, "ratings": {"main": rating}}
    with pytest.raises(UserError, match="a rating is beyond"):
        League.from_json(saved)


@pytest.mark.parametrize(("system", "most"), [("openskill", 1000.0), ("elo", 50_000.0)])
def test_the_largest_ratings_that_are_read_can_be_played_with(system, most):
    saved = {**League().to_json(), "rating_system": system, "ratings": {"main": [most, 0.0], "a": [-most, most]}}
    league = League.from_json(saved)
    league.book("main", "a", 0.0)
    league.book("a", "main", 1.0)
    assert all(np.isfinite([belief.mu, belief.sigma]).all() for belief in league.ratings.values())
