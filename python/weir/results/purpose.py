"""Why a run was made, and what its author expected before it.

"In proposing follow-up tests it is important to identify the motivation and expected result for
each such test" (Uselton, section 2.9.1).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from weir.results.expectations import Direction
from weir.results.record import NonNegative, Record

Goal = Literal["new region", "confirm", "refined method"]
"""The three goals of a follow-up test in that section: to look for new behaviour in new regions of
parameter space, to confirm what was observed or interpolated, to test with a refined method."""


class ExpectedResult(Record):
    """The rate that a run was expected to reach when it was proposed."""

    direction: Direction
    bytes_per_second: NonNegative
    low_bytes_per_second: NonNegative
    high_bytes_per_second: NonNegative


class Purpose(Record):
    """Why a run was made."""

    goal: Goal | None = None
    motivation: str = Field(default="", description="why the test was worth its time")
    expects: str = Field(default="", description="expected result in words, with its interval")
    expected: list[ExpectedResult] = Field(
        default_factory=list, description="the expected rates, where they can be given as numbers"
    )
    note: str = Field(default="", description="free text")
    decides: str = Field(default="", description="what follows from each possible result")
    follows: list[str] = Field(
        default_factory=list, description="ids of the runs after which this one was proposed"
    )
