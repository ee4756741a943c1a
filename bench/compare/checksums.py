"""The cost of checksums of blocks: the same files, written and read with and without them.

usage: mpirun -n 4 python checksums.py [--directory D] [--mebibytes N] [--rounds N]
           [--formats hdf5,cdf5,raw] [--durability none,step] [--cold]

One array of float64 in 3-D blocks is written as one step, read into the same distribution, and
compared. The time of a write is that of writing and of ending the step; with `--cold` the file's
pages are dropped before it is read. Ratios are of the times with checksums over those without,
round by round.
"""

from __future__ import annotations

import os
import tempfile
import time
import traceback
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from mpi4py import MPI
from programs import options
from values import Values, ratios

import weir

Durability = Literal["none", "step", "operation"]
Checksum = Literal["none", "crc32c"]


def drop_pages(path: Path) -> None:
    """Drop the file's pages from the page cache."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


class Case:
    """One combination of format and durability, in one folder."""

    def __init__(
        self, session: weir.Session, folder: Path, shape: tuple[int, int, int], file_format: str,
        durability: Durability,
    ) -> None:  # fmt: skip
        self.session = session
        self.path = folder / f"file.{file_format}"
        self.shape = shape
        self.format = file_format
        self.durability = durability
        self.blocks = session.distribution(shape, "BLOCK, BLOCK, BLOCK")
        local = self.blocks.shape
        rank = MPI.COMM_WORLD.rank
        self.mine = np.random.default_rng(rank).random(local)
        self.found = np.empty(local)

    def once(self, checksum: Checksum, *, cold: bool) -> tuple[float, float]:
        """Return the seconds of the slowest rank for writing and for reading."""
        world = MPI.COMM_WORLD
        if world.rank == 0:
            for left in self.path.parent.iterdir():
                left.unlink()
        world.barrier()
        with self.session.create_file(
            str(self.path), format=self.format, durability=self.durability, checksum=checksum
        ) as file:
            array = file.define("field", self.shape, "float64")
            file.begin_step()
            world.barrier()
            begin = time.monotonic()
            array.write(self.blocks, self.mine)
            file.end_step()
            written = time.monotonic() - begin
        if cold and world.rank == 0:
            drop_pages(self.path)
        self.found[...] = 0
        with self.session.open_file(str(self.path), read_only=True) as file:
            array = file["field"]
            world.barrier()
            begin = time.monotonic()
            array.read(self.blocks, self.found)
            read = time.monotonic() - begin
        if not np.array_equal(self.found, self.mine):
            message = f"rank {world.rank} read something else than it wrote to {self.path}"
            raise SystemExit(message)
        return world.allreduce(written, op=MPI.MAX), world.allreduce(read, op=MPI.MAX)


def line(what: str, times: dict[str, list[float]], megabytes: float) -> str:
    """Return the median of the ratios with their extremes, and the rates."""
    more = ratios(times["crc32c"], times["none"]).text(".3f")
    rates = [megabytes / Values(times[kind]).median for kind in ("none", "crc32c")]
    return f"{what:<28} {more}   {rates[0]:.0f} and {rates[1]:.0f} MB/s"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--directory", default=".")
    parser.add_argument("--mebibytes", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--formats", default="hdf5,cdf5,raw")
    parser.add_argument("--durability", default="none,step")
    parser.add_argument("--cold", action="store_true")
    asked = parser.parse_args()
    known: tuple[Durability, ...] = get_args(Durability)
    durabilities = [one for one in known if one in asked.durability.split(",")]
    world = MPI.COMM_WORLD
    name = tempfile.mkdtemp(dir=asked.directory) if world.rank == 0 else None
    folder = Path(world.bcast(name))
    edge = round((asked.mebibytes * 2**20 / 8) ** (1 / 3) / 16) * 16
    shape = (edge, edge, edge)
    megabytes = 8 * edge**3 / 1e6
    try:
        with weir.Session(world) as session:
            for file_format in asked.formats.split(","):
                for durability in durabilities:
                    case = Case(session, folder, shape, file_format, durability)
                    times: dict[str, dict[str, list[float]]] = {
                        way: {"none": [], "crc32c": []} for way in ("write", "read")
                    }
                    for number in range(asked.rounds + 1):
                        kinds: tuple[Checksum, ...] = get_args(Checksum)
                        if number % 2:
                            kinds = kinds[::-1]
                        for kind in kinds:
                            took = case.once(kind, cold=asked.cold)
                            if number > 0:  # the first round is not counted
                                times["write"][kind].append(took[0])
                                times["read"][kind].append(took[1])
                    if world.rank == 0:
                        for way, by_kind in times.items():
                            print(
                                line(f"{file_format}, {durability}, {way}", by_kind, megabytes),
                                flush=True,
                            )
    except BaseException:
        # The others wait for this rank.
        traceback.print_exc()
        world.Abort(1)
    world.barrier()
    if world.rank == 0:
        for left in folder.iterdir():
            left.unlink()
        folder.rmdir()


if __name__ == "__main__":
    main()
