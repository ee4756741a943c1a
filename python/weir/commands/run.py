"""``weir run``: runs an unchanged program and observes it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from weir.advise.rules import THRESHOLDS
from weir.bench.errors import USAGE, BenchError
from weir.commands.terminal import message_console

THRESHOLDS_TEXT = "Thresholds: " + "; ".join(
    f"{one.name}={one.value}, {one.meaning}" for one in THRESHOLDS
)


def run_command(
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND …", help="the program with its launcher")
    ],
    advise: Annotated[
        bool, typer.Option("--advise", help="count metadata operations, and print advice")
    ] = False,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold", metavar="NAME=N", help="replaces a threshold of the list below"
        ),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records",
            help="folder for the records, which all nodes can access [a temporary folder]",
        ),
    ] = None,
) -> int:
    """Run an unchanged program, and say what an expert would of its metadata operations.

    The program is loaded with a library that counts its calls of libc, per file and rank; programs
    that are linked statically and io_uring are not seen. What is wrong goes to standard error when
    the program has ended; the exit status is the program's.
    """
    # Imported here so that the command line starts without them.
    from weir.advise.observe import observe  # noqa: PLC0415
    from weir.advise.records import read_records  # noqa: PLC0415
    from weir.advise.rules import advice_on  # noqa: PLC0415
    from weir.advise.text import advice_text  # noqa: PLC0415
    from weir.advise.use import merge  # noqa: PLC0415

    if not advise:
        message = "weir run needs --advise, which is its only function in this version"
        raise BenchError(message, USAGE)
    limits = _thresholds(threshold or [])
    folder = Path(tempfile.mkdtemp(prefix="weir-calls-")) if records is None else records
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.glob("*.calls")):
            message = f"{folder} has records of another run: give --records an empty folder"
            raise BenchError(message, USAGE)
        try:
            status = observe(command, folder)
        except OSError as error:
            message = f"{command[0]} cannot be run: {error.strerror}"
            raise BenchError(message) from error
        use = merge(read_records(folder))
    finally:
        if records is None:
            shutil.rmtree(folder, ignore_errors=True)
    console = message_console()
    if use.ranks + use.killed == 0:
        message = f"{command[0]} left no record: it may be linked statically"
        raise BenchError(message, status or 1)
    for line in advice_text(use, advice_on(use, limits)):
        console.print(f"weir: {line}", markup=False, highlight=False, soft_wrap=True)
    return status


def _thresholds(given: list[str]) -> dict[str, int]:
    known = {one.name for one in THRESHOLDS}
    limits = {}
    for one in given:
        name, _, value = one.partition("=")
        if name not in known or not value.isdigit():
            message = (
                f"--threshold {one}: give NAME=N with a whole number and one of the names "
                f"{', '.join(sorted(known))}"
            )
            raise BenchError(message, USAGE)
        limits[name] = int(value)
    return limits


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("run", epilog=THRESHOLDS_TEXT)(run_command)
