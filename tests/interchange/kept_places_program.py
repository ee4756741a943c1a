"""What a rank keeps of the places of many chunks: test_collective.py.

python kept_places_program.py WHAT FOLDER
    on 4 ranks, as nodes of two. Opens each file of FOLDER, reads a few elements of each step of its
    array x, and prints how many bytes of memory of its own each rank then has more. WHAT is empty.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path

from mpi4py import MPI

import weir


class Mallinfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
            "fordblks", "keepcost",
        )
    ]  # fmt: skip


LIBC = ctypes.CDLL(None)
LIBC.mallinfo2.restype = Mallinfo


def bytes_in_use() -> int:
    gc.collect()
    now = LIBC.mallinfo2()
    return int(now.uordblks + now.hblkhd)


def kept_bytes(session: weir.Session, path: Path) -> int:
    """How many bytes this rank keeps while the file is open and elements have been read."""
    before = bytes_in_use()
    with session.open_file(str(path)) as file:
        array = file["x"]
        (chunks,) = array.shape
        blocks = session.distribution((chunks,), "BLOCK")
        few = 64
        first = 8 * MPI.COMM_WORLD.rank
        for step in range(file.steps):
            if array.has_steps:
                file.select_step(step)
            together = array.read(blocks, section=(slice(few),))
            mine = [step * chunks + number for number in range(few)] if first == 0 else [0] * few
            assert together[:few].tolist() == mine
            alone = array.read_region((first,), (4,), independent=True)
            assert alone.tolist() == [step * chunks + first + place for place in range(4)]
            del together, alone
        return bytes_in_use() - before


def main() -> None:
    folder = Path(sys.argv[2])
    with weir.Session(MPI.COMM_WORLD, ranks_per_node=2) as session:
        for path in sorted(folder.glob("*.h5")):
            kept_bytes(session, path)  # what is made once stays
            kept = MPI.COMM_WORLD.gather(kept_bytes(session, path))
            if kept is not None:
                print(path.name, *kept, flush=True)  # noqa: T201


main()
