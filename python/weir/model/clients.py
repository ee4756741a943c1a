"""Interpolates the rate of a number of clients from the rates with one and with all.

The law is that of ``weir.analysis.saturation`` with contention alone, which two points determine:

    rate(n) = r n / (1 + contention (n - 1))

Two points do not determine the form. The interval therefore also includes a power of n through both
points, and the commonest behaviour: n times the rate of one client, up to the largest known rate.
"""

from __future__ import annotations

import math

from weir.results.record import Quantity


def rate_of_clients(
    clients: int, one: Quantity | None, most: Quantity | None, all_: int
) -> Quantity | None:
    """Returns the rate of so many clients, or None outside the probed numbers of clients."""
    if clients == 1 and one is not None:
        return one
    if clients == all_ and most is not None:
        return most
    if one is None or most is None or not 1 < clients < all_ or min(one.value, most.value) <= 0:
        return None
    forms = (_contended, _power)
    low = 0.0
    if min(one.low, most.low) > 0:
        low = min(form(clients, one.low, most.low, all_) for form in forms)
    high = max(form(clients, one.high, most.high, all_) for form in forms)
    until_the_most = min(clients * one.high, max(one.high, most.high))
    value = _contended(clients, one.value, most.value, all_)
    return Quantity(value=value, low=low, high=max(high, until_the_most))


def _contended(clients: int, one: float, most: float, all_: int) -> float:
    contention = (all_ * one / most - 1) / (all_ - 1)
    return one * clients / (1 + contention * (clients - 1))


def _power(clients: int, one: float, most: float, all_: int) -> float:
    return one * math.exp(math.log(clients) / math.log(all_) * math.log(most / one))
