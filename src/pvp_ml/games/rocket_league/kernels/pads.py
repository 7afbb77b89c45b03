"""The compiled half of the boost pads' timers."""

from pathlib import Path

import numpy as np

from pvp_ml.compiled.kernel_set import KernelSet

ARENAS = KernelSet("rocket_league", lambda: Path(__file__).parent.glob("*.py"))
SOON = np.float32(1e-3)  # seconds: gone, and expected back any moment


@ARENAS.kernel
def count_down(rows, pads, seconds, timer, taken):
    """Let time pass for the pads of these rows [N].

    pads [M,2,34]: there when above ½; timer [M,34]: seconds until it is back, 0 while it is there. A pad that was just
    taken keeps 0 and is listed in taken [K,2] as (row, pad); returns how many there are.
    """
    count = 0
    for row in rows:
        there, left = pads[row, 0], timer[row]
        for pad in range(len(left)):
            if there[pad] > 0.5:
                left[pad] = 0.0
            elif left[pad] == 0.0:
                taken[count, 0], taken[count, 1] = row, pad
                count += 1
            else:
                left[pad] = max(np.float32(left[pad] - seconds), SOON)
    return count
