"""The part of ``run.json`` about a run that another program measured."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from weir.results.action_records import OperationMetric
from weir.results.expectations import Direction
from weir.results.record import Count, Latencies, Record
from weir.results.series import Series, Unit, stored_in


class ImportedOperations(Series):
    """Operations per second as the program states them.

    Of repetitions that are not known one by one, ``values`` is empty, the median is their mean, and
    the interval is their range.
    """

    unit: ClassVar[Unit] = "1/s"
    model_config = stored_in("1/s")
    action: str = Field(
        description="action of weir-bench metadata; operations: reads or writes of any kind"
    )
    direction: Direction | None
    metric: OperationMetric
    latencies: Latencies | None = Field(default=None, description="without buckets")


OWN_PROGRAM = "weir-bench"
"""The table that this program prints can be imported as well, if the run folder is lost."""


class Imported(Record):
    """Where the figures of an imported run come from, of which Weir has no more than a text."""

    program: str
    version: str = Field(description="as the output names it; empty if it does not")
    file: str = Field(description="path as it was given")
    sha256: str = Field(description="of the whole file")
    imported_utc: str
    repetitions: Count = Field(description="of the figure with most of them")
    operations: list[ImportedOperations] = Field(default_factory=list)
    stated: dict[str, str | float] = Field(
        default_factory=dict, description="what the program states besides, such as a score"
    )
    remarks: list[str] = Field(default_factory=list, description="how the figures are to be read")

    @property
    def note(self) -> str:
        """Says in one sentence where the figures come from."""
        version = f" {self.version}" if self.version else ""
        own = self.program == OWN_PROGRAM
        known = (
            "read from what it printed, without its run folder" if own else "not measured by Weir"
        )
        return (
            f"Imported from {self.file} with the SHA-256 {self.sha256}, output of "
            f"{self.program}{version}; {known}."
        )
