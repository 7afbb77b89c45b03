"""What the site shows besides docs/: pages of the project's root, and a page of all commands made from the code."""

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
    files.append(File.generated(config, "commands.md", content=commands()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links to the root become links to its pages here; other files of the root are named, not linked."""
    known = "|".join(re.escape(name) for name in ROOT_PAGES)
    above = page.file.src_uri.count("/") + 1  # steps that leave docs/
    others = re.sub(rf"\[([^\]]+)\]\((?:\.\./){{{above},}}(?!{known})[^)]*\)", r"`\1`", markdown)
    return re.sub(rf"\]\((?:\.\./)+({known})(#[\w-]+)?\)", _up(page), others)


def _up(page: Any) -> Any:
    climb = "../" * page.file.src_uri.count("/")
    return lambda match: f"]({climb}{match[1]}{match[2] or ''})"


def commands() -> str:
    """Every command with its help, as `pvp-ml COMMAND --help` prints it."""
    from io import StringIO

    from rich.console import Console

    from pvp_ml.cli import COMMANDS, build

    parts = ["# Commands\n"]
    for name, (_, text) in sorted(COMMANDS.items()):
        out = StringIO()
        build(name).help_print([name], console=Console(file=out, width=100, force_terminal=False))
        parts.append(f"## {name}\n\n{text}\n\n```text\n{out.getvalue().strip()}\n```\n")
    return "\n".join(parts)
