"""Parses and formats sizes, rates and counts; one unit may apply to a whole list.

``M`` is 10^6 and ``Mi`` is 2^20; a byte is ``B``, a bit is ``bit``. ``none`` means no limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from testbed.errors import USAGE, TestbedError

FACTORS = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
}
BITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
LARGEST = 2**62
NO_LIMIT = "none"

Value = TypeVar("Value")

_BARE = re.compile(r"\d+(?:\.\d+)?$")
_NUMBER = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-z/]*)$")


def _parse(text: str, what: str, factors: dict[str, int], example: str) -> int:
    match = _NUMBER.match(text.strip())
    if match is None or match["unit"] not in factors:
        raise TestbedError(f"{what} {text!r} is not understood; write it like {example}", USAGE)
    value = round(float(match["number"]) * factors[match["unit"]])
    if not 0 < value <= LARGEST:
        raise TestbedError(f"{what} {text!r} must be above 0 and below 2^62", USAGE)
    return value


def parse_bytes(text: str) -> int:
    """Parses a size in bytes: ``512MiB``, ``1GB``, ``4096``."""
    factors = {prefix + "B": factor for prefix, factor in FACTORS.items()}
    return _parse(text, "size", {**FACTORS, **factors}, "512MiB")


def parse_rate(text: str) -> int | None:
    """Parses a rate in bytes per second: ``50MB/s``, ``64MiB/s``; None for ``none``."""
    if text.strip() == NO_LIMIT:
        return None
    factors = {prefix + "B/s": factor for prefix, factor in FACTORS.items()}
    return _parse(text, "rate", factors, "50MB/s")


def parse_count(text: str) -> int | None:
    """Parses a number of operations per second: ``200``, ``2k``; None for ``none``."""
    if text.strip() == NO_LIMIT:
        return None
    return _parse(text, "operations per second", FACTORS, "200")


def parse_bit_rate(text: str) -> int:
    """Parses a link's rate in bits per second: ``1gbit``, ``100mbit``."""
    return _parse(text.lower(), "link rate", BITS, "1gbit")


def parse_list(text: str, parse: Callable[[str], Value]) -> list[Value]:
    """Parses values between commas; a number without unit has the unit of the list's last value."""
    items = [item.strip() for item in text.split(",")]
    last = _NUMBER.match(items[-1])
    unit = last["unit"] if last else ""
    return [parse(item + unit if _BARE.match(item) else item) for item in items]


def show_rate(rate: int | None) -> str:
    """Formats a rate in bytes per second as ``50 MB/s``, or ``no limit``."""
    return "no limit" if rate is None else f"{rate / 1e6:g} MB/s"


def show_count(count: int | None) -> str:
    """Formats operations per second as ``200/s``, or ``no limit``."""
    return "no limit" if count is None else f"{count}/s"


def show_bit_rate(rate: int) -> str:
    """Formats a link's rate as ``1000 Mbit/s``."""
    return f"{rate / 1e6:g} Mbit/s"
