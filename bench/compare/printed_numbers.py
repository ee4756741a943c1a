"""Numbers that the papers print, from tables in tests/reference."""

from __future__ import annotations

import csv

from programs import CLONE

REFERENCE = CLONE / "tests" / "reference"


def rows_of(name: str) -> list[dict[str, str]]:
    """Returns the rows of a table of the papers' numbers."""
    with (REFERENCE / f"{name}.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))
