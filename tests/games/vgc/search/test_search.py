"""The search as a player: deterministic, blind to what is hidden, legal, and named like any other."""

import re
from pathlib import Path

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.play import Table
from pvp_ml.games.vgc.actions import PREVIEWS
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.search.player import SearchPlayer, make_search
from pvp_ml.games.vgc.search.settings import SearchSettings
from pvp_ml.games.vgc.search.thinker import Thinker
from pvp_ml.games.vgc.teams import shipped
from pvp_ml.match import RESTING, Bot, External, MatchPlan, StepBuffers
from pvp_ml.model.bundle import read_bundle
from pvp_ml.players import actor_of
from pvp_ml.selfplay.evaluate import evaluate, find_contestant

FORMAT = "gen9vgc2025regi"
MODEL = Path(__file__).parents[4] / "src/pvp_ml/models/GeneralistVgc.zip"
SEED = 11


@pytest.fixture(scope="module")
def bundle():
    return read_bundle(MODEL)


@pytest.fixture
def think(installation, bundle):
    """Thinkers that end with the test."""
    made = []

    def make(**settings):
        made.append(Thinker(actor_of(bundle), installation, SearchSettings(**settings)))
        return made[-1]

    yield make
    for thinker in made:
        thinker.process.close()


class Seat:
    def __init__(self, game, serial, seat):
        self.game, self.serial, self.seat, self.room = game, serial, seat, f"{serial}/{seat}"

    def read(self, start):
        return self.game.briefing(self.serial, self.seat, start)


def other_spread(text):
    """The same team with another nature and other effort values: hidden even with open sheets."""
    text = re.sub(r"^EVs: .*$", "EVs: 252 HP / 4 Def", text, flags=re.MULTILINE)
    return re.sub(r"^\w+ Nature$", "Hardy Nature", text, flags=re.MULTILINE)


def first_thoughts(build, thinker, foe):
    """Briefings and thoughts of seat 0 at preview and in turn 1, and the foe's own view of its stats."""
    game = build(1, teams=(shipped()[FORMAT]["shadow-rider"],), opponent_teams=(foe,), format=FORMAT)
    game.queue([MatchPlan(0, 5, (External("a"), External("b")))])
    game.start()
    out = StepBuffers.allocate(game.spec, 1)
    seat, found = Seat(game, 0, 0), []
    for picks in ([1, 46, 46], None):
        assert game.recv(1, 60.0, out) == 1
        found.append((seat.read(0), thinker.think(seat, SEED)))
        if picks:
            game.send(out.match[:1], np.array([[picks, picks]], np.int32))
    stats = [entry["stats"] for entry in game.briefing(0, 1, 0).request["side"]["pokemon"]]
    thinker.forget(seat.room)
    return found, stats


def test_what_is_hidden_changes_no_thought(build, think):
    """The foe's spread is another; what the seat is shown, and so everything that the search does, is the same."""
    thinker = think(simulations=8)
    foe = shipped()[FORMAT]["zacian-screens"]
    one, true_stats = first_thoughts(build, thinker, foe)
    two, other_stats = first_thoughts(build, thinker, other_spread(foe))
    assert true_stats != other_stats
    for (briefing, thought), (again, same) in zip(one, two, strict=True):
        shown = [[line for line in b.lines if not line.startswith("|t:|")] for b in (briefing, again)]
        assert shown[0] == shown[1] and briefing.request == again.request
        assert thought.simulations == 8 and not thought.declined
        np.testing.assert_array_equal(thought.payoff, same.payoff)
        np.testing.assert_array_equal(thought.strategy, same.strategy)
    assert one[0][1].own.actions[:, 0].min() >= 1  # line-ups at preview
    assert one[1][1].own.actions[:, 0].max() == 0


ONE = """
Dragonite (M) @ Choice Band | Multiscale | Normal | Protect / Extreme Speed / Outrage / Earthquake
Garchomp (M) @ Life Orb | Rough Skin | Steel | Protect / Earthquake / Rock Slide / Dragon Claw
Amoonguss (M) @ Sitrus Berry | Regenerator | Water | Protect / Spore / Pollen Puff / Rage Powder
Whimsicott (M) @ Focus Sash | Prankster | Ghost | Protect / Tailwind / Moonblast / Encore
Talonflame (M) @ Sharp Beak | Gale Wings | Flying | Protect / Brave Bird / Tailwind / Flare Blitz
Gardevoir (M) @ Leftovers | Telepathy | Fairy | Protect / Psychic / Hyper Voice / Trick Room
"""
OTHER = """
Dragonite (M) @ Lum Berry | Inner Focus | Fire | Protect / Draco Meteor / Roost / Hurricane
Garchomp (M) @ Rocky Helmet | Sand Veil | Fairy | Protect / Stomping Tantrum / Substitute / Liquidation
Amoonguss (M) @ Coba Berry | Effect Spore | Dark | Protect / Sludge Bomb / Giga Drain / Stun Spore
Whimsicott (M) @ Babiri Berry | Infiltrator | Fire | Protect / Energy Ball / Taunt / Light Screen
Talonflame (M) @ Charti Berry | Flame Body | Ground | Protect / Will-O-Wisp / Roost / Taunt
Gardevoir (M) @ Choice Scarf | Synchronize | Steel | Protect / Moonblast / Shadow Ball / Dazzling Gleam
"""
GUARD = 2  # the first move, which aims at nobody


def team_of(table, training):
    """Lines of `name @ item | ability | Tera type | moves` as Showdown's text, all trained alike."""
    blocks = []
    for line in table.strip().splitlines():
        head, ability, tera, moves = line.split(" | ")
        rest = "\n".join(f"- {move}" for move in moves.split(" / "))
        blocks.append(f"{head}\nAbility: {ability}\nTera Type: {tera}\n{training}\n{rest}")
    return "\n\n".join(blocks)


def guarded_thoughts(build, thinker, foe, lineup, seed, sheets, turns=3):
    """Briefings and thoughts at preview and in the first turns, in which everybody guards; and what the foe holds."""
    own = team_of(ONE, "EVs: 252 HP\nBrave Nature\nIVs: 0 Spe")  # slower than all foes: the order of moves is shown
    game = build(1, teams=(own,), opponent_teams=(foe,), format=FORMAT, sheets=sheets)
    game.queue([MatchPlan(0, seed, (External("a"), External("b")))])
    game.start()
    out, seat, found = StepBuffers.allocate(game.spec, 1), Seat(game, 0, 0), []
    for turn in range(turns):
        assert game.recv(1, 60.0, out) == 1
        found.append((seat.read(0), thinker.think(seat, SEED)))
        picks = [[1, 46, 46], [lineup, 46, 46]] if turn == 0 else [[0, GUARD, GUARD]] * 2
        if turn + 1 < turns:
            game.send(out.match[:1], np.array([picks], np.int32))
    held = game.briefing(0, 1, 0).request["side"]["pokemon"]
    thinker.forget(seat.room)
    return found, held


def test_no_hidden_fact_changes_a_thought(build, think):
    """Closed sheets: items, moves, abilities, Tera types, spreads, natures, who waits and the dice are all others."""
    thinker = think(simulations=8, trust=0.3)
    back = 1 + PREVIEWS.index((1, 2, 5, 6))
    fast, bulky = "EVs: 252 Atk / 252 Spe\nJolly Nature", "EVs: 252 HP / 252 SpA\nModest Nature"
    one, held = guarded_thoughts(build, thinker, team_of(ONE, fast), 1, 5, "closed")
    two, other = guarded_thoughts(build, thinker, team_of(OTHER, bulky), back, 6, "closed")
    for fact in ("item", "moves", "baseAbility", "teraType", "stats"):
        assert all(a[fact] != b[fact] for a, b in zip(held[:2], other[:2], strict=True)), fact
    assert {a["ident"] for a in held[2:]}.isdisjoint(b["ident"] for b in other[2:])
    for (briefing, thought), (again, same) in zip(one, two, strict=True):
        shown = [[line for line in b.lines if not line.startswith("|t:|")] for b in (briefing, again)]
        assert shown[0] == shown[1] and briefing.request == again.request
        assert thought.simulations == 8 and not thought.declined
        np.testing.assert_array_equal(thought.own.prior, same.own.prior)
        for ours, theirs in zip(thought.foes, same.foes, strict=True):
            np.testing.assert_array_equal(ours.actions, theirs.actions)
            np.testing.assert_array_equal(ours.prior, theirs.prior)
        np.testing.assert_array_equal(thought.payoff, same.payoff)
        np.testing.assert_array_equal(thought.strategy, same.strategy)
    assert [briefing.request.get("teamPreview", False) for briefing, _ in one] == [True, False, False]
    shown, _ = guarded_thoughts(build, thinker, team_of(OTHER, bulky), back, 6, "open", turns=1)
    assert not np.array_equal(shown[0][1].own.prior, one[0][1].own.prior)  # what is shown does change thoughts


def test_a_lost_process_is_replaced_and_told_everything_again(build, think):
    thinker = think(simulations=4)
    game = build(1, format=FORMAT)
    game.queue([MatchPlan(0, 5, (External("a"), Bot("heuristics")))])
    game.start()
    game.recv(1, 60.0, StepBuffers.allocate(game.spec, 1))
    seat = Seat(game, 0, 0)
    first = thinker.think(seat, SEED)
    thinker.process.close()
    np.testing.assert_array_equal(thinker.think(seat, SEED).payoff, first.payoff)
    assert thinker.process.lives == 2


def test_a_whole_battle_is_searched_and_legal(build, bundle):
    game = build(1, format=FORMAT)
    player = SearchPlayer(bundle, game.spec, SearchSettings(simulations=6, worlds=1))
    try:
        table = Table(game, {"search": player})
        table.queue([MatchPlan(0, 3, (External("search"), Bot("heuristics")))])
        table.start()
        while table.out.serial[0] != RESTING:
            table.decide()
            table.step()
        assert game.stats()[0]["rejected"] == 0
        assert player.thought >= 4 and player.declined == 0
    finally:
        player.close()


def test_it_is_named_like_any_other_player(installation):
    spec = make_spec(VgcConfig())
    contestant = find_contestant("search:GeneralistVgc?simulations=5", spec, Path.cwd())
    assert contestant.name == "search:GeneralistVgc?simulations=5" and contestant.make is not None
    with pytest.raises(UserError, match="no model 'Nobody'"):
        make_search("Nobody", spec)
    with pytest.raises(UserError, match="cannot play at"):
        contestant.make(spec).attend(object())


def test_at_a_server_it_is_shown_what_the_server_shows():
    """Lines of one room add up and can be read from any place; rooms are kept apart, and forgotten when left."""
    from pvp_ml.games.vgc.live.seats import PlayerSeat

    class Viewer:
        format = FORMAT

        def look(self, room, lines, request):
            return 1, np.zeros(3, np.float32), np.ones(3, np.bool_)

        def spell(self, room, picks):
            return f"{room} {picks}"

        def forget(self, room):
            pass

    class Listener:
        def attend(self, game):
            self.game, self.heard = game, []

        def begin(self, serials):
            pass

        def end(self, serials):
            pass

        def decide(self, serials, seats, obs, mask, keys):
            self.heard.append(self.game.briefing(int(serials[0]), int(seats[0]), 1))
            return np.zeros((1, 3), np.int32)

    player = Listener()
    seat = PlayerSeat(Viewer(), player, np.random.default_rng(0))
    assert seat.decide({"room": "a", "lines": ["1", "2"], "request": {"n": 1}}) == "a [0, 0, 0]"
    seat.decide({"room": "b", "lines": ["x"], "request": {"n": 2}})
    seat.decide({"room": "a", "lines": ["3"], "request": {"n": 3}})
    assert [found.lines for found in player.heard] == [["2"], [], ["2", "3"]]
    assert [found.request["n"] for found in player.heard] == [1, 2, 3]
    assert (player.heard[2].next, player.heard[2].format) == (3, FORMAT)
    seat.leave("a")
    with pytest.raises(KeyError):
        seat.briefing(0, 1, 0)


@pytest.mark.nightly
def test_memory_stays_bounded_over_many_searched_battles(build, bundle):
    game = build(8, format=FORMAT)
    contestants = [
        find_contestant(name, game.spec, Path.cwd()) for name in ("search:GeneralistVgc?simulations=8", "max-power")
    ]
    kept = []
    made = contestants[0].make
    object.__setattr__(contestants[0], "make", lambda spec: kept.append(made(spec)) or kept[0])
    evaluate(game, *contestants, 1000)
    pid = kept[0]._thinker.process.pid
    resident = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])
    assert resident < 450_000  # kB


def test_it_is_met_on_the_page(installation, tmp_path):
    """`play --against search:…`: the page lists it, and it decides there."""
    from pvp_ml.games import registry
    from pvp_ml.web.live import LiveMatch
    from pvp_ml.web.player_list import PlayerList

    kind, name = registry.find("vgc"), "search:GeneralistVgc?simulations=4"
    listed = PlayerList(kind, tmp_path, name)
    assert listed.default == f"player:{name}"
    seats = (listed.default, "bot:heuristics")
    minds = [listed.mind(who, seat, seats) for seat, who in enumerate(seats)]
    lineup = tuple(listed.occupant(who, seat) for seat, who in enumerate(seats))
    match = LiveMatch(kind, VgcConfig(workers=1), MatchPlan(0, 4, lineup), minds, None)
    try:
        match.advance(None)
        match.advance(None)
        assert minds[0]._player.thought == 2 and minds[0]._player.declined == 0
    finally:
        match.close()
        minds[0]._player.close()
