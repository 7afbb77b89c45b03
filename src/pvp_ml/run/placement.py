"""Where a run's matches are played: in processes here, or on a Ray cluster; and who plays its evaluations."""

from __future__ import annotations

from pathlib import Path

from pvp_ml.cluster.blueprint import Blueprint, TraineeBlueprint
from pvp_ml.cluster.eval_queue import EvalQueue, TaskRunner
from pvp_ml.cluster.local import LocalShards
from pvp_ml.cluster.shards import Shards
from pvp_ml.errors import UserError
from pvp_ml.match import MAIN
from pvp_ml.model.bundle import Bundle, pack_bundle
from pvp_ml.run.config.schema import Config
from pvp_ml.run.machine import cores
from pvp_ml.selfplay.evaluate import Contestant, evaluate, find_contestant
from pvp_ml.selfplay.plans import LineupMix
from pvp_ml.selfplay.tally import Evaluation
from pvp_ml.selfplay.tournament import ROWS


def blueprint(config: Config, workers: int = 0) -> Blueprint:
    """What shards are built from; `workers` takes the place of run.shards."""
    own = 1 if config.env.settings.shared_server else cores()  # on one server shards would wait for one another
    shards = workers or config.run.shards or own
    return Blueprint(
        game=config.env.name,
        game_config=config.env.settings.model_dump(mode="json"),
        matches=config.env.matches,
        shards=max(1, min(shards, config.env.matches)),
        seed=config.run.seed,
        reward=config.reward,
        trainees=tuple(
            TraineeBlueprint(name=name, network=config.network, ppo=config.ppo)
            for name in (MAIN, *config.self_play.exploiters)
        ),
    )


def open_shards(config: Config, mix: LineupMix, members: Path) -> Shards:
    """Shards as the configuration wants them; members are league policies by content hash."""
    settings = config.cluster
    if not settings.is_used:
        return LocalShards(blueprint(config), mix, str(members))
    from pvp_ml.cluster.ray_cluster import connect
    from pvp_ml.cluster.remote import RemoteShards

    wanted = 0 if isinstance(settings.distribute, bool) else settings.distribute
    local = wanted or cores()
    if local > config.env.matches:
        raise UserError(
            f"{local} workers for {config.env.matches} matches", "give each at least one: --num-envs, --distribute N"
        )
    store = object_store_bytes(blueprint(config, local))
    cluster = connect(settings.ray_address, local, settings.dashboard, store)
    try:
        plan = blueprint(config, wanted or cluster.cpus())
        return RemoteShards(plan, mix, str(members), cluster, settings.staleness)
    except BaseException:
        cluster.close()
        raise


def object_store_bytes(plan: Blueprint) -> int:
    """Room for two rollouts of every worker and a few versions of the weights."""
    spec, trainee = plan.spec(), plan.trainees[0]
    width = spec.obs_size * len(trainee.network.frames) + spec.privileged_size + trainee.network.memory
    row = 4 * width + spec.mask_size + 4 * len(spec.heads) + 32
    return 2 * plan.matches * spec.seats * (trainee.ppo.n_steps + 2) * row + (64 << 20)


def measure(
    config: Config, name: str, bundle: Bundle, against: tuple[str, ...], matches: int, runner: TaskRunner | None
) -> list[Evaluation]:
    """A policy against each of these opponents, here or as tasks; the results are the same."""
    env, seed, greedy = config.env, config.run.seed, config.eval.greedy
    scenarios = tuple(env.scenarios)
    if runner is not None:
        queue = EvalQueue(env.type, env.settings, Path.cwd())
        first = queue.policy(name, pack_bundle(bundle), greedy)
        for other in against:
            queue.add(first, queue.side(other), matches, seed, scenarios)
        return list(queue.play(runner))
    contestant, reports = Contestant.of_bundle(name, bundle, greedy), []
    for other in against:
        opponent = find_contestant(other, env.spec, Path.cwd())
        game = env.type.build(env.settings, min(matches, ROWS))
        try:
            reports.append(evaluate(game, contestant, opponent, matches, seed, scenarios))
        finally:
            game.close()
    return reports
