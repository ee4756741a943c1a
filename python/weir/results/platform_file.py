"""Reads and writes ``platforms/NAME.toml``."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from weir.results.errors import ResultError
from weir.results.folder import describe_validation, read_text, write_atomically
from weir.results.platform import Platform

VERSION = 1
DIGITS = 6
"""Significant digits of a figure in the file, far more than the precision of any measurement."""

HEAD = """\
# A platform description: the path of a byte as stages in series, each with units in parallel.
# Rates are bytes per second of one unit, times are seconds; a figure is a value with an interval,
# or a number alone. docs/path-model.md explains every field.

"""


def load_platform(path: Path) -> Platform:
    """Reads and checks a platform description; raises ``ResultError`` with the place of a fault."""
    try:
        record = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ResultError(f"{path} is not TOML: {error}") from None
    version = record.get("format_version")
    if record.get("format") == "weir-platform" and isinstance(version, int) and version > VERSION:
        raise ResultError(
            f"{path} has version {version}, but this weir reads versions up to {VERSION}: use a "
            "newer weir"
        )
    if not _finite(record):
        raise ResultError(
            f"{path} holds inf or nan; use a very large rate for a stage that never limits"
        )
    try:
        return Platform.model_validate(record)
    except ValidationError as error:
        raise ResultError(f"{path}: {describe_validation(error)}") from None


def write_platform(path: Path, platform: Platform) -> Path:
    """Writes a description atomically and creates the folders above it."""
    record = platform.model_dump(exclude_none=True, exclude_defaults=True)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{path.parent} cannot be created: {error.strerror}") from None
    return write_atomically(path, HEAD + tomli_w.dumps(_plain(record)))


def _finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_finite(one) for one in value.values())
    if isinstance(value, list):
        return all(_finite(one) for one in value)
    return not isinstance(value, float) or math.isfinite(value)


def _plain(value: Any) -> Any:
    """Returns what TOML can represent: without nulls and without meaningless digits."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items() if one is not None}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value if one is not None]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return value
