"""weir run --mpi-io --take-over: collective calls by Weir return and write what MPI's do."""

from __future__ import annotations

from pathlib import Path

import pytest
from mpi_launcher import BUILD, environment, launcher, there_is_one
from weir_process import WeirProcess

from weir.mpiio.records import Sums, sum_up

PROGRAM = BUILD / "tests" / "mpiio" / "mpiio_random_calls"
# OMPIO's collective writes may put bytes of its buffers into holes of a view, where nobody wrote
# (Open MPI 4.1.4). Where each rank writes by itself, it does not.
PLAIN_WRITES = {"OMPI_MCA_fcoll": "individual"}
COLLECTIVE = ("read_all", "read_at_all", "write_all", "write_at_all")

pytestmark = pytest.mark.skipif(not there_is_one(), reason="no MPI was found on PATH")


def run(folder: Path, ranks: int, seed: int, *options: str) -> tuple[str, str, Sums]:
    """The outputs of the program under `weir run --mpi-io`, and the sums of its records."""
    folder.mkdir()
    program = [*launcher(), "-n", str(ranks), str(PROGRAM), str(seed), "40"]
    words = ["run", "--mpi-io", *options, "--records", "records", "--", *program]
    with WeirProcess(words, cwd=folder, env=environment(PLAIN_WRITES)) as process:
        out, err = process.communicate(timeout=100)
        assert process.wait(0) == 0, err
        return out, err, sum_up(sorted((folder / "records").iterdir()))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_random_calls_return_and_write_the_same(ranks: int, tmp_path: Path) -> None:
    out, err, _ = run(tmp_path / "without", ranks, 7 * ranks)
    assert "all were passed on to the MPI library" in err
    taken_out, taken_err, sums = run(tmp_path / "with", ranks, 7 * ranks, "--take-over")
    assert sorted(taken_out.splitlines()) == sorted(out.splitlines())
    content = (tmp_path / "without" / "random.out").read_bytes()
    assert (tmp_path / "with" / "random.out").read_bytes() == content
    path = f"{tmp_path}/with/random.out"
    file, reasons = sums.files[path], sums.passed[path]
    calls = {one: (file[one].calls, file[one].taken) for one in COLLECTIVE}
    assert all(0 < taken < made for made, taken in calls.values()), (calls, reasons)
    # Each call that could have been taken over was, or has a reason.
    assert sum(made - taken for made, taken in calls.values()) == sum(reasons.values())
    assert "a rank's arguments do not fit its view or the mode of the file" in reasons
    assert "Weir failed to move the bytes" not in reasons
    assert " were taken over, the others were passed on" in taken_err


def test_taking_over_needs_the_counts(tmp_path: Path) -> None:
    with WeirProcess(["run", "--take-over", "--advise", "--", "true"], cwd=tmp_path) as process:
        _, err = process.communicate(timeout=60)
        assert process.wait(0) == 2
    assert err == "weir: --take-over is about calls of MPI-IO: give --mpi-io, too\n"
