"""Compares two runs: medians, their ratio, whether their intervals overlap, what differed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weir.analysis.conditions import NOT_SET, Difference, differences_between
from weir.analysis.settings import settings_of
from weir.analysis.spread import SpreadComparison, compare_spreads
from weir.results.errors import ResultError
from weir.results.figures import Figure, Place, figures_of, parts_of
from weir.results.schema import Run
from weir.results.series import Series


@dataclass(frozen=True)
class FigureComparison:
    """One figure of both runs."""

    figure: Figure
    """The figure of the first run."""
    first: Series
    second: Series
    second_metric: str

    @property
    def formed(self) -> str:
        """Says how the figures are formed, and whether both are formed alike."""
        metrics = dict.fromkeys((self.figure.metric, self.second_metric))
        return " against ".join(metric.replace("_", " ") for metric in metrics)

    @property
    def ratio(self) -> float | None:
        """Second median over the first; None if the first is zero."""
        return self.second.median / self.first.median if self.first.median else None

    @property
    def spreads(self) -> SpreadComparison | None:
        return compare_spreads(self.first.values, self.second.values)

    @property
    def intervals_overlap(self) -> bool:
        """Whether the intervals of the two medians overlap, so that no difference is proven."""
        return self.first.low <= self.second.high and self.second.low <= self.first.high


@dataclass(frozen=True)
class Comparison:
    """What ``weir results compare`` shows."""

    first: Run
    second: Run
    figures: list[FigureComparison]
    differences: list[Difference]


def compare(first: Run, second: Run) -> Comparison:
    """Compare two runs by the metrics that are a headline in either of them.

    If another program measured one of them, and no figure is formed alike in both, headlines of the
    same unit are compared.
    """
    before, after = _figures(first), _figures(second)
    metrics = sorted({one.metric for one in (*before.values(), *after.values()) if one.headline})
    figures = [
        FigureComparison(one, one.series, after[place].series, place.metric)
        for metric in metrics
        for place, one in before.items()
        if one.metric == metric and place in after
    ]
    if not figures and _is_imported(first, second):
        figures = _by_unit(before, after)
    if not figures:
        raise ResultError(f"{first.id} and {second.id} have no common figure to compare")
    return Comparison(first, second, figures, _differences(first, second))


def _is_imported(*runs: Run) -> bool:
    return any(run.imported is not None for run in runs)


def _by_unit(
    before: Mapping[Place, Figure], after: Mapping[Place, Figure]
) -> list[FigureComparison]:
    """Returns pairs of headlines of the same unit that are formed differently."""
    of_second = {
        (one.function, one.direction, one.unit): one for one in after.values() if one.headline
    }
    return [
        FigureComparison(one, one.series, other.series, other.metric)
        for one in before.values()
        if one.headline and (other := of_second.get((one.function, one.direction, one.unit)))
    ]


def _figures(run: Run) -> dict[Place, Figure]:
    return {one.place: one for one in (*figures_of(run), *parts_of(run))}


def pair_by_label(
    first: Sequence[Run], second: Sequence[Run]
) -> tuple[list[tuple[Run, Run]], list[str]]:
    """Returns pairs of runs with the same workload and label, and the labels of one side only.

    If each side has one run, these are a pair whatever their labels.
    """
    if len(first) == 1 and len(second) == 1:
        return [(first[0], second[0])], []
    left = {(run.workload, run.label): run for run in first}
    right = {(run.workload, run.label): run for run in second}
    pairs = [(run, right[key]) for key, run in left.items() if key in right]
    return pairs, [label for _, label in sorted(left.keys() ^ right.keys())]


def _differences(first: Run, second: Run) -> list[Difference]:
    left, right = ({**settings_of(run), **_size(run)} for run in (first, second))
    if first.workload != second.workload and _is_imported(first, second):
        # Different programs name their settings differently.
        common = left.keys() & right.keys()
        left, right = ({n: of[n] for n in common} for of in (left, right))
    settings = [
        Difference(name, left.get(name, NOT_SET), right.get(name, NOT_SET))
        for name in sorted(left.keys() | right.keys())
        if left.get(name) != right.get(name)
    ]
    return settings + differences_between([first], [second])


def _size(run: Run) -> dict[str, str]:
    return {"ranks": str(run.plan.ranks), "workload": run.workload}
