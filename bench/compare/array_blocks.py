"""Blocks of a 3-D array into one shared file in the page cache, by every interface.

usage: array_blocks.py [--directory D] [--ranks LIST] [--rows LIST] [--mebibytes N] [--pairs N]
                       [--seconds N] [--all] [--weir-bench PROGRAM]

An array of float64 is distributed BLOCK,BLOCK,BLOCK: each rank's rows in the file have 64 B, 512 B,
2 KiB or 1 MiB. R is the rate of contiguous pieces of the same bytes by the same ranks, measured in
turn with the others. Nothing is made durable, on any side; every element that is read is verified,
outside the times. An interface that does not finish within --seconds is named and skipped. Weir,
ROMIO, HDF5 and PnetCDF take three minutes; --all adds OMPIO and every rank's own rows, which take
many minutes.
"""

from __future__ import annotations

from pathlib import Path

from array_jobs import PEAK, Job, Rates, has_weir, lines, run_job, share
from programs import arguments

GRIDS = {4: (2, 2, 1), 8: (2, 2, 2), 16: (4, 2, 2)}
GOALS = {64: 0.3, 512: 0.5, 2048: 0.5, 1 << 20: 0.95}
"""Goals for R, by bytes of a row."""
LIBRARY_GOALS = {"hdf5": 3.0, "pnetcdf": 2.0}
"""Weir over these at rows of 64 to 512 bytes."""


def shape(ranks: int, row_bytes: int, mebibytes: int) -> tuple[int, int, int]:
    """Return extents with rows of that length and about that size."""
    grid = GRIDS[ranks]
    last = grid[2] * row_bytes // 8
    rest = max(mebibytes * (1 << 20) // 8 // last, grid[0] * grid[1])
    second = 1
    while second * second < rest:
        second *= 2
    second = max(second, grid[1])
    return (max(rest // second, grid[0]), second, last)


def judged(rates: Rates, row_bytes: int) -> list[str]:
    """Return the comparison of Weir with the goals."""
    told = []
    goal = GOALS.get(row_bytes)
    for direction in rates["weir"]:
        if goal is not None:
            reached = share(rates, "weir", PEAK, direction).median
            word = "reached" if reached >= goal else "not reached"
            told.append(f"  {direction}: {reached:.3f} R; the goal of {goal} R is {word}")
        for api, times in LIBRARY_GOALS.items():
            if row_bytes > 512 or api not in rates:
                continue
            reached = share(rates, "weir", api, direction).median
            word = "reached" if reached >= times else "not reached"
            told.append(f"  {direction}: {reached:.2f} times {api}; the goal of {times} is {word}")
    return told


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--directory", type=Path, default=Path.cwd())
    parser.add_argument("--ranks", default="8,16")
    parser.add_argument("--rows", default="64,512,2048,1048576", help="bytes of a rank's rows")
    parser.add_argument("--mebibytes", type=int, default=256, help="of the array")
    parser.add_argument("--seconds", type=float, default=300, help="for each job")
    parser.add_argument("--all", action="store_true", help="OMPIO and plain rows, too")
    given = parser.parse_args()
    ours = ["weir"] if has_weir(given.weir_bench) else []
    if not ours:
        print("this weir-bench has no arrays of Weir's own: the others alone are compared")
    jobs = [("ROMIO", [*ours, "mpiio", "hdf5", "pnetcdf"])]
    if given.all:
        jobs += [("OMPIO", ["mpiio"]), ("ROMIO", ["posix"])]
    for ranks in (int(word) for word in given.ranks.split(",")):
        for row_bytes in (int(word) for word in given.rows.split(",")):
            extents = "x".join(str(n) for n in shape(ranks, row_bytes, given.mebibytes))
            grid = "x".join(str(n) for n in GRIDS[ranks])
            print(f"\n{ranks} ranks, {extents} float64, rows of {row_bytes} bytes")
            print(f"{'':<18} {'':<6} {'median':>9} {'R':>9}        share of R")
            for implementation, apis in jobs:
                job = Job(
                    weir_bench=given.weir_bench,
                    directory=given.directory,
                    ranks=ranks,
                    apis=apis,
                    arguments=["--shape", extents, "--grid", grid],
                    repetitions=given.pairs,
                    implementation=implementation,
                    seconds=given.seconds,
                )
                rates = run_job(job)
                if isinstance(rates, str):
                    print(f"{implementation} {','.join(apis)}: {rates}")
                    continue
                for api in apis:
                    name = implementation if api == "mpiio" else api
                    print("\n".join(lines(rates, name, api)), flush=True)
                if "weir" in rates:
                    print("\n".join(judged(rates, row_bytes)), flush=True)


if __name__ == "__main__":
    main()
