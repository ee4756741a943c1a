"""Types and parser of a campaign's TOML file; every mistake is reported as one clear line."""

from __future__ import annotations

import math
import re
import shlex
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from weir.bench.errors import USAGE, BenchError
from weir.campaign.levels import LevelError, number_in, read_levels, read_value
from weir.results.campaign import CampaignDesign, CurveKind, Value
from weir.results.folder import describe_validation
from weir.results.purpose import Purpose

MOST_TESTS = 2000
"""Tests of a Latin hypercube: more of them are no small part of a parameter space."""
LONGEST_PAUSE = 7 * 86400.0

_UNITS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)?")


def read_duration(text: object) -> object:
    """Parses seconds: a number, ``50ms``, ``90s``, ``2h``, ``1h 30m`` or Slurm's ``HH:MM:SS``."""
    if not isinstance(text, str):
        return text
    clock = re.fullmatch(r"(\d+):(\d\d):(\d\d)", text.strip())
    if clock:
        hours, minutes, seconds = (int(part) for part in clock.groups())
        return 3600.0 * hours + 60.0 * minutes + seconds
    parts = text.split()
    found = [_DURATION.fullmatch(part) for part in parts]
    if not parts or not all(found):
        raise ValueError(f"'{text}' is not a time: write 90s, 10m, 2h or 01:30:00")
    return sum(float(part.group(1)) * _UNITS[part.group(2) or ""] for part in found if part)


def read_size(text: object) -> object:
    """Returns bytes from a number or a size such as ``4m``."""
    if not isinstance(text, str):
        return text
    number = number_in(text)
    if number is None or number != number.to_integral_value():
        raise ValueError(f"'{text}' is not a size: write 4194304, 4m or 2g")
    return int(number)


Seconds = Annotated[float, BeforeValidator(read_duration), Field(gt=0)]
Quiet = Annotated[float, BeforeValidator(read_duration), Field(ge=0, le=LONGEST_PAUSE)]
Bytes = Annotated[int, BeforeValidator(read_size), Field(gt=0)]


def _as_words(given: object) -> object:
    return shlex.split(given) if isinstance(given, str) else given


class Part(BaseModel):
    """Base of the file's tables, which refuses unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class FactorTable(Part):
    """``[[factor]]``: one setting and its levels, or several that change together."""

    name: str | None = None
    names: list[str] = Field(default_factory=list)
    levels: str | list[Value | list[Value]]

    def all_names(self) -> list[str]:
        return [self.name] if self.name is not None else self.names

    def rows(self) -> list[list[Value]]:
        """Returns, per level, a value for each name; a single value applies to all names."""
        names = self.all_names()
        if isinstance(self.levels, str):
            return [[value] * len(names) for value in read_levels(self.levels)]
        rows = [row for row in self.levels if isinstance(row, list)]
        single: list[Value] = [level for level in self.levels if not isinstance(level, list)]
        if rows and single:
            raise LevelError("its levels are both lists and single values: use one of these forms")
        if not rows:
            return [[value] * len(names) for value in read_levels(single)]
        short = next((row for row in rows if len(row) != len(names)), None)
        if short is not None:
            raise LevelError(f"the level {short} has {len(short)} values for {len(names)} names")
        return [[read_number(value) for value in row] for row in rows]


class PlatformTable(Part):
    """``[platform]``: the platform description for expectations, named as for ``--platform``."""

    file: str


class PurposeTable(Purpose):
    """``[[purpose]]``: why the combinations that satisfy all conditions are run."""

    when: dict[str, Value | list[Value]] = Field(default_factory=dict)


class RepeatTable(Part):
    """``[[repeat]]``: how often the combinations that satisfy all conditions are run."""

    times: int = Field(ge=1)
    when: dict[str, Value | list[Value]] = Field(default_factory=dict)


class PhaseTable(Part):
    """``[[phase]]``: the combinations that are run together, and the quiet before them."""

    name: str
    when: dict[str, Value | list[Value]] = Field(default_factory=dict)
    pause: Quiet = 0.0


class CampaignFile(Part):
    """The whole file."""

    workload: str
    name: str = ""
    description: str = ""
    arguments: Annotated[list[str], BeforeValidator(_as_words)] = Field(default_factory=list)
    fixed: dict[str, Value] = Field(default_factory=dict)
    factor: list[FactorTable] = Field(default_factory=list)
    exclude: list[dict[str, Value | list[Value]]] = Field(default_factory=list)
    purpose: list[PurposeTable] = Field(default_factory=list)
    repeat: list[RepeatTable] = Field(default_factory=list)
    phase: list[PhaseTable] = Field(default_factory=list)
    pause: Quiet = 0.0
    design: CampaignDesign = "full"
    tests: int | None = Field(default=None, ge=1, le=MOST_TESTS)
    replication: int = Field(default=1, ge=1)
    blocks: Literal["replicate", "none"] = "replicate"
    seed: int | None = Field(default=None, ge=0, lt=2**63)
    scale: float = Field(default=1.0, gt=0)
    scaled: dict[str, Bytes] = Field(default_factory=dict)
    time_limit: Seconds | None = None
    run_timeout: Seconds | None = None
    assumed_rate: Bytes = 256 * 2**20
    platform: PlatformTable | None = None
    curve: CurveKind | None = None


def read_number(value: Value) -> Value:
    """Returns a value unchanged, or the number of bytes if it is a text such as ``4m``."""
    if isinstance(value, str) and number_in(value) is not None:
        return read_value(value)
    return value


def load_campaign_file(path: Path) -> CampaignFile:
    """Reads and checks the file; every mistake ends as a ``BenchError`` of one line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BenchError(f"{path} cannot be read: {reason}", USAGE) from None
    return parse_campaign_file(text, str(path), path.stem)


def parse_campaign_file(text: str, where: str, stem: str) -> CampaignFile:
    """Parses the file's text; ``where`` names it in messages, ``stem`` is the default name."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BenchError(f"{where} is not TOML: {error}", USAGE) from None
    try:
        read = CampaignFile.model_validate(table)
    except ValidationError as error:
        raise BenchError(f"{where}: {describe_validation(error)}", USAGE) from None
    if not re.fullmatch(r"[A-Za-z0-9._-]*", read.name):
        raise BenchError(f"{where}: name may contain only letters, digits, '.', '_' and '-'", USAGE)
    if not math.isfinite(read.scale):
        raise BenchError(f"{where}: scale must be a finite number", USAGE)
    if (read.design == "latin-hypercube") != (read.tests is not None):
        raise BenchError(
            f'{where}: design = "latin-hypercube" and tests, its number of combinations, need each '
            "other",
            USAGE,
        )
    for place, factor in enumerate(read.factor, start=1):
        if (factor.name is None) == (not factor.names):
            raise BenchError(
                f"{where}: factor {place} needs name or names, and only one of them", USAGE
            )
    return read if read.name else read.model_copy(update={"name": stem})


def first_difference(before: str, after: str) -> str | None:
    """Returns the first difference of two files, or None; comments do not count."""
    found = _difference(tomllib.loads(before), tomllib.loads(after), "")
    return next(iter(found), None)


def _difference(before: Any, after: Any, place: str) -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        lines = []
        for key in [*before, *(key for key in after if key not in before)]:
            inner = f"{place}.{key}" if place else key
            if key not in after:
                lines.append(f"{inner} is missing")
            elif key not in before:
                lines.append(f"{inner} is new")
            else:
                lines += _difference(before[key], after[key], inner)
        return lines
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            line
            for index, pair in enumerate(zip(before, after, strict=True))
            for line in _difference(*pair, f"{place}[{index}]")
        ]
    return [] if before == after else [f"{place} was {before!r} and is {after!r}"]
