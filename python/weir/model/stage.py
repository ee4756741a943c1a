"""The time of a flow in one stage of a platform, separately for transfer and fixed costs.

For each unit with its load:

    rate        crowding, then the sharing rule: the rate of the unit's users together
    per byte    1 / rate, blended with the rates of small operations and of the cache
    transfer    bytes · per byte
    fixed       operations of one user · (fixed cost / operations in flight + users · turn)

The stage takes as long as its slowest unit (Uselton, section 3.6: "the slowest task determines the
reported data rate"). Fixed costs of different ranks elapse concurrently; turns are serialized.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Literal

from weir.model.flow import Flow
from weir.model.laws import blended_seconds, seconds_per_byte, share_before, shared_rate
from weir.model.units import Load, loads_of
from weir.results.platform import Cache, PlatformStage
from weir.results.record import Quantity

Case = Literal["expected", "slow", "fast"]
"""The end of the quantities' intervals to use: ``slow`` has low rates and high fixed costs."""

UNEQUAL = 1.1
"""A unit is named as the slowest if it takes at least this many times the median of all units."""


@dataclass(frozen=True)
class StageTime:
    """One stage's time: that of its slowest unit in seconds, transfer and fixed costs apart."""

    stage: PlatformStage
    transfer_seconds: float
    fixed_seconds: float
    total_bytes: float
    unit: str | None

    @property
    def seconds(self) -> float:
        return self.transfer_seconds + self.fixed_seconds

    @property
    def rate(self) -> float:
        """Bytes of the whole flow over this stage's time alone."""
        if self.seconds > 0:
            return self.total_bytes / self.seconds
        return float("inf") if self.total_bytes > 0 else 0.0

    @property
    def limit_name(self) -> str:
        """What to examine if this stage is the limit: a unit, the fixed cost, or the stage."""
        name = self.stage.name
        if self.unit is not None:
            kind = "node link of" if self.stage.kind == "node link" else self.stage.kind
            name = f"{kind} {self.unit}"
        if self.fixed_seconds > self.transfer_seconds:
            return f"fixed cost of {name}"
        return name


def stage_time(stage: PlatformStage, flow: Flow, case: Case = "expected") -> StageTime:
    """Returns the time of ``flow`` in ``stage``; infinite if a rate is zero."""
    times = [(*_unit_seconds(stage, load, case), load.name) for load in loads_of(stage, flow)]
    if not times:
        return StageTime(stage, 0.0, 0.0, flow.total_bytes, None)
    transfer, fixed, name = max(times, key=lambda time: time[0] + time[1])
    usual = statistics.median(time[0] + time[1] for time in times)
    if len(times) == 1 or transfer + fixed <= UNEQUAL * usual:
        name = name if _alone_among_different(stage, times) else None
    return StageTime(stage, transfer, fixed, flow.total_bytes, name)


def _alone_among_different(
    stage: PlatformStage, times: list[tuple[float, float, str | None]]
) -> bool:
    """Returns whether a flow uses only one unit of a stage that names several."""
    return len(times) == 1 and len(stage.different_units) > 1


def _unit_seconds(stage: PlatformStage, load: Load, case: Case) -> tuple[float, float]:
    own = load.unit or stage
    turn = cost_in(case, own.turn_seconds) if own.turn_seconds else 0.0
    fixed = cost_in(case, own.fixed_seconds)
    per_byte = _seconds_per_byte(stage, load, case)
    transfer = load.bytes * per_byte if load.bytes > 0 else 0.0
    return transfer, load.operations * (fixed / load.in_flight + load.users * turn)


def _seconds_per_byte(stage: PlatformStage, load: Load, case: Case) -> float:
    own = load.unit or stage
    per_byte = float(seconds_per_byte(rate_in(case, own.rate_bytes_per_second)))
    crowding = stage.crowding
    if crowding is not None and load.users > 1:
        # Requests of a single user stream, whatever the transition's width.
        share = share_before(load.users, crowding.users, crowding.width_users)
        crowded = float(seconds_per_byte(rate_in(case, crowding.rate_bytes_per_second)))
        per_byte = float(blended_seconds(per_byte, crowded, share))
    one = own.one_user_bytes_per_second
    drawn = shared_rate(
        load.users,
        float(seconds_per_byte(per_byte)),
        None if one is None else rate_in(case, one),
        stage.sharing,
    )
    per_byte = float(seconds_per_byte(drawn))
    per_byte = _through(stage.small_operations, load.operation_bytes, per_byte, case)
    return _through(stage.cache, load.touched_bytes, per_byte, case)


def _through(cache: Cache | None, size: float, per_byte: float, case: Case) -> float:
    if cache is None:
        return per_byte
    share = share_before(size, cache.bytes, cache.width_bytes)
    # Without the cache many users may draw more than its rate: a cache never slows them down.
    held = min(float(seconds_per_byte(rate_in(case, cache.rate_bytes_per_second))), per_byte)
    return float(blended_seconds(held, per_byte, share))


def rate_in(case: Case, rate: Quantity) -> float:
    return {"expected": rate.value, "slow": rate.low, "fast": rate.high}[case]


def cost_in(case: Case, cost: Quantity) -> float:
    return {"expected": cost.value, "slow": cost.high, "fast": cost.low}[case]
