"""What the site shows besides docs/: pages of the project's root, and a page per command made from the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
ROOT_PAGES = ("TRAIN_OPTIONS.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in docs/."""
    for name in ROOT_PAGES:
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))
    for path, text in commands().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_config(config: Any) -> Any:
    """List every command in the navigation."""
    from pvp_ml.cli import COMMANDS

    pages = ["commands/index.md", *(f"commands/{name}.md" for name in sorted(COMMANDS))]
    config.nav = [{"Commands": pages} if "Commands" in entry else entry for entry in config.nav]
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links to the root become links to its pages here; other files of the root are named, not linked."""
    known = "|".join(re.escape(name) for name in ROOT_PAGES)
    above = page.file.src_uri.count("/") + 1  # steps that leave docs/
    others = re.sub(rf"\[([^\]]+)\]\((?:\.\./){{{above},}}(?!{known})[^)]*\)", r"`\1`", markdown)
    return re.sub(rf"\]\((?:\.\./)+({known})(#[\w-]+)?\)", _up(page), others)


def _up(page: Any) -> Any:
    climb = "../" * page.file.src_uri.count("/")
    return lambda match: f"]({climb}{match[1]}{match[2] or ''})"


def commands() -> dict[str, str]:
    """Path → page: one page per command with its help and that of its subcommands, and a list of them."""
    from pvp_ml.cli import COMMANDS

    listed = "\n".join(f"| [`{name}`]({name}.md) | {text} |" for name, (_, text) in sorted(COMMANDS.items()))
    intro = "`pvp-ml COMMAND --help` prints the same in the terminal. `pvp-ml --install-completion` teaches your shell."
    pages = {"commands/index.md": f"# Commands\n\n{intro}\n\n| command | what it does |\n|---|---|\n{listed}\n"}
    for name in COMMANDS:
        pages[f"commands/{name}.md"] = command(name)
    return pages


def command(name: str) -> str:
    """The page of one command."""
    from pvp_ml.cli import COMMANDS, build

    app = build(name)
    parts = [f"# pvp-ml {name}\n\n{COMMANDS[name][1]}\n\n```text\n{_help(app, name)}\n```\n"]
    subs = (sub for sub in app[name] if not sub.startswith("-"))
    parts.extend(f"## pvp-ml {name} {sub}\n\n```text\n{_help(app, name, sub)}\n```\n" for sub in subs)
    return "\n".join(parts)


def _help(app: Any, *words: str) -> str:
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    app.help_print(list(words), console=Console(file=out, width=100, force_terminal=False))
    return out.getvalue().strip()
