"""Reads and checks the run folders from which a report is made."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from weir.report.event_store import EventStore
from weir.report.sample_store import SampleStore
from weir.results.campaign import Campaign, made_for
from weir.results.changes import changes_of
from weir.results.errors import ResultError
from weir.results.expectations import Direction
from weir.results.folder import REPORT_FILE, RUN_FILE, load_run
from weir.results.schema import Rate, Repetition, Run
from weir.results.store import place_at, run_folders_at

IO_MODES = ("SYNC", "ASYNC", "NONE")
NOT_OF_THE_IO = ("expectation", "output", "plan", "progress")
"""Parameters of where results go and how they are shown."""
MOST_WITHIN_A_PAGE = 24
"""Up to this many runs are complete within a page; a page over more runs has one line for each,
with a link to the run's own page."""


@dataclass(frozen=True)
class Source:
    """One run, its events if there are any, and the anchor of its part of the page."""

    run: Run
    events: EventStore | None
    anchor: str
    synchronous_sibling: Run | None = None
    """The run that differs from this one only in being synchronous, if it is known."""
    place: str = ""
    """The run's folder, relative to the page's."""
    is_within: bool = True
    """Whether the page contains everything of the run's own page."""

    samples: SampleStore | None = None
    """What a monitor beside the job has sampled, if there was one."""
    page: str | None = None
    """Link to the run's own page, or to that of its job, if the run is not within this page."""
    campaign: str = ""
    """The folder of the campaign for which the run was made, relative to the page's."""
    campaign_page: str | None = None
    """Link to the campaign's own page."""


def read_sources(path: Path) -> list[Source]:
    """Returns the run in ``path``, or the runs below it in the order of their folders' names.

    If there are more than ``MOST_WITHIN_A_PAGE``, events are left out.
    """
    folders = run_folders_at(path)
    if not folders:
        raise ResultError(
            f"{path}: no {RUN_FILE} here nor in the folders in it; "
            "give a run folder or a folder of run folders"
        )
    within = len(folders) <= MOST_WITHIN_A_PAGE
    runs = {folder: _load(folder, whole=within) for folder in folders}
    siblings = runs
    if folders == [path] and is_asynchronous(runs[path]):
        siblings = _neighbours_of(path)
    taken: set[str] = set()
    campaigns: dict[Path, Campaign] = {}
    return [
        Source(
            run,
            EventStore.open(folder) if within else None,
            _anchor(run, taken),
            _synchronous_of(run, list(siblings.values())),
            place_at(path, folder),
            within,
            SampleStore.open(folder) if within else None,
            None if within else _page_of(folder, path, run),
            *_campaign_of(folder, path, campaigns),
        )
        for folder, run in runs.items()
    ]


def _campaign_of(folder: Path, path: Path, known: dict[Path, Campaign]) -> tuple[str, str | None]:
    """Returns the folder of the campaign for which a run was made, and a link to its page."""
    made = None
    with contextlib.suppress(ResultError):  # The campaign's own page says what is wrong with it.
        made = made_for(folder, known)
    if made is None:
        return "", None
    return place_at(path, made.folder), _link_to(made.folder / REPORT_FILE, path)


def _load(folder: Path, *, whole: bool) -> Run:
    """Returns the run, with what of it was changed among its warnings."""
    run = load_run(folder)
    return run.with_warnings(changes_of(folder, run, whole=whole))


def _page_of(folder: Path, path: Path, run: Run) -> str | None:
    """Returns a link to the page of the run, else to its part of the page of its job."""
    own = _link_to(folder / REPORT_FILE, path)
    of_job = None if folder.parent == path else _link_to(folder.parent / REPORT_FILE, path)
    return own or (of_job and f"{of_job}#{_slug(run)}")


def _link_to(page: Path, path: Path) -> str | None:
    return quote(Path(os.path.relpath(page, path)).as_posix()) if page.is_file() else None


def _neighbours_of(path: Path) -> dict[Path, Run]:
    """Returns the runs beside a run, for comparison; runs that cannot be read are left out."""
    found = {}
    for file in sorted(path.absolute().parent.glob(f"*/{RUN_FILE}")):
        with contextlib.suppress(ResultError):
            found[file.parent] = load_run(file.parent)
    return found


def _slug(run: Run) -> str:
    return re.sub(r"[^a-z0-9]+", "-", run.label.lower()).strip("-") or "run"


def _anchor(run: Run, taken: set[str]) -> str:
    slug = _slug(run)
    name, number = slug, 1
    while name in taken:
        number += 1
        name = f"{slug}-{number}"
    taken.add(name)
    return name


def io_mode(run: Run) -> str | None:
    """Returns SYNC, ASYNC or NONE: from the run's label, else from its parameter of that name.

    The parameters are those of the job, which may have several modes for several runs.
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
    """Returns whether the run's transfers go on behind its computation."""
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
    """Returns all repetitions except warm-ups."""
    return [repetition for repetition in run.repetitions if not repetition.warmup]


def headline_rate(run: Run, direction: Direction) -> Rate | None:
    """Returns the rate that is compared with the expectation, or the only rate."""
    rates = [rate for rate in run.rates if rate.direction == direction]
    return next((rate for rate in rates if rate.headline), rates[0] if rates else None)


def directions(run: Run) -> list[Direction]:
    """Returns the directions that this run has or plans, write before read."""
    present = {phase.direction for phase in run.plan.phases} | {r.direction for r in run.rates}
    ordered: list[Direction] = ["write", "read"]
    return [direction for direction in ordered if direction in present]


def hosts_by_rank(run: Run) -> dict[int, str]:
    return {rank: node.host for node in run.nodes for rank in node.ranks}
