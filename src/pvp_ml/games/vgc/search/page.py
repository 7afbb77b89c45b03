"""Advice as a page that needs nothing from anywhere else."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pvp_ml.games.vgc.search.advise import PositionAdvice

RENEW_S = 2
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;width:100%}td,th{padding:.3rem .6rem;text-align:left;border-bottom:1px solid #ddd}
td.n,th.n{text-align:right;white-space:nowrap}.bar{background:#e6e8eb;height:1.1rem;border-radius:.3rem;overflow:hidden}
.bar div{background:#2f7d5b;height:100%}
@media(prefers-color-scheme:dark){body{background:#15181c;color:#e6e8eb}td,th{border-color:#333}.bar{background:#333}}
"""


def page_of(advice: PositionAdvice) -> str:
    """The document. It asks the browser to read it again, for whoever rewrites it while a battle goes on."""
    chance = f"{advice.win_chance:.0%}"
    body = [
        f"<h1>{html.escape(advice.title)}</h1>",
        f'<p>Chance to win: <strong>{chance}</strong></p><div class="bar"><div style="width:{chance}"></div></div>',
        "<h2>Play</h2>",
        _table(
            ("share", "choice", "worth", "model alone"),
            ((f"{c.probability:.0%}", c.text, f"{c.value:+.2f}", f"{c.model_probability:.0%}") for c in advice.choices),
        ),
    ]
    if advice.replies:
        replies = ((f"{r.probability:.0%}", r.text) for r in advice.replies)
        body += ["<h2>Expect</h2>", _table(("share", "reply"), replies)]
    if advice.line:
        steps = "".join(f"<li>{html.escape(step)}</li>" for step in advice.line)
        body.append(f"<h2>A likely turn</h2><ol>{steps}</ol>")
    thought = f"{advice.simulations} simulated turns, {advice.seconds:.1f} s"
    body.append(f"<p>{html.escape(f'Not searched: {advice.declined}' if advice.declined else thought)}</p>")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="{RENEW_S}">'
        f'<meta name="viewport" content="width=device-width"><title>{html.escape(advice.title)}: {chance}</title>'
        f"<style>{STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Everything but the words in the second column is a number."""
    kinds = ["" if i == 1 else ' class="n"' for i in range(len(heads))]
    top = "".join(f"<th{kind}>{head}</th>" for kind, head in zip(kinds, heads, strict=True))
    lines = (
        "".join(f"<td{kind}>{html.escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)) for row in rows
    )
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
