"""One rate over the factors, as points and the models of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from weir.follow_up.levels import coordinates, is_numeric
from weir.follow_up.points import LEAST_DEVIATION, Measured, Point
from weir.follow_up.proposal import INTERVAL
from weir.follow_up.surface import Predicted, Surface
from weir.model.curves import CURVES, Curve
from weir.model.laws import Values
from weir.results.campaign import Value
from weir.results.record import Quantity

LAWS: Mapping[str, str] = {"ranks": "tasks", "transfer": "transfer", "block": "buffer"}
"""Settings over which the model has a law, and that law."""
ENOUGH_FOR_A_LAW = 5
MOST_LAWS = 8
LARGEST_LOG = 690.0
"""The exponential of more is no number."""

Place = Mapping[str, Value]
Words = tuple[tuple[str, Value], ...]
"""The levels of the factors that are not numbers."""


def word_names(measured: Measured) -> list[str]:
    """Returns the names of the factors whose levels are not all numbers."""
    return sorted(name for one in measured.factors if not is_numeric(one) for name in one.names)


def lines_of(measured: Measured, runs: int) -> dict[tuple[str, Words], Line]:
    """Returns a line for each rate and combination of words; a test has ``runs`` runs."""
    names = word_names(measured)
    grouped: dict[tuple[str, Words], list[Point]] = {}
    for point in measured.points:
        words = tuple((name, point.settings[name]) for name in names)
        grouped.setdefault((point.line, words), []).append(point)
    return {key: Line(measured, points, runs) for key, points in grouped.items()}


class Line:
    """One line's models. ``place`` gives the levels of factors that are not numbers."""

    def __init__(self, measured: Measured, points: Sequence[Point], runs: int) -> None:
        self.points = points
        self.name = points[0].line
        self.direction = points[0].direction
        self.factors = [one for one in measured.factors if is_numeric(one)]
        self.noise = max(LEAST_DEVIATION, measured.noise / math.sqrt(runs))
        self._spread = measured.noise
        at = np.array([self.coordinates(one.settings) for one in points]).reshape(len(points), -1)
        self.measured_at = at
        logs = np.array([math.log(one.median) for one in points])
        self.surface = Surface(at, logs, np.array([self.variance(one) for one in points]))

    def variance(self, point: Point) -> float:
        """Returns the variance of a point's logarithmic median: from its own values, or from all.

        Few values say little about their own spread, so that of all points is the least.
        """
        spread = max(point.spread or 0.0, self._spread)
        return max(LEAST_DEVIATION, spread / math.sqrt(len(point.values))) ** 2

    def coordinates(self, settings: Place) -> Values:
        """Returns a point's place in units of the measured spans; 0 if no factor is a number."""
        if not self.factors:
            return np.zeros(1)
        return np.concatenate(
            [coordinates(factor, [settings[factor.names[0]]]) for factor in self.factors]
        )

    def predicted(self, place: Place) -> Predicted:
        return self.surface.at(self.coordinates(place))

    def expected(self, place: Place) -> Quantity:
        """Returns the expected result: the model's interval and the noise of a test, at 95 %."""
        found = self.predicted(place)
        return _quantity(found.mean, math.hypot(found.deviation, self.noise))

    def known(self, place: Place) -> Quantity:
        """Returns the rate with what the model does not know of it, at 95 %."""
        found = self.predicted(place)
        return _quantity(found.mean, found.deviation)

    def spans(self, place: Place) -> bool:
        """Returns whether a place is within the measured levels of every factor."""
        at, points = self.coordinates(place), self.measured_at
        inside = (points.min(axis=0) <= at + 1e-9) & (at <= points.max(axis=0) + 1e-9)
        return bool(np.all(inside))

    def learn(self, place: Place) -> None:
        self.surface = self.surface.with_point(self.coordinates(place), self.noise**2)

    @cached_property
    def laws(self) -> list[tuple[Place, str, Curve]]:
        """Returns the laws that fit, over one factor each, with the levels of the others."""
        found: list[tuple[Place, str, Curve]] = []
        for factor in self.factors:
            name = factor.names[0]
            if name not in LAWS:
                continue
            slices: dict[tuple[tuple[str, Value], ...], list[Point]] = {}
            for point in self.points:
                others = {k: v for k, v in point.settings.items() if k not in factor.names}
                slices.setdefault(tuple(others.items()), []).append(point)
            for key, members in slices.items():
                if len(members) < ENOUGH_FOR_A_LAW or len(found) >= MOST_LAWS:
                    continue
                levels = [float(one.settings[name]) for one in members]
                law = CURVES[LAWS[name]](levels, [one.median for one in members])
                if law.fit.fits:
                    found.append((dict(key), name, law))
        return found

    def law_at(self, place: Place) -> tuple[float, Curve] | None:
        """Returns the logarithmic rate by a law at a place, and the law; None without one."""
        for others, name, law in self.laws:
            if all(place[key] == value for key, value in others.items()):
                return float(np.log(law.rate([float(place[name])])[0])), law
        return None

    def at(self, place: Place) -> Point | None:
        return next((one for one in self.points if one.settings == place), None)


def _quantity(mean: float, deviation: float) -> Quantity:
    """Returns a rate with its 95 % interval, from its logarithm."""
    wide = INTERVAL * deviation
    return Quantity(
        value=math.exp(mean),
        low=math.exp(mean - wide),
        high=math.exp(min(mean + wide, LARGEST_LOG)),
    )
