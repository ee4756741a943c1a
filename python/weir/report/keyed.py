"""Free-form records of ``run.json`` (environment, calibration) as tables of key and value."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from weir.report.chart import table
from weir.report.markup import Markup, element, join
from weir.report.quantities import NO_VALUE, grouped, rate, seconds, significant, size

LONGEST_LIST = 32
GROUP_FROM = 10_000
EXACT_BELOW = 10_000
"""Fewer bytes are told exactly if they are no whole KiB: 1400 bytes of an MTU, not 1.37 KiB."""
UNITS = ("bytes_per_second", "operations_per_second", "bytes", "seconds", "percent")
"""Suffixes of a key that name the unit of the numbers below it."""


def key_value_table(record: Mapping[str, Any], caption: str, *, titled: bool = False) -> Markup:
    """Returns one row per leaf; nested keys are joined, and a key's unit moves to the value."""
    rows = [[_label(path, value), _value(path, value)] for path, value in _leaves(record, ())]
    return table(["", ""], rows, caption=caption, numeric_from=2, class_="keyed", titled=titled)


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for place, inner in enumerate(value):
            yield from _leaves(inner, (*path, str(place)))
    else:
        yield path or ("",), value


def unit_of(path: tuple[str, ...]) -> str | None:
    """Returns the unit in the innermost key with a unit: ``storage_bytes_per_second > median``."""
    for key in reversed(path):
        for unit in UNITS:
            if key == unit or key.endswith(f"_{unit}") or f"_{unit}_" in key:
                return unit
    return None


def _label(path: tuple[str, ...], value: Any) -> str:
    unit = unit_of(path)
    numbers = value if isinstance(value, list) else [value]
    if unit is None or not all(_is_number(number) for number in numbers):
        return " \u203a ".join(part.replace("_", " ") for part in path)
    shortened = [part.removesuffix(f"_{unit}") for part in path]
    if len(path) > 1 and path[-1] == unit:
        shortened.pop()
    return " \u203a ".join(part.replace("_", " ") for part in shortened)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(path: tuple[str, ...], value: Any) -> Markup:
    if value is None or value in ({}, []):
        return element("span", NO_VALUE, class_="none", title="not recorded")
    if not isinstance(value, list):
        return _scalar(path, value)
    if path[-1] == "command":
        return element("code", shlex.join(str(word) for word in value))
    shown = [_scalar(path, item) for item in value[:LONGEST_LIST]]
    separated = [part for item in shown for part in (Markup(", "), item)][1:]
    more = f" \u2026 ({len(value)} in all)" if len(value) > LONGEST_LIST else None
    return join(separated, more)


def _scalar(path: tuple[str, ...], value: Any) -> Markup:
    if isinstance(value, bool):
        return Markup("yes" if value else "no")
    if isinstance(value, int | float):
        return _number(unit_of(path), value)
    return element("bdi", str(value))


def _number(unit: str | None, value: float) -> Markup:
    if unit == "bytes_per_second":
        return rate(float(value))
    if unit == "bytes":
        exact = 0 < value < EXACT_BELOW and value % 1024 != 0
        return element("data", f"{value} bytes", value=repr(value)) if exact else size(int(value))
    if unit == "seconds":
        return seconds(float(value))
    if isinstance(value, int):
        shown = grouped(value) if abs(value) >= GROUP_FROM else str(value)
    else:
        shown = significant(value, 4)
    suffix = {"percent": " %", "operations_per_second": " per second"}.get(unit or "", "")
    return element("data", shown + suffix, value=repr(value))
