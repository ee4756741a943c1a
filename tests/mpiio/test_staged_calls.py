"""weir run --mpi-io --take-over with a stager: bytes are in the file when they have to be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mpi_launcher import BUILD, environment, is_open_mpi, launcher, preload, there_is_one
from own_stager import Stager, start, start_service
from weir_process import WeirProcess

from weir.mpiio.records import Sums, sum_up

PROGRAMS = BUILD / "tests" / "mpiio"
FAULTY_IO = BUILD / "tests" / "failure" / "faulty_io.so"
# OMPIO's collective writes put bytes of its buffers into holes of a view (docs/mpi-io.md).
INDEPENDENT = {"OMPI_MCA_fcoll": "individual", "HDF5_USE_FILE_LOCKING": "FALSE"}
RANKS = 3
IO = 35
"""Error class of Open MPI."""
WHOLE = RANKS * (300000 + 50000 * 4)
"""Bytes of the file of staged_calls.c."""

pytestmark = pytest.mark.skipif(not there_is_one(), reason="no MPI was found on PATH")


@pytest.fixture
def stager() -> Iterator[Stager]:
    one = start("--stager-memory", "64m")
    yield one
    one.kill()


def slow_stager(folder: Path, fault: str, file: str = "") -> Stager:
    """A stager whose writes into this folder, or into files with this name, have a fault."""
    return start("--stager-memory", "64m", variables={
        "LD_PRELOAD": str(preload(FAULTY_IO)), "OMPI_COMM_WORLD_RANK": "0",
        "WEIR_FAULT": f"call=pwrite,{fault},ring=none,tree={file or folder.name}",
    })  # fmt: skip


class Run:
    """A program under `weir run --mpi-io --take-over`, with this stager."""

    def __init__(
        self, folder: Path, stager: Stager, words: tuple[str, ...], ranks: int = RANKS,
        **variables: str,
    ) -> None:  # fmt: skip
        program, *arguments = words
        command = [*launcher(), "-n", str(ranks), str(PROGRAMS / program), *arguments]
        run = ["run", "--mpi-io", "--take-over", "--records", "records", "--", *command]
        chosen = INDEPENDENT | {"WEIR_STAGING": "node"} | stager.variables() | variables
        with WeirProcess(run, cwd=folder, env=environment(chosen)) as process:
            self.out, self.err = process.communicate(timeout=240)
            self.status = process.wait(0)
        self.sums: Sums = sum_up(sorted((folder / "records").iterdir()))

    def staged(self, function: str) -> int:
        return sum(
            by_function[function].staged
            for by_function in self.sums.files.values()
            if function in by_function
        )

    def of_each_rank(self, *lines: str) -> bool:
        """Whether every rank has told these lines, and nothing else."""
        told = sorted(f"{rank}: {line}" for rank in range(RANKS) for line in lines)
        return sorted(self.out.splitlines()) == told


@pytest.mark.skipif(not is_open_mpi(), reason="MPICH 4.0 writes into holes of views, too")
@pytest.mark.parametrize(("ranks", "seed"), [(1, 7), (2, 14), (3, 21), (4, 29), (4, 33)])
def test_random_calls_beside_staged_ones_do_what_the_standard_says(
    ranks: int, seed: int, tmp_path: Path, stager: Stager
) -> None:
    run = Run(tmp_path, stager, ("mpiio_modelled_calls", str(seed), "60", "staged"), ranks)
    assert re.fullmatch(r"\d+ calls, 0 differences\n", run.out), (run.out, run.err)
    assert run.staged("write_at_all") > 0, run.err
    assert run.staged("write_all") > 0, run.err


@pytest.mark.parametrize("late", [1, 2, 4, 0])
def test_calls_that_meet_staged_bytes_wait_for_them(late: int, tmp_path: Path) -> None:
    """One of the stager's first writes is two seconds late; 0: the stager is a service."""
    one = slow_stager(tmp_path, f"nth={late},effect=late") if late else start_service(1)
    try:
        staging = f"service:{one.rendezvous}" if one.rendezvous else "node"
        words = ("mpiio_staged_calls", "calls", str(tmp_path / "file"))
        run = Run(tmp_path, one, words, WEIR_STAGING=staging)
    finally:
        one.kill()
    assert (run.status, run.out) == (0, ""), run.out + run.err
    assert run.staged("write_at_all") == RANKS * 9
    assert re.search(r"were taken over \(27 of them staged\), the others", run.err), run.err


def test_calls_beside_staged_bytes_do_not_wait(tmp_path: Path, stager: Stager) -> None:
    """The stager is stopped meanwhile. A call that waited for it would fail at the deadline."""
    words = ("mpiio_staged_calls", "beside", str(tmp_path / "file"), str(stager.pid))
    run = Run(tmp_path, stager, words, WEIR_DEADLINE="20")
    assert run.of_each_rank("rows: 0", "write_at: 0", "write_at: 0", "close: 0"), run.out + run.err
    assert run.staged("write_at_all") == RANKS


def test_bytes_that_are_written_again_come_in_the_order_of_the_calls(
    tmp_path: Path, stager: Stager
) -> None:
    words = ("mpiio_staged_calls", "again", str(tmp_path / "file"), str(stager.pid))
    run = Run(tmp_path, stager, words, WEIR_DEADLINE="20")
    told = ("first", "row", "row again", "and again", "and once more", "close")
    assert run.of_each_rank(*(f"{call}: 0" for call in told)), run.out + run.err
    assert run.staged("write_at_all") == RANKS * 5


@pytest.mark.skipif(not is_open_mpi(), reason="error classes have other numbers")
@pytest.mark.parametrize("how", ["lost", "synced", "blocks"])
@pytest.mark.parametrize("setting", ["fail", "direct"])
def test_what_a_killed_stager_had_is_an_error_of_all_ranks(
    how: str, setting: str, tmp_path: Path, stager: Stager
) -> None:
    words = ("mpiio_staged_calls", how, str(tmp_path / "file"), str(stager.pid))
    run = Run(tmp_path, stager, words, WEIR_STAGING_LOST=setting)
    goes_on = setting == "direct"
    is_lost = not goes_on or how != "synced"
    assert run.of_each_rank(
        "first: 0",
        *(["sync: 0"] if how != "lost" else []),
        *([f"block: {IO}"] if how == "blocks" else []),
        f"second: {0 if goes_on else IO}",
        f"sync after it: {IO if is_lost else 0}",
        f"close: {IO if is_lost else 0}",
    ), run.out + run.err
    told = f"weir: {tmp_path}/file: writes that a stager had accepted are lost, or may be: "
    assert run.err.count(told) == int(is_lost), run.err


@pytest.mark.skipif(not is_open_mpi(), reason="error classes have other numbers")
@pytest.mark.parametrize(("error", "result"), [("EIO", IO), ("ENOSPC", 0)])
def test_what_the_storage_refuses_the_stager_is_an_error_of_all_ranks(
    error: str, result: int, tmp_path: Path
) -> None:
    """Without space, the stager tries again. A write may find that it has failed before."""
    one = slow_stager(tmp_path, f"nth=1,error={error}")
    try:
        run = Run(tmp_path, one, ("mpiio_staged_calls", "refused", str(tmp_path / "file")))
    finally:
        one.kill()
    run.out = run.out.replace(f"write: {result}", "write: 0")
    assert run.of_each_rank("write: 0", f"sync: {result}", f"close: {result}"), run.out + run.err


@pytest.fixture
def late_stager(tmp_path: Path) -> Iterator[Stager]:
    one = slow_stager(tmp_path, "nth=0,effect=late")
    yield one
    one.kill()


def test_what_waits_at_the_stager_comes_behind_what_all_ranks_have_sent(
    tmp_path: Path, late_stager: Stager
) -> None:
    """Writes do not wait for a stager that has memory for them and is stopped. When it goes on, it
    reads the question of a rank before what another rank sent earlier, and stores that late."""
    words = ("mpiio_staged_calls", "behind", str(tmp_path / "file"), str(late_stager.pid))
    run = Run(tmp_path, late_stager, words, WEIR_DEADLINE="20")
    assert run.of_each_rank("first: 0", "row of rank 0: 0", "row of rank 1: 0", "close: 0"), (
        run.out + run.err
    )
    assert run.staged("write_at_all") == RANKS * 3


def left(folder: Path, stager: Stager, *how: str) -> Run:
    """A program that closes its file before the stager has stored all of it."""
    words = ("mpiio_staged_calls", "left", str(folder / "file"), *how)
    return Run(folder, stager, words, WEIR_STAGING_CLOSE="handed-over")


def test_a_file_that_is_handed_over_is_whole_when_it_is_opened_again(
    tmp_path: Path, late_stager: Stager
) -> None:
    run = left(tmp_path, late_stager)
    assert run.of_each_rank("not whole when it is closed"), run.out + run.err
    assert (run.status, (tmp_path / "file").stat().st_size) == (0, WHOLE)
    assert late_stager.report()["sessions"] == []  # MPI_Finalize has waited


def test_a_closed_file_is_stored_without_its_program(tmp_path: Path, late_stager: Stager) -> None:
    run = left(tmp_path, late_stager, "dies")
    assert run.status != 0
    late_stager.wait_until_stored()
    assert (tmp_path / "file").stat().st_size == WHOLE


def test_a_closed_file_is_whole_when_it_gets_another_name(
    tmp_path: Path, late_stager: Stager
) -> None:
    run = left(tmp_path, late_stager, "renamed")
    told = [f"{rank}: not whole when it is closed" for rank in range(RANKS)]
    assert sorted(run.out.splitlines()) == sorted([*told, "0: whole when it is renamed"]), run.err
    assert (run.status, "not stored" in run.err) == (0, False), run.err
    assert (tmp_path / "file.new").stat().st_size == WHOLE
    assert not (tmp_path / "file").exists()


def test_a_closed_file_that_is_cut_gets_nothing_after_it(
    tmp_path: Path, late_stager: Stager
) -> None:
    run = left(tmp_path, late_stager, "cut")
    assert run.of_each_rank("not whole when it is closed"), run.out + run.err
    assert (run.status, (tmp_path / "file").stat().st_size) == (0, 0), run.err


def test_files_that_are_closed_are_waited_for_when_they_are_many(tmp_path: Path) -> None:
    """The stager is late with the last file before the limit."""
    one = slow_stager(tmp_path, "nth=1,effect=late", "file.63")
    try:
        words = ("mpiio_staged_calls", "many", str(tmp_path / "file"))
        run = Run(tmp_path, one, words, WEIR_STAGING_CLOSE="handed-over")
    finally:
        one.kill()
    assert run.of_each_rank("64 are whole"), run.out + run.err
    assert run.status == 0


def test_a_closed_file_that_is_not_stored_is_told_at_the_end(tmp_path: Path) -> None:
    one = slow_stager(tmp_path, "nth=1,error=EIO")
    try:
        words = ("mpiio_staged_calls", "refused", str(tmp_path / "file"))
        run = Run(tmp_path, one, words, WEIR_STAGING_CLOSE="handed-over")
    finally:
        one.kill()
    assert run.status == 0
    assert "writes that a stager had accepted are lost, or may be: " in run.err


def test_a_program_without_a_stager_is_told_why(tmp_path: Path, stager: Stager) -> None:
    words = ("mpiio_staged_calls", "calls", str(tmp_path / "file"))
    run = Run(tmp_path, stager, words, WEIR_STAGING="ranks")
    assert (run.status, run.out) == (0, ""), run.out + run.err
    assert run.err.count("weir: no collective calls of MPI-IO are carried out by Weir: ") == 1
    assert "call weir_init_staging first" in run.err
    assert run.staged("write_at_all") == 0


@pytest.mark.parametrize("name", ["hdf5", "pnetcdf"])
def test_libraries_write_the_same_file(name: str, tmp_path: Path, stager: Stager) -> None:
    program = f"mpiio_{name}_slabs"
    if not (PROGRAMS / program).exists():
        pytest.skip("Weir's tests were built without this library")
    contents = []
    for staging in ("none", "node"):
        folder = tmp_path / staging
        folder.mkdir()
        run = Run(
            folder, stager, (program, "slabs"), WEIR_STAGING=staging,
            WEIR_STAGING_CLOSE="handed-over",
        )  # fmt: skip
        assert run.status == 0, run.out + run.err
        assert (run.staged("write_at_all") > 0) == (staging == "node"), run.err
        contents.append((folder / "slabs").read_bytes())
    # The program compares what it reads.
    assert contents[0] == contents[1]
