"""The scripted opponents."""

from pvp_ml.games.osrs import state as S

SHOOT = {"attack": "ranged_attack", "ranged_attack_type": "basic_ranged_attack"}


def test_bot_carries_anglerfish_for_brews_and_two_restores(fight):
    f = fight(bots=(None, "nh-bot"))
    assert f.rows[1, S.COUNT + S.KIND_BREW] == 0 and f.rows[1, S.COUNT + S.KIND_RESTORE] == 8
    assert f.rows[1, S.COUNT + S.KIND_ANGLERFISH] == 11 + 5 + 1
    assert not f.out.acting[0, 1] and not f.mask[1].any() and f.out.acting[0, 0]


def test_bot_stands_west_of_the_agent():
    from pvp_ml.games.osrs.fights import NH
    from pvp_ml.match import Bot, External, MatchPlan, StepBuffers

    game = NH.build(NH.config(), 1)
    game.queue([MatchPlan(1, 5, (External("a"), Bot("nh-bot")))])
    game.start(StepBuffers.allocate(game.spec, 1))
    assert game.fighters[0, 1, S.X] == game.fighters[0, 0, S.X] - 1


def test_bot_waits_until_it_is_hit_then_fights(fight):
    f = fight(bots=(None, "nh-bot"))
    f.idle(10)
    assert f.rows[1, S.N_HITS] == 0 and f.rows[1, S.PRAYERS] == 0
    f.play(SHOOT, hits={0: [(1, 3)]})
    f.play()
    assert f.rows[1, S.BOT_ENEMY] == 1
    f.idle(2)
    assert f.rows[1, S.N_HITS] >= 1 and f.rows[1, S.N_STYLE + S.MAGE] >= 1  # freezes first


def test_bot_eats_an_anglerfish_every_three_ticks_while_not_above_base(fight):
    f = fight(bots=(None, "nh-bot"))
    before = int(f.rows[1, S.COUNT + S.KIND_ANGLERFISH])
    f.play()
    assert f.rows[1, S.HP] == 121 and f.rows[1, S.COUNT + S.KIND_ANGLERFISH] == before - 1
    f.rows[1, S.HP] = 50
    f.play().play()
    assert f.rows[1, S.COUNT + S.KIND_ANGLERFISH] == before - 1  # timer set before the decrease: 2 ticks to wait
    f.play()
    assert f.rows[1, S.COUNT + S.KIND_ANGLERFISH] == before - 2


def test_bot_with_sharks_keeps_them_for_emergencies(fight):
    f = fight(builds=("LMS_PURE",), bots=(None, "nh-bot"))
    f.play()
    assert f.carries(1, "shark") == 16 and f.carries(1, "anglerfish") == 0 and f.rows[1, S.HP] == 121


def test_bot_drinks_when_it_cannot_eat_more(fight):
    f = fight(bots=(None, "nh-bot"))
    f.rows[1, S.HP] = 110
    f.play()
    assert f.rows[1, S.RNG] == 112
    f.idle(3)
    assert f.rows[1, S.STR] == 118


def test_bot_eats_when_a_hit_would_leave_it_at_65_percent(fight):
    f = fight(bots=(None, "nh-bot"), switches_off=("bot_pots_up", "regen_phase_carried"))
    f.rows[1, S.HP] = 80
    f.rows[1, S.T_POTION] = f.tick + 100
    before = int(f.rows[1, S.COUNT + S.KIND_ANGLERFISH])
    f.play(SHOOT, hits={0: [(1, 20)]}).play()
    assert f.rows[1, S.COUNT + S.KIND_ANGLERFISH] == before - 1 and f.rows[1, S.HP] == 80 + 22 - 20


def test_random_agents_lose_more_often_than_they_win_against_the_bot():
    import numpy as np

    from pvp_ml.games.legal import Legality
    from pvp_ml.games.osrs.fights import NH
    from pvp_ml.match import Bot, External, MatchPlan, StepBuffers

    game = NH.build(NH.config(max_ticks=600), 64)
    out = StepBuffers.allocate(game.spec, 64)
    game.queue([MatchPlan(i, i, (External("a"), Bot("nh-bot"))) for i in range(64)])
    game.start(out)
    legality, rng, results = Legality(game.spec), np.random.default_rng(1), []
    while out.acting.any():
        rows, seats = np.nonzero(out.acting)
        actions = np.full((64, 2, 12), -1, np.int32)
        actions[rows, seats] = legality.choose(out.mask[rows, seats], rng.random((len(rows), 12)))
        game.step(actions, out)
        stopped = out.ended | out.truncated
        results += out.result[stopped, 0].tolist()
    assert len(results) == 64
    assert np.mean(np.array(results) == 1) < 0.45


def test_dharok_bot_retaliates_with_its_tentacle(dharok):
    d = dharok(bots=(None, "dharok-bot"))
    d.idle(5)
    assert d.rows[1, S.N_HITS] == 0
    d.play({"attack": "whip_attack"}, hits={0: [(1, 5)]}, poison={0: [0]})
    d.idle(3)
    assert d.rows[1, S.N_STYLE + S.MELEE] >= 1
