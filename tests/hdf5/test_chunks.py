"""The VOL connector: datasets in chunks."""

from __future__ import annotations

from pathlib import Path

import pytest
from vol_program import Run, differences, needs_connector

pytestmark = needs_connector

PROGRAM = "hdf5_chunks"


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_files_in_chunks_are_those_of_hdf5_alone(ranks: int, tmp_path: Path) -> None:
    without = Run(tmp_path / "without", ranks, program=PROGRAM)
    with_it = Run(tmp_path / "with", ranks, "--hdf5", program=PROGRAM)
    assert (without.status, without.err) == (0, "")
    assert with_it.status == 0, with_it.err
    assert differences(without.file, with_it.file) == ""
    sparse = with_it.sums.files[f"{with_it.file}.sparse"]["read"]
    assert (sparse.calls, sparse.taken) == (4 * ranks, 2 * ranks)
    counted = with_it.counted()
    counted[2] += sparse.taken
    counted[3] += sparse.calls - sparse.taken
    assert counted == [ranks * number for number in with_it.expected()]
    passed = with_it.sums.passed[str(with_it.file)]
    assert passed["the call is not collective"] == ranks  # metadata are read together
    # Boxes beside each other, alone, by each rank and as one of two datasets, and 17 dimensions.
    no_blocks = "a chunked dataset has too many chunks, or its selection is no regular hyperslab"
    assert passed[no_blocks] == 10 * ranks
    other = "a dataset is compact, virtual, external or filtered, or has no place in the file yet"
    assert passed[other] == 2 * ranks
    (not_there,) = with_it.sums.passed[f"{with_it.file}.sparse"]
    assert not_there == other


def test_chunks_are_exchanged_by_messages(tmp_path: Path) -> None:
    without = Run(tmp_path / "without", 4, program=PROGRAM)
    with_it = Run(
        tmp_path / "with", 4, "--hdf5", program=PROGRAM,
        WEIR_RANKS_PER_NODE="2", WEIR_AGGREGATORS="2", WEIR_STRATEGY="two-phase",
        WEIR_BUFFER_BYTES="64",
    )  # fmt: skip
    assert with_it.status == 0, with_it.err
    assert differences(without.file, with_it.file) == ""


@pytest.mark.parametrize("ranks", [2, 3])
def test_no_rank_writes_a_cut_chunk_over_what_others_wrote(ranks: int, tmp_path: Path) -> None:
    run = Run(tmp_path / "with", ranks, "--hdf5", program=PROGRAM, words=("cut",))
    assert run.status == 0, run.err  # the program found what each rank had written
    assert run.counted() == [ranks * number for number in run.expected()]


def test_too_many_chunks_are_passed_on(tmp_path: Path) -> None:
    run = Run(tmp_path / "with", 2, "--hdf5", program=PROGRAM, words=("many",))
    assert run.status == 0, run.err
    assert run.counted() == [2 * number for number in run.expected()]
