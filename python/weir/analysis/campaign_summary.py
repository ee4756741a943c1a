"""Summarizes a campaign by combination: medians, intervals, expectations, verdicts.

A combination that was run once has its run's median and interval. One that was run several times
has the median of its runs' medians, with an interval by order statistics over the runs. Repetitions
within a run are subject to the same conditions of that moment, so they do not count as
replications.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from weir.analysis.listing import Cell as Listed
from weir.analysis.listing import Listing, Range, Value, Word
from weir.analysis.saturation import Saturation, fit_saturation
from weir.results.campaign import Campaign, CampaignFactor
from weir.results.campaign import Value as Level
from weir.results.expectations import Direction
from weir.results.figures import Figure, Place, figures_of
from weir.results.quantities import percent_text, size_text, value_text
from weir.results.record import WORST_FIRST, Quantity
from weir.results.schema import Run
from weir.results.series import Judged, Unit
from weir.results.served_by import served_by
from weir.results.statistics import median_interval

RANKS = "ranks"


@dataclass(frozen=True)
class Cell:
    """One headline figure of one configuration of one combination."""

    combination: int
    label: str
    direction: Direction | None
    metric: str
    median: float
    low: float
    high: float
    confidence: float
    runs: int
    expected: Quantity | None
    """What it should have reached; medians over its runs."""
    verdict: str
    name: str = ""
    """A direction, an action or a step."""
    unit: Unit = "bytes/s"
    served_by: str = ""
    """Storage or memory, for rates of bytes; ``mixed`` if the runs differ."""

    @property
    def shown_name(self) -> str:
        return self.name or self.direction or ""


@dataclass(frozen=True)
class Effective(Cell):
    """EAAR of one asynchronous configuration of one combination, with its bounds."""

    synchronous: float | None = None
    ceiling: float | None = None


@dataclass(frozen=True)
class Line:
    """The cells of one figure over a factor's levels, in the order of the design."""

    name: str
    others: str
    """What distinguishes them: the levels of other factors, and the configuration."""
    direction: Direction | None
    levels: list[Level]
    cells: list[Cell]

    @property
    def full_name(self) -> str:
        return f"{self.name}, {self.others}" if self.others else self.name


Runs = Mapping[int, Sequence[tuple[Path, Run]]]
Found = list[tuple[Run, Figure]]
SIZE_NAMES = ("block", "transfer", "size", "bytes", "stripe")
NOT_SIZES = ("scalapack-block", "stripe-count")


def cells_of(campaign: Campaign, finished: Runs) -> list[Cell]:
    """Returns every combination's headline figures, in the order of the combinations."""
    return [
        _cell(combination, label, found)
        for (combination, label, *_), found in replicas_of(campaign, finished)
        if found[0][1].headline
    ]


def effective_of(campaign: Campaign, finished: Runs) -> list[Effective]:
    """Returns every combination's EAAR with its synchronous bounds, for runs that have them."""
    effective = []
    for (combination, label, *_), found in replicas_of(campaign, finished):
        first = found[0][1]
        entries = [e for run, _ in found for e in run.effective if e.direction == first.direction]
        if first.metric == "foreground" and entries:
            synchronous = _median(one.synchronous_bytes_per_second for one in entries)
            ceiling = _median(one.nbin_multiple_bytes_per_second for one in entries)
            cell = vars(_cell(combination, label, found))
            effective.append(Effective(**cell, synchronous=synchronous, ceiling=ceiling))
    return effective


def replicas_of(campaign: Campaign, finished: Runs) -> list[tuple[tuple[int, str, Place], Found]]:
    """Returns the figures of complete runs by combination, label and place."""
    grouped: dict[tuple[int, str, Place], Found] = {}
    for planned in campaign.runs:
        for _, run in finished.get(planned.number, []):
            for figure in figures_of(run) if run.status == "complete" else []:
                key = (planned.combination, run.label, figure.place)
                grouped.setdefault(key, []).append((run, figure))
    return sorted(grouped.items(), key=lambda one: (*one[0][:2], one[0][2][1] or ""))


def _cell(combination: int, label: str, found: Found) -> Cell:
    first = found[0][1]
    series = first.series
    median, low, high, confidence = series.median, series.low, series.high, series.confidence
    if len(found) > 1:
        medians = [figure.series.median for _, figure in found]
        median, low, high, confidence = median_interval(medians)
    made = [figure.expected.quantity for _, figure in found if figure.expected is not None]
    known = [one for one in made if one is not None]
    expected = None
    if known:
        expected = Quantity(
            value=statistics.median(one.value for one in known),
            low=statistics.median(one.low for one in known),
            high=statistics.median(one.high for one in known),
        )
    return Cell(
        *(combination, label, first.direction, first.metric, median, low, high, confidence),
        runs=len(found),
        expected=expected,
        verdict=_verdict([figure.verdict for _, figure in found]),
        name=first.name,
        unit=first.unit,
        served_by=_served_by([run for run, _ in found], first.direction),
    )


def _served_by(runs: Sequence[Run], direction: Direction | None) -> str:
    if direction is None:
        return ""
    words = {served_by(run, direction) or "unknown" for run in runs}
    return words.pop() if len(words) == 1 else "mixed"


def _verdict(judged: Sequence[Judged | None]) -> str:
    """Returns the word on which all runs agree, else the worst word and how many runs have it."""
    words = Counter(one.verdict for one in judged if one is not None)
    if not words:
        return "not judged"
    worst = next(word for word in WORST_FIRST if word in words)
    total = sum(words.values())
    return worst if words[worst] == total else f"{worst} in {words[worst]} of {total}"


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def combinations_listing(campaign: Campaign, cells: Sequence[Cell]) -> Listing:
    """Returns a row for each combination, configuration and figure.

    The levels of the factors stand in columns of their own, and not in the configuration again.
    Those of factors with one level are in no row, but in ``constants_text``.
    """
    names = [name for factor in _varied(campaign) for name in factor.names]
    # If each combination has one configuration, its factors' levels identify it.
    labels = _labels_of(cells)
    labelled = not names or any(len(of_one) > 1 for of_one in labels.values())
    has_bytes = any(cell.served_by for cell in cells)
    rows = []
    for cell in cells:
        combination, made = campaign.combinations[cell.combination], cell.expected
        covered = f" ({percent_text(cell.confidence)})"
        word, _, remark = cell.verdict.partition(" in ")
        row: list[Listed] = [level_text(name, combination[name]) for name in names]
        row += [" ".join(_own_words(cell, labels)) or cell.label] if labelled else []
        row += [cell.shown_name, Value(cell.runs, "count"), Value(cell.median, cell.unit)]
        row += [cell.served_by] if has_bytes else []
        row.append(Range(cell.low, cell.high, cell.unit, covered))
        row += (
            [Value(made.value, cell.unit), f"{cell.median / made.value:.2f}"]
            if made
            else ["none", ""]
        )
        rows.append([*row, Word(word, f" in {remark}" if remark else "")])
    head = [*names, *(["configuration"] if labelled else []), ""]
    figures = ["runs", "median", *(["served by"] if has_bytes else []), "interval (coverage)"]
    figures += ["expected", "ratio", "verdict"]
    return Listing("Every combination", [*head, *figures], rows, len(head))


def constants_text(campaign: Campaign) -> str:
    """Returns the levels that all combinations have, such as "ranks 16, pixels 1568"."""
    varied = _varied(campaign)
    return ", ".join(
        f"{name} {level_text(name, level)}"
        for factor in campaign.factors
        if factor not in varied
        for name, level in zip(factor.names, factor.levels[0], strict=True)
    )


def _varied(campaign: Campaign) -> list[CampaignFactor]:
    """Returns the factors that distinguish combinations."""
    return [factor for factor in campaign.factors if len(factor.levels) > 1]


def lines_over(campaign: Campaign, factor: CampaignFactor, cells: Sequence[Cell]) -> list[Line]:
    """Returns the cells by figure and by what else distinguishes them."""
    labels = _labels_of(cells)
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: _place(campaign, factor, cell)):
        others = _others_text(campaign, factor, cell, labels)
        groups.setdefault((others, cell.shown_name), []).append(cell)
    name = factor.names[0]
    return [
        Line(
            *(shown, others, members[0].direction),
            levels=[campaign.combinations[cell.combination][name] for cell in members],
            cells=members,
        )
        for (others, shown), members in groups.items()
    ]


def _place(campaign: Campaign, factor: CampaignFactor, cell: Cell) -> list[int]:
    """Returns the positions of the cell's levels of the other factors in the design."""
    combination = campaign.combinations[cell.combination]
    return [
        other.levels.index([combination[name] for name in other.names])
        for other in campaign.factors
        if other != factor
    ]


def _labels_of(cells: Sequence[Cell]) -> dict[int, set[str]]:
    """Returns the labels of each combination."""
    labels: dict[int, set[str]] = {}
    for cell in cells:
        labels.setdefault(cell.combination, set()).add(cell.label)
    return labels


def _own_words(cell: Cell, labels: Mapping[int, set[str]]) -> list[str]:
    """Returns the words of the cell's label that not all labels of its combination have.

    A label may name the level of a factor, which the whole combination has.
    """
    constant = set.intersection(*(set(one.split()) for one in labels[cell.combination]))
    return [word for word in cell.label.split() if word not in constant]


def _others_text(
    campaign: Campaign, factor: CampaignFactor, cell: Cell, labels: Mapping[int, set[str]]
) -> str:
    """Returns what distinguishes a cell from other lines: other factors and the configuration."""
    combination = campaign.combinations[cell.combination]
    parts = [
        value if isinstance(value, str) else f"{name} {level_text(name, value)}"
        for other in _varied(campaign)
        if other != factor
        for name, value in ((name, combination[name]) for name in other.names)
    ]
    parts += [word for word in _own_words(cell, labels) if word not in parts]
    return ", ".join(parts)


def level_text(name: str, level: Level) -> str:
    """Formats a level for people; sizes have their unit."""
    is_size = any(word in SIZE_NAMES for word in name.split("-")) and name not in NOT_SIZES
    if isinstance(level, int) and not isinstance(level, bool) and is_size:
        return size_text(level)
    return f"{level:g}" if isinstance(level, float) else str(level)


def growth_over_ranks(line: Line) -> Saturation | None:
    """Fits how a rate grows with the ranks, if there are enough levels."""
    points = [
        (float(level), cell.median)
        for level, cell in zip(line.levels, line.cells, strict=True)
        if isinstance(level, int)
    ]
    if not points or line.cells[0].unit == "s":
        return None
    return fit_saturation(*zip(*points, strict=True))


def growth_texts(campaign: Campaign, cells: Sequence[Cell]) -> Iterator[str]:
    """Yields a line for each action or direction: its rates over the ranks, and how they grow."""
    factor = next((one for one in campaign.factors if one.names[0] == RANKS), None)
    counted = [cell for cell in cells if cell.unit != "s"]
    for line in lines_over(campaign, factor, counted) if factor else []:
        if len(line.levels) > 1:
            growth, unit = growth_over_ranks(line), line.cells[0].unit
            said = f"; {growth.text(unit)}" if growth is not None else ""
            points = ", ".join(
                f"{value_text(cell.median, unit)} with {level}"
                for level, cell in sorted(
                    zip(line.levels, line.cells, strict=True), key=itemgetter(0)
                )
            )
            others = f", {line.others}" if line.others else ""
            yield f"{line.name} over ranks{others}: {points}{said}"
