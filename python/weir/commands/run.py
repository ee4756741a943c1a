"""``weir run``: runs an unchanged program and observes it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weir.advise.rules import THRESHOLDS
from weir.bench.errors import USAGE, BenchError
from weir.commands.terminal import warn

if TYPE_CHECKING:
    from weir.mpiio.records import Sums

THRESHOLDS_TEXT = "Thresholds: " + "; ".join(
    f"{one.name}={one.value}, {one.meaning}" for one in THRESHOLDS
)


def run_command(
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND", help="the program with its launcher")
    ],
    advise: Annotated[
        bool, typer.Option("--advise", help="count metadata operations, and print advice")
    ] = False,
    mpi_io: Annotated[
        bool, typer.Option("--mpi-io", help="count calls of MPI-IO, and print a table")
    ] = False,
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over",
            help="count calls of MPI-IO, and carry out writes and reads by Weir; this is what "
            "happens without any of these options, too",
        ),
    ] = False,
    hdf5: Annotated[
        bool,
        typer.Option(
            "--hdf5",
            help="carry out writes and reads of datasets of HDF5 1.14 by Weir, and print a table",
        ),
    ] = False,
    compare: Annotated[
        int | None,
        typer.Option(
            "--compare",
            metavar="N",
            min=1,
            help="run the program N times with --take-over and N times without, in turn, and print "
            "medians and their ratio",
        ),
    ] = None,
    staging: Annotated[
        str | None,
        typer.Option(
            "--staging",
            metavar="WHERE",
            help="hand collective writes over to a stager, as WEIR_STAGING: node, service:FILE",
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy",
            metavar="NAME",
            help="how ranks move data together, as WEIR_STRATEGY: automatic, direct, node, "
            "two-phase, server-directed",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting",
            metavar="NAME=VALUE",
            help="any setting of Weir's sessions, as its variable WEIR_NAME, such as "
            "aggregators=2; docs/library.md lists them",
        ),
    ] = None,
    all_nodes: Annotated[
        bool,
        typer.Option(
            "--all-nodes",
            help="take calls over in jobs of several nodes, too: the launcher passes LD_PRELOAD "
            "and the variables WEIR_... on to all of them",
        ),
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
    """Run an unchanged program over Weir, or say what it asks of file systems or of MPI-IO.

    The program is loaded with libraries that count its calls. With --mpi-io these are its calls of
    MPI_File functions, in C and Fortran, of any MPI library: how often per file and kind of call,
    how many bytes, the time blocked. With --take-over, or without any of these options, Weir also
    carries out writes and reads where it can, in programs of the MPI library that Weir was built
    with; of jobs on several nodes only with --all-nodes. With --advise, calls of libc are counted,
    per file and rank, and what is wrong is told, as an expert would; programs that are linked
    statically and io_uring are not seen. With --hdf5, HDF5 loads a connector that carries out
    collective calls on datasets by Weir; it has to be built for the program's HDF5. All goes to
    standard error when the program has ended; the exit status is the program's. With --compare, the
    program runs several times, and writes its files where it always does.
    """
    # Imported here so that the command line starts without them.
    from weir.advise.observe import (  # noqa: PLC0415
        ALL_NODES,
        LIBC_CALLS,
        MPI_IO_CALLS,
        hdf5_variables,
        observe,
        take_over_variables,
    )
    from weir.mpiio.session_settings import variables_for  # noqa: PLC0415

    if compare is not None:
        _check_comparison(advise=advise, hdf5=hdf5)
    take_over = take_over or not (advise or mpi_io or hdf5 or compare)
    mpi_io = mpi_io or take_over or compare is not None
    observers = [LIBC_CALLS] * advise + [MPI_IO_CALLS] * mpi_io
    settings = variables_for(staging, strategy, setting or [])
    if all_nodes:
        settings |= ALL_NODES
    _check_settings(settings, carries_out=take_over or hdf5 or compare is not None)
    limits = _thresholds(threshold or [])
    folder = Path(tempfile.mkdtemp(prefix="weir-calls-")) if records is None else records
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(path.suffix in {".calls", ".mpiio", ".hdf5"} for path in folder.rglob("*")):
            message = f"{folder} has records of another run: give --records an empty folder"
            raise BenchError(message, USAGE)
        try:
            if compare:
                status, lines = _compared(command, compare, folder, settings)
            else:
                variables = settings | (take_over_variables() if take_over else {})
                variables |= hdf5_variables(folder) if hdf5 else {}
                status, lines = observe(command, observers, folder, variables), []
        except OSError as error:
            message = f"{command[0]} cannot be run: {error.strerror}"
            raise BenchError(message) from error
        if mpi_io and not compare:
            lines = _mpi_io_lines(command[0], folder)
        if hdf5:
            lines += _hdf5_lines(command[0], folder)
        if advise:
            lines += _advice_lines(command[0], folder, limits, status)
    finally:
        if records is None:
            shutil.rmtree(folder, ignore_errors=True)
    for line in lines:
        warn(line)
    return status


def _check_settings(settings: dict[str, str], *, carries_out: bool) -> None:
    if settings and not carries_out:
        message = (
            "settings of sessions and --all-nodes are about calls that Weir carries out, and it "
            "only counts them: give --take-over, too"
        )
        raise BenchError(message, USAGE)


def _check_comparison(*, advise: bool, hdf5: bool) -> None:
    message = ""
    if advise:
        message = "--compare times calls of MPI-IO, which --advise would delay: give one of them"
    elif hdf5:
        message = "--compare is about calls of MPI-IO, of which --hdf5 takes some: give one of them"
    if message:
        raise BenchError(message, USAGE)


def _compared(
    command: list[str], pairs: int, folder: Path, settings: dict[str, str]
) -> tuple[int, list[str]]:
    from weir.mpiio.comparison import compare  # noqa: PLC0415

    compared = compare(command, pairs, folder, settings, warn)
    return compared.status, [*compared.lines(), *_sums_lines(command[0], compared.sums)]


def _mpi_io_lines(program: str, folder: Path) -> list[str]:
    from weir.mpiio.records import sum_up  # noqa: PLC0415

    return _sums_lines(program, sum_up(sorted(folder.glob("*.mpiio"))))


def _hdf5_lines(program: str, folder: Path) -> list[str]:
    from weir.mpiio.records import sum_up  # noqa: PLC0415
    from weir.mpiio.table import HDF5, table  # noqa: PLC0415

    sums = sum_up(sorted(folder.glob("*.hdf5")))
    if sums.processes + sums.incomplete > 0:
        return list(table(sums, HDF5))
    return [
        f"{program} loaded no connector: it uses no HDF5 1.14, or chooses another, or was killed"
    ]


def _sums_lines(program: str, sums: Sums) -> list[str]:
    from weir.mpiio.table import table  # noqa: PLC0415

    if sums.processes + sums.incomplete > 0:
        return list(table(sums))
    return [f"{program} ended no MPI: it uses none, or it is linked statically, or it was killed"]


def _advice_lines(program: str, folder: Path, limits: dict[str, int], status: int) -> list[str]:
    from weir.advise.records import read_records  # noqa: PLC0415
    from weir.advise.rules import advice_on  # noqa: PLC0415
    from weir.advise.text import advice_text  # noqa: PLC0415
    from weir.advise.use import merge  # noqa: PLC0415

    use = merge(read_records(folder))
    if use.ranks + use.killed == 0:
        message = f"{program} left no record: it may be linked statically"
        raise BenchError(message, status or 1)
    return list(advice_text(use, advice_on(use, limits)))


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
