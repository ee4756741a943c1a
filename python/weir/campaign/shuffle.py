"""Random order that a seed determines, in every version of Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Shuffle:
    """Shuffles lists, each by the next numbers of one seed."""

    def __init__(self, seed: int) -> None:
        self._generator = random.Random(seed)

    def shuffled(self, given: Sequence[Item]) -> list[Item]:
        """Returns the items in random order."""
        # Fisher-Yates shuffle with random(), whose sequence for a seed Python guarantees; the
        # result of shuffle() may change between versions.
        items = list(given)
        for last in range(len(items) - 1, 0, -1):
            chosen = int(self._generator.random() * (last + 1))
            items[last], items[chosen] = items[chosen], items[last]
        return items
