"""``weir report``: seal run folders and write their reports, as ``weir bench`` does at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weir.commands.terminal import output_console
from weir.model.verdict import verdict
from weir.results.folder import find_run_folders
from weir.results.seal import mark_unfinished_as_failed, seal


def report_command(
    path: Annotated[Path, typer.Argument(help="A run folder, or a folder of run folders.")],
    job_is_over: Annotated[
        bool,
        typer.Option(
            "--job-is-over",
            help="Runs that still say 'running' were left by a job that ended: mark them failed.",
        ),
    ] = False,
) -> None:
    """Seal the runs of PATH (events, verdict, check) and write report.html.

    Runs that weir bench made are sealed already. This is for folders of jobs that were started
    with another launcher: srun -n 4096 weir-bench madbench ... --output PATH.
    """
    if job_is_over:
        mark_unfinished_as_failed(path, "the job ended without finishing the run")
    seal(path, verdict)
    output_console().print(f"Report: {write_reports(path)}", soft_wrap=True, highlight=False)


def write_reports(path: Path) -> Path:
    """Write ``report.html`` for every run below ``path``, then one over all; returns the last."""
    # Imported here: no other command has to wait for the report's modules.
    from weir.report import write_report  # noqa: PLC0415

    folders = [folder for folder in find_run_folders(path) if folder != path]
    for folder in folders:
        write_report(folder)
    return write_report(path)
