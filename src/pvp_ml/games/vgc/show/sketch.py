"""A battle as its player reads it in a terminal: what happened, both sides, what can be done."""

from __future__ import annotations

from typing import Any

from pvp_ml.games.vgc.show.view import tell

PLACES = ("left", "right")


def sketch(view: dict[str, Any], seat: int) -> str:
    """What the player in `seat` may see of a view, as text."""
    if view.get("resting"):
        return "the battle is over"
    log, request = view["log"], view["seats"][seat]["request"]
    lines = [f"You are seat {seat + 1}.", *tell(_news(log))]
    if request.get("teamPreview"):
        return "\n".join([*lines, *_preview(log, request, seat)])
    team = request["side"]["pokemon"]
    lines += ["", "Your team:", *(f"  switch-{n}  {_member(mon)}" for n, mon in enumerate(team, 1))]
    for i, active in enumerate(request.get("active") or ()):
        lines += _place(i, active, team[i]) if i < len(team) and not _fainted(team[i]) else []
    forced = [PLACES[i] for i, must in enumerate(request.get("forceSwitch") or ()) if must]
    if forced:
        lines.append(f"Send somebody in: {', '.join(f'{place}=switch-N' for place in forced)}")
    return "\n".join(lines)


def _news(log: list[str]) -> list[str]:
    """Lines since the turn before this one began."""
    turns = [i for i, line in enumerate(log) if line.startswith("|turn|")]
    return log[turns[-2] if len(turns) > 1 else 0 :]


def _preview(log: list[str], request: dict[str, Any], seat: int) -> list[str]:
    foe = f"|poke|p{2 - seat}|"
    shown = [line[len(foe) :].split("|")[0].split(",")[0] for line in log if line.startswith(foe)]
    team = [f"  {n}  {_member({**mon, 'active': False})}" for n, mon in enumerate(request["side"]["pokemon"], 1)]
    return [
        "",
        "They show: " + ", ".join(shown),
        "Your team:",
        *team,
        "Choose four, e.g. 1234: 1 and 2 lead, 3 and 4 wait (leads and waiting each in rising order).",
    ]


def _member(mon: dict[str, Any]) -> str:
    name = mon["details"].split(",")[0]
    moves = ", ".join(mon["moves"])
    return f"{name} {mon['condition']}{' (on the field)' if mon['active'] else ''}  {mon['item']}  [{moves}]"


def _fainted(mon: dict[str, Any]) -> bool:
    return str(mon["condition"]).endswith(" fnt")


def _place(i: int, active: dict[str, Any], mon: dict[str, Any]) -> list[str]:
    gimmicks = {"canTerastallize": "terastallise", "canMegaEvo": "mega evolve"}
    offered = next((word for key, word in gimmicks.items() if active.get(key)), "")
    lines = [f"{PLACES[i]}: {mon['details'].split(',')[0]}" + (f", may {offered} (gimmick-move-N…)" if offered else "")]
    for n, move in enumerate(active["moves"], 1):
        state = " disabled" if move.get("disabled") else ""
        at = "-at-left-foe or -at-right-foe" if move.get("target") in ("normal", "any", "adjacentFoe") else ""
        lines.append(f"  {PLACES[i]}=move-{n}{at}  {move['move']}{state}")
    return lines
