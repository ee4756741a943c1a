"""``weir check``: reports damage in files of arrays, and what killed runs left."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bar

from weir.commands.terminal import message_console, output_console
from weir.results.quantities import size_text


def check_command(
    paths: Annotated[list[Path], typer.Argument(help="HDF5, NetCDF, Zarr or raw files")],
    quick: Annotated[bool, typer.Option("--quick", help="read only headers, no elements")] = False,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="threads [cores]")] = None,
) -> int:
    """Say whether files of arrays are whole: a line for each thing that is wrong.

    Names what killed runs left (a file that was not finished, a step that was not committed),
    counts the committed steps, and reads every element, which verifies checksums where there are
    some. The exit status is 1 when a file is damaged or unfinished.
    """
    # Imported here so that the command line starts without it.
    from weir.check import Progress, check  # noqa: PLC0415

    output, console = output_console(), message_console()

    def line(text: str) -> None:
        output.print(text, highlight=False, markup=False, soft_wrap=True)

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    found = False
    for path in paths:
        started = time.monotonic()
        with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
            shown = bar.add_task("", total=None)

            def tell(progress: Progress, bar: Bar = bar, shown: object = shown) -> None:
                bar.update(
                    shown,  # type: ignore[arg-type]
                    completed=progress.bytes_done,
                    total=max(1, progress.bytes_in_all),
                )

            report = check(
                path,
                read=not quick,
                workers=workers or len(os.sched_getaffinity(0)),
                tell=tell,
            )
        for finding in report.findings:
            line(f"{path}: {finding}")
        for refused in report.not_checked:
            line(f"{path}: not checked: {refused}")
        for absent in report.absent:
            line(f"{path}: {absent}")
        for left_out in report.left_out:
            line(f"{path}: {left_out}")
        found = found or bool(report.findings)
        if report.file_format:
            steps = "" if report.steps is None else f", {report.steps} committed steps"
            seconds = time.monotonic() - started
            read = "" if quick else f", {size_text(report.bytes_read)} read in {seconds:.1f} s"
            if report.bytes_verified:
                read += f", {size_text(report.bytes_verified)} of it by checksums"
            if report.without_sums:
                every = report.without_sums == report.arrays
                none = "no" if every else f"{report.without_sums} without"
                read += f", {none} checksums: changed bytes cannot be detected"
            arrays = f"{report.arrays} array{'' if report.arrays == 1 else 's'}"
            left = f", {len(report.not_checked)} not checked" if report.not_checked else ""
            line(f"{path}: {report.file_format}, {arrays}{left}{steps}{read}")
    return 1 if found else 0


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("check")(check_command)
