"""Calls drivers at fixed times and passes on what has grown.

Sample number n is due at start + n · interval, so that no delay adds up. A sample that is late by
an interval or more takes the place of those that it missed; their number is counted. What the
sampler itself costs is its process's processor time, and that of the programs which it ran.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from weir.monitor.counters import NOTHING, DelayedDriver, Driver, Key, Values, grown

SHORTEST_SECONDS = 0.05
LONGEST_SECONDS = 60.0
SECOND = 1_000_000_000


class Clock(Protocol):
    """The time, and waiting for it."""

    def now_ns(self) -> int:
        """Returns CLOCK_MONOTONIC."""

    def wait_until(self, at_ns: int) -> bool:
        """Waits; returns False if the sampler is to end instead."""

    def cost_ns(self) -> int:
        """Returns the processor time of this process and of ended children that count."""


class SystemClock:
    """The clock of this process. ``keeps_on`` waits so many seconds, and may end the sampler."""

    def __init__(self, keeps_on: Callable[[float], bool], *, counts_children: bool) -> None:
        self._keeps_on = keeps_on
        self._counts_children = counts_children

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def wait_until(self, at_ns: int) -> bool:
        return self._keeps_on(max(0.0, (at_ns - time.monotonic_ns()) / SECOND))

    def cost_ns(self) -> int:
        if not self._counts_children:
            return time.process_time_ns()
        children = os.times()
        ended = children.children_user + children.children_system
        return time.process_time_ns() + round(ended * SECOND)


class Sample(NamedTuple):
    """What has grown since the sample before. The first sample has no growth."""

    at_ns: int
    """When reading began."""
    took_ns: int
    """How long reading took: each counter was read within this time."""
    grown: Mapping[Key, Values]
    cost_ns: int
    """Processor time since the sampler began."""
    spans: Mapping[Key, tuple[int, int]] = {}
    """Between which moments the counters of delayed drivers have grown."""


@dataclass
class Sampler:
    """See the top of this file."""

    drivers: Sequence[Driver]
    interval_ns: int
    clock: Clock
    on_sample: Callable[[Sample], None]
    missed: int = 0
    samples: int = 0
    _last: dict[Key, Values] = field(default_factory=dict)

    def run(self, longest_ns: int | None = None) -> None:
        """Samples until the clock says to end, or ``longest_ns`` are over; then once more."""
        start = self.clock.now_ns()
        began_cost = self.clock.cost_ns()
        self._sample(began_cost)
        turn = 1
        while longest_ns is None or turn * self.interval_ns <= longest_ns:
            goes_on = self.clock.wait_until(start + turn * self.interval_ns)
            self._sample(began_cost)
            if not goes_on:
                return
            due = (self.clock.now_ns() - start) // self.interval_ns + 1
            self.missed += due - turn - 1
            turn = due

    def _sample(self, began_cost: int) -> None:
        at_ns = self.clock.now_ns()
        last = self._last
        found: dict[Key, Values] = {}
        delayed: dict[Key, tuple[int, int]] = {}
        for driver in self.drivers:
            try:
                known = driver.now()
            except (OSError, ValueError):
                continue  # A source may vanish, as a mount does, and come back.
            found.update(known)
            if isinstance(driver, DelayedDriver):
                delayed.update(dict.fromkeys(known, driver.span_ns))
        took_ns = self.clock.now_ns() - at_ns
        added = {}
        for key, values in found.items():
            before = last.get(key)
            if before is values or before == values:
                continue
            if before is not None:
                more = grown(before, values)
                if more != NOTHING:
                    added[key] = more
            last[key] = values
        self.samples += 1
        spans = {key: delayed[key] for key in added if key in delayed}
        self.on_sample(Sample(at_ns, took_ns, added, self.clock.cost_ns() - began_cost, spans))


def resolution_text(interval_seconds: float) -> str:
    """Says what samples of this interval cannot show."""
    return (
        f"sampled every {interval_seconds:g} s: a change shorter than {2 * interval_seconds:g} s, "
        "two intervals, can neither be seen nor be excluded, and a rate is a mean over an interval"
    )
