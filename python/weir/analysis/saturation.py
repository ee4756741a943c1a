"""Fits how a rate grows with the number of clients: to a plateau or to a wall.

The rate is that of operations, or of the bytes that all clients move together.

The form is Gunther's universal scalability law. With one client's rate ``r``, n clients reach

    rate(n) = r n / (1 + contention (n - 1) + exchange n (n - 1))

Contention is the share of an operation that only one client can execute at a time. By itself it
leads to a plateau at ``r / contention``. Exchange is the cost of interference between pairs of
clients (locks that migrate, a directory block that all change): beyond a peak the rate falls.
Without exchange and with contention from 0 to 1 the rate never falls. With contention above 1 each
further client costs more than it contributes, and one client alone reaches the highest rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from weir.results.quantities import percent_text, rate_text, significant
from weir.results.series import Unit

Values = NDArray[np.float64]

LEAST_LEVELS = 3
"""The curve has three parameters; with fewer levels there is no fit."""
WORST_ERROR = 0.3
"""The curve is not used if it is off by more than this relative error at any level."""
EXACT = 1e-3
ROUNDS = 10
NEGLIGIBLE = 1e-9
"""A further term is used only if it reduces the sum of squares by more than this."""
MOST_WEIGHT = 20.0
NOTABLE_FALL = 0.05
"""A wall is reported only if the rate falls by this share within the measured levels."""

REACHED = 0.9
"""Share of the largest measured rate from which on a rate is saturated."""
BEYOND = 1.5
"""So many times the clients must have been measured too, before a rate is said to be saturated:
a rate that grows in proportion is then no more than two thirds of the larger one."""


@dataclass(frozen=True)
class Saturation:
    """A fitted curve. Rates are operations or bytes per second of all clients together."""

    one_client: float
    contention: float
    exchange: float
    largest_error: float
    """Largest error at a level, relative to the measured rate."""
    most_clients: float
    """Largest number of clients that was measured."""
    saturated_from: float | None = None
    """Measured number of clients at which the rate is saturated, whatever the curve's form."""

    def rate(self, clients: float) -> float:
        others = clients - 1
        lost = self.contention * others + self.exchange * clients * others
        return self.one_client * clients / (1 + lost)

    @property
    def holds(self) -> bool:
        return self.largest_error <= WORST_ERROR

    @property
    def peak_clients(self) -> float:
        """Number of clients at which the rate is largest; infinite if it never falls."""
        if self.contention > 1:
            return 1.0
        if self.exchange == 0:
            return math.inf
        return max(1.0, math.sqrt((1 - self.contention) / self.exchange))

    @property
    def plateau(self) -> float:
        """Rate that no number of clients exceeds; infinite if each client adds its full rate."""
        if math.isfinite(self.peak_clients):
            return self.rate(self.peak_clients)
        return self.one_client / self.contention if self.contention > 0 else math.inf

    @property
    def has_wall(self) -> bool:
        """Whether the rate fell within the measured levels."""
        if self.peak_clients >= self.most_clients:
            return False
        return self.rate(self.most_clients) < (1 - NOTABLE_FALL) * self.plateau

    def text(self, unit: Unit = "1/s") -> str:
        """Describes the curve, and how well it fits; of transfers also where they saturate."""
        fit = self._fit_text(unit)
        return f"{self._saturated_text()}; fitted: {fit}" if unit == "bytes/s" else fit

    def _saturated_text(self) -> str:
        most = f"{self.most_clients:g}"
        if self.saturated_from is None:
            return f"does not saturate up to {most} ranks"
        where = "one rank" if self.saturated_from <= 1 else f"{self.saturated_from:g} ranks"
        return (
            f"saturates at {where}, the first to reach {percent_text(REACHED)} of the largest rate"
        )

    def _fit_text(self, unit: Unit) -> str:
        if not self.holds:
            return f"no curve fits: the best is off by up to {percent_text(self.largest_error)}"
        transfers = unit == "bytes/s"
        plateau = (
            rate_text(self.plateau) if transfers else f"{significant(self.plateau)} per second"
        )
        off = f"the curve is off by up to {percent_text(self.largest_error)}"
        if self.largest_error < EXACT:
            off = "the curve goes through all points, as many as it has figures"
        most = f"{self.most_clients:g}"
        reached = percent_text(self.rate(self.most_clients) / self.plateau)
        if self.has_wall:
            peak = f"{significant(self.peak_clients)} ranks"
            with_peak = "one rank" if self.peak_clients <= 1 else peak
            said = (
                f"largest, {plateau}, with {with_peak}, and falls to {reached} of that with "
                f"{most}: {'a wall' if transfers else 'a metadata wall'}"
            )
        elif math.isinf(self.plateau):
            said = f"each rank up to {most} adds its own rate"
        else:
            said = (
                f"rises towards {plateau}, of which {most} ranks reach {reached}; no wall within "
                "what was measured"
            )
        return f"{said} ({off})"


def fit_saturation(clients: Sequence[float], rates: Sequence[float]) -> Saturation | None:
    """Fits the curve with the least squared errors of logarithms; None for fewer than three levels.

    ``n / rate(n)`` is linear in the three coefficients, none of which may be negative. Fits with
    some of them zero are made too, and the best one without a negative coefficient is taken.
    """
    measured = [(n, rate) for n, rate in zip(clients, rates, strict=True) if n >= 1 and rate > 0]
    if len({n for n, _ in measured}) < LEAST_LEVELS:
        return None
    n = np.array([level for level, _ in measured], dtype=float)
    rate = np.array([value for _, value in measured], dtype=float)
    terms = np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)
    # Each row gives the curve's n / rate(n) over the measured one, which should be 1.
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
        saturated_from=saturated_from(*zip(*measured, strict=True)),
    )


def saturated_from(clients: Sequence[float], rates: Sequence[float]) -> float | None:
    """Returns the smallest level that reaches the share ``REACHED`` of the largest rate.

    None if no level with ``BEYOND`` times as many clients was measured: the rate may still grow.
    No curve is assumed, because a rate that is limited by one shared part grows in proportion and
    then not at all, which no smooth curve follows.
    """
    most = max(rates)
    first = min(n for n, rate in zip(clients, rates, strict=True) if rate >= REACHED * most)
    return first if max(clients) >= BEYOND * first else None


def _fitted(relative: Values, used: list[int]) -> Values:
    """Fits the coefficients of the used terms by least squares with iterated weights.

    The iteration makes rates that are too high count as much as rates that are too low.
    """
    weights = np.ones(len(relative))
    coefficients = np.zeros(relative.shape[1])
    for _ in range(ROUNDS):
        rows = relative[:, used] * weights[:, None]
        coefficients[used] = np.linalg.lstsq(rows, weights, rcond=None)[0]
        weights = 1 / np.clip(relative @ coefficients, 1 / MOST_WEIGHT, MOST_WEIGHT)
    return coefficients
