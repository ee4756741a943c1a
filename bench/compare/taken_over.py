"""Calls of MPI-IO of an unchanged program, carried out by Weir and by the MPI library.

usage: taken_over.py [--directory D] [--ranks N] [--rows LIST] [--mebibytes N] [--times N]
                     [--pairs N] [--weir-bench PROGRAM]

A program writes and reads a 3-D array of float64 in blocks, with rows of 64 B, 512 B and 2 KiB, and
in contiguous pieces, by collective, independent and nonblocking calls (mpi_patterns.c). It runs
with its calls taken over (weir run --mpi-io --take-over) and with OMPIO or ROMIO alone in turn, on
Open MPI. ROMIO gets one aggregator per core. Nothing is made durable; what is read is verified.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

from array_jobs import IMPLEMENTATIONS, write_hints
from interleaved import Compared, compare
from programs import LAUNCHER, arguments, run
from values import reached

from weir._core.shared_library import find
from weir.advise.observe import MPI_IO_CALLS, take_over_variables
from weir.mpiio.records import sum_up

GOALS = {"OMPIO": {64: 4.0, 512: 2.0, 2048: 1.2}, "ROMIO": {64: 8.0, 512: 2.0, 2048: 1.2}}
"""Goals for blocks that are written by collective calls, by the bytes of a row."""
LEAST = 0.95
"""Goal for every other pattern."""


def rates(command: list[str], variables: dict[str, str]) -> dict[str, float]:
    """Return MiB/s by pattern of one run."""
    told = run(command, variables).splitlines()
    return {name: float(value) for name, value in map(str.split, told)}


def judged(one: Compared, implementation: str, row_bytes: int) -> str:
    """Return the line of a pattern with its goal."""
    is_block = one.name == "blocks_write"
    goal = GOALS[implementation].get(row_bytes, LEAST) if is_block else LEAST
    weir, library = statistics.median(one.first), statistics.median(one.second)
    return (
        f"  {one.name:<19} {weir:>9.1f} {library:>9.1f} MiB/s"
        f" {one.ratios.text('8.2f')}  at least {goal}: {reached(one.ratios.median >= goal)}"
    )


def main() -> None:
    parser = arguments(__doc__, ranks=8)
    parser.add_argument("--rows", default="64,512,2048", help="bytes of a rank's rows")
    parser.add_argument("--mebibytes", type=int, default=64, help="of the array")
    parser.add_argument("--times", type=int, default=3, help="of each pattern in a run")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as name:
        folder = Path(name)
        records = folder / "records"
        records.mkdir()
        hints = write_hints(folder)
        taken = {
            "LD_PRELOAD": find(MPI_IO_CALLS.library, MPI_IO_CALLS.path_variable),
            MPI_IO_CALLS.folder_variable: str(records),
            **take_over_variables(),
        }
        for row_bytes in (int(word) for word in given.rows.split(",")):
            for implementation, component in IMPLEMENTATIONS.items():
                command = [
                    *LAUNCHER,
                    *("--mca", "io", component, "-n", str(given.ranks)),
                    str(given.weir_bench.with_name("mpi_patterns")),
                    *(str(folder / "file"), str(row_bytes), str(given.mebibytes)),
                    str(given.times),
                ]
                plain = {"ROMIO_HINTS": str(hints)}
                results = compare(
                    "MiB/s",
                    partial(rates, command, {**plain, **taken}),
                    partial(rates, command, plain),
                    given.pairs,
                )
                print(f"\nrows of {row_bytes} bytes, {given.ranks} ranks: Weir, {implementation}")
                for one in results:
                    print(judged(one, implementation, row_bytes), flush=True)
        sums = sum_up(sorted(records.iterdir()))
        if passed := sum(times for reasons in sums.passed.values() for times in reasons.values()):
            sys.exit(f"{passed} calls were not taken over: {sums.passed}")


if __name__ == "__main__":
    main()
