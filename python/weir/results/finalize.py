"""Finalizes every finished run folder once, in these steps.

1. ``run.json`` is checked, and its rates against its repetitions. A run that is still running is
   not touched.
2. ``events/`` becomes ``events.parquet``.
3. The verdict, and what is unusual about the events, are put into ``run.json``, which is checked
   again and replaced atomically.
4. The hashes of both files are written, and ``digest`` in ``run.json``. If hashes are there
   already, they are compared before step 1. A run that was changed since is neither judged nor
   written again: what was changed becomes a warning of the returned run.

Each step leaves the folder valid and can be skipped or repeated safely, so finalizing again after
an interruption completes it. The caller passes the functions that judge runs and examine
events, because this package does not depend on the path model nor on the analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from weir.results.changes import changes_of, was_finalized
from weir.results.checksums import SUMS_FILE
from weir.results.errors import ResultError
from weir.results.events import COLUMNS_FOLDER, PARQUET_FILE, finalize_events
from weir.results.expectations import Expectation, Verdict
from weir.results.folder import find_run_folders, load_run, write_run
from weir.results.purpose import Purpose
from weir.results.run_digest import write_with_digest
from weir.results.schema import Anomaly, Failure, Run

LOST_RANK = "lost_rank"
"""Cause that ``weir-bench`` records if a process of the job is gone."""
INTERRUPTED = "interrupted"
"""Cause that ``weir-bench`` records if a signal ended the job."""

Examine = Callable[[Path, Run], list[Anomaly] | None]
"""Returns what is unusual about the events in a run folder; None if there are none."""

Expect = Callable[[Run], Expectation | None]
"""Returns what a run without an expectation should have reached; None if nothing says so."""

Judge = Callable[[Run, Sequence[Run]], Verdict | None]
"""Judges a complete run, given its siblings: the runs of the same job."""


@dataclass(frozen=True)
class FinalizedRun:
    """A finalized run folder and its updated ``run.json``."""

    folder: Path
    run: Run
    changes: list[str]
    """What was changed after the run was measured; these lines are among its warnings."""


def finalize(
    path: Path,
    judge: Judge,
    examine: Examine | None = None,
    purpose: Purpose | None = None,
    expect: Expect | None = None,
) -> list[FinalizedRun]:
    """Finalize the run folder ``path``, or every run folder below it; siblings are judged together.

    ``purpose`` is put into the runs; without it they keep their own. ``expect`` is asked for the
    expectation of complete runs that have none.
    Raises ``ResultError`` when there is none, when one is invalid, or when one is still running.
    """
    folders = find_run_folders(path)
    if not folders:
        raise ResultError(f"{path} has no run.json: give a run folder or a folder of run folders")
    runs = {folder: load_run(folder) for folder in folders}
    for folder, run in runs.items():
        if run.status == "running":
            raise ResultError(
                f"{folder} says that it is still running; if its job is over, "
                "finalize it with: weir report --job-is-over " + str(path)
            )
    jobs: dict[Path, list[Path]] = {}
    for folder in runs:
        jobs.setdefault(folder.parent, []).append(folder)

    def completed(run: Run) -> Run:
        update: dict[str, object] = {} if purpose is None else {"purpose": purpose}
        if expect is not None and run.status == "complete" and run.expectation is None:
            update["expectation"] = expect(run)
        return run.model_copy(update=update)

    changes = {folder: changes_of(folder, run, whole=True) for folder, run in runs.items()}
    finalized = []
    for folder, run in runs.items():
        told = run.with_warnings(changes[folder])
        if not changes[folder] or not was_finalized(folder, run):
            others = [place for place in jobs[folder.parent] if place is not folder]
            siblings = [runs[place] for place in others]
            may_judge = not any(changes[place] for place in (folder, *others))
            told = _finalize_folder(
                folder, run, completed(told), siblings, judge if may_judge else None, examine
            )
        finalized.append(FinalizedRun(folder, told, changes[folder]))
    return finalized


def _finalize_folder(
    folder: Path,
    before: Run,
    run: Run,
    siblings: Sequence[Run],
    judge: Judge | None,
    examine: Examine | None,
) -> Run:
    """Finalizes a folder; without ``judge``, the run keeps the verdict that it has."""
    has_events = (folder / COLUMNS_FOLDER).is_dir() or (folder / PARQUET_FILE).is_file()
    if run.imported is not None:
        pass  # Another program measured it, without events.
    elif run.status == "complete" or has_events:
        try:
            finalize_events(folder)
        except ResultError as error:
            if run.status == "complete":
                raise
            run = run.with_warnings([f"the events are not complete: {error}"])
    else:
        run = run.with_warnings(["the job ended before it wrote events"])
    update: dict[str, object] = {}
    if judge is not None:
        update["verdict"] = judge(run, siblings) if run.status == "complete" else None
    if examine and run.status == "complete":
        update["anomalies"] = examine(folder, run)
    finalized = run.model_copy(update=update)
    if finalized == before and (folder / SUMS_FILE).is_file():
        return finalized
    return write_with_digest(folder, finalized)


def mark_unfinished_as_failed(path: Path, cause: str) -> list[Path]:
    """Mark every run below ``path`` that says ``running`` as failed, for a job known to be over.

    ``cause`` is what is known about the job's end. Returns the folders that were changed.
    """
    changed = []
    for folder in find_run_folders(path):
        run = load_run(folder)
        if run.status != "running":
            continue
        failure = Failure(
            message=f"the job ended before the run was finished: {cause}",
            cause=cause,
            operation="job",
        )
        write_run(folder, run.model_copy(update={"status": "failed", "failure": failure}))
        changed.append(folder)
    return changed


def mark_as_interrupted(path: Path, cause: str) -> list[Path]:
    """Marks the runs below ``path`` that the user ended: the job was asked to end and is over.

    These are the runs that say ``running``, that a signal ended, or that lost a rank. A launcher
    passes SIGTERM on to its ranks whatever signal it received itself, so ``cause`` replaces the
    signal that the ranks recorded. It also kills ranks that are slow to end, and the remaining
    ranks see these as lost. Returns the folders that were changed.
    """
    changed = []
    for folder in find_run_folders(path):
        run = load_run(folder)
        message = cause
        said = None if run.failure is None else run.failure.cause
        if run.failure is not None and said == LOST_RANK:
            message = f"{cause}; then: {run.failure.message}"
        elif said != INTERRUPTED and run.status != "running":
            continue
        failure = Failure(message=message, cause=INTERRUPTED, operation="job")
        write_run(folder, run.model_copy(update={"status": "interrupted", "failure": failure}))
        changed.append(folder)
    return changed
