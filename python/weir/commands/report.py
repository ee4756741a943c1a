"""``weir report``: finalizes run folders and writes reports, as ``weir bench`` does itself."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from weir.bench.afterwards import expecting_by
from weir.commands.find_runs import tell_changes
from weir.commands.terminal import output_console, warn
from weir.model.verdict import verdict
from weir.report.anomalies import examine
from weir.results.campaign import campaign_of, finished_runs, run_output
from weir.results.checksums import MEASURED
from weir.results.finalize import Expect, FinalizedRun, finalize, mark_unfinished_as_failed
from weir.results.folder import REPORT_FILE, find_run_folders, load_run
from weir.results.store import is_store, run_folders_at

PAGES_OF_A_PROCESS = 12
"""Another process is started only for this many pages; fewer are written before it is ready."""


def report_command(
    path: Annotated[Path, typer.Argument(help="Run folder, or folder with run folders.")],
    platform: Annotated[
        str | None,
        typer.Option(
            "--platform",
            metavar="FILE|NAME",
            help=(
                "Give runs without an expectation that of this description. Without the option it "
                "is that of the latest one below platforms/ that was measured before the run. An "
                "expectation that was made before a run is never replaced."
            ),
        ),
    ] = None,
    job_is_over: Annotated[
        bool,
        typer.Option(
            "--job-is-over",
            help=(
                "Mark runs that still have the status 'running' as failed, because their job "
                "has ended."
            ),
        ),
    ] = False,
) -> None:
    """Finalize the runs of PATH (events, verdict, check) and write report.html.

    Runs that weir bench made are finalized already. This is for folders of jobs that were started
    with another launcher: srun -n 4096 weir-bench madbench ... --output PATH. If PATH is a store
    (weir results add), only the page over all of its runs is written.
    """
    if is_store(path):
        # The runs stay as they are; only the page over all of them is made.
        from weir.report import write_report  # noqa: PLC0415

        tell_changes((folder, load_run(folder)) for folder in run_folders_at(path))
        _say_written(write_report(path))
        return
    if job_is_over:
        mark_unfinished_as_failed(path, "the job ended without finishing the run")
    for one in finalize_all(path, expecting_by(platform)):
        for text in one.changes:
            warn(f"{one.folder}: {text}")
    _say_written(write_reports(path))


def _say_written(report: Path) -> None:
    output_console().print(f"Report: {report}", soft_wrap=True, highlight=False, markup=False)


def finalize_all(path: Path, expect: Expect | None = None) -> list[FinalizedRun]:
    """Finalizes the runs at ``path``; in a campaign's folder those that are finished.

    ``expect`` is asked for the expectation of runs that have none.
    """
    campaign = campaign_of(path)
    if campaign is None:
        return finalize(path, verdict, examine, expect=expect)
    return [
        one
        for number in finished_runs(path, campaign)
        for one in finalize(run_output(path, number), verdict, examine)
    ]


def write_reports(path: Path) -> Path:
    """Writes ``report.html`` for every run below ``path``, then one for all; returns the last.

    In a campaign's folder it writes one for the folder of each finished run, then the campaign's.
    If there are more runs than a page can contain, pages of runs that have not changed since
    remain.
    """
    # Imported here because other commands do not need the report's modules.
    from weir.report import write_report  # noqa: PLC0415
    from weir.report.sources import MOST_WITHIN_A_PAGE  # noqa: PLC0415

    campaign = campaign_of(path)
    if campaign is not None:
        for number in finished_runs(path, campaign):
            write_report(run_output(path, number))
        return write_report(path)
    folders = [folder for folder in find_run_folders(path) if folder != path]
    if len(folders) > MOST_WITHIN_A_PAGE:
        folders = [folder for folder in folders if not _has_its_report(folder)]
    _in_processes(write_report, folders)
    return write_report(path)


def _has_its_report(folder: Path) -> bool:
    """Returns whether the run has its own page, and it is not older than the results."""
    try:
        made = (folder / REPORT_FILE).stat().st_mtime_ns
        files = (folder / name for name in MEASURED)
        return all(made >= file.stat().st_mtime_ns for file in files if file.is_file())
    except OSError:
        return False


def _in_processes(write: Callable[[Path], Path], folders: Sequence[Path]) -> None:
    """Writes the pages of many runs with as many processes as may run at a time."""
    number = min(len(os.sched_getaffinity(0)), len(folders) // PAGES_OF_A_PROCESS)
    if number < 2:
        for folder in folders:
            write(folder)
        return
    # A fork would copy the locks of running threads; a new process has none.
    with ProcessPoolExecutor(number, multiprocessing.get_context("spawn")) as pool:
        for _ in pool.map(write, folders, chunksize=4):
            pass


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("report")(report_command)
