"""Student's t distribution, for means whose spread is estimated from few values.

Probabilities are the finite sums of M. Abramowitz and I. Stegun, "Handbook of Mathematical
Functions" (1964), 26.7.3 and 26.7.4, for whole degrees of freedom.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

MANY = 200
"""With more degrees of freedom the normal distribution is used."""
HALVINGS = 60


def tail_beyond(angle: float, freedom: int) -> float:
    """Returns the probability of more than tan(angle) times the root of the degrees of freedom."""
    cosine = math.cos(angle)
    odd = freedom % 2 == 1
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for power in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine**2 * ((power - 1) / power)
        total += term
    within = math.sin(angle) * total
    if odd:
        within = (angle + within) * 2 / math.pi
    return (1 - within) / 2


@lru_cache(maxsize=256)
def quantile_above(probability: float, freedom: int) -> float:
    """Returns what is exceeded with this probability, of at most one half."""
    if freedom > MANY:
        return NormalDist().inv_cdf(1 - probability)
    low, high = 0.0, math.pi / 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if tail_beyond(middle, freedom) > probability:
            low = middle
        else:
            high = middle
    return math.tan(low) * math.sqrt(freedom)
