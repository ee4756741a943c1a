"""Was the file system quiet? What others moved is the targets' bytes minus the job's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from weir.results.expectations import Direction
from weir.results.monitor_records import Others, OthersBytes, Quietness, named
from weir.results.quantities import percent_text, rate_text, seconds_text, size_text
from weir.results.schema import CacheVerdict

TOLERATED = 0.05
"""Others may move so many bytes for each byte of the job: a file system's journal does, too."""
LEAST_ACCOUNTED = 0.9
"""Accounting that has less than this share of the written bytes does not see the ranks."""
DIRECTIONS: tuple[Direction, ...] = ("write", "read")

Bytes = Mapping[Direction, int]


@dataclass(frozen=True)
class Watched:
    """Bytes of the targets that hold the job's files, and for how long they were watched."""

    before_seconds: float
    before: Bytes
    during_seconds: float
    during: Bytes


@dataclass(frozen=True)
class Own:
    """What is known of the job's own bytes.

    ``accounted`` are bytes that the kernel has read from storage, or has been given to write, for
    all processes below the launcher. ``transferred`` are those of events, None if they are not
    complete; ``verified`` was compared, perhaps by reading it once more.
    """

    accounted: Bytes
    transferred: Bytes | None
    verified: int

    @property
    def source(self) -> Literal["accounting", "transfers"] | None:
        written = 0 if self.transferred is None else self.transferred.get("write", 0)
        seen = self.accounted.get("write", 0)
        if seen and seen >= LEAST_ACCOUNTED * written:
            return "accounting"
        # Ranks that the launcher has others start, such as Slurm, are not below it.
        return None if self.transferred is None else "transfers"

    def bounds(self, direction: Direction, served: CacheVerdict | None) -> tuple[int, int]:
        """Returns how much the job had moved on the targets, at least and at most."""
        transferred = (self.transferred or {}).get(direction, 0)
        certain = transferred if served == "storage" else 0
        if self.source == "transfers":
            return certain, transferred + (self.verified if direction == "read" else 0)
        accounted = self.accounted.get(direction, 0)
        # What is written may be in the page cache until its file is removed, as results are.
        return (accounted if direction == "read" else min(certain, accounted)), accounted


def judge_others(
    targets: Sequence[str],
    watched: Watched,
    own: Own,
    served: Mapping[Direction, CacheVerdict | None],
    missing: Sequence[str] = (),
) -> Others:
    """Returns what others moved, and whether that is little beside the job's bytes.

    ``missing`` are further targets of the job's files, which were not watched.
    """
    before = sum(watched.before.values())
    source = own.source if targets and not missing else None

    def others(verdict: Quietness, text: str, found: Sequence[OthersBytes] = ()) -> Others:
        return Others(
            verdict=verdict,
            text=text,
            own_from=source,
            before_seconds=watched.before_seconds,
            before_bytes=before,
            during_seconds=watched.during_seconds,
            directions=list(found),
        )

    if missing:
        text = f"no counters were found of {named(missing)}, on which files of the job lie"
        return others("not known", f"{text}: watch their servers too")
    if not targets:
        text = "no counters were found of the targets that hold the job's files"
        return others("not known", text)
    if source is None:
        return others("not known", "the job's own bytes are not known")
    found = [_others_of(one, watched, own, served.get(one)) for one in DIRECTIONS]
    moved = sum((own.transferred or {}).values())
    base = max(1, moved, sum(one.own_high_bytes for one in found))
    rate_before = before / max(watched.before_seconds, 1e-9)
    share_before = rate_before * watched.during_seconds / base
    low = sum(one.others_low_bytes for one in found) / base
    high = sum(one.others_high_bytes for one in found) / base
    said = [
        f"before the job, {named(targets)} moved {rate_text(rate_before)} in "
        f"{seconds_text(watched.before_seconds)}; over the job's time that would be "
        f"{percent_text(share_before, 1)} of its bytes",
        *(f"from its start, {_text_of(one)}" for one in found if one.target_bytes),
    ]
    verdict: Quietness = "not known"
    if max(low, share_before) > TOLERATED:
        verdict = "not quiet"
    elif high <= TOLERATED:
        verdict = "quiet"
    else:
        said.append("how much of the job the page cache kept is not known, so others may hide")
    return others(verdict, "; ".join(said), found)


def _others_of(
    direction: Direction, watched: Watched, own: Own, served: CacheVerdict | None
) -> OthersBytes:
    target = watched.during.get(direction, 0)
    least, most = own.bounds(direction, served)
    return OthersBytes(
        direction=direction,
        target_bytes=target,
        own_low_bytes=least,
        own_high_bytes=most,
        others_low_bytes=max(0, target - most),
        others_high_bytes=max(0, target - least),
    )


def _text_of(one: OthersBytes) -> str:
    verb = {"write": "written", "read": "read"}[one.direction]
    return (
        f"{size_text(one.target_bytes)} were {verb} on the targets, "
        f"{_range(one.others_low_bytes, one.others_high_bytes)} of it by others"
    )


def _range(low: int, high: int) -> str:
    return size_text(low) if low == high else f"{size_text(low)} to {size_text(high)}"
