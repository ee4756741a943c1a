"""Formats numbers with their units for people. Rates and sizes use powers of 1024."""

from __future__ import annotations

import math

from weir.results.series import Unit

_SIZES = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def significant(value: float, digits: int = 3, grouping: str = "") -> str:
    """Formats a number with significant digits and no exponent: ``1.42``, ``23.0``, ``988``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    rounded = round(value, decimals)
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:{grouping}.{decimals}f}"


def size_text(size_bytes: float) -> str:
    """Formats a size: ``7.63 MiB``, ``512 bytes``."""
    for scale, name in _SIZES:
        if abs(size_bytes) >= scale * 0.9995:
            return f"{significant(size_bytes / scale)} {name}"
    return f"{size_bytes:.0f} bytes"


def rate_text(bytes_per_second: float | None) -> str:
    """Formats a rate in KiB/s or larger: ``1.42 GiB/s``; ``not measured`` for None."""
    if bytes_per_second is None:
        return "not measured"
    for scale, name in _SIZES[:3]:
        if abs(bytes_per_second) >= scale * 0.9995:
            return f"{significant(bytes_per_second / scale)} {name}/s"
    return f"{significant(bytes_per_second / 2.0**10)} KiB/s"


def seconds_text(seconds: float) -> str:
    """Formats a time: ``38 ms``, ``1.20 s``."""
    for scale, name in _TIMES:
        if abs(seconds) >= scale * 0.9995:
            return f"{significant(seconds / scale)} {name}"
    return "0 s"


def value_text(value: float | None, unit: Unit = "bytes/s") -> str:
    """Formats a figure: ``1.42 GiB/s``, ``3,500/s``, ``38.0 ms``."""
    if unit == "bytes/s" or value is None:
        return rate_text(value)
    return f"{significant(value, 3, ',')}/s" if unit == "1/s" else seconds_text(value)


def range_text(low: float, high: float, unit: Unit = "bytes/s") -> str:
    """Formats two figures: ``1.31 GiB/s to 1.50 GiB/s``."""
    return f"{value_text(low, unit)} to {value_text(high, unit)}"


def percent_text(fraction: float, decimals: int = 0) -> str:
    """Formats a fraction of 1: ``34 %``."""
    return f"{100 * fraction:.{decimals}f} %"


MIX_PART = "mix/"
"""Prefix of the names of operations of a mix (workload metadata), beside the mix itself."""


def phase_name(function: str, direction: str) -> str:
    """Returns the name of a phase: ``S write``, or ``read`` if the function has the same name."""
    return direction if function == direction else f"{function} {direction}"
