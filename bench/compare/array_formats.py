"""HDF5 and CDF-5 files by Weir, beside raw arrays, parallel HDF5 and PnetCDF: blocks in 3-D.

usage: array_formats.py [--directory D] [--ranks LIST] [--rows LIST] [--mebibytes N] [--pairs N]
                        [--seconds N] [--weir-bench PROGRAM]

As in array_blocks.py, arrays of float64 are distributed BLOCK,BLOCK,BLOCK, so that each rank's rows
in the file have 64 B to 4 KiB. They are written over an existing file, in the page cache; nothing
is made durable on any side, and every element that is read is verified. Weir's formats are compared
with its raw arrays and with the format's own library, round by round. `restart` is reading by
another grid of ranks than the one that wrote, like that of another number of ranks (the cost of
reading a file does not depend on the ranks that wrote it). It is measured with blocks in 3-D whose
rows have other lengths, and with whole planes, which every rank has in one piece. Whole planes are
read at R even from the raw array, so no library can be faster there.
"""

from __future__ import annotations

from array_blocks import extents
from array_jobs import HEADING, Job, Rates, share, show_job
from programs import arguments
from values import reached

OF_RAW = 0.95
OWN_LIBRARY = {"weir-hdf5": ("hdf5", 3.0), "weir-cdf5": ("pnetcdf", 2.0)}
"""The format's own library, and the goal over it."""
RESTART_GRIDS = {
    "restart": {4: (1, 2, 2), 8: (1, 2, 4), 16: (2, 2, 4)},
    "restart by planes": {4: (4, 1, 1), 8: (8, 1, 1), 16: (16, 1, 1)},
}


def judged(rates: Rates) -> list[str]:
    """Return the comparison of Weir's formats with raw arrays and the formats' libraries."""
    told = []
    for api, (library, goal) in OWN_LIBRARY.items():
        for direction in rates.get(api, {}):
            for other, least in (("weir", OF_RAW), (library, goal)):
                if direction not in rates.get(other, {}):
                    continue
                found = share(rates, api, other, direction)
                told.append(
                    f"  {api} {direction}: {found.text('.3f')} of {other}; the goal of {least} is "
                    f"{reached(found.median >= least)}"
                )
    return told


def main() -> None:
    parser = arguments(__doc__, ranks="8,16")
    parser.add_argument("--rows", default="64,512,4096", help="bytes of a rank's rows")
    parser.add_argument("--mebibytes", type=int, default=256, help="of the array")
    parser.add_argument("--seconds", type=float, default=300, help="for each job")
    parser.add_argument("--no-restart", action="store_true")
    given = parser.parse_args()
    apis = ["weir", *OWN_LIBRARY, *(library for library, _ in OWN_LIBRARY.values())]
    for ranks in map(int, given.ranks.split(",")):
        for row_bytes in map(int, given.rows.split(",")):
            options = extents(ranks, row_bytes, given.mebibytes)
            kinds: dict[str, list[str]] = {"": []}
            for name, grids in () if given.no_restart else RESTART_GRIDS.items():
                kinds[f", {name}"] = ["--read-grid", "x".join(str(n) for n in grids[ranks])]
            for kind, other_grid in kinds.items():
                job = Job(
                    weir_bench=given.weir_bench,
                    directory=given.directory,
                    ranks=ranks,
                    apis=apis,
                    arguments=[*options, *other_grid],
                    repetitions=given.pairs,
                    implementation="ROMIO",
                    seconds=given.seconds,
                )
                print(f"\n{ranks} ranks, {options[1]} float64, rows of {row_bytes} bytes{kind}")
                print(HEADING)
                for line in judged(show_job(job)):
                    print(line, flush=True)


if __name__ == "__main__":
    main()
