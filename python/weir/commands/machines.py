"""``weir results machines``: machines beside each other, by MADbench2's rates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weir.analysis.machines import Bar, bars_of, machines_listing, read_bars, usual_ranks
from weir.analysis.madbench_runs import Observed, observed
from weir.bench.errors import USAGE, BenchError
from weir.bench.tables import show_listing
from weir.commands.find_runs import Root, find_runs, tell_changes
from weir.commands.terminal import output_console, warn
from weir.platform.files import find_description
from weir.report.picture_file import SUFFIXES
from weir.results.errors import ResultError
from weir.results.platform_file import load_platform


def machines_command(
    results: Annotated[
        list[str],
        typer.Argument(
            help="NAME=FOLDER with a machine's runs, or a CSV file with rates of machines.",
            metavar="MACHINE",
        ),
    ],
    ranks: Annotated[
        int | None,
        typer.Option("--ranks", min=1, help="Number of ranks [the one that most machines have]"),
    ] = None,
    predict: Annotated[
        list[str] | None,
        typer.Option(
            "--predict",
            metavar="NAME[,NAME...]",
            help="Add what these described machines should reach in the runs of the first FOLDER.",
        ),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Also draw them, to FILE.svg or FILE.html.")
    ] = None,
    root: Root = None,
) -> None:
    """Compare machines by runs of madbench on as many ranks: four panels, ratio to the best.

    The panels are reading and writing unique files and a shared one, each by the better of POSIX
    and MPI-IO. A FOLDER without NAME= gives the machine its own name. A CSV file has the columns
    machine, cpus, file_type (UNIQUE or SHARED), direction (read or write) and GBps. With --predict,
    descriptions such as jaguar say what their machines should reach: weir platform show --shipped.
    """
    if picture is not None and picture.suffix not in SUFFIXES:
        raise BenchError(f"--picture {picture}: give a file that ends in .svg or .html", USAGE)
    found = [_machine(text, root) for text in results]
    bars = [bar for of_machine, _ in found for bar in of_machine]
    names_given = [name for given in predict or [] for name in given.split(",") if name]
    bars += _predicted(names_given, next((runs for _, runs in found if runs), []))
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


def _machine(text: str, root: Path | None) -> tuple[list[Bar], list[Observed]]:
    """Returns a machine's bars, and the runs that they are from."""
    name, separator, place = text.partition("=")
    if not separator:
        name, place = Path(text).resolve().name, text
    if Path(place).is_file() and place.endswith(".csv"):
        return read_bars(Path(place)), []
    found = find_runs(place, root)
    tell_changes(found)
    runs = observed((f"{folder.parent} {run.started_utc}", run) for folder, run in found)
    bars = bars_of(name, runs)
    if not bars:
        raise ResultError(f"{place} has no complete synchronous run of the workload madbench")
    return bars, runs


def _predicted(names: list[str], runs: list[Observed]) -> list[Bar]:
    if not names:
        return []
    if not runs:
        raise ResultError("--predict needs runs to predict: give a FOLDER with runs of madbench")
    from weir.model.predicted_machine import predicted_bars  # noqa: PLC0415 (only predictions)

    bars = []
    for name in names:
        platform = load_platform(find_description(name))
        try:
            bars += predicted_bars(platform, runs)
        except ValueError as error:
            raise ResultError(f"--predict {name}: {error}") from None
    return bars
