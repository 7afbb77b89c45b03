"""The Rocket League presets: weights of the phases, one curriculum of the same, promotion that survives a resume."""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest
import yaml

from pvp_ml.match import Bot, MatchPlan, StepBuffers
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.run.conditions import holds
from pvp_ml.run.config.presets import load_preset
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Tracker
from pvp_ml.run.trainer import Run, train
from pvp_ml.selfplay.competition import Competition

HERE = Path(__file__).parent
PHASES = ("ball-touching", "bronze-skills-1", "silver-skills-1", "silver-skills-2")
WEIGHTS = {
    # term: phases 1 to 4; `bad_orientation` is negative already
    "touch": (1.0, None, None, None),
    "goal": (None, 10, 10, 10),
    "concede": (None, -10, -10, -10),
    "touch_to_goal": (None, 3.0, 2.0, 1.0),
    "shot_quality": (None, 2.0, 2.0, 1.0),
    "velocity_ball_to_goal": (None, 0.05, 0.05, 0.02),
    "speed_toward_ball": (0.05, 0.01, 0.01, None),
    "boost_gain": (None, 0.6, None, None),
    "face_ball": (0.01, None, None, None),
    "in_air": (0.0015, None, None, None),
    "jump_shot": (None, None, 2.0, None),
    "air_touch": (None, None, None, 1.0),
    "save_boost": (None, None, 0.005, 0.005),
    "collect_boost": (None, None, None, 0.1),
    "basic_aerial": (None, None, None, 0.01),
    "recovery_and_landing": (None, None, 0.005, None),
    "bad_orientation": (None, None, 0.05, 0.05),
}


needs_rocketsim = pytest.mark.skipif(
    importlib.util.find_spec("RocketSim") is None,
    reason="rocketsim is not installed: pip install 'pvp-ml[rocket-league]'",
)


def config(name, *flags):
    return load_config(f"rocket_league/{name}", ["--env.meshes", "generated", *flags], HERE)


@pytest.mark.parametrize("phase", range(4))
def test_a_phase_alone_and_in_the_curriculum_is_the_same(phase):
    alone, whole = config(PHASES[phase]), config("training")
    inside = whole.in_phase(phase - 1) if phase else None  # lessons from a bot come instead of phase 1
    for section in ("env", "network", "ppo", "reward", "self_play", "eval") if inside else ():
        ours = getattr(inside, section)
        if section == "ppo":  # only the curriculum has a pupil to hold on to
            ours = ours.model_copy(update={"teacher": alone.ppo.teacher, "critic_warmup": 0})
        assert ours == getattr(alone, section), section
    expected = {term: row[phase] for term, row in WEIGHTS.items() if row[phase] is not None}
    assert {term: weight.value for term, weight in alone.reward.weights.items()} == expected
    assert set(alone.env.rewards) == set(expected), "only what is weighed is computed"
    rates = [alone.ppo.learning_rate.at(Progress(steps=steps)) for steps in (0, 4_000_000, 20_000_000)]
    expected_rates = (8e-4, 2e-4, 2e-4) if phase == 0 else (2e-4, 1.84e-4, 1.2e-4)
    assert rates == pytest.approx(expected_rates)
    assert alone.env.mechanics_weight == (0.0, 0.0, 0.0, 0.2)[phase]


@pytest.mark.parametrize("name", [*PHASES[1:], "self-play", "self-play-2v2", "self-play-3v3"])
def test_a_trained_model_is_not_unlearned(name):
    """0.01 of entropy took a trained model from 7.1 to 2.3 touches a minute; batches of 1,024 at 2.5e-4 its goals."""
    ppo, start = config(name).ppo, Progress(total_steps=1)
    assert ppo.entropy_coef.at(start) <= 0.003
    assert (ppo.n_epochs, ppo.batch_size, ppo.n_steps) == (3, 4096, 128)
    assert ppo.learning_rate.at(start) <= 2.5e-4


@pytest.mark.parametrize("name", [*PHASES[1:], "self-play"])
def test_half_of_a_reward_is_left_after_ten_seconds(name):
    read = config(name)
    steps = 10 * 120 / read.env.tick_skip
    assert read.ppo.gamma.value**steps == pytest.approx(0.5, abs=0.01)


@needs_rocketsim
@pytest.mark.parametrize(
    ("phase", "least"),
    [("bronze-skills-1", 0.4), ("silver-skills-1", 0.35), ("silver-skills-2", 0.5), ("self-play", 0.5)],
)
def test_goals_are_what_late_phases_pay_for(phase, least, tmp_path, monkeypatch):
    """The chaser against kickoff_and_clear, about two goals a minute: goals make up this share of all that is paid."""
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path))
    read = config(phase, "--env.matches", "32", "--env.timeout_s", "40", "--env.mechanics_weight", "0")
    game = read.env.type.build(read.env.settings, 32)
    out = StepBuffers.allocate(game.spec, 32)
    game.queue([MatchPlan(i, i, (Bot("chaser"), Bot("kickoff_and_clear")), "kickoff") for i in range(32)])
    game.start(out)
    paid = np.zeros(len(game.spec.rewards))
    for _ in range(300):
        game.step(np.full((32, 2, 1), -1, np.int32), out)
        paid += np.abs(out.reward).sum((0, 1))
    game.close()
    names = [term.name for term in game.spec.rewards]
    paid *= [abs(read.reward.weights[name].value) for name in names]
    share = dict(zip(names, paid / paid.sum(), strict=True))
    assert share["goal"] + share.get("concede", 0.0) >= least, share


def test_promotion_looks_at_rates_per_minute():
    second, third, last = config("training").phases
    assert [p.name for p in config("training").phases] == ["BronzeSkills1", "SilverSkills1", "SilverSkills2"]
    assert not holds(second.promote, {}), "nothing measured, nothing promoted"
    assert not holds(second.promote, {"figure/goals": 1.3})
    assert holds(second.promote, {"figure/goals": 1.4})
    assert holds(third.promote, {"figure/goals": 2.0, "figure/turtle_recovery": 0.6})
    assert not holds(third.promote, {"figure/goals": 2.0, "figure/turtle_recovery": 0.4})
    assert last.promote is None


def test_the_curriculum_begins_with_lessons_and_lets_go_of_the_pupil():
    read = config("training")
    assert read.coach.bot == "shooter" and read.coach.batch_size == 256
    assert read.ppo.critic_warmup == 10
    weights = [read.in_phase(0).ppo.teacher.weight.at(Progress(steps=steps)) for steps in (0, 4_000_000, 9_000_000)]
    assert weights == pytest.approx([0.1, 0.05, 0.0])
    assert not config("bronze-skills-1").coach.bot


@pytest.mark.parametrize(("name", "seats"), [("self-play", 2), ("self-play-2v2", 4), ("self-play-3v3", 6)])
def test_one_policy_drives_a_whole_team(name, seats, tmp_path):
    read = config(name)
    spec = read.env.spec
    assert spec.seats == seats
    assert spec.interface_digest == config("ball-touching").env.spec.interface_digest, "a model goes from 1v1 to 3v3"
    assert read.self_play.snapshot_every % read.run.milestone_every == 0, "opponents change at milestones only"
    for _, lineup in _mix(read, tmp_path).lineups:
        for team in spec.teams:
            assert len({lineup[seat] for seat in team}) == 1


def _mix(read, folder):
    return Competition(read.env.spec, read.self_play, {}, folder, 0).mix(Progress())


def small(folder: Path, total: int):
    """The curriculum with everything small, and a first condition that holds as soon as matches have ended."""
    data = load_preset("rocket_league/training", HERE).data
    data["env"] |= {"matches": 4, "no_touch_s": 1.0, "meshes": "generated"}
    data["network"] = {"trunk": [8]}
    data["ppo"] |= {"n_steps": 16, "batch_size": 64, "n_epochs": 1}
    data["ppo"] |= {"critic_warmup": 0, "teacher": {}}
    del data["coach"]  # tests/run/test_coaching.py
    data["phases"][0] |= {"min_steps": 128, "promote": data["phases"][0]["promote"].replace(">= 1.4", ">= 0")}
    data["phases"][0]["settings"]["self_play"] = {"opponents": {"self": 1.0}}  # two rows a step
    path = folder / "small.yml"
    path.write_text(yaml.safe_dump(data))
    flags = ["--run.directory", str(folder), "--run.name", "r", "--run.total-steps", str(total), "--run.shards", "1"]
    flags += ["--eval.every", "0"]
    return contextlib.closing(Run(load_config(str(path), flags, folder), RunStore(folder, "r"), Tracker()))


@needs_rocketsim
def test_the_curriculum_promotes_itself_and_survives_a_resume_in_between(tmp_path, monkeypatch):
    with small(tmp_path, 64) as run:
        train(run)
        assert run.phase == 0
        seen = run.learning.trainees["main"].reward_statistics["reward/count"][0]
        assert seen == pytest.approx(64 * 2)
    with small(tmp_path, 256) as run:
        assert run.resume()
        assert run.phase == 0 and run.progress.steps == 64
        train(run)
        assert run.phase == 1
        assert run.tracker.last["run/phase"] == 1.0
        main = run.learning.trainees["main"]
        assert main.updates >= 2  # the first rollouts under new rewards are only looked at
        assert main.reward_statistics["reward/count"][0] <= 128 * 2, "other rewards, other returns: measured anew"
        assert {t.name for t in run.spec.rewards} == set(run.config.env.rewards)
        assert not run.config.env.end_on_goal
        weights = main.policy.flat.clone()
    with small(tmp_path, 320) as run:
        assert run.resume()
        assert run.phase == 1
        assert (run.learning.trainees["main"].policy.flat == weights).all()
        train(run)
        assert run.progress.steps == 320
