"""Turns a probe's samples of operations on names into a platform's rates.

A rate is that of all working ranks together; its interval is that of the trials. The law over the
number of clients is applied in ``weir.model.metadata_expectation``, which has that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from weir.model.calibration_platform import IN_MEMORY
from weir.model.interval import quantity_of_trials
from weir.results.metadata_rates import ItemOperation, MetadataRates, OperationRates
from weir.results.probe import Operation, Probe, Sample
from weir.results.record import Quantity

DEVICE_OPERATION_BYTES = 4096
LEAST_OPERATIONS = 16
"""Least number of operations per rank in a trial; fewer would only show the first ones' rate."""


def fit_metadata(probe: Probe) -> list[MetadataRates]:
    """Returns the rates of each target that has such samples."""
    found = []
    for target in probe.targets:
        samples = [
            one
            for one in probe.samples
            if one.directory == target.directory and one.operations >= LEAST_OPERATIONS
        ]
        operations: dict[ItemOperation, OperationRates] = {}
        for operation in get_args(ItemOperation):
            own = [one for one in samples if one.operation == operation]
            if own:
                operations[operation] = OperationRates(
                    one_client=_rate(own, 1, shared=False),
                    all_clients=_rate(own, probe.ranks, shared=False) if probe.ranks > 1 else None,
                    one_directory=_rate(own, probe.ranks, shared=True),
                )
        if not operations:
            continue
        # On Linux, file systems without a device also accept O_DIRECT.
        device = [] if target.file_system in IN_MEMORY else samples
        reads, writes = _by_clients(device, "direct_read"), _by_clients(device, "direct_write")
        found.append(
            MetadataRates(
                directory=target.directory,
                clients=probe.ranks,
                operations=operations,
                device_reads_per_second=reads,
                device_writes_per_second=writes,
                device_how="O_DIRECT in 4 KiB at consecutive places, one operation of each rank "
                "under way"
                if reads or writes
                else "",
            )
        )
    return found


def warnings_of(probe: Probe) -> list[str]:
    """Yields the reasons to doubt the rates of operations on names."""
    told = []
    for target in probe.targets:
        samples = [
            one
            for one in probe.samples
            if one.directory == target.directory and one.operation in get_args(ItemOperation)
        ]
        few = dict.fromkeys(one.operation for one in samples if one.operations < LEAST_OPERATIONS)
        if few:
            told.append(
                f"{target.directory}: {', '.join(few)}: trials of fewer than {LEAST_OPERATIONS} "
                "operations of a rank are left out: raise --seconds"
            )
        if target.file_system == "ext4" and any(one.operation == "create" for one in samples):
            told.append(
                f"{target.directory}: ext4 creates files slowly after files were removed, as in "
                "every trial here; chattr +T on the directory avoids most of this"
            )
    return told


def _rate(samples: Sequence[Sample], ranks: int, *, shared: bool) -> Quantity | None:
    each = [
        sample.ranks * sample.operations / seconds
        for sample in samples
        if sample.ranks == ranks and sample.shared_directory == shared
        for seconds in sample.seconds
        if seconds > 0
    ]
    return quantity_of_trials(each) if each else None


def _by_clients(samples: Sequence[Sample], operation: Operation) -> dict[int, Quantity]:
    """Returns how many of the smallest requests complete per second, by the number of ranks."""
    small = [
        one
        for one in samples
        if one.operation == operation and one.operation_bytes == DEVICE_OPERATION_BYTES
    ]
    rates = {one.ranks: _rate([one], one.ranks, shared=False) for one in small}
    return {ranks: rate for ranks, rate in sorted(rates.items()) if rate is not None}
