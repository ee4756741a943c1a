"""Writes steps of a simulation into an HDF5 file: mpiexec -n 4 python 07_steps.py."""

import numpy as np
from mpi4py import MPI

import weir

with weir.Session(MPI.COMM_WORLD) as session:
    cells = session.distribution((40, 30, 20), "BLOCK, BLOCK, *")
    with session.create_file("plot.h5") as file:
        density = file.define(
            "density",
            (40, 30, 20),
            "float64",
            steps=True,
            dimension_names=("z", "y", "x"),
            attributes={"units": "kg m-3"},
        )
        for number in range(3):
            mine = np.full(cells.shape, 1.5 + number)
            with file.step():  # durable and in the file when it ends, whole or not at all
                density.write(cells, mine)
