"""``weir record``: what an unchanged program asks of files, or what Darshan traced of it."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weir.bench.errors import FAILED, USAGE, BenchError
from weir.commands.terminal import warn

if TYPE_CHECKING:
    from weir.replay.joining import Joined


class Level(StrEnum):
    """Whose calls are recorded."""

    POSIX = "posix"
    MPIIO = "mpiio"


def record_command(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="the program with its launcher"),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="file for the record")
    ] = Path("weir.record"),
    under: Annotated[
        list[Path] | None,
        typer.Option(
            "--under",
            metavar="FOLDER",
            help="record only files below this folder; may be repeated [all files but those of the "
            "system, below /usr, /etc, /opt, /var and so on]",
        ),
    ] = None,
    level: Annotated[
        Level,
        typer.Option(
            "--level",
            help="what is recorded: calls of libc, which is where all end, or those of MPI-IO, "
            "collective ones and their patterns included",
        ),
    ] = Level.POSIX,
    dxt: Annotated[
        Path | None,
        typer.Option(
            "--dxt",
            metavar="LOG",
            help="run nothing: take the calls that Darshan's DXT traced, from its log or from the "
            "output of darshan-dxt-parser",
        ),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records",
            help="folder for the records of the processes, which all nodes can access [a temporary "
            "folder]",
        ),
    ] = None,
) -> int:
    """Run an unchanged program, and record what it asks of files.

    The program is loaded with a library that records its calls of libc: per rank, which file, which
    call, offset, size and the time between calls. Calls that repeat are stored as patterns.
    `weir bench replay FILE` then runs the same calls on any file system. Not seen are programs that
    are linked statically, io_uring, mapped files, and reads and writes of C's streams (fopen). With
    `--level mpiio` the calls of MPI-IO are recorded instead: which of them are collective, and
    where in the file their bytes are, through views, too. With `--dxt` the record is made of a
    trace of Darshan instead, of reads and writes alone. The table goes to standard error when the
    program has ended; the exit status is the program's.
    """
    # Imported here so that the command line starts without them.
    from weir.replay.joining import Joined, record_text  # noqa: PLC0415
    from weir.replay.table import table  # noqa: PLC0415
    from weir.results.folder import write_atomically  # noqa: PLC0415

    if output.exists():
        message = f"--output {output} exists: give a new file"
        raise BenchError(message, USAGE)
    if not output.absolute().parent.is_dir():
        message = f"--output {output}: its folder does not exist: make it first"
        raise BenchError(message, USAGE)
    status = 0
    if dxt is not None:
        if command or under or records or level != Level.POSIX:
            message = "--dxt LOG runs no program and takes all files: leave out the rest"
            raise BenchError(message, USAGE)
        from weir.replay.dxt import read_dxt, text_of  # noqa: PLC0415

        ranks = read_dxt(text_of(dxt), str(dxt))
        found = Joined(ranks, [], 0, ranks[0].ranks)
        told = f"{ranks[0].program} (Darshan DXT, {dxt.name})"
    elif command:
        status, found = _observed(command, level, under or [], records)
        told = shlex.join(command)
    else:
        message = "give a program behind --, or --dxt with a log of Darshan"
        raise BenchError(message, USAGE)
    text = record_text(found.ranks, told)
    write_atomically(output, text)
    for line in table(found, len(text.encode())):
        warn(line)
    warn(f"weir bench replay {shlex.quote(str(output))} -n {len(found.ranks)} runs it again")
    return status


_MOVED = {Level.POSIX: "moved no bytes", Level.MPIIO: "made no call of MPI-IO"}


def _observed(
    command: list[str], level: Level, under: list[Path], records: Path | None
) -> tuple[int, Joined]:
    """Runs the program; returns its exit status, and what its processes asked of files."""
    from weir.advise.observe import (  # noqa: PLC0415
        LIBC_ORDER,
        MPI_IO_ORDER,
        observe,
        take_over_variables,
    )
    from weir.replay.joining import joined  # noqa: PLC0415
    from weir.replay.orders import read_orders  # noqa: PLC0415

    folders = [str(one.resolve()) for one in under]
    if any(":" in one for one in folders):
        message = "--under: the name of a folder must have no colon"
        raise BenchError(message, USAGE)
    folder = Path(tempfile.mkdtemp(prefix="weir-record-")) if records is None else records
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.glob("*.order")):
            message = f"{folder} has records of another run: give --records an empty folder"
            raise BenchError(message, USAGE)
        try:
            variables = {"WEIR_CALLS_UNDER": ":".join(folders)}
            observer = LIBC_ORDER
            if level == Level.MPIIO:
                observer = MPI_IO_ORDER
                variables |= take_over_variables()
            status = observe(command, [observer], folder, variables)
        except OSError as error:
            message = f"{command[0]} cannot be run: {error.strerror}"
            raise BenchError(message) from error
        found = joined(read_orders(folder))
    finally:
        if records is None:
            shutil.rmtree(folder, ignore_errors=True)
    if not any(one.lines for one in found.ranks):
        message = (
            f"{command[0]} left no record: it {_MOVED[level]} of files that are recorded "
            "(--under), or it is linked statically, or it was killed"
        )
        if level == Level.MPIIO:
            message += "; --level posix records what passes by MPI-IO"
        raise BenchError(message, status or FAILED)
    return status, found


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("record")(record_command)
