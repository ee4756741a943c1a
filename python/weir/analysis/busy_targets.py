"""Fits the rate of a server over the number of its targets that are busy: the saw-tooth.

With one file per task, assigned round-robin to the servers, a test with n tasks is over when the
server with the most files is done (A. Uselton, section 3.9.2): if k targets of it are busy and they
have the rate S(k) together, the reported rate is

    rate(n) = n S(k) / k,    k = ceil(n / servers)

One task more than a multiple of the servers therefore costs much. Each further target adds less to
a server; the paper has 128, 73, 12 and 12 MB/s for the first to the fourth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_LEVELS = 2


@dataclass(frozen=True)
class BusyTargets:
    """What each busy target of a server adds to its rate, and the number of servers."""

    servers: int
    adds: tuple[float, ...]
    error: float
    """Root mean square of the relative errors of the fit."""

    def rate(self, tasks: int) -> float:
        """Returns the rate that a test with so many tasks reports.

        Beyond the measured numbers of busy targets the rate of a server stays what it was.
        """
        busy = -(-tasks // self.servers)
        return tasks * sum(self.adds[:busy]) / busy

    def drop(self, tasks: int) -> float:
        """Returns the share of the rate that is lost by the last one of so many tasks."""
        return 1 - self.rate(tasks) / self.rate(tasks - 1)


def fit_busy_targets(
    tasks: Sequence[int], rates: Sequence[float], servers: int | None = None
) -> BusyTargets | None:
    """Returns the saw-tooth that fits best; None if no number of servers gives one.

    If the number of servers is not given, it is chosen by Schwarz's criterion, which charges for
    each tooth: half as many servers always fit as well, with twice as many teeth. Errors are
    relative, so small tests count like large ones.
    """
    counts, measured = np.asarray(tasks, dtype=int), np.asarray(rates, dtype=float)
    if len(counts) < 3 or int(counts.min()) < 1 or float(measured.min()) <= 0:
        return None
    most = int(counts.max())
    tried = [servers] if servers else range(2, most // LEAST_LEVELS + 1)
    fits = [fit for one in tried if (fit := _fit(counts, measured, one))]
    return min(fits, key=lambda fit: _criterion(fit, len(counts)), default=None)


def _criterion(fit: BusyTargets, number: int) -> float:
    teeth = len(fit.adds)
    squares = fit.error**2 * (number - teeth) / number
    return number * math.log(max(squares, 1e-12)) + teeth * math.log(number)


def _fit(
    counts: NDArray[np.int64], measured: NDArray[np.float64], servers: int
) -> BusyTargets | None:
    busy = -(-counts // servers)
    levels = np.unique(busy)
    if len(levels) < LEAST_LEVELS or int(levels[-1]) != len(levels):
        return None
    # The rate of a server with k busy targets, from each test with k: rate(n) k / n.
    of_server = [
        float(np.exp(np.mean(np.log(measured[busy == k] * k / counts[busy == k])))) for k in levels
    ]
    adds = np.diff([0.0, *of_server])
    fitted = counts * np.array(of_server)[busy - 1] / busy
    freedom = len(counts) - len(levels)
    if freedom < 1 or float(adds.min()) < 0:
        return None
    error = float(np.sqrt(np.sum(np.log(measured / fitted) ** 2) / freedom))
    return BusyTargets(servers, tuple(float(one) for one in adds), error)
