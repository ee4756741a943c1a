"""Represents a calibration as a platform with few stages, so that there is only one path model.

A calibration measures one size of transfer and one number of ranks. Fixed costs come from its
latencies: with t0 the calibrated time of one operation by all ranks and f its fixed cost, the rate
of a stage is bytes / (t0 - f), so that at the calibrated size the stage takes exactly t0 (Uselton's
equation 3 solved for r). The fixed cost is limited to nine tenths of t0. The interval is that of
the trials (``weir.model.interval``), for the whole time and not for its parts.

Durable writes are measured in two ways, because a small transfer with a sync does not determine the
rate. Let T be the time in which each of n ranks writes S bytes with one sync: then
r = n S / (T - sync). The fixed cost of one sync is the time of a transfer with its own sync, less
the time of its bytes at that rate. Thus a run that syncs each transfer is expected to take t0 for
each, and a run that syncs once to take T.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from weir.model.flow_of_plan import SERVICE
from weir.model.interval import interval_factors, quantity_of_trials
from weir.results.calibration import Calibration, Trials
from weir.results.expectations import Direction
from weir.results.platform import Operation, Platform, PlatformStage, Route, StageKind
from weir.results.quantities import size_text
from weir.results.record import Quantity

MOST_FIXED = 0.9
IN_MEMORY = ("tmpfs", "ramfs")
"""File systems without storage behind them."""
READ_AGAIN = 2.0
"""How much faster pages in such a file system are read again than for the first time, at most. On
Linux 6.18 the first read had 0.5 to 0.8 of the later rate, by the processor's time for reads of 1
MiB from files of 2 to 128 MiB; on ext4 there was no such difference."""


def platform_of_calibration(calibration: Calibration) -> Platform:
    """Returns the calibration's figures as stages; they hold for its number of ranks only."""
    call = calibration.call_seconds.median

    stage = partial(_stage, calibration)
    made = Platform(
        format="weir-platform",
        format_version=1,
        name=f"calibration of {calibration.directory}",
        measured_utc=calibration.measured_utc,
        seconds=calibration.seconds,
        hosts=calibration.hosts,
        ranks_per_host=-(-calibration.ranks // calibration.hosts),
        ranks=calibration.ranks,
        memory_available_bytes=calibration.memory_available_bytes,
        topology=_topology(calibration),
        stages=[
            stage(
                "memory copy",
                "node",
                None,
                ["memory"],
                calibration.memory_copy_bytes_per_second,
                0.0,
                "copy between large buffers by all ranks",
            ),
            stage(
                "page cache write",
                "node",
                "write",
                ["cached", "durable"],
                calibration.write_cache_bytes_per_second,
                call,
                "write without a durable sync",
            ),
            stage(
                "page cache read",
                "node",
                "read",
                ["cached"],
                calibration.read_cache_bytes_per_second,
                call,
                "first read of resident pages",
            ),
            _storage_write(calibration),
            stage(
                "storage read",
                "target",
                "read",
                ["direct"] if calibration.direct else ["dropped", "direct"],
                calibration.read_storage_bytes_per_second,
                call,
                "O_DIRECT read" if calibration.direct else "read after dropping the pages",
            ),
        ],
        latencies_seconds={
            "call": quantity_of_trials(calibration.call_seconds.values),
            "fsync": quantity_of_trials(calibration.fsync_seconds.values),
            "barrier": quantity_of_trials(calibration.barrier_seconds.values),
            **_first_read(calibration),
        },
        busy_work_operations_per_second=quantity_of_trials(
            calibration.busy_work_operations_per_second.values
        ),
        operations=[
            Operation(
                api=one.api,
                staging=one.staging,
                aggregators=one.aggregators,
                blocked_seconds=quantity_of_trials(one.blocked_seconds.values),
                stored_seconds=quantity_of_trials(one.stored_seconds.values),
                link_bytes_per_second=_link(calibration, one.staging),
            )
            for one in calibration.operations
        ],
    )
    return _without_storage(made) if calibration.file_system in IN_MEMORY else made


def _topology(calibration: Calibration) -> dict[str, Any]:
    """Returns the processors of a host where a probe's description has them, if they are known."""
    if calibration.processors is None:
        return {}
    return {"hardware": {"processor": {"cores": calibration.processors}}}


def _link(calibration: Calibration, staging: str) -> Quantity | None:
    """Returns the rate over TCP to the stagers of a way of writing; None if it was not measured.

    A way names the stagers and receiving threads that the job starts (``way_of``), and only
    ``service`` where the user has started them.
    """
    where, _, ends = staging.partition(":")
    if where != SERVICE:
        return None
    for link in calibration.links:
        own = f"{link.stagers}:{link.receivers}" if link.receivers else ""
        if own == ends:
            return quantity_of_trials(link.bytes_per_second.values)
    return None


def _without_storage(platform: Platform) -> Platform:
    """Returns the platform of a file system in memory, whose page cache is all that it has.

    The calibration reads pages for the first time, as a run does that has just written them. A run
    that only reads is faster there from its second repetition on.
    """
    stages = {stage.name: stage for stage in platform.stages if stage.kind != "target"}
    write, read = stages["page cache write"], stages["page cache read"]
    stages[write.name] = write.model_copy(update={"routes": ["cached", "durable", "direct"]})
    stages[read.name] = _maybe_again(read)
    return platform.model_copy(update={"stages": list(stages.values())})


def _maybe_again(stage: PlatformStage) -> PlatformStage:
    first = stage.rate_bytes_per_second
    return stage.model_copy(
        update={
            "routes": ["cached", "dropped", "direct"],
            "rate_bytes_per_second": first.model_copy(update={"high": first.high * READ_AGAIN}),
            "interval_how": (
                f"{stage.interval_how}; pages read again up to {READ_AGAIN:g} times as fast"
            ),
        }
    )


def _first_read(calibration: Calibration) -> dict[str, Quantity]:
    """Returns by how much first reads of a file exceed the mean, and later ones fall short of it.

    Where the system reads ahead, the first read waits for more than its own bytes, and those after
    it for less. The rate of all is that of files of ``storage_read_bytes_per_rank``.
    """
    trials = calibration.first_read_seconds
    if trials is None:
        return {}
    moved = calibration.transfer_bytes * calibration.ranks
    usual = moved / calibration.read_storage_bytes_per_second.median
    whole = quantity_of_trials(trials.values)
    beyond = {end: max(0.0, seconds - usual) for end, seconds in whole.model_dump().items()}
    reads = (calibration.storage_read_bytes_per_rank or 0) // calibration.transfer_bytes
    if reads < 2:
        return {"first_read": Quantity(**beyond)}
    below = {end: seconds / (reads - 1) for end, seconds in beyond.items()}
    return {"first_read": Quantity(**beyond), "later_read": Quantity(**below)}


def _storage_write(calibration: Calibration) -> PlatformStage:
    sync = calibration.fsync_seconds.median
    each = calibration.write_storage_bytes_per_second
    if calibration.direct:
        call, how = calibration.call_seconds.median, "O_DIRECT write of a new file"
        return _stage(calibration, "storage write", "target", "write", ["direct"], each, call, how)
    once, alone = calibration.write_synced_once_bytes_per_second, calibration.synced_once_bytes
    if once is None or not alone or once.median <= 0:
        return _stage(
            calibration,
            "storage write",
            "target",
            "write",
            ["durable", "direct"],
            each,
            sync,
            "write and fsync of a new file",
        )
    moved = alone * calibration.ranks
    factors = interval_factors(once)
    of_each = interval_factors(each)

    def rate(factor: float) -> float:
        seconds = moved / (once.median * factor)
        return moved / max(seconds - sync, (1 - MOST_FIXED) * seconds)

    seconds = calibration.transfer_bytes * calibration.ranks / each.median
    transfer = calibration.transfer_bytes * calibration.ranks / rate(1.0)
    fixed = max(seconds - transfer, 0.0)
    return PlatformStage(
        name="storage write",
        kind="target",
        direction="write",
        routes=["durable", "direct"],
        units=1,
        rate_bytes_per_second=Quantity(
            value=rate(1.0), low=rate(factors.low), high=rate(factors.high)
        ),
        fixed_seconds=Quantity(value=fixed, low=fixed / of_each.high, high=fixed / of_each.low),
        how=(
            f"{size_text(alone)} of each rank and one fsync, and writes with an fsync each; "
            f"medians of {len(once.values)} and {len(each.values)} trials"
        ),
        interval_how=f"{factors.how}; of the fixed cost, {of_each.how}",
    )


def _stage(
    calibration: Calibration,
    name: str,
    kind: StageKind,
    direction: Direction | None,
    routes: Sequence[Route],
    trials: Trials,
    fixed: float,
    how: str,
) -> PlatformStage:
    # The units of the kind "node" are hosts; the one with most ranks takes as long as all did.
    users = calibration.ranks
    seconds = calibration.transfer_bytes * users / trials.median
    if kind == "node":
        users = -(-calibration.ranks // calibration.hosts)
    moved = calibration.transfer_bytes * users
    fixed = min(fixed, MOST_FIXED * seconds)
    factors = interval_factors(trials)

    def rate(factor: float) -> float:
        left = seconds / factor - fixed
        return moved / max(left, (1 - MOST_FIXED) * seconds / factor)

    return PlatformStage(
        name=name,
        kind=kind,
        direction=direction,
        routes=list(routes),
        units=1,
        rate_bytes_per_second=Quantity(
            value=rate(1.0), low=rate(factors.low), high=rate(factors.high)
        ),
        fixed_seconds=Quantity(value=fixed, low=fixed, high=fixed),
        how=f"{how}; median of {len(trials.values)} trials",
        interval_how=factors.how,
    )
