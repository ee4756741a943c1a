"""Parses the levels of a factor.

    [1, 4, 9, 16]            a list
    "1:16"                   1 to 16 in steps of 1
    "1.0:1.5:0.05"           with a step; the end is a level if a step meets it
    "1:16384:*2"             with a factor, here powers of two
    "16m:2g:*2"              sizes, in powers of 1024 bytes
    "1, 4, 9, 16"            several in one text, as on a command line
    ["1:64", "128:8192:*2"]  ranges as parts of a list

Ranges use decimal arithmetic, so 1.0:1.5:0.05 contains 1.15 and ends exactly at 1.5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from weir.errors import Error
from weir.results.campaign import Value

MOST_LEVELS = 100_000
_NUMBER = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_SIZE = re.compile(rf"({_NUMBER})\s*([kmgtKMGT])(?:i?[bB])?")
_PLAIN = re.compile(_NUMBER)
_TERM = rf"\s*{_NUMBER}(?:\s*[kmgtKMGT](?:i?[bB])?)?\s*"
_RANGE = re.compile(rf"({_TERM}):({_TERM})(?::\s*(\*?)({_TERM}))?")
_POWER = {"k": 1, "m": 2, "g": 3, "t": 4}


class LevelError(Error, ValueError):
    """Levels that cannot be parsed; the message says which and why."""


def number_in(text: str) -> Decimal | None:
    """Returns the number in a text, with sizes such as ``4m`` in bytes; None if it is no number."""
    sized = _SIZE.fullmatch(text.strip())
    if sized:
        return Decimal(sized.group(1)) * Decimal(1024) ** _POWER[sized.group(2).lower()]
    return Decimal(text.strip()) if _PLAIN.fullmatch(text.strip()) else None


def value_of(number: Decimal) -> int | float:
    """Returns an int if the number is an integer and was written as one, else a float."""
    whole = number.to_integral_value()
    exponent = number.as_tuple().exponent
    written_whole = isinstance(exponent, int) and exponent >= 0
    return int(whole) if number == whole and written_whole else float(number)


def read_value(text: str) -> Value:
    """Parses a level: a number or a size if possible, else the text."""
    number = number_in(text)
    if number is None:
        return text.strip()
    if _SIZE.fullmatch(text.strip()) and number == number.to_integral_value():
        return int(number)
    return value_of(number)


def read_levels(given: str | Sequence[Value]) -> list[Value]:
    """Returns all levels in the given order; raises ``LevelError``."""
    if isinstance(given, str):
        parts: list[Value] = [part for part in given.split(",") if part.strip()]
        levels = [level for part in parts for level in _levels_of(part, as_number=True)]
    else:
        levels = [level for part in given for level in _levels_of(part, as_number=False)]
    if not levels:
        raise LevelError("it has no levels")
    seen: list[Value] = []
    for level in levels:
        if any(level == other and is_flag(level) == is_flag(other) for other in seen):
            raise LevelError(f"the level {level} is given twice")
        seen.append(level)
    return levels


def is_flag(value: Value) -> bool:
    """Returns whether a level is true or false, which Python treats as 1 and 0."""
    return isinstance(value, bool)


def _levels_of(part: Value, *, as_number: bool) -> list[Value]:
    if not isinstance(part, str):
        return [part]
    found = _RANGE.fullmatch(part)
    if found:
        return _range(part.strip(), *found.groups())
    return [read_value(part) if as_number or number_in(part) is not None else part]


def _range(text: str, start: str, stop: str, star: str | None, step: str | None) -> list[Value]:
    first, last = _term(start), _term(stop)
    by = _term(step) if step else Decimal(1)
    if star:
        if by <= 1 or first <= 0:
            raise LevelError(f"{text} needs a start above 0 and a factor above 1")
    elif by == 0 or (last - first) * by < 0:
        raise LevelError(f"{text} never reaches its end")
    levels: list[Value] = []
    at = first
    # Counting from the start accumulates no rounding errors, and decimal steps are exact.
    while at <= last if by > 0 else at >= last:
        levels.append(_as_written(at, first, by))
        at = at * by if star else at + by
        if len(levels) > MOST_LEVELS:
            raise LevelError(f"{text} has more than {MOST_LEVELS} levels")
    if not levels:
        raise LevelError(f"{text} has no levels: it starts beyond its end")
    return levels


def _term(text: str) -> Decimal:
    number = number_in(text)
    if number is None:
        raise LevelError(f"{text} is not a number")
    if _SIZE.fullmatch(text.strip()) and number == number.to_integral_value():
        return number.to_integral_value()
    return number


def _as_written(number: Decimal, first: Decimal, by: Decimal) -> int | float:
    """Returns integers if start and step are integers; 1.0:1.5:0.5 gives only floats."""
    whole = all(isinstance(value_of(part), int) for part in (first, by))
    return int(number) if whole else float(number)
