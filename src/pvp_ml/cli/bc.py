"""`pvp-ml bc`: record somebody's decisions, and train a policy that decides alike."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console

from pvp_ml.errors import UserError, visible
from pvp_ml.games import registry
from pvp_ml.games.tooling import ImportRequest
from pvp_ml.model.recording import Recording, join, parts_of, read_recording, write_recording
from pvp_ml.run.config.schema import load_config
from pvp_ml.spec import GameSpec

app = App(name="bc", help="Behaviour cloning: record decisions, train a policy to imitate them.")
MAX_SHOWN = 10
Flags = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class IterateOptions:
    """More flags of `pvp-ml bc iterate`.

    Attributes:
        opponents: whom the teacher meets in turn; default: the bot that is measured with, and the model itself
        matches: matches that the teacher plays
        portion: matches of one recording
        epochs: passes over the recordings
        learning_rate: Adam's initial step size
        measure: matches in which the model and its student are measured, each
        against: whom they meet there
        measure_settings: settings of the game that differ there, as JSON
    """

    opponents: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None
    matches: int = 1000
    portion: int = 40
    epochs: int = 4
    learning_rate: float = 2e-4
    measure: int = 1000
    against: str = "heuristics"
    measure_settings: str = ""


ITERATE = IterateOptions()


@app.command
def record(player: str, *flags: Flags, game: str = "", out: Path = Path("recording.zip"), against: str = "",
           matches: int = 500, seed: int = 0, greedy: bool = False, bot: str = "") -> None:  # fmt: skip
    """Play matches and record what a player saw, what was legal and what it chose.

    `bc record PLAYER --game GAME` records a scripted player or a model. `bc record GAME --bot BOT` records a bot of the
    game, both seats. `bc record MODEL --game GAME --bot BOT` lets the model play and records what the bot would
    have done in the states that a clone gets into. The game's settings are flags, as in `pvp-ml train`.

    Args:
        player: who plays: a scripted player, a model, or (with --bot) the game itself
        game: the game
        out: the file to write
        against: the opponent: a bot of the game, a player or a model; default: random, or the recorded bot
        matches: matches to play, seats swapped
        seed: the same seed gives the same matches
        greedy: models take their most likely choice instead of sampling
        bot: the bot of the game whose decisions are recorded
    """
    from pvp_ml.selfplay.evaluate import find_contestant
    from pvp_ml.selfplay.record import record as play
    from pvp_ml.selfplay.record import record_bot

    is_bot_alone = bool(bot) and not game
    config = load_config("", ["--env.name", registry.find(game or player).name, *flags], Path.cwd())
    spec = config.env.spec
    if bot and bot not in spec.bots:
        raise UserError(f"'{spec.name}' has no bot '{bot}'", f"bots: {', '.join(spec.bots) or 'none'}")
    if not game and not bot:
        raise UserError(
            f"no player of '{player}' to record", f"--bot NAME ({', '.join(spec.bots)}), or PLAYER --game GAME"
        )
    driver = None if is_bot_alone else find_contestant(player, spec, Path.cwd(), greedy)
    opponent = find_contestant(against or (bot if is_bot_alone else "random"), spec, Path.cwd())
    table = config.env.type.build(config.env.settings, min(matches, 256))
    try:
        if bot:
            recording, report = record_bot(table, bot, driver, opponent, matches, seed)
        else:
            assert driver is not None
            recording, report = play(table, driver, opponent, matches, seed)
    finally:
        table.close()
    files = write_parts(out, recording, spec, bot or player)
    score = f"{report.first} {report.total.score:.1%} against {opponent.name}"
    if is_bot_alone and opponent.bot == bot:
        score = f"{report.total.matches:,} matches against itself"
    text = f"{len(recording):,} decisions of {bot or player} ({score}) in {files}"
    Console().print(text, highlight=False, soft_wrap=True)
    if (behaviour := config.env.type.tooling.behaviour) is not None:
        words = ", ".join(f"{name} {share:.1%}" for name, share in behaviour(recording).items())
        Console().print(f"  of all choices: {words}", highlight=False, soft_wrap=True)


@app.command(name="import")
def import_(*battles: Path, out: Path = Path("recording.zip"), winners: bool = False, min_rating: int = 0,
            format: str = "", game: str = "") -> None:  # fmt: skip
    """Import recorded matches between people. VGC: Showdown replays, logs, input logs, {id: [time, log]}, folders.

    Input logs contain every choice and are exact. Replays show only what happened: hidden decisions are left out.

    Args:
        battles: files or folders
        out: the recording to write
        winners: keep only the decisions of the side that won
        min_rating: skip replays with a lower rating, or none
        format: the format of logs that do not name one
        game: the game, if more than one can import matches
    """
    read = registry.ability(lambda tools: tools.import_matches, "import of recorded matches", game)
    found = read(ImportRequest(battles, winners, min_rating, format))
    files = write_parts(out, found.recording, found.spec, "imported")
    console = Console()
    text = f"{len(found.recording):,} decisions of {found.matches} battles in {files}"
    console.print(text, highlight=False, soft_wrap=True)
    for reason, count in found.left_out:
        console.print(f"  left out: {count:,} decisions ({visible(reason)})", highlight=False, markup=False)
    for text in found.refused[:MAX_SHOWN]:
        console.print(f"  not read: {visible(text)}", highlight=False, markup=False)


def write_parts(out: Path, recording: Recording, spec: GameSpec, player: str) -> str:
    """Write the recording as one file, or as several where one would be too large; gives their names."""
    pieces = parts_of(recording, spec.interface)
    names = [out] if len(pieces) == 1 else [out.with_stem(f"{out.stem}-{i + 1}") for i in range(len(pieces))]
    for name, piece in zip(names, pieces, strict=True):
        write_recording(name, piece, spec.name, spec.interface, player)
    return " ".join(str(name) for name in names)


def read_shares(text: str) -> dict[str, float]:
    """`preview=0.2,left=0.1` → {"preview": 0.2, "left": 0.1}; shares from 0 to below 1."""
    shares = {}
    for item in text.split(",") if text else []:
        head, _, number = item.partition("=")
        try:
            shares[head.strip()] = float(number)
        except ValueError:
            raise UserError(f"smoothing '{item}' is not HEAD=SHARE", "e.g. preview=0.2,left=0.05") from None
        if not 0.0 <= shares[head.strip()] < 1.0:
            raise UserError(f"smoothing of '{head}' is {number}", "from 0 to below 1")
    return shares


@app.command
def train(*flags: Flags, recording: Annotated[list[Path], Parameter(consume_multiple=True)], out: Path,
          preset: str = "", epochs: int = 10, learning_rate: float = 1e-3, batch_size: int = 1024,
          smoothing: str = "") -> None:  # fmt: skip
    """Train a preset's network to imitate recordings. You can play, serve and further train the model.

    Continue with `pvp-ml train --warm-start CLONE.zip --ppo.critic-warmup 20 --ppo.teacher.model CLONE.zip
    --ppo.teacher.weight 0.1`; `--ppo.freeze '["actor/"]'` keeps its trunk.

    Args:
        recording: files of `pvp-ml bc record`, all of the same game and settings
        out: the model file to write
        preset: sets game and network; or use --env.name and --network.… flags
        epochs: passes over the recordings
        learning_rate: Adam's initial step size
        batch_size: rows of a minibatch
        smoothing: by head, e.g. preview=0.2: this share of the target is spread over all legal choices. Over-confident
            clones stop exploring when they are trained further
    """
    import torch

    from pvp_ml.rl.bc import CloneConfig, clone
    from pvp_ml.rl.policy.policy import Policy
    from pvp_ml.run.teachers import clone_bundle

    config = load_config(preset, list(flags), Path.cwd())
    spec = config.env.spec
    if not recording:
        raise UserError("no recording is given", "make one with `pvp-ml bc record`")
    rows = join([read_recording(path, spec.name, spec.interface) for path in recording])
    policy = Policy(config.network, spec.interface)
    policy.initialise(torch.Generator().manual_seed(config.run.seed))
    options = CloneConfig(
        epochs=epochs,
        learning_rate=learning_rate,
        batch_size=batch_size,
        smoothing=read_shares(smoothing),
        seed=config.run.seed,
    )
    report = clone(policy, rows, options)
    clone_bundle(out, spec, policy, config.run.seed)
    console = Console()
    console.print(
        f"{report.rows:,} rows learned; on {report.held_out_rows:,} rows of matches kept apart: same action "
        f"{report.agreement:.1%}, loss {report.held_out_loss:.3f} nats",
        highlight=False,
    )
    for head, share in zip(spec.heads, report.head_agreement, strict=True):
        console.print(f"  {head.name}: {share:.1%}", highlight=False)
    if not math.isnan(report.win_error):
        console.print(f"  chance to win: {report.win_error:.1%} from the player's on average", highlight=False)
    console.print(f"model: {out}", highlight=False)


@app.command
def iterate(*flags: Flags, model: str, teacher: str, folder: Path, preset: str = "", steps: int = 0,
            options: IterateOptions = ITERATE) -> None:  # fmt: skip
    """One round of expert iteration: a teacher plays, the model learns from it, both are measured; then PPO, if asked.

    The same command goes on where it stopped. The report says how both score and how often they switch, guard and so
    on, so that a collapse into one habit is seen.

    Args:
        model: the model to improve
        teacher: who plays for it; {model} stands for its name, as in 'search:{model}?simulations=48'
        folder: where recordings, the student and the report are kept
        preset: sets game and network; or use --env.name and --network.… flags
        steps: train the student further for this many steps with the preset; 0 = not
    """
    from pvp_ml.run.expert import ExpertRound, iterate

    config = load_config(preset, list(flags), Path.cwd())
    try:
        settings = json.loads(options.measure_settings or "{}")
    except ValueError as error:
        raise UserError(f"--measure-settings is not JSON: {error}", """e.g. '{"teams": ["held-out.txt"]}'""") from None
    asked = ExpertRound(
        folder, model, teacher, tuple(options.opponents or [options.against, "{model}"]), options.matches,
        options.portion, options.epochs, options.learning_rate, options.measure, options.against, settings,
    )  # fmt: skip
    console = Console()
    report = iterate(config, asked, lambda text: console.print(text, highlight=False))
    for name in ("before", "after"):
        found = report[name]
        shares = ", ".join(f"{kind} {share:.1%}" for kind, share in found["behaviour"].items())
        score = f"{found['score']:.1%} ({found['low']:.1%} – {found['high']:.1%}) of {found['matches']}"
        console.print(f"{name}: {score} against {found['against']}; {shares}", highlight=False, soft_wrap=True)
    if steps:
        from pvp_ml.cli.train import train

        student = str(folder / "student.zip")
        train(*flags, "--name", folder.name, "--run.total-steps", str(steps), preset=preset, warm_start=student)


@app.command
def coach(*flags: Flags, out: Path, bot: str = "", model: str = "", preset: str = "", rounds: int = 200,
          rows: int = 8192,
          against: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None) -> None:  # fmt: skip
    """Train a policy on what a bot or a model would have done in the states that the policy itself reaches.

    Ctrl-C stops it and keeps the result. Continue with `pvp-ml train --bc-model MODEL`. A run whose preset has a
    `coach` section does all of this itself; the section's other options are flags here too (--coach.passes 2).

    Args:
        out: the model file to write, updated every ten rounds
        bot: the coach, a bot of the game
        model: or a model; the policy starts as a copy, if its network is the same
        preset: sets game and network; or use --env.name and --network.… flags
        rounds: rounds of playing and learning
        rows: decisions played in a round
        against: bots to play in turn, besides itself; default: the coach
    """
    from pvp_ml.run.coached_start import pupil_and_coach
    from pvp_ml.run.coaching import Round
    from pvp_ml.run.coaching import coach as teach
    from pvp_ml.run.teachers import clone_bundle

    if not bot and not model:
        raise UserError("nobody coaches", "--bot NAME (a bot of the game) or --model FILE")
    met = json.dumps(against or [bot] * bool(bot))
    given = ["--coach.bot", bot, "--coach.model", model, "--coach.opponents", met]
    given += ["--coach.rounds", str(rounds), "--coach.rows", str(rows)]
    config = load_config(preset, [*flags, *given], Path.cwd())
    spec, seed = config.env.spec, config.run.seed
    policy, adviser = pupil_and_coach(config, seed)
    console = Console()

    def tell(done: Round) -> None:
        text = f"round {done.number + 1} of {rounds}: {done.rows:,} decisions, same as the coach {done.agreement:.1%}, "
        console.print(f"{text}loss {done.loss:.3f} nats", highlight=False)
        if done.number % 10 == 9:
            clone_bundle(out, spec, policy, seed)

    game = config.env.type.build(config.env.settings, min(config.env.matches, 64))
    try:
        teach(game, policy, config.coach, seed, tell, adviser)
    except KeyboardInterrupt:
        console.print("stopped early", highlight=False)
    finally:
        game.close()
    clone_bundle(out, spec, policy, seed)
    console.print(f"model: {out}", highlight=False)
