"""The time of a flow in all stages of its path, and the stage that limits it.

"The I/O path must traverse all these components in turn, so the slowest one in any given test will
act as the limiting factor" (Uselton, section 3.3): stages work on different bytes at the same time.
If a byte must leave one stage before it enters the next and nothing else moves meanwhile, as in the
paper's equation 1, the times of the stages add up; ``in_turn`` selects this.

The rate of a stage that was measured from the application's buffer already includes the stages
before it, so the stages' times are compared and not added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weir.model.flow import Flow
from weir.model.stage import Case, StageTime, stage_time
from weir.results.expectations import Stage
from weir.results.platform import Platform, PlatformStage


@dataclass(frozen=True)
class PathTime:
    """The times of all stages of one flow, from the application to the device."""

    stages: tuple[StageTime, ...]
    in_turn: bool
    total_bytes: float

    @property
    def seconds(self) -> float:
        times = [stage.seconds for stage in self.stages]
        return sum(times) if self.in_turn else max(times)

    @property
    def rate(self) -> float:
        if self.seconds > 0:
            return self.total_bytes / self.seconds
        return float("inf") if self.total_bytes > 0 else 0.0

    @property
    def limit(self) -> StageTime:
        """The slowest stage; of two equal ones, that nearer to the device.

        If a copy is only known to be as fast as the stage that contains it, that stage is the
        limit.
        """
        return slowest(self.stages)


def slowest(times: Sequence[StageTime]) -> StageTime:
    """Returns the slowest stage; of equal ones the nearest to the device, which contains others."""
    return max(enumerate(times), key=lambda placed: (placed[1].seconds, placed[0]))[1]


def summed(times: Sequence[StageTime]) -> StageTime:
    """Adds one stage's times over several phases; the unit is that of the slowest phase."""
    return StageTime(
        times[0].stage,
        sum(time.transfer_seconds for time in times),
        sum(time.fixed_seconds for time in times),
        sum(time.total_bytes for time in times),
        slowest(times).unit,
    )


def stages_told(times: Mapping[Case, Sequence[StageTime]], limit: str) -> list[Stage]:
    """Returns stages as an expectation states them; ``limit`` is the name of the limiting one."""
    return [
        Stage(
            name=time.stage.name,
            rate=time.rate,
            low=low.rate,
            high=high.rate,
            transfer_seconds=time.transfer_seconds,
            fixed_seconds=time.fixed_seconds,
            limiting=time.stage.name == limit,
            how=time.stage.how,
        )
        for time, low, high in zip(times["expected"], times["slow"], times["fast"], strict=True)
    ]


def path_time(
    stages: Sequence[PlatformStage],
    flow: Flow,
    case: Case = "expected",
    *,
    in_turn: bool = False,
) -> PathTime:
    """Returns the times of ``flow`` in ``stages``. Raises ``ValueError`` if there is no stage."""
    if not stages:
        raise ValueError(f"no stage for {flow.direction} by the route {flow.route}")
    times = tuple(stage_time(stage, flow, case) for stage in stages)
    return PathTime(times, in_turn, flow.total_bytes)


def stages_of(platform: Platform, flow: Flow) -> list[PlatformStage]:
    """Returns the platform's stages that a flow passes, in the order of the path.

    A flow passes a stage of its direction (None: both) and route. All flows except O_DIRECT pass
    ``memory``; those whose bytes change hosts pass ``network``.
    """
    return [
        stage
        for stage in platform.stages
        if stage.direction in (None, flow.direction) and _passes(stage, flow)
    ]


def _passes(stage: PlatformStage, flow: Flow) -> bool:
    if flow.route in stage.routes:
        return True
    if "network" in stage.routes and flow.network_fraction > 0:
        return True
    return "memory" in stage.routes and flow.route not in ("direct", "network")
