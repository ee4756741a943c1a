"""Joins transfers that are served together, before their times are compared.

The kernel reads a file ahead, in windows that are often larger than a transfer; a limit on the rate
lets through what it allows for 100 ms at a time; caches write back in bursts. One call waits then,
and others find their room or their pages in memory. The time of a single call says nothing about
the storage in such a case; only that of many together does.

Two things tell that. The size of the kernel's window is known, and a batch has ``WINDOWS`` of them.
Without such knowledge, transfers are joined if most of the time is in a few long ones, and sums
over neighbours vary far less than sums over independent transfers would: after a long one others
are short, so that the mean rate is steady. A batch then has ``WINDOWS`` times as many transfers as
the shortest such sums. That is the variance ratio of A. W. Lo and A. C. MacKinlay ("Stock market
prices do not follow random walks", Review of Financial Studies 1, 1988). Modes and stalls that come
at random have a ratio of one, and stay.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from weir.analysis.stragglers import Transfers

WINDOWS = 4
"""One window in four changes a rate by at most 25 %, and modes differ by more."""
LONG = 10.0
"""A transfer is long if it takes at least so many times as long as the one in the middle."""
MOSTLY_LONG = 0.5
"""Transfers may be joined if the long ones take at least this share of the time."""
STEADY = 0.5
"""Sums are steady if their variance is surely below this share of that of independent ones."""
ERRORS = 3.0
"""So many standard errors of the ratio count for sure; many lengths of bursts are tried."""
LEAST_BURSTS = 4
"""Bursts are sought of which each rank has at least so many in a repetition."""
GROWTH = 1.25
"""Lengths that are tried differ by this factor, if they are long."""
LEAST_BATCHES = 2
"""Each rank has at least so many batches in a repetition then."""


def first_of_batches(transfers: Transfers, window: float = 0.0) -> NDArray[np.int64]:
    """Returns the place of each batch's first transfer; ``window`` is bytes read ahead at a time.

    A batch is of one rank and repetition, whose batches have about as many transfers each. A
    transfer of a whole window or more is by itself.
    """
    number = len(transfers)
    if number == 0:
        return np.arange(0)
    begins, places = _places(transfers)
    usual = float(np.median(transfers.bytes))
    if usual < window:
        together = round(WINDOWS * window / max(usual, 1.0))
    else:
        together = served_together(transfers)
    lengths = np.diff(np.append(np.flatnonzero(begins), number))
    length = lengths[np.cumsum(begins) - 1]
    batch = places * np.maximum(1, length // together) // length
    return np.flatnonzero(begins | (np.diff(batch, prepend=-1) != 0))


def _places(transfers: Transfers) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Returns which transfers are the first of a rank and repetition, and each one's number."""
    series = transfers.series
    begins = np.diff(series, prepend=series[0] - 1) != 0
    firsts = np.flatnonzero(begins)
    return begins, np.arange(len(series)) - firsts[np.cumsum(begins) - 1]


def served_together(transfers: Transfers) -> int:
    """Returns how many transfers of a rank to join; 1 if each is served by itself."""
    seconds = transfers.seconds
    is_long = seconds >= LONG * float(np.median(seconds))
    if float(seconds[is_long].sum()) < MOSTLY_LONG * float(seconds.sum()):
        return 1
    begins, _ = _places(transfers)
    firsts = np.flatnonzero(begins)
    lengths = np.diff(np.append(firsts, len(seconds)))
    shortest = int(lengths.min())
    spread = _variance_within(seconds, firsts, lengths)
    together = 2
    while together * LEAST_BURSTS <= shortest and spread > 0:
        ratio, differences = _variance_ratio(seconds, firsts, lengths, together, spread)
        if ratio * (1 + ERRORS * math.sqrt(2 / differences)) <= STEADY:
            return min(WINDOWS * together, shortest // LEAST_BATCHES)
        together = max(together + 1, int(together * GROWTH))
    return 1


def _variance_within(
    seconds: NDArray[np.float64], firsts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> float:
    means = np.add.reduceat(seconds, firsts) / lengths
    freedom = max(1, len(seconds) - len(firsts))
    return float(np.sum((seconds - np.repeat(means, lengths)) ** 2)) / freedom


def _variance_ratio(
    seconds: NDArray[np.float64],
    firsts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    together: int,
    spread: float,
) -> tuple[float, int]:
    """Returns the variance of sums over that of independent ones, and of how many differences."""
    squares, number = 0.0, 0
    for first, length in zip(firsts, lengths, strict=True):
        whole = length // together
        sums = seconds[first : first + whole * together].reshape(whole, together).sum(axis=1)
        squares += float(np.sum(np.diff(sums) ** 2))
        number += whole - 1
    return squares / number / (2 * together * spread), number


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
