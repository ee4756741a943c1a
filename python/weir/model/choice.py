"""Chooses among forms by held-out samples, and estimates how far the chosen one can be trusted.

1. For each group of samples, every form is fitted without the group and predicts it. A group
   contains the samples that were measured under the same conditions; if there are more than
   ``FOLDS`` groups, several are held out at a time.
2. From simple to complex, a form replaces the best so far only if its held-out errors are smaller
   by more than ``STANDARD_ERRORS`` of the difference, and by more than ``WORTHWHILE``. A parameter
   is therefore added only if held-out samples require it, and not for one or two of them: beside a
   step, it is chance on which side a sample lies.
3. The chosen form is fitted to all samples. Intervals come from ``RESAMPLES`` fits to bootstrapped
   residuals (drawn with replacement, widened for the number of parameters), with a fixed seed.
4. The form counts as fitting if the held-out error's median is at most ``MEDIAN_LIMIT`` and its
   90th percentile at most ``P90_LIMIT``; otherwise the text says that it does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from weir.model.laws import Values
from weir.model.least_squares import Columns, Form, Free, solve, solve_from, solve_parts, taken
from weir.results.platform import Fit
from weir.results.quantities import percent_text
from weir.results.record import Quantity

Mask = NDArray[np.bool_]

FOLDS = 8
RESAMPLES = 100
CONFIDENCE = 95.0
STANDARD_ERRORS = 1.5
WORTHWHILE = 0.005
MEDIAN_LIMIT = 0.20
P90_LIMIT = 0.50
GREATEST_ERROR = 2.0
"""Larger held-out logarithmic errors count as this value when forms are compared."""


@dataclass(frozen=True)
class Fitted:
    """A form with its parameters, and how well it describes samples that its fit did not use."""

    form: Form
    values: list[float]
    parameters: dict[str, Quantity]
    residuals: Values
    held_out_logs: Values
    rejected: dict[str, float] = field(default_factory=dict)

    @property
    def held_out(self) -> Values:
        """Relative errors of the predicted times, in the order of the samples."""
        relative: Values = np.abs(np.expm1(self.held_out_logs))
        return relative

    @property
    def median_error(self) -> float:
        return float(np.median(self.held_out))

    @property
    def p90_error(self) -> float:
        return float(np.percentile(self.held_out, 90))

    @property
    def fits(self) -> bool:
        return self.median_error <= MEDIAN_LIMIT and self.p90_error <= P90_LIMIT

    def seconds(self, columns: Columns) -> Values:
        return self.form.seconds(self.values, columns)

    def as_fit(self, stage: str) -> Fit:
        """Returns the fit for a platform description. Errors are relative to the measured times."""
        told = (
            f"{self.form.name}: held-out error {percent_text(self.median_error, 1)} in the median, "
            f"{percent_text(self.p90_error, 1)} at the 90th percentile"
        )
        return Fit(
            stage=stage,
            form=self.form.name,
            rejected_forms=self.rejected,
            samples=len(self.residuals),
            held_out_median_error=self.median_error,
            held_out_p90_error=self.p90_error,
            fits=self.fits,
            text=told if self.fits else f"does not fit, so it is unreliable: {told}",
        )


@dataclass(frozen=True)
class Comparison:
    """Forms with their held-out errors, log(predicted / observed) of every sample."""

    best: Form
    errors: dict[str, Values]


def choose(
    forms: Sequence[Form], columns: Columns, observed: Values, groups: Sequence[object], seed: int
) -> Fitted:
    """Returns the form that predicts held-out ``observed`` seconds best, fitted to all samples.

    Raises ``ValueError`` if nothing can be held out, or if too few samples remain.
    """
    return settle(compare(forms, columns, observed, groups, seed), columns, observed, seed)


def compare(
    forms: Sequence[Form], columns: Columns, observed: Values, groups: Sequence[object], seed: int
) -> Comparison:
    """Does steps 1 and 2. Raises ``ValueError`` as ``choose`` does."""
    folds = _folds(groups, seed)
    if len(folds) < 2:
        raise ValueError(
            "a fit needs at least two groups of samples, because one of them is held out"
        )
    candidates = sorted(forms, key=lambda form: len(form.parameters))
    smallest = min(int(np.sum(~held)) for held in folds)
    possible = [form for form in candidates if len(form.parameters) <= smallest]
    if not possible:
        raise ValueError(
            f"{len(observed)} samples are too few for {len(candidates[0].parameters)} parameters"
        )
    errors = {form.name: held_out_errors(form, columns, observed, folds) for form in possible}
    best = possible[0]
    for form in possible[1:]:
        if _better(errors[form.name], errors[best.name]):
            best = form
    return Comparison(best, errors)


def settle(comparison: Comparison, columns: Columns, observed: Values, seed: int) -> Fitted:
    """Does step 3, and computes the errors that decide step 4."""
    best = comparison.best
    values = solve(best, columns, observed)
    rejected = {
        name: float(np.median(np.abs(np.expm1(error))))
        for name, error in comparison.errors.items()
        if name != best.name
    }
    predicted = best.seconds(values, columns)
    return Fitted(
        best,
        values,
        _intervals(best, values, columns, observed, seed),
        np.log(predicted) - np.log(observed),
        comparison.errors[best.name],
        rejected,
    )


def held_out_errors(
    form: Form, columns: Columns, observed: Values, folds: Sequence[Mask]
) -> Values:
    """Returns log(predicted / observed) of every sample, by a fit that did not use its fold."""
    errors = np.empty(len(observed))
    fitted = solve_parts(form, columns, observed, ~np.array(folds))
    for held, row in zip(folds, fitted, strict=True):
        values = [float(value) for value in row]
        predicted = form.seconds(values, taken(columns, held))
        errors[held] = np.log(np.maximum(predicted, 1e-300)) - np.log(observed[held])
    return errors


def _folds(groups: Sequence[object], seed: int) -> list[Mask]:
    """Returns one mask of held-out samples for each fold."""
    distinct = list(dict.fromkeys(groups))
    order = np.random.default_rng(seed).permutation(len(distinct))
    fold_of = {distinct[place]: number % FOLDS for number, place in enumerate(order)}
    numbers = np.array([fold_of[group] for group in groups])
    return [np.equal(numbers, number) for number in range(min(FOLDS, len(distinct)))]


def _better(new: Values, old: Values) -> bool:
    gain = np.minimum(np.abs(old), GREATEST_ERROR) - np.minimum(np.abs(new), GREATEST_ERROR)
    uncertain = np.std(gain, ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
    return bool(np.mean(gain) > max(WORTHWHILE, STANDARD_ERRORS * float(uncertain)))


def _intervals(
    form: Form, values: Sequence[float], columns: Columns, observed: Values, seed: int
) -> dict[str, Quantity]:
    predicted = form.seconds(values, columns)
    residuals = np.log(observed) - np.log(predicted)
    residuals = residuals - np.median(residuals)
    free = max(1, len(observed) - len(values))
    residuals = residuals * np.sqrt(len(observed) / free)
    dice = np.random.default_rng(seed)
    drawn = dice.choice(residuals, size=(RESAMPLES, len(residuals)))
    found = solve_from(form, columns, predicted * np.exp(drawn), values)
    tail = (100 - CONFIDENCE) / 2
    lows = np.percentile(found, tail, axis=0)
    highs = np.percentile(found, 100 - tail, axis=0)
    return {
        parameter.name: _quantity(parameter, value, float(low), float(high), columns)
        for parameter, value, low, high in zip(form.parameters, values, lows, highs, strict=True)
    }


def _quantity(parameter: Free, value: float, low: float, high: float, columns: Columns) -> Quantity:
    if parameter.step_in is not None:
        samples = columns[parameter.step_in]
        low = float(np.max(samples[samples <= value], initial=0.0))
        high = float(np.min(samples[samples > value], initial=value * 2))
    return Quantity(value=value, low=min(value, low), high=max(value, high))
