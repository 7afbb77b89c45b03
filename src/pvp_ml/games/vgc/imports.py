"""`pvp-ml bc import`: recorded battles of people as decisions to learn from."""

from __future__ import annotations

from pvp_ml.errors import UserError
from pvp_ml.games.tooling import Imported, ImportRequest
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.replays import find_files, import_battles, read_battles


def import_matches(request: ImportRequest) -> Imported:
    """Every battle that can be read and is rated well enough; what cannot be read is listed in `refused`."""
    refused: list[str] = []
    read = []
    for path in find_files(request.files):
        for found in read_battles(path, request.format):
            if isinstance(found, UserError):
                refused.append(str(found))
            elif found.rating >= request.min_rating:
                read.append(found)
    if not read:
        raise UserError("none of the files holds a battle to learn from", refused[0] if refused else "lower the rating")
    recording, report = import_battles(read, VgcConfig(), request.winners)
    left_out = tuple(report.reasons.most_common())
    return Imported(recording, make_spec(VgcConfig()), report.battles, left_out, (*refused, *report.refused))
