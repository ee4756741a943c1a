"""The elementary laws of the path model, for numbers and NumPy arrays alike.

A stage (``weir.model.stage``), the paper's equations (``weir.model.uselton``) and every fit
(``weir.model.stage_forms``, ``weir.model.curves``) use these functions, so that a fit and its
evaluation use the same formulas. Rates are in bytes per second, times in seconds. Wherever rates
are combined, times per byte are used, because times add up and can be averaged; an infinite rate
costs nothing.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Sharing = Literal["linear", "saturating", "contended"]
Values = NDArray[np.float64]


def share_before(
    x: float | Values, at: float | Values, width: float | Values
) -> NDArray[np.float64]:
    """Returns the share, 1 to 0, that still behaves as before a transition at ``at``.

    With ``width`` 0 it is the unit step of Uselton's equation 1, with x = at still before it;
    otherwise the logistic function 1 / (1 + exp((x - at) / width)) of equations 2 and 4.
    """
    x, at, width = np.broadcast_arrays(
        np.asarray(x, dtype=float), np.asarray(at, dtype=float), np.asarray(width, dtype=float)
    )
    step = np.where(x <= at, 1.0, 0.0)
    smooth = width > 0
    with np.errstate(invalid="ignore", over="ignore"):
        logistic = 1 / (1 + np.exp((x - at) / np.where(smooth, width, 1.0)))
    return np.where(smooth, logistic, step)


def blended_seconds(
    before: float | Values, after: float | Values, share: float | Values
) -> NDArray[np.float64]:
    """Returns seconds per byte if ``share`` of the bytes cost ``before`` and the rest ``after``.

    A share of zero contributes nothing, even if its cost is infinite.
    """
    before, after, share = np.broadcast_arrays(
        np.asarray(before, dtype=float),
        np.asarray(after, dtype=float),
        np.asarray(share, dtype=float),
    )
    with np.errstate(invalid="ignore"):
        first = np.where(share > 0, before * share, 0.0)
        second = np.where(share < 1, after * (1 - share), 0.0)
    return first + second


def seconds_per_byte(rate: float | Values) -> NDArray[np.float64]:
    """Returns 1 over a rate: 0 for an infinite rate, infinity for a rate of 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / np.asarray(rate, dtype=float))


def shared_rate(
    users: float | Values,
    rate: float | Values,
    one_user: float | Values | None,
    sharing: Sharing,
) -> NDArray[np.float64]:
    """Returns the rate that so many users together draw from one unit.

    ``saturating``: min(users · one_user, rate); without ``one_user`` a single user draws all of it.
    ``linear``: users · one_user without a limit, where ``one_user`` is by default the rate.
    ``contended``: users · one_user / (1 + (users - 1) · one_user / rate), which is one_user for one
    user, grows less than linearly, and tends to the rate.
    """
    users = np.asarray(users, dtype=float)
    full = np.asarray(rate, dtype=float)
    if sharing == "linear":
        one = full if one_user is None else np.asarray(one_user, dtype=float)
        linear: Values = np.multiply(users, one)
        return linear
    if sharing == "contended" and one_user is not None:
        one = np.asarray(one_user, dtype=float)
        contended: Values = users * one / (1 + (users - 1) * one * seconds_per_byte(full))
        return contended
    if one_user is None:
        return np.broadcast_to(full, np.broadcast_shapes(users.shape, full.shape)).copy()
    drawn: Values = np.minimum(users * np.asarray(one_user, dtype=float), full)
    return drawn
