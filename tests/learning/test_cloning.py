"""Behaviour cloning: a known policy is copied, recordings are checked, PPO from a clone does not fall below it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from session import Session
from specimens import random_policy

from pvp_ml.chance import scramble
from pvp_ml.cli.bc import read_shares
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.toys.connect4 import CELLS
from pvp_ml.model.bundle import Training, make_bundle, write_bundle
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.model.recording import Recording, join, read_recording, write_recording
from pvp_ml.model.tensors import write_tensors
from pvp_ml.players import Mixture
from pvp_ml.rl.bc import CloneConfig, clone, held_out_rows
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.run.resume import Start, warm_start
from pvp_ml.selfplay.evaluate import Contestant, evaluate, find_contestant
from pvp_ml.selfplay.record import record, record_bot

CONNECT4 = registry.find("connect4")
SPEC = CONNECT4.spec(CONNECT4.config())


class Stacker:
    """Plays the legal column that holds most of its own stones; of equals the leftmost."""

    def __init__(self, spec):
        pass

    def begin(self, serials):
        pass

    def end(self, serials):
        pass

    def decide(self, serials, seats, obs, mask, keys):
        own = obs[:, :CELLS].reshape(len(obs), 6, 7).sum(axis=1)
        return np.where(mask, own, -1).argmax(axis=1)[:, None].astype(np.int32)


def build(matches=64):
    return CONNECT4.build(CONNECT4.config(), matches)


def recorded(matches, seed=0):
    return record(build(), Contestant("stacker", make=Stacker), find_contestant("random", SPEC, None), matches, seed)


def fresh_policy(seed=0, **network):
    policy = Policy(NetworkConfig(trunk=(64, 64), **network), SPEC.interface)
    policy.initialise(torch.Generator().manual_seed(seed))
    return policy


def test_a_known_policy_is_copied_to_98_percent(learning_seed, margin):
    recording, _ = recorded(700, learning_seed)
    report = clone(fresh_policy(learning_seed), recording, CloneConfig(epochs=25, batch_size=256, learning_rate=3e-3))
    assert report.held_out_rows > 0.05 * len(recording)
    margin("agreement", report.agreement, at_least=0.98)
    margin("held-out loss", report.held_out_loss, at_most=0.2)


class Mixer(Stacker):
    """Plays column 0, but means it three times in four only: column 3 is the rest of its mixture. It expects 0.6."""

    def decide(self, serials, seats, obs, mask, keys):
        mixture = Mixture(np.array([[0], [3]], np.int32), np.array([0.75, 0.25], np.float32), 0.6)
        self.rows = [mixture if legal[0] and legal[3] else None for legal in mask]
        return mask.argmax(axis=1)[:, None].astype(np.int32)

    def mixtures(self):
        return self.rows


def test_a_mixture_is_recorded_whole_and_learned_as_one(tmp_path, learning_seed, margin):
    """Both parts are kept with weights and value, through a file; the clone mixes and expects as its teacher does."""
    mixer = Contestant("mixer", make=Mixer)
    recording, _ = record(build(), mixer, find_contestant("random", SPEC, None), 40, learning_seed)
    write_recording(tmp_path / "mixed.zip", recording, "connect4", SPEC.interface)
    read = read_recording(tmp_path / "mixed.zip", "connect4", SPEC.interface)
    assert set(read.weights.tolist()) == {0.25, 0.75, 1.0} and (read.weights == recording.weights).all()
    assert (read.actions[read.weights == 0.25] == 3).all() and (read.actions[read.weights == 0.75] == 0).all()
    assert (np.isnan(read.values) == (read.weights == 1.0)).all()
    assert set(read.values[read.weights < 1.0].tolist()) == {np.float32(0.6)}
    policy = fresh_policy(learning_seed, win_head=True)
    report = clone(policy, join([read]), CloneConfig(epochs=30, batch_size=256, learning_rate=3e-3))
    margin("distance of the chance to win", report.win_error, at_most=0.05)
    mixed = read.weights == 0.75
    with torch.no_grad():
        evaluated = policy.evaluate(
            torch.from_numpy(read.obs[mixed]), None, torch.from_numpy(read.mask[mixed]),
            torch.from_numpy(read.actions[mixed]).long(),
        )  # fmt: skip
    margin("distance of the mean", abs(float(evaluated.log_prob.exp().mean()) - 0.75), at_most=0.08)
    with pytest.raises(UserError, match="mixed decisions"):
        clone(fresh_policy(0, memory=16), read, CloneConfig(epochs=1))


@pytest.mark.parametrize("value", [1.5, -1.01, float("inf")])
def test_an_expectation_that_is_no_chance_is_refused(value, tmp_path):
    recording, _ = recorded(4)
    values = np.full(len(recording), value, np.float32)
    write_recording(tmp_path / "r.zip", replace(recording, value=values), "connect4", SPEC.interface)
    with pytest.raises(UserError, match="not from -1 to 1"):
        read_recording(tmp_path / "r.zip", "connect4", SPEC.interface)


def test_smoothing_leaves_every_legal_choice_its_share(learning_seed, margin):
    recording, _ = recorded(400, learning_seed)
    options = {"epochs": 25, "batch_size": 256, "learning_rate": 3e-3}
    policy = fresh_policy(learning_seed)
    report = clone(policy, recording, CloneConfig(**options, smoothing={"column": 0.3}))
    actions = torch.from_numpy(recording.actions).long()
    with torch.no_grad():
        evaluated = policy.evaluate(torch.from_numpy(recording.obs), None, torch.from_numpy(recording.mask), actions)
    wanted = 0.7 + 0.3 / recording.mask.sum(axis=1)
    found = evaluated.log_prob.exp().numpy()
    margin("agreement", report.agreement, at_least=0.95)
    margin("mean error of a share", np.abs(found - wanted).mean(), at_most=0.03)
    margin("error of the mean share", abs(found.mean() - wanted.mean()), at_most=0.01)


@pytest.mark.parametrize(("text", "message"), [
    ("colum=0.2", "no head 'colum'"), ("column", "not HEAD=SHARE"), ("column=1", "below 1"), ("column=nan", "below 1"),
])  # fmt: skip
def test_wrong_smoothing_is_refused(text, message):
    with pytest.raises(UserError, match=message):
        clone(fresh_policy(), recorded(4)[0], CloneConfig(epochs=1, smoothing=read_shares(text)))


@pytest.mark.parametrize("network", [{"memory": 8}, {"frames": (0, 2)}, {"heads": "mlp", "head_layers": (16,)}])
def test_every_kind_of_network_can_be_cloned(network, learning_seed, margin):
    recording, _ = recorded(60, learning_seed)
    before, after = (
        clone(fresh_policy(learning_seed, **network), recording, CloneConfig(**options))
        for options in (
            {"epochs": 1, "learning_rate": 1e-6},
            {"epochs": 12, "batch_size": 64, "learning_rate": 3e-3},
        )
    )
    margin("agreement", after.agreement, at_least=0.85)  # fresh networks agree in 0 to 46 %
    margin("fall of held-out loss", before.held_out_loss - after.held_out_loss, at_least=0.3)


def test_a_recording_survives_its_file_and_other_layouts_and_illegal_actions_are_refused(tmp_path):
    recording, report = recorded(10)
    assert report.total.matches == 10 and len(np.unique(recording.lane)) == 10
    path = tmp_path / "r.zip"
    write_recording(path, recording, "connect4", SPEC.interface, "stacker")
    again = read_recording(path, "connect4", SPEC.interface)
    for name in ("obs", "mask", "actions", "lane", "match"):
        assert (getattr(again, name) == getattr(recording, name)).all()
    both = join([recording, again])
    assert len(both) == 2 * len(recording) and len(np.unique(both.lane)) == 20 and len(np.unique(both.match)) == 10
    kuhn = registry.find("kuhn")
    with pytest.raises(UserError, match="another game or layout"):
        read_recording(path, "kuhn", kuhn.spec(kuhn.config()).interface)
    for bad in (7, -1, 2**40):
        actions = recording.actions.astype(np.int64)
        actions[3, 0] = bad
        write_recording(
            path, Recording(recording.obs, recording.mask, actions, recording.lane), "connect4", SPEC.interface
        )
        with pytest.raises(UserError, match="row 3"):
            read_recording(path, "connect4", SPEC.interface)
    mask = recording.mask.copy()
    mask[5, recording.actions[5, 0]] = False
    write_recording(path, Recording(recording.obs, mask, recording.actions, recording.lane), "connect4", SPEC.interface)
    with pytest.raises(UserError, match=r"row 5 .*not legal"):
        read_recording(path, "connect4", SPEC.interface)


def test_a_recording_of_the_first_format_is_read_and_every_lane_is_a_match(tmp_path, monkeypatch):
    """As version 0.1 wrote it: no `match` beside the rows."""
    recording, _ = recorded(6)
    path = tmp_path / "old.zip"
    monkeypatch.setattr("pvp_ml.model.recording.FORMAT", 1)
    kept = {"obs": recording.obs, "mask": recording.mask.astype(np.uint8), "lane": recording.lane,
            "actions": recording.actions.astype(np.int64)}  # fmt: skip
    monkeypatch.setattr("pvp_ml.model.recording.write_tensors", lambda arrays: write_tensors(kept))
    write_recording(path, recording, "connect4", SPEC.interface)
    monkeypatch.undo()
    old = read_recording(path, "connect4", SPEC.interface)
    assert old.match is None and (old.matches == recording.lane).all() and (old.obs == recording.obs).all()


def test_whole_matches_are_held_out_with_both_seats():
    """Ten matches of two seats: no match has rows on both sides of the split, as lanes alone would have."""
    lane = np.repeat(np.arange(20), 5)
    rows = np.zeros((100, 1), np.float32)
    recording = Recording(rows, rows > 0, rows.astype(np.int32), lane, lane // 2)
    for seed in range(20):
        is_held = held_out_rows(recording, 0.3, np.random.default_rng(seed))
        shares = is_held.reshape(10, 10).mean(axis=1)
        assert set(shares.tolist()) <= {0.0, 1.0} and 0.0 < shares.mean() < 1.0


class AdvisingConnect4:
    """Connect 4 whose bot says what it would do: a column that depends on the seed and the moment alone."""

    runs_elsewhere = False

    def __init__(self, matches):
        self.game, self.plans, self.out = build(matches), {}, None
        self.spec, self.matches = self.game.spec, matches

    def queue(self, plans):
        self.plans |= {plan.serial: plan for plan in plans}
        self.game.queue(plans)

    def start(self, out):
        self.out = out
        self.game.start(out)

    def step(self, actions, out):
        self.game.step(actions, out)

    def advise(self, bot):
        pass

    def advice(self, serials, seats):
        rows = [int(np.flatnonzero(self.out.serial == serial)[0]) for serial in serials]
        picks = []
        for serial, row, seat in zip(serials.tolist(), rows, seats.tolist(), strict=True):
            legal = np.flatnonzero(self.out.mask[row, seat])
            stones = int(self.out.obs[row, seat].sum())
            picks.append(legal[scramble(self.plans[serial].seed, stones) % len(legal)])
        return np.array(picks, np.int32)[:, None]


def test_a_bot_against_itself_is_recorded_once_a_match():
    bot = Contestant("tactician", bot="tactician")
    recording, report = record_bot(AdvisingConnect4(8), "tactician", None, bot, 24)
    assert report.total.matches == 24 and len(np.unique(recording.lane)) == 48
    matches = [recording.picked(np.flatnonzero(recording.match == m)) for m in np.unique(recording.match)]
    assert len(matches) == 24
    assert len({match.obs.tobytes() + match.actions.tobytes() for match in matches}) == 24
    other, _ = record_bot(AdvisingConnect4(8), "tactician", None, Contestant("random", bot="random"), 24)
    assert len(np.unique(other.lane)) == 24 and len(np.unique(other.match)) == 12  # matches of one seed belong together


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "text", "extra", "nan"])
def test_broken_recordings_are_refused(tmp_path, damage):
    recording, _ = recorded(4)
    path = tmp_path / "r.zip"
    if damage == "nan":
        obs = recording.obs.copy()
        obs[0, 0] = np.nan
        recording = Recording(obs, recording.mask, recording.actions, recording.lane)
    write_recording(path, recording, "connect4", SPEC.interface)
    data = path.read_bytes()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 0xFF
    path.write_bytes(
        {"empty": b"", "cut": data[: len(data) // 2], "flipped": bytes(flipped), "text": b"PK no", "nan": data,
         "extra": data + b"x"}[damage]
    )  # fmt: skip
    with pytest.raises(UserError):
        read_recording(path, "connect4", SPEC.interface)


def bundle_of(policy):
    training = Training(steps=0, seconds=0.0, run="t", seed=0, date="2026-11-15", versions={})
    return make_bundle(SPEC, policy.network, policy.tensors(), policy.normalizer, training, ())


def score(policy, matches=400):
    against = find_contestant("random", SPEC, None)
    return evaluate(build(128), Contestant.of_bundle("x", bundle_of(policy)), against, matches, 5).total.score


def test_ppo_from_a_clone_with_warm_up_and_teacher_does_not_fall_below_it(tmp_path, learning_seed, margin):
    recording, report = recorded(300, learning_seed)
    policy = fresh_policy(learning_seed)
    clone(policy, recording, CloneConfig(epochs=10, batch_size=256, learning_rate=3e-3))
    path = tmp_path / "clone.zip"
    write_bundle(path, bundle_of(policy))
    ppo = {
        "n_steps": 32, "batch_size": 512, "n_epochs": 2, "learning_rate": 3e-4, "critic_warmup": 4, "gamma": 1.0,
        "normalize_rewards": False, "teacher": {"weight": 0.1, "model": str(path)}, "freeze": ("actor/0/",),
    }  # fmt: skip
    session = Session("connect4", 64, ppo, {"trunk": (64, 64)}, seed=learning_seed)
    assert warm_start(session.trainee, Start(warm_start=str(path)), path.parent) == []
    session.learning.shards.call("refresh")
    start = score(session.policy)
    trunk = session.policy.tensors()["actor/0/weight"].copy()
    heads = session.policy.tensors()["head/weight"].copy()
    session.train(4)
    assert (session.policy.tensors()["head/weight"] == heads).all()  # only the critic has learned so far
    session.train(14)
    assert session.metrics["ppo/kl_teacher"] > 0
    margin("distance from the teacher", session.metrics["ppo/kl_teacher"], at_most=0.5)
    assert (session.policy.tensors()["actor/0/weight"] == trunk).all()
    assert (session.policy.tensors()["head/weight"] != heads).any()
    end = score(session.policy)
    session.close()
    margin("clone against its teacher's score", abs(start - report.total.score), at_most=0.12)
    margin("gain over the clone", end - start, at_least=-0.03)


def test_a_teacher_must_exist_and_have_the_same_network(tmp_path):
    path = tmp_path / "other.zip"
    write_bundle(path, bundle_of(random_policy(NetworkConfig(trunk=(8,)), SPEC.interface)))
    for teacher, words in (
        ({"weight": 0.1}, "no teacher"),
        ({"weight": 0.1, "model": "nowhere"}, "no model 'nowhere'"),
        ({"weight": 0.1, "model": str(path)}, "differs from this run"),
    ):
        with pytest.raises(UserError, match=words):
            Session("connect4", 4, {"n_steps": 4, "teacher": teacher}, {"trunk": (16,)})
