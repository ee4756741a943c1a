"""Calls of MPI-IO of an unchanged program, carried out by Weir and by the MPI library.

usage: taken_over.py [--directory D] [--ranks N] [--rows LIST] [--steps LIST] [--mebibytes N]
                     [--times N] [--pairs N] [--weir-bench PROGRAM]

A program writes and reads a 3-D array of float64 in blocks, with rows of 64 B, 512 B and 2 KiB, and
in contiguous pieces, by collective, independent and nonblocking calls (mpi_patterns.c). With
--steps another one writes and reads so many variables by PnetCDF's nonblocking and buffered calls
(pnetcdf_step.c); --rows "" leaves out the former. Both run with their calls taken over (weir run
--mpi-io --take-over) and with OMPIO or ROMIO alone in turn, on Open MPI. ROMIO gets one aggregator
per core. Nothing is made durable; what is read is verified.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass
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
STEPS_ROW, STEPS_GOAL = 512, 3.0
"""Bytes of a rank's rows in PnetCDF's variables, and the goal for them."""


def rates(command: list[str], variables: dict[str, str]) -> dict[str, float]:
    """Return MiB/s by pattern of one run."""
    told = run(command, variables).splitlines()
    return {name: float(value) for name, value in map(str.split, told)}


@dataclass(frozen=True)
class Pattern:
    """A program with its arguments after the file, and the goals of its rates."""

    title: str
    program: str
    words: tuple[str, ...]
    goals: dict[str, dict[str, float]]
    """By implementation and name of a rate."""

    def judged(self, one: Compared, implementation: str) -> str:
        """Return the line of a rate with its goal."""
        goal = self.goals[implementation].get(one.name, LEAST)
        weir, library = statistics.median(one.first), statistics.median(one.second)
        return (
            f"  {one.name:<19} {weir:>9.1f} {library:>9.1f} MiB/s"
            f" {one.ratios.text('8.2f')}  at least {goal}: {reached(one.ratios.median >= goal)}"
        )


def blocks(row_bytes: int, given: argparse.Namespace) -> Pattern:
    goals = {name: {"blocks_write": of.get(row_bytes, LEAST)} for name, of in GOALS.items()}
    words = (str(row_bytes), str(given.mebibytes), str(given.times))
    return Pattern(f"rows of {row_bytes} bytes", "mpi_patterns", words, goals)


def steps(variables: int, given: argparse.Namespace) -> Pattern:
    reach = dict.fromkeys(("iput_write", "bput_write", "iget_read"), STEPS_GOAL)
    kibibytes = given.mebibytes * 1024 // (variables * given.ranks)
    words = (str(variables), str(STEPS_ROW), str(kibibytes), str(given.times))
    title = f"{variables} variables of {kibibytes} KiB, rows of {STEPS_ROW} bytes, PnetCDF"
    return Pattern(title, "pnetcdf_step", words, dict.fromkeys(IMPLEMENTATIONS, reach))


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]


def main() -> None:
    parser = arguments(__doc__, ranks=8)
    parser.add_argument("--rows", default="64,512,2048", help="bytes of a rank's rows")
    parser.add_argument("--steps", default="", help="variables of a step of PnetCDF")
    parser.add_argument("--mebibytes", type=int, default=64, help="of the array, or of a step")
    parser.add_argument("--times", type=int, default=3, help="of each pattern in a run")
    given = parser.parse_args()
    patterns = [blocks(row_bytes, given) for row_bytes in numbers(given.rows)]
    patterns += [steps(variables, given) for variables in numbers(given.steps)]
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
        for pattern in patterns:
            for implementation, component in IMPLEMENTATIONS.items():
                command = [
                    *LAUNCHER,
                    *("--mca", "io", component, "-n", str(given.ranks)),
                    str(given.weir_bench.with_name(pattern.program)),
                    *(str(folder / "file"), *pattern.words),
                ]
                plain = {"ROMIO_HINTS": str(hints)}
                results = compare(
                    "MiB/s",
                    partial(rates, command, {**plain, **taken}),
                    partial(rates, command, plain),
                    given.pairs,
                )
                print(f"\n{pattern.title}, {given.ranks} ranks: Weir, {implementation}")
                for one in results:
                    print(pattern.judged(one, implementation), flush=True)
        sums = sum_up(sorted(records.iterdir()))
        if passed := sum(times for reasons in sums.passed.values() for times in reasons.values()):
            sys.exit(f"{passed} calls were not taken over: {sums.passed}")


if __name__ == "__main__":
    main()
