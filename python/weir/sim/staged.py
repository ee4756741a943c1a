"""Simulates the output of a kernel of weir-bench whose files stagers take over.

``weir-bench flash --plan`` says which files there are. For each kind of file, two simulations give
the times of its bytes, and the path model (``weir.model.staging``) says when both take place:

    hand-over   from the ranks to the stagers: copies into memory, and with a service the links to
                its nodes, by the strategy that is asked for
    storing     from the stagers to the storage: each stager writes its share in turn with others

A third one is the same write by the ranks themselves, with which staging is compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from weir.bench.errors import USAGE, BenchError
from weir.bench.program import find_program, plan_job
from weir.model.expectation import room_of
from weir.model.flow_of_plan import Planned, Surroundings, output_of, planned_flow
from weir.model.stage import StageTime
from weir.model.staged_expectation import staged_rates
from weir.results.expectations import ExpectedRate, Metric
from weir.results.platform import Platform, PlatformStage, Route
from weir.results.record import Quantity
from weir.sim.job import Asked
from weir.sim.probed import with_simulation
from weir.sim.program import Outcome
from weir.sim.stager_platform import platform_of_stagers, with_way_to_stagers

Staging = Literal["none", "node", "service"]
STAGINGS: tuple[Staging, ...] = ("none", "node", "service")
Run = Callable[[Platform, Asked], Outcome]
"""Carries out one simulation."""
HAND_OVER, STORING = "hand-over", "storing"
MOST_RATE = 1e30
"""Stands for that of a part which takes no time."""
KERNELS = ("flash", "s3d")
"""Workloads of weir-bench that write files in turn with computing."""


@dataclass(frozen=True)
class Kernel:
    """What a kernel writes: its kinds of files, and how long it computes after each step."""

    name: str
    phases: tuple[Planned, ...]
    computing_seconds: float

    @property
    def bytes(self) -> int:
        return sum(one.phase.bytes_total for one in self.phases)


@dataclass(frozen=True)
class StagedOutput:
    """What stagers make of a kernel's output, and what its ranks reach by themselves."""

    kernel: Kernel
    asked: Asked
    staging: Staging
    rates: dict[Metric, ExpectedRate]
    """Of the time blocked (``foreground``) and of that until all is stored (``span``); empty
    without stagers."""
    parts: list[tuple[str, StageTime]]
    """Times of all files in each part of the way, each with HAND_OVER or STORING."""
    unstaged: list[Outcome]
    """A file of each kind, written by the ranks."""

    @property
    def unstaged_seconds(self) -> float:
        """Returns the time of all files that the ranks write by themselves."""
        return sum(
            one.seconds * _files(planned)
            for one, planned in zip(self.unstaged, self.kernel.phases, strict=True)
        )

    @property
    def unstaged_limit(self) -> str:
        return max(self.unstaged, key=lambda one: one.seconds).limit.name

    @property
    def hidden(self) -> float:
        """Returns the share of the time to storage for which the ranks are not blocked."""
        span, foreground = self.rates["span"].value, self.rates["foreground"].value
        return max(0.0, 1 - span / foreground) if foreground > 0 else 0.0

    @property
    def blocked_seconds(self) -> float:
        """Returns for how long the ranks are blocked by all files."""
        return self.kernel.bytes / self.rates["foreground"].value

    @property
    def until_stored_seconds(self) -> float:
        return self.kernel.bytes / self.rates["span"].value

    @property
    def least_computing_seconds(self) -> float:
        """Returns how long the ranks have to compute beside all files until staging is faster."""
        storing = max(time.seconds for what, time in self.parts if what == STORING)
        return max(0.0, storing - self.unstaged_seconds)

    def slowest(self, what: str) -> str:
        """Returns the name of the slowest part of the hand-over, or of storing."""
        times = [time for one, time in self.parts if one == what]
        return max(times, key=lambda time: time.seconds).stage.name


def kernel_of(words: Sequence[str], ranks: int, platform: Platform) -> Kernel:
    """Returns what ``weir-bench WORDS`` writes on so many ranks; raises ``BenchError``."""
    planned = plan_job(find_program(os.environ), words, ranks, elsewhere=True)
    if len(planned.configurations) != 1:
        raise BenchError(
            f"weir sim {words[0]}: the settings make {len(planned.configurations)} configurations: "
            "give one interface, and --staging before --",
            USAGE,
        )
    (one,) = planned.configurations
    output = output_of(one.parameters)
    if output is None or output.staged:
        raise BenchError(
            f"weir sim {words[0]}: give --staging before --, where it belongs to weir sim", USAGE
        )
    where = Surroundings(platform, {})
    flows = [
        planned_flow(phase, one.plan, one.parameters, where)
        for phase in one.plan.phases
        if phase.bytes_total > 0 and phase.direction == "write"
    ]
    return Kernel(words[0], tuple(flows), output.computing_seconds)


def simulate_output(
    platform: Platform,
    kernel: Kernel,
    asked: Asked,
    staging: Staging,
    stager_memory_bytes: float | None,
    run: Run,
) -> StagedOutput:
    """Returns the outcome of a kernel's output; raises ``BenchError``.

    ``stager_memory_bytes`` is what a stager may hold; none: what the description says.
    """
    files = [_of_a_file(asked, planned) for planned in kernel.phases]
    by_ranks = [run(platform, replace(one, to="storage", stagers=0)) for one in files]
    if staging == "none":
        return StagedOutput(kernel, asked, staging, {}, [], by_ranks)
    times = [
        _times_of(platform, planned, one, staging, run)
        for planned, one in zip(kernel.phases, files, strict=True)
    ]
    stagers = asked.stagers if staging == "service" else _nodes(platform, asked)
    room = room_of(platform)
    if stager_memory_bytes is not None:
        room = stager_memory_bytes * stagers
    of_case = [[time for _, time in of_phase] for of_phase in times]
    rates = staged_rates(
        {"expected": of_case, "slow": of_case, "fast": of_case},
        kernel.phases,
        kernel.computing_seconds,
        room,
    )
    return StagedOutput(
        kernel, asked, staging, {rate.metric: rate for rate in rates}, _summed(times), by_ranks
    )


def _times_of(
    platform: Platform, planned: Planned, asked: Asked, staging: Staging, run: Run
) -> list[tuple[str, StageTime]]:
    """Returns the times of one kind of files in each part, those of the hand-over first."""
    times = []
    copies = _copies(platform, planned, asked)
    if copies is not None:
        times.append((HAND_OVER, copies))
    if staging == "service":
        sent = run(
            with_way_to_stagers(platform, asked.stagers),
            replace(asked, to="stagers", strategy=_sending(asked)),
        )
        times += [(HAND_OVER, time) for time in _parts(sent, planned, "network")]
    elif copies is None:
        raise BenchError(
            f"--staging node: platform {platform.name} has no rate of copies in memory, which is "
            "copies in [simulation]; give --staging service, or a description that weir platform "
            "probe has made",
            USAGE,
        )
    stagers = asked.stagers if staging == "service" else _nodes(platform, asked)
    total = asked.ranks * asked.bytes
    stored = run(
        platform_of_stagers(platform, None if staging == "node" else stagers),
        Asked(
            "messages", stagers, "direct", "storage",
            bytes=max(1, -(-total // stagers)), buffer=asked.buffer, stripe=asked.stripe,
        ),
    )  # fmt: skip
    return times + [(STORING, time) for time in _parts(stored, planned, "durable")]


def _sending(asked: Asked) -> str:
    """Returns how bytes come to a service: each rank sends its own, unless it is told otherwise."""
    return "direct" if asked.strategy == "automatic" else asked.strategy


def _of_a_file(asked: Asked, planned: Planned) -> Asked:
    each = planned.phase.bytes_total / (_files(planned) * asked.ranks)
    return replace(asked, workload="messages", bytes=max(1, round(each)), meeting=True)


def _files(planned: Planned) -> int:
    return planned.phase.operations_per_rank


def _nodes(platform: Platform, asked: Asked) -> int:
    return -(-asked.ranks // platform.ranks_per_host)


def _copies(platform: Platform, planned: Planned, asked: Asked) -> StageTime | None:
    """Returns the time of the copies into memory that stagers read; None: they take no time."""
    simulation = with_simulation(platform, "write").simulation
    if simulation is None or simulation.copies is None:
        return None
    stage = next(one for one in platform.stages if one.name == simulation.copies)
    rate = stage.rate_bytes_per_second.value
    one_user = (stage.one_user_bytes_per_second or stage.rate_bytes_per_second).value
    for cached in simulation.cached_copies:
        if asked.bytes <= cached.up_to_bytes:
            rate = cached.rate_bytes_per_second.value
            one_user = cached.one_user_bytes_per_second.value
            break
    ranks = min(asked.ranks, platform.ranks_per_host)
    seconds = asked.bytes * ranks / min(rate, one_user * ranks) * _files(planned)
    return _stage_time(stage.name, "memory", seconds, planned)


def _parts(outcome: Outcome, planned: Planned, route: Route) -> list[StageTime]:
    """Returns the times of all files of a kind: the limit has that of the whole simulation."""
    return [
        _stage_time(
            part.name,
            route,
            outcome.seconds
            * (1.0 if part.name == outcome.limit.name else part.busy_share)
            * _files(planned),
            planned,
        )
        for part in outcome.parts
        if part.units_used
    ]


def _stage_time(name: str, route: Route, seconds: float, planned: Planned) -> StageTime:
    total = planned.phase.bytes_total
    rate = total / seconds if seconds > 0 else MOST_RATE
    stage = PlatformStage(
        name=name,
        kind="node link" if route == "network" else "target",
        routes=[route],
        units=1,
        rate_bytes_per_second=Quantity(value=rate, low=rate, high=rate),
        how="simulated",
    )
    return StageTime(stage, seconds, 0.0, total, None)


def _summed(times: Sequence[Sequence[tuple[str, StageTime]]]) -> list[tuple[str, StageTime]]:
    """Adds the times of the kinds of files, whose parts are the same."""
    return [
        (
            of_part[0][0],
            replace(
                of_part[0][1],
                transfer_seconds=sum(time.transfer_seconds for _, time in of_part),
                total_bytes=sum(time.total_bytes for _, time in of_part),
            ),
        )
        for of_part in zip(*times, strict=True)
    ]
