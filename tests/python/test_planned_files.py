"""Which files of a plan ranks share, and the calibration that follows from it."""

from __future__ import annotations

import pytest

from calibrations import MIB
from weir.bench.job import calibrated_for
from weir.bench.program import PlannedConfiguration, PlannedJob
from weir.results.schema import Plan


def plan(ranks: int, files: int, ranks_per_file: int | None) -> Plan:
    return Plan(
        ranks=ranks,
        files=files,
        ranks_per_file=ranks_per_file,
        memory_bytes_per_rank=MIB,
        memory_bytes_total=ranks * MIB,
        disk_bytes_total=files * MIB,
        phases=[
            {
                "function": "write",
                "direction": "write",
                "operations_per_rank": 1,
                "bytes_per_operation": MIB,
                "bytes_total": ranks * MIB,
                "computations_per_operation": 0.0,
                "exposed_operations_per_rank": 1,
            }
        ],
    )


@pytest.mark.parametrize(
    ("ranks", "files", "per_file", "at_once", "shares"),
    [
        (4, 4, 1, 4, False),
        (4, 1, 4, 1, True),
        # Many files, one after the other, each by all ranks.
        (4, 11, 4, 1, True),
        (4, 3, 4, 1, True),
        (4, 2, 2, 2, True),
        (5, 2, 3, 2, True),
        (1, 11, 1, 1, False),
        # Two ranks of four have a file each.
        (4, 2, 1, 2, False),
        (4, 0, 1, 0, False),
        # All files at the same time.
        (4, 11, None, 11, False),
        (4, 4, None, 4, False),
        (4, 3, None, 3, True),
        (4, 0, None, 0, False),
    ],
)
def test_a_plan_says_which_files_ranks_share(
    ranks: int, files: int, per_file: int | None, at_once: int, shares: bool
) -> None:
    made = plan(ranks, files, per_file)
    assert made.files_at_once == at_once
    assert made.shares_files == shares


@pytest.mark.parametrize(("per_file", "shared"), [(1, False), (4, True)])
def test_the_calibration_is_of_the_files_that_the_plan_has(per_file: int, shared: bool) -> None:
    one = PlannedConfiguration(
        label="one", slug="one", asynchronous=False, parameters={}, plan=plan(4, 11, per_file)
    )
    job = PlannedJob(configurations=[one], directory="/scratch", striping=[], transfer_bytes=MIB)
    assert calibrated_for(job).bytes_per_rank == ((shared, MIB),)
