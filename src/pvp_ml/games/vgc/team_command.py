"""`pvp-ml team`: teams for Pokémon battles, judged by the simulator before anybody plays them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from rich.console import Console

from pvp_ml.errors import UserError

if TYPE_CHECKING:
    from pvp_ml.games.vgc.teams import Prepared

app = App(name="team", help="Check and show teams for Pokémon battles.")
AsJson = Annotated[bool, Parameter(name="--json", negative="")]
DEFAULT_FORMAT = "gen9vgc2025regi"
ILLEGAL = 1


@app.command
def check(*teams: str, format: str = DEFAULT_FORMAT, as_json: AsJson = False) -> int:
    """Judge teams by the rules of a format. Exit code 1 when one is not legal.

    Args:
        teams: files in Showdown's text or packed form (one team or many), folders, or names of shipped teams
        format: a format of `pvp-ml game show vgc`
        as_json: print one JSON object
    """
    prepared = _prepare(teams, format)
    refused = {name: team.problems for name, team in prepared.items() if team.problems}
    completed = {name: team.completed for name, team in prepared.items() if team.completed}
    if as_json:
        print(json.dumps({"teams": len(prepared), "refused": refused, "completed": completed}))
        return ILLEGAL if refused else 0
    console = Console(highlight=False, soft_wrap=True)
    for name, problems in refused.items():
        console.print(f"{name}: not legal", markup=False)
        for problem in problems:
            console.print(f"  {problem}", markup=False)
    if completed:
        console.print(f"{len(completed)} without effort values; `pvp-ml team show` tells what they were given")
    console.print(f"{len(prepared) - len(refused)} of {len(prepared)} teams are legal in {format}")
    return ILLEGAL if refused else 0


@app.command
def show(*teams: str, format: str = DEFAULT_FORMAT, packed: Annotated[bool, Parameter(negative="")] = False) -> None:
    """Show teams as the format plays them: level, formes, and spreads where a sheet has none.

    Args:
        teams: files, folders or names of shipped teams
        format: a format of `pvp-ml game show vgc`
        packed: print the simulator's packed form instead, one team a line
    """
    prepared = _prepare(teams, format)
    console = Console(highlight=False, soft_wrap=True)
    for name, team in prepared.items():
        if packed:
            print(team.packed)
            continue
        console.print(f"=== {name} ===", markup=False)
        console.print(team.text.strip(), markup=False)
        for line in team.completed:
            console.print(f"# given: {line}", markup=False)
        for line in team.problems:
            console.print(f"# not legal: {line}", markup=False)
        console.print()
    if not packed and len(prepared) > 1:
        used = Counter(species for team in prepared.values() for species in team.species)
        console.print(
            "most used: " + ", ".join(f"{name} {count}" for name, count in used.most_common(12)), markup=False
        )


@app.command
def split(*teams: str, out: Path, format: str = DEFAULT_FORMAT, share: float = 0.2) -> None:
    """Part teams into those to train with and those kept back to test with: `train.txt` and `held-out.txt`.

    Teams of the same six Pokémon always land on the same side, on every machine. Teams that are not legal are left out.

    Args:
        teams: files, folders or names of shipped teams
        out: folder to write to
        format: a format of `pvp-ml game show vgc`
        share: how many of all teams are kept back, 0 to 1
    """
    from pvp_ml.games.vgc.teams import is_held_out

    if not 0.0 <= share <= 1.0:
        raise UserError(f"--share is {share}", "between 0 and 1")
    legal = {name: team for name, team in _prepare(teams, format).items() if not team.problems}
    out.mkdir(parents=True, exist_ok=True)
    for file, kept_back in (("train.txt", False), ("held-out.txt", True)):
        chosen = {name: team for name, team in legal.items() if is_held_out(team.species, share) == kept_back}
        text = "\n".join(f"=== {name} ===\n{team.text.strip()}\n" for name, team in chosen.items())
        (out / file).write_text(text, "utf-8")
        Console(highlight=False, soft_wrap=True).print(f"{len(chosen)} teams in {out / file}", markup=False)


@app.command
def generate(
    out: Path, format: str = DEFAULT_FORMAT, count: int = 100, usage: Path | None = None, seed: int = 0
) -> None:
    """Invent legal, plausible teams and write them to a file.

    Without usage statistics Pokémon come from the simulator package's own doubles sets; with them, species, team-mates,
    items, moves, spreads and Tera types are drawn as often as people use them. The simulator judges every team.

    Args:
        out: the file to write, in Showdown's text form
        format: a format of `pvp-ml game show vgc`
        count: how many teams
        usage: a "moveset" file of usage statistics, plain or gzipped
        seed: the same seed gives the same teams
    """
    from pvp_ml.games.vgc.teams import generate_teams

    if count < 1:
        raise UserError(f"--count is {count}", "at least 1")
    console = Console(highlight=False, soft_wrap=True, stderr=True)
    with console.status(f"inventing {count} teams"):
        made = generate_teams(format, count, seed, usage)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(f"=== {name} ===\n{text.strip()}\n" for name, text in made.items()), "utf-8")
    Console(highlight=False, soft_wrap=True).print(f"{len(made)} teams in {out}", markup=False)


def _prepare(names: tuple[str, ...], format: str) -> dict[str, Prepared]:
    from pvp_ml.games.vgc.formats import find_format
    from pvp_ml.games.vgc.teams import prepare, read_teams

    if not names:
        raise UserError("no team was named", "give a file, a folder, or the name of a shipped team")
    found = find_format(format).id
    texts: dict[str, str] = {}
    for name in names:
        texts.update(read_teams(_place(name), found))
    return prepare(texts, found)


def _place(name: str) -> str:
    return str(Path(name).expanduser()) if "~" in name else name
