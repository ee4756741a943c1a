"""Fits rates as curves of one factor: the size of the buffer or transfer, or the number of tasks.

The curves have the forms of Uselton's paper. They are chosen and fitted like all laws
(``weir.model.choice``): by held-out samples, with intervals, and with a plain statement if none of
them fits.

    rate_over_buffer     one rate · step (equation 1, without its sum) · sigmoid (equation 2) ·
                         two caches, by steps or smooth
    rate_over_transfer   one rate · fixed cost (equation 3)
    rate_over_tasks      linear · saturating · saturating, then falling (equation 4)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from weir.model.choice import Fitted, choose
from weir.model.laws import Values, blended_seconds, seconds_per_byte, share_before
from weir.model.least_squares import Columns, Form, Free, Parameters
from weir.results.platform import Fit
from weir.results.record import Quantity

RATE = ("bytes per second", 1e-3, 1e16)
SECONDS = ("s", 1e-12, 1e6)
MOST = 1e18


@dataclass(frozen=True)
class Curve:
    """A fitted curve of a rate. ``fit`` has its form, held-out errors and a summary in words."""

    factor: str
    fitted: Fitted
    fit: Fit

    @property
    def form(self) -> str:
        return self.fitted.form.name

    @property
    def parameters(self) -> dict[str, Quantity]:
        return self.fitted.parameters

    @property
    def units(self) -> dict[str, str]:
        return {free.name: free.unit for free in self.fitted.form.parameters}

    def rate(self, values: Sequence[float] | Values) -> Values:
        """Returns the rates in bytes per second at other values of the factor."""
        columns = {self.factor: np.asarray(values, dtype=float)}
        return seconds_per_byte(self.fitted.seconds(columns))


def rate_over_buffer(buffer_bytes: Sequence[float], rates: Sequence[float], seed: int = 1) -> Curve:
    """Fits the rate of one write as a function of its buffer's size (Uselton, section 2)."""
    levels = [_levels("one rate", 0, smooth=False)]
    levels += [
        _levels(f"{name} by {how}", caches, smooth=smooth)
        for caches, name in ((1, "one cache"), (2, "two caches"))
        for smooth, how in ((False, "a step"), (True, "a sigmoid"))
    ]
    return _curve("buffer", levels, buffer_bytes, rates, seed)


def rate_over_transfer(
    transfer_bytes: Sequence[float], rates: Sequence[float], seed: int = 1
) -> Curve:
    """Fits the rate of many writes as a function of the size of each (Uselton, equation 3)."""

    def seconds(values: Parameters, columns: Columns) -> Values:
        fixed = values[1] if len(values) > 1 else 0.0
        return np.asarray(1 / values[0] + fixed / columns["transfer"])

    def starts(columns: Columns, observed: Values) -> list[list[float]]:
        fastest = float(1 / observed.min())
        return [[fastest, float(np.median(observed * columns["transfer"])) / 4]]

    rate, fixed = Free("rate", *RATE), Free("fixed", *SECONDS)
    forms = [
        Form("one rate", (rate,), seconds, lambda c, o: [starts(c, o)[0][:1]]),
        Form("fixed cost", (rate, fixed), seconds, starts),
    ]
    return _curve("transfer", forms, transfer_bytes, rates, seed)


def rate_over_tasks(tasks: Sequence[float], rates: Sequence[float], seed: int = 1) -> Curve:
    """Fits the rate of all tasks together as a function of their number (Uselton, equation 4)."""
    one = Free("one_task", *RATE)
    units = Free("units", "tasks", 1.0, MOST)
    crowded = Free("crowded", *RATE)
    at, width = Free("at_tasks", "tasks", 1e-3, MOST), Free("width_tasks", "tasks", 1e-3, MOST)

    def linear(values: Parameters, columns: Columns) -> Values:
        return np.asarray(1 / (values[0] * columns["tasks"]))

    def saturating(values: Parameters, columns: Columns) -> Values:
        return np.asarray(1 / (values[0] * np.minimum(columns["tasks"], values[1])))

    def falling(values: Parameters, columns: Columns) -> Values:
        alone, count, slow, middle, wide = values
        n = columns["tasks"]
        crowd = blended_seconds(
            1 / alone, 1 / np.minimum(slow, alone), share_before(n, middle, wide)
        )
        return np.asarray(np.where(n <= count, 1 / (alone * n), crowd / count))

    def starts(columns: Columns, observed: Values) -> list[list[float]]:
        n = columns["tasks"]
        found = []
        for count in np.unique(n)[1:]:
            alone = float(np.median(1 / (observed * np.minimum(n, count))))
            found.append([alone, float(count)])
        return found[:: max(1, len(found) // 8)] or [[float(1 / observed[0]), float(n.max())]]

    def falling_starts(columns: Columns, observed: Values) -> list[list[float]]:
        n = columns["tasks"]
        last = float(1 / observed[np.argmax(n)])
        return [
            [start[0], start[1], last / start[1], share * float(n.max()), float(n.max()) / 10]
            for start in starts(columns, observed)[::2]
            for share in (0.25, 0.6)
        ]

    forms = [
        Form("linear", (one,), linear, lambda c, o: [[float(np.median(1 / (o * c["tasks"])))]]),
        Form("saturating", (one, units), saturating, starts),
        Form("saturating, then falling", (one, units, crowded, at, width), falling, falling_starts),
    ]
    return _curve("tasks", forms, tasks, rates, seed)


def _levels(name: str, caches: int, *, smooth: bool) -> Form:
    """Returns a form with one rate per cache and one beyond them, with transitions between."""
    parameters = [Free("rate", *RATE)]
    for number in range(1, caches + 1):
        which = str(number) if caches > 1 else ""
        parameters.append(Free(f"cache{which}_rate", *RATE))
        parameters.append(
            Free(f"cache{which}_bytes", "bytes", 1e-3, MOST, None if smooth else "buffer")
        )
        if smooth:
            parameters.append(Free(f"width{which}_bytes", "bytes", 1e-3, MOST))
    of_each = 3 if smooth else 2

    def seconds(values: Parameters, columns: Columns) -> Values:
        size = columns["buffer"]
        per_byte = 1 / values[0] + np.zeros(len(size))
        for number in reversed(range(caches)):
            own = values[1 + of_each * number : 1 + of_each * (number + 1)]
            share = share_before(size, own[1], own[2] if smooth else 0.0)
            per_byte = blended_seconds(1 / own[0], per_byte, share)
        return per_byte

    def starts(columns: Columns, observed: Values) -> list[list[float]]:
        size = columns["buffer"]
        places = [float(np.sqrt(a * b)) for a, b in pairwise(np.unique(size))]
        if caches == 0:
            return [[float(1 / np.median(observed))]]
        if caches == 1:
            cuts = [[place] for place in places]
        else:
            some = places[:: max(1, len(places) // 40)]
            cuts = [[a, b] for a in some for b in some if a < b]
        return [_start(size, observed, cut) for cut in cuts]

    def _start(size: Values, observed: Values, cuts: list[float]) -> list[float]:
        edges = [0.0, *cuts, float("inf")]
        rates = [
            float(1 / np.median(observed[(size > low) & (size <= high)]))
            for low, high in pairwise(edges)
        ]
        start = [rates[-1]]
        for rate, cut in zip(rates, cuts, strict=False):
            start += [rate, cut, cut / 8] if smooth else [rate, cut]
        return start

    return Form(name, tuple(parameters), seconds, starts)


def _curve(
    factor: str, forms: Sequence[Form], x: Sequence[float], rates: Sequence[float], seed: int
) -> Curve:
    values = np.asarray(x, dtype=float)
    observed = np.asarray(rates, dtype=float)
    if values.shape != observed.shape or np.any(observed <= 0) or np.any(values <= 0):
        raise ValueError(f"a curve over {factor} needs as many rates as values, all above 0")
    fitted = choose(forms, {factor: values}, 1 / observed, list(values), seed)
    return Curve(factor, fitted, fitted.as_fit(f"rate over {factor}"))


Fitter = Callable[[Sequence[float], Sequence[float]], Curve]
CURVES: dict[str, Fitter] = {
    "buffer": rate_over_buffer,
    "transfer": rate_over_transfer,
    "tasks": rate_over_tasks,
}
"""Functions that fit a curve, by the factor that was varied."""
