"""What a report is made from: the run folders at a path, read and checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from weir.report.event_store import EventStore
from weir.results.errors import ResultError
from weir.results.folder import RUN_FILE, load_run
from weir.results.schema import Direction, Rate, Repetition, Run

IO_MODES = ("SYNC", "ASYNC", "NONE")
NOT_OF_THE_IO = ("expectation", "output", "plan", "progress")
"""Parameters that say where results go and how they are shown."""


@dataclass(frozen=True)
class Source:
    """One run, its events where there are any, and the anchor of its part of the page."""

    run: Run
    events: EventStore | None
    anchor: str
    synchronous_sibling: Run | None = None
    """The run that differs from this one only in being synchronous, when it is in reach."""


def read_sources(path: Path) -> list[Source]:
    """The run in ``path``, or the runs in its folders in the order of their names."""
    if (path / RUN_FILE).is_file():
        folders = [path]
        neighbours = sorted(file.parent for file in path.absolute().parent.glob(f"*/{RUN_FILE}"))
    else:
        folders = neighbours = sorted(file.parent for file in path.glob(f"*/{RUN_FILE}"))
    if not folders:
        raise ResultError(
            f"{path}: no {RUN_FILE} here nor in the folders in it; "
            "give a run folder or a folder of run folders"
        )
    runs = {folder: load_run(folder) for folder in folders}
    siblings = [run for run in (_sibling_candidate(f, runs) for f in neighbours) if run]
    taken: set[str] = set()
    return [
        Source(run, EventStore.open(folder), _anchor(run, taken), _synchronous_of(run, siblings))
        for folder, run in runs.items()
    ]


def _sibling_candidate(folder: Path, runs: dict[Path, Run]) -> Run | None:
    """A neighbour serves comparison only, so one that cannot be read is left out."""
    if folder in runs:
        return runs[folder]
    try:
        return load_run(folder)
    except ResultError:
        return None


def _anchor(run: Run, taken: set[str]) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", run.label.lower()).strip("-") or "run"
    name, number = slug, 1
    while name in taken:
        number += 1
        name = f"{slug}-{number}"
    taken.add(name)
    return name


def io_mode(run: Run) -> str | None:
    """SYNC, ASYNC or NONE: what the run's label says, else its parameter of that name.

    The parameters are those of the job, which may name several modes for several runs.
    """
    for word in run.label.upper().split():
        if word in IO_MODES:
            return word
    for name, setting in run.parameters.items():
        if _is_io_mode(name) and str(setting.value).upper() in IO_MODES:
            return str(setting.value).upper()
    return None


def _is_io_mode(name: str) -> bool:
    return re.sub(r"[^a-z]", "", name.lower()) == "iomode"


def is_asynchronous(run: Run) -> bool:
    """Whether the run's transfers go on behind its computation."""
    return io_mode(run) == "ASYNC"


def _synchronous_of(run: Run, candidates: list[Run]) -> Run | None:
    if not is_asynchronous(run):
        return None
    stated = {entry.synchronous_run_id for entry in run.effective} - {None}
    if stated:
        return next((other for other in candidates if other.id in stated), None)

    def alike(of: Run) -> tuple[object, ...]:
        words = [word for word in of.label.upper().split() if word not in IO_MODES]
        settings = {
            name: setting.value
            for name, setting in of.parameters.items()
            if not _is_io_mode(name) and name not in NOT_OF_THE_IO
        }
        return of.workload, words, settings, of.plan.ranks, _moved(of)

    for other in candidates:
        if io_mode(other) == "SYNC" and other.rates and alike(other) == alike(run):
            return other
    return None


def _moved(run: Run) -> list[tuple[str, Direction, int]]:
    return [(phase.function, phase.direction, phase.bytes_total) for phase in run.plan.phases]


def measured(run: Run) -> list[Repetition]:
    """The repetitions that count: all but the warm-ups."""
    return [repetition for repetition in run.repetitions if not repetition.warmup]


def headline_rate(run: Run, direction: Direction) -> Rate | None:
    """The rate that is compared with the expectation, or the only one there is."""
    rates = [rate for rate in run.rates if rate.direction == direction]
    return next((rate for rate in rates if rate.headline), rates[0] if rates else None)


def directions(run: Run) -> list[Direction]:
    """Write before read, those that this run has or plans."""
    present = {phase.direction for phase in run.plan.phases} | {r.direction for r in run.rates}
    ordered: list[Direction] = ["write", "read"]
    return [direction for direction in ordered if direction in present]


def hosts_by_rank(run: Run) -> dict[int, str]:
    return {rank: node.host for node in run.nodes for rank in node.ranks}
