"""What collectors promise: fixed lineups, only trainees' rows, and the same matches however they are interleaved."""

from collections import deque

import numpy as np
import pytest
import torch

from pvp_ml.chance import scramble
from pvp_ml.games import registry
from pvp_ml.match import Bot, Live, StepBuffers
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.rl.ppo_config import PpoConfig
from pvp_ml.rl.rewards import RewardConfig, RewardMixer
from pvp_ml.rl.rollout import ReturnTerms
from pvp_ml.rl.shard_learner import ShardLearner, ShardTrainee
from pvp_ml.selfplay.collect.active_matches import _HELD_OUT_CHANNEL, HELD_OUT
from pvp_ml.selfplay.collect.async_collector import AsyncCollector
from pvp_ml.selfplay.collect.collector import Collector
from pvp_ml.selfplay.collect.seat_actors import SeatActors
from pvp_ml.selfplay.plans import LineupMix, PlanSource

SELF = LineupMix(((1.0, (Live(), Live())),))
MIXED = LineupMix(((0.5, (Live(), Live())), (0.5, (Live(), Bot("tactician")))))


class SlowGame:
    """An AsyncVecGame made of one-match games that answer in a random order, as processes would."""

    runs_elsewhere = True

    def __init__(self, name: str, matches: int, seed: int) -> None:
        game = registry.find(name)
        self.games = [game.build(game.config(), 1) for _ in range(matches)]
        self.spec, self.matches = self.games[0].spec, matches
        self._buffers = [StepBuffers.allocate(self.spec, 1) for _ in range(matches)]
        self._plans: deque = deque()
        self._ready: list[int] = []
        self._rng = np.random.default_rng(seed)

    def queue(self, plans) -> None:
        self._plans.extend(plans)

    def start(self) -> None:
        for m, game in enumerate(self.games):
            game.queue([self._plans.popleft(), self._plans.popleft()])
            game.start(self._buffers[m])
            self._ready.append(m)

    def send(self, match, actions) -> None:
        for m, action in zip(match.tolist(), actions, strict=True):
            self.games[m].step(action[None], self._buffers[m])
            if self._buffers[m].ended[0] or self._buffers[m].truncated[0]:
                self.games[m].queue([self._plans.popleft()])
            self._ready.append(m)

    def recv(self, at_least: int, timeout_s: float, out: StepBuffers) -> int:
        self._rng.shuffle(self._ready)
        count = min(len(self._ready), max(at_least, int(self._rng.integers(1, self.matches + 1))))
        for i, m in enumerate(self._ready[:count]):
            for name in StepBuffers.__dataclass_fields__:
                getattr(out, name)[i] = m if name == "match" else getattr(self._buffers[m], name)[0]
        del self._ready[:count]
        return count

    def view(self, match: int) -> dict:
        return {}

    def close(self) -> None:
        pass


def parts(spec, mix, steps: int):
    policy = Policy(NetworkConfig(trunk=(16,)), spec.interface)
    policy.initialise(torch.Generator().manual_seed(3))
    seat_actors = SeatActors(spec, {"main": policy.actor()}, None)
    return steps, seat_actors, RewardMixer(spec, RewardConfig()), PlanSource(11, 0, 1, spec.teams, mix)


def collector(mix, matches: int = 8, steps: int = 16) -> Collector:
    game_type = registry.find("connect4")
    game = game_type.build(game_type.config(), matches)
    return Collector(game, *parts(game.spec, mix, steps))


def finished(made, rollouts: int) -> dict:
    outcomes = {}
    for _ in range(rollouts):
        for outcome in made.collect().outcomes:
            outcomes[outcome.plan.serial] = (outcome.plan, outcome.steps, outcome.result, outcome.score)
        made.rollout.advantages(ReturnTerms.of(1.0, 1.0))
        made.rollout.carry()
    return outcomes


def test_a_match_is_the_same_whoever_interleaves_it():
    straight = finished(collector(SELF), 12)
    slow = SlowGame("connect4", 8, seed=1)
    interleaved = finished(AsyncCollector(slow, *parts(slow.spec, SELF, 16)), 12)
    common = set(straight) & set(interleaved)
    assert len(common) > 40
    for serial in common:
        assert straight[serial] == interleaved[serial]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_every_decision_of_a_trainee_becomes_exactly_one_row(kind):
    if kind == "sync":
        made = collector(MIXED)
    else:
        slow = SlowGame("connect4", 8, seed=2)
        made = AsyncCollector(slow, *parts(slow.spec, MIXED, 16))
    rows = decided = held = meant = 0
    for _ in range(20):
        report = made.collect()
        made.rollout.advantages(ReturnTerms.of(1.0, 1.0))
        rows += len(made.rollout.rows(0).index)
        for outcome in report.outcomes:
            seats = [s for s, who in enumerate(outcome.plan.lineup) if isinstance(who, Live)]
            decided += outcome.steps if len(seats) == 2 else 0
        live = made.rollout.owner[1:-1] >= 0
        assert (made.rollout.seated[1:-1][live] == 0).all()
        stops = [made.rollout.held_out[t, m] for t, m in zip(*np.nonzero(made.rollout.end), strict=True)]
        held += int(sum(stops))
        meant += sum(scramble(outcome.plan.seed, _HELD_OUT_CHANNEL) / 2.0**64 < HELD_OUT for outcome in report.outcomes)
        for t, m in zip(*np.nonzero(made.rollout.end[1:-1] == 0), strict=True):  # a match is held out as a whole
            if t + 2 < made.rollout.length[m]:
                assert made.rollout.held_out[t + 1, m] == made.rollout.held_out[t + 2, m]
        made.rollout.carry()
    # in self-play every step is one seat's decision; against the bot about every second one
    assert rows > decided > 0
    assert held == meant > 0


def test_rewards_of_a_seat_that_does_not_act_go_to_its_last_decision():
    made = collector(SELF, matches=16, steps=64)
    made.collect()
    rollout = made.rollout
    rollout.advantages(ReturnTerms.of(1.0, 1.0))  # γ = λ = 1: advantage + value = everything that came after
    ended = np.argwhere(rollout.end[1:-1] == 1)
    assert len(ended) > 10
    t, m = ended[0] + [1, 0]
    for seat in range(2):
        last = max(i for i in range(1, t + 1) if rollout.owner[i, m, seat] == 0)
        total = rollout.value[last, m, seat] + rollout._advantage[last, m, seat]
        assert total == pytest.approx(rollout.reward[t, m, seat], abs=1e-5)
        assert abs(rollout.reward[t, m, seat]) == 1.0 or rollout.reward[t, m].sum() == 0.0


def test_lineups_never_change_inside_a_match():
    made = collector(MIXED)
    seen: dict[int, tuple] = {}
    for _ in range(8):
        made.collect()
        for row, serial in enumerate(made.active.serial.tolist()):
            lineup = (made.active.slot[row].tolist(), made.active.trainee[row].tolist())
            assert seen.setdefault(serial, lineup) == lineup
        made.rollout.advantages(ReturnTerms.of(1.0, 1.0))
        made.rollout.carry()


def test_rewards_beyond_a_matchs_present_length_do_not_count_again():
    """A slow match leaves rows of an earlier, longer rollout behind its present end."""
    slow = SlowGame("connect4", 8, seed=2)
    made = AsyncCollector(slow, *parts(slow.spec, SELF, 16))
    policy = Policy(NetworkConfig(trunk=(16,)), slow.spec.interface)
    learner = ShardLearner(
        0, 0, made.rollout, [ShardTrainee("main", policy, PpoConfig(), torch.zeros(policy.size), {})]
    )
    shorter = 0
    for number in range(12):
        made.collect()
        rollout = made.rollout
        rollout.reward[:] = 1.0 if number < 6 else 0.01  # rewards become smaller: stale ones would stand out
        found = learner.reward_moments(np.zeros(1, np.float32))[0]  # γ = 0: a return is the step's reward
        assert found.count == 2 * (rollout.length - 1).sum()
        assert found.mean[0] == pytest.approx(1.0 if number < 6 else 0.01)
        assert found.squares[0] == pytest.approx(0.0, abs=1e-9)
        shorter += int(rollout.length.min() < rollout.length.max())
        made.rollout.advantages(ReturnTerms.of(1.0, 1.0))
        made.rollout.carry()
    assert shorter > 6, "matches were equally fast: nothing was tested"


class LockStepGame(SlowGame):
    """One tick for all: nobody is answered before all who were answered have acted. Half of the rows never begin."""

    def leave(self) -> None:
        """Somebody else may use the server."""

    def recv(self, at_least: int, timeout_s: float, out: StepBuffers) -> int:
        playing = self.matches // 2
        here = [m for m in self._ready if m < playing]
        assert len(here) == playing, "the server waits for a match that is held back"
        self._ready = here
        return super().recv(playing, timeout_s, out)


def test_a_match_that_is_held_back_ends_the_rollout_where_others_would_wait_for_it():
    game = LockStepGame("connect4", 8, 3)
    made = AsyncCollector(game, *parts(game.spec, SELF, 16))
    for _ in range(3):
        report = made.collect()
        steps = 8 * 16 - report.missing
        assert steps == 4 * 31  # two of a kind: the four that play have room for twice their share, less what is open
        assert (made.rollout.length[:4] == 32).all() and (made.rollout.length[4:] <= 1).all()
