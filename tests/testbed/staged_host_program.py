"""Writes steps through stagers: staged_host_program.py FOLDER SOCKETS ROWS STEPS STAGING.

With STAGING `node`, the stager of each host is at SOCKETS/HOST/stager; the session starts it. After
each step rank 0 leaves `accepted-STEP` in FOLDER, and all ranks wait for `go-STEP` before the next
one.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

import weir


def main() -> None:
    folder, sockets = Path(sys.argv[1]), Path(sys.argv[2])
    shape, steps = (int(sys.argv[3]), 500), int(sys.argv[4])
    rank = MPI.COMM_WORLD.rank
    own = sockets / socket.gethostname()
    own.mkdir(mode=0o700, exist_ok=True)
    os.environ["WEIR_STAGER_SOCKET"] = str(own / "stager")
    with weir.Session(MPI.COMM_WORLD, staging=sys.argv[5], deadline_seconds=60) as session:
        rows = session.distribution(shape, "CYCLIC(7), *")
        file = session.create_file(str(folder / "out.h5"), format="hdf5")
        array = file.define("a", shape, "float64", steps=True)
        for step in range(steps):
            with file.step():
                array.write(rows, np.full(rows.shape, 10.0 * step + rank))
            if rank == 0:
                (folder / f"accepted-{step}").touch()
            end = time.monotonic() + 60
            while not (folder / f"go-{step}").exists() and time.monotonic() < end:
                time.sleep(0.02)
            file.wait_for_step(60)
        got = np.zeros(rows.shape)
        array.read(rows, got)
        assert (got == 10.0 * (steps - 1) + rank).all()
        file.close()


if __name__ == "__main__":
    main()
