"""What is believed of a model's constants, as an ensemble that results make surer.

A member of the ensemble is one possible set of constants. Without results the members are drawn
around the believed values, within their intervals. With results, each member is fitted again by the
project's least squares to the results, disturbed by their noise, and to its own draw, weighted by
the width of the interval (randomised maximum likelihood). Members that a result contradicts move;
what no result is about keeps its spread. Nothing enters but the belief and the results.

A member's fit begins both where the last one ended and at its own draw of the belief. Otherwise an
explanation that no member has any more could never come back, though later results make it as
probable as the others; all members would then agree, and no test would seem to teach anything.

Each member sees the results disturbed once more, so their noise counts twice, and explanations that
differ from the results by several times the noise have too many members. An explanation is which
part of the model limits each test. It is left out if even its best member is much less probable,
by the results as they are and by the belief, than the best of all.

The disagreement of the members on a test is the deviation from which its information follows
(``weir.follow_up.proposal``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from weir.follow_up.proposal import INTERVAL
from weir.model.laws import Values
from weir.model.least_squares import (
    Columns,
    Form,
    Parameters,
    best_of_rows,
    moved_singly,
    solve_from,
)
from weir.results.record import Quantity

MEMBERS = 80
LEAST_KEPT = 0.25
"""Share of the members that stays, however badly all miss the results."""
SEARCHES = 2
LEAST_ODDS = 1 / 40
"""An explanation stays if it is at least so probable as the best one: what a 95 % interval leaves
out on either side."""
FACTORS = (0.25, 0.4, 0.6, 0.8, 0.9, 0.95, 1.05, 1.1, 1.25, 1.6, 2.5, 4.0)
DATA_SHEET_FACTOR = 3.0
"""Factor either way within which a constant is believed that no measurement is behind."""


Explain = Callable[[Values, Columns], NDArray[np.intp]]
"""Returns which part of the model limits each test for each member (members, tests)."""


@dataclass(frozen=True)
class Belief:
    """A model (its times as a form) with what is believed of its constants, and the results."""

    form: Form
    believed: tuple[Quantity, ...]
    seed: int
    noise: float
    """Standard deviation of a result's logarithm."""
    tests: Mapping[str, Values] = field(default_factory=dict)
    """The columns of the tests that were made, in their order."""
    seconds: tuple[float, ...] = ()
    start: Values | None = None
    """The ensemble before the last result."""
    explain: Explain | None = None

    def after(self, test: Mapping[str, float], seconds: float) -> Belief:
        """Returns the belief with one more result."""
        tests = {
            name: np.append(self.tests.get(name, np.empty(0)), value)
            for name, value in test.items()
        }
        return replace(self, tests=tests, seconds=(*self.seconds, seconds), start=self._everyone)

    @cached_property
    def members(self) -> Values:
        """The ensemble (members, constants), without members that no result could have left.

        A search may end in a valley from which it sees no way out. Its member then misses the
        results by more than their noise allows, and says nothing about the constants.
        """
        found = self._everyone
        if not self.seconds:
            return found
        misses = np.sum(((self._log_times_of(found) - self._disturbed) / self.noise) ** 2, axis=1)
        count = len(self.seconds)
        allowed = max(count + 3 * math.sqrt(2 * count), float(np.quantile(misses, LEAST_KEPT)))
        return np.asarray(found[misses <= allowed])

    @cached_property
    def probable(self) -> Values:
        """The members whose explanation is probable beside the best one: what is known.

        Tests are chosen by all members, so that they also rule out what is improbable.
        """
        members = self.members
        if not self.seconds or self.explain is None:
            return members
        centre, wide = self._centre_and_deviations
        times = self._log_times_of(members)
        misses = np.sum(((times - np.log(self.seconds)) / self.noise) ** 2, axis=1)
        misses += np.sum(((np.log(members) - centre) / wide) ** 2, axis=1)
        parts = self.explain(members, self.tests)
        _, explanations = np.unique(parts, axis=0, return_inverse=True)
        best = np.full(len(misses), np.inf)
        np.minimum.at(best, explanations.ravel(), misses)
        stays = best[explanations.ravel()] <= misses.min() - 2 * math.log(LEAST_ODDS)
        return np.asarray(members[stays])

    def _log_times_of(self, members: Values) -> Values:
        return np.log(self.form.seconds([one[:, None] for one in members.T], self.tests))

    @cached_property
    def _centre_and_deviations(self) -> tuple[Values, Values]:
        """The logarithms of the believed constants, and their standard deviations."""
        centre = np.log([one.value for one in self.believed])
        return centre, np.array([_deviation(one) for one in self.believed])

    @cached_property
    def _disturbed(self) -> Values:
        """Returns the logarithms of the results as each member sees them (members, results)."""
        return np.transpose(
            [
                math.log(seconds)
                + self.noise * np.random.default_rng([self.seed, place]).standard_normal(MEMBERS)
                for place, seconds in enumerate(self.seconds)
            ]
        )

    @cached_property
    def _everyone(self) -> Values:
        generator = np.random.default_rng(self.seed)
        centre, wide = self._centre_and_deviations
        drawn = centre + wide * generator.standard_normal((MEMBERS, len(centre)))
        low = np.log([free.low for free in self.form.parameters])
        high = np.log([free.high for free in self.form.parameters])
        drawn = np.clip(drawn, low, high)
        if self.start is None:
            return np.asarray(np.exp(drawn))
        weights = self.noise / wide
        observed = np.exp(np.hstack([self._disturbed, weights * drawn]))
        form = _with_belief(self.form, weights)
        afresh = moved_singly(form, self.tests, observed, np.exp(drawn), FACTORS)
        points = np.vstack([self.start, solve_from(form, self.tests, observed, afresh)])
        for _ in range(SEARCHES):
            points = best_of_rows(form, self.tests, observed, points)
            points = moved_singly(form, self.tests, observed, points, FACTORS)
            points = solve_from(form, self.tests, observed, points)
        return points

    def quantities(self) -> dict[str, Quantity]:
        """Returns each constant's median and 95 % interval over the probable members."""
        return {
            free.name: interval_of(self.probable[:, place])
            for place, free in enumerate(self.form.parameters)
        }


def interval_of(values: Values) -> Quantity:
    """Returns the median of the members' values, and the interval with 95 % of them."""
    low, middle, high = np.percentile(values, [2.5, 50.0, 97.5])
    return Quantity(value=float(middle), low=float(low), high=float(high))


def log_rates(form: Form, members: Values, tests: Sequence[Mapping[str, float]]) -> Values:
    """Returns the logarithms of what every member predicts for every test (members, tests)."""
    columns = {name: np.array([one[name] for one in tests]) for name in tests[0]}
    values: list[float | Values] = [constant[:, None] for constant in members.T]
    return np.asarray(-np.log(form.seconds(values, columns)))


def _deviation(one: Quantity) -> float:
    """Returns the standard deviation of a constant's logarithm, from its interval if it has one."""
    if one.low < one.high and one.low > 0:
        return math.log(one.high / one.low) / (2 * INTERVAL)
    return math.log(DATA_SHEET_FACTOR) / INTERVAL


def _with_belief(form: Form, weights: Values) -> Form:
    """Returns the form with one more sample for each constant: the constant itself, weighted."""

    def seconds(values: Parameters, columns: Columns) -> Values:
        times = form.seconds(values, columns)
        own = [np.asarray(value) ** weight for value, weight in zip(values, weights, strict=True)]
        shape = (*times.shape[:-1], 1)
        parts = [np.broadcast_to(one, shape) for one in own]
        return np.concatenate([times, *parts], axis=-1)

    return Form(form.name, form.parameters, seconds, form.starts)
