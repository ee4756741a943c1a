"""Sizes of requests that a monitor has counted, put together for people.

A counter of the kind ``requests`` is called ``TARGET WHAT of SIZE``, such as ``fs-OST0000 write
RPCs of 1K pages``; its operations are the requests of that size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from weir.results.quantities import percent_text

KIND = "requests"
_NAME = re.compile(r"(\S+) (.+) of ((\d+)([KMG]?)( pages)?)")
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass
class Sizes:
    """Requests of one kind, such as write RPCs, by size; of all targets together."""

    source: str
    what: str
    targets: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)
    """The number that each size stands for."""

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def text(self) -> str:
        """Says which share each size has, the smallest first."""
        ordered = sorted(self.counts, key=lambda size: self.order[size])
        return ", ".join(
            f"{percent_text(self.counts[size] / self.total)} of {size}" for size in ordered
        )


def sizes_of(counters: Iterable[tuple[str, str, int]]) -> list[Sizes]:
    """Returns the sizes of requests from source, name and operations of counters of ``KIND``."""
    found: dict[tuple[str, str], Sizes] = {}
    for source, name, operations in counters:
        words = _NAME.fullmatch(name)
        if words is None or not operations:
            continue
        target, what, size, number, factor = words.group(1, 2, 3, 4, 5)
        own = found.setdefault((source, what), Sizes(source, what))
        own.targets.add(target)
        own.counts[size] = own.counts.get(size, 0) + operations
        own.order[size] = int(number) * _FACTORS[factor]
    return [found[key] for key in sorted(found)]
