"""Robust least squares on logarithms of times, with bounds.

Times span orders of magnitude and their errors are relative, so the residual is log(predicted) -
log(observed). The loss is soft L1: residuals beyond about ``SCALE`` count linearly and not
quadratically, so that a few disturbed samples do not move the fit. Parameters are positive; the
search uses their logarithms, between bounds in the parameter's own unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weir.model.laws import Values

SCALE = 0.1
EVALUATIONS = 50
TOLERANCE = 1e-5
DIFFERENCE = 1e-6
"""Step in a parameter's logarithm for difference quotients."""
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-8, 1e6
"""The least damping still counts beside 1: the normal matrix of two parameters with the same effect
would otherwise be singular."""
LEAST_CURVATURE = 1e-9
"""Lower bound of the damped diagonal, for a parameter without effect, such as the place of a step
between two samples."""
SEARCHED = 3

Parameters = Sequence[float | Values]
Columns = Mapping[str, Values]
"""What was varied: one array per factor, with one element per sample."""


@dataclass(frozen=True)
class Free:
    """A parameter to be fitted, with its unit and bounds (both above 0).

    ``step_in`` names the column in which the parameter is the place of a step. Samples determine
    such a place only to the gap between two of them, and its interval covers that gap.
    """

    name: str
    unit: str
    low: float
    high: float
    step_in: str | None = None


@dataclass(frozen=True)
class Form:
    """One form that a law may have.

    ``seconds(parameters, columns)`` returns a time for every sample. Parameters are numbers, or
    arrays (points, 1) for many points at a time: then it returns (points, samples).
    ``starts(columns, seconds)`` returns points from which to begin the search, because a step has
    no slope that a search could follow. The search continues from the ``SEARCHED`` best of them,
    and the best result is taken.
    """

    name: str
    parameters: tuple[Free, ...]
    seconds: Callable[[Parameters, Columns], Values]
    starts: Callable[[Columns, Values], list[list[float]]]


def solve(form: Form, columns: Columns, observed: Values) -> list[float]:
    """Returns the parameters of ``form`` that describe ``observed`` seconds best."""
    everything = np.ones((1, len(observed)), dtype=bool)
    return [float(value) for value in solve_parts(form, columns, observed, everything)[0]]


def solve_parts(form: Form, columns: Columns, observed: Values, parts: NDArray[np.bool_]) -> Values:
    """Returns, for each of ``parts`` (parts, samples), the parameters that fit its samples best.

    All searches are made at the same time. Returns (parts, parameters).
    """
    points, masks, owner = [], [], []
    for number, part in enumerate(parts):
        starts = form.starts(taken(columns, part), observed[part])
        started = _inside(form, np.log(np.maximum(np.array(starts, dtype=float), 1e-300)))
        costs = _costs(_residuals(form, columns, observed, started), part)
        best = started[np.argsort(costs, kind="stable")[:SEARCHED]]
        points.append(best)
        masks.append(np.broadcast_to(part, (len(best), len(part))))
        owner += [number] * len(best)
    found, costs = _search(form, columns, observed, np.vstack(points), np.vstack(masks))
    owners = np.array(owner)
    chosen = [
        np.flatnonzero(owners == number)[np.argmin(costs[owners == number])]
        for number in range(len(parts))
    ]
    return np.asarray(np.exp(found[chosen]))


def solve_from(
    form: Form, columns: Columns, observed: Values, start: Sequence[float] | Values
) -> Values:
    """Returns, for each row of ``observed`` (rows, samples), the best parameters near ``start``.

    ``start`` is one point, or one for each row. All searches are made at the same time. Returns
    (rows, parameters).
    """
    given = np.broadcast_to(np.asarray(start, dtype=float), (len(observed), len(form.parameters)))
    points = _inside(form, np.log(np.maximum(given, 1e-300)))
    found, _ = _search(form, columns, observed, points, np.ones(observed.shape, dtype=bool))
    return np.asarray(np.exp(found))


def best_of_rows(form: Form, columns: Columns, observed: Values, points: Values) -> Values:
    """Returns, for each row of ``observed``, the best of all ``points`` (points, parameters).

    A search that ended in a valley of its own goes on from where another row's search ended. There
    may be more points than rows.
    """
    every = _inside(form, np.log(points))
    found = every[: len(observed)].copy()
    everything = np.ones(observed.shape, dtype=bool)
    costs = _costs(_residuals(form, columns, observed, found), everything)
    for shift in range(1, len(every)):
        tried = np.roll(every, shift, axis=0)[: len(found)]
        new = _costs(_residuals(form, columns, observed, tried), everything)
        better = new < costs
        found[better], costs[better] = tried[better], new[better]
    return np.asarray(np.exp(found))


def moved_singly(
    form: Form, columns: Columns, observed: Values, points: Values, factors: Sequence[float]
) -> Values:
    """Returns points (rows, parameters), each parameter multiplied by the best of ``factors``.

    The parameters are moved one after the other, each row by itself, for ``observed`` (rows,
    samples). Where only the slowest of several parts counts, a parameter of another part has no
    slope, and a search does not find that it may be the slowest instead; this does.
    """
    found = _inside(form, np.log(points))
    everything = np.ones(observed.shape, dtype=bool)
    costs = _costs(_residuals(form, columns, observed, found), everything)
    for place in range(found.shape[1]):
        for factor in factors:
            tried = found.copy()
            tried[:, place] += np.log(factor)
            tried = _inside(form, tried)
            new = _costs(_residuals(form, columns, observed, tried), everything)
            better = new < costs
            found[better], costs[better] = tried[better], new[better]
    return np.asarray(np.exp(found))


def _search(
    form: Form, columns: Columns, observed: Values, points: Values, parts: NDArray[np.bool_]
) -> tuple[Values, Values]:
    """Runs Levenberg-Marquardt from each point separately, reweighted for the soft loss.

    Returns the end points (points, parameters), as logarithms, and their costs. The weight of a
    residual r is the loss's slope, 1 / sqrt(1 + (r / SCALE)^2).
    """
    points = points.copy()
    observed = np.broadcast_to(observed, parts.shape)
    residuals = _residuals(form, columns, observed, points)
    costs = _costs(residuals, parts)
    damping = np.full(len(points), FIRST_DAMPING)
    active = np.ones(len(points), dtype=bool)
    for _ in range(EVALUATIONS):
        at = np.flatnonzero(active)
        if len(at) == 0:
            break
        slopes = np.stack(
            [
                (
                    _residuals(form, columns, observed[at], points[at] + DIFFERENCE * unit)
                    - residuals[at]
                )
                / DIFFERENCE
                for unit in np.eye(points.shape[1])
            ],
            axis=2,
        )
        weights = parts[at] / np.sqrt(1 + (residuals[at] / SCALE) ** 2)
        weighted = slopes * weights[:, :, None]
        squares = np.einsum("bnp,bnq->bpq", weighted, slopes)
        gradient = np.einsum("bnp,bn->bp", weighted, residuals[at])
        diagonal = np.einsum("bpp->bp", squares)
        added = damping[at, None] * np.maximum(diagonal, LEAST_CURVATURE)
        squares = squares + added[:, :, None] * np.eye(points.shape[1])
        steps = -np.linalg.solve(squares, gradient[:, :, None])[:, :, 0]
        tried = _inside(form, points[at] + steps)
        new_residuals = _residuals(form, columns, observed[at], tried)
        new_costs = _costs(new_residuals, parts[at])
        gain = costs[at] - new_costs
        better = gain > 0
        ended = np.where(better, gain < TOLERANCE * costs[at], damping[at] > MOST_DAMPING)
        damping[at] = np.where(better, np.maximum(damping[at] / 5, LEAST_DAMPING), damping[at] * 4)
        taken_over = at[better]
        points[taken_over] = tried[better]
        residuals[taken_over] = new_residuals[better]
        costs[taken_over] = new_costs[better]
        active[at[ended]] = False
    return points, costs


def _inside(form: Form, logarithms: Values) -> Values:
    low = np.log([free.low for free in form.parameters])
    high = np.log([free.high for free in form.parameters])
    return np.clip(logarithms, low + 1e-9, high - 1e-9)


def _residuals(form: Form, columns: Columns, observed: Values, logarithms: Values) -> Values:
    """Returns (points, samples) for points (points, parameters)."""
    values = list(np.exp(logarithms).T[:, :, None])
    predicted = form.seconds(values, columns)
    return np.asarray(np.log(np.maximum(predicted, 1e-300)) - np.log(observed))


def _costs(residuals: Values, parts: NDArray[np.bool_]) -> Values:
    losses = np.sqrt(1 + (residuals / SCALE) ** 2) - 1
    return np.asarray(np.sum(losses * parts, axis=1))


def taken(columns: Columns, chosen: NDArray[np.bool_]) -> dict[str, Values]:
    """Returns the columns restricted to the chosen samples."""
    return {name: values[chosen] for name, values in columns.items()}
