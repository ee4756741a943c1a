"""The share of the I/O time of SYNC that ASYNC hides behind work of exponent 1.5.

usage: hidden_io.py [--directory D] [--pixels N] [--bins N] [--ranks N] [--exponent A]
                    [--method M] [--pairs N] [--weir-bench PROGRAM]

Both modes run in one job of weir-bench madbench, with interleaved repetitions; the first of each is
a warm-up. A repetition's figure is its foreground time in I/O: the time for which the slowest rank
was blocked, in reading and writing together. The hidden share is 1 minus ASYNC over SYNC. The first
read and the last write of a function cannot be hidden, so NBIN bounds the share; the bound is also
printed.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from programs import LAUNCHER, arguments, records_of, run
from values import Values, reached

GOAL = 0.80


def foreground_seconds(run: dict[str, Any]) -> list[float]:
    """Return each counted repetition's foreground time in I/O, of each phase's slowest rank."""
    return [
        sum(phase["foreground_seconds"]["max"] for phase in repetition["phases"])
        for repetition in run["repetitions"]
        if not repetition["warmup"]
    ]


def most_hidden(run: dict[str, Any]) -> float:
    """Return the share of the transfers that can be hidden at all."""
    phases = run["plan"]["phases"]
    exposed = sum(phase["exposed_operations_per_rank"] for phase in phases)
    operations = sum(phase["operations_per_rank"] for phase in phases)
    return float(1 - exposed / operations)


def main() -> None:
    parser = arguments(__doc__, ranks=1)
    parser.add_argument("--pixels", type=int, default=640)
    parser.add_argument("--bins", type=int, default=16)
    parser.add_argument("--exponent", type=float, default=1.5)
    parser.add_argument("--method", default="POSIX", choices=["POSIX", "MPI"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as name:
        output = Path(name) / "run"
        command = [*LAUNCHER, "-n", str(given.ranks), str(given.weir_bench), "madbench"]
        command += [str(given.pixels), str(given.bins), "1", "32", "4096", "1", "1"]
        command += ["--iomode", "SYNC,ASYNC", "--iomethod", given.method, "--filetype", "UNIQUE"]
        command += ["--busy-work-exponent", str(given.exponent), "--drop-cache"]
        command += ["--repetitions", str(given.pairs), "--max-repetitions", str(given.pairs)]
        command += ["--directory", name, "--output", str(output)]
        run(command)
        runs = {one["parameters"]["iomode"]["value"]: one for one in records_of(output)}
    sync, hidden = foreground_seconds(runs["SYNC"]), foreground_seconds(runs["ASYNC"])
    shares = Values([1 - b / a for a, b in zip(sync, hidden, strict=True)])
    print(
        f"{given.pixels} pixels, {given.bins} bins, {given.ranks} ranks, {given.method}, work of "
        f"exponent {given.exponent}: SYNC shows {statistics.median(sync):.3f} s of I/O, ASYNC "
        f"{statistics.median(hidden):.3f} s"
    )
    print(
        f"hidden: {shares.text('.1f', 100)} % of {given.pairs} pairs; at most "
        f"{100 * most_hidden(runs['ASYNC']):.1f} % can be; the goal of {100 * GOAL:.0f} % is "
        f"{reached(shares.median >= GOAL)}"
    )


if __name__ == "__main__":
    main()
