"""examples/notebook.ipynb runs from top to bottom, and says what its text promises."""

import json
import re
import subprocess
import sys
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "examples/notebook.ipynb"


def code_cells() -> list[str]:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_is_committed_without_outputs():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert [cell for cell in notebook["cells"] if cell.get("outputs") or cell.get("execution_count")] == []


def test_the_notebook_trains_plots_and_plays(tmp_path):
    """As Jupyter would: one process, one namespace, cell after cell; only the training is shorter."""
    cells = [cell.replace("STEPS = 60_000", "STEPS = 6_000") for cell in code_cells()]
    script = "\n".join([f"exec(compile({cell!r}, 'cell', 'exec'), globals())" for cell in cells])
    done = subprocess.run(
        [sys.executable, "-c", "import matplotlib; matplotlib.use('Agg')\n" + script],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"wins \d+% \(\d+%–\d+%\) of 200 matches", done.stdout), done.stdout
    assert re.search(r"(won|tied|lost) after \d+ steps", done.stdout), done.stdout
    assert (tmp_path / "experiments/notebook/model.zip").is_file()
    assert (tmp_path / "experiments/notebook/notebook.png").stat().st_size > 5_000
