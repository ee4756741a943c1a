"""One figure of a run by its unit: what was measured, what was expected, and how both compare.

The same records serve bytes per second, operations per second and seconds. In ``run.json`` the
names of their figures end in their unit: ``median_bytes_per_second``, ``median_per_second``,
``median_seconds``; in Python all are called ``median``.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field

from weir.results.record import NonNegative, Quantity, Record, VerdictWord
from weir.results.statistics import median_interval

Unit = Literal["bytes/s", "1/s", "s"]

Key = tuple[str, str | None]
"""Which figure is meant: a direction and a metric, or an action, whose metric is the headline's."""

_STORED = {"value": "expected", "rate": "rate"}
_FIGURES = ("values", "median", "low", "high", "measured", "expected", *_STORED)
_ENDINGS: dict[Unit, str] = {"bytes/s": "bytes_per_second", "1/s": "per_second", "s": "seconds"}


def stored_in(unit: Unit) -> ConfigDict:
    """Returns the configuration of a record whose figures have this unit in ``run.json``."""

    def stored(name: str) -> str:
        if name not in _FIGURES:
            return name
        if (name, unit) == ("rate", "1/s"):
            return "per_second"
        return f"{_STORED.get(name, name)}_{_ENDINGS[unit]}"

    return ConfigDict(alias_generator=stored, populate_by_name=True)


class Series(Record):
    """One figure over the measured repetitions (warm-ups left out)."""

    unit: ClassVar[Unit]
    values: list[NonNegative]
    median: NonNegative
    low: NonNegative = Field(description="confidence interval of the median, lower end")
    high: NonNegative
    confidence: float = Field(
        description="coverage that the number of repetitions allows, from 0 to 1"
    )
    converged: bool = Field(
        description="true if the 95 % interval is within the requested fraction of the median"
    )

    @classmethod
    def of(cls, values: Sequence[float], **more: Any) -> Self:
        """Returns the series of these values, of which there is at least one."""
        median, low, high, confidence = median_interval(values)
        return cls(
            values=list(values),
            median=median,
            low=low,
            high=high,
            confidence=confidence,
            converged=False,
            **more,
        )

    @property
    def mean(self) -> float | None:
        return statistics.fmean(self.values) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the values; None for fewer than two."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None


class Limit(Record):
    """What a figure cannot exceed, such as a stage of the byte's path."""

    name: str
    rate: NonNegative
    low: NonNegative
    high: NonNegative
    limiting: bool = Field(default=False, description="true if this stage is the limit")
    how: str


class Expected(Record):
    """What a figure should reach, made before the run."""

    unit: ClassVar[Unit]
    value: NonNegative | None = Field(description="null: no expectation is possible")
    low: NonNegative | None = None
    high: NonNegative | None = None
    limiting_stage: str = ""
    how: str = Field(description="how the figure was derived, or why there is none")

    @property
    def key(self) -> Key:
        raise NotImplementedError

    @property
    def limited_by(self) -> Sequence[Limit]:
        """What limits it, from the application or the ranks to what they share."""
        raise NotImplementedError

    @property
    def quantity(self) -> Quantity | None:
        if not self.value or self.low is None or self.high is None:
            return None
        return Quantity(value=self.value, low=self.low, high=self.high)


class Judged(Record):
    """One figure against its expectation. ``ratio`` is measured over expected."""

    measured: NonNegative
    expected: NonNegative | None
    ratio: NonNegative | None = Field(description="measured value divided by the expected one")
    verdict: VerdictWord
    text: str

    @property
    def key(self) -> Key:
        raise NotImplementedError
