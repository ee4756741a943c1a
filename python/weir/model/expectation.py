"""Expectation of a run before it starts: (plan, asynchronous, parameters, platform) -> rates.

"Benchmarking in the absence of an a priori notion of expected performance is a meaningless
exercise" (Uselton, section 1). Each phase of the plan is a flow (``flow_of_plan``); its time in
every stage of its path comes from the platform (``stage``, ``path_time``). For each direction the
stages' times are summed over its phases; the slowest stage is the limit and gives the rate.

The ends of the interval are the rates with all quantities of the stages at their slow and at their
fast ends. For an asynchronous run the transfers, the work that hides them, and whether reads and
writes slow each other down are uncertain independently of each other; the logarithms of their
effects are added as squares. The interval is never narrower than the 90th percentile of the
held-out error of the limiting stage's fit, nor than ``FLOOR``, because a platform contains nothing
of the drift between its measurement and the run.

More ranks than the platform describes are an extrapolation, which is marked: its stages' laws were
not tested there, and for each doubling of the ranks the interval is wider by ``FLOOR``, which is a
choice.

A program that writes files in turn with computing (flash, s3d) has two rates: the observed one,
over the time for which it is blocked (metric ``foreground``), and that of storage (``span``).
Without stagers both are those of writing; with stagers they come from
``weir.model.staged_expectation``, as does the rate of messages (sink).

With RMOD or WMOD above 1, only one in so many ranks moves data at a time: the flow of one turn is
repeated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from weir.model.flow_of_plan import (
    Messages,
    Output,
    Planned,
    Surroundings,
    described_ranks,
    messages_of,
    output_of,
    planned_flow,
    way_of,
)
from weir.model.interval import FLOOR
from weir.model.metadata_expectation import expect_actions
from weir.model.overlap import (
    SHARED,
    WEIGHTS,
    PhaseTime,
    exposed_seconds,
    mean_hidden_seconds,
)
from weir.model.path_time import slowest, stages_of, stages_told, summed
from weir.model.stage import Case, StageTime, stage_time
from weir.model.staged_expectation import (
    TO_STAGERS,
    Times,
    message_rate,
    staged_rates,
    written_rates,
)
from weir.model.units import OUTSIDE_HOST
from weir.results.expectations import (
    Direction,
    Expectation,
    ExpectedRate,
    Metric,
    Stage,
)
from weir.results.platform import Fit, Operation, Platform, PlatformStage
from weir.results.quantities import percent_text, rate_text, seconds_text
from weir.results.record import Quantity
from weir.results.schema import Parameter, Plan

STAGERS_SHARE = 0.25
"""The share of the free memory that a stager takes at most, unless it is told otherwise."""


def expect(
    plan: Plan,
    asynchronous: bool,
    parameters: Mapping[str, Parameter],
    platform: Platform,
    made_utc: str,
    *,
    directory: str | None = None,
    places: Mapping[str, str] | None = None,
    stager_memory_bytes: float | None = None,
) -> Expectation:
    """Returns the expected rates of each direction with bytes in the plan, and of each action.

    The metric is ``foreground`` (EAAR) for asynchronous runs and ``span`` for synchronous ones. A
    run that writes files in turn with computing has both. ``stager_memory_bytes`` is what the
    stager of a host may hold, None for its default, a quarter of the free memory.
    ``directory`` is the job's; ``places`` gives the platform's target of each planned directory.
    Asynchronous runs behind messages have no expected rate, since nothing says how long these take.
    Raises ``ValueError`` if the platform does not describe what the run needs.
    """
    if platform.ranks is not None and platform.ranks != plan.ranks:
        raise ValueError(
            f"{platform.name} holds for {platform.ranks} ranks, but the run has {plan.ranks}"
        )
    where = Surroundings(platform, places or {}, directory)
    flows = [
        planned_flow(phase, plan, parameters, where)
        for phase in plan.phases
        if phase.bytes_total > 0
    ]
    # Nobody knows beforehand how long messages take, nor how much of a transfer they hide.
    unknown = asynchronous and any(
        phase.computations_per_operation is None for phase in plan.phases
    )
    directions: list[Direction] = [] if unknown else ["read", "write"]
    output, messages = output_of(parameters), messages_of(parameters)
    operation = _operation_of(platform, parameters)
    if messages is not None and messages.dropped and operation is None:
        directions = []
    passed = output or messages
    if passed is not None and passed.sent:
        platform = _with_link(platform, operation)
        # Nothing says how fast bytes come to stagers that a calibration does not reach.
        if not _has_link(platform):
            directions = []
    room = room_of(platform, stager_memory_bytes)
    rates = [
        rate
        for direction in directions
        if any(planned.phase.direction == direction for planned in flows)
        for rate in _Expected(direction, flows, asynchronous, platform, plan.ranks).rates(
            output or messages, room, operation
        )
    ]
    target = (places or {}).get(directory or "", directory)
    return Expectation(
        made_utc=made_utc,
        platform=_computed_with(platform),
        rates=rates,
        metadata=expect_actions(plan, parameters, platform, target),
    )


def room_of(platform: Platform, stager_memory_bytes: float | None = None) -> float:
    """Returns the bytes that the stagers of all hosts hold; infinite if nothing is known of it."""
    if stager_memory_bytes is not None:
        return stager_memory_bytes * platform.hosts
    free = platform.memory_available_bytes
    return math.inf if free is None else free * STAGERS_SHARE


def _has_link(platform: Platform) -> bool:
    return any(stage.kind == "node link" for stage in platform.stages)


def _with_link(platform: Platform, operation: Operation | None) -> Platform:
    """Returns the platform with the run's own way to its stagers in place of its links, if known.

    That way was measured from the ranks' memory on, on the job's nodes together.
    """
    if operation is None or operation.link_bytes_per_second is None:
        return platform
    measured = operation.link_bytes_per_second
    share = 1 / platform.hosts
    link = PlatformStage(
        name=TO_STAGERS,
        kind="node link",
        routes=["network"],
        units=platform.hosts,
        rate_bytes_per_second=Quantity(
            value=measured.value * share, low=measured.low * share, high=measured.high * share
        ),
        how="blocks of 1 MiB over TCP to receiving threads, with checksums, by all ranks",
        interval_how="trials of the calibration",
    )
    others = [stage for stage in platform.stages if stage.kind != "node link"]
    return platform.model_copy(update={"stages": [*others, link]})


def _operation_of(platform: Platform, parameters: Mapping[str, Parameter]) -> Operation | None:
    """Returns what a file takes beside its bytes by the run's own way; None if it is not known."""
    way = way_of(parameters)
    known = {(one.api, one.staging, one.aggregators): one for one in platform.operations}
    return known.get(way)


def _computed_with(platform: Platform) -> dict[str, Any]:
    """Returns the description without the machine's inventory, which the run records itself."""
    return platform.model_dump(
        mode="json", exclude={"topology"}, exclude_none=True, exclude_defaults=True
    )


@dataclass(frozen=True)
class _Behind:
    """At which ends of their intervals an asynchronous run's transfers and the rest are."""

    transfers: Case = "expected"
    work: Case = "expected"
    shared: Case = "expected"


@dataclass(frozen=True)
class _Expected:
    """One direction of one plan, with everything that the steps of the estimate need."""

    direction: Direction
    flows: list[Planned]
    asynchronous: bool
    platform: Platform
    ranks: int

    def rates(
        self, output: Output | Messages | None, room_bytes: float, operation: Operation | None
    ) -> list[ExpectedRate]:
        """Returns the rate of the headline metric and, of a program's output, the observed one."""
        if output is None or self.direction != "write":
            return [self.rate()]
        times: Times = {case: [self._times(one, case) for one in self._own] for case in WEIGHTS}
        if isinstance(output, Messages):
            if operation is None:
                return [self.rate()]
            return [self._widened(message_rate(times, self._own, output, operation))]
        if not output.staged and operation is not None:
            return [self._widened(rate) for rate in written_rates(times, self._own, operation)]
        if not output.staged:
            written = self.rate()
            how = f"without stagers the program is blocked as long as writing takes; {written.how}"
            return [written, written.model_copy(update={"metric": "foreground", "how": how})]
        made = staged_rates(times, self._own, output.computing_seconds, room_bytes, operation)
        return [self._widened(rate) for rate in made]

    def _widened(self, rate: ExpectedRate) -> ExpectedRate:
        limit = next((stage.name for stage in rate.stages if stage.limiting), rate.limiting_stage)
        low, high = self._interval(rate.value, rate.low, rate.high, self._held_out_error(limit))
        how = "; ".join([rate.how, *self._doubts(limit)])
        return rate.model_copy(
            update={
                "low": low,
                "high": high,
                "how": how,
                "extrapolated_from_ranks": self._described,
            }
        )

    def _interval(
        self, expected: float, slow: float, fast: float, error: float
    ) -> tuple[float, float]:
        error = max(FLOOR, error)
        low = min(slow, expected * (1 - FLOOR), expected / (1 + error))
        high = max(fast, expected * (1 + error))
        doublings = math.log2(self.ranks / self._described) if self._described else 0
        return low * (1 - FLOOR) ** doublings, high * (1 + FLOOR) ** doublings

    def rate(self) -> ExpectedRate:
        expected = self._rate_at("expected")
        slow = self._rate_at("slow")
        error = self._held_out_error(self._limit.stage.name)
        low, high = self._interval(expected, slow, self._rate_at("fast"), error)
        low *= self._least_share_kept()
        metric: Metric = "foreground" if self.asynchronous else "span"
        return ExpectedRate(
            direction=self.direction,
            metric=metric,
            value=expected,
            low=low,
            high=high,
            limiting_stage=self._limit.limit_name,
            stages=self._stages(),
            how=self._how(),
            extrapolated_from_ranks=self._described,
        )

    @cached_property
    def _described(self) -> int | None:
        """The largest number of ranks that the platform describes, if the run has more."""
        described = described_ranks(self.platform)
        return described if self.ranks > described else None

    @cached_property
    def _own(self) -> list[Planned]:
        return [one for one in self.flows if one.phase.direction == self.direction]

    def _totals(self, case: Case) -> list[StageTime]:
        """Returns each stage's time over this direction's phases, from application to device."""
        each = [self._times(planned, case) for planned in self._own]
        return [summed(times) for times in zip(*each, strict=True)]

    def _times(self, planned: Planned, case: Case) -> list[StageTime]:
        """Returns each stage's time for all operations of a phase."""
        stages = stages_of(self.platform, planned.flow)
        if not stages:
            raise ValueError(
                f"platform {self.platform.name} has no stage for a {planned.flow.direction} "
                f"by the route {planned.flow.route}"
            )
        return [_repeated(self._in_stage(stage, planned, case), planned.turns) for stage in stages]

    def _in_stage(self, stage: PlatformStage, planned: Planned, case: Case) -> StageTime:
        time = stage_time(stage, planned.flow, case)
        contains = self._page_cache(planned.flow.direction)
        if stage.routes != ["memory"] or contains is None:
            return time
        # Copies are measured between buffers larger than the processor's caches. Small transfers
        # stay in those caches, and then the page cache's rate is the better bound for the copy that
        # it contains.
        bound = stage_time(contains, planned.flow, case)
        if time.seconds < bound.seconds * (1 - 1e-9):
            return time
        how = stage.how
        if time.seconds > bound.seconds * 1.01:
            how = (
                "at least the page cache's rate, which contains it; "
                f"{rate_text(time.rate)} between large buffers"
            )
        said = stage.model_copy(update={"how": how, "interval_how": contains.interval_how})
        return StageTime(
            said, bound.transfer_seconds, bound.fixed_seconds, time.total_bytes, time.unit
        )

    def _page_cache(self, direction: Direction) -> PlatformStage | None:
        return next(
            (
                stage
                for stage in self.platform.stages
                if "cached" in stage.routes and stage.direction in (None, direction)
            ),
            None,
        )

    @cached_property
    def _limit(self) -> StageTime:
        return slowest(self._totals("expected"))

    def _least_share_kept(self) -> float:
        """Returns how much slower a link may be because the aggregators' places are unknown.

        The expectation assumes one aggregator on each of H hosts, so that (H - 1)/H of a host's
        bytes leave it. All bytes leave a host without an aggregator.
        """
        crossing = [one.flow.network_fraction for one in self._own if one.flow.network_fraction > 0]
        return min(crossing, default=1.0) if self._limit.stage.kind == "node link" else 1.0

    def _held_out_error(self, limit: str) -> float:
        """Returns the 90th percentile of a stage's fit, the worst of its units."""
        fits = self._fits_of(limit)
        return max((fit.held_out_p90_error for fit in fits), default=0.0)

    def _fits_of(self, stage: str) -> list[Fit]:
        """Returns the fits of a stage, or of its units, which are named ``stage, unit``."""
        return [
            fit
            for fit in self.platform.fits
            if fit.stage == stage or fit.stage.startswith(f"{stage}, ")
        ]

    def _stages(self) -> list[Stage]:
        times = {case: self._totals(case) for case in WEIGHTS}
        return stages_told(times, self._limit.stage.name)

    def _rate_at(self, case: Case) -> float:
        """Returns the rate by the headline metric, expected or at one end of its interval."""
        if not self.asynchronous:
            return self._moved / slowest(self._totals(case)).seconds
        expected = self._rate_behind(_Behind())
        if case == "expected":
            return expected
        alone = (_Behind(transfers=case), _Behind(work=case), _Behind(shared=case))
        effects = [math.log(self._rate_behind(one) / expected) for one in alone]
        effect = math.hypot(*effects)
        return expected * math.exp(effect if case == "fast" else -effect)

    @property
    def _moved(self) -> int:
        return sum(planned.phase.bytes_total for planned in self._own)

    def _rate_behind(self, behind: _Behind) -> float:
        return self._moved / sum(self._blocked_seconds(planned, behind) for planned in self._own)

    def _blocked_seconds(self, planned: Planned, behind: _Behind) -> float:
        """Returns the seconds for which a phase blocks one rank."""
        others = [
            self._cases(other, behind)
            for other in self.flows
            if other is not planned and other.phase.function == planned.phase.function
        ]
        cases = self._cases(planned, behind)
        hidden = mean_hidden_seconds(cases, others, SHARED[behind.shared])
        return exposed_seconds(cases["expected"]) + hidden

    def _cases(self, planned: Planned, behind: _Behind) -> dict[Case, PhaseTime]:
        """Returns a phase's transfers as they are spread around one end of their interval."""
        times = {case: self._phase_time(planned, case, behind.work) for case in WEIGHTS}
        scale = times[behind.transfers].transfer_seconds / times["expected"].transfer_seconds
        return {
            case: replace(
                time,
                transfer_seconds=time.transfer_seconds * scale,
                first_seconds=time.first_seconds * scale,
            )
            for case, time in times.items()
        }

    def _phase_time(self, planned: Planned, case: Case, work: Case = "expected") -> PhaseTime:
        limit = slowest(self._times(planned, case))
        seconds = limit.seconds / planned.phase.operations_per_rank
        phase = planned.phase
        latencies = self.platform.latencies_seconds
        call, meeting = latencies.get("call"), latencies.get("barrier")
        first = latencies.get("first_read") if _read_ahead(planned) else None
        later = latencies.get("later_read") if first else None
        copied = self._copied_share(planned, case, limit)
        # Pages that were read ahead still have to be copied.
        shorter = min(later.value, seconds * (1 - copied)) if later else 0.0
        # Reads do not take turns: the system reads ahead for all ranks together.
        processors = _processors_per_rank(self.platform, planned)
        shares = processors < 1 and phase.direction == "write"
        return PhaseTime(
            function=phase.function,
            direction=phase.direction,
            operations=phase.operations_per_rank,
            exposed=phase.exposed_operations_per_rank,
            component="storage" if limit.stage.kind in OUTSIDE_HOST else "memory",
            transfer_seconds=seconds - shorter,
            compute_seconds=self._compute_seconds(planned, work),
            meeting_seconds=_hiding(meeting, work),
            posting_seconds=call.value if call else 0.0,
            first_seconds=first.value + shorter if first else 0.0,
            own_share=1 - copied * (1 - processors) if shares else 1.0,
            shares_processors=shares,
        )

    def _copied_share(self, planned: Planned, case: Case, limit: StageTime) -> float:
        """Returns for which share of a transfer processors copy it, rather than wait for storage.

        Copies into the page cache are measured by themselves. ``O_DIRECT`` has none.
        """
        if limit.stage.kind not in OUTSIDE_HOST:
            return 1.0
        cache = self._page_cache(planned.flow.direction)
        if cache is None or planned.flow.route == "direct":
            return 0.0
        copying = _repeated(stage_time(cache, planned.flow, case), planned.turns)
        return min(1.0, copying.seconds / limit.seconds)

    def _compute_seconds(self, planned: Planned, case: Case) -> float:
        """Returns the time of the work behind a transfer: at the slow end as little as can be."""
        rate = self.platform.busy_work_operations_per_second
        if rate is None or rate.low <= 0:
            return 0.0
        of_rate = {"slow": rate.high, "expected": rate.value, "fast": rate.low}
        return (planned.phase.computations_per_operation or 0.0) / of_rate[case]

    def _how(self) -> str:
        reason = self._own[0].reason
        names = [time.stage.name for time in self._totals("expected")]
        limit = self._limit.stage
        parts = [reason, f"the slowest of {', '.join(names)}" if len(names) > 1 else names[0]]
        if self._own[0].flow.route == "direct" and set(limit.routes) != {"direct"}:
            parts.append("O_DIRECT was not measured: its rate is taken from buffered transfers")
        parts.append(f"interval of {limit.name}: {limit.interval_how or 'as described'}")
        if self._least_share_kept() < 1:
            parts.append("at its lower end all bytes leave a host, as where it has no aggregator")
        parts += self._doubts(limit.name)
        if self.asynchronous:
            parts.append(self._how_hidden())
        turns = self._own[0].turns
        if turns > 1:
            parts.append(f"one rank in {turns} moves data at a time, in {turns} turns")
        return "; ".join(parts)

    def _doubts(self, limit: str) -> list[str]:
        """Returns why an expectation that a stage limits is less certain than its figures."""
        doubts = []
        if self._described:
            doubts.append(
                f"extrapolated: {self.platform.name} describes up to {self._described} ranks, the "
                f"run has {self.ranks}; the interval is {percent_text(FLOOR)} wider either way for "
                "each doubling"
            )
        unfitted = [fit for fit in self._fits_of(limit) if not fit.fits]
        return doubts + [f"{fit.stage} does not fit, so it is unreliable" for fit in unfitted]

    def _how_hidden(self) -> str:
        told = []
        for planned in self._own:
            time = self._phase_time(planned, "expected")
            slow = self._phase_time(planned, "slow")
            told.append(
                f"{planned.phase.function} {seconds_text(time.transfer_seconds)} "
                f"({seconds_text(slow.transfer_seconds)} where slow) behind "
                f"{seconds_text(time.compute_seconds)} of work and a meeting of "
                f"{seconds_text(time.meeting_seconds)}, "
                f"{time.exposed} of {time.operations} exposed"
                + (f", {seconds_text(time.first_seconds)} longer" if time.first_seconds else "")
                + (
                    f", {percent_text(time.own_share)} of it for a rank on its own"
                    if time.shares_processors
                    else ""
                )
            )
        return f"EAAR over foreground time, transfers hidden one buffer ahead: {', '.join(told)}"


def _processors_per_rank(platform: Platform, planned: Planned) -> float:
    """Returns how many processors a rank has on the fullest host, at most 1, also if unknown."""
    hardware = platform.topology.get("hardware")
    processor = hardware.get("processor") if isinstance(hardware, Mapping) else None
    cores = processor.get("cores") if isinstance(processor, Mapping) else None
    ranks = max(planned.flow.ranks_by_host.values(), default=0)
    if not isinstance(cores, int) or cores <= 0 or ranks <= cores:
        return 1.0
    return cores / ranks


def _read_ahead(planned: Planned) -> bool:
    """Returns whether the system reads ahead of a phase: through the page cache, from storage."""
    return planned.flow.direction == "read" and planned.flow.route == "dropped"


def _hiding(time: Quantity | None, case: Case) -> float:
    """Returns a time that hides transfers: at the slow end its least."""
    if time is None:
        return 0.0
    return {"slow": time.low, "expected": time.value, "fast": time.high}[case]


def _repeated(time: StageTime, turns: int) -> StageTime:
    return StageTime(
        time.stage,
        time.transfer_seconds * turns,
        time.fixed_seconds * turns,
        time.total_bytes * turns,
        time.unit,
    )
