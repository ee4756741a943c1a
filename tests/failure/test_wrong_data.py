"""What comes back is not what was written: it is found, and named with file, offset and rank."""

from __future__ import annotations

from pathlib import Path

import pytest
from failing_runs import BRIEF, SHARE_BYTES, Ended, assert_ended_cleanly, run

from weir.results.schema import PayloadError

BINS = 4
BLOCK_BYTES = 4096  # of the shim's effects
FLIPPED_BYTE = SHARE_BYTES // 2  # the middle of the transfer


def errors_of(ended: Ended) -> list[PayloadError]:
    """What the record holds; the message and the failure name the first."""
    record = assert_ended_cleanly(ended)
    assert record.failure is not None
    assert record.failure.cause == "corrupt_data"
    assert record.verification.performed
    errors = record.verification.errors
    assert record.failure.rank == errors[0].rank
    assert record.failure.file == errors[0].file
    assert record.failure.offset_bytes == errors[0].offset_bytes
    assert Path(errors[0].file).name in ended.messages[0]
    assert f"offset {errors[0].offset_bytes}" in ended.messages[0]
    assert f"rank {errors[0].rank}" in ended.messages[0]
    return errors


def only_error(ended: Ended) -> PayloadError:
    (error,) = errors_of(ended)
    return error


@pytest.mark.parametrize("call", ["pwrite", "pread"])
def test_a_flipped_bit(tmp_path: Path, call: str) -> None:
    """In the second matrix, on the way to the file or back."""
    error = only_error(run(tmp_path, *BRIEF, fault=f"rank=2,call={call},nth=2,effect=flip"))
    assert error.kind == "flipped_bit"
    assert error.rank == 2
    assert error.function == "W"
    assert error.repetition == 0
    assert error.offset_bytes == SHARE_BYTES + FLIPPED_BYTE
    assert error.bytes_wrong == 1
    assert error.text == "bit 4 is flipped"


def test_a_flipped_bit_in_a_shared_file(tmp_path: Path) -> None:
    fault = "rank=3,call=pwrite,nth=1,effect=flip"
    error = only_error(run(tmp_path, *BRIEF, "--filetype", "SHARED", fault=fault))
    assert error.kind == "flipped_bit"
    assert error.rank == 3
    # Rank 3's part lies behind the four matrices of three others.
    assert error.offset_bytes == 3 * BINS * SHARE_BYTES + FLIPPED_BYTE


def test_a_later_function_and_repetition_are_named(tmp_path: Path) -> None:
    """S writes 4 times and W 4 times in a repetition: the 14th write is W's second in the next."""
    error = only_error(run(tmp_path, *BRIEF, fault="rank=0,call=pwrite,nth=14,effect=flip"))
    assert error.function == "C"
    assert error.repetition == 1
    assert error.offset_bytes == SHARE_BYTES + FLIPPED_BYTE


def test_swapped_blocks(tmp_path: Path) -> None:
    """Both are found, each with the place where it belongs."""
    ended = run(tmp_path, *BRIEF, fault="rank=1,call=pwrite,nth=3,effect=swap")
    first, second = errors_of(ended)
    begin = 2 * SHARE_BYTES
    for error, found_at, belongs_at in (
        (first, begin, begin + BLOCK_BYTES),
        (second, begin + BLOCK_BYTES, begin),
    ):
        assert error.kind == "swapped_block"
        assert error.rank == 1
        assert error.offset_bytes == found_at
        assert error.bytes_wrong == BLOCK_BYTES
        assert str(belongs_at) in error.text


def test_a_block_of_zeros(tmp_path: Path) -> None:
    error = only_error(run(tmp_path, *BRIEF, fault="rank=1,call=pwrite,nth=3,effect=zeros"))
    assert error.kind == "zeros"
    assert error.offset_bytes == 2 * SHARE_BYTES
    assert error.bytes_wrong == BLOCK_BYTES


def test_a_write_that_never_happened_to_a_new_file(tmp_path: Path) -> None:
    """The first matrix of a new file is missing: a hole, which reads as zeros."""
    error = only_error(run(tmp_path, *BRIEF, fault="rank=1,call=pwrite,nth=1,effect=drop"))
    assert error.kind == "zeros"
    assert error.offset_bytes == 0
    assert error.bytes_wrong == SHARE_BYTES


def test_a_write_that_never_happened_over_older_data(tmp_path: Path) -> None:
    """W writes its results over S's matrices: without W's write, C reads S's data."""
    error = only_error(
        run(tmp_path, *BRIEF, fault=f"rank=2,call=pwrite,nth={BINS + 1},effect=drop")
    )
    assert error.kind == "stale_data"
    assert error.function == "C"
    assert error.rank == 2
    assert error.offset_bytes == 0
    assert error.bytes_wrong == SHARE_BYTES


def test_data_of_an_earlier_repetition(tmp_path: Path) -> None:
    """The second repetition's first write brings back what the first repetition wrote last."""
    error = only_error(
        run(tmp_path, *BRIEF, fault=f"rank=0,call=pwrite,nth={2 * BINS + 1},effect=stale")
    )
    assert error.kind == "stale_data"
    assert error.function == "W"
    assert error.repetition == 1


def test_a_read_that_ends_early(tmp_path: Path) -> None:
    record = assert_ended_cleanly(
        run(tmp_path, *BRIEF, fault="rank=3,call=pread,nth=2,effect=short")
    )
    assert record.failure is not None
    assert record.failure.cause == "short_transfer"
    assert record.failure.rank == 3
    assert record.failure.operation == "read"
    assert record.failure.file is not None


def test_a_write_that_takes_half_is_no_failure(tmp_path: Path) -> None:
    """A partial write is continued; what is read back is whole."""
    ended = run(tmp_path, *BRIEF, fault="rank=1,call=pwrite,nth=2,effect=short")
    assert ended.status == 0, ended.stderr


def test_an_interrupted_call_is_repeated(tmp_path: Path) -> None:
    for number, call in enumerate(["pwrite", "pread"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        ended = run(folder, *BRIEF, fault=f"rank=1,call={call},nth=2,error=EINTR")
        assert ended.status == 0, ended.stderr


def test_unverified_data_are_not_called_verified(tmp_path: Path) -> None:
    """Without verification a flipped bit goes unseen, and the record says that nobody looked."""
    ended = run(tmp_path, *BRIEF, "--no-verify", fault="rank=2,call=pwrite,nth=2,effect=flip")
    assert ended.status == 0, ended.stderr
    (path,) = ended.results.glob("*/run.json")
    assert '"performed": false' in path.read_text()
