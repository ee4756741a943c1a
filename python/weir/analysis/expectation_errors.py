"""How far expectations were from what runs measured, beside how far repetitions are apart.

An expectation is made before its run, so its error |expected/measured - 1| is that on a run which
nothing was fitted to. The machine's own repeatability is in the same form: each repetition is
predicted by the median of the other repetitions of its run. No expectation can do better than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from weir.results.figures import figures_of
from weir.results.quantities import percent_text
from weir.results.schema import Run
from weir.results.statistics import predicted_by_the_others


@dataclass(frozen=True)
class Errors:
    """Relative errors of expected figures, and of repetitions that the others predict."""

    expected: list[float]
    repeated: list[float]

    def text(self) -> str:
        """Returns one sentence, or nothing where no figure was expected."""
        if not self.expected:
            return ""
        said = (
            f"Expectations of {len(self.expected)} figures, made before their runs, were off by "
            f"{_two_errors(self.expected)}"
        )
        if not self.repeated:
            return f"{said}; the machine's own repeatability is not known: nothing was repeated."
        return (
            f"{said}; each of {len(self.repeated)} repetitions differed from the median of the "
            f"others of its run by {_two_errors(self.repeated)}."
        )


def expectation_errors(runs: Iterable[Run]) -> Errors:
    """Returns the errors of all judged figures of runs whose expectation was made before them."""
    expected: list[float] = []
    repeated: list[float] = []
    for run in runs:
        if run.expectation is None or run.expectation.after_run:
            continue
        for figure in figures_of(run):
            measured = figure.series.median
            quantity = figure.expected.quantity if figure.expected is not None else None
            if quantity is None or figure.verdict is None or measured <= 0:
                continue
            expected.append(abs(quantity.value / measured - 1))
            repeated += predicted_by_the_others(figure.series.values)
    return Errors(expected, repeated)


def _two_errors(errors: Sequence[float]) -> str:
    return (
        f"{percent_text(float(np.median(errors)), 1)} in the median and "
        f"{percent_text(float(np.percentile(errors, 90)), 1)} at the 90th percentile"
    )
