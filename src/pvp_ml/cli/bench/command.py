"""`pvp-ml bench`: speed, in steps per second of processor time, so that a busy machine does not blur it.

Each command prints one JSON object (--json) or a few lines: metric, value, unit, baseline, ratio, repeats, spread and
split.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from pvp_ml.errors import UserError
from pvp_ml.games import registry

if TYPE_CHECKING:
    from pvp_ml.cli.bench.loops import Timing

app = App(name="bench", help="Measure speed: the simulation alone, the whole loop, or a server.")
AsJson = Annotated[bool, Parameter(name="--json", negative="")]
Flags = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]
BASELINES = Path("benchmarks/baselines")
PARTS = ("simulate", "infer", "sample", "learn", "wait")

app.command("pvp_ml.cli.bench.shots:shots", name="shots", help="Measure success at the shots of training packs.")
app.command(
    "pvp_ml.cli.bench.serve:serve", name="serve", help="Measure a server's requests per second, against a plain one."
)
app.command(
    "pvp_ml.cli.bench.sim_server:sim_server", name="sim-server", help="Measure sim-server: agent-steps per second."
)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One way of measuring, repeated. `spread` is (largest − smallest) / median; `split` are shares of the time."""

    metric: str
    value: float
    unit: str
    repeats: int
    spread: float
    split: dict[str, float]
    baseline: float | None = None
    ratio: float | None = None
    against: str = ""

    @classmethod
    def of(cls, metric: str, unit: str, values: Sequence[float], split: dict[str, float]) -> Measurement:
        """The median of the repeats, compared with the recorded baseline if there is one."""
        value = statistics.median(values)
        spread = (max(values) - min(values)) / value if value else 0.0
        total = sum(split.values()) or 1.0
        shares = {part: round(split.get(part, 0.0) / total, 4) for part in PARTS}
        return cls(metric, round(value, 1), unit, len(values), round(spread, 4), shares).beside(*recorded(metric))

    def beside(self, baseline: float | None, against: str) -> Measurement:
        """The same with something to compare it with."""
        ratio = round(self.value / baseline, 3) if baseline else None
        return Measurement(
            self.metric, self.value, self.unit, self.repeats, self.spread, self.split, baseline, ratio, against
        )

    def tell(self, as_json: bool) -> None:
        """Print it for programs or for people."""
        if as_json:
            print(json.dumps(asdict(self)))
            return
        print(f"{self.metric}: {self.value:,.0f} {self.unit} (median of {self.repeats}, spread {self.spread:.1%})")
        print("  time: " + " · ".join(f"{part} {share:.0%}" for part, share in self.split.items() if share))
        if self.baseline is not None:
            print(f"  {self.ratio:.2f} × {self.against} ({self.baseline:,.0f})")


@app.command
def sim(
    *,
    game: str = registry.DEFAULT_GAME,
    matches: int = 0,
    seconds: float = 2.0,
    repeats: int = 3,
    as_json: AsJson = False,
) -> None:
    """Measure the simulator alone, with random legal play: agent-steps per second of CPU time.

    Args:
        game: a name from `pvp-ml game list`
        matches: parallel matches; 0 = a number that suits the game
        seconds: CPU time per repeat
        repeats: number of repeats
        as_json: print one JSON object
    """
    from pvp_ml.cli.bench.loops import simulate

    kind = registry.find(game)
    check(matches or kind.tooling.bench_matches, seconds, repeats)
    if kind.tooling.bench is not None:
        tell = (lambda line: None) if as_json else print
        print(json.dumps(kind.tooling.bench(kind.config(), tell, matches, seconds, repeats)))
        return
    matches = matches or kind.tooling.bench_matches
    runs = []
    for number in range(1, repeats + 1):
        runs.append(simulate(game, matches, seconds))
        progress(number, repeats, runs[-1])
    split = {part: sum(run.split[part] for run in runs) for part in ("simulate", "sample")}
    Measurement.of(f"sim/{game}", runs[0].unit, [run.per_second for run in runs], split).tell(as_json)


@app.command
def train(
    *flags: Flags,
    preset: str = "",
    rollouts: int = 10,
    repeats: int = 3,
    compare: Literal["sb3", "original"] | None = None,
    as_json: AsJson = False,
) -> None:
    """Measure the training loop: decisions learned per second of CPU time, external simulators included (Linux).

    Settings are flags, as in `pvp-ml train`; --game connect4 chooses a game.

    Args:
        preset: a preset's name or file
        rollouts: rollouts per repeat, after two to warm up
        repeats: number of repeats
        compare: also measure, in the same run, sb3 (sb3-contrib's MaskablePPO: same game, network and batch) or
            original (the 512-512 network of osrs-pvp-reinforcement-learning)
        as_json: print one JSON object
    """
    from pvp_ml.cli.bench.loops import ORIGINAL, SEPARATE, learn
    from pvp_ml.cli.train import require_torch
    from pvp_ml.run.config.schema import load_config

    check(1, 1.0, min(rollouts, repeats))
    require_torch()
    words = [*flags, *(SEPARATE if compare == "sb3" else [])]
    config = load_config(preset, words if words or preset else ["--game", registry.DEFAULT_GAME], Path.cwd())
    ours, theirs, split = [], [], dict.fromkeys(PARTS, 0.0)
    for number in range(1, repeats + 1):  # in turn, so that both meet the same noise
        run = learn(config, rollouts)
        progress(number, repeats, run)
        ours.append(run.per_second)
        split = {part: split[part] + run.split.get(part, 0.0) for part in PARTS}
        if compare == "sb3":
            from pvp_ml.cli.bench.sb3 import learn_sb3

            theirs.append(learn_sb3(config, rollouts).per_second)
        elif compare == "original":
            theirs.append(learn(load_config(preset, [*words, *ORIGINAL], Path.cwd()), rollouts).per_second)
    result = Measurement.of(f"train/{config.env.name}", run.unit, ours, split)
    if compare is not None:
        what = {"sb3": "sb3-contrib MaskablePPO", "original": "the original's network"}[compare]
        result = result.beside(round(statistics.median(theirs), 1), what)
    result.tell(as_json)


def progress(number: int, repeats: int, run: Timing) -> None:
    """One line per repeat, on stderr, so that `--json` stays one object."""
    print(f"repeat {number} of {repeats}: {run.per_second:,.0f} {run.unit}", file=sys.stderr, flush=True)


def check(matches: int, seconds: float, repeats: int) -> None:
    """Refuse sizes that measure nothing."""
    if matches < 1 or seconds <= 0 or repeats < 1:
        raise UserError("matches, seconds, rollouts and repeats must be above 0")


def recorded(metric: str) -> tuple[float | None, str]:
    """The frozen value of a metric, if this is a checkout that has one."""
    path = BASELINES / f"{metric.replace('/', '-')}.json"
    if not path.is_file():
        return None, ""
    record = json.loads(path.read_text())
    return float(record["value"]), f"the record of {record['date']}"
