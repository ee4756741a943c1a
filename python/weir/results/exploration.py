"""``exploration.jsonl``: the steps of ``weir explore``, one JSON object per line, oldest first.

The ledger stands in the campaign's folder. It has what each test was made for, what was expected
and measured, and how well the rates were known afterwards.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from weir.results.campaign import Value
from weir.results.ledger import append_to_ledger, read_ledger
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
    append_to_ledger(folder / LEDGER_FILE, step)


def load_steps(folder: Path) -> list[ExplorationStep]:
    """Returns the steps of an exploration; none without its ledger."""
    return read_ledger(folder / LEDGER_FILE, ExplorationStep)
