"""Joins transfers that are served together, before their times are compared.

The kernel reads a file ahead, in windows that are often larger than a transfer: one call waits for
the device, and the next ones find their pages in memory. The time of such a call says nothing about
the storage; only that of several windows does. A batch has ``WINDOWS`` of them, so that one more or
one less makes no mode.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weir.analysis.stragglers import Transfers

WINDOWS = 4
"""One window in four changes a rate by at most 25 %, and modes differ by more."""


def first_of_batches(transfers: Transfers, window: float) -> NDArray[np.int64]:
    """Returns the place of each batch's first transfer; ``window`` is bytes read ahead at a time.

    A batch is of one rank and repetition. A transfer of a whole window or more is by itself.
    """
    number = len(transfers)
    if number == 0 or float(np.median(transfers.bytes)) >= window:
        return np.arange(number)
    series = transfers.series
    begins = np.diff(series, prepend=series[0] - 1) != 0
    before = np.cumsum(transfers.bytes) - transfers.bytes
    own = before - before[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    batch = np.floor(own / (WINDOWS * window))
    return np.flatnonzero(begins | (np.diff(batch, prepend=-1) != 0))


def joined(transfers: Transfers, firsts: NDArray[np.int64]) -> Transfers:
    """Returns a transfer for each batch, which lasts as long as its transfers together."""
    if len(firsts) == len(transfers):
        return transfers
    series = transfers.series[firsts]
    begins = np.flatnonzero(np.diff(series, prepend=series[0] - 1) != 0)
    numbers = np.arange(len(firsts)) - np.repeat(begins, np.diff(np.append(begins, len(firsts))))
    start = transfers.start[firsts]
    return Transfers(
        start,
        start + np.add.reduceat(transfers.seconds, firsts),
        np.add.reduceat(transfers.bytes, firsts),
        transfers.rank[firsts],
        # Ranks that wait for each other after each transfer do so after each batch, too.
        numbers if transfers.step.any() else transfers.step[firsts],
        transfers.repetition[firsts],
    )
