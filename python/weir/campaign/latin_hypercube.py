"""A few combinations that lie evenly in the space of many factors: a Latin hypercube over levels.

Every level of a factor is used equally often, or, if there are fewer tests than levels, the levels
used are evenly spaced; which levels of different factors meet is random (McKay, Beckman and Conover
1979). Of many draws the one is taken whose closest two combinations are furthest apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from weir.bench.errors import USAGE, BenchError
from weir.campaign.shuffle import Shuffle
from weir.results.campaign import CampaignFactor, Value

MOST_DRAWS = 400
MOST_DISTANCES = 4_000_000
"""Distances that are computed at most; many tests get fewer draws, and at least one."""


def latin_hypercube(
    factors: Sequence[CampaignFactor],
    tests: int,
    seed: int,
    leaves_out: Callable[[dict[str, Value]], bool],
) -> list[dict[str, Value]]:
    """Returns ``tests`` different combinations of levels; the same seed gives the same ones.

    A draw with a combination that ``leaves_out`` is not taken. Raises ``BenchError`` if all are
    such draws.
    """
    counts = [len(factor.levels) for factor in factors]
    shuffle = Shuffle(seed)
    best: list[tuple[int, ...]] = []
    widest = 0.0
    for _ in range(max(1, min(MOST_DRAWS, MOST_DISTANCES // tests**2))):
        columns = [
            shuffle.shuffled([(2 * place + 1) * count // (2 * tests) for place in range(tests)])
            for count in counts
        ]
        drawn = list(zip(*columns, strict=True))
        if len(set(drawn)) < tests or any(leaves_out(_at(factors, one)) for one in drawn):
            continue
        apart = _closest(drawn, counts)
        if apart > widest:
            best, widest = drawn, apart
    if not best:
        raise BenchError(
            f"no Latin hypercube of {tests} tests was found in these levels: give fewer tests",
            USAGE,
        )
    return [_at(factors, one) for one in best]


def _at(factors: Sequence[CampaignFactor], places: Sequence[int]) -> dict[str, Value]:
    return {
        name: value
        for factor, place in zip(factors, places, strict=True)
        for name, value in zip(factor.names, factor.levels[place], strict=True)
    }


def _closest(drawn: Sequence[Sequence[int]], counts: Sequence[int]) -> float:
    """Returns the least distance between two combinations, in units of the factors' spans."""
    if len(drawn) == 1:
        return 1.0
    points = np.array(drawn) / np.maximum(np.array(counts) - 1, 1)
    apart = np.sum((points[:, None, :] - points[None, :, :]) ** 2, axis=2)
    return float(np.min(apart + np.diag(np.full(len(drawn), np.inf))))
