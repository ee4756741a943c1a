"""A ScaLAPACK matrix in 32 x 32 blocks: Weir against MPI-IO collective with a darray type.

usage: array_block_cyclic.py [--directory D] [--ranks N] [--order N] [--block N] [--pairs N]
                             [--seconds N] [--all] [--weir-bench PROGRAM]

A square matrix of float64, distributed CYCLIC(32),CYCLIC(32) over a square grid, is written to one
shared file in the page cache and read from it, by Weir and by ROMIO's and OMPIO's collective calls;
--all adds HDF5's hyperslabs and every rank's own rows. R is defined as in array_blocks.py. Nothing
is made durable, on any side.
"""

from __future__ import annotations

from array_jobs import HEADING, Job, share, show_job
from programs import arguments
from values import reached

GOAL = 5.0


def main() -> None:
    parser = arguments(__doc__, ranks=4)
    parser.add_argument("--order", type=int, default=4096, help="rows and columns of the matrix")
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=300, help="for each job")
    parser.add_argument("--all", action="store_true", help="HDF5 and plain rows, too")
    given = parser.parse_args()
    print(
        f"{given.ranks} ranks, {given.order} x {given.order} float64, blocks of {given.block} x "
        f"{given.block}\n{HEADING}"
    )
    for implementation, others in (
        ("ROMIO", ["mpiio", *(["hdf5", "posix"] if given.all else [])]),
        ("OMPIO", ["mpiio"]),
    ):
        job = Job(
            weir_bench=given.weir_bench,
            directory=given.directory,
            ranks=given.ranks,
            apis=["weir", *others],
            arguments=[
                *("--shape", f"{given.order}x{given.order}"),
                *("--distribution", f"CYCLIC({given.block})"),
            ],
            repetitions=given.pairs,
            implementation=implementation,
            seconds=given.seconds,
        )
        rates = show_job(job)
        for direction in rates.get("weir", {}):
            over = share(rates, "weir", "mpiio", direction)
            print(
                f"  {direction}: {over.text('.3f')} times {implementation} with a darray type; "
                f"the goal of {GOAL} is {reached(over.median >= GOAL)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
