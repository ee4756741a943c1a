"""Writes an array again when it is told to: lost_host_program.py FOLDER DEADLINE_SECONDS.

In FOLDER each rank leaves `ready-RANK` with its process when it may be disturbed, waits for `go`,
writes, and leaves in `end-RANK` what the write ended with. It stays until all ranks that are not to
be lost, which the file `go` lists, have done so: the launcher ends a job of which a rank ends.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

import weir

SHAPE = (48, 1000)


def leave(path: Path, text: str) -> None:
    """Whole, or not at all."""
    path.with_name(f".{path.name}").write_text(text)
    path.with_name(f".{path.name}").rename(path)


def wait_for(paths: list[Path]) -> None:
    """Until they are there, or for a minute."""
    end = time.monotonic() + 60
    while not all(path.exists() for path in paths) and time.monotonic() < end:
        time.sleep(0.05)


def main() -> None:
    folder, deadline = Path(sys.argv[1]), float(sys.argv[2])
    rank = MPI.COMM_WORLD.rank
    session = weir.Session(MPI.COMM_WORLD, deadline_seconds=deadline, strategy="two-phase")
    columns = session.distribution(SHAPE, "*, BLOCK")
    array = session.create(str(folder / "array"), SHAPE, "float64")
    part = np.ones(columns.shape)
    array.write(columns, part)
    leave(folder / f"ready-{rank}", str(os.getpid()))
    wait_for([folder / "go"])
    try:
        array.write(columns, part)
        end = "no error"
    except weir.Error as error:
        end = f"{type(error).__name__}: {error}"
    leave(folder / f"end-{rank}", end)
    staying = (folder / "go").read_text().split()
    wait_for([folder / f"end-{other}" for other in staying])
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
