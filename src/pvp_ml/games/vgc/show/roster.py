"""Teams that people bring to a battle on the page: shipped ones by name, their own as text."""

from __future__ import annotations

from collections.abc import Sequence

from pvp_ml.games.presentation import Brought
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.teams import is_text, judged, shipped

MAX_LETTERS = 4000
"""Of a team's text; six Pokémon with everything that can be said of them have about 2,000."""


def names(config: VgcConfig) -> tuple[str, ...]:
    """Shipped teams of the format."""
    return tuple(shipped()[config.format])


def check(config: VgcConfig, scenario: str, text: str) -> Brought:
    """The team in packed form, or what is wrong with it: one sentence for each Pokémon and rule."""
    if len(text) > MAX_LETTERS:
        return Brought("", (f"This has {len(text)} letters; a team of six has at most {MAX_LETTERS}.",))
    if "<" in text or ">" in text:
        return Brought("", ("A team has no < or > in it: paste the text that Showdown exports.",))
    if not is_text(text.strip()):
        return Brought("", ("This is not a team: paste six Pokémon as Showdown exports them.",))
    team = judged(text.strip(), _format(config, scenario))
    return Brought("" if team.problems else team.packed, team.problems)


def outfit(config: VgcConfig, scenario: str, brings: Sequence[str]) -> tuple[VgcConfig, str]:
    """Settings and scenario in which seats 0 and 1 play what they bring; '' is drawn from the shipped ones."""
    format = _format(config, scenario)
    pool = tuple(shipped()[format])
    own, others = ((team,) if team else pool for team in brings)
    changed = {"format": format, "teams": own, "opponent_teams": others, "mirror": False}
    return VgcConfig.model_validate({**config.model_dump(), **changed}), "default"


def _format(config: VgcConfig, scenario: str) -> str:
    return str(dict(make_spec(config).scenario(scenario).parameters)["format"])
