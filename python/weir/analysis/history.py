"""How the figures of one configuration on one machine changed over the months."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weir.analysis.conditions import Difference, differences_between
from weir.analysis.configurations import Configuration, configurations_of
from weir.analysis.lasting_change import (
    LEAST_RUNS,
    MOST_RUNS,
    LastingChange,
    find_lasting_changes,
)
from weir.analysis.listing import Cell, Listing, Value
from weir.results.figures import Place, headlines_of
from weir.results.quantities import percent_text
from weir.results.schema import Run
from weir.results.series import Unit
from weir.results.served_by import served_by

MOST_DRAWN = 40
LEVELS = "▁▂▃▄▅▆▇█"
ENDS = 3
"""A drift's conditions are those of the first and of the last third of its runs."""


@dataclass(frozen=True)
class Change:
    """A change of a series, and what changed with it."""

    lasting: LastingChange
    since_utc: str
    """When the first run after it was started; of a drift, the first run."""
    until_utc: str
    differences: list[Difference]

    @property
    def text(self) -> str:
        one, day = self.lasting, self.since_utc[:10]
        chance = f"by chance in {percent_text(one.significance, 1)} of such series"
        if one.kind == "drift":
            runs = one.end - one.first
            said = f"{one.ratio:.2f} of the beginning after a drift from {day} to "
            said += f"{self.until_utc[:10]} ({runs} runs; {chance})"
        else:
            said = f"{one.ratio:.2f} of before since {day} ({one.runs_before} runs before, "
            few = "" if one.is_firm else "few on one side: run more to confirm it; "
            said += f"{one.runs_after} after; {few}{chance})"
        if not self.differences:
            return f"{said}; nothing that the runs record changed with it"
        return f"{said}; what changed with it: {', '.join(d.text for d in self.differences)}"


@dataclass(frozen=True)
class History:
    """One figure of one configuration by time: the median of each run, and its changes."""

    configuration: Configuration
    place: Place
    figure: str
    unit: Unit
    runs: list[Run]
    values: list[float]
    changes: list[Change]

    @property
    def name(self) -> str:
        return f"{self.figure} {self.configuration.name}"

    @property
    def texts(self) -> list[str]:
        return [f"{self.name}: {one.text}" for one in self.changes]

    @property
    def record(self) -> dict[str, object]:
        """What ``--json`` prints."""
        return {
            "name": self.name,
            "figure": self.figure,
            "unit": self.unit,
            "machine": self.configuration.machine,
            "workload": self.runs[0].workload,
            "label": self.runs[0].label,
            "ranks": self.runs[0].plan.ranks,
            "runs": [
                {"id": run.id, "started_utc": run.started_utc, "median": value}
                for run, value in zip(self.runs, self.values, strict=True)
            ],
            "changes": [_record_of(one) for one in self.changes],
        }


def _record_of(change: Change) -> dict[str, object]:
    one = change.lasting
    return {
        "kind": one.kind,
        "since_utc": change.since_utc,
        "until_utc": change.until_utc,
        "before": one.before,
        "after": one.after,
        "ratio": one.ratio,
        "runs_before": one.runs_before,
        "runs_after": one.runs_after,
        "significance": one.significance,
        "firm": one.is_firm,
        "differences": [
            {"name": d.name, "before": d.first, "after": d.second} for d in change.differences
        ],
        "text": change.text,
    }


def histories_of(runs: Iterable[Run]) -> list[History]:
    """Returns a history for each configuration and headline figure, in the order of their names.

    Complete runs count, each once.
    """
    complete = {one.id: one for one in runs if one.status == "complete"}
    found = [
        history
        for configuration in configurations_of(complete.values())
        for history in histories_in(configuration)
    ]
    return sorted(found, key=lambda one: one.name)


def histories_in(configuration: Configuration) -> list[History]:
    """Returns a history for each headline figure of a configuration's complete runs."""
    series: dict[Place, list[tuple[Run, str, Unit, float]]] = defaultdict(list)
    complete = {one.id: one for one in configuration.runs if one.status == "complete"}
    for run in complete.values():
        for figure in headlines_of(run):
            told = (run, figure.name, figure.unit, figure.series.median)
            series[figure.place].append(told)
    found = []
    for place, known in series.items():
        newest = known[-MOST_RUNS:]
        of_figure, values = [run for run, *_ in newest], [value for *_, value in newest]
        _, figure_name, unit, _ = newest[0]
        changes = [_change(of_figure, place, lasting) for lasting in find_lasting_changes(values)]
        found.append(History(configuration, place, figure_name, unit, of_figure, values, changes))
    return found


def _change(runs: Sequence[Run], place: Place, lasting: LastingChange) -> Change:
    within = runs[lasting.first : lasting.end]
    if lasting.kind == "drift":
        part = len(within) // ENDS
        before, after = within[:part], within[-part:]
    else:
        before, after = runs[lasting.first : lasting.at], runs[lasting.at : lasting.end]
    differences = _served_differently(before, after, place)
    differences += differences_between(before, after)
    since, until = runs[lasting.at].started_utc, within[-1].started_utc
    return Change(lasting, since, until, differences)


def _served_differently(
    before: Sequence[Run], after: Sequence[Run], place: Place
) -> list[Difference]:
    """Returns that storage served the bytes of all runs before, and memory of all after, or so."""
    if place.direction is None:
        return []
    words = [{served_by(run, place.direction) or "" for run in side} for side in (before, after)]
    first, second = (" and ".join(sorted(one)) for one in words)
    if words[0] & words[1] or not all((first, second)):
        return []
    return [Difference("served by", first, second)]


def histories_listing(histories: Sequence[History]) -> Listing:
    """Returns a row for each history: when, how many runs, and their medians by time."""
    rows: list[Sequence[Cell]] = [
        [
            one.name,
            Value(len(one.runs), "count"),
            one.runs[0].started_utc[:10],
            one.runs[-1].started_utc[:10],
            Value(one.values[0], one.unit),
            Value(one.values[-1], one.unit),
            drawn(one.values),
            ", ".join(f"{change.lasting.ratio:.2f}" for change in one.changes) or "none found",
        ]
        for one in histories
    ]
    head = ["", "runs", "from", "to", "first", "last", "medians by time", "changes"]
    return Listing("Medians of runs by time", head, rows, 1)


def drawn(values: Sequence[float]) -> str:
    """Returns a bar for each of the newest runs, from zero to the largest of them."""
    shown = values[-MOST_DRAWN:]
    most = max(shown)
    heights = (round(value / most * (len(LEVELS) - 1)) if most > 0 else 0 for value in shown)
    return "".join(LEVELS[height] for height in heights)


def is_examined(history: History) -> bool:
    return len(history.runs) >= LEAST_RUNS


def examined_text(examined: int) -> str:
    """Says in how many series a change was sought, and how often one is found by chance."""
    series = f"{examined} series of at least {LEAST_RUNS} runs {'was' if examined == 1 else 'were'}"
    return (
        f"{series} examined; of series without a change, one in 50 or fewer is said to have one, "
        "and more where neighbouring runs are alike"
    )
