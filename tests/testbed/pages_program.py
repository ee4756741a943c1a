"""Writes and reads arrays whose parts share pages: pages_program.py FOLDER STRATEGY.

First a raw array, each rank's part of which ends within a page, written three times in place and
read back by other parts. Then a file of each format with two steps, with regions that ranks name;
it is read back by a session in which the ranks, and so the hosts, come in the opposite order.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

import weir

SHAPE = (61, 333)
FORMATS = {"hdf5": "a.h5", "cdf5": "a.nc", "zarr": "a.zarr", "raw": "a.raw"}


def values(step: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """What the whole array holds in a step."""
    return np.arange(SHAPE[0] * SHAPE[1], dtype="float64").reshape(SHAPE) + 0.5 * step


def of_rank(
    held: weir.Distribution, step: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The part of this rank, whose elements a distribution numbers."""
    first = held.global_index((0, 0))
    rows, columns = held.shape
    return values(step)[first[0] : first[0] + rows, first[1] : first[1] + columns].copy()


def write_in_place(session: weir.Session, path: str) -> None:
    """Columns and rows in turn."""
    columns, rows = (session.distribution(SHAPE, text) for text in ("*, BLOCK", "BLOCK, *"))
    array = session.create(path, SHAPE, "float64")
    for step, (writes, reads) in enumerate(((columns, rows), (rows, columns), (columns, rows))):
        array.write(writes, of_rank(writes, step))
        np.testing.assert_array_equal(array.read(reads), of_rank(reads, step))
    array.close()


def write_file(session: weir.Session, path: str, file_format: str) -> None:
    """Two steps, each rank every n-th column of it."""
    rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    with session.create_file(path, format=file_format) as file:
        array = file.define("a", SHAPE, "float64", steps=True)
        for step in range(2):
            with file.step():
                part = values(step)[:, rank::ranks].copy()
                array.write_region((0, rank), part, stride=(1, ranks))


def read_file(session: weir.Session, path: str) -> None:
    """Rows of both steps."""
    with session.open_file(path) as file:
        array = file["a"]
        rows = session.distribution(SHAPE, "BLOCK, *")
        for step in range(2):
            file.select_step(step)
            np.testing.assert_array_equal(array.read(rows), of_rank(rows, step))


def main() -> None:
    folder, strategy = sys.argv[1:3]
    options = {"strategy": strategy, "buffer_bytes": 1 << 14}
    with weir.Session(MPI.COMM_WORLD, **options) as session:
        write_in_place(session, f"{folder}/whole")
        for file_format, name in FORMATS.items():
            write_file(session, f"{folder}/{name}", file_format)
    turned = MPI.COMM_WORLD.Split(0, -MPI.COMM_WORLD.rank)
    with weir.Session(turned, **options) as session:
        for name in FORMATS.values():
            read_file(session, f"{folder}/{name}")
    sys.stdout.write("verified\n")


if __name__ == "__main__":
    main()
