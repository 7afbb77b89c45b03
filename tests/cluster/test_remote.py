"""Games elsewhere, learning here: the same weights as local shards, bounded staleness, and losses that cost little."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from course import Course
from local_pool import LocalPool

from pvp_ml.cluster.codec import decode, encode
from pvp_ml.cluster.local import LocalShards
from pvp_ml.cluster.remote import RemoteShards
from pvp_ml.cluster.roster import MAX_LOSSES, START_TIMEOUT_S
from pvp_ml.errors import UserError
from pvp_ml.match import Live, Member
from pvp_ml.rl.rollout import ReturnTerms
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.learning import Learning
from pvp_ml.run.trainer import blueprint
from pvp_ml.selfplay.plans import LineupMix

SELF = LineupMix(((1.0, (Live(), Live())),))
FLAGS = ["--env.matches", "12", "--ppo.n-steps", "6", "--ppo.batch-size", "48", "--network.trunk", "[16]"]


def plan(tmp_path, *flags, game="connect4", shards=2):
    return blueprint(load_config("", ["--game", game, *FLAGS, "--run.shards", str(shards), *flags], tmp_path))


def remote(tmp_path, pool, *flags, staleness=0, mix=SELF, members="", **more):
    shards = RemoteShards(plan(tmp_path, *flags, **more), mix, str(members), pool, staleness, pool.clock)
    shards.initialise()
    return Learning(shards)


def same(a, b):
    return a.tobytes() == b.tobytes()


VARIANTS = {
    "connect4": ("connect4", []),
    "memory": ("connect4", ["--network.memory", "8", "--network.frames", "[0, 1]", "--network.win-head", "true"]),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_synchronous_workers_learn_the_same_bits_as_local_shards(tmp_path, variant):
    game, flags = VARIANTS[variant]
    local = LocalShards(plan(tmp_path, *flags, game=game), SELF)
    local.initialise()
    beside = Course(Learning(local)).go(5)
    local.close()
    elsewhere = Course(remote(tmp_path, LocalPool(), *flags, game=game)).go(5)
    elsewhere.learning.shards.close()
    assert same(beside.weights, elsewhere.weights)
    assert beside.outcomes == elsewhere.outcomes
    assert len(beside.outcomes) > 10
    assert beside.metrics[-1]["ppo/entropy"] == elsewhere.metrics[-1]["ppo/entropy"]
    losses = [[row.get("win_head/loss") for row in course.metrics] for course in (beside, elsewhere)]
    assert losses[0] == losses[1] and any(losses[0]) == (variant == "memory")
    assert [row["cluster/staleness"] for row in elsewhere.cluster] == [0.0] * 5


def test_weights_are_fetched_once_per_version_and_worker(tmp_path):
    pool = LocalPool()
    Course(remote(tmp_path, pool)).go(4)
    assert [handle.fetches for handle in pool.puts] == [2, 2, 2, 2]
    assert [worker._fetches for worker in pool.workers.values()] == [4, 4]


def test_the_whole_configuration_reaches_every_worker(tmp_path):
    pool = LocalPool()
    flags = ["--reward-win", "0.25", "--run.seed", "9", "--ppo.n-steps", "5"]
    learning = remote(tmp_path, pool, *flags)
    for worker in pool.workers.values():
        collector = worker._shard.collector
        assert collector.plans.seed == 9
        assert collector.rollout.shape.steps == 5
        assert collector.mixer._config.weights["win"].at(Progress()) == 0.25
        assert collector.spec.game_digest == learning.shards.spec.game_digest


def test_a_state_goes_on_here_and_there(tmp_path):
    """Saved after 3 rollouts on workers; 3 more on the same, on new workers, and on local shards are the same bits."""
    first = Course(remote(tmp_path, LocalPool())).go(3)
    trainee = first.learning.trainees["main"]
    weights, normalizer = first.weights, {k: a.copy() for k, a in trainee.policy.normalizer.items()}
    state, adam = decode(encode(first.learning.shards.states())), {k: a.copy() for k, a in trainee.state().items()}
    progress = first.progress
    first.go(3)

    local = LocalShards(plan(tmp_path), SELF)
    for shards in (remote(tmp_path, LocalPool()).shards, local):
        learning = Learning(shards)
        other = learning.trainees["main"]
        other.policy.flat.numpy()[:] = weights
        for key, array in other.policy.normalizer.items():
            array[:] = normalizer[key]
        other.restore(adam)
        shards.memories[0].anchors["magnet"].flat.zero_()
        shards.restore(decode(encode(state)))
        shards.refresh()
        again = Course(learning, progress).go(3)
        assert same(again.weights, first.weights)
        assert again.outcomes == first.outcomes[-len(again.outcomes) :]
        shards.close()


def test_a_lost_worker_costs_its_rollout_and_is_synchronised_before_it_plays(tmp_path):
    pool = LocalPool()
    course = Course(remote(tmp_path, pool, shards=3, staleness=0)).go(2)
    drawn = course.learning.shards._roster.slots[1].drawn
    pool.slow = lambda rank, method: 3 if rank == 1 and method == "roll_out" else 0
    asked = pool.ask

    def ask(rank, method, *args):
        ticket = asked(rank, method, *args)
        if rank == 1 and method == "roll_out":
            pool.ask = asked
            ticket.is_lost = True
        return ticket

    pool.ask = ask
    before = course.progress.steps
    course.go(1)
    assert course.progress.steps - before == 8 * 6  # two of three workers
    assert course.cluster[-1]["cluster/lost"] == 1
    course.go(1)
    assert course.progress.steps - before == 8 * 6 + 12 * 6
    assert pool.started == [0, 1, 2, 1]
    new = pool.workers[1]
    assert new._content_hash == pool.workers[0]._content_hash
    assert new._fetches == 1
    assert new._shard.collector.plans.drawn > drawn
    assert min(serial for serial in new._shard.collector.active._plans) >= drawn * 3
    learner = course.learning.shards._learners[1]
    assert (learner.rollout.owner[0] >= 0).sum() <= 8  # nothing of the lost matches is carried


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_staleness_is_bounded_and_reported(tmp_path, bound):
    rng = np.random.default_rng(bound)
    pool = LocalPool(slow=lambda rank, method: int(rng.integers(0, 1 + 4 * rank)) if method == "roll_out" else 0)
    course = Course(remote(tmp_path, pool, shards=4, staleness=bound)).go(25)
    oldest = [row["cluster/staleness_max"] for row in course.cluster]
    assert max(oldest) == bound
    assert any(row["cluster/staleness"] > 0 for row in course.cluster)
    assert course.progress.steps < 25 * 12 * 6  # updates did not wait for everybody
    assert np.isfinite(course.weights).all()
    late = [row["cluster/correction"] for row in course.cluster[3:]]
    assert all(0.7 < value < 1.3 for value in late)
    assert any(value != 1.0 for value in late)
    course.learning.shards.close()


def test_rows_of_older_weights_are_judged_by_the_present_ones(tmp_path):
    course = Course(remote(tmp_path, LocalPool(), staleness=1)).go(4)
    learning, shards = course.learning, course.learning.shards
    learning.collect(course.progress)
    shards.finish(ReturnTerms.of(1.0, 1.0))
    for rank, version in shards._active:
        share = shards._learners[rank].shares["main"]
        assert version == shards._version - 1
        batch = shards._learners[rank]._minibatch(share, np.arange(len(share.rows.index)))
        new = share.policy.evaluate(batch.obs, batch.privileged, batch.legal, batch.actions)
        assert float((new.log_prob.detach() - batch.log_prob).abs().max()) < 1e-5
        acted = shards._learners[rank].rollout.flat("log_prob")[share.rows.index]
        assert np.abs(acted - batch.log_prob.numpy()).max() > 1e-4  # the actors' own are another policy's
        np.testing.assert_allclose(share.correction, np.minimum(np.exp(share.log_prob - acted), 2.0), rtol=1e-6)


def test_members_travel_by_their_hash(tmp_path):
    from pvp_ml.model.bundle import Training, make_bundle
    from pvp_ml.selfplay.members import MemberFolder

    learning = remote(tmp_path, LocalPool())
    policy, spec = learning.trainees["main"].policy, learning.shards.spec
    folder = MemberFolder(tmp_path / "league", spec.interface)
    key = folder.add(make_bundle(spec, policy.network, policy.tensors(), policy.normalizer, Training(), ()))
    pool = LocalPool()
    mix = LineupMix(((1.0, (Live(), Member(key))),))
    course = Course(remote(tmp_path, pool, mix=mix, members=folder.path)).go(3)
    assert pool.puts[0].fetches == 2  # one per worker, however many matches
    assert len(course.outcomes) > 5
    course.learning.shards.use_mix(SELF)
    course.go(20)
    assert all(key not in worker._members._handles for worker in pool.workers.values())


@pytest.mark.parametrize(
    ("change", "said"),
    [({"node_version": "2.51.0"}, "has Ray 2.51.0, this process 2.52.0"), ({}, "has pvp-ml 0.0.0, this process")],
)
def test_another_version_on_a_node_is_one_clear_line(tmp_path, monkeypatch, change, said):
    pool = LocalPool(**change)
    if not change:
        from pvp_ml.cluster import worker

        original = worker.RolloutWorker._facts
        monkeypatch.setattr(
            worker.RolloutWorker, "_facts", lambda self, spec: replace(original(self, spec), package="0.0.0")
        )
    with pytest.raises(UserError, match=said) as caught:
        remote(tmp_path, pool)
    assert "\n" not in str(caught.value)


def test_a_node_that_never_comes_does_not_stop_the_others(tmp_path):
    pool = LocalPool(absent={2})
    course = Course(remote(tmp_path, pool, shards=3)).go(2)
    assert course.progress.steps == 2 * 8 * 6
    assert course.cluster[-1]["cluster/workers"] == 2
    pool.absent = set()
    course.go(2)
    assert course.cluster[-1]["cluster/workers"] == 3


def test_nobody_at_all_is_one_clear_line(tmp_path):
    pool = LocalPool(absent={0, 1})
    with pytest.raises(UserError, match=f"no rollout worker started within {START_TIMEOUT_S:.0f} s"):
        remote(tmp_path, pool)


def test_a_rank_that_dies_again_and_again_stops_the_run(tmp_path):
    pool = LocalPool()
    learning = remote(tmp_path, pool)
    asked = pool.ask

    def ask(rank, method, *args):
        ticket = asked(rank, method, *args)
        ticket.is_lost = rank == 1
        return ticket

    pool.ask = ask
    with pytest.raises(UserError, match=f"{MAX_LOSSES + 1} workers of rank 1 were lost one after the other"):
        Course(learning).go(20)


def test_a_worker_that_hangs_is_given_up(tmp_path):
    pool = LocalPool()
    course = Course(remote(tmp_path, pool)).go(3)
    slow = iter([10**9])
    pool.slow = lambda rank, method: next(slow, 0) if rank == 1 and method == "roll_out" else 0
    course.go(2)
    assert course.cluster[-1]["cluster/lost"] == 1
    assert pool.now < 400.0


def test_a_worker_says_why_it_failed(tmp_path, monkeypatch):
    learning = remote(tmp_path, LocalPool())
    monkeypatch.setattr("pvp_ml.selfplay.collect.collector.Collector.collect", lambda self: 1 / 0)
    with pytest.raises(UserError, match="worker 0 failed: division by zero"):
        Course(learning).go(1)


def test_the_metrics_page_names_what_a_cluster_tells(tmp_path):
    page = (Path(__file__).parents[2] / "docs/metrics.md").read_text()
    metrics = Course(remote(tmp_path, LocalPool(), staleness=1)).go(1).cluster[0]
    assert len(metrics) == 6
    assert [name for name in metrics if f"`{name}`" not in page] == []


def test_a_policy_learns_from_stale_rollouts(tmp_path, learning_seed, margin):
    """A probe whose best choice pays 1: rollouts of older weights must not keep the policy from finding it."""
    rng = np.random.default_rng(5 + learning_seed)
    pool = LocalPool(slow=lambda rank, method: int(rng.integers(0, 3)) if method == "roll_out" else 0)
    flags = ["--env.matches", "64", "--ppo.n-steps", "8", "--ppo.batch-size", "128", "--learning-rate", "3e-3",
             "--run.seed", str(learning_seed)]  # fmt: skip
    mix = LineupMix(((1.0, (Live(),)),))
    course = Course(remote(tmp_path, pool, *flags, game="probe", staleness=2, mix=mix, shards=3)).go(70)
    late = [score[0] for *_, score in course.outcomes[-200:]]
    early = [score[0] for *_, score in course.outcomes[:200]]
    margin("reward late", np.mean(late), at_least=0.5)
    margin("reward early", np.mean(early), at_most=0.3)
