"""What the outputs of other benchmarks come to, and how their texts and numbers are read.

A parser takes ``Lines`` or a ``Node`` and returns ``Recording`` objects. Whatever it cannot read is
reported as one line with the file and the line, or the place within JSON.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, NoReturn

from weir.results.action_records import OperationMetric
from weir.results.errors import ResultError
from weir.results.expectations import Direction, Metric
from weir.results.record import Latencies

MIB = 2**20
GIB = 2**30
LONGEST_TEXT = 1000
"""Longer texts of a file are cut."""
LONGEST_COMMAND = 10_000
LARGEST = 1e300
MOST_VALUES = 100_000
"""Values of one figure, which are its repetitions."""


@dataclass(frozen=True)
class Summary:
    """What is known of repetitions whose values were not printed one by one."""

    number: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Rate:
    """Bytes per second in one direction: a value for each repetition."""

    direction: Direction
    metric: Metric
    values: Sequence[float]
    headline: bool = True


@dataclass(frozen=True)
class Operations:
    """Operations per second of one action: a value for each repetition, or what is known."""

    action: str
    metric: OperationMetric
    values: Sequence[float] | Summary
    direction: Direction | None = None
    latencies: Latencies | None = None


@dataclass(frozen=True)
class Recording:
    """One configuration that another program measured. It becomes one run."""

    program: str
    version: str
    label: str
    started: datetime | None
    """Without a time zone if the output names none."""
    ranks: int
    """0 if the output does not state it."""
    command: Sequence[str] = ()
    parameters: Mapping[str, str | int | float] = field(default_factory=dict)
    rates: Sequence[Rate] = ()
    operations: Sequence[Operations] = ()
    stated: Mapping[str, str | float] = field(default_factory=dict)
    """What the program states besides these figures, such as a score."""
    doubts: Sequence[str] = ()
    """Where the output contradicts itself, or the program doubts its own figures."""
    remarks: Sequence[str] = ()
    """How the figures are to be read."""
    failure: str | None = None


class Line(NamedTuple):
    """A line of a text with its number, from 1."""

    number: int
    text: str


@dataclass(frozen=True)
class Lines:
    """A part of a text file."""

    file: str
    lines: Sequence[Line]

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    def refuse(self, at: Line, why: str) -> NoReturn:
        raise ResultError(f"{self.file}:{at.number}: {why}")

    def refuse_end(self, why: str) -> NoReturn:
        """Reports that the text ends too early."""
        self.refuse(self.lines[-1], f"{why}; give the whole output of a run that has ended")

    def number(self, at: Line, text: str, name: str) -> float:
        """Returns a finite number that is not negative."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            self.refuse(at, f"{name} is {plain(text)!r}, which is not a number of at least 0")
        return value


@dataclass(frozen=True)
class Node:
    """A value of a JSON file with its place in it."""

    file: str
    place: str
    value: object

    def refuse(self, why: str) -> NoReturn:
        raise ResultError(f"{self.file}: {self.place or 'the whole file'} {why}")

    def find(self, name: str) -> Node | None:
        """Returns a member of an object; None if it has no such member."""
        if not isinstance(self.value, dict):
            self.refuse("is not an object")
        if name not in self.value:
            return None
        place = f"{self.place}.{name}" if self.place else name
        return Node(self.file, place, self.value[name])

    def __getitem__(self, name: str) -> Node:
        found = self.find(name)
        if found is None:
            self.refuse(f"has no {name}")
        return found

    def items(self) -> list[Node]:
        if not isinstance(self.value, list):
            self.refuse("is not an array")
        return [Node(self.file, f"{self.place}[{n}]", one) for n, one in enumerate(self.value)]

    def number(self) -> float:
        """Returns a finite number that is not negative."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse("is not a number")
        if not 0 <= value < LARGEST:
            shown = f"{value:.6g}" if abs(value) < LARGEST else "too large"
            self.refuse(f"is {shown}, which is not a number of at least 0")
        return float(value)

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.refuse("is not a text")
        return plain(self.value)

    def settings(self) -> dict[str, str | int | float]:
        """Returns the members of an object that are texts or numbers."""
        if not isinstance(self.value, dict):
            self.refuse("is not an object")
        return {
            plain(name): plain(value) if isinstance(value, str) else value
            for name, value in self.value.items()
            if isinstance(value, str) or (isinstance(value, int | float) and abs(value) < LARGEST)
        }


def plain(text: str) -> str:
    """Returns the text without characters that steer a terminal, cut to ``LONGEST_TEXT``."""
    return "".join(one if one.isprintable() else "?" for one in text[:LONGEST_TEXT])


def setting(text: str) -> str | int:
    """Returns a setting as a whole number if it is one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else plain(text)


def words_of(command: str) -> list[str]:
    """Returns the words of a command line as a shell splits them, else the whole line."""
    try:
        return [plain(word) for word in shlex.split(command[:LONGEST_COMMAND])]
    except ValueError:
        return [plain(command)]


def moment(text: str, *forms: str) -> datetime | None:
    """Returns a point in time by the first of the forms of ``strptime`` that fits."""
    for form in forms:
        try:
            return datetime.strptime(text.strip(), form)
        except ValueError:
            continue
    return None


def utc(seconds: float) -> datetime | None:
    """Returns a time that is stated in seconds since 1970."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def differs(stated: float, computed: float, tolerance: float) -> bool:
    """Returns whether two figures differ by more than a relative tolerance."""
    return abs(stated - computed) > tolerance * max(stated, computed)
