"""Was the file system quiet? What others moved is the targets' bytes minus the job's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weir.results.expectations import Direction
from weir.results.monitor_records import Others, OthersBytes, Quietness
from weir.results.quantities import percent_text, rate_text, seconds_text, size_text
from weir.results.schema import CacheVerdict

TOLERATED = 0.05
"""Others may move so many bytes for each byte of the job: a journal of a file system does, too."""


@dataclass(frozen=True)
class Watched:
    """Bytes of the targets that hold the job's files, by direction, and for how long."""

    before_seconds: float
    before: Mapping[Direction, int]
    during_seconds: float
    during: Mapping[Direction, int]


DIRECTIONS: tuple[Direction, ...] = ("write", "read")


def judge_others(
    targets: Sequence[str],
    watched: Watched,
    own: Mapping[Direction, int] | None,
    served: Mapping[Direction, CacheVerdict | None],
) -> Others:
    """Returns what others moved. ``own`` is None if the job's own bytes are not known."""
    before = sum(watched.before.values())

    def others(verdict: Quietness, text: str, found: Sequence[OthersBytes] = ()) -> Others:
        return Others(
            verdict=verdict,
            text=text,
            before_seconds=watched.before_seconds,
            before_bytes=before,
            during_seconds=watched.during_seconds,
            directions=list(found),
        )

    if not targets:
        return others(
            "not known", "no counters were found of the targets that hold the job's files"
        )
    if own is None or not sum(own.values()):
        return others("not known", "the bytes of the job's own transfers are not known")
    found = [_bytes_of(one, watched, own, served) for one in DIRECTIONS]
    total = sum(own.values())
    rate_before = before / max(watched.before_seconds, 1e-9)
    as_before = rate_before * watched.during_seconds / total
    low, high = (
        sum(one.others_low_bytes for one in found) / total,
        sum(one.others_high_bytes for one in found) / total,
    )
    where = ", ".join(targets)
    said_before = (
        f"before the job, {where} moved {rate_text(rate_before)} in "
        f"{seconds_text(watched.before_seconds)}, which would be {percent_text(as_before, 1)} of "
        "the job's bytes"
    )
    during = "; ".join(_text_of(one) for one in found if one.target_bytes or one.own_bytes)
    if max(low, as_before) > TOLERATED:
        verdict: Quietness = "not quiet"
    elif high <= TOLERATED:
        verdict = "quiet"
    else:
        verdict = "not known"
    text = f"{said_before}; until the end, {during}"
    if verdict == "not known":
        text += "; the page cache took bytes of the job, so that others may hide behind them"
    return others(verdict, text, found)


def _bytes_of(
    direction: Direction,
    watched: Watched,
    own: Mapping[Direction, int],
    served: Mapping[Direction, CacheVerdict | None],
) -> OthersBytes:
    """Returns bounds of what others moved.

    Of the job's own bytes any part may have stayed in the page cache, unless storage served them.
    """
    target, mine = watched.during.get(direction, 0), own.get(direction, 0)
    least = max(0, target - mine)
    all_reached = mine == 0 or (served.get(direction) == "storage" and target >= mine)
    return OthersBytes(
        direction=direction,
        target_bytes=target,
        own_bytes=mine,
        others_low_bytes=least,
        others_high_bytes=least if all_reached else target,
    )


def _text_of(one: OthersBytes) -> str:
    verb = {"write": "written", "read": "read"}[one.direction]
    bounds = size_text(one.others_low_bytes)
    if one.others_high_bytes > one.others_low_bytes:
        bounds = f"{bounds} to {size_text(one.others_high_bytes)}"
    return (
        f"{size_text(one.target_bytes)} were {verb} on the targets and {size_text(one.own_bytes)} "
        f"by the job, so others have {bounds}"
    )
