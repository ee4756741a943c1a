"""Turns a probe's samples into a platform description: one stage per kind of sample.

    memory_copy                  memory copy        node        what every copy passes
    cache_write, cache_read      page cache ...     node        what ends in, or comes from, memory
    storage_write, storage_read  storage ...        target      durable writes, reads not resident
    direct_write, direct_read    direct ...         target      O_DIRECT
    bandwidth between hosts      node link          node link   what changes hosts

Each stage is one law of (users of a unit, bytes of an operation), which ``weir.model.stage_forms``
chooses and fits to the medians of the samples' trials. If several directories or hosts were probed,
each is fitted alone and becomes a named unit. A law that does not predict held-out samples is kept,
with ``fits`` false and the reason.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weir.model.interval import quantity_of_trials
from weir.model.metadata_fit import fit_metadata, warnings_of
from weir.model.stage_forms import FittedStage, fit_stage
from weir.results.expectations import Direction
from weir.results.platform import Fit, Platform, PlatformStage, Route, StageKind, Unit
from weir.results.probe import Operation, Probe, Sample
from weir.results.record import Quantity

ENOUGH_SAMPLES = 4
"""With fewer samples, single trials are held out instead of whole samples."""
FASTER_IN_SMALL = 1.2
"""Small requests that are faster per byte than large ones by more than this factor have not met the
unit's limit."""
UNKNOWN_ERROR = 1.0
"""Relative error that is assumed if nothing could be held out, as for a single trial
(``weir.model.interval``)."""


@dataclass(frozen=True)
class StageOf:
    """The stage to which the samples of an operation belong."""

    operation: Operation
    name: str
    kind: StageKind
    direction: Direction | None
    routes: tuple[Route, ...]
    how: str


STAGES = (
    StageOf("memory_copy", "memory copy", "node", None, ("memory",), "copy between large buffers"),
    StageOf(
        "cache_write",
        "page cache write",
        "node",
        "write",
        ("cached", "durable"),
        "write without a durable sync",
    ),
    StageOf("cache_read", "page cache read", "node", "read", ("cached",), "read of resident pages"),
    StageOf("storage_write", "storage write", "target", "write", ("durable",), "write, then fsync"),
    StageOf(
        "storage_read",
        "storage read",
        "target",
        "read",
        ("dropped",),
        "read after dropping the pages",
    ),
    StageOf("direct_write", "direct write", "target", "write", ("direct",), "O_DIRECT write"),
    StageOf("direct_read", "direct read", "target", "read", ("direct",), "O_DIRECT read"),
)
LATENCIES: dict[Operation, str] = {
    "call": "call",
    "fsync": "fsync",
    "barrier": "barrier",
    "latency": "message",
}


def fit_platform(probe: Probe, name: str) -> Platform:
    """Returns the platform that the probe's samples describe. Deterministic: draws are seeded.

    Raises ``ValueError`` if the probe has no samples from which a stage can be made.
    """
    stages: list[PlatformStage] = []
    fits: list[Fit] = []
    directly = {sample.operation for sample in probe.samples}
    for stage_of in STAGES:
        samples = _usable(probe, stage_of.operation)
        if not samples:
            continue
        wanted = stage_of
        if stage_of.operation in ("storage_write", "storage_read"):
            direct = "direct_write" if stage_of.direction == "write" else "direct_read"
            if direct not in directly:
                wanted = replace(stage_of, routes=(*stage_of.routes, "direct"))
        stage, fitted = _stage(probe, wanted, samples)
        stages.append(stage)
        fits += fitted
    link = _node_link(probe)
    if link is not None:
        stages.insert(_first_beyond_the_node(stages), link[0])
        fits += link[1]
    if not stages:
        raise ValueError("the probe has no sample to which a stage can be fitted")
    return Platform(
        format="weir-platform",
        format_version=1,
        name=name,
        measured_utc=probe.measured_utc,
        seconds=probe.seconds,
        conditions={
            "quiet": probe.quiet.text,
            "warnings": [*probe.warnings, *warnings_of(probe)],
        },
        topology={
            "ranks_by_host": probe.ranks_by_host,
            "hardware": probe.hardware,
            "system_software": probe.system_software,
        },
        hosts=len(probe.ranks_by_host),
        ranks_per_host=max(probe.ranks_by_host.values()),
        targets=probe.targets,
        memory_available_bytes=probe.memory_available_bytes,
        stages=stages,
        latencies_seconds=_latencies(probe),
        metadata=fit_metadata(probe),
        busy_work_operations_per_second=_busy_work(probe),
        fits=fits,
    )


def _usable(probe: Probe, operation: Operation) -> list[Sample]:
    return [
        sample
        for sample in probe.samples
        if sample.operation == operation
        and sample.operation_bytes > 0
        and any(seconds > 0 for seconds in sample.seconds)
    ]


def _stage(
    probe: Probe, wanted: StageOf, samples: Sequence[Sample]
) -> tuple[PlatformStage, list[Fit]]:
    directories = list(dict.fromkeys(sample.directory or "" for sample in samples))
    per_unit = 1 if wanted.kind == "target" else len(probe.ranks_by_host)
    if wanted.kind != "target" or len(directories) == 1:
        return _one_law(wanted, samples, per_unit)
    alone = {
        directory: _one_law(
            wanted,
            [sample for sample in samples if (sample.directory or "") == directory],
            per_unit,
            unit=directory,
        )
        for directory in directories
    }
    return _of_units(wanted, alone)


def _of_units(
    wanted: StageOf, alone: dict[str, tuple[PlatformStage, list[Fit]]]
) -> tuple[PlatformStage, list[Fit]]:
    """Combines the stages that each unit would make alone into one stage with named units."""
    units = [unit for stage, _ in alone.values() for unit in stage.different_units]
    middle = sorted(units, key=lambda unit: unit.rate_bytes_per_second.value)[len(units) // 2]
    stage = next(iter(alone.values()))[0].model_copy(
        update={
            "units": len(units),
            "rate_bytes_per_second": middle.rate_bytes_per_second,
            "one_user_bytes_per_second": middle.one_user_bytes_per_second,
            "fixed_seconds": middle.fixed_seconds,
            "turn_seconds": middle.turn_seconds,
            "different_units": units,
            "how": f"{wanted.how}; each of {len(units)} fitted alone",
            "interval_how": "95 % by bootstrap, for each unit",
        }
    )
    return stage, [fit for _, fits in alone.values() for fit in fits]


def _one_law(
    wanted: StageOf, samples: Sequence[Sample], hosts: int, unit: str | None = None
) -> tuple[PlatformStage, list[Fit]]:
    """Returns a stage with one law; with ``unit``, as that named unit among others."""
    told = wanted.name if unit is None else f"{wanted.name}, {unit}"
    try:
        fitted = _fitted(samples, hosts, one_of_several=unit is not None)
    except ValueError as error:
        stage = _unfitted(wanted, samples, hosts)
        fit = Fit(
            stage=told,
            form="largest rate",
            samples=len(samples),
            held_out_median_error=UNKNOWN_ERROR,
            held_out_p90_error=UNKNOWN_ERROR,
            fits=False,
            text=f"not fitted, so it is unreliable: {error}; a factor of 2 either way is assumed",
        )
        return _as_unit(stage, unit), [fit]
    stage = fitted.stage(
        wanted.name,
        wanted.kind,
        wanted.routes,
        wanted.direction,
        how=f"{wanted.how}; {len(samples)} samples",
    )
    return _as_unit(stage, unit), [fitted.fitted.as_fit(told)]


def _as_unit(stage: PlatformStage, unit: str | None) -> PlatformStage:
    if unit is None:
        return stage
    own = Unit(
        name=unit,
        rate_bytes_per_second=stage.rate_bytes_per_second,
        one_user_bytes_per_second=stage.one_user_bytes_per_second,
        fixed_seconds=stage.fixed_seconds,
        turn_seconds=stage.turn_seconds,
    )
    return stage.model_copy(update={"different_units": [own]})


def _at_the_limit(samples: Sequence[Sample]) -> list[Sample]:
    """Drops samples of small requests faster per byte than large ones of as many ranks.

    No law of a unit has such rates. They occur if a device accepts some requests before its limit
    takes effect, or reads ahead, and few small requests are finished by then.
    """

    def seconds_per_byte(sample: Sample) -> float:
        return statistics.median(sample.seconds) / (sample.operations * sample.operation_bytes)

    return [
        sample
        for sample in samples
        if not any(
            larger.ranks == sample.ranks
            and larger.operation_bytes > sample.operation_bytes
            and seconds_per_byte(larger) > FASTER_IN_SMALL * seconds_per_byte(sample)
            for larger in samples
        )
    ]


def _fitted(samples: Sequence[Sample], hosts: int, *, one_of_several: bool) -> FittedStage:
    points: list[tuple[float, float, float, object]] = []
    if one_of_several:
        samples = _at_the_limit(samples)
    for place, sample in enumerate(samples):
        users = _users(sample, hosts)
        each = [seconds / sample.operations for seconds in sample.seconds if seconds > 0]
        if len(samples) >= ENOUGH_SAMPLES:
            points.append((users, sample.operation_bytes, statistics.median(each), place))
        else:
            points += [(users, sample.operation_bytes, one, n) for n, one in enumerate(each)]
    return fit_stage(
        np.array([point[0] for point in points], dtype=float),
        np.array([point[1] for point in points], dtype=float),
        np.array([point[2] for point in points], dtype=float),
        [point[3] for point in points],
        one_of_several=one_of_several,
    )


def _users(sample: Sample, hosts: int) -> float:
    """Returns the ranks on the busiest unit; a sample's ranks are distributed over the hosts."""
    return float(math.ceil(sample.ranks / hosts))


def _unfitted(wanted: StageOf, samples: Sequence[Sample], hosts: int) -> PlatformStage:
    rates = [
        _users(sample, hosts) * sample.operations * sample.operation_bytes / seconds
        for sample in samples
        for seconds in sample.seconds
        if seconds > 0
    ]
    return PlatformStage(
        name=wanted.name,
        kind=wanted.kind,
        direction=wanted.direction,
        routes=list(wanted.routes),
        units=1,
        rate_bytes_per_second=Quantity(
            value=statistics.median(rates), low=min(rates), high=max(rates)
        ),
        how=wanted.how,
        interval_how="the range of all trials; too few samples for a fit",
    )


def _node_link(probe: Probe) -> tuple[PlatformStage, list[Fit]] | None:
    """Fits links between hosts: a host's link is at least as fast as its fastest pair.

    A pair is as fast as the slower of its two links, so the fastest pair of a host gives the best
    estimate of its link.
    """
    pairs: dict[tuple[str, ...], list[Sample]] = {}
    for sample in _usable(probe, "bandwidth"):
        if len(set(sample.hosts)) == 2:
            pairs.setdefault(tuple(sample.hosts), []).append(sample)
    if not pairs:
        return None
    wanted = StageOf(
        "bandwidth", "node link", "node link", None, ("network",), "messages between hosts"
    )
    alone = {}
    for host in dict.fromkeys(name for pair in pairs for name in pair):
        fastest = max((pair for pair in pairs if host in pair), key=lambda p: _peak(pairs[p]))
        alone[host] = _one_law(wanted, pairs[fastest], 1, unit=host)
    return _of_units(wanted, alone)


def _peak(samples: Sequence[Sample]) -> float:
    return max(
        sample.ranks
        * sample.operations
        * sample.operation_bytes
        / statistics.median(sample.seconds)
        for sample in samples
    )


def _first_beyond_the_node(stages: Sequence[PlatformStage]) -> int:
    return next(
        (n for n, stage in enumerate(stages) if stage.kind not in ("rank", "node")), len(stages)
    )


def _latencies(probe: Probe) -> dict[str, Quantity]:
    found = {}
    for operation, name in LATENCIES.items():
        each = _per_operation(probe, operation)
        if each:
            found[name] = quantity_of_trials(each)
    found |= _shared_writes(probe)
    run = _run_copy(probe)
    if run is not None:
        found["run_copy"] = run
    return found


def _shared_writes(probe: Probe) -> dict[str, Quantity]:
    """Returns a host's time per write into one file, if all its ranks write and if one does."""
    samples = [sample for sample in probe.samples if sample.operation == "shared_write"]
    hosts = len(probe.ranks_by_host)
    found = {}
    for name, ranks in (
        ("shared_write", max((sample.ranks for sample in samples), default=0)),
        ("shared_write_alone", 1),
    ):
        each = [
            seconds / sample.operations / _users(sample, hosts)
            for sample in samples
            if sample.ranks == ranks
            for seconds in sample.seconds
            if seconds > 0
        ]
        if each:
            found[name] = quantity_of_trials(each)
    return found


def _run_copy(probe: Probe) -> Quantity | None:
    """Returns a short copy's time less that of its bytes at the rate of one rank's long copies."""
    short = [sample for sample in probe.samples if sample.operation == "run_copy"]
    long = [
        sample
        for sample in probe.samples
        if sample.operation == "memory_copy" and sample.ranks == 1 and sample.operation_bytes > 0
    ]
    per_byte = [
        seconds / sample.operations / sample.operation_bytes
        for sample in long
        for seconds in sample.seconds
    ]
    if not short or not per_byte:
        return None
    of_bytes = statistics.median(per_byte) * short[0].operation_bytes
    each = [
        max(0.0, seconds / sample.operations - of_bytes)
        for sample in short
        for seconds in sample.seconds
    ]
    return quantity_of_trials(each) if each else None


def _busy_work(probe: Probe) -> Quantity | None:
    each = [1 / seconds for seconds in _per_operation(probe, "busy_work")]
    return quantity_of_trials(each) if each else None


def _per_operation(probe: Probe, operation: Operation) -> list[float]:
    """Returns the seconds of one operation in each trial with the largest number of ranks."""
    samples = [sample for sample in probe.samples if sample.operation == operation]
    most = max((sample.ranks for sample in samples), default=0)
    return [
        seconds / sample.operations
        for sample in samples
        if sample.ranks == most
        for seconds in sample.seconds
        if seconds > 0
    ]
