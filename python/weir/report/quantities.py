"""Formats numbers with units, as text and as ``<data>`` elements that keep the exact value.

Rates and sizes are scaled by powers of 1024 (KiB/s, MiB/s, GiB/s); the exact number is in the
element's ``value`` and in its tooltip.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from weir.report.markup import Markup, element
from weir.results import quantities
from weir.results.series import Series
from weir.results.series import Unit as FigureUnit

THIN_SPACE = "\u202f"
NO_VALUE = "\u2013"
LEAST_PERCENT = 0.01
KIBI, MEBI, GIBI, TEBI = 2.0**10, 2.0**20, 2.0**30, 2.0**40


@dataclass(frozen=True)
class Unit:
    """A unit, and the number of base units (bytes, bytes per second, seconds) in it."""

    name: str
    size: float

    def number(self, value: float, digits: int = 3) -> str:
        return significant(value / self.size, digits)

    def text(self, value: float, digits: int = 3) -> str:
        return f"{self.number(value, digits)} {self.name}"


RATE_UNITS = (
    Unit("KiB/s", KIBI),
    Unit("MiB/s", MEBI),
    Unit("GiB/s", GIBI),
    Unit("TiB/s", TEBI),
)
SIZE_UNITS = (
    Unit("bytes", 1),
    Unit("KiB", KIBI),
    Unit("MiB", MEBI),
    Unit("GiB", GIBI),
    Unit("TiB", TEBI),
)
PER_SECOND = (Unit("1/s", 1), Unit("1000/s", 1e3), Unit("million/s", 1e6))
TIME_UNITS = (Unit("ns", 1e-9), Unit("µs", 1e-6), Unit("ms", 1e-3), Unit("s", 1))

SCALES: dict[FigureUnit, Sequence[Unit]] = {
    "bytes/s": RATE_UNITS,
    "1/s": PER_SECOND,
    "s": TIME_UNITS,
}
"""The scales in which figures of a unit are drawn."""


def fitting_unit(units: Sequence[Unit], value: float) -> Unit:
    """Returns the largest of the ascending units that is at most the value, else the smallest."""
    size = abs(value)
    return next((unit for unit in reversed(units) if size >= unit.size * 0.9995), units[0])


def rate_unit(largest: float) -> Unit:
    """Returns the most readable unit for rates up to ``largest`` bytes per second."""
    return fitting_unit(RATE_UNITS, largest)


def time_unit(largest: float) -> Unit:
    """Returns the most readable unit for times up to ``largest`` seconds."""
    return fitting_unit(TIME_UNITS, largest)


def grouped(value: int) -> str:
    """Formats an integer with its digits in groups of three."""
    return f"{value:,}".replace(",", THIN_SPACE)


def significant(value: float, digits: int = 3) -> str:
    """Formats a number with this many significant digits and no exponent."""
    if not math.isfinite(value):
        return NO_VALUE
    return quantities.significant(value, digits, ",").replace(",", THIN_SPACE)


def rate_text(bytes_per_second: float) -> str:
    return rate_unit(bytes_per_second).text(bytes_per_second)


def size_text(size_bytes: float) -> str:
    unit = fitting_unit(SIZE_UNITS, size_bytes)
    if unit.size == 1:
        return f"{grouped(round(size_bytes))} {'byte' if size_bytes == 1 else 'bytes'}"
    return unit.text(size_bytes)


def seconds_text(seconds: float) -> str:
    return time_unit(seconds).text(seconds) if seconds else "0 s"


def nanoseconds_text(nanoseconds: int) -> str:
    return seconds_text(nanoseconds * 1e-9)


def percent_text(fraction: float) -> str:
    percent = fraction * 100
    if 0 < abs(percent) < LEAST_PERCENT:
        return f"under {LEAST_PERCENT} %"
    if percent != 0 and abs(percent) < 1:
        return f"{significant(percent, 2)} %"
    return f"{percent:.0f} %"


def rate_range_text(low: float, high: float) -> str:
    """Formats ``1.30 to 1.72 GiB/s``, or ``332 MiB/s to 1.10 GiB/s`` if that is more readable."""
    unit = rate_unit(high)
    if rate_unit(low) != unit:
        return f"{rate_text(low)} to {rate_text(high)}"
    return f"{unit.number(low)} to {unit.text(high)}"


def rate(bytes_per_second: float | None, unit: Unit | None = None) -> Markup:
    """Formats a rate; its exact value in bytes per second is in ``value`` and in the tooltip."""
    if bytes_per_second is None:
        return element("span", NO_VALUE, class_="none", title="not measured")
    text = (unit or rate_unit(bytes_per_second)).text(bytes_per_second)
    exact = f"{grouped(round(bytes_per_second))} bytes per second"
    return element("data", text, value=repr(float(bytes_per_second)), title=exact)


def figure_text(value: float, unit: FigureUnit) -> str:
    if unit == "1/s":
        return f"{significant(value)} per second"
    return rate_text(value) if unit == "bytes/s" else seconds_text(value)


def figure_range_text(low: float, high: float, unit: FigureUnit) -> str:
    """Formats the two ends of an interval, with the unit where it is not per second."""
    if unit == "1/s":
        return f"{significant(low)} to {significant(high)}"
    if unit == "bytes/s":
        return rate_range_text(low, high)
    return f"{seconds_text(low)} to {seconds_text(high)}"


def shown(value: float | None, unit: FigureUnit) -> Markup:
    """Formats a figure for a table; its exact value is in ``value`` and in the tooltip."""
    if value is None or unit == "bytes/s":
        return rate(value)
    if unit == "s":
        return seconds(value)
    return element("data", significant(value), value=repr(value), title=f"{value!r} per second")


def interval(series: Series) -> Markup:
    """Formats the interval of a median; mean and standard deviation are in its tooltip."""
    said = None
    if series.mean is not None and series.deviation is not None:
        mean, deviation = (figure_text(one, series.unit) for one in (series.mean, series.deviation))
        said = f"mean {mean}, standard deviation {deviation}"
    return element("span", figure_range_text(series.low, series.high, series.unit), title=said)


def size(size_bytes: int) -> Markup:
    exact = f"{grouped(size_bytes)} bytes"
    return element("data", size_text(size_bytes), value=str(size_bytes), title=exact)


def seconds(value: float, unit: Unit | None = None) -> Markup:
    text = unit.text(value) if unit and value else seconds_text(value)
    return element("data", text, value=repr(float(value)), title=f"{value!r} s")


def nanoseconds(value: int) -> Markup:
    exact = f"{grouped(value)} ns"
    return element("data", nanoseconds_text(value), value=str(value), title=exact)


def count(value: int) -> Markup:
    return element("data", grouped(value), value=str(value))


def plural(number: int, singular: str, several: str | None = None) -> str:
    """Formats ``1 run``, ``8 runs``."""
    return f"{grouped(number)} {singular if number == 1 else several or singular + 's'}"


def ranks_text(ranks: Sequence[int]) -> str:
    """Formats rank numbers with consecutive ones joined: ``0-15, 20`` (with an en dash)."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ", ".join(str(a) if a == b else f"{a}\u2013{b}" for a, b in runs)
