"""Times of MPI-IO calls without Weir, as `weir run --mpi-io --take-over` estimates and as measured.

usage: estimated.py [--directory D] [--ranks LIST] [--rows LIST] [--times N] [--pairs N]

A program writes and reads rows of a shared file, and pieces of the same bytes, each by a function
of its own (rows_of_ranks.c). It runs with its calls taken over, which gives the estimates, and
without, in turn. Each line has the mean time of a rank in a call of one function in both: the
medians over the pairs, and the ratio of the estimate to what was measured. --rows has the bytes of
a row and the number of rows of each rank, as in 64x1024.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from functools import partial
from pathlib import Path

from array_jobs import IMPLEMENTATIONS
from interleaved import compare
from programs import LAUNCHER, arguments, run

from weir._core.shared_library import find
from weir.advise.observe import MPI_IO_CALLS, take_over_variables
from weir.mpiio.records import CallSums, sum_up

MEASURED = (
    *("write_at_all", "read_at_all", "write_at", "read_at"),
    *("write_all", "read_all", "write", "read"),
)
UNKNOWN = 1e-12
"""Stands for an estimate that is not known, as times are above 0."""


def sums_of(command: list[str], variables: dict[str, str], records: Path) -> dict[str, CallSums]:
    """Return the sums of one run by function."""
    records.mkdir()
    observed = {
        "LD_PRELOAD": find(MPI_IO_CALLS.library, MPI_IO_CALLS.path_variable),
        MPI_IO_CALLS.folder_variable: str(records),
    }
    run(command, observed | variables)
    (by_function,) = sum_up(sorted(records.iterdir())).files.values()
    shutil.rmtree(records)
    return by_function


def estimates(command: list[str], records: Path) -> dict[str, float]:
    calls = sums_of(command, take_over_variables(), records)
    return {name: (calls[name].without or UNKNOWN) / calls[name].calls for name in MEASURED}


def measured(command: list[str], records: Path) -> dict[str, float]:
    calls = sums_of(command, {}, records)
    return {name: calls[name].seconds / calls[name].calls for name in MEASURED}


def main() -> None:
    parser = arguments(__doc__, ranks="8")
    parser.add_argument("--rows", default="64x1024,1024x256,65536x16", help="BYTESxROWS of a rank")
    parser.add_argument("--times", type=int, default=21, help="of each call in a run")
    given = parser.parse_args()
    program = str(given.weir_bench.with_name("rows_of_ranks"))
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as name:
        folder = Path(name)
        for ranks in given.ranks.split(","):
            for shape in given.rows.split(","):
                for implementation, component in IMPLEMENTATIONS.items():
                    # An option of the launcher becomes a variable of the ranks' environment.
                    command = [*LAUNCHER, "--mca", "io", component, "-n", ranks, program]
                    command += [str(folder / "file"), *shape.split("x"), str(given.times)]
                    results = compare(
                        "s",
                        partial(estimates, command, folder / "records"),
                        partial(measured, command, folder / "records"),
                        given.pairs,
                    )
                    print(f"\n{implementation}, {ranks} ranks, {shape}: estimated, measured in us")
                    for one in results:
                        first, second = (statistics.median(x) for x in (one.first, one.second))
                        if first <= UNKNOWN:
                            print(f"  {one.name:<14} {'unknown':>9} {second * 1e6:>9.1f}")
                            continue
                        print(
                            f"  {one.name:<14} {first * 1e6:>9.1f} {second * 1e6:>9.1f}"
                            f" {one.ratios.text('8.2f')}",
                            flush=True,
                        )


if __name__ == "__main__":
    main()
