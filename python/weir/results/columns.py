"""Columns of tables for SQL, each with its type and its place in what a row is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from types import SimpleNamespace
from typing import Any

Row = tuple[Any, ...]


class Columns:
    """The columns of one table.

    ``specified`` has, between commas, their names, types, and places such as
    ``phase.io_seconds.max``. The first word of a place is a name in what a row is made of.
    """

    def __init__(self, specified: str) -> None:
        words = [one.split() for one in specified.split(",")]
        self.types = {name: kind for name, kind, _ in words}
        self._places = [place.split(".") for _, _, place in words]

    def row_of(self, found: Mapping[str, Any]) -> Row:
        """Returns a row; a cell is None where its place is not there."""
        return tuple(_at(SimpleNamespace(**found), place) for place in self._places)


def _at(found: object, place: Sequence[str]) -> Any:
    return reduce(lambda value, name: getattr(value, name, None), place, found)
