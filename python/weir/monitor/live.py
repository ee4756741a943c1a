"""Shows in one line of a terminal, every second, what moves."""

from __future__ import annotations

from typing import TextIO

from weir.monitor.counters import KINDS, Key
from weir.monitor.sampler import SECOND, Sample
from weir.results.quantities import rate_text

LEAST_RATE = 1024.0
"""Bytes per second from which a counter is shown."""


class LiveLine:
    """Sums up the samples of a second, then replaces the line by what they had."""

    def __init__(self, stream: TextIO, width: int) -> None:
        self._stream = stream
        self._width = width
        self._since_ns: int | None = None
        self._moved: dict[Key, list[int]] = {}

    def add(self, sample: Sample) -> None:
        """Adds a sample."""
        if self._since_ns is None:
            self._since_ns = sample.at_ns
            return
        for key, values in sample.grown.items():
            sums = self._moved.setdefault(key, [0, 0])
            sums[0] += values.bytes_read
            sums[1] += values.bytes_written
        passed = (sample.at_ns - self._since_ns) / SECOND
        if passed >= 0.999:
            self._show(line_of(self._moved, passed))
            self._since_ns = sample.at_ns
            self._moved = {}

    def clear(self) -> None:
        """Removes the line."""
        self._show("")

    def _show(self, text: str) -> None:
        self._stream.write("\r\x1b[K" + text[: self._width - 1])
        self._stream.flush()


def line_of(moved: dict[Key, list[int]], seconds: float) -> str:
    """Returns what is shown of the bytes that were moved in so many seconds, targets first."""
    parts = []
    for key in sorted(moved, key=lambda one: (KINDS.index(one.kind), -sum(moved[one]), one.name)):
        rates = [bytes_moved / seconds for bytes_moved in moved[key]]
        if sum(rates) < LEAST_RATE:
            continue
        words = ("in", "out") if key.kind == "link" else ("read", "written")
        said = [
            f"{word} {rate_text(rate)}"
            for word, rate in zip(words, rates, strict=True)
            if rate >= LEAST_RATE / 2
        ]
        parts.append(f"{key.name} {', '.join(said)}")
    return "  |  ".join(parts) or "nothing moves"
