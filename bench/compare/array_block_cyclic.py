"""A ScaLAPACK matrix in 32 x 32 blocks: Weir against MPI-IO collective with a darray type.

usage: array_block_cyclic.py [--directory D] [--ranks N] [--order N] [--block N] [--pairs N]
                             [--seconds N] [--all] [--weir-bench PROGRAM]

A square matrix of float64, distributed CYCLIC(32),CYCLIC(32) over a square grid, is written to one
shared file in the page cache and read from it, by Weir and by ROMIO's and OMPIO's collective calls;
--all adds HDF5's hyperslabs and every rank's own rows. R is defined as in array_blocks.py. Nothing
is made durable, on any side.
"""

from __future__ import annotations

from pathlib import Path

from array_jobs import Job, has_weir, lines, run_job, share
from programs import arguments

GOAL = 5.0


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--directory", type=Path, default=Path.cwd())
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--order", type=int, default=4096, help="rows and columns of the matrix")
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=300, help="for each job")
    parser.add_argument("--all", action="store_true", help="HDF5 and plain rows, too")
    given = parser.parse_args()
    ours = ["weir"] if has_weir(given.weir_bench) else []
    if not ours:
        print("this weir-bench has no arrays of Weir's own: the others alone are compared")
    print(
        f"{given.ranks} ranks, {given.order} x {given.order} float64, blocks of {given.block} x "
        f"{given.block}"
    )
    print(f"{'':<18} {'':<6} {'median':>9} {'R':>9}        share of R")
    for implementation, apis in (
        ("ROMIO", [*ours, "mpiio", *(["hdf5", "posix"] if given.all else [])]),
        ("OMPIO", [*ours, "mpiio"]),
    ):
        job = Job(
            weir_bench=given.weir_bench,
            directory=given.directory,
            ranks=given.ranks,
            apis=apis,
            arguments=[
                *("--shape", f"{given.order}x{given.order}"),
                *("--distribution", f"CYCLIC({given.block})"),
            ],
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
        for direction in rates.get("weir", {}):
            over = share(rates, "weir", "mpiio", direction)
            word = "reached" if over.median >= GOAL else "not reached"
            print(
                f"  {direction}: {over.text()} times {implementation} with a darray type; the goal "
                f"of {GOAL} is {word}",
                flush=True,
            )


if __name__ == "__main__":
    main()
