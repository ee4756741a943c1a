"""A table of words and figures, which the terminal and a report print alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from weir.results.quantities import percent_text, range_text, value_text
from weir.results.series import Unit


class Value(NamedTuple):
    """A figure with its unit."""

    value: float
    unit: Unit | Literal["count", "share"]


class Range(NamedTuple):
    """The two ends of an interval."""

    low: float
    high: float
    unit: Unit
    remark: str = ""


class Word(NamedTuple):
    """A verdict, with the number of runs that have it if runs disagree."""

    verdict: str
    remark: str = ""


Cell = str | Value | Range | Word | None


@dataclass(frozen=True)
class Listing:
    """Rows of cells. Columns from ``numeric_from`` on are of figures."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numeric_from: int = 1
    lead: str = ""
    """The result in one sentence."""
    note: str = ""
    """How the figures are to be read."""


def names_by_text(told: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Returns each text once, with the names of what it applies to; ``told``: (text, name)."""
    found: dict[str, list[str]] = {}
    for text, name in told:
        found.setdefault(text, []).append(name)
    return found


def cell_text(cell: Cell) -> str:
    """Formats a cell for a terminal."""
    if isinstance(cell, Word):
        return cell.verdict + cell.remark
    if isinstance(cell, Range):
        return range_text(*cell[:3]) + cell.remark
    if not isinstance(cell, Value):
        return cell or ""
    if cell.unit == "count":
        return f"{round(cell.value):,}"
    return percent_text(cell.value) if cell.unit == "share" else value_text(cell.value, cell.unit)
