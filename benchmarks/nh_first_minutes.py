"""Does a run follow the recorded ones? The band in which another seed of `nh/core` should lie, million by million.

`python benchmarks/nh_first_minutes.py FOLDER GROUP [RUN]` reads FOLDER/GROUP-seed1, … (made with `pvp-ml train --preset
nh/core --name core-seedN --run.seed N --run.total-steps 5000000 --eval.every 1000000 --eval.matches 500`) and, when
given, compares FOLDER/RUN. The band is the 95 % prediction interval for one more run: Student's t over the seeds, which
holds what seeds differ by and the noise of 500 fights.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from pvp_ml.run.tracking.curves import group_name, read_curve

METRIC = "eval/nh-bot/score"
STUDENT_975 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""97.5 % point of Student's t by number of runs (degrees of freedom: one less)."""


def main(folder: Path, group: str, run: str = "") -> int:
    seeds = sorted(path for path in folder.iterdir() if path.name != group and group_name(path.name) == group)
    curves = [read_curve(path, METRIC) for path in seeds]
    millions = np.arange(1, round(min(steps[-1] for steps, _ in curves) / 1e6) + 1)
    values = np.stack([np.interp(millions * 1e6, *curve) for curve in curves])
    middle = values.mean(axis=0)
    half = STUDENT_975[len(values)] * values.std(axis=0, ddof=1) * np.sqrt(1 + 1 / len(values))
    record = {
        "runs": [path.name for path in seeds],
        "millions": millions.tolist(),
        "values": values.round(4).tolist(),
        "mean": middle.round(4).tolist(),
        "low": np.clip(middle - half, 0, 1).round(4).tolist(),
        "high": np.clip(middle + half, 0, 1).round(4).tolist(),
    }
    if not run:
        print(json.dumps(record))
        return 0
    steps, scores = read_curve(folder / run, METRIC)
    low, high = (np.interp(steps, millions * 1e6, edge) for edge in (middle - half, middle + half))
    covered = steps <= millions[-1] * 1.02e6
    inside = (scores >= low) & (scores <= high)
    record |= {"run": run, "steps": steps.tolist(), "scores": scores.tolist(), "inside": inside[covered].tolist()}
    print(json.dumps(record))
    return 0 if inside[covered].all() else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
