"""``weir platform history``: which test changed which constant of a platform's model."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from weir.bench.tables import plain_table
from weir.commands.terminal import output_console
from weir.platform.files import find_description
from weir.results.errors import ResultError
from weir.results.quantities import rate_text, seconds_text, significant
from weir.results.record import Quantity
from weir.results.revisions import Change, ledger_path, read_revisions

MOST_RUNS_SHOWN = 2


def history_command(
    platform: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|NAME",
            help="Description file, or its name in platforms/.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show how the constants of a platform changed: before, after, and by which runs."""
    description = find_description(platform)
    revisions = read_revisions(description)
    if not revisions:
        raise ResultError(
            f"{description} has no ledger {ledger_path(description).name}: weir platform fit and "
            "probe write it"
        )
    table = plain_table("", "made", "constant", ">before", ">after", ">ratio", "=by")
    for one in revisions:
        for change in one.changes:
            table.add_row(
                str(one.revision),
                one.made_utc.replace("T", " ").removesuffix("Z"),
                escape(change.constant),
                _text(change.before, change.unit),
                _text(change.after, change.unit),
                _ratio(change),
                escape(_by(change, one.how)),
            )
    output_console().print(table, highlight=False)


def _text(one: Quantity | None, unit: str) -> str:
    if one is None:
        return "none"
    if unit == "bytes/s":
        return rate_text(one.value)
    return seconds_text(one.value) if unit == "s" else f"{significant(one.value)} {unit}"


def _ratio(change: Change) -> str:
    if change.before is None or change.after is None or change.before.value == 0:
        return ""
    return f"{change.after.value / change.before.value:.2f}"


def _by(change: Change, how: str) -> str:
    if not change.runs:
        return how
    more = len(change.runs) - MOST_RUNS_SHOWN
    shown = ", ".join(change.runs[:MOST_RUNS_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown
