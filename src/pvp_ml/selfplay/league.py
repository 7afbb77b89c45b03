"""The league: frozen members, how often each is met, and what came of it. JSON in, JSON out.

Quality rule of prioritised past self-play: a new member starts at the highest quality, members are met with the softmax
of their qualities, and beating member i lowers its quality by η / (N · P(i)): what is beaten reliably is met less. P(i)
is that of the meeting, hence the same for all matches that are booked together, and never below RAREST / N: otherwise
each win makes the next step larger, and a few dozen wins at once would ban a member for good.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.match import MAIN, Bot, Live, Member, Occupant, Scripted
from pvp_ml.selfplay.collect.active_matches import Outcome
from pvp_ml.selfplay.ratings import MAX_RATING, START, Belief, RatingSystem, rate_match

Kind = Literal["past", "exploiter", "target", "latest", "frozen"]
Weighting = Literal["hard", "even", "linear"]
RAREST = 0.01
FORM_MATCHES = 200.0
"""So many matches back a result counts 1/e in a player's form: who was beaten long ago may be hard by now."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One member. `key` names it in the payoff table; weights are found by `content_hash`."""

    content_hash: Annotated[str, msgspec.Meta(pattern="^[0-9A-Za-z_-]{1,64}$")]  # names a file
    name: str
    kind: Kind
    steps: int
    quality: float = 1.0

    @property
    def key(self) -> str:
        """Member keys are hashes: the same policy under two names is one player."""
        return self.content_hash


@dataclass(slots=True)
class Score:
    """Points of one player against another."""

    wins: int = 0
    ties: int = 0
    losses: int = 0

    @property
    def matches(self) -> int:
        """Matches that count."""
        return self.wins + self.ties + self.losses

    @property
    def points(self) -> float:
        """A tie is half a point."""
        return self.wins + 0.5 * self.ties

    def rate(self, prior: float = 1.0) -> float:
        """Share of points, drawn towards ½ by `prior` matches."""
        return (self.points + 0.5 * prior) / (self.matches + prior)


@dataclass(frozen=True, slots=True)
class Form:
    """Points of one player against another, later matches counting more; `matches` never exceeds FORM_MATCHES."""

    points: float = 0.0
    matches: float = 0.0

    def after(self, points: float) -> Form:
        """With one match more."""
        kept = 1.0 - 1.0 / FORM_MATCHES
        return Form(kept * self.points + points, kept * self.matches + 1.0)

    def rate(self, prior: float = 1.0) -> float:
        """Share of points, drawn towards ½ by `prior` matches."""
        return (self.points + 0.5 * prior) / (self.matches + prior)


@dataclass(slots=True)
class League:
    """Members, their qualities, all results, and online ratings of everybody that was met."""

    size: int = 20
    learning_rate: float = 0.01
    members: list[Entry] = field(default_factory=list)
    payoff: dict[str, dict[str, Score]] = field(default_factory=dict)
    ratings: dict[str, Belief] = field(default_factory=dict)
    rating_system: RatingSystem = "openskill"
    forms: dict[str, dict[str, Form]] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Take a member in at the highest quality; the same policy twice is taken once.

        Beyond `size`, past members are evicted: of each two neighbours in age, the one after the closest pair goes,
        so that old and new stay represented; the first and the newest always stay.
        """
        if any(member.content_hash == entry.content_hash and member.kind == entry.kind for member in self.members):
            return
        top = max((m.quality for m in self.members if m.kind in ("past", "exploiter")), default=1.0)
        self.members.append(replace(entry, quality=top))
        self.ratings.setdefault(entry.key, self.belief(MAIN))
        while len(self.of_kind("past", "exploiter")) > self.size:
            self.members.remove(self._least_missed())

    def remove(self, content_hash: str) -> None:
        """Forget a member (its results stay)."""
        self.members = [member for member in self.members if member.content_hash != content_hash]

    def of_kind(self, *kinds: Kind) -> list[Entry]:
        """Members of these kinds, oldest first."""
        return [member for member in self.members if member.kind in kinds]

    def member(self, content_hash: str) -> Entry:
        """The member with these weights."""
        for entry in self.members:
            if entry.content_hash == content_hash:
                return entry
        raise UserError(f"the league has no member {content_hash[:12]}")

    def _least_missed(self) -> Entry:
        old = self.of_kind("past", "exploiter")
        if len(old) <= 2:
            return old[0]
        gaps = [old[i + 1].steps - old[i - 1].steps for i in range(1, len(old) - 1)]
        return old[1 + int(np.argmin(gaps))]

    # --- whom to meet -------------------------------------------------------------------------------------------------

    def past_chances(self) -> npt.NDArray[np.float64]:
        """Softmax of the qualities of past members and exploiters."""
        quality = np.array([m.quality for m in self.of_kind("past", "exploiter")])
        weight = np.exp(quality - quality.max(initial=0.0))
        return np.asarray(weight / weight.sum()) if len(weight) else weight

    def pfsp_chances(self, weighting: Weighting, player: str = MAIN, floor: float = 0.02) -> npt.NDArray[np.float64]:
        """Chances by the recent win rate w: hard (1−w)², even w(1−w), linear 1−w; none below `floor`/N."""
        members = self.of_kind("past", "exploiter")
        if not members:
            return np.zeros(0)
        wins = np.array([self.form(player, m.key).rate() for m in members])
        raw = {"hard": (1.0 - wins) ** 2, "even": wins * (1.0 - wins), "linear": 1.0 - wins}[weighting] + 1e-9
        return np.asarray((1.0 - floor) * raw / raw.sum() + floor / len(members))

    # --- what came of it ----------------------------------------------------------------------------------------------

    def score(self, first: str, second: str) -> Score:
        """Results of the first player against the second."""
        return self.payoff.get(first, {}).get(second) or Score()

    def form(self, first: str, second: str) -> Form:
        """The first player's recent results against the second."""
        return self.forms.get(first, {}).get(second) or Form()

    def forget_form(self, player: str) -> None:
        """The player starts afresh: how it fared before says nothing any more. Results stay in the table."""
        self.forms.pop(player, None)

    def record(self, outcomes: Iterable[Outcome], teams: tuple[tuple[int, ...], ...]) -> None:
        """Book finished matches: payoff, ratings, qualities. Void ones, and matches against oneself, change nothing.

        Matches are booked in the order of their serials, so that nothing depends on which shard was faster.
        """
        met = self._chances_of_meeting()
        for outcome in sorted(outcomes, key=lambda outcome: outcome.plan.serial):
            if outcome.fault or len(teams) != 2:
                continue
            first, second = (player_key(outcome.plan.lineup[team[0]]) for team in teams)
            if first != second:
                points = 0.5 + 0.5 * outcome.result[teams[0][0]]
                self.book(first, second, points, met)

    def book(self, first: str, second: str, points: float, met: dict[str, float] | None = None) -> None:
        """One match between two players; `met`: member → chance that it was drawn, by default as things stand."""
        for a, b, made in ((first, second, points), (second, first, 1.0 - points)):
            score = self.payoff.setdefault(a, {}).setdefault(b, Score())
            score.wins += made == 1.0
            score.ties += made == 0.5
            score.losses += made == 0.0
            self.forms.setdefault(a, {})[b] = self.form(a, b).after(made)
        beliefs = rate_match(self.belief(first), self.belief(second), points, self.rating_system)
        self.ratings[first], self.ratings[second] = beliefs
        if MAIN in (first, second) and points == (1.0 if first == MAIN else 0.0):
            self._lower_quality(second if first == MAIN else first, met or self._chances_of_meeting())

    def _chances_of_meeting(self) -> dict[str, float]:
        members = self.of_kind("past", "exploiter")
        return {m.key: max(float(p), RAREST / len(members)) for m, p in zip(members, self.past_chances(), strict=True)}

    def _lower_quality(self, key: str, met: dict[str, float]) -> None:
        for i, member in enumerate(self.members):
            if member.key == key and key in met:
                step = self.learning_rate / (len(met) * met[key])
                self.members[i] = replace(member, quality=member.quality - step)
                return

    def belief(self, player: str) -> Belief:
        """The player's rating, or the one that everybody starts with."""
        return self.ratings.get(player, START[self.rating_system])

    def use_ratings(self, system: RatingSystem) -> None:
        """Rate by this system from now on; points of another system mean nothing in it, so a change starts afresh."""
        if system != self.rating_system:
            self.rating_system = system
            self.ratings = {}

    def table(self, players: list[str]) -> npt.NDArray[np.float64]:
        """points[i,j] that player i made against player j."""
        return np.array([[self.score(a, b).points if a != b else 0.0 for b in players] for a in players])

    # --- JSON -----------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Everything; `from_json` gives an equal league."""
        return {
            "size": self.size,
            "learning_rate": self.learning_rate,
            "members": [asdict(member) for member in self.members],
            "payoff": {a: {b: [s.wins, s.ties, s.losses] for b, s in row.items()} for a, row in self.payoff.items()},
            "ratings": {key: [belief.mu, belief.sigma] for key, belief in self.ratings.items()},
            "rating_system": self.rating_system,
            "forms": {a: {b: [f.points, f.matches] for b, f in row.items()} for a, row in self.forms.items()},
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> League:
        """Read what `to_json` wrote; refuses anything else, because a league is a file in a run folder."""
        try:
            saved = msgspec.convert(data, _Saved)
        except msgspec.ValidationError as error:
            raise UserError(f"this is not a league: {error}", "resume from another checkpoint") from error
        numbers = [n for pair in saved.ratings.values() for n in pair] + [m.quality for m in saved.members]
        numbers += [n for row in (saved.forms or {}).values() for pair in row.values() for n in pair]
        if not all(math.isfinite(n) and abs(n) < 1e9 for n in (*numbers, saved.learning_rate)):
            raise UserError("this is not a league: a rating or quality is not finite", "resume from another checkpoint")
        most = MAX_RATING[saved.rating_system]
        if not all(abs(mu) <= most and 0 <= sigma <= most for mu, sigma in saved.ratings.values()):
            raise UserError(f"this is not a league: a rating is beyond ±{most}", "resume from another checkpoint")
        payoff = {a: {b: Score(*s) for b, s in row.items()} for a, row in saved.payoff.items()}
        if saved.forms is None:  # older leagues
            forms = {a: {b: _form_of(score) for b, score in row.items()} for a, row in payoff.items()}
        else:
            forms = {a: {b: Form(*f) for b, f in row.items()} for a, row in saved.forms.items()}
        return cls(
            size=saved.size,
            learning_rate=saved.learning_rate,
            members=saved.members,
            payoff=payoff,
            ratings={key: Belief(*belief) for key, belief in saved.ratings.items()},
            rating_system=saved.rating_system,
            forms=forms,
        )


_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    """The shape of a league's JSON."""

    size: _Count
    learning_rate: float
    members: list[Entry]
    payoff: dict[str, dict[str, tuple[_Count, _Count, _Count]]]
    ratings: dict[str, tuple[float, float]]
    rating_system: RatingSystem = "openskill"  # older leagues had no choice
    forms: dict[str, dict[str, tuple[float, float]]] | None = None


def _form_of(score: Score) -> Form:
    """The form that a table of results suggests, when nothing says what was late in it."""
    kept = min(1.0, FORM_MATCHES / max(1, score.matches))
    return Form(kept * score.points, kept * score.matches)


def player_key(occupant: Occupant) -> str:
    """The name of a player in the payoff table."""
    match occupant:
        case Live(trainee):
            return trainee
        case Member(content_hash):
            return content_hash
        case Bot(name):
            return f"bot:{name}"
        case Scripted(name):
            return f"player:{name}"
    return "external"
