"""Expectation of a run before it starts: (plan, asynchronous, parameters, calibration) -> rates.

"Benchmarking in the absence of an a priori notion of expected performance is a meaningless
exercise" (Uselton, section 1). For each direction: the stages of the path (``path``), each at its
calibrated median rate; the slowest is the limit and gives the rate; the interval is the limiting
stage's (``interval``). With RMOD or WMOD above 1 fewer ranks move data at a time, and the rate of
all together stays as expected: the limit is a shared component.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weir.model.interval import FLOOR, Factors, interval_factors
from weir.model.overlap import PhaseTime, all_hidden_seconds, foreground_seconds
from weir.model.path import (
    MEMORY_COPY,
    STORAGE_READ,
    STORAGE_WRITE,
    Path,
    PathStage,
    path_of,
    setting,
)
from weir.model.transfer import transfer_seconds
from weir.results.calibration import Calibration
from weir.results.quantities import rate_text, seconds_text
from weir.results.schema import (
    Direction,
    Expectation,
    ExpectedRate,
    Metric,
    Parameter,
    Plan,
    PlannedPhase,
    Stage,
)


def expect(
    plan: Plan,
    asynchronous: bool,
    parameters: Mapping[str, Parameter],
    calibration: Calibration,
    made_utc: str,
) -> Expectation:
    """The expected rate of each direction that the plan moves bytes in.

    The metric is ``foreground`` (EAAR) for asynchronous runs and ``span`` for synchronous ones.
    Raises ``ValueError`` when the calibration was made with another number of ranks.
    """
    if calibration.ranks != plan.ranks:
        raise ValueError(
            f"the calibration was made with {calibration.ranks} ranks, the run has {plan.ranks}"
        )
    rates = [
        _Expected(direction, plan, asynchronous, parameters, calibration).rate()
        for direction in _directions(plan)
    ]
    return Expectation(
        made_utc=made_utc, calibration=calibration.model_dump(mode="json"), rates=rates
    )


def _directions(plan: Plan) -> list[Direction]:
    moved = {phase.direction for phase in plan.phases if phase.bytes_total > 0}
    return [direction for direction in ("read", "write") if direction in moved]


@dataclass(frozen=True)
class _Expected:
    """One direction of one plan; holds what every step of the estimate needs."""

    direction: Direction
    plan: Plan
    asynchronous: bool
    parameters: Mapping[str, Parameter]
    calibration: Calibration

    def rate(self) -> ExpectedRate:
        path = self._path(self.direction)
        limit = self._limit(path)
        factors = interval_factors(limit.trials)
        expected = self._rate_at(1.0)
        low = min(self._rate_at(factors.low), expected * (1 - FLOOR))
        high = max(self._rate_at(factors.high, all_hidden=True), expected * (1 + FLOOR))
        metric: Metric = "foreground" if self.asynchronous else "span"
        return ExpectedRate(
            direction=self.direction,
            metric=metric,
            expected_bytes_per_second=expected,
            low_bytes_per_second=low,
            high_bytes_per_second=high,
            limiting_stage=limit.name,
            stages=[self._stage(stage) for stage in path.stages],
            how=self._how(path, limit, factors),
        )

    def _path(self, direction: Direction) -> Path:
        return path_of(direction, self.plan, self.parameters, self.calibration)

    def _phases(self, direction: Direction | None = None) -> list[PlannedPhase]:
        return [
            phase
            for phase in self.plan.phases
            if phase.bytes_total > 0 and direction in (None, phase.direction)
        ]

    def _seconds_of(self, stage: PathStage, phase: PlannedPhase, factor: float) -> float:
        """One operation of every rank of ``phase`` through ``stage``, its rate times ``factor``."""
        return transfer_seconds(
            stage.trials.median * factor,
            self.calibration.transfer_bytes * self.calibration.ranks,
            phase.bytes_per_operation * self.plan.ranks,
            stage.fixed_seconds,
        )

    def _stage_rate(self, stage: PathStage, factor: float = 1.0) -> float:
        """Bytes over time through one stage alone, over the phases of this direction."""
        phases = self._phases(self.direction)
        seconds = sum(p.operations_per_rank * self._seconds_of(stage, p, factor) for p in phases)
        return sum(p.bytes_total for p in phases) / seconds

    def _limit(self, path: Path) -> PathStage:
        # Where a copy is only known to be as fast as the stage that contains it, that stage limits.
        return min(path.stages, key=lambda s: (self._stage_rate(s), s.name == MEMORY_COPY))

    def _stage(self, stage: PathStage) -> Stage:
        factors = interval_factors(stage.trials)
        count = len(stage.trials.values)
        return Stage(
            name=stage.name,
            rate_bytes_per_second=self._stage_rate(stage),
            low_bytes_per_second=self._stage_rate(stage, factors.low),
            high_bytes_per_second=self._stage_rate(stage, factors.high),
            how=f"{stage.how}; median of {count} trials",
        )

    def _rate_at(self, factor: float, *, all_hidden: bool = False) -> float:
        """The rate by the headline metric, with the limiting stages' rates times ``factor``.

        With ``all_hidden``, asynchronous transfers are blocked on only where they are exposed.
        """
        if not self.asynchronous:
            return self._stage_rate(self._limit(self._path(self.direction)), factor)
        phases = self._phases()
        times = [self._phase_time(phase, factor) for phase in phases]
        blocked = 0.0
        for phase, time in zip(phases, times, strict=True):
            if phase.direction == self.direction:
                others = [t for t in times if t is not time and t.function == time.function]
                least = all_hidden_seconds(time)
                blocked += least if all_hidden else foreground_seconds(time, others)
        return sum(p.bytes_total for p in self._phases(self.direction)) / blocked

    def _phase_time(self, phase: PlannedPhase, factor: float) -> PhaseTime:
        path = self._path(phase.direction)
        seconds = {stage.name: self._seconds_of(stage, phase, factor) for stage in path.stages}
        slowest = max(seconds, key=lambda name: (seconds[name], name != MEMORY_COPY))
        work_rate = self.calibration.busy_work_operations_per_second.median
        return PhaseTime(
            function=phase.function,
            operations=phase.operations_per_rank,
            exposed=phase.exposed_operations_per_rank,
            component="storage" if slowest in (STORAGE_READ, STORAGE_WRITE) else "memory",
            transfer_seconds=seconds[slowest],
            compute_seconds=phase.computations_per_operation / work_rate,
            posting_seconds=self.calibration.call_seconds.median,
        )

    def _how(self, path: Path, limit: PathStage, factors: Factors) -> str:
        compared = ", ".join(f"{s.name} {rate_text(self._stage_rate(s))}" for s in path.stages)
        parts = [
            f"{path.reason}; slowest of {compared}"
            if len(path.stages) > 1
            else f"{path.reason}; {compared}",
            f"interval of {limit.name}: {factors.how}",
        ]
        if self.asynchronous:
            parts.append(self._how_hidden())
        modulus = "rmod" if self.direction == "read" else "wmod"
        long_name = "read_modulus" if self.direction == "read" else "write_modulus"
        chosen = setting(self.parameters, modulus, setting(self.parameters, long_name, "1"))
        if chosen not in ("0", "1"):
            parts.append(f"one rank in {chosen} moves data at a time, the rate together stays")
        return "; ".join(parts)

    def _how_hidden(self) -> str:
        told = []
        for phase in self._phases(self.direction):
            time = self._phase_time(phase, 1.0)
            told.append(
                f"{phase.function} {seconds_text(time.transfer_seconds)} behind "
                f"{seconds_text(time.compute_seconds)} of work, "
                f"{time.exposed} of {time.operations} exposed"
            )
        return (
            f"EAAR over foreground time, transfers hidden one buffer ahead: {', '.join(told)}; at "
            "the upper end all but the exposed are hidden, as waiting for other ranks hides too"
        )
