"""``platforms/NAME.revisions.jsonl``: how the constants of a platform's model changed, and by what.

One JSON object per line and revision, the oldest first, beside the description. "The benchmarking
evaluation of a computer system is an iterative process" (Uselton, section 1.1): the description has
the newest constants, the ledger has the earlier ones and the runs that changed each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from weir.results.ledger import append_to_ledger, read_ledger
from weir.results.platform import Platform, PlatformStage
from weir.results.record import Quantity, Record

LEAST_CHANGE = 1e-5
"""Relative difference from which a constant counts as changed; files keep six digits."""


class Change(Record):
    """One constant before and after. A new one has no ``before``, a removed one no ``after``."""

    constant: str = Field(description="stage and quantity, such as storage write, rate")
    unit: str = Field(description="of before and after: bytes/s, s, or what is counted")
    before: Quantity | None
    after: Quantity | None
    runs: list[str] = Field(
        default_factory=list, description="ids of the runs to which the constant was fitted"
    )


class Revision(Record):
    """What changed at one time."""

    format_version: Literal[1] = 1
    revision: int = Field(ge=1)
    made_utc: str
    how: str = Field(description="what made the revision, such as the command")
    changes: list[Change]


def changes_of(
    before: Platform | None, after: Platform, runs: Mapping[str, Sequence[str]]
) -> list[Change]:
    """Returns the constants that differ. ``runs`` has the ids behind each stage, by its name."""
    old = dict(_constants(before)) if before is not None else {}
    new = dict(_constants(after))
    changes = []
    for key in [*new, *(key for key in old if key not in new)]:
        stage, name, unit = key
        first, second = old.get(key), new.get(key)
        if not _alike(first, second):
            constant = f"{stage}, {name}"
            changes.append(
                Change(
                    constant=constant,
                    unit=unit,
                    before=first,
                    after=second,
                    runs=list(runs.get(stage, [])),
                )
            )
    return changes


def ledger_path(description: Path) -> Path:
    """Returns the path of a description's ledger."""
    return description.with_suffix(".revisions.jsonl")


def read_revisions(description: Path) -> list[Revision]:
    """Returns the revisions of a description, the oldest first; none without a ledger."""
    return read_ledger(ledger_path(description), Revision)


def append_revision(
    description: Path, changes: Sequence[Change], how: str, made_utc: str
) -> Revision | None:
    """Adds a revision to a description's ledger, on disk; returns None if nothing changed."""
    if not changes:
        return None
    earlier = read_revisions(description)
    made = Revision(
        revision=earlier[-1].revision + 1 if earlier else 1,
        made_utc=made_utc,
        how=how,
        changes=list(changes),
    )
    append_to_ledger(ledger_path(description), made)
    return made


def _constants(platform: Platform) -> Iterator[tuple[tuple[str, str, str], Quantity]]:
    """Yields the constants of all stages by (stage, name, unit)."""
    for stage in platform.stages:
        for name, unit, value in _of_stage(stage):
            if value is not None:
                yield (stage.name, name, unit), value
    for name, latency in platform.latencies_seconds.items():
        yield ("latencies", name, "s"), latency


def _of_stage(stage: PlatformStage) -> Iterator[tuple[str, str, Quantity | None]]:
    yield "rate", "bytes/s", stage.rate_bytes_per_second
    yield "units", "units", _exactly(stage.units)
    yield "rate of one user", "bytes/s", stage.one_user_bytes_per_second
    yield "fixed cost", "s", stage.fixed_seconds if stage.fixed_seconds.value else None
    yield "turn", "s", stage.turn_seconds
    for name, cache in (("cache", stage.cache), ("small operations", stage.small_operations)):
        if cache is not None:
            yield f"{name}, rate", "bytes/s", cache.rate_bytes_per_second
            yield f"{name}, size", "bytes", _exactly(cache.bytes)
    if stage.crowding is not None:
        yield "crowded rate", "bytes/s", stage.crowding.rate_bytes_per_second
        yield "crowded at", "users of a unit", _exactly(stage.crowding.users)
        yield "width of crowding", "users of a unit", _exactly(stage.crowding.width_users)
    for unit in stage.different_units:
        yield f"rate of {unit.name}", "bytes/s", unit.rate_bytes_per_second


def _exactly(value: float) -> Quantity:
    return Quantity(value=value, low=value, high=value)


def _alike(first: Quantity | None, second: Quantity | None) -> bool:
    if first is None or second is None:
        return first is second
    largest = max(first.value, second.value)
    return abs(first.value - second.value) <= LEAST_CHANGE * largest
