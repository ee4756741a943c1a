"""The rate of some clients, from the rates with one and with all.

The law is that of ``weir.results.saturation`` with contention alone, which two points determine:

    rate(n) = r n / (1 + contention (n - 1))

With two points the form is not known, so the interval reaches to a power of n through both as well.
"""

from __future__ import annotations

import math

from weir.results.record import Quantity


def rate_of_clients(
    clients: int, one: Quantity | None, most: Quantity | None, all_: int
) -> Quantity | None:
    """The rate of so many clients, where it lies between what was probed."""
    if clients == 1 and one is not None:
        return one
    if clients == all_ and most is not None:
        return most
    if one is None or most is None or not 1 < clients < all_ or min(one.value, most.value) <= 0:
        return None
    forms = [
        form(clients, of_one, of_all, all_)
        for form in (_contended, _power)
        for of_one, of_all in ((one.low, most.low), (one.high, most.high))
        if min(of_one, of_all) > 0
    ]
    value = _contended(clients, one.value, most.value, all_)
    return Quantity(value=value, low=min(forms, default=0.0), high=max(forms))


def _contended(clients: int, one: float, most: float, all_: int) -> float:
    contention = (all_ * one / most - 1) / (all_ - 1)
    return one * clients / (1 + contention * (clients - 1))


def _power(clients: int, one: float, most: float, all_: int) -> float:
    return one * math.exp(math.log(clients) / math.log(all_) * math.log(most / one))
