"""Robust least squares on logarithms of times, with bounds.

Times spread over orders of magnitude and their errors are relative, so the residual is
log(predicted) - log(observed). The loss is soft L1: residuals beyond about ``SCALE`` count by their
size and no longer by its square, so a few disturbed samples do not move the fit. Parameters are
positive and are searched for by their logarithms, between bounds in their own unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from weir.model.laws import Values

SCALE = 0.1
EVALUATIONS = 50
TOLERANCE = 1e-5
SEARCHED = 3

Columns = Mapping[str, Values]
"""What was varied: one array per factor, one element per sample."""


@dataclass(frozen=True)
class Free:
    """A parameter to be found, with its unit and bounds (both above 0).

    ``step_in`` names the column in which it is the place of a step: that place is only known to
    lie between two samples, and its interval says so.
    """

    name: str
    unit: str
    low: float
    high: float
    step_in: str | None = None


@dataclass(frozen=True)
class Form:
    """One form that a law may have.

    ``seconds(parameters, columns)`` gives a time for every sample; ``starts(columns, seconds)``
    gives points to begin the search from, as a step has no slope that a search could follow. The
    ``SEARCHED`` best of them are followed, and the best end is taken.
    """

    name: str
    parameters: tuple[Free, ...]
    seconds: Callable[[Sequence[float], Columns], Values]
    starts: Callable[[Columns, Values], list[list[float]]]


def solve(
    form: Form, columns: Columns, observed: Values, starts: Sequence[Sequence[float]] = ()
) -> list[float]:
    """The parameters of ``form`` that describe ``observed`` seconds best."""
    low = np.log([free.low for free in form.parameters])
    high = np.log([free.high for free in form.parameters])
    target = np.log(observed)

    def residuals(logarithms: Values) -> Values:
        predicted = form.seconds(list(np.exp(logarithms)), columns)
        difference: Values = np.log(np.maximum(predicted, 1e-300)) - target
        return difference

    def cost(logarithms: Values) -> float:
        return float(np.sum(np.sqrt(1 + (residuals(logarithms) / SCALE) ** 2)))

    points = [
        np.clip(np.log(np.maximum(start, 1e-300)), low + 1e-9, high - 1e-9)
        for start in starts or form.starts(columns, observed)
    ]
    best, least = points[0], np.inf
    for point in sorted(points, key=cost)[:SEARCHED]:
        found = least_squares(
            residuals,
            point,
            bounds=(low, high),
            loss="soft_l1",
            f_scale=SCALE,
            ftol=TOLERANCE,
            xtol=TOLERANCE,
            gtol=TOLERANCE,
            max_nfev=EVALUATIONS,
        )
        if found.cost < least:
            best, least = found.x, float(found.cost)
    return [float(value) for value in np.exp(best)]


def taken(columns: Columns, chosen: NDArray[np.bool_]) -> dict[str, Values]:
    """The columns of the chosen samples alone."""
    return {name: values[chosen] for name, values in columns.items()}
