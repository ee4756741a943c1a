"""How far expectations were from what runs measured, beside how far repetitions are apart.

An expectation is made before its run, so its error |expected/measured - 1| is that on a run which
nothing was fitted to. The machine's own repeatability is in the same form: each repetition is
predicted by the median of the other repetitions of its run, or, where runs have one repetition,
each run by the median of its replicas. No expectation can do better than that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from weir.results.figures import Figure
from weir.results.quantities import percent_text
from weir.results.schema import Run
from weir.results.statistics import predicted_by_the_others


@dataclass(frozen=True)
class Errors:
    """Relative errors of expected figures, and of repetitions or runs that the others predict."""

    expected: list[float]
    repeated: list[float]
    replicated: list[float]

    def text(self) -> str:
        """Returns one sentence, or nothing where no figure was expected."""
        if not self.expected:
            return ""
        said = (
            f"Expectations of {len(self.expected)} figures, made before their runs, were off by "
            f"{_two_errors(self.expected)}"
        )
        if self.repeated:
            return (
                f"{said}; each of {len(self.repeated)} repetitions differed from the median of the "
                f"others of its run by {_two_errors(self.repeated)}."
            )
        if self.replicated:
            return (
                f"{said}; each of {len(self.replicated)} figures differed from the median of its "
                f"replicas by {_two_errors(self.replicated)}."
            )
        return f"{said}; the machine's own repeatability is not known: nothing was repeated."


def expectation_errors(replicas: Iterable[Sequence[tuple[Run, Figure]]]) -> Errors:
    """Returns the errors of all judged figures of runs whose expectation was made before them.

    Each of ``replicas`` has one figure of all runs that were made in the same way.
    """
    errors = Errors([], [], [])
    for found in replicas:
        medians: list[float] = []
        for run, figure in found:
            measured = figure.series.median
            quantity = figure.expected.quantity if figure.expected is not None else None
            if run.expectation is None or run.expectation.after_run or measured <= 0:
                continue
            if quantity is None or figure.verdict is None:
                continue
            errors.expected.append(abs(quantity.value / measured - 1))
            errors.repeated.extend(predicted_by_the_others(figure.series.values))
            medians.append(measured)
        errors.replicated.extend(predicted_by_the_others(medians))
    return errors


def _two_errors(errors: Sequence[float]) -> str:
    return (
        f"{percent_text(float(np.median(errors)), 1)} in the median and "
        f"{percent_text(float(np.percentile(errors, 90)), 1)} at the 90th percentile"
    )
