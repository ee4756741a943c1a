"""Turns settings of sessions into the variables by which an unchanged program gets them."""

from __future__ import annotations

from collections.abc import Sequence

from weir._core.declarations import SessionOptions
from weir.bench.errors import USAGE, BenchError

VARIABLES_ALONE = ("network", "staging-close")
"""Settings that no option of a session has."""


def setting_names() -> list[str]:
    """Returns the names of all settings, which are those of the variables without ``WEIR_``."""
    options = [name for name, *_ in SessionOptions._fields_ if name != "reserved"]
    told = ["deadline" if name == "deadline_seconds" else name for name in options]
    return sorted([*(name.replace("_", "-") for name in told), *VARIABLES_ALONE])


def variables_for(
    staging: str | None, strategy: str | None, settings: Sequence[str]
) -> dict[str, str]:
    """Returns the variables for the options ``--staging``, ``--strategy`` and ``--setting``.

    A session checks the values when it is opened. Raises BenchError if a setting has no value, an
    unknown name, or is given twice.
    """
    given = {"staging": staging, "strategy": strategy}
    values = {name: value for name, value in given.items() if value is not None}
    for one in settings:
        name, equals, value = one.partition("=")
        if name not in setting_names() or not equals or not value:
            message = (
                f"--setting {one}: give NAME=VALUE with one of the names "
                f"{', '.join(setting_names())}"
            )
            raise BenchError(message, USAGE)
        if name in values:
            message = f"--setting {one}: {name} is given twice"
            raise BenchError(message, USAGE)
        values[name] = value
    return {f"WEIR_{name.replace('-', '_').upper()}": value for name, value in values.items()}
