"""The forms that a stage's law may have, and the stage that results from a fitted form.

Samples have the columns ``users`` (of one unit), ``bytes`` (of one operation) and, if it is not 1,
``in_flight`` (concurrent operations of a user). Their time is that of one operation of every user,
all at the same time. Forms differ in three ways:

    sharing    one draws all · saturating · linear
    cost       none · fixed (all users' at the same time) · in turn (one after the other) · both
    size       one rate · small operations faster, by a step · by a smooth transition
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from weir.model.choice import Comparison, Fitted, compare, settle
from weir.model.laws import (
    Values,
    blended_seconds,
    seconds_per_byte,
    share_before,
    shared_rate,
)
from weir.model.least_squares import Columns, Form, Free, Parameters
from weir.results.expectations import Direction
from weir.results.platform import Cache, PlatformStage, Route, StageKind
from weir.results.quantities import percent_text
from weir.results.record import Quantity

SharingForm = Literal["one draws all", "saturating", "linear"]
CostForm = Literal["no fixed cost", "fixed cost", "cost in turn", "fixed cost and cost in turn"]
SizeForm = Literal["one rate", "small operations by a step", "small operations, smooth"]

RATE = ("bytes per second", 1e2, 1e14)
SECONDS = ("s", 1e-10, 1e4)
BYTES = ("bytes", 1.0, 1e15)
SIZES_FOR_A_TRANSITION = 5
NEGLIGIBLE = Quantity(value=0, low=0, high=0)


@dataclass(frozen=True)
class StageForm:
    """One combination, with the names of its parameters in order."""

    sharing: SharingForm
    cost: CostForm
    size: SizeForm

    @property
    def name(self) -> str:
        return f"{self.sharing}, {self.cost}, {self.size}"

    @property
    def parameters(self) -> tuple[Free, ...]:
        found = [Free("rate", *RATE)]
        if self.sharing == "saturating":
            found.append(Free("one_user", *RATE))
        if self.cost in ("fixed cost", "fixed cost and cost in turn"):
            found.append(Free("fixed", *SECONDS))
        if self.cost in ("cost in turn", "fixed cost and cost in turn"):
            found.append(Free("turn", *SECONDS))
        if self.size != "one rate":
            step = "bytes" if self.size == "small operations by a step" else None
            found += [Free("small_rate", *RATE), Free("small_bytes", *BYTES, step_in=step)]
        if self.size == "small operations, smooth":
            found.append(Free("small_width", *BYTES))
        return tuple(found)

    def seconds(self, values: Parameters, columns: Columns) -> Values:
        named = dict(zip((free.name for free in self.parameters), values, strict=True))
        users, size = columns["users"], columns["bytes"]
        drawn = shared_rate(
            users,
            named["rate"],
            named.get("one_user"),
            "linear" if self.sharing == "linear" else "saturating",
        )
        per_byte = seconds_per_byte(drawn)
        if "small_rate" in named:
            share = share_before(size, named["small_bytes"], named.get("small_width", 0.0))
            small = np.minimum(seconds_per_byte(named["small_rate"]), per_byte)
            per_byte = blended_seconds(small, per_byte, share)
        fixed = named.get("fixed", 0.0) / columns.get("in_flight", np.ones(1))
        return np.asarray(users * size * per_byte + fixed + users * named.get("turn", 0.0))

    def starts(self, columns: Columns, observed: Values) -> list[list[float]]:
        users, size = columns["users"], columns["bytes"]
        rates = users * size / observed
        alone = rates[users == users.min()]
        rate = float(rates.max() if self.sharing != "linear" else np.max(rates / users))
        shortest = float(np.min(observed))
        first = {
            "rate": rate,
            "one_user": float(alone.max()) / float(users.min()),
            "fixed": shortest / 2,
            "turn": shortest / 2 / float(users.max()),
        }
        if self.size == "one rate":
            return [[first[free.name] for free in self.parameters]]
        found = []
        sizes = np.unique(size)
        for below, above in pairwise(sizes):
            at = float(np.sqrt(below * above))
            beyond = rates[size > at]
            trial = {
                **first,
                "rate": float(np.max(beyond)) / (1 if self.sharing != "linear" else users.max()),
                "small_rate": float(np.max(rates[size <= at])),
                "small_bytes": at,
                "small_width": at / 4,
            }
            found.append([trial[free.name] for free in self.parameters])
        return found

    def form(self) -> Form:
        return Form(self.name, self.parameters, self.seconds, self.starts)


@dataclass(frozen=True)
class FittedStage:
    """A chosen form with its parameters."""

    form: StageForm
    fitted: Fitted

    def stage(
        self,
        name: str,
        kind: StageKind,
        routes: Sequence[Route],
        direction: Direction | None,
        *,
        units: int = 1,
        how: str = "",
    ) -> PlatformStage:
        """Returns the stage that computes the same times as the form."""
        named = self.fitted.parameters
        small = None
        if "small_rate" in named:
            width = named.get("small_width", NEGLIGIBLE).value
            small = Cache(
                bytes=round(named["small_bytes"].value),
                rate_bytes_per_second=named["small_rate"],
                width_bytes=width,
            )
        return PlatformStage(
            name=name,
            kind=kind,
            direction=direction,
            routes=list(routes),
            units=units,
            rate_bytes_per_second=named["rate"],
            one_user_bytes_per_second=named.get("one_user"),
            fixed_seconds=named.get("fixed", NEGLIGIBLE),
            turn_seconds=named.get("turn"),
            sharing="linear" if self.form.sharing == "linear" else "saturating",
            small_operations=small,
            how=how,
            interval_how="95 % by bootstrap, held-out error "
            f"{percent_text(self.fitted.median_error, 1)} in the median, "
            f"{percent_text(self.fitted.p90_error, 1)} at the 90th percentile",
        )


def fit_stage(
    users: Values,
    size: Values,
    seconds: Values,
    groups: Sequence[object],
    *,
    in_flight: Values | None = None,
    one_of_several: bool = False,
    seed: int = 1,
) -> FittedStage:
    """Fits the law of one unit: seconds of one operation of ``size`` bytes by each of ``users``.

    First sharing and fixed costs are chosen with one rate, then whether the rate depends on the
    operation's size. With ``one_of_several`` only the forms that a ``Unit`` has are considered.
    Raises ``ValueError`` if there are too few samples.
    """
    columns = {"users": users, "bytes": size}
    if in_flight is not None:
        columns["in_flight"] = in_flight
    forms = {
        form.name: form
        for form in _forms_of(columns)
        if not (one_of_several and form.sharing == "linear")
    }
    first = compare([form.form() for form in forms.values()], columns, seconds, groups, seed)
    best, errors = first.best, first.errors
    if len(np.unique(size)) >= SIZES_FOR_A_TRANSITION and not one_of_several:
        plain = forms[best.name]
        costs: list[CostForm] = list(dict.fromkeys(["no fixed cost", "fixed cost", plain.cost]))
        further = [plain] + [
            StageForm(plain.sharing, cost, by)
            for cost in costs
            for by in ("small operations by a step", "small operations, smooth")
        ]
        forms.update({form.name: form for form in further})
        second = compare([form.form() for form in further], columns, seconds, groups, seed)
        best, errors = second.best, {**errors, **second.errors}
    return FittedStage(forms[best.name], settle(Comparison(best, errors), columns, seconds, seed))


def _forms_of(columns: Columns) -> Iterator[StageForm]:
    """Yields the forms that the samples can distinguish."""
    several_users = len(np.unique(columns["users"])) > 1
    several_sizes = len(np.unique(columns["bytes"])) > 1
    sharings: list[SharingForm] = ["one draws all"]
    costs: list[CostForm] = ["no fixed cost"]
    if several_users:
        sharings += ["saturating", "linear"]
    if several_sizes:
        costs.append("fixed cost")
    if several_sizes and several_users:
        costs += ["cost in turn", "fixed cost and cost in turn"]
    for sharing in sharings:
        for cost in costs:
            yield StageForm(sharing, cost, "one rate")
