"""Compares machines by MADbench2's rates at one number of ranks (Borrill et al., figure 6).

There are four panels: reading and writing unique files, and a shared one. Of POSIX and MPI-IO each
panel has the better one, as in the paper's section 4.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from weir.analysis.listing import Cell, Listing
from weir.analysis.madbench_runs import Observed, Runs, usual
from weir.results.errors import ResultError
from weir.results.expectations import Direction
from weir.results.quantities import rate_text, significant
from weir.results.served_by import served_by
from weir.results.statistics import median_interval

FILES = ("UNIQUE", "SHARED")
COLUMNS = ("machine", "cpus", "file_type", "direction", "GBps")
GB = 1e9
MOST_ROWS = 10_000


@dataclass(frozen=True)
class Bar:
    """The rate of one machine in one panel, in bytes per second."""

    machine: str
    ranks: int
    files: str
    direction: Direction
    rate: float
    low: float
    high: float
    interface: str = ""
    """The better one, where more than one was measured."""
    from_memory: bool = False
    predicted: bool = False
    """By a description of the machine, for the runs of another one that were measured."""


Panel = tuple[str, Direction]
PANELS: tuple[Panel, ...] = tuple((files, d) for files in FILES for d in get_args(Direction))


def bars_of(machine: str, runs: Runs) -> list[Bar]:
    """Returns a machine's bars for every number of ranks, from synchronous runs as usual.

    Usual are all ranks at the same time, little busy work and no messages. Of several sizes of
    matrices the largest counts, and runs that drop the cache have precedence over others.
    """
    bars = []
    for largest in compared_runs(runs):
        for direction in get_args(Direction):
            names = dict.fromkeys(one.settings.interface for one in largest)
            made = [
                _bar(machine, [one for one in largest if one.settings.interface == name], direction)
                for name in names
            ]
            best = max((one for one in made if one is not None), key=lambda b: b.rate, default=None)
            bars += [best] if best is not None else []
    return bars


def compared_runs(runs: Runs) -> Iterator[list[Observed]]:
    """Yields the runs that count, at least one, for each number of ranks and kind of files."""
    alike = [
        one
        for one in usual(runs)
        if (one.settings.read_modulus, one.settings.write_modulus) == (1, 1)
    ]
    for ranks in sorted({one.settings.ranks for one in alike}):
        for files in FILES:
            either = [
                one for one in alike if (one.settings.ranks, one.settings.files) == (ranks, files)
            ]
            kind = [one for one in either if not one.settings.keeps_cache] or either
            pixels = max((one.settings.pixels for one in kind), default=0)
            largest = [one for one in kind if one.settings.pixels == pixels]
            if largest:
                yield largest


def _bar(machine: str, group: Sequence[Observed], direction: Direction) -> Bar | None:
    """Returns the bar of one interface; a run counts once, or one run by its repetitions."""
    values = [found for one in group if (found := one.values(direction))]
    if not values:
        return None
    chosen = [statistics.median(of_run) for of_run in values] if len(values) > 1 else values[0]
    median, low, high, _ = median_interval(chosen)
    settings = group[0].settings
    memory = any(served_by(one.run, direction) in ("memory", "mixed") for one in group)
    place = (machine, settings.ranks, settings.files, direction)
    return Bar(*place, median, low, high, settings.interface, memory)


def read_bars(path: Path) -> list[Bar]:
    """Reads rates from a CSV file with the columns ``COLUMNS``; lines with # are remarks."""
    bars = []
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = csv.DictReader(line for line in lines if not line.startswith("#"))
            missing = set(COLUMNS) - set(rows.fieldnames or ())
            if missing:
                raise ResultError(f"{path} has no column {min(missing)}: it needs {COLUMNS}")
            for number, row in enumerate(rows, 1):
                if number > MOST_ROWS:
                    raise ResultError(f"{path} has more than {MOST_ROWS} rows")
                bars.append(_row(path, number, row))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ResultError(f"{path} cannot be read as CSV: {error}") from None
    if not bars:
        raise ResultError(f"{path} has no rates: give a row for each machine and panel")
    return bars


def _row(path: Path, number: int, row: Mapping[str, str]) -> Bar:
    directions: dict[str, Direction] = {name: name for name in get_args(Direction)}
    files, direction = row["file_type"], directions.get(row["direction"])
    try:
        ranks, rate = int(row["cpus"]), float(row["GBps"]) * GB
    except (TypeError, ValueError):
        ranks, rate = 0, 0.0
    if direction is None or files not in FILES or ranks < 1 or not 0 < rate < float("inf"):
        raise ResultError(
            f"{path}: row {number} is wrong: it needs cpus and GBps above 0, a file_type of "
            f"{' or '.join(FILES)}, and a direction of {' or '.join(directions)}"
        )
    return Bar(row["machine"], ranks, files, direction, rate, rate, rate)


def usual_ranks(bars: Iterable[Bar]) -> int:
    """Returns the number of ranks that most machines have, the largest of several."""
    machines: dict[int, set[str]] = {}
    for bar in bars:
        machines.setdefault(bar.ranks, set()).add(bar.machine)
    return max(machines, key=lambda ranks: (len(machines[ranks]), ranks))


def in_panel(bars: Sequence[Bar], panel: Panel) -> list[Bar]:
    """Returns the bars of a panel, the fastest machine first."""
    found = [bar for bar in bars if (bar.files, bar.direction) == panel]
    return sorted(found, key=lambda bar: (-bar.rate, bar.machine))


def panel_name(panel: Panel) -> str:
    files, direction = panel
    return f"{'unique files' if files == 'UNIQUE' else 'a shared file'}, {direction}"


def bar_text(bar: Bar, best: float) -> str:
    """Returns the rate, its ratio to the best machine's, and what else must be known."""
    more = [bar.interface] if bar.interface else []
    more += ["from memory"] if bar.from_memory else []
    more += ["predicted"] if bar.predicted else []
    remark = f", {', '.join(more)}" if more else ""
    return f"{rate_text(bar.rate)} ({significant(bar.rate / best)} of the best{remark})"


def _named(bar: Bar) -> str:
    return f"{bar.machine} (predicted)" if bar.predicted else bar.machine


def machines_listing(bars: Sequence[Bar], ranks: int) -> Listing:
    """Returns a row for each machine, and how far the machines are apart."""
    best = {panel: max((b.rate for b in in_panel(bars, panel)), default=0.0) for panel in PANELS}
    shown = [panel for panel in PANELS if best[panel]]
    rows: list[list[Cell]] = []
    for machine in dict.fromkeys(bar.machine for bar in bars):
        mine = {(bar.files, bar.direction): bar for bar in bars if bar.machine == machine}
        cells = [bar_text(mine[panel], best[panel]) if panel in mine else "" for panel in shown]
        rows.append([machine, *cells])
    apart = []
    for panel in shown:
        of_panel = in_panel(bars, panel)
        if of_panel[0].low > of_panel[-1].high:
            times = significant(of_panel[0].rate / of_panel[-1].rate)
            apart.append(
                f"{panel_name(panel)}: {_named(of_panel[0])} is {times} times as fast as "
                f"{_named(of_panel[-1])}"
            )
    head = ["machine", *(panel_name(panel) for panel in shown)]
    lead = "; ".join(apart)
    return Listing(f"Machines at {ranks} ranks", head, rows, 1, f"{lead}." if lead else "")
