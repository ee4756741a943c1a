"""``weir results machines``: machines beside each other, by MADbench2's rates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weir.analysis.machines import Bar, bars_of, machines_listing, read_bars, usual_ranks
from weir.analysis.madbench_findings import observed
from weir.bench.tables import show_listing
from weir.commands.find_runs import Root, find_runs, tell_changes
from weir.commands.terminal import output_console, warn
from weir.report.picture_file import SUFFIXES
from weir.results.errors import ResultError


def machines_command(
    results: Annotated[
        list[str],
        typer.Argument(
            help="NAME=FOLDER with a machine's runs, or a CSV file with rates of machines.",
            metavar="MACHINE...",
        ),
    ],
    ranks: Annotated[
        int | None,
        typer.Option("--ranks", min=1, help="Number of ranks [the one that most machines have]"),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Also draw them, to FILE.svg or FILE.html.")
    ] = None,
    root: Root = None,
) -> None:
    """Compare machines by runs of madbench on as many ranks: four panels, ratio to the best.

    The panels are reading and writing unique files and a shared one, each by the better of POSIX
    and MPI-IO. A FOLDER without NAME= gives the machine its own name. A CSV file has the columns
    machine, cpus, file_type (UNIQUE or SHARED), direction (read or write) and GBps.
    """
    if picture is not None and picture.suffix not in SUFFIXES:
        raise typer.BadParameter(f"--picture {picture}: give a file that ends in .svg or .html")
    bars = [bar for text in results for bar in _bars(text, root)]
    chosen = ranks if ranks is not None else usual_ranks(bars)
    shown = [bar for bar in bars if bar.ranks == chosen]
    if not shown:
        known = ", ".join(str(count) for count in sorted({bar.ranks for bar in bars}))
        raise ResultError(f"no machine has runs on {chosen} ranks: give --ranks one of {known}")
    names = {bar.machine for bar in bars}
    without = sorted(names - {bar.machine for bar in shown})
    if without:
        warn(f"left out, because they have no runs on {chosen} ranks: {', '.join(without)}")
    show_listing(output_console(), machines_listing(shown, chosen))
    if picture is not None:
        from weir.report.machines import draw_machines  # noqa: PLC0415 (only pictures need it)
        from weir.report.picture_file import write_picture_file  # noqa: PLC0415

        title = f"Machines at {chosen} ranks"
        written = write_picture_file(picture, title, draw_machines(shown, chosen))
        typer.echo(f"Picture: {written}")


def _bars(text: str, root: Path | None) -> list[Bar]:
    name, separator, place = text.partition("=")
    if not separator:
        name, place = Path(text).resolve().name, text
    if Path(place).is_file() and place.endswith(".csv"):
        return read_bars(Path(place))
    found = find_runs(place, root)
    tell_changes(found)
    runs = observed((f"{folder.parent} {run.started_utc}", run) for folder, run in found)
    bars = bars_of(name, runs)
    if not bars:
        raise ResultError(f"{place} has no complete synchronous run of the workload madbench")
    return bars
