"""Each rank writes a region of its own and reads another: mpiexec -n 4 python 10_regions.py."""

import numpy as np
from mpi4py import MPI

import weir

comm = MPI.COMM_WORLD
with weir.Session(comm) as session:
    array = session.create("temperature", (8 * comm.size, 300), "float64")
    mine = np.full((8, 300), comm.rank, "float64")
    array.write_region((8 * comm.rank, 0), mine)  # all ranks together, without a distribution
    other = array.read_region((0, comm.rank), (8 * comm.size, 10), stride=(1, 4))
    if comm.rank == 0:  # one rank alone; no other has to come
        array.write_region((0, 0), np.zeros((1, 300)), independent=True)
