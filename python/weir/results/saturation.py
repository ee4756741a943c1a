"""How the rate of operations grows with the clients that ask: to a plateau, or to a wall.

The form is Gunther's universal scalability law. With one client's rate ``r``, n clients reach

    rate(n) = r n / (1 + contention (n - 1) + exchange n (n - 1))

Contention is the share of an operation that only one client can have at a time: it alone makes a
plateau of ``r / contention``. Exchange is what clients cost each other in pairs (locks that wander,
a directory block that all change): beyond its peak the rate falls. With contention from 0 to 1, and
no exchange, the rate never falls; above 1 each client more costs more than it brings, and one alone
reaches the most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

LEAST_LEVELS = 3
"""Three parameters: with fewer levels nothing is said."""
WORST_ERROR = 0.3
"""Where a level is off by more, the curve says nothing."""
ROUNDS = 10
NEGLIGIBLE = 1e-9
"""By how much another term must lessen the sum of squares to be taken."""
MOST_WEIGHT = 20.0
NOTABLE_FALL = 0.05
"""The rate must fall by so much within what was measured for a wall to be spoken of."""


@dataclass(frozen=True)
class Saturation:
    """A fitted curve. Rates are operations per second of all clients together."""

    one_client: float
    contention: float
    exchange: float
    largest_error: float
    """Of a level, relative to what was measured."""
    most_clients: float
    """The largest level that was measured."""

    def rate(self, clients: float) -> float:
        others = clients - 1
        lost = self.contention * others + self.exchange * clients * others
        return self.one_client * clients / (1 + lost)

    @property
    def holds(self) -> bool:
        return self.largest_error <= WORST_ERROR

    @property
    def peak_clients(self) -> float:
        """Where the rate is largest; infinite where it never falls."""
        if self.contention > 1:
            return 1.0
        if self.exchange == 0:
            return math.inf
        return max(1.0, math.sqrt((1 - self.contention) / self.exchange))

    @property
    def plateau(self) -> float:
        """The rate that no number of clients exceeds; infinite where each adds its own."""
        if math.isfinite(self.peak_clients):
            return self.rate(self.peak_clients)
        return self.one_client / self.contention if self.contention > 0 else math.inf

    @property
    def has_wall(self) -> bool:
        """Whether the rate fell within what was measured."""
        if self.peak_clients >= self.most_clients:
            return False
        return self.rate(self.most_clients) < (1 - NOTABLE_FALL) * self.plateau


def fit_saturation(clients: Sequence[float], rates: Sequence[float]) -> Saturation | None:
    """The curve with the least errors of logarithms; nothing for fewer than three levels.

    ``n / rate(n)`` is linear in the three coefficients. None of them may be negative: of the fits
    with some of them zero, the best that has none below zero is taken.
    """
    measured = [(n, rate) for n, rate in zip(clients, rates, strict=True) if n >= 1 and rate > 0]
    if len({n for n, _ in measured}) < LEAST_LEVELS:
        return None
    n = np.array([level for level, _ in measured], dtype=float)
    rate = np.array([value for _, value in measured], dtype=float)
    terms = np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)
    # What the curve says of n / rate over what was measured, which should be 1.
    relative = terms * (rate / n)[:, None]
    best: tuple[float, Values] | None = None
    for used in ((0, *others) for count in range(3) for others in combinations((1, 2), count)):
        coefficients = _fitted(relative, list(used))
        if coefficients[0] <= 0 or (coefficients < 0).any():
            continue
        error = float(np.sum(np.log(relative @ coefficients) ** 2))
        if best is None or error < best[0] - NEGLIGIBLE:
            best = (error, coefficients)
    if best is None:
        return None
    first, shared, paired = (float(value) for value in best[1])
    predicted = n / (terms @ best[1])
    return Saturation(
        one_client=1 / first,
        contention=shared / first,
        exchange=paired / first,
        largest_error=float(np.max(np.abs(predicted / rate - 1))),
        most_clients=float(n.max()),
    )


def _fitted(relative: Values, used: list[int]) -> Values:
    """Coefficients of the used terms; weighted anew until too high counts as much as too low."""
    weights = np.ones(len(relative))
    coefficients = np.zeros(relative.shape[1])
    for _ in range(ROUNDS):
        rows = relative[:, used] * weights[:, None]
        coefficients[used] = np.linalg.lstsq(rows, weights, rcond=None)[0]
        weights = 1 / np.clip(relative @ coefficients, 1 / MOST_WEIGHT, MOST_WEIGHT)
    return coefficients
