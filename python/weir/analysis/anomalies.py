"""Names what is unusual about the transfers of one function in one direction.

Each finding is a sentence with figures; a homogeneous run has none. The order is that of what
usually explains the rest: allocation and stragglers, then modes, then changes over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weir.analysis import modes, stragglers, trends
from weir.analysis.modes import Attribute, find_modes, what_separates
from weir.analysis.stragglers import (
    Level,
    Straggler,
    Transfers,
    at_even_load,
    deviations_of,
    find_allocation,
    find_straggler,
    lengths_of_repetitions,
    places_in_repetition,
    without_stalls,
)
from weir.analysis.trends import find_change, find_period, find_tail
from weir.results.quantities import percent_text, seconds_text

Floats = NDArray[np.float64]

STALL = 10.0
"""A transfer stalls if it takes at least so many times as long as the one in the middle."""
TAIL = "tail"
FEW = 0.02
"""Stalls are at most this share of the transfers; more of them are a mode."""
LEAST_STALLED = 0.25
"""Stalls are named if they take at least this share of the time."""
MOST_WINDOWS = 64
MOST_REPETITIONS = 8
"""Periods are sought in so many repetitions."""
LONGEST_SLICE = 0.024
"""Seconds for which Linux lets a process that is ready wait for another one: its default latency of
6 ms, four times that on many processors. Such a wait happens on every machine."""
LEAST_SECONDS = LONGEST_SLICE / 0.05
"""In less time of a rank, one such wait is as long as the 5 % that a label has to cost."""
LEAST_KNOWN = 0.75
"""Share of the windows in which ranks are active, if changes over time are sought."""
SAME_SIZE = 0.01
"""Rates are compared among transfers whose sizes differ by at most this share."""
COARSER_THAN_TIME = ("server", "target", "host", stragglers.LINK, "file")


@dataclass(frozen=True)
class Finding:
    """One label with its sentence; ``reasons`` are further sentences: causes and alternatives.

    ``straggler`` is what is slow, if anything is.
    """

    kind: str
    text: str
    reasons: tuple[str, ...] = ()
    straggler: Straggler | None = None


def find_anomalies(
    transfers: Transfers,
    levels: Sequence[Level],
    offsets: NDArray[np.int64] | None = None,
    *,
    file_bytes: float | None = None,
    tests: int = 1,
) -> list[Finding]:
    """Returns what is unusual, or nothing; ``levels``: the coarsest first.

    ``tests`` is the number of sets of transfers that are examined: each may then be mistaken so
    much less often.
    """
    if len(transfers) < 2 or seconds_of_a_rank(transfers) < LEAST_SECONDS:
        return []
    steady = without_stalls(transfers)
    found = _of_units(transfers, steady, levels, file_bytes, tests)
    found += _of_stalls(transfers)
    found += _of_modes(transfers, levels, offsets, tests)
    found += _of_times(steady, levels, tests)
    return found


def seconds_of_a_rank(transfers: Transfers) -> float:
    """Returns the time that a rank spends in the transfers of all repetitions, as a mean."""
    return float(np.sum(transfers.seconds)) / len(np.unique(transfers.rank))


def _of_stalls(transfers: Transfers) -> list[Finding]:
    seconds = transfers.seconds
    longest = seconds >= STALL * float(np.median(seconds))
    number, total = int(longest.sum()), float(seconds.sum())
    share = float(seconds[longest].sum()) / max(total, 1e-30)
    if not 0 < number <= FEW * len(seconds) or share < LEAST_STALLED:
        return []
    what = f"{number} of {len(seconds):,} transfers take {percent_text(share)} of their time"
    return [Finding("stalls", f"{what}, the longest {seconds_text(float(seconds.max()))}")]


def _of_units(
    transfers: Transfers,
    steady: Transfers,
    levels: Sequence[Level],
    file_bytes: float | None,
    tests: int,
) -> list[Finding]:
    found = []
    allocation = find_allocation(transfers, levels, file_bytes)
    significant = stragglers.SIGNIFICANT / tests
    straggler = find_straggler(steady, levels, significant)
    if allocation:
        name = allocation.level
        level = next(level for level in levels if level.name == name)
        if straggler and straggler.level != name:
            straggler = find_straggler(at_even_load(steady, level), levels, significant)
        reason = (
            f"a slow {name} does not explain it: for a byte, no {name} takes "
            f"{stragglers.STRAGGLER_FACTOR} times as long as the others"
        )
        is_slow = straggler is not None and straggler.level == name
        found.append(Finding("uneven allocation", allocation.text, () if is_slow else (reason,)))
    if straggler:
        found.append(
            Finding(
                f"slow {straggler.level}",
                straggler.text,
                straggler.alternatives,
                straggler,
            )
        )
    return found


def _of_modes(
    transfers: Transfers,
    levels: Sequence[Level],
    offsets: NDArray[np.int64] | None,
    tests: int,
) -> list[Finding]:
    size = float(np.median(transfers.bytes))
    chosen = np.flatnonzero(
        (np.abs(transfers.bytes - size) <= SAME_SIZE * size)
        & (transfers.bytes > 0)
        & (transfers.seconds > 0)
    )
    if len(chosen) < max(modes.LEAST_RATES, len(transfers) // 2):
        return []
    rates = transfers.bytes[chosen] / transfers.seconds[chosen]
    when = transfers.start[chosen]
    found = find_modes(rates, transfers.series[chosen], when, modes.SIGNIFICANT / tests)
    if found is None:
        return []
    labels = found.labels
    if len(chosen) > modes.MOST_PERMUTED:
        random = np.random.default_rng(1)
        drawn = np.sort(random.choice(len(chosen), modes.MOST_PERMUTED, replace=False))
        chosen, labels = chosen[drawn], labels[drawn]
    attributes = [
        replace(one, values=one.values[chosen]) for one in _attributes(transfers, levels, offsets)
    ]
    separation = what_separates(labels, attributes)
    reason = (
        f"{separation.text} ({separation.attribute} tells "
        f"{percent_text(separation.explained)} of which mode it is)"
        if separation
        else "nothing that was recorded separates the modes"
    )
    return [Finding("modes", found.text, (reason,))]


def _attributes(
    transfers: Transfers, levels: Sequence[Level], offsets: NDArray[np.int64] | None
) -> list[Attribute]:
    """Returns what may separate modes, in the order of preference."""
    named = {level.name: Attribute(level.name, level.of, level.names) for level in levels}
    begins = np.flatnonzero(np.diff(transfers.series, prepend=-1))
    lengths = np.diff(np.append(begins, len(transfers)))
    order = np.arange(len(transfers)) - np.repeat(begins, lengths)
    repetitions = [f"repetition {one}" for one in range(int(transfers.repetition.max()) + 1)]
    return [
        *(named[name] for name in COARSER_THAN_TIME if name in named),
        Attribute("repetition", transfers.repetition, repetitions),
        Attribute("time", places_in_repetition(transfers)),
        Attribute(modes.BUSY, busy_ranks(transfers)),
        Attribute(modes.ORDER, order),
        *([Attribute("offset", offsets)] if offsets is not None else []),
        *([named["rank"]] if "rank" in named else []),
    ]


def busy_ranks(transfers: Transfers) -> NDArray[np.int64]:
    """Returns how many ranks have a transfer under way during each, a mean over it, rounded."""
    times = np.concatenate([transfers.start, transfers.end])
    order = np.argsort(times, kind="stable")
    times = times[order]
    more = np.where(order < len(transfers), 1, -1)
    spent = np.concatenate([[0.0], np.cumsum(np.cumsum(more)[:-1] * np.diff(times))])
    during = np.interp(transfers.end, times, spent) - np.interp(transfers.start, times, spent)
    return np.asarray(np.rint(during / np.maximum(transfers.seconds, 1e-30)), dtype=np.int64)


def _of_times(transfers: Transfers, levels: Sequence[Level], tests: int) -> list[Finding]:
    found = []
    tail = longest_tail(transfers, levels, trends.SIGNIFICANT / tests)
    if tail:
        level, one = tail
        found.append(
            Finding(
                TAIL,
                f"in the last {percent_text(one.fraction)} of the time fewer than half of the "
                f"{level.name}s are active, which costs {percent_text(one.lost)} of the time; "
                f"{tail_text(transfers, one.fraction)}",
            )
        )
    rates, until = rates_over_time(transfers)
    change = find_change(rates.mean(axis=0), trends.SIGNIFICANT / tests)
    if change:
        at = None if change.at is None else change.at * until
        found.append(Finding(change.kind, replace(change, at=at).text))
    period = find_period(rates[:MOST_REPETITIONS], trends.SIGNIFICANT / tests)
    if period:
        found.append(
            Finding(
                "periodic dips",
                f"the rate falls by {percent_text(period.depth)} about "
                f"{round(1 / period.period)} times in a repetition, at intervals of "
                f"{seconds_text(period.period * until * length_of_repetition(transfers))}",
            )
        )
    return found


def moved_in_the_last(transfers: Transfers, fraction: float) -> float:
    """Returns the share of the bytes that move in the last ``fraction`` of the repetitions' time.

    A transfer is taken to move its bytes evenly over its time.
    """
    begin = places_in_repetition(transfers)
    length = transfers.seconds / lengths_of_repetitions(transfers)[transfers.repetition]
    late = np.clip((begin + length - (1 - fraction)) / np.maximum(length, 1e-30), 0.0, 1.0)
    return float(np.sum(late * transfers.bytes) / np.sum(transfers.bytes))


def tail_text(transfers: Transfers, fraction: float) -> str:
    """Says what the last ``fraction`` of the time moves, and the rate before it."""
    moved = moved_in_the_last(transfers, fraction)
    faster = (1 - moved) / (1 - fraction)
    return (
        f"it moves {percent_text(moved)} of the bytes, and before it the rate is {faster:.2f} "
        "times that of the whole"
    )


def longest_tail(
    transfers: Transfers, levels: Sequence[Level], significant: float
) -> tuple[Level, trends.Tail] | None:
    """Returns the tail of the level with the longest; ranks that wait for each other have none."""
    if transfers.step.any():
        return None
    best: tuple[Level, trends.Tail] | None = None
    for level in levels:
        number = len(level.names)
        if len(transfers) < 2 * number or level.name == stragglers.LINK:
            continue
        deviations, counts = deviations_of(transfers, level)
        one = find_tail(
            done_after(transfers, level),
            deviations,
            int(np.median(counts)),
            significant,
        )
        if one and (best is None or one.fraction > best[1].fraction + 0.02):
            best = level, one
    return best


def done_after(transfers: Transfers, level: Level) -> Floats:
    """Returns after how many seconds each unit that moved bytes was done, in their order.

    It is the mean over repetitions. The time of each rank counts from its own first transfer.
    """
    series, of = np.unique(transfers.series, return_inverse=True)
    of = of.reshape(-1)
    begin = np.full(len(series), np.inf)
    np.minimum.at(begin, of, transfers.start)
    number, repetitions = len(level.names), int(transfers.repetition.max()) + 1
    done = np.full((repetitions, number), -np.inf)
    np.maximum.at(done, (transfers.repetition, level.of), transfers.end - begin[of])
    known = np.isfinite(done)
    sums = np.where(known, done, 0.0).sum(axis=0)
    counts = known.sum(axis=0)
    return np.asarray((sums / np.maximum(counts, 1))[counts > 0])


def completions_of(transfers: Transfers, level: Level) -> list[tuple[str, float, float]]:
    """Returns each unit that moved bytes, after how many seconds it was done, and its mean rate.

    The rate is in bytes per second, over that time, of the mean bytes of a repetition.
    """
    repetitions = int(transfers.repetition.max()) + 1
    moved = np.bincount(level.of, transfers.bytes, len(level.names))
    units = np.unique(level.of)
    return [
        (str(level.names[unit]), float(seconds), float(moved[unit] / repetitions / seconds))
        for unit, seconds in zip(units, done_after(transfers, level), strict=True)
        if seconds > 0
    ]


def length_of_repetition(transfers: Transfers) -> float:
    """Returns the time from the first start to the last end in a repetition, as a mean."""
    return float(np.nanmean(lengths_of_repetitions(transfers)))


def rates_over_time(transfers: Transfers) -> tuple[Floats, float]:
    """Returns the rate in windows of equal time, a row for each repetition, and until when.

    The rate of a transfer is taken over the mean rate of its rank, so it makes no difference which
    ranks are active. Windows are not shorter than a transfer, on average, and end when fewer than
    half as many ranks are active as usual. There are none if the windows would be too few.
    """
    places = places_in_repetition(transfers)
    lengths = transfers.seconds / lengths_of_repetitions(transfers)[transfers.repetition]
    of = np.unique(transfers.series, return_inverse=True)[1].reshape(-1)
    of_series = np.bincount(of, weights=transfers.seconds) / np.maximum(
        np.bincount(of, weights=transfers.bytes), 1.0
    )
    usual = transfers.bytes * of_series[of]
    windows = min(MOST_WINDOWS, len(transfers) // max(1, len(of_series)))
    repetitions = np.unique(transfers.repetition)
    nothing = np.zeros((1, 0)), 1.0
    if windows < trends.LEAST_WINDOWS:
        return nothing
    rows = np.unique(transfers.repetition, return_inverse=True)[1].reshape(-1)
    moved = np.zeros((len(repetitions), windows + 1))
    busy = np.zeros_like(moved)
    for place, edge in enumerate(np.linspace(0.0, 1.0, windows + 1)):
        done = np.clip((edge - places) / np.maximum(lengths, 1e-30), 0.0, 1.0)
        moved[:, place] = np.bincount(rows, weights=done * usual)
        busy[:, place] = np.bincount(rows, weights=done * transfers.seconds)
    moved, busy = np.diff(moved, axis=1), np.diff(busy, axis=1)
    typical = np.median(busy, axis=1, keepdims=True)
    known = (busy >= 0.5 * typical) & (moved > 0)
    until = int(np.min(windows - np.argmax(known[:, ::-1], axis=1)))
    known, moved, busy = known[:, :until], moved[:, :until], busy[:, :until]
    if until < trends.LEAST_WINDOWS or float(known.mean(axis=1).min()) < LEAST_KNOWN:
        return nothing
    at = np.arange(until)
    rates = [
        np.interp(at, at[yes], one[yes] / time[yes])
        for yes, one, time in zip(known, moved, busy, strict=True)
    ]
    return np.array(rates), until / windows
