"""``weir convert``: converts files of arrays between formats, layouts and chunk shapes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bar

from weir.bench.errors import USAGE, BenchError
from weir.commands.terminal import message_console, output_console
from weir.results.quantities import size_text


def convert_command(
    source: Annotated[Path, typer.Argument(help="an HDF5, NetCDF, Zarr or raw file")],
    target: Annotated[Path, typer.Argument(help="the file to write")],
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format", help="format: hdf5, cdf5, cdf2, cdf1, zarr, raw [by the target's suffix]"
        ),
    ] = None,
    chunks: Annotated[
        list[str] | None,
        typer.Option(
            "--chunks",
            help=(
                "extents of chunks: 64,64 for all arrays with as many dimensions, NAME=64,64 "
                "for one array [as in the source]"
            ),
        ),
    ] = None,
    shards: Annotated[
        list[str] | None,
        typer.Option(
            "--shards",
            help="extents of shards, the files with several chunks (zarr), in the same forms",
        ),
    ] = None,
    codec: Annotated[
        str | None,
        typer.Option(
            "--codec",
            help=(
                "codecs of the chunks: zstd:1, shuffle,deflate:4 … [as in the source if the "
                "format is the same]"
            ),
        ),
    ] = None,
    checksum: Annotated[
        str | None,
        typer.Option(
            "--checksum", help="checksums of the target's blocks: crc32c, none [as in the source]"
        ),
    ] = None,
    array: Annotated[
        list[str] | None, typer.Option("--array", help="convert only this array; may be repeated")
    ] = None,
    steps: Annotated[
        list[str] | None,
        typer.Option(
            "--steps", help="the first dimension of this array counts steps; may be repeated"
        ),
    ] = None,
    skip_unreadable: Annotated[
        bool,
        typer.Option(
            "--skip-unreadable",
            help="leave out arrays that cannot be read and attributes that cannot be stored",
        ),
    ] = False,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="threads [cores]")] = None,
    memory: Annotated[
        int, typer.Option("--memory", min=1, help="MiB of memory for elements in transit")
    ] = 256,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="replace an existing file")
    ] = False,
) -> None:
    """Convert a file of arrays: to another format, layout or chunk shape.

    The target appears when it is whole and durable; after a failure it is as it was before.
    """
    # Imported here so that the command line starts without them.
    import weir  # noqa: PLC0415
    from weir.convert import ConversionError, Layout, Progress, convert  # noqa: PLC0415

    if target.exists() and not overwrite:
        message = f"{target} already exists: remove it, or give --overwrite"
        raise BenchError(message, USAGE)
    layout = Layout(
        _extents("--chunks", chunks),
        _extents("--shards", shards),
        codec,
        checksum,
        tuple(steps or ()),
    )
    started = time.monotonic()
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    console = message_console()

    def name_line(line: str) -> None:
        console.print(f"{source}: {line}", highlight=False, markup=False, soft_wrap=True)

    try:
        with (
            weir.open(source, verify="touched") as file,
            Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
        ):
            shown = bar.add_task("", total=None)

            def tell(progress: Progress) -> None:
                bar.update(
                    shown, completed=progress.bytes_done, total=max(1, progress.bytes_in_all)
                )

            done = convert(
                file, target, file_format=file_format, layout=layout, arrays=array or (),
                skip_unreadable=skip_unreadable, overwrite=overwrite,
                workers=workers or len(os.sched_getaffinity(0)), memory_bytes=memory << 20,
                tell=tell, name_line=name_line,
            )  # fmt: skip
    except ConversionError as error:
        for line in error.lines:
            name_line(line)
        raise BenchError(str(error), USAGE) from None
    seconds = time.monotonic() - started
    output_console().print(
        f"{target}: {size_text(done.bytes_done)} of elements in {seconds:.1f} s",
        highlight=False, markup=False,
    )  # fmt: skip


def _extents(option: str, given: list[str] | None) -> dict[str, tuple[int, ...]]:
    """Parses "64,64" and "NAME=64,64" to extents by an array's name, "" for all."""
    found = {}
    for text in given or ():
        name, _, extents = text.rpartition("=")
        try:
            numbers = tuple(int(number) for number in extents.split(","))
        except ValueError:
            numbers = ()
        if not numbers or min(numbers) < 1:
            message = f"{option} {text}: give whole numbers of at least 1, such as 64,64"
            raise BenchError(message, USAGE)
        found[name] = numbers
    return found


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("convert")(convert_command)
