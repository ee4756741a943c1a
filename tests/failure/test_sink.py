"""``weir-bench sink`` when a message does not arrive as it was sent."""

from __future__ import annotations

from pathlib import Path

from failing_runs import BRIEF, assert_ended_cleanly, run


def test_a_message_that_is_lost_on_the_way_is_found(tmp_path: Path) -> None:
    """The kernel lies about the write of rank 1 into the file of the verifying message."""
    words = ("sink", "--api", "posix", "--message-bytes", "64k", "--iterations", "2", *BRIEF)
    fault = "rank=1,call=pwrite,nth=1,effect=drop,tree=weir-posix"
    record = assert_ended_cleanly(run(tmp_path, workload=words, fault=fault))
    assert record.failure is not None
    assert (record.failure.rank, record.failure.cause) == (1, "corrupt_data")
