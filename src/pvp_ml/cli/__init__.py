"""The command line. Each command is a short file of its own and is imported only when it is called.

A mistake that the user can fix prints one line to stderr and exits with 2; Ctrl-C exits with 130.
"""

from __future__ import annotations

import contextlib
import difflib
import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pvp_ml import __version__
from pvp_ml.cli.examples import EXAMPLES
from pvp_ml.cli.waiting import waiting_line
from pvp_ml.errors import UserError, visible
from pvp_ml.run.threads import limit_threads

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.exceptions import CycloptsError

MISTAKE, INTERRUPTED = 2, 130
ASKS = ("jobs", "remove")
"""A command that asks a question, beside which a waiting line would be drawn."""

GROUPS = {
    "Start": {
        "demo": ("demo:demo", "Train for two minutes, then see how good the agent is. Start here."),
        "ui": ("ui:ui", "Open the site: play, watch, follow runs, browse models."),
        "play": ("play.command:play", "Play a game yourself."),
        "watch": ("watch:watch", "Play one match and narrate it step by step."),
        "doctor": ("doctor:doctor", "Check this machine and suggest fixes."),
    },
    "Train": {
        "train": ("train:train", "Train an agent, or resume a run. Every setting is a flag: `pvp-ml config options`."),
        "jobs": ("runs.jobs:app", "List, follow and stop runs."),
        "tensorboard": ("runs.tensorboard:tensorboard", "Show the curves of all runs in the browser."),
        "config": ("config:app", "Show and compare configurations, list presets and flags."),
        "sweep": ("sweep:sweep", "Search for good settings with many short runs."),
        "bc": ("bc:app", "Record decisions and train a policy to imitate them."),
    },
    "Measure": {
        "eval": ("evaluate:evaluate", "Play matches and report win rates with intervals."),
        "compare": ("runs.compare:compare", "Compare the learning curves of runs and seeds: a table and a picture."),
        "league": ("runs.league:app", "Show a run's league; rate models against each other."),
        "exploit": ("exploit:exploit", "Train an opponent to beat a model: how exploitable is it?"),
        "replay": ("watch:app", "Replay saved matches."),
        "bench": ("bench.command:app", "Measure speed: the simulator, the training loop, a server."),
    },
    "Models, games and bots": {
        "model": ("model.command:app", "List, inspect, verify, import and export models."),
        "game": ("game:app", "List, show and check games."),
        "team": ("team:app", "Check, show, split and generate Pokémon teams."),
        "advise": ("advise:advise", "Get advice on a position: the best choices, the chance to win, what comes next."),
        "serve": ("serve:serve", "Serve models to other programs over TCP, HTTP and WebSocket."),
        "sim-server": ("sim_server:sim_server", "Serve OSRS fights to trainers that speak the old protocol."),
        "obs": ("obs:app", "Check the observations that your bot sends."),
    },
}
"""Command → (module and function under `pvp_ml.cli`, one line of help), in the order and groups of the help text."""

COMMANDS = {name: place for commands in GROUPS.values() for name, place in commands.items()}


def build(command: str = "") -> App:
    """The commands, none of them imported yet; the help text ends with examples for `command`."""
    from cyclopts import App, Group, Parameter

    app = App(
        name="pvp-ml",
        help="Train, evaluate and serve agents for player-versus-player games.",
        version=__version__,
        help_format="plaintext",  # Markdown would cost a fifth of the time that help takes
        help_epilogue=EXAMPLES.get(command, "Start here: pvp-ml demo"),
        default_parameter=Parameter(negative_iterable=(), show_default=_shown_default),
    )
    for rank, (title, commands) in enumerate(GROUPS.items()):
        group = Group(title, sort_key=rank)
        for order, (name, (place, text)) in enumerate(commands.items()):
            app.command(f"pvp_ml.cli.{place}", name=name, help=text, group=group, sort_key=order)
    app.register_install_completion_command(help="Install shell completion (bash, zsh, fish, PowerShell).")
    options = Group("Options", sort_key=len(GROUPS))
    for flag in ("--help", "--version", "--install-completion"):
        app[flag].group = (options,)
    return app


def _shown_default(value: object) -> str | None:
    """Nothing for a switch that is off and a word that is not given: the description says what happens then."""
    return None if value is None or value is False or value == "" else str(value)


def run(words: Sequence[str]) -> int:
    """Run one command line; returns the exit code."""
    from cyclopts.exceptions import CycloptsError  # half a second without bytecode; the waiting line is up by now

    limit_threads()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    for handler in logging.getLogger().handlers:
        if type(handler) is logging.StreamHandler:
            handler.setFormatter(_Visible("%(message)s"))
    logging.getLogger("pvp_ml").setLevel(_log_level())
    try:
        _check_command(words)
        result = build(next(iter(words), ""))(
            list(words), print_error=False, exit_on_error=False, result_action="return_value"
        )
        sys.stdout.flush()
    except UserError as error:
        return _complain(str(error))
    except CycloptsError as error:
        return _complain(_usage(error, words))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader is gone (`pvp-ml … | head`): stay silent, and keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return result if isinstance(result, int) else 0


def _usage(error: CycloptsError, words: Sequence[str]) -> str:
    """A command line that cannot be read, in one line."""
    from cyclopts.exceptions import MissingArgumentError

    command = " ".join(("pvp-ml", *(error.command_chain or words[:1])))
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        what = f"`{command}` needs {error.argument.name}"
    else:
        what = " ".join(str(error).split()).rstrip(".")
    return f"{what} — see `{command} --help`"


class _Visible(logging.Formatter):
    """Makes control characters visible: log lines may quote files and servers."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def _check_command(words: Sequence[str]) -> None:
    """Answer a word that is not a command without importing every command."""
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        close = difflib.get_close_matches(words[0], COMMANDS, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"choose from: {', '.join(COMMANDS)}"
        raise UserError(f"there is no command '{words[0]}'", hint)


def _log_level() -> str:
    level = os.environ.get("LOG_LEVEL", "INFO").upper()
    return level if level in logging.getLevelNamesMapping() else "INFO"


def _complain(line: str) -> int:
    print(visible(f"pvp-ml: {line}"), file=sys.stderr)
    return MISTAKE


def enter(words: Sequence[str]) -> None:
    """Run one command line as a program: people who wait see what is being loaded."""
    name = f"pvp-ml {' '.join(words[:1])}".strip()
    with contextlib.nullcontext() if tuple(words[:2]) == ASKS else waiting_line(name):
        code = run(words)
    sys.exit(code)


def main() -> None:
    """`pvp-ml …`."""
    enter(sys.argv[1:])


def train_script() -> None:
    """`train …`: the same as `pvp-ml train …`."""
    enter(["train", *sys.argv[1:]])


def train_job_script() -> None:
    """`python -m pvp_ml.run_train_job …`: TensorBoard in the background, then `pvp-ml train …`."""
    words = sys.argv[1:]
    if not {"--no-tensorboard", "--help", "-h"} & set(words):
        run(["tensorboard"])  # training works without it
    enter(["train", *words])


def eval_script() -> None:
    """`eval …`: the same as `pvp-ml eval …`; in most shells `eval` is a builtin, so use the long form."""
    enter(["eval", *sys.argv[1:]])


def serve_script() -> None:
    """`serve-api …`: the same as `pvp-ml serve --protocol old …`."""
    words = sys.argv[1:]
    is_chosen = any(word.split("=")[0] == "--protocol" for word in words)
    enter(["serve", *([] if is_chosen else ["--protocol", "old"]), *words])
