"""A probe's samples of operations on names turned into a platform's rates.

A rate is that of all ranks at work together, and its interval is of the trials: a law over clients
is for those who know how many there are (``weir.model.metadata_expectation``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from weir.model.interval import quantity_of_trials
from weir.results.metadata_rates import ItemOperation, MetadataRates, OperationRates
from weir.results.probe import Operation, Probe, Sample
from weir.results.record import Quantity

DEVICE_OPERATION_BYTES = 4096
IN_MEMORY = ("tmpfs", "ramfs")


def fit_metadata(probe: Probe) -> list[MetadataRates]:
    """One for each target that has such samples."""
    found = []
    for target in probe.targets:
        samples = [one for one in probe.samples if one.directory == target.directory]
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
        # Linux lets O_DIRECT through to file systems that have no device.
        device = [] if target.file_system in IN_MEMORY else samples
        reads, read_ranks = _fastest(device, "direct_read")
        writes, write_ranks = _fastest(device, "direct_write")
        ranks = " and ".join(dict.fromkeys(str(one) for one in (read_ranks, write_ranks) if one))
        found.append(
            MetadataRates(
                directory=target.directory,
                clients=probe.ranks,
                operations=operations,
                device_reads_per_second=reads,
                device_writes_per_second=writes,
                device_how=f"O_DIRECT in 4 KiB at consecutive places by {ranks} ranks at once, one "
                "operation of each under way: a device that takes more at once does more"
                if ranks
                else "",
            )
        )
    return found


def _rate(samples: Sequence[Sample], ranks: int, *, shared: bool) -> Quantity | None:
    each = [
        sample.ranks * sample.operations / seconds
        for sample in samples
        if sample.ranks == ranks and sample.shared_directory == shared
        for seconds in sample.seconds
        if seconds > 0
    ]
    return quantity_of_trials(each) if each else None


def _fastest(samples: Sequence[Sample], operation: Operation) -> tuple[Quantity | None, int | None]:
    """The most of the smallest requests in a second, and by how many ranks."""
    small = [
        one
        for one in samples
        if one.operation == operation and one.operation_bytes == DEVICE_OPERATION_BYTES
    ]
    rates = {one.ranks: _rate([one], one.ranks, shared=False) for one in small}
    known = [(rate, ranks) for ranks, rate in rates.items() if rate is not None]
    return max(known, key=lambda one: one[0].value, default=(None, None))
