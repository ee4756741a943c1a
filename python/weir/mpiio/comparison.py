"""Runs a command with calls of MPI-IO taken over and without, in turn, and compares the times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weir.advise.observe import MPI_IO_CALLS, observe, take_over_variables
from weir.mpiio.records import Sums, sum_up
from weir.mpiio.table import aligned
from weir.results.quantities import percent_text, seconds_text
from weir.results.statistics import median_interval

NOT_TAKEN_OVER = {"WEIR_MPIIO_TAKE_OVER": ""}
HEADINGS = ("median of the", "with", "without", "without/with", "interval")
WHOLE, BLOCKED = "whole run", "time in calls of MPI-IO"


@dataclass
class Side:
    """The runs of one kind, in the order of their pairs."""

    name: str
    variables: Mapping[str, str]
    seconds: list[float] = field(default_factory=list)
    blocked: list[float] = field(default_factory=list)
    """Mean over the ranks of the time in all calls of MPI-IO."""


@dataclass(frozen=True)
class Comparison:
    """Runs of a command in pairs, up to the first one that failed."""

    with_it: Side
    without: Side
    status: int
    """Exit status of the last run."""
    last: Side
    """The kind of the last run, whose files are the ones that are there now."""
    sums: Sums
    """The sums of the last run with take-over."""

    def lines(self) -> Iterator[str]:
        """Yields a table of the complete pairs, and what its reader has to know."""
        pairs = min(len(self.with_it.seconds), len(self.without.seconds))
        if self.status != 0:
            yield (
                f"the run {self.last.name} after {pairs} whole {_pairs(pairs)} ended with status "
                f"{self.status}: no further run was made"
            )
        if pairs > 0:
            yield (
                f"{pairs} {_pairs(pairs)} of a run with take-over and one without, in turn; both "
                "count calls"
            )
            yield from aligned([HEADINGS, *self._rows(pairs)])
            yield "the ratio is the median of the pairs' own ratios, and above 1 if Weir is faster"
        yield (
            "every run wrote its files where the program writes them: they are those of the last "
            f"run, which was {self.last.name}"
        )

    def _rows(self, pairs: int) -> Iterator[tuple[str, ...]]:
        for name, some, others in (
            (WHOLE, self.with_it.seconds, self.without.seconds),
            (BLOCKED, self.with_it.blocked, self.without.blocked),
        ):
            with_it, without = some[:pairs], others[:pairs]
            if min(with_it) <= 0:
                continue
            ratios = [b / a for a, b in zip(with_it, without, strict=True)]
            ratio, low, high, confidence = median_interval(ratios)
            yield (
                name,
                seconds_text(median_interval(with_it).median),
                seconds_text(median_interval(without).median),
                f"{ratio:.3f}",
                f"[{low:.3f}, {high:.3f}] of {percent_text(confidence)}",
            )


def _pairs(number: int) -> str:
    return "pair" if number == 1 else "pairs"


def compare(
    command: Sequence[str],
    pairs: int,
    folder: Path,
    settings: Mapping[str, str],
    tell: Callable[[str], None],
) -> Comparison:
    """Runs the command ``pairs`` times on each side; the order inside the pairs alternates.

    ``settings`` are variables of sessions for both sides, in case the program uses Weir by itself.
    Ends with the first run that fails. Each run has a folder of its own below ``folder`` for its
    records, and is announced by ``tell``. Raises LibraryError, RecordError and OSError.
    """
    with_it = Side("with take-over", {**settings, **take_over_variables()})
    without = Side("without take-over", {**settings, **NOT_TAKEN_OVER})
    sums = Sums()
    for number in range(2 * pairs):
        first, second = (with_it, without) if number // 2 % 2 == 0 else (without, with_it)
        side = first if number % 2 == 0 else second
        tell(f"run {number + 1} of {2 * pairs}, {side.name}")
        records = folder / f"{number + 1:04d}"
        records.mkdir()
        began = time.monotonic()
        status = observe(command, [MPI_IO_CALLS], records, side.variables)
        seconds = time.monotonic() - began
        own = sum_up(sorted(records.glob("*.mpiio")))
        if side is with_it:
            sums = own
        if status != 0:
            return Comparison(with_it, without, status, side, sums)
        side.seconds.append(seconds)
        side.blocked.append(_blocked(own))
    return Comparison(with_it, without, 0, side, sums)


def _blocked(sums: Sums) -> float:
    calls = [one for by_function in sums.files.values() for one in by_function.values()]
    return sum(one.seconds for one in calls) / max(1, sums.processes)
