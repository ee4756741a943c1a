"""Free-form records of ``run.json`` (environment, calibration) as tables of key and value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weir.report.chart import table
from weir.report.markup import Markup, element, join
from weir.report.quantities import NO_VALUE, grouped, rate, seconds, significant, size

LONGEST_LIST = 16
GROUP_FROM = 10_000


def key_value_table(record: Mapping[str, Any], caption: str, *, titled: bool = False) -> Markup:
    """One row per leaf; nested keys are joined, units in a key's name are shown with the value."""
    rows = [[_label(path), _value(path[-1], value)] for path, value in _leaves(record, ())]
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


def _label(path: tuple[str, ...]) -> str:
    return " \u203a ".join(part.replace("_", " ") for part in path)


def _value(key: str, value: Any) -> Markup:
    if value is None or value in ({}, []):
        return element("span", NO_VALUE, class_="none", title="not recorded")
    if isinstance(value, list):
        shown = [_scalar(key, item) for item in value[:LONGEST_LIST]]
        separated = [part for item in shown for part in (Markup(", "), item)][1:]
        more = f" \u2026 ({len(value)} in all)" if len(value) > LONGEST_LIST else None
        return join(separated, more)
    return _scalar(key, value)


def _scalar(key: str, value: Any) -> Markup:
    if isinstance(value, bool):
        return Markup("yes" if value else "no")
    if isinstance(value, int | float):
        return _number(key, value)
    return element("bdi", str(value))


def _number(key: str, value: float) -> Markup:
    """A number with the unit that its key names."""
    if "bytes_per_second" in key:
        return rate(float(value))
    if key.endswith("bytes") or "_bytes_" in key:
        return size(int(value))
    if key.endswith("seconds"):
        return seconds(float(value))
    if isinstance(value, int):
        return element(
            "data", grouped(value) if abs(value) >= GROUP_FROM else str(value), value=str(value)
        )
    return element("data", significant(value, 4), value=repr(value))
