"""MADbench2 in full computes what its formulas say, wherever and however the matrices are kept."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from bench_runs import BRIEF, WEIR_BENCH, Done
from full_mode import Dense, corrections
from mpi_launcher import environment

Bench = Callable[..., Done]
ONCE = ("--full", *BRIEF, "--sync", "none")
EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 10
"""Both computations round; what they round apart, the condition numbers of D and of the Fisher
matrix enlarge at most. The errors seen are a tenth of epsilon times the conditions."""

expected = cache(corrections)


def has_scalapack() -> bool:
    """Whether this weir-bench has a full mode: without, it says so when asked for a plan."""
    size = ("60", "2", "1", "8", "512", "1", "1")
    asked = subprocess.run(
        [str(WEIR_BENCH), "madbench", *size, "--full", "--plan", "--ranks", "1"],
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return "without ScaLAPACK" not in asked.stderr


pytestmark = pytest.mark.skipif(not has_scalapack(), reason="weir-bench has no ScaLAPACK")


def assert_agrees(done: Done, slug: str, dense: Dense) -> None:
    run = done.run(slug)
    assert run.spectrum is not None
    got = np.array([entry.correction for entry in run.spectrum.bins])
    assert got.shape == dense.correction.shape
    error = np.abs(got - dense.correction).max() / np.abs(dense.correction).max()
    assert error < ROUNDING * EPSILON * dense.condition
    # The bound is of use only where it is far below the digits that are printed.
    assert ROUNDING * EPSILON * dense.condition < 1e-9


@pytest.mark.parametrize(
    ("ranks", "pixels", "bins", "gangs", "block", "options"),
    [
        (1, 60, 2, 1, 8, ()),
        (1, 130, 8, 1, 32, ("--iomode", "ASYNC", "--filetype", "SHARED")),
        (4, 60, 4, 4, 7, ("--remap", "SCALAPACK")),
        (4, 60, 8, 1, 7, ("--iomode", "ASYNC")),
        (4, 100, 2, 1, 32, ("--iomethod", "MPI")),
        (4, 100, 8, 4, 32, ("--iomode", "ASYNC", "--remap", "CUSTOM")),
        (4, 130, 8, 4, 65, ("--direct",)),
        (9, 100, 4, 1, 8, ("--iomethod", "MPI", "--filetype", "SHARED")),
        (9, 130, 9, 9, 8, ("--iomode", "ASYNC")),
        (16, 130, 8, 4, 7, ("--iomode", "ASYNC", "--remap", "SCALAPACK")),
        (16, 100, 4, 4, 8, ("--filetype", "SHARED", "--iomethod", "MPI")),
        (16, 130, 16, 16, 7, ("--remap", "CUSTOM")),
    ],
)
def test_the_corrections_are_those_of_the_dense_computation(
    bench: Bench,
    ranks: int,
    pixels: int,
    bins: int,
    gangs: int,
    block: int,
    options: tuple[str, ...],
) -> None:
    size = [str(value) for value in (pixels, bins, gangs, block, 4096, 1, 1)]
    done = bench(*size, *ONCE, *options, ranks=ranks)
    (slug,) = (path.name for path in done.results.iterdir() if path.is_dir())
    assert_agrees(done, slug, expected(pixels, bins))


def test_every_way_of_moving_the_matrices_in_one_job(bench: Bench) -> None:
    """The results are the same, the printed text is the original's, and all data are verified."""
    every = ("--iomethod", "POSIX,MPI", "--filetype", "UNIQUE,SHARED", "--iomode", "SYNC,ASYNC")
    done = bench("100", "8", "4", "8", "4096", "1", "1", *ONCE, *every)
    dense = expected(100, 8)
    slugs = [path.name for path in done.results.iterdir() if path.is_dir()]
    assert len(slugs) == 8
    for slug in slugs:
        assert_agrees(done, slug, dense)
        run = done.run(slug)
        read = sum(phase.bytes_total for phase in run.plan.phases if phase.direction == "read")
        assert run.verification.bytes_verified == read
        assert "fingerprint" in run.verification.how
    printed = re.findall(r"^dC\[0\] = (.*)$", done.stdout, flags=re.MULTILINE)
    assert printed == [f"{dense.correction[0]:.5e}"] * 8


def test_the_text_is_the_originals(bench: Bench) -> None:
    done = bench("60", "4", "1", "8", "4096", "1", "1", *ONCE)
    lines = done.stdout.splitlines()
    assert lines[0] == "MADbench 2.0"
    assert lines[1].startswith("no_pe = 4  no_pix = 60  no_bin = 4  no_gang = 1  sblocksize = 8")
    names = [line.split()[0] for line in lines[3:] if re.match(r"[SDWC]_", line)]
    totals = [name for name in names if name.endswith("total")]
    assert totals == ["S_total", "D_total", "W_total", "C_total"]
    assert not any(name.endswith("_bw") for name in names)


def test_functions_and_reads_are_in_the_result(bench: Bench) -> None:
    done = bench("60", "4", "1", "8", "4096", "1", "1", *ONCE)
    (repetition,) = done.run("posix-unique-sync").repetitions
    assert [times.function for times in repetition.functions] == ["S", "D", "W", "C"]
    moved = {(phase.function, phase.direction): phase for phase in repetition.phases}
    assert moved["C", "read"].operations == 4 * (4 * 5 // 2)  # ranks times pairs


def test_every_repetition_begins_anew(bench: Bench) -> None:
    several = ("--warmups", "1", "--repetitions", "2", "--max-repetitions", "2", "--sync", "none")
    done = bench("60", "4", "1", "8", "4096", "1", "1", "--full", *several)
    assert_agrees(done, "posix-unique-sync", expected(60, 4))
