"""Formats what `weir run --mpi-io` and `weir run --hdf5` print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weir.mpiio.records import CallSums, Sums
from weir.results.quantities import seconds_text, size_text

MOST_FILES = 20
"""Files that have lines of their own: those with the most time."""
ESTIMATED = "without, estimated"
HEADINGS = (
    *("", "ranks", "calls", "taken over", "staged", "failed", "bytes", "blocked"),
    *(ESTIMATED, "longest"),
)
EXPLANATION = (
    "bytes are those that calls asked to move; blocked is the mean time in these calls of the "
    "{who} that made them, longest that of the {one} with most"
)

ABOUT_ESTIMATES = (
    f"{ESTIMATED} is what blocked would have been by the MPI library alone, as the path model "
    "gives it for calls that were taken over; nothing of it was measured: weir run --compare N "
    "measures it"
)


@dataclass(frozen=True)
class Words:
    """What the calls of a table are, and to what they were passed on."""

    calls: str
    passed_to: str
    variables: str
    """That the launcher has to pass on, in words of mpirun."""


MPI_IO = Words(
    "calls of MPI-IO",
    "the MPI library",
    "two variables (mpirun -x LD_PRELOAD -x WEIR_MPIIO_FOLDER)",
)
HDF5 = Words(
    "calls on datasets of HDF5",
    "HDF5",
    "three variables (mpirun -x HDF5_PLUGIN_PATH -x HDF5_VOL_CONNECTOR -x WEIR_HDF5_FOLDER)",
)


def table(sums: Sums, words: Words = MPI_IO) -> Iterator[str]:
    """Yields lines: a summary, what the records lack, and for each file its calls."""
    yield _summary(sums, words)
    yield from _missing(sums, words)
    files = sorted(sums.files.items(), key=lambda item: (-_seconds(item[1]), item[0]))
    if not files:
        return
    one, many = ("rank", "ranks") if sums.has_ranks else ("process", "processes")
    rows: list[tuple[str, ...]] = [HEADINGS]
    for path, by_function in files[:MOST_FILES]:
        rows.append((path,))
        busiest = sorted(by_function.items(), key=lambda item: (-item[1].seconds, item[0]))
        rows.extend(_row(function, calls, one) for function, calls in busiest)
        rows.extend(
            (f"  passed on, {times} {'time' if times == 1 else 'times'}: {reason}",)
            for reason, times in sorted(sums.passed.get(path, {}).items())
        )
    shown = _without_unused(rows)
    yield from aligned(shown)
    if len(files) > MOST_FILES:
        left_out = [one for _, by_function in files[MOST_FILES:] for one in by_function.values()]
        yield (
            f"{len(files) - MOST_FILES} more files: {sum(one.calls for one in left_out)} calls, "
            f"{size_text(sum(one.size for one in left_out))}, "
            f"{seconds_text(sum(one.seconds for one in left_out))} of all {many} together"
        )
    yield EXPLANATION.format(who=many, one=one)
    if ESTIMATED in shown[0]:
        yield ABOUT_ESTIMATES


def _seconds(by_function: dict[str, CallSums]) -> float:
    return sum(one.seconds for one in by_function.values())


def _moved(sums: Sums, *marks: str) -> int:
    return sum(
        one.size
        for by_function in sums.files.values()
        for function, one in by_function.items()
        if function.startswith(marks)
    )


def _summary(sums: Sums, words: Words) -> str:
    one, many = ("rank", "ranks") if sums.has_ranks else ("process", "processes")
    all_calls = [one for by_function in sums.files.values() for one in by_function.values()]
    calls = sum(one.calls for one in all_calls)
    taken = sum(one.taken for one in all_calls)
    staged = sum(one.staged for one in all_calls)
    of_these = f" ({staged} of them staged)" if staged else ""
    fate = f"{taken} were taken over{of_these}, the others" if taken else "all"
    return (
        f"{sums.processes} {one if sums.processes == 1 else many}, {sums.seconds:.1f} s: {calls} "
        f"{words.calls} on {len(sums.files)} {'file' if len(sums.files) == 1 else 'files'}, "
        f"{size_text(_moved(sums, 'write', 'iwrite'))} written, "
        f"{size_text(_moved(sums, 'read', 'iread'))} read; {fate} were passed on to "
        f"{words.passed_to}"
    )


def _missing(sums: Sums, words: Words) -> Iterator[str]:
    if sums.ranks_told and sums.processes < sums.ranks_told:
        yield (
            f"of {sums.ranks_told} ranks only {sums.processes} left a record: others were killed, "
            "or ended without MPI_Finalize, or run without the library: give --records a folder "
            f"that all nodes can access, and let the launcher pass on {words.variables}"
        )
    elif sums.incomplete:
        yield f"{sums.incomplete} processes left half a record: these figures do not include them"


def _row(function: str, calls: CallSums, who: str) -> tuple[str, ...]:
    longest = seconds_text(calls.longest)
    return (
        f"  {function}",
        str(calls.ranks),
        str(calls.calls),
        str(calls.taken) if calls.taken else "",
        str(calls.staged) if calls.staged else "",
        str(calls.failed) if calls.failed else "",
        size_text(calls.size) if calls.size else "",
        seconds_text(calls.seconds / calls.ranks),
        seconds_text(calls.without / calls.ranks) if calls.taken and calls.without else "",
        f"{longest} on {who} {calls.longest_rank}" if calls.ranks > 1 else longest,
    )


def _without_unused(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Leaves out the columns about calls that were taken over, or staged, if none was."""
    left_out = {
        HEADINGS.index(heading)
        for heading in ("taken over", "staged", ESTIMATED)
        if not any(len(row) > 1 and row[HEADINGS.index(heading)] for row in rows[1:])
    }
    return [
        row
        if len(row) == 1
        else tuple(cell for number, cell in enumerate(row) if number not in left_out)
        for row in rows
    ]


def aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yields a line for each row, in columns; a row of one cell may be as long as it is."""
    cells = [row for row in rows if len(row) > 1]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    for row in rows:
        if len(row) == 1:
            yield f"  {row[0]}"
            continue
        first, *middle, last = row
        words = [f"{word:>{width}}" for word, width in zip(middle, widths[1:-1], strict=True)]
        yield "  " + "  ".join([f"{first:{widths[0]}}", *words, last]).rstrip()
