"""For pre-commit: text files end with one line break and no line ends with spaces. Mends what it is given."""

import sys
from pathlib import Path


def tidy(text: str) -> str:
    """The text as it should be."""
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(lines).rstrip("\n") + "\n" if any(lines) else ""


def main(names: list[str]) -> int:
    """Rewrite the files that need it; 1 when there were any."""
    changed = 0
    for path in map(Path, names):
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".md" and tidy(text) != text:  # in Markdown two spaces mean something
            path.write_text(tidy(text), encoding="utf-8")
            changed = 1
    return changed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
