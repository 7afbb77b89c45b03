"""`pvp-ml advise`: what to do in a position of a match."""

from __future__ import annotations

import json
from typing import Annotated

from cyclopts import Parameter

from pvp_ml.errors import visible
from pvp_ml.games import registry
from pvp_ml.games.tooling import AdviceRequest

Options = Annotated[AdviceRequest, Parameter(name="*")]
DEFAULT = AdviceRequest()


def advise(
    game: str, options: Options = DEFAULT, *, as_json: Annotated[bool, Parameter(name="--json", negative="")] = False
) -> None:
    """Analyse a position: the best choices with their probabilities, the chance to win and the expected line.

    Args:
        game: the game, as in `pvp-ml game list`
        as_json: print one JSON object
    """
    ask = registry.ability(lambda tools: tools.advise, "advice", game)
    for advice in ask(options):
        if options.page is not None:
            options.page.write_text(advice.page(), "utf-8")
        print(json.dumps(advice.to_json()) if as_json else visible(advice.text()), flush=True)
