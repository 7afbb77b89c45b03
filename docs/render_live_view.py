"""Draw docs/live-view.svg from a run's metrics: python docs/render_live_view.py experiments/demo."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import yaml
from rich.console import Console

from pvp_ml.run.tracking.live_view import History, panel
from pvp_ml.run.tracking.tracker import Point, read_metrics

FACTS = ("steps", "rollouts", "seconds")


def main(run: Path) -> None:
    """Replay the points into the view, and save its last picture."""
    config = yaml.safe_load((run / "config.yml").read_text())
    history = History(config["run"]["total_steps"], config["run"]["max_seconds"])
    for line in read_metrics(run / "metrics.jsonl"):
        values = {name: value for name, value in line.items() if name not in FACTS and value is not None}
        history.add(Point(line["steps"], line["rollouts"], line["seconds"], values))
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    env = config["env"]
    console.print(panel(f"{config['run']['name']} · {env['name']} · {env['matches']} matches", history))
    picture = re.sub(
        r"@font-face \{.*?\}", "", console.export_svg(title="pvp-ml train"), flags=re.DOTALL
    )  # no fonts from afar
    Path(__file__).with_name("live-view.svg").write_text(picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
