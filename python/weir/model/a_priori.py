"""Makes platforms of what is known about components without the run's own calibration.

"Determining how well the whole system performs begins with an a priori notion about how the
components perform individually" (Uselton, section 1). Each source is turned into a platform, so
that the bounds come from the one path model:

    makers' peaks    stages whose edge states a peak, or whose rate is from a data sheet
    the device       what the kernel tells of it; each is a ceiling, below which nothing is expected
    memory           for file systems in memory, and for transfers that end in the page cache

A maker states a peak, of which a path is expected to sustain a share (``LEAST_SHARE``). On Franklin
it was 128 of 192 MB/s (Uselton, section 3.9); the half is a choice.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from weir.model.calibration_platform import platform_of_calibration
from weir.model.expectation import expect
from weir.model.uselton import exactly
from weir.results.calibration import Calibration
from weir.results.expectations import APriori, Basis, Direction, ExpectedRate
from weir.results.platform import Platform, PlatformStage, Route, StageKind
from weir.results.record import Quantity
from weir.results.schema import Parameter, Plan
from weir.results.series import Key

LEAST_SHARE: dict[Basis, float] = {"data sheet": 0.5, "device": 0.0}
"""Share of a bound that the components sustain at least, by what it is from; others have their own
interval. A rate of the kernel is only a ceiling."""
CACHED_SHARE = 3.0
"""A copy between large buffers reads, fetches and writes each byte; a copy into a buffer that stays
in the processor's caches only reads it from memory."""
TO_STORAGE: tuple[Route, ...] = ("durable", "dropped", "direct")


class Ceiling(NamedTuple):
    """A rate that the kernel tells of a part on the way to the storage, of one host."""

    name: str
    kind: StageKind
    bytes_per_second: float
    how: str


def stated_by_makers(platform: Platform) -> Platform | None:
    """Returns the stages of which a data sheet states a rate; None if there is no such stage.

    The page cache stays, so that transfers that end there are not judged by the storage.
    """
    stated = []
    for edge in platform.edges:
        for stage in (one for one in platform.stages if one.name in edge.stages):
            peak = edge.peak_bytes_per_second
            if peak is None and edge.origin == "data sheet":
                peak = stage.rate_bytes_per_second.value
            if peak:
                stated.append(_of_peak(stage, peak, edge.source or stage.how))
    if not stated:
        return None
    names = {stage.name for stage in stated}
    cached = [
        stage.model_copy(update={"routes": ["cached"]})
        for stage in platform.stages
        if "cached" in stage.routes and stage.name not in names
    ]
    return platform.model_copy(update={"stages": [*cached, *stated], "fits": []})


def _of_peak(stage: PlatformStage, peak: float, source: str) -> PlatformStage:
    return PlatformStage(
        name=stage.name,
        kind=stage.kind,
        direction=stage.direction,
        routes=stage.routes,
        units=stage.units,
        nodes_per_unit=stage.nodes_per_unit,
        units_per_file=stage.units_per_file,
        rate_bytes_per_second=exactly(peak),
        one_user_bytes_per_second=exactly(peak) if stage.kind == "fabric" else None,
        how=f"peak by {source or 'a data sheet'}",
        interval_how="from half of the stated peak",
    )


def of_device(calibration: Calibration, ceilings: Sequence[Ceiling], in_memory: bool) -> Platform:
    """Returns what the kernel tells of the device, and the memory's rate where memory serves.

    The rate of copies in memory is the calibration's, but not of the path to the storage. The time
    of calls beside the bytes is the calibration's own, and no component's.
    """
    calibrated = platform_of_calibration(calibration)
    routes: tuple[Route, ...] = ("cached", *TO_STORAGE) if in_memory else ("cached",)
    told = [
        PlatformStage(
            name=one.name,
            kind=one.kind,
            routes=list(TO_STORAGE),
            units=1,
            rate_bytes_per_second=exactly(one.bytes_per_second),
            how=one.how,
            interval_how="a ceiling",
        )
        for one in ceilings
    ]
    stages = [_memory(calibrated, routes), *told]
    return calibrated.model_copy(update={"name": "the device", "stages": stages, "operations": []})


def _memory(calibrated: Platform, routes: Sequence[Route]) -> PlatformStage:
    copies = next(stage for stage in calibrated.stages if stage.routes == ["memory"])
    rate = copies.rate_bytes_per_second
    return copies.model_copy(
        update={
            "name": "memory",
            "routes": list(routes),
            "rate_bytes_per_second": Quantity(
                value=rate.value, low=rate.value, high=CACHED_SHARE * rate.high
            ),
            "interval_how": (
                "a ceiling; up to three times as much where one of the two buffers stays in the "
                "processor's caches"
            ),
        }
    )


def bounds(
    plan: Plan,
    asynchronous: bool,
    parameters: Mapping[str, Parameter],
    platform: Platform,
    directory: str,
    places: Mapping[str, str],
) -> dict[Key, ExpectedRate]:
    """Returns the rates that a platform allows, of the directions about which it knows anything."""

    def rates(planned: Plan) -> dict[Key, ExpectedRate]:
        made = expect(
            planned, asynchronous, parameters, platform, "", directory=directory, places=places
        )
        return {one.key: one for one in made.rates}

    try:
        return rates(plan)
    except ValueError:
        found: dict[Key, ExpectedRate] = {}
        directions: tuple[Direction, ...] = ("write", "read")
        for direction in directions:
            of_one = [phase for phase in plan.phases if phase.direction == direction]
            try:
                found |= rates(plan.model_copy(update={"phases": of_one}))
            except ValueError:
                continue  # The platform has no stage for it, or is about other storage.
        return found


def bound(made: Sequence[ExpectedRate], basis: Basis, source: str) -> APriori:
    """Returns the bound that one or several expectations of a rate give: their medians."""
    value = statistics.median(one.value for one in made)
    low = statistics.median(one.low for one in made)
    if basis in LEAST_SHARE:
        low = LEAST_SHARE[basis] * value
    nearest = min(made, key=lambda one: abs(one.value - value))
    if nearest.extrapolated_from_ranks is not None:
        source += f", extrapolated from {nearest.extrapolated_from_ranks} ranks"
    limiting = next((one.how for one in nearest.stages if one.limiting), "")
    return APriori(
        value=value,
        low=low,
        high=statistics.median(one.high for one in made),
        limiting_stage=nearest.limiting_stage,
        basis=basis,
        source=source,
        how=limiting,
    )
