"""Independent calls of MPI-IO of a few bytes, carried out by Weir and by the MPI library.

usage: short_calls.py [--directory D] [--bytes LIST] [--calls N] [--pairs N]
                      [--weir-bench PROGRAM]

One rank makes calls one after the other (short_calls.c), with them taken over (weir run --mpi-io
--take-over) and by ROMIO or OMPIO alone in turn, on Open MPI. The figures are the processor's time
of a call, and the ratio is the library's over that with Weir.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

from array_jobs import IMPLEMENTATIONS
from interleaved import Compared, compare
from programs import LAUNCHER, arguments, run
from values import reached

from weir._core.shared_library import find
from weir.advise.observe import MPI_IO_CALLS, take_over_variables
from weir.mpiio.records import sum_up

LEAST = 0.95
"""Goal for every kind of call."""


def nanoseconds(command: list[str], variables: dict[str, str]) -> dict[str, float]:
    """Return the nanoseconds of a call, by kind."""
    told = run(command, variables).splitlines()
    return {name: float(value) for name, value in map(str.split, told)}


def judged(one: Compared) -> str:
    """Return the line of a kind of call."""
    library, weir = statistics.median(one.first), statistics.median(one.second)
    return (
        f"  {one.name:<15} {library:>7.0f} {weir:>7.0f} ns {one.ratios.text('8.2f')}"
        f"  at least {LEAST}: {reached(one.ratios.median >= LEAST)}"
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--bytes", default="64,512", help="bytes of a call")
    parser.add_argument("--calls", type=int, default=4000, help="of each kind in a series")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as name:
        folder = Path(name)
        records = folder / "records"
        records.mkdir()
        taken = {
            "LD_PRELOAD": find(MPI_IO_CALLS.library, MPI_IO_CALLS.path_variable),
            MPI_IO_CALLS.folder_variable: str(records),
            **take_over_variables(),
        }
        for count in (int(word) for word in given.bytes.split(",")):
            for implementation, component in IMPLEMENTATIONS.items():
                command = [
                    *(*LAUNCHER, "--mca", "io", component, "-n", "1"),
                    *(str(given.weir_bench.with_name("short_calls")), str(folder / "file")),
                    *(str(count), str(given.calls)),
                ]
                results = compare(
                    "ns",
                    partial(nanoseconds, command, {}),
                    partial(nanoseconds, command, taken),
                    given.pairs,
                )
                print(f"\n{count} bytes: {implementation}, Weir")
                for one in results:
                    print(judged(one), flush=True)
        sums = sum_up(sorted(records.iterdir()))
        if passed := sum(times for reasons in sums.passed.values() for times in reasons.values()):
            sys.exit(f"{passed} calls were not taken over: {sums.passed}")


if __name__ == "__main__":
    main()
