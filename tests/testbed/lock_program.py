"""Writes `*, BLOCK` of an array into one file: lock_program.py FILE STRATEGY LOCK_BYTES STEPS.

Each rank holds some columns, so every row of the file is of all ranks. Written as often as STEPS
says into the same place, with other values each time; the last ones are read back and compared.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

import weir

SHAPE = (256, 8192)


def main() -> None:
    file, strategy, lock_bytes, steps = sys.argv[1:5]
    options = {"strategy": strategy, "lock_bytes": int(lock_bytes), "buffer_bytes": 1 << 20}
    with weir.Session(MPI.COMM_WORLD, **options) as session:
        columns = session.distribution(SHAPE, "*, BLOCK")
        array = session.create(file, SHAPE, "float64")
        first = columns.global_index((0, 0))[1]
        rows, width = columns.shape
        index = np.arange(rows)[:, None] * SHAPE[1] + np.arange(first, first + width)[None, :]
        for step in range(int(steps)):
            array.write(columns, (index + step).astype("float64"))
        np.testing.assert_array_equal(array.read(columns), index + int(steps) - 1)
        array.close()
    sys.stdout.write("verified\n")


if __name__ == "__main__":
    main()
