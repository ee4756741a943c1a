"""Finds the part that holds a run up: a rank, host, file, target or server, and what it costs.

A unit is a straggler if it takes ``STRAGGLER_FACTOR`` times as long for a byte as the others, more
than the noise of its transfers explains, and longer than the others at all. It is named at the
level that explains the times of the transfers best, the coarsest of those that explain them alike:
a host whose ranks are all slow, rather than its ranks. What it costs is the time that the run would
take if the unit were as fast as the others.

The noise is that of single transfers and that of whole repetitions: a rank that shares a processor
or waits in a queue is slow through one repetition and fast in the next. The second is known from
few values. Both variances are therefore joined, by degrees of freedom, and Student's t is used, as
in G. K. Smyth ("Linear models and empirical Bayes methods", Statistical Applications in Genetics
and Molecular Biology 3, 2004). With one repetition only its transfers can be asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weir.analysis.allocation import Allocation, plateau_rate, uneven_allocation
from weir.analysis.series_noise import variance_of_sums
from weir.analysis.student import MANY, quantile_above
from weir.results.quantities import percent_text

Floats = NDArray[np.float64]
Codes = NDArray[Any]

STRAGGLER_FACTOR = 1.3
"""A unit is named as slow if it takes at least this many times as long as the others."""
LEAST_COST = 1.05
"""A straggler is named if the run would be this many times faster without it."""
SIGNIFICANT = 0.001
ABOUT_AS_GOOD = 0.9
STEADY = 0.95
"""Transfers of a rank that take longer than this share of its transfers are shortened."""
LEAST_SHORTENED = 5
"""If a rank has fewer transfers, none of them is shortened."""
TRANSFERS_COUNT = 4
"""The error by the spread of transfers counts as if known from so many values, so that the true one
may well be half or twice as large (95 %: 0.6 to 2.9 times)."""
USUAL_STALLS = 0.1
"""Nothing is shortened if ranks spend more than this share of their time in what would be cut off,
in the middle of all ranks and repetitions: long transfers are then how the storage serves."""
LINK = "link"
"""Name of the level whose units are pairs of a host and a server or target."""
SLICES = 8
MOSTLY = 0.85
"""A unit that is slow in at least this share of the time is slow by itself."""


def far_above_the_others(seconds_per_byte: Mapping[str, float]) -> tuple[str, float] | None:
    """Returns the slowest per byte, if it takes ``STRAGGLER_FACTOR`` times the others' mean."""
    if len(seconds_per_byte) < 2:
        return None
    slowest = max(seconds_per_byte, key=lambda name: seconds_per_byte[name])
    others = [seconds for name, seconds in seconds_per_byte.items() if name != slowest]
    mean = sum(others) / len(others)
    if mean <= 0 or seconds_per_byte[slowest] / mean < STRAGGLER_FACTOR:
        return None
    return slowest, seconds_per_byte[slowest] / mean


@dataclass(frozen=True)
class Level:
    """The units of one kind, such as targets, and which of them each transfer uses.

    ``of_ranks`` is true for hosts, links and ranks: ranks work side by side, each at its own rate.
    The other units serve several ranks at once; their time is that in which they have any work.
    """

    name: str
    of: NDArray[np.int64]
    names: Sequence[str]
    of_ranks: bool = False


@dataclass(frozen=True)
class Transfers:
    """Transfers of one function in one direction, sorted by rank and start. Times are seconds.

    ``step`` has a number for each set of transfers of which all are waited for before the next ones
    begin; all are 0 if ranks do not wait for each other.
    """

    start: Floats
    end: Floats
    bytes: Floats
    rank: NDArray[np.int64]
    step: NDArray[np.int64]
    repetition: NDArray[np.int64]

    @property
    def seconds(self) -> Floats:
        return self.end - self.start

    @property
    def series(self) -> NDArray[np.int64]:
        """The rank and repetition of each: within one of these, transfers are neighbours."""
        return self.rank * (int(self.repetition.max(initial=0)) + 1) + self.repetition

    def __len__(self) -> int:
        return len(self.start)


def without_stalls(transfers: Transfers) -> Transfers:
    """Returns the transfers with the longest few of each rank shortened to the next longest.

    A process that loses its processor once, for thousands of times the length of a transfer, would
    seem to be a slow rank. What a rank does after a stall begins so much earlier, unless ranks wait
    for each other. Where transfers are served in batches, so that one of many waits for all others,
    the long ones are the work itself, and all are returned as they are.
    """
    seconds = transfers.seconds
    series, of = np.unique(transfers.series, return_inverse=True)
    of = of.reshape(-1)
    order = np.lexsort((seconds, of))
    counts = np.bincount(of, minlength=len(series))
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    kept = np.where(counts >= LEAST_SHORTENED, np.floor(STEADY * (counts - 1)), counts - 1).astype(
        int
    )
    most = seconds[order][firsts + kept]
    shortened = np.minimum(seconds, most[of])
    cut_off = np.bincount(of, seconds - shortened) / np.maximum(np.bincount(of, seconds), 1e-30)
    if float(np.median(cut_off)) > USUAL_STALLS:
        return transfers
    saved = np.cumsum(seconds - shortened)
    before = saved - (seconds - shortened)
    shift = np.zeros(len(seconds)) if transfers.step.any() else before - before[firsts][of]
    start = transfers.start - shift
    return replace(transfers, start=start, end=start + shortened)


@dataclass(frozen=True)
class Straggler:
    """Slow units of one level. ``factor`` is their time per byte over that of the others."""

    level: str
    units: tuple[str, ...]
    factor: float
    faster: float
    alternatives: tuple[str, ...]

    @property
    def shown(self) -> str:
        more = f" and {len(self.units) - 3} more" if len(self.units) > 3 else ""
        return ", ".join(self.units[:3]) + more

    @property
    def text(self) -> str:
        plural = "s" if len(self.units) > 1 else ""
        took = "take" if plural else "takes"
        return (
            f"{self.faster:.2f} times faster without {self.level}{plural} {self.shown}, which "
            f"{took} {self.factor:.1f} times as long as the others"
        )


@dataclass(frozen=True)
class _Slow:
    level: Level
    codes: NDArray[np.int64]
    factor: float
    uses: NDArray[np.bool_]
    explained: float


def find_straggler(
    transfers: Transfers, levels: Sequence[Level], significant: float = SIGNIFICANT
) -> Straggler | None:
    """Returns the units that hold the transfers up, or None; ``levels``: the coarsest first."""
    if len(transfers) < 4:
        return None
    slow = [
        one for level in levels if (one := _slow_units(transfers, level, significant / len(levels)))
    ]
    if not slow:
        return None
    most = max(one.explained for one in slow)
    found = next(one for one in slow if one.explained >= ABOUT_AS_GOOD * most)
    if found.level.name == LINK:
        found = _as_ends(levels, found)
    faster = _without(transfers, found)
    if faster < LEAST_COST:
        return None
    share, when = _slow_when(transfers, found)
    straggler = Straggler(
        found.level.name,
        tuple(found.level.names[int(code)] for code in found.codes),
        found.factor,
        faster,
        (),
    )
    told = _alternatives(transfers, levels, slow, found, share, when)
    return replace(straggler, alternatives=tuple(told))


def _as_ends(levels: Sequence[Level], links: _Slow) -> _Slow:
    """Returns the hosts, servers or targets whose links these are, if they are all of them.

    A server that all ranks use at any time is busy as long as the others, however slow it is.
    """
    for level in levels:
        number = np.bincount(level.of, minlength=len(level.names))
        slow = np.bincount(level.of, weights=links.uses, minlength=len(level.names)) == number
        slow &= number > 0
        if level.name in ("server", "target", "host") and np.array_equal(
            slow[level.of], links.uses
        ):
            return replace(links, level=level, codes=np.flatnonzero(slow))
    return links


def find_allocation(
    transfers: Transfers, levels: Sequence[Level], file_bytes: float | None = None
) -> Allocation | None:
    """Returns the most uneven distribution of bytes that costs time, or None if there is none."""
    found: list[Allocation] = []
    for level in levels:
        _, moved = unit_times(transfers, level)
        if len(moved) < 2 or level.name == LINK:
            continue
        seconds, plateau = _span_and_plateau(transfers, level)
        one = uneven_allocation(level.name, seconds, moved, plateau, file_bytes)
        if one:
            found.append(one)
    worst = max((one.worst for one in found), default=0.0)
    return next((one for one in found if one.worst >= 0.99 * worst), None)


def at_even_load(transfers: Transfers, level: Level) -> Transfers:
    """Returns the transfers as if each unit had the mean bytes, which its transfers share."""
    _, moved = unit_times(transfers, level)
    load = moved / float(moved[moved > 0].mean())
    seconds = transfers.seconds / np.maximum(load[level.of], 1e-9)
    return replace(transfers, end=transfers.start + seconds)


def unit_times(transfers: Transfers, level: Level) -> tuple[Floats, Floats]:
    """Returns the time and the bytes of each unit; of a host, the means of its ranks."""
    number = len(level.names)
    moved = np.bincount(level.of, weights=transfers.bytes, minlength=number)
    if level.of_ranks:
        seconds = np.bincount(level.of, weights=transfers.seconds, minlength=number)
        pairs = np.unique(transfers.rank * number + level.of)
        ranks = np.maximum(np.bincount(pairs % number, minlength=number), 1)
        return np.asarray(seconds / ranks), np.asarray(moved / ranks)
    return _busy_seconds(transfers, level.of, number), np.asarray(moved, dtype=np.float64)


def _busy_seconds(transfers: Transfers, units: NDArray[np.int64], number: int) -> Floats:
    """Returns how long each unit has any transfer."""
    order = np.lexsort((transfers.start, units))
    own = units[order]
    length = float(transfers.end.max() - transfers.start.min()) + 1.0
    shift = own * length - transfers.start.min()
    begin, end = transfers.start[order] + shift, transfers.end[order] + shift
    busy_until = np.concatenate([[-np.inf], np.maximum.accumulate(end)[:-1]])
    busy = np.maximum(0.0, end - np.maximum(begin, busy_until))
    return np.asarray(np.bincount(own, weights=busy, minlength=number), dtype=np.float64)


def relative_errors(transfers: Transfers, level: Level) -> Floats:
    """Returns the relative error of each unit's time per byte, by the spread of its transfers."""
    deviations, counts = deviations_of(transfers, level)
    freedom = max(1, len(deviations) - int(np.sum(counts > 0)))
    spread = math.sqrt(float(np.sum(deviations**2)) / freedom)
    return np.asarray(spread / np.sqrt(np.maximum(counts, 1)))


def deviations_of(transfers: Transfers, level: Level) -> tuple[Floats, NDArray[np.int64]]:
    """Returns how far each transfer's time is from its unit's mean, and the transfers of units.

    Deviations are relative. Those of neighbours that are alike are larger, so that sums over
    independent ones have the spread of the sums over neighbours.
    """
    number = len(level.names)
    counts = np.bincount(level.of, minlength=number)
    per_byte = _seconds_per_byte(transfers)
    means = np.bincount(level.of, weights=per_byte, minlength=number) / np.maximum(counts, 1)
    deviations = per_byte / np.maximum(means[level.of], 1e-30) - 1
    return deviations * math.sqrt(variance_of_sums(deviations, transfers.series)), counts


def _seconds_per_byte(transfers: Transfers) -> Floats:
    """Returns the time per byte; of a transfer without bytes, such as a sync, its time per mean."""
    some = transfers.bytes > 0
    mean = float(transfers.bytes[some].mean()) if some.any() else 1.0
    return np.asarray(transfers.seconds / np.where(some, transfers.bytes, mean))


def _slow_units(transfers: Transfers, level: Level, significant: float) -> _Slow | None:
    seconds, moved = unit_times(transfers, level)
    used = moved > 0
    number = int(used.sum())
    if number < 2 or len(transfers) < 2 * number:
        return None
    per_byte = np.where(used, seconds / np.maximum(moved, 1e-30), 0.0)
    errors, freedom = _errors(transfers, level, used)
    beyond = quantile_above(significant / number, freedom)
    fastest = np.sort(per_byte[used])[: (number + 1) // 2]
    slow = used & (per_byte >= STRAGGLER_FACTOR * float(np.median(fastest)))
    # The first guess of what is usual is too low if a unit is fast rather than others slow.
    while slow.any() and 2 * int(slow.sum()) <= number:
        others = used & ~slow
        usual, usual_time = float(np.median(per_byte[others])), float(np.median(seconds[others]))
        counted = int(others.sum())
        of_both = errors * math.sqrt(1 + (1 if counted < 3 else math.pi / 2) / counted)
        still = (
            slow
            & (per_byte >= STRAGGLER_FACTOR * usual)
            & (seconds >= math.sqrt(STRAGGLER_FACTOR) * usual_time)
            & (np.log(np.maximum(per_byte, 1e-30) / usual) > beyond * of_both)
        )
        if still.sum() == slow.sum():
            break
        slow = still
    if not slow.any() or 2 * int(slow.sum()) > number:
        return None
    factor = float(np.median(per_byte[slow])) / usual
    uses = slow[level.of]
    return _Slow(level, np.flatnonzero(slow), factor, uses, _explained(transfers, uses))


def _errors(transfers: Transfers, level: Level, used: NDArray[np.bool_]) -> tuple[Floats, int]:
    """Returns the relative error of each unit's time per byte, and its degrees of freedom."""
    errors = relative_errors(transfers, level)
    repetitions = np.unique(transfers.repetition)
    if len(repetitions) < 2:
        return errors, MANY + 1
    logs = []
    for one in repetitions:
        own = transfers.repetition == one
        seconds, moved = unit_times(_some(transfers, own), replace(level, of=level.of[own]))
        if not (moved[used] > 0).all() or not (seconds[used] > 0).all():
            return errors, MANY + 1
        logs.append(np.log(seconds[used] / moved[used]))
    table = np.array(logs)
    apart = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    of_repetitions = math.sqrt(float(np.sum(apart**2)) / freedom / len(repetitions))
    known = TRANSFERS_COUNT + freedom
    both = TRANSFERS_COUNT * errors**2 + freedom * of_repetitions**2
    return np.sqrt(both / known), known


def _some(transfers: Transfers, chosen: NDArray[np.bool_]) -> Transfers:
    return Transfers(
        transfers.start[chosen],
        transfers.end[chosen],
        transfers.bytes[chosen],
        transfers.rank[chosen],
        transfers.step[chosen],
        transfers.repetition[chosen],
    )


def _explained(transfers: Transfers, uses: NDArray[np.bool_]) -> float:
    """Returns the share of the variance of the times per byte that using slow units explains."""
    logs = np.log(np.maximum(_seconds_per_byte(transfers), 1e-30))
    total = float(np.var(logs))
    if total <= 0 or uses.all():
        return 0.0
    share = float(uses.mean())
    apart = float(logs[uses].mean() - logs[~uses].mean())
    return share * (1 - share) * apart**2 / total


def _without(transfers: Transfers, slow: _Slow) -> float:
    """Returns how many times faster all would be if the slow units were like the others."""
    mended = np.where(slow.uses, transfers.seconds / slow.factor, transfers.seconds)
    return _total(transfers, transfers.seconds) / max(_total(transfers, mended), 1e-30)


def _total(transfers: Transfers, seconds: Floats) -> float:
    """Returns the time of all steps: of each, that of the rank with the most."""
    steps = transfers.step + transfers.repetition * (int(transfers.step.max()) + 1)
    ranks = int(transfers.rank.max()) + 1
    cells, of = np.unique(steps * ranks + transfers.rank, return_inverse=True)
    by_cell = np.bincount(of.reshape(-1), weights=seconds)
    starts = np.flatnonzero(np.diff(cells // ranks, prepend=-1))
    return float(np.maximum.reduceat(by_cell, starts).sum())


def _span_and_plateau(transfers: Transfers, level: Level) -> tuple[float, float]:
    """Returns the time of the middle repetition, and its rate while all units have work."""
    found = []
    for repetition in np.unique(transfers.repetition):
        own = transfers.repetition == repetition
        starts, ends = transfers.start[own], transfers.end[own]
        units = np.unique(level.of[own], return_inverse=True)[1].reshape(-1)
        plateau = plateau_rate(starts, ends, transfers.bytes[own], units)
        found.append((float(ends.max() - starts.min()), plateau))
    found.sort(key=lambda one: one[0])
    seconds, plateau = found[len(found) // 2]
    return seconds * len(found), plateau


def _slow_when(transfers: Transfers, slow: _Slow) -> tuple[float, str]:
    """Returns the share of the time in which the units are slow, and when that is, in words."""
    logs = np.log(np.maximum(_seconds_per_byte(transfers), 1e-30))
    place = places_in_repetition(transfers)
    slices = np.minimum((place * SLICES).astype(int), SLICES - 1)
    is_slow = []
    for one in range(SLICES):
        own = slices == one
        if not (own & slow.uses).any() or not (own & ~slow.uses).any():
            continue
        apart = np.median(logs[own & slow.uses]) - np.median(logs[own & ~slow.uses])
        is_slow.append((one, bool(apart > math.log(slow.factor) / 3)))
    if not is_slow:
        return 1.0, ""
    share = sum(yes for _, yes in is_slow) / len(is_slow)
    times = [one for one, yes in is_slow if yes]
    if not times:
        return 0.0, ""
    first, last = percent_text(times[0] / SLICES), percent_text((times[-1] + 1) / SLICES)
    return share, f"between {first} and {last} of the time"


def places_in_repetition(transfers: Transfers) -> Floats:
    """Returns when each transfer began, from 0 to 1 within its repetition."""
    number = int(transfers.repetition.max()) + 1
    first = np.full(number, np.inf)
    np.minimum.at(first, transfers.repetition, transfers.start)
    lengths = lengths_of_repetitions(transfers)
    return np.asarray(
        (transfers.start - first[transfers.repetition]) / lengths[transfers.repetition]
    )


def lengths_of_repetitions(transfers: Transfers) -> Floats:
    """Returns the time from the first start to the last end in each repetition."""
    number = int(transfers.repetition.max()) + 1
    first, last = np.full(number, np.inf), np.full(number, -np.inf)
    np.minimum.at(first, transfers.repetition, transfers.start)
    np.maximum.at(last, transfers.repetition, transfers.end)
    return np.where(
        np.isfinite(last),
        np.maximum(last - np.where(np.isfinite(first), first, 0.0), 1e-30),
        np.nan,
    )


def _alternatives(
    transfers: Transfers,
    levels: Sequence[Level],
    slow: Sequence[_Slow],
    found: _Slow,
    share: float,
    when: str,
) -> list[str]:
    """Weighs the other explanations of a slow unit."""
    told = []
    _, moved = unit_times(transfers, found.level)
    ratio = float(moved[found.codes].mean() / np.delete(moved, found.codes).mean())
    name = found.level.name
    if ratio < 1.1:
        told.append(f"uneven allocation does not explain it: the {name} has no more bytes")
    else:
        told.append(f"it has {ratio:.1f} times the bytes of the others besides")
    if name == "server":
        told.append("its targets are slow together: the server, its link or its controller")
    elif name == "target" and any(level.name == "server" for level in levels):
        told.append("the server is not the cause: its other targets are as fast as the others")
    elif name == LINK:
        told.append(
            "neither end is the cause: the host is as fast with others, and so are others with it"
        )
    if share < MOSTLY:
        told.append(f"it is slow only {when or 'at times'}: other load is likelier than a defect")
    else:
        told.append("it is slow all the time, so other load is less likely")
    same = [
        one
        for one in slow
        if one is not found
        and len(one.codes) == len(found.codes)
        and np.array_equal(one.uses, found.uses)
    ]
    for one in same[:1]:
        names = [one.level.names[int(code)] for code in one.codes[:3]]
        told.append(
            f"the same transfers are those of {one.level.name} {', '.join(names)}: "
            "the two cannot be told apart"
        )
    return told
