"""A fight in the terminal, as one of the fighters sees it."""

from __future__ import annotations

from typing import Any


def sketch(view: dict[str, Any], seat: int) -> str:
    """Both fighters; of the other one only what a player sees on the screen."""
    you, other = view["fighters"][seat], view["fighters"][1 - seat]
    distance = max(abs(a - b) for a, b in zip(you["position"], other["position"], strict=True))
    lines = [f"tick {view['tick']}, {distance} tile(s) apart"]
    for name, one in (("you", you), ("they", other)):
        now, full = one["levels"]["hitpoints"]
        prayers = ", ".join(one["prayers"]) or "no prayer"
        lines.append(f"{name:>5}: {now:3d}/{full} hp  {one['worn'].get('weapon', 'unarmed')}  {prayers}")
    timers = ", ".join(f"{name} {ticks}" for name, ticks in you["timers"].items() if ticks)
    supplies = ", ".join(f"{name} {count}" for name, count in you["supplies"].items() if count)
    prayer = you["levels"]["prayer"][0]
    lines.append(
        f"       special {you['special_energy']} %, prayer {prayer}, {supplies}" + (f"; {timers}" if timers else "")
    )
    return "\n".join(lines)
