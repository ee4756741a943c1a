"""``exploration.jsonl``: the steps of ``weir explore``, one JSON object per line, oldest first.

The ledger stands in the campaign's folder. It has what each test was made for, what was expected
and measured, and how well the rates were known afterwards.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from weir.results.campaign import Value
from weir.results.errors import ResultError
from weir.results.folder import describe_validation, refuse_newer
from weir.results.purpose import Goal
from weir.results.record import Quantity, Record

LEDGER_FILE = "exploration.jsonl"


class Outcome(Record):
    """One rate of a test: as it was expected, and as it was measured."""

    rate: str
    expected: Quantity
    bytes_per_second: float
    inside: bool = Field(description="whether the rate lies in the interval that was expected")


class Knowledge(Record):
    """How well a rate is known over all combinations of the levels."""

    rate: str
    held_out_error: float | None = Field(
        description="median relative error of points that were left out"
    )
    widest: float = Field(
        description="largest share by which a rate may exceed its prediction, at 95 %"
    )
    widest_at: dict[str, Value]


class ExplorationStep(Record):
    """What one test changed. Step 0 is the first design."""

    format_version: Literal[1] = 1
    step: int = Field(ge=0)
    made_utc: str
    runs: list[int] = Field(description="numbers of the runs in campaign.json")
    settings: dict[str, Value]
    goal: Goal | None = None
    motivation: str
    outcomes: list[Outcome]
    known: list[Knowledge]


def append_step(folder: Path, step: ExplorationStep) -> None:
    """Adds a line to the ledger, and waits until it is on disk."""
    file = folder / LEDGER_FILE
    try:
        with file.open("a", encoding="utf-8") as stream:
            stream.write(step.model_dump_json() + "\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise ResultError(f"{file} cannot be written: {error.strerror}") from None


def load_steps(folder: Path) -> list[ExplorationStep]:
    """Returns the steps of an exploration; none without its ledger."""
    file = folder / LEDGER_FILE
    if not file.is_file():
        return []
    found = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            found.append(ExplorationStep.model_validate_json(line))
        except ValidationError as error:
            refuse_newer(file, line.encode(), 1)
            raise ResultError(f"{file} line {number}: {describe_validation(error)}") from None
    return found
