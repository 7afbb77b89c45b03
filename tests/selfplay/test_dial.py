"""The strength dial: what a held-back player sees, when it decides, and how its choices spread."""

from __future__ import annotations

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.registry import find
from pvp_ml.model.bundle import make_bundle
from pvp_ml.model.dial import Dial
from pvp_ml.model.network_config import NetworkConfig, normalizer_shapes, tensor_shapes
from pvp_ml.players import BundlePlayer
from pvp_ml.selfplay.dial import Slowed, read_dial, with_strength
from pvp_ml.selfplay.evaluate import find_contestant
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm

SPEC = GameSpec(
    name="clock",
    version=1,
    teams=((0,), (1,)),
    blocks=(Block("now", 1, (Feature("time"),)),),
    heads=(Head("choice", tuple("abcdefgh")),),
    rewards=(RewardTerm("win"),),
    max_steps=100,
)


class Echo:
    """Chooses the number that it sees."""

    def __init__(self) -> None:
        self.asked = 0

    def begin(self, serials):
        pass

    def end(self, serials):
        pass

    def decide(self, serials, seats, obs, mask, keys):
        self.asked += len(obs)
        return obs.astype(np.int32) % 8


def play(dial: Dial, steps: int, legal=lambda step: np.ones((1, 8), bool)) -> list[int]:
    player = Slowed(Echo(), SPEC, dial)
    player.begin(np.array([7]))
    decided = []
    for t in range(steps):
        seen = np.array([[t]], np.float32)
        decided.append(player.decide(np.array([7]), np.array([0]), seen, legal(t), np.zeros(1, np.uint64)))
    return [int(action[0, 0]) for action in decided]


def test_a_delayed_player_answers_what_was_there_before():
    assert play(Dial(delay=2), 6) == [0, 0, 0, 1, 2, 3]


def test_a_player_that_skips_holds_its_choice():
    assert play(Dial(skip=3), 8) == [0, 0, 0, 3, 3, 3, 6, 6]


def test_a_held_choice_that_became_illegal_is_made_anew():
    def legal(step: int) -> np.ndarray:
        mask = np.ones((1, 8), bool)
        mask[0, 0] = step != 1
        return mask

    assert play(Dial(skip=3), 5, legal) == [0, 1, 1, 1, 4]


def test_matches_are_kept_apart():
    player = Slowed(Echo(), SPEC, Dial(delay=1))
    for t in range(3):
        seen = np.array([[t], [t + 4]], np.float32)
        decided = player.decide(np.array([1, 2]), np.array([0, 0]), seen, np.ones((2, 8), bool), np.zeros(2, np.uint64))
    assert decided[:, 0].tolist() == [1, 5]
    player.end(np.array([1]))
    seen = np.array([[6], [7]], np.float32)
    decided = player.decide(np.array([1, 2]), np.array([0, 0]), seen, np.ones((2, 8), bool), np.zeros(2, np.uint64))
    assert decided[:, 0].tolist() == [6, 6]


def shares(temperature: float) -> np.ndarray:
    """How often each choice is drawn by a policy with logits 0, 1, 2, … whatever it sees."""
    network = NetworkConfig(trunk=(4,))
    tensors = {name: np.zeros(shape, np.float32) for name, shape in tensor_shapes(network, SPEC.interface).items()}
    bias = next(name for name, tensor in tensors.items() if tensor.shape == (8,))
    tensors[bias][:] = np.arange(8)
    normalizer = {
        name: np.full(shape, 1.0 if name.endswith("var") else 0.0)
        for name, shape in normalizer_shapes(network, SPEC.interface).items()
    }
    player = BundlePlayer(make_bundle(SPEC, network, tensors, normalizer, None, ()), SPEC, False, temperature)
    keys = np.random.default_rng(3).integers(0, 2**63, 20_000).astype(np.uint64)
    rows = np.arange(len(keys))
    drawn = player.decide(
        rows, np.zeros(len(keys), np.int32), np.zeros((len(keys), 1), np.float32), np.ones((len(keys), 8), bool), keys
    )
    return np.bincount(drawn[:, 0], minlength=8) / len(keys)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_temperature_divides_the_logits(temperature):
    wanted = np.exp(np.arange(8) / temperature)
    assert shares(temperature) == pytest.approx(wanted / wanted.sum(), abs=0.015)


def test_the_dial_is_read_from_the_end_of_a_name():
    assert read_dial("a@b/best.zip@temperature=2,delay=3,skip=4") == ("a@b/best.zip", Dial(2.0, 3, 4))
    assert read_dial("a@b.zip") == ("a@b.zip", Dial())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("m.zip@speed=1", "no 'speed'"), ("m.zip@delay=x", "delay is 'x'"), ("m.zip@skip=0", "skip is 0"),
     ("m.zip@temperature=nan", "temperature is nan")],
)  # fmt: skip
def test_a_wrong_dial_is_refused_by_name(name, wrong):
    with pytest.raises(UserError, match=wrong):
        read_dial(name)


def test_bots_have_no_dial(tmp_path):
    spec = find("connect4").spec(find("connect4").config())
    with pytest.raises(UserError, match="only models have a strength dial"):
        find_contestant(f"{spec.bots[0]}@delay=2", spec, tmp_path)


def test_half_a_delay_is_one_decision_every_other_time():
    player = Slowed(Echo(), SPEC, Dial(delay=0.5))
    now = late = 0
    for t in range(400):
        seen = np.array([[t]], np.float32)
        chosen = player.decide(np.array([7]), np.array([0]), seen, np.ones((1, 8), bool), np.array([t], np.uint64))
        now, late = now + (chosen[0, 0] == t % 8), late + (chosen[0, 0] == (t - 1) % 8)
    assert now + late in (400, 401) and 160 < late < 240


def test_mistakes_are_random_legal_choices():
    player = Slowed(Echo(), SPEC, Dial(mistakes=0.4))
    keys = np.random.default_rng(1).integers(0, 2**63, 4000).astype(np.uint64)
    mask = np.ones((4000, 8), bool)
    mask[:, 3] = False
    seen = np.full((4000, 1), 5, np.float32)
    chosen = player.decide(np.arange(4000), np.zeros(4000, np.int32), seen, mask, keys)[:, 0]
    shares = np.bincount(chosen, minlength=8) / 4000
    assert shares[5] == pytest.approx(0.6 + 0.4 / 7, abs=0.03) and shares[3] == 0.0
    assert shares[[0, 1, 2, 4, 6, 7]] == pytest.approx(np.full(6, 0.4 / 7), abs=0.015)


def test_strength_is_put_behind_a_name_once():
    assert with_strength("m.zip", 40) == "m.zip@strength=40" and with_strength("m.zip", 0) == "m.zip"
    assert read_dial("m.zip@strength=40") == ("m.zip", Dial(strength=40))
    with pytest.raises(UserError, match="dial of its own"):
        with_strength("m.zip@delay=1", 40)
    with pytest.raises(UserError, match="strength sets temperature"):
        read_dial("m.zip@strength=40,delay=2")
    with pytest.raises(UserError, match="strength is 101"):
        read_dial("m.zip@strength=101")
