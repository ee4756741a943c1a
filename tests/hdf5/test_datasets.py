"""The VOL connector: datasets are written and read by Weir as HDF5 does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from mpi_launcher import BUILD, is_open_mpi, preload
from vol_program import Run, differences, needs_connector

from weir.mpiio.records import sum_up

FAULTY_IO = BUILD / "tests" / "failure" / "faulty_io.so"

pytestmark = needs_connector


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_files_are_those_of_hdf5_alone(ranks: int, tmp_path: Path) -> None:
    without = Run(tmp_path / "without", ranks)
    with_it = Run(tmp_path / "with", ranks, "--hdf5")
    assert (without.status, without.err) == (0, "")
    assert with_it.status == 0, with_it.err
    assert differences(without.file, with_it.file) == ""
    assert with_it.counted() == [ranks * number for number in with_it.expected()]
    (passed,) = with_it.sums.passed.values()
    assert "Weir failed to move the bytes" not in passed
    assert passed["the call is not collective"] == ranks
    assert passed["a rank reads past the end of the file"] == ranks
    assert passed["a selection does not fit, or is of too many blocks"] == 3 * ranks
    too_deep = "a view is of too many patterns, or its datatype is constructed in an unknown way"
    assert passed[too_deep] == 6 * ranks  # and elements that do not ascend
    assert f"weir: {ranks} rank" in with_it.err
    assert "calls on datasets of HDF5 on 1 file" in with_it.err


def test_ranks_of_several_nodes_exchange_messages(tmp_path: Path) -> None:
    without = Run(tmp_path / "without", 4)
    with_it = Run(tmp_path / "with", 4, "--hdf5", WEIR_RANKS_PER_NODE="2", WEIR_AGGREGATORS="2")
    assert with_it.status == 0, with_it.err
    assert differences(without.file, with_it.file) == ""


def test_calls_that_are_passed_on_are_taken_over_below(tmp_path: Path) -> None:
    """Both libraries of Weir in one process do not disturb each other."""
    without = Run(tmp_path / "without", 2)
    with_it = Run(tmp_path / "with", 2, "--hdf5", "--mpi-io", "--take-over")
    assert with_it.status == 0, with_it.err
    assert differences(without.file, with_it.file) == ""
    assert with_it.counted() == [2 * number for number in with_it.expected()]
    below = sum_up(sorted((tmp_path / "with" / "records").glob("*.mpiio")))
    taken = {name: one.taken for name, one in below.files[str(with_it.file)].items()}
    assert taken["write_at_all"] > 0


@pytest.mark.skipif(not is_open_mpi(), reason="error classes have other texts")
@pytest.mark.parametrize(
    ("call", "fault", "refused", "text"),
    [
        ("write", "call=pwrite,rank=0,nth=1,error=ENOSPC", {0, 1, 2},
         "move_datasets(): Weir could not write datasets to {}: MPI_ERR_NO_SPACE: no space left on "
         "device"),
        ("chunks", "call=pwrite,rank=0,nth=2,error=ENOSPC", {0, 1, 2},
         "move_datasets(): Weir could not write datasets to {}: MPI_ERR_NO_SPACE: no space left on "
         "device"),
        ("pieces", "call=pwrite,rank=1,nth=1,error=EIO", {1},
         "move_datasets(): Weir could not write datasets to {}: MPI_ERR_IO: input/output error"),
        ("alone", "call=pwrite,rank=1,nth=1,error=EIO", {1},
         "move_datasets(): Weir could not write datasets to {}: MPI_ERR_IO: input/output error"),
        # The first one is that of the MPI library.
        ("H5Fflush", "call=fsync,rank=1,nth=2,error=EIO", {1},
         "make_durable(): Weir could not make datasets of {} durable: MPI_ERR_IO: input/output "
         "error"),
        # An aggregator's, and the one by which each rank has the file open.
        ("H5Fclose", "call=close,rank=0,nth=1,error=EDQUOT", {0, 1, 2},
         "note_closing(): Weir could not write datasets to {}: MPI_ERR_QUOTA: out of quota"),
        ("H5Fclose", "call=close,rank=2,nth=1,error=EIO", {0, 1, 2},
         "note_closing(): Weir could not write datasets to {}: MPI_ERR_IO: input/output error"),
    ],
)  # fmt: skip
def test_what_the_storage_refuses_is_an_error_of_hdf5(
    call: str, fault: str, refused: set[int], text: str, tmp_path: Path
) -> None:
    run = Run(
        tmp_path / "with", 3, "--hdf5", words=(call, fault),
        LD_PRELOAD=preload(FAULTY_IO), WEIR_AGGREGATORS="1",
    )  # fmt: skip
    assert sorted(run.out.splitlines()) == [
        f"rank {rank}: {'refused' if rank in refused else 'done'}, then done" for rank in range(3)
    ], run.err
    lines = [line for line in run.err.splitlines() if "Weir could not" in line]
    told = [line.partition(" in ")[2] for line in lines]
    assert told == [text.format(run.file)] * len(refused)
    assert run.status == 0, run.err  # the program found what it had written
