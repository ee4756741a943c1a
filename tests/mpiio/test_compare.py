"""weir run --mpi-io --compare N: runs with take-over and without, in turn, and their ratio."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mpi_launcher import BUILD, environment, launcher, there_is_one
from weir_process import WeirProcess

from weir.mpiio.comparison import Comparison, Side
from weir.mpiio.records import Sums

PROGRAM = BUILD / "tests" / "mpiio" / "mpiio_failing_calls"
SIDES = ("with take-over", "without take-over")


def compared(folder: Path, *words: str) -> tuple[int, str, str]:
    """The exit status and outputs of weir run --mpi-io with these words."""
    with WeirProcess(["run", "--mpi-io", *words], cwd=folder, env=environment({})) as process:
        out, err = process.communicate(timeout=240)
        return process.wait(0), out, err


@pytest.mark.skipif(not there_is_one(), reason="no MPI was found on PATH")
def test_both_kinds_of_runs_take_turns_and_are_compared(tmp_path: Path) -> None:
    program = [*launcher(), "-n", "2", str(PROGRAM), "write", "collective", "file"]
    status, out, err = compared(tmp_path, "--compare", "2", "--records", "records", "--", *program)
    assert status == 0, err
    assert out.count("0 are wrong") == 4 * 2 * 2  # what the program prints, of each run
    lines = err.splitlines()
    order = [SIDES[which] for which in (0, 1, 1, 0)]
    assert [line for line in lines if line.startswith("weir: run ")] == [
        f"weir: run {number} of 4, {side}" for number, side in enumerate(order, 1)
    ]
    for name in ("whole run", "time in calls of MPI-IO"):
        (row,) = [line for line in lines if line.startswith(f"weir:   {name} ")]
        assert re.search(r" \S+ \S+ +\S+ \S+ +\d+\.\d{3}  \[\d+\.\d+, \d+\.\d+\] of 50 %$", row), (
            row
        )
    assert "the last run, which was with take-over" in err
    assert "calls of MPI-IO on 1 file" in err
    assert (tmp_path / "file").exists()
    # Only runs with take-over took calls over.
    taken = [
        sum(int(line.split("\t")[6]) for record in folder.iterdir()
            for line in record.read_text().splitlines() if line.startswith("call\t"))
        for folder in sorted((tmp_path / "records").iterdir())
    ]  # fmt: skip
    assert [number > 0 for number in taken] == [True, False, False, True]


def test_a_run_that_fails_is_the_last_one_and_gives_the_status(tmp_path: Path) -> None:
    script = 'echo run; test "$(ls | wc -l)" -gt 2 && exit 5; mktemp -p . >/dev/null'
    status, out, err = compared(tmp_path, "--compare", "4", "--", "sh", "-c", script)
    assert (status, out) == (5, "run\n" * 4)
    ended = "weir: the run with take-over after 1 whole pair ended with status 5: "
    assert f"{ended}no further run was made\n" in err


def test_the_ratio_is_the_median_of_the_ratios_of_pairs() -> None:
    with_it = Side(SIDES[0], {}, seconds=[1.0, 2.0, 4.0, 8.0], blocked=[0.5, 0.5, 0.5, 0.5])
    without = Side(SIDES[1], {}, seconds=[2.0, 8.0, 4.0], blocked=[1.0, 0.5, 2.0])
    lines = list(Comparison(with_it, without, 3, without, Sums()).lines())
    assert lines[0].startswith("the run without take-over after 3 whole pairs ended with status 3")
    assert [" ".join(line.split()) for line in lines[3:5]] == [
        "whole run 2.00 s 4.00 s 2.000 [1.000, 4.000] of 75 %",
        "time in calls of MPI-IO 500 ms 1.00 s 2.000 [1.000, 4.000] of 75 %",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--hdf5", "--compare", "2", "--", "true"],
         "--compare is about calls of MPI-IO, of which --hdf5 takes some: give one of them"),
        (["run", "--advise", "--mpi-io", "--compare", "2", "--", "true"],
         "--compare times calls of MPI-IO, which --advise would delay: give one of them"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(
    words: list[str], message: str, tmp_path: Path
) -> None:
    with WeirProcess(words, cwd=tmp_path, env=environment({})) as process:
        _, err = process.communicate(timeout=60)
        assert process.wait(0) == 2
    assert err == f"weir: {message}\n"
