"""A proposed test as a value, and how much it would teach.

A test teaches as much as its result is uncertain beyond its own noise. For a model whose
logarithmic rate has the standard deviation s there, and a test whose result scatters by n, the
information about the model is

    ½ log2(1 + s²/n²)  bits

(the mutual information of normal distributions). A test whose result the model knows teaches
nothing; one whose noise hides the answer teaches little. Tests are compared by bits per second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from weir.results.campaign import Value
from weir.results.purpose import ExpectedResult, Goal

INTERVAL = 1.96
"""Standard deviations on either side of a 95 % interval."""


@dataclass(frozen=True)
class Proposal:
    """One test: what to run, why, what to expect, what it costs, and what it decides."""

    settings: Mapping[str, Value]
    """The level of each factor, by the name of the setting."""
    goal: Goal
    motivation: str
    expects: str
    expected: tuple[ExpectedResult, ...]
    decides: str
    seconds: float
    bits: float
    follows: tuple[str, ...] = field(default=())
    """Ids of the runs from which the test was derived."""

    @property
    def bits_per_second(self) -> float:
        return self.bits / self.seconds if self.seconds > 0 else 0.0


def information_bits(deviation: float, noise: float) -> float:
    """Returns what one result teaches about a quantity that is known to ``deviation``."""
    if noise <= 0:
        raise ValueError("the noise of a test must be above 0")
    return 0.5 * math.log2(1 + (deviation / noise) ** 2)


def undecided_bits(median: float, deviation: float, noise: float, low: float, high: float) -> float:
    """Returns what repeating a test teaches about whether its rate lies in an expected interval.

    ``median``, ``low`` and ``high`` are logarithms. It is the entropy of the verdict, times the
    share of the uncertainty that the repetition removes.
    """
    if deviation <= 0:
        return 0.0
    below = _normal((low - median) / deviation)
    above = 1 - _normal((high - median) / deviation)
    parts = (below, above, max(0.0, 1 - below - above))
    entropy = -sum(part * math.log2(part) for part in parts if part > 0)
    return entropy * deviation**2 / (deviation**2 + noise**2)


def _normal(z: float) -> float:
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))
