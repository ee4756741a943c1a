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

from array_jobs import HEADING, PEAK, Job, Rates, share, show_job
from programs import MEBIBYTE, arguments
from values import reached

GRIDS = {4: (2, 2, 1), 8: (2, 2, 2), 16: (4, 2, 2)}
GOALS = {64: 0.3, 512: 0.5, 2048: 0.5, 1 << 20: 0.95}
"""Goals for R, by bytes of a row."""
LIBRARY_GOALS = {"hdf5": 3.0, "pnetcdf": 2.0}
"""Weir over these at rows of 64 to 512 bytes."""


def shape(ranks: int, row_bytes: int, mebibytes: int) -> tuple[int, int, int]:
    """Return extents with rows of that length and about that size."""
    grid = GRIDS[ranks]
    last = grid[2] * row_bytes // 8
    rest = max(mebibytes * MEBIBYTE // 8 // last, grid[0] * grid[1])
    second = 1
    while second * second < rest:
        second *= 2
    second = max(second, grid[1])
    return (max(rest // second, grid[0]), second, last)


def extents(ranks: int, row_bytes: int, mebibytes: int) -> list[str]:
    """Return the options of an array in 3-D blocks whose rows have this length in the file."""
    return [
        *("--shape", "x".join(str(n) for n in shape(ranks, row_bytes, mebibytes))),
        *("--grid", "x".join(str(n) for n in GRIDS[ranks])),
    ]


def judged(rates: Rates, row_bytes: int) -> list[str]:
    """Return the comparison of Weir with the goals."""
    told = []
    for direction in rates.get("weir", {}):
        if goal := GOALS.get(row_bytes):
            found = share(rates, "weir", PEAK, direction).median
            word = reached(found >= goal)
            told.append(f"  {direction}: {found:.3f} R; the goal of {goal} R is {word}")
        for api, times in LIBRARY_GOALS.items():
            if row_bytes > 512 or api not in rates:
                continue
            found = share(rates, "weir", api, direction).median
            word = reached(found >= times)
            told.append(f"  {direction}: {found:.2f} times {api}; the goal of {times} is {word}")
    return told


def main() -> None:
    parser = arguments(__doc__, ranks="8,16")
    parser.add_argument("--rows", default="64,512,2048,1048576", help="bytes of a rank's rows")
    parser.add_argument("--mebibytes", type=int, default=256, help="of the array")
    parser.add_argument("--seconds", type=float, default=300, help="for each job")
    parser.add_argument("--all", action="store_true", help="OMPIO and plain rows, too")
    given = parser.parse_args()
    jobs = [("ROMIO", ["weir", "mpiio", "hdf5", "pnetcdf"])]
    if given.all:
        jobs += [("OMPIO", ["mpiio"]), ("ROMIO", ["posix"])]
    for ranks in map(int, given.ranks.split(",")):
        for row_bytes in map(int, given.rows.split(",")):
            options = extents(ranks, row_bytes, given.mebibytes)
            print(f"\n{ranks} ranks, {options[1]} float64, rows of {row_bytes} bytes\n{HEADING}")
            for implementation, apis in jobs:
                job = Job(
                    weir_bench=given.weir_bench,
                    directory=given.directory,
                    ranks=ranks,
                    apis=apis,
                    arguments=options,
                    repetitions=given.pairs,
                    implementation=implementation,
                    seconds=given.seconds,
                )
                for line in judged(show_job(job), row_bytes):
                    print(line, flush=True)


if __name__ == "__main__":
    main()
