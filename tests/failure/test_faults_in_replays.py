"""``weir-bench replay`` when storage fails, or returns other bytes than were written."""

from __future__ import annotations

from pathlib import Path

import pytest
from failing_runs import BRIEF, assert_ended_cleanly, run

RECORD = """\
weir-record 1
command	solver
file	/own/0
file	/own/1
file	/shared
rank	4	0	0	0,2
open	1	0	0	7	0	0	0
write	5	0	3	1001	0	0	0	1001	0
read	2	1	100	50	0	0	0	3	0
sync	1	0	0	0	0	0	0
rank	3	0	0	1-2
open	1	0	0	7	0	0	0
write	5	0	3	1001	0	0	0	1001	0
write	2	1	0	70	0	0	0	300	0
end	3	2
"""
FAULTS = {
    "a write of one rank fails": ("rank=1,call=pwrite,nth=3,error=EIO", 1, "EIO"),
    "a write is lost": ("rank=1,call=pwrite,nth=2,effect=drop", 1, "corrupt_data"),
    "a bit of a read is wrong": ("rank=0,call=pread,nth=1,effect=flip", 0, "corrupt_data"),
    "a bit that was written is wrong": ("rank=0,call=pwrite,nth=4,effect=flip", 0, "corrupt_data"),
    "a sync fails": ("rank=0,call=fsync,nth=1,error=EIO", 0, "EIO"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_ends_the_replay_with_its_cause(name: str, tmp_path: Path) -> None:
    fault, rank, cause = FAULTS[name]
    (tmp_path / "solver.record").write_text(RECORD)
    words = ("replay", str(tmp_path / "solver.record"), *BRIEF)
    record = assert_ended_cleanly(run(tmp_path, workload=words, ranks=2, fault=fault))
    assert record.failure is not None
    assert (record.failure.rank, record.failure.cause) == (rank, cause)
