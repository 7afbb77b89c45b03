"""What every game promises, one function each: it returns what it saw or raises BrokenError with the first breach."""

from __future__ import annotations

from collections.abc import Callable

from pvp_ml.games.conformance import arrays, course, refusals
from pvp_ml.games.conformance.subject import Subject

PROMISES: tuple[Callable[[Subject], str], ...] = (
    arrays.spec_survives_json,
    arrays.buffers_are_written_inside,
    arrays.values_are_in_range,
    arrays.acting_seats_can_choose,
    arrays.view_is_json,
    course.queue_is_served_in_order,
    course.rows_without_plan_rest,
    course.same_plan_same_match,
    course.waiting_seats_are_ignored,
    course.idle_seats_are_accepted,
    course.cap_truncates,
    course.results_agree_with_teams,
    course.bots_play,
    course.scenarios_run,
    course.seats_are_symmetric,
    refusals.wrong_actions_are_refused,
    refusals.masked_choices_do_no_harm,
    refusals.unknown_plans_are_refused,
    refusals.snapshot_continues,
)
