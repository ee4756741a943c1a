"""A model of rates over several factors that assumes little: interpolation with an interval.

The logarithm of the rate is a linear trend plus a smooth random function (kriging with a Matérn
covariance of order 3/2). The interval is narrow at measured points, wide between distant ones, and
widens without bound outside of them. The range and height of the function are those under which
held-out points are most probable; if these still lie further from their predictions than their
intervals say, all intervals are widened by that ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from weir.model.laws import Values

RANGES = (0.15, 0.3, 0.6, 1.2, 2.4)
"""Tried distances over which rates are alike, in units of the measured span of a factor."""
HEIGHTS = (0.01, 0.1, 0.3, 1.0, 3.0)
"""Tried variances, in units of that of the measurements around the trend."""
UNKNOWN_DEVIATION = math.log(2) / 1.96
"""Assumed if there are too few points to estimate one: a factor of 2 either way."""
ENOUGH = 4
"""Points from which a deviation is estimated."""


@dataclass(frozen=True)
class Predicted:
    """A logarithmic rate and its standard deviation."""

    mean: float
    deviation: float


class Surface:
    """The model, fitted to points (points, factors) with logarithmic rates and their variances."""

    def __init__(self, points: Values, logs: Values, variances: Values) -> None:
        if len(points) == 0 or points.ndim != 2 or len(points) != len(logs):
            raise ValueError("a surface needs at least one point, and a rate for each")
        self._points, self._logs, self._variances = points, logs, variances
        self._linear = len(points) >= points.shape[1] + 2
        self._widened = 1.0
        if len(points) < ENOUGH:
            self._range, self._height = 1.2, UNKNOWN_DEVIATION**2
            self._solve()
            self.held_out = np.full(len(points), np.nan)
            return
        self._choose()
        errors, deviations = self._left_out()
        self.held_out = np.asarray(np.abs(np.expm1(errors)))
        self._widened = max(1.0, float(np.sqrt(np.mean((errors / deviations) ** 2))))

    @property
    def held_out_median(self) -> float | None:
        """Median relative error of points that were left out; None if too few were measured."""
        return None if len(self.held_out) < ENOUGH else float(np.median(self.held_out))

    def at(self, point: Values) -> Predicted:
        """Returns the prediction at one point."""
        basis = self._basis(point[None, :])[0]
        near = self._height * self._alike(point[None, :], self._points)[0]
        mean = basis @ self._trend + near @ self._weights
        left = basis - self._basis_of_points.T @ (self._inverse @ near)
        variance = self._height - near @ self._inverse @ near + left @ self._trend_variance @ left
        return Predicted(float(mean), self._widened * math.sqrt(max(float(variance), 0.0)))

    def with_point(self, point: Values, variance: float) -> Surface:
        """Returns the model as if the prediction at ``point`` had been measured: only surer."""
        surer = object.__new__(Surface)
        surer.__dict__.update(self.__dict__)
        surer._points = np.vstack([self._points, point])
        surer._logs = np.append(self._logs, self.at(point).mean)
        surer._variances = np.append(self._variances, variance)
        surer._solve()
        return surer

    def _choose(self) -> None:
        basis = self._basis(self._points)
        trend = np.linalg.lstsq(basis, self._logs, rcond=None)[0]
        around = max(float(np.var(self._logs - basis @ trend)), 1e-4)
        best = -math.inf
        for reach in RANGES:
            for height in HEIGHTS:
                self._range, self._height = reach, height * around
                self._solve()
                errors, deviations = self._left_out()
                likely = -float(np.sum(np.log(deviations) + 0.5 * (errors / deviations) ** 2))
                if likely > best + 1e-9:
                    best, chosen = likely, (reach, height * around)
        self._range, self._height = chosen
        self._solve()

    def _solve(self) -> None:
        alike = self._height * self._alike(self._points, self._points)
        self._basis_of_points = basis = self._basis(self._points)
        self._inverse = np.linalg.inv(alike + np.diag(self._variances + 1e-9))
        self._trend_variance = np.linalg.pinv(basis.T @ self._inverse @ basis)
        self._trend = self._trend_variance @ basis.T @ self._inverse @ self._logs
        self._weights = self._inverse @ (self._logs - basis @ self._trend)

    def _left_out(self) -> tuple[Values, Values]:
        """Returns each point's error if it is left out, and the deviation that was predicted."""
        inverse, basis = self._inverse, self._basis_of_points
        through = inverse - inverse @ basis @ self._trend_variance @ basis.T @ inverse
        diagonal = np.maximum(np.diag(through), 1e-12)
        return (through @ self._logs) / diagonal, np.sqrt(1 / diagonal)

    def _basis(self, points: Values) -> Values:
        ones = np.ones((len(points), 1))
        return np.hstack([ones, points]) if self._linear else ones

    def _alike(self, first: Values, second: Values) -> Values:
        apart = np.sqrt(np.sum((first[:, None, :] - second[None, :, :]) ** 2, axis=2))
        scaled = math.sqrt(3) * apart / self._range
        return np.asarray((1 + scaled) * np.exp(-scaled))
