"""Reward terms: named, unweighted numbers per seat and step, and conditions that switch a term on and off.

Goals are the back-of-net points (0, ±6000, 321.39). A preset weighs terms; zero-sum and team-spirit mixing happen
after the game. `term@condition` pays the term only while the condition holds.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.derived_state import Bools, Floats, Moment
from pvp_ml.games.rocket_league.rewards import terms as terms
from pvp_ml.spec import RewardTerm

Term = Callable[[Moment], npt.NDArray[np.floating] | Bools]

TERMS: dict[str, Term] = {
    "touch": terms.touch,
    "goal": terms.goal,
    "concede": terms.concede,
    "own_goal": terms.own_goal,
    "shot": terms.shot,
    "save": terms.save,
    "demo": terms.demo,
    "demoed": terms.demoed,
    "boost_gain": terms.boost_gain,
    "constant": terms.constant,
    "speed_toward_ball": terms.speed_toward_ball,
    "velocity_player_to_ball": terms.velocity_player_to_ball,
    "face_ball": terms.face_ball,
    "in_air": terms.in_air,
    "velocity": terms.velocity,
    "velocity_ball_to_goal": terms.velocity_ball_to_goal,
    "basic_shot": terms.basic_shot,
    "clear": terms.clear,
    "velocity_toward_own_goal": terms.velocity_toward_own_goal,
    "liu_distance_ball_to_goal": terms.liu_distance_ball_to_goal,
    "liu_distance_player_to_ball": terms.liu_distance_player_to_ball,
    "strong_hit": terms.strong_hit,
    "touch_to_goal": terms.touch_to_goal,
    "shot_quality": terms.shot_quality,
    "touch_ball": terms.touch_ball,
    "air_touch": terms.air_touch,
    "jump_shot": terms.jump_shot,
    "basic_aerial": terms.basic_aerial,
    "recovery_and_landing": terms.recovery_and_landing,
    "bad_orientation": terms.bad_orientation,
    "save_boost": terms.save_boost,
    "collect_boost": terms.collect_boost,
    "boost_pickup": terms.boost_pickup,
    "steal_boost": terms.steal_boost,
    "align_ball_goal": terms.align_ball_goal,
    "shot_setup": terms.shot_setup,
    "goal_line_save": terms.goal_line_save,
    "possession": terms.possession,
    "fifty_fifty": terms.fifty_fifty,
    "offside": terms.offside,
    "in_net": terms.in_net,
    "dribbling": terms.dribbling,
    "control": terms.control,
    "wall_hit": terms.wall_hit,
}

OF_THE_BODY = frozenset(
    {
        "speed_toward_ball",
        "velocity_player_to_ball",
        "face_ball",
        "velocity",
        "liu_distance_player_to_ball",
        "align_ball_goal",
        "shot_setup",
        "fifty_fifty",
        "dribbling",
        "control",
        "bad_orientation",
        "save_boost",
        "in_net",
    }
)
"""Terms about where a car is and how it moves: the simulator leaves a wreck lying, but nobody drives it."""

CONDITIONS: dict[str, Term] = {
    "closest": terms.is_closest,
    "touched_last": terms.is_touched_last,
    "behind_ball": terms.is_behind_ball,
}


@dataclass(frozen=True, slots=True)
class Rewards:
    """The chosen terms, ready to be computed."""

    names: tuple[str, ...]
    aerial_weight: float

    def write(self, moment: Moment, out: Floats) -> None:
        """Fill out [M,S,R]."""
        wreck = moment.now.demoed if moment.now.demoed.any() else None
        for i, name in enumerate(self.names):
            term, _, condition = name.partition("@")
            value = TERMS[term](moment)
            if wreck is not None and term in OF_THE_BODY:
                value = np.where(wreck, 0.0, value)
            if term == "touch_ball" and self.aerial_weight != 1.0:
                value = np.where(value > 0, value**self.aerial_weight, 0.0)  # 0⁰ is 1, but no touch pays nothing
            out[:, :, i] = value * CONDITIONS[condition](moment) if condition else value

    def describe(self) -> tuple[RewardTerm, ...]:
        """For the spec."""
        return tuple(RewardTerm(name, doc=_doc(name)) for name in self.names)


def choose(names: tuple[str, ...], aerial_weight: float = 1.0) -> Rewards:
    """These terms, or all of them when no name is given; a wrong name is refused with the nearest right one."""
    for name in names:
        term, at, condition = name.partition("@")
        if term not in TERMS:
            raise _unknown("reward term", term, list(TERMS))
        if at and condition not in CONDITIONS:
            raise _unknown("condition", condition, list(CONDITIONS))
    return Rewards(names or tuple(TERMS), aerial_weight)


def _unknown(what: str, name: str, known: list[str]) -> UserError:
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known)}"
    return UserError(f"rocket_league has no {what} '{name}'", hint)


def _doc(name: str) -> str:
    term, _, condition = name.partition("@")
    text = (TERMS[term].__doc__ or "").split("\n")[0]
    return f"{text} Only while {condition}." if condition else text
