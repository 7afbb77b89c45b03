"""The first observation and masks, constants, start of a match."""

import numpy as np
import pytest

from pvp_ml.games.osrs import items
from pvp_ml.games.osrs import state as S

SETS_PURE = [110, 27, 145, 122, 5, 7, 89, 89, 4, 6, 87, 12, 80, 116, 72, 64, 101, 59]
VECTOR_9_1 = {
    (0, 4): [0, 0, 1, 0],
    (4, 5): [100],
    (5, 10): [0] * 5,
    (10, 12): [1.0, 0.0],
    (12, 16): [0, 0, 1, 0],
    (16, 22): [0] * 5 + [100],
    (22, 29): [4, 4, 12, 20, 11, 0, 1.0],
    (29, 34): [0] * 5,
    (34, 39): [99 / 118, 60 / 74, 1 / 6, 99 / 112, 1.0],
    (39, 46): [0] * 7,
    (46, 49): [0, -1, -1],
    (49, 57): [0] * 8,
    (58, 60): [1, 1],
    (61, 62): [0],
    (63, 66): [0, 0, 1.0],
    (66, 96): [0] * 30,
    (96, 103): [60, 99, 1, 99, 99, 52, 99],
    (103, 106): [0, 1, 0],
    (106, 114): [0, 1, 0, 1, 0, 0, 0, 0],
    (114, 121): [1, 0, 0, 0, 0, 0, 0],
    (121, 124): [1, 0, 0],
    (124, 142): SETS_PURE,
    (142, 145): [6, 75, 12],
    (145, 151): [110, 27, 145, 122, 89, 89],
    (151, 160): [6, 87, 12, 80, 116, 72, 64, 101, 59],
    (160, 168): [0] * 8,
    (168, 175): [0, 1, 0, 1, 1, 1, 0],
    (175, 176): [1],
}
MASKS_9_1 = ("FTTT", "TTF", "TTT", "TTFF", "TTFTT", "TT", "TF", "TF", "TT", "TFFFF", None, "FTTTTF")


def test_observation_vector_of_9_1(fight):
    f = fight(random_tiles=True, seed=3)
    for (lo, hi), wanted in VECTOR_9_1.items():
        assert np.allclose(f.obs[0, lo:hi], np.float32(wanted), rtol=0, atol=1e-7), f"observations {lo}…{hi - 1}"


def test_masks_of_9_1(fight):
    f, at = fight(seed=3), 0
    for head, wanted in zip(f.spec.heads, MASKS_9_1, strict=True):
        got = "".join("T" if bit else "F" for bit in f.mask[0, at : at + head.size])
        assert wanted is None or got == wanted, head.name
        at += head.size


def test_own_distance_is_not_a_farcast_choice(fight):
    f = fight().play()
    f.place((3060, 3540), (3064, 3541))
    f.play()
    assert f.mask[0, 33:39].tolist() == [True, True, False, True, True, True]  # 4 tiles apart: index 3 is off


def test_privileged_part_is_the_opponents_hidden_features(fight):
    f = fight().play({"food": "eat_primary_food"}, None)
    hidden = [i for i, feature in enumerate(f.spec.features) if feature.partial]
    assert len(hidden) == 93 == f.spec.privileged_size
    assert np.array_equal(f.out.privileged[0, 0], f.obs[1, hidden])
    assert np.array_equal(f.out.privileged[0, 1], f.obs[0, hidden])


def test_dharok_first_sight(dharok):
    f = dharok()
    wanted = np.zeros(40)
    wanted[[0, 6]] = 1  # tentacle
    wanted[[3, 4, 5, 9, 15]] = 1
    wanted[10:15] = [4, 12, 8, 14, 3]
    wanted[16:19] = 99 / 118
    wanted[23] = 0
    wanted[33] = f.obs[0, 33]
    wanted[[34, 36]] = 1
    assert np.allclose(f.obs[0], np.float32(wanted))
    assert f.mask[0].astype(int).tolist() == [0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0]
    assert f.spec.privileged_size == 15


@pytest.mark.parametrize("build", S.BUILDS[:7])
def test_constants_of_5_3(fight, build):
    f = fight(builds=(build,))
    level = items.BUILD_LEVELS[S.BUILDS.index(build)]
    assert f.obs[0, 96:103].tolist() == level.tolist()
    assert f.obs[0, 129] == 7


def test_builds_and_fight_types_are_drawn_by_the_seed_alone(fight):
    builds, types = set(), set()
    for seed in range(40):
        f = fight(builds=("PURE", "MED", "LMS_MED"), fight_type="drawn", seed=seed)
        assert f.rows[0, S.BUILD] == f.rows[1, S.BUILD]
        builds.add(int(f.rows[0, S.BUILD]))
        types.add(int(f.match[S.FIGHT_TYPE]))
        again = fight(builds=("PURE", "MED", "LMS_MED"), fight_type="drawn", seed=seed)
        assert again.game.fighters.tobytes() == f.game.fighters.tobytes()
    assert builds == {0, 2, 6} and types == {0, 1, 2}


def test_fight_type_follows_the_build(fight):
    assert fight(builds=("LMS_PURE",)).obs[0, 160] == 1
    assert fight(builds=("MAXED",)).obs[0, 160] == 0
    assert fight(fight_type="PVP_ARENA").obs[0, 161] == 1


def test_start_tiles_lie_close():
    from pvp_ml.games.osrs.fights import NH
    from pvp_ml.match import External, MatchPlan, StepBuffers

    game = NH.build(NH.config(), 200)
    game.queue([MatchPlan(i, i, (External("a"), External("b"))) for i in range(200)])
    game.start(StepBuffers.allocate(game.spec, 200))
    x, y = game.fighters[:, :, S.X], game.fighters[:, :, S.Y]
    assert x.min() >= 3041 and x.max() <= 3101 and y.min() >= 3530 and y.max() <= 3557
    assert np.abs(x[:, 0] - x[:, 1]).max() == 5 and np.abs(y[:, 0] - y[:, 1]).max() == 5
    assert (x[:, 1] - x[:, 0]).max() == 4  # the upper bound is exclusive


def test_fixed_start_tile(fight):
    from pvp_ml.games.osrs.fights import NH
    from pvp_ml.match import External, MatchPlan, StepBuffers

    game = NH.build(NH.config(random_tiles=False), 1)
    game.queue([MatchPlan(1, 1, (External("a"), External("b")))])
    game.start(StepBuffers.allocate(game.spec, 1))
    assert game.fighters[0, :, S.X].tolist() == [3096, 3096] and game.fighters[0, :, S.Y].tolist() == [3530, 3530]
