"""Signals folded over a match's steps, compiled: see `tally.SignalFolds`."""

from pvp_ml.compiled.kernel_set import CORE

ADD, LAST, TOP, LOW = range(4)


@CORE.kernel
def fold(kind, signals, first, value):
    """One step's signals [n,S,K] into value [n,S,K] by kind [K]; `first` [n]: it is their match's first step."""
    for n in range(value.shape[0]):
        for s in range(value.shape[1]):
            for k in range(value.shape[2]):
                new = signals[n, s, k]
                if first[n] or kind[k] == LAST:
                    value[n, s, k] = new
                elif kind[k] == ADD:
                    value[n, s, k] += new
                elif kind[k] == TOP:
                    value[n, s, k] = max(value[n, s, k], new)
                else:
                    value[n, s, k] = min(value[n, s, k], new)
