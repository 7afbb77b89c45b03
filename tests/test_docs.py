"""The documentation is run: the tutorial's commands with small numbers, and the metrics page against a real run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pvp_ml.cli import run
from pvp_ml.games import registry
from pvp_ml.run.tracking.tracker import CLASSIC, read_metrics

ROOT = Path(__file__).parent.parent
SMALL = {
    "train": "--num-envs 8 --n-steps 8 --batch-size 64 --trunk [16] --shards 1 --eval.matches 8 --view off "
    "--no-tensorboard --total-timesteps 256",
    "eval": "--matches 10",
}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def test_the_tutorial_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/mine.yml").write_text(blocks("docs/tutorial.md", "yaml")[0])
    commands = [line for block in blocks("docs/tutorial.md", "sh") for line in block.splitlines() if line]
    assert len(commands) >= 8
    for line in commands:
        words = shlex.split(line.replace(" --matches 400", ""))
        assert words[0] == "pvp-ml"
        code = run([*words[1:], *shlex.split(SMALL.get(words[1], ""))])
        expected = 1 if words[1:3] == ["config", "diff"] else 0
        assert code == expected, f"{line}: {capsys.readouterr().err}"
    code = blocks("docs/tutorial.md", "python")[0]
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert re.match(r"0\.\d+ \(0\.\d+, 0\.\d+\)", result.stdout), result.stderr


@pytest.mark.parametrize("block", range(5))
def test_the_python_api_page_runs(block, tmp_path):
    code = blocks("docs/python-api.md", "python")[block]
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert result.returncode == 0, result.stderr


def test_every_example_of_the_python_api_page_is_run():
    assert len(blocks("docs/python-api.md", "python")) == 5


def rows() -> dict[str, re.Pattern[str]]:
    names = re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE)
    return {name: re.compile(re.sub(r"<\w+>", r"[\\w.-]+", name)) for name in names}


def test_the_metrics_page_is_the_truth(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mixture = ["--self-play.opponents", "{self: 0.5, random: 0.5}", "--ppo.magnet.weight", "0.1", "--win-head",
               "--eval.references", "{random: 1000}"]  # fmt: skip
    words = ["train", "--game", "connect4", "--name", "a", *mixture, *shlex.split(SMALL["train"])]
    assert run(words) == 0
    written = {name for point in read_metrics(tmp_path / "experiments/a/metrics.jsonl") for name in point}
    written -= {"steps", "rollouts", "seconds"}
    assert set(CLASSIC) <= written
    page = rows()
    assert sorted(name for name in written if not any(row.fullmatch(name) for row in page.values())) == []
    absent = {name for name, row in page.items() if not any(row.fullmatch(metric) for metric in written)}
    rare = {"ppo/kl_teacher", "win_head/held_out_loss", "win_head/held_out_accuracy", "win_head/held_out_matches"}
    assert absent <= rare, "the page names metrics that nobody writes"


@pytest.mark.parametrize(
    "page", sorted(p.relative_to(ROOT).as_posix() for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
)
def test_links_lead_somewhere(page):
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", path.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (path.parent / target).exists(), f"{page}: {target}"


def test_the_readme_lists_every_game():
    table = (ROOT / "README.md").read_text()
    for name in registry.names():
        game = registry.find(name)
        if game.name == name and name not in {"probe", "gym", "remote"}:
            assert f"`{name}`" in table
            row = next(line for line in table.splitlines() if line.startswith("|") and f"`{name}`" in line)
            assert game.status in row, f"{name} is {game.status}"
