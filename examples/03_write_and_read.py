"""Writes an array by rows and reads it by columns: mpiexec -n 4 python 03_write_and_read.py."""

import numpy as np
from mpi4py import MPI

import weir

with weir.Session(MPI.COMM_WORLD) as session:
    rows = session.distribution((400, 300), "BLOCK, *")
    columns = session.distribution((400, 300), "*, CYCLIC(10)")
    array = session.create("temperature", (400, 300), "float64")
    mine = np.arange(rows.elements, dtype="float64").reshape(rows.shape)
    array.write(rows, mine)
    theirs = array.read(columns)
