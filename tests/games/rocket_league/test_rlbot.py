"""RLBot: packets become the observations of training, folders check themselves, the rhythm is the trained one."""

from __future__ import annotations

import importlib.util
import json
import tomllib

import numpy as np
import pytest

from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.arena.field import PADS
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.describe import describe
from pvp_ml.games.rocket_league.rlbot.folder import made_up, write_folder
from pvp_ml.games.rocket_league.rlbot.packets import axes_of, pad_order, read_packet
from pvp_ml.games.rocket_league.rlbot.pilot import HANDS_OFF, BotSettings, Pilot, as_packet, open_folder
from pvp_ml.model.actor import empty_normalizer
from pvp_ml.model.bundle import make_bundle, write_bundle
from pvp_ml.model.network_config import NetworkConfig, tensor_shapes

HAS_RLBOT = importlib.util.find_spec("rlbot") is not None


def bundle(**settings):
    spec = describe(RocketLeagueConfig(meshes="generated", **settings))
    network = NetworkConfig(trunk=(16,))
    rng = np.random.default_rng(3)
    shapes = tensor_shapes(network, spec.interface)
    tensors = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return make_bundle(spec, network, tensors, empty_normalizer(network, spec.interface))


def vector(values):
    return dict(zip("xyz", (float(v) for v in values), strict=True))


def packet_of(game, clock_s=300.0, score=(0, 0)):
    """The first match of a game as a packet of RLBot."""
    arenas, players = game.arenas, []
    for seat, car in enumerate(arenas.cars[0, :, 0]):
        flags = arenas.flags[0, seat]
        grounded, flip = car[sim.ON_GROUND] > 0.5, flags[sim.HAS_FLIP] > 0.5
        state = 0 if grounded else 1 if flags[sim.IS_JUMPING] > 0.5 else 4
        nose, right, roof = car[sim.FORWARD], car[sim.RIGHT], car[sim.UP]
        angles = {
            "pitch": float(np.arcsin(np.clip(nose[2], -1.0, 1.0))),
            "yaw": float(np.arctan2(nose[1], nose[0])),
            "roll": float(np.arctan2(-right[2], roof[2])),
        }
        physics = {
            "location": vector(car[sim.POS]),
            "rotation": angles,
            "velocity": vector(car[sim.VEL]),
            "angular_velocity": vector(car[sim.SPIN]),
        }
        players.append(
            {
                "team": int(game.team[seat]),
                "physics": physics,
                "boost": float(car[sim.BOOST_AMOUNT]),
                "air_state": state,
                "has_jumped": not flip,
                "has_double_jumped": False,
                "has_dodged": not flip,
                "dodge_timeout": -1.0,
                "demolished_timeout": -1.0,
                "is_supersonic": bool(flags[sim.IS_SUPERSONIC] > 0.5),
            }
        )
    ball = arenas.ball[0, 0]
    physics = {
        "location": vector(ball[sim.BALL_POS]),
        "velocity": vector(ball[sim.BALL_VEL]),
        "angular_velocity": vector(ball[sim.BALL_SPIN]),
        "rotation": {"pitch": 0.0, "yaw": 0.0, "roll": 0.0},
    }
    order = np.random.default_rng(0).permutation(len(PADS))  # the game's order is its own
    back = np.where(PADS[:, 2] > 72.0, 10.0, 4.0)
    pads = [
        {"is_active": bool(arenas.pads[0, 0, i] > 0.5), "timer": float(back[i] - arenas.pad_timer[0, i])} for i in order
    ]
    info = {"match_phase": 3, "frame_num": 0, "is_overtime": False, "is_unlimited_time": False}
    data = {
        "players": players,
        "balls": [{"physics": physics}],
        "boost_pads": pads,
        "match_info": {**info, "game_time_remaining": clock_s},
        "teams": [{"score": s} for s in score],
    }
    return as_packet(data), [(float(PADS[i, 0]), float(PADS[i, 1])) for i in order]


@pytest.mark.parametrize(("mode", "version"), [("1v1", "advanced"), ("3v2", "advanced"), ("3v2", "advanced1")])
def test_a_packet_becomes_the_observation_of_the_simulator(play, mode, version):
    p = play(mode=mode, matches=1, scenario="random", observation=version)
    pilot = Pilot(bundle(observation=version), BotSettings())
    contact = [i for i, name in enumerate(f"{b.name}.{f.name}" for b in p.spec.blocks for _ in range(b.count)
               for f in b.features) if name.endswith("action.may_jump")]  # fmt: skip
    for step in range(12):
        p.step(16, count=5)  # straight on: over pads, into walls
        if p.out.ended[0] or p.out.truncated[0]:
            break
        packet, places = packet_of(p.game, clock_s=300.0 * (1.0 - 5.0 * (step + 1) / p.spec.max_steps))
        pilot.use_pads(places)
        for seat in range(p.spec.seats):
            previous = tuple(float(v) for v in p.game.view(0)["cars"][seat]["controls"].values())
            obs, mask, is_there = pilot.see(packet, seat, previous)
            assert is_there
            close = np.isclose(obs[0], p.out.obs[0, seat], atol=2e-4)
            assert set(np.flatnonzero(~close)) <= set(contact), "a packet does not tell whether the body touches"
            if close.all():
                assert (mask[0] == p.out.mask[0, seat]).all()


def test_rotations_are_the_simulators(rocketsim):
    for pitch, yaw, roll in np.random.default_rng(1).uniform(-1.5, 1.5, (20, 3)).tolist():
        theirs = rocketsim.Angle(pitch=pitch, yaw=yaw, roll=roll).as_rot_mat()
        expected = [[v.x, v.y, v.z] for v in (theirs.forward, theirs.right, theirs.up)]
        np.testing.assert_allclose(axes_of(pitch, yaw, roll), expected, atol=1e-5)


def test_pads_are_found_by_their_place():
    shuffled = np.random.default_rng(5).permutation(34)
    order = pad_order([(float(x), float(y)) for x, y, _ in PADS[shuffled]])
    assert (shuffled[order] == np.arange(34)).all()
    assert (pad_order([]) == -1).all()
    packet = as_packet(made_up(np.random.default_rng(0), orange=1))
    assert not read_packet(packet, 0, pad_order([])).pads.any()


def test_orange_sees_the_turned_world_and_many_cars_are_cut():
    data = made_up(np.random.default_rng(2), orange=3)
    data["players"] += [dict(data["players"][-1]) for _ in range(3)]
    world = read_packet(as_packet(data), 6, pad_order([]))
    assert world.sizes == (1, 3)
    assert world.seat == 1, "the own car is always among the three"
    assert world.ball[0, 1, 0] == -world.ball[0, 0, 0]
    assert world.ball[0, 1, 2] == world.ball[0, 0, 2]


def test_decisions_come_every_eight_ticks():
    pilot = Pilot(bundle(), BotSettings(delay_ticks=3))
    packet = as_packet(made_up(np.random.default_rng(0), orange=1))
    packet.match_info.frame_num = 100
    asked: list[int] = []
    pilot._decide = lambda packet, index, tick: (asked.append(tick), (float(tick),) * 8)[1]
    seen = []
    for tick in range(100, 120):
        packet.match_info.frame_num = tick
        seen.append(pilot.drive(packet, 0)[0])
    assert asked == [100, 108, 116]
    assert seen[:2] == [0.0, 0.0], "a delay of three ticks: RLBot takes one, two are waited"
    assert seen[2:10] == [100.0] * 8
    packet.match_info.match_phase = 5
    assert pilot.drive(packet, 0) == HANDS_OFF, "nobody drives in a replay"
    packet.match_info.match_phase, packet.match_info.frame_num = 3, 7
    pilot.drive(packet, 0)
    assert asked[-1] == 7, "a frame number that falls is a new match"


def test_a_folder_checks_itself(tmp_path):
    folder = tmp_path / "bot"
    files = write_folder(bundle(), 'Name "with" quotes', folder)
    assert files == [
        "README.md",
        "bot.json",
        "bot.toml",
        "golden.json",
        "loadout.toml",
        "model.zip",
        "rlbot.toml",
        "run.py",
    ]
    config = tomllib.loads((folder / "bot.toml").read_text())
    assert config["settings"]["name"] == 'Name "with" quotes'
    assert config["settings"]["agent_id"] == "pvp-ml/name-with-quotes"
    assert (folder / config["settings"]["loadout_file"]).exists()
    states = json.loads((folder / "golden.json").read_text())["states"]
    assert len(states) == 8
    assert {tuple(state["controls"]) for state in states} != {HANDS_OFF}
    open_folder(folder)
    with pytest.raises(UserError, match="not an empty folder"):
        write_folder(bundle(), "again", folder)
    for what, key in (("sees", "obs"), ("thinks", "probs"), ("does", "controls")):
        wrong = json.loads(json.dumps(states))
        wrong[3][key][0] += 0.5
        (folder / "golden.json").write_text(json.dumps({"states": wrong}))
        with pytest.raises(UserError, match=f"golden state 3: the policy {what} something else"):
            open_folder(folder)


def test_the_clock_counts_down_from_the_length_of_the_matches_in_training(tmp_path, capsys):
    """A model of 60 s matches must not see a fifth of its clock when the last minute of a real match begins."""
    run_folder = tmp_path / "experiments" / "r"
    run_folder.mkdir(parents=True)
    write_bundle(run_folder / "model.zip", bundle(observation="advanced1"))
    words = ["model", "export", str(run_folder / "model.zip"), "--rlbot"]
    assert run([*words, str(tmp_path / "unknown")]) == 2
    assert "give --timeout-s" in capsys.readouterr().err
    (run_folder / "config.yml").write_text("env:\n  timeout_s: 60.0\n")
    assert run([*words, str(tmp_path / "bot")]) == 0
    pilot = open_folder(tmp_path / "bot")
    packet = as_packet(made_up(np.random.default_rng(0), orange=1))
    packet.match_info.game_time_remaining = 45.0
    obs, _, _ = pilot.see(packet, 0, HANDS_OFF)
    names = [f"{b.name}.{f.name}" for b in pilot_blocks(pilot) for _ in range(b.count) for f in b.features]
    assert obs[0, names.index("advanced1.context.time_left")] == pytest.approx(0.75)


def test_version_2_needs_no_length_of_matches(tmp_path):
    write_bundle(tmp_path / "model.zip", bundle())
    assert run(["model", "export", str(tmp_path / "model.zip"), "--rlbot", str(tmp_path / "bot")]) == 0
    pilot = open_folder(tmp_path / "bot")
    names = [f"{b.name}.{f.name}" for b in pilot_blocks(pilot) for _ in range(b.count) for f in b.features]
    packet, seen = as_packet(made_up(np.random.default_rng(0), orange=1)), []
    for left in (300.0, 45.0):
        packet.match_info.game_time_remaining = left
        obs, _, _ = pilot.see(packet, 0, HANDS_OFF)
        seen.append(float(obs[0, names.index("advanced2.context.time_left")]))
    assert seen == pytest.approx([1.0, 0.75])


def pilot_blocks(pilot):
    return describe(pilot.config).blocks


@pytest.mark.parametrize("text", ["", "[1]", '{"states": 3}', '{"states": [{"packet": {}}]}', "[" * 5000])
def test_a_damaged_folder_is_refused_in_one_line(tmp_path, text):
    folder = tmp_path / "bot"
    write_folder(bundle(), "x", folder)
    (folder / "golden.json").write_text(text)
    with pytest.raises(UserError, match=r"golden\.json cannot be read"):
        open_folder(folder)
    (folder / "bot.json").write_text('{"tick_skip": 0}')
    with pytest.raises(UserError, match=r"bot\.json"):
        open_folder(folder)


@pytest.mark.parametrize(
    "settings", [{"observation": "default"}, {"actions": "heads", "bins": 5}, {"actions": "hybrid"}]
)
def test_which_models_can_play_there(settings):
    model = bundle(**settings)
    if settings.get("observation") == "default":
        with pytest.raises(UserError, match="cannot be made from RLBot's packets"):
            Pilot(model, BotSettings())
        return
    controls = Pilot(model, BotSettings()).drive(as_packet(made_up(np.random.default_rng(0), orange=1)), 0)
    assert len(controls) == 8 and all(-1.0 <= value <= 1.0 for value in controls)


@pytest.mark.skipif(
    not HAS_RLBOT, reason="rlbot is not installed, so its own reader is not tried: pip install 'pvp-ml[rlbot]'"
)
def test_rlbot_reads_the_folder_and_asks_the_bot(tmp_path):
    from rlbot import flat
    from rlbot.config import load_match_config

    from pvp_ml.games.rocket_league.rlbot.process import make_bot

    write_folder(bundle(), "Reader", tmp_path / "bot")
    match = load_match_config(tmp_path / "bot" / "rlbot.toml")
    bot = match.player_configurations[0].variety
    assert (bot.name, bot.agent_id) == ("Reader", "pvp-ml/reader")
    assert bot.loadout.car_id == 23
    ball = flat.BallInfo(flat.Physics(flat.Vector3(0.0, 0.0, 93.0)))
    player = flat.PlayerInfo(
        physics=flat.Physics(flat.Vector3(0.0, -2000.0, 17.0)), boost=33.0, demolished_timeout=-1.0
    )
    info = flat.MatchInfo(match_phase=flat.MatchPhase.Active, frame_num=5, game_time_remaining=300.0)
    packet = flat.GamePacket(
        players=[player], balls=[ball], match_info=info, teams=[flat.TeamInfo(0), flat.TeamInfo(1)]
    )
    driver = make_bot(open_folder(tmp_path / "bot"))
    driver.index = 0
    output = driver.get_output(packet)
    assert isinstance(output, flat.ControllerState)
    assert output.throttle in (-1.0, 0.0, 1.0)
