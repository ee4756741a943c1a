"""Bytes to a stager of another node over TCP and over UCX: one rank, and a stager that drops them.

usage: staging_carriers.py [--pairs N] [--megabytes N] [--stager PROGRAM]

Both run on this node, so TCP is that of the loopback interface, and UCX carries through shared
memory. Each message is one write of an array of its size, over and over, and the time ends when the
stager has dropped everything. The two carriers alternate. Rates, and the processor time of rank and
stager together, are medians with the lowest and the highest; the latter depends less on what else
runs.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from mpi4py import MPI
from programs import arguments
from stagers import GIB, STAGER, Stager, running
from values import Values

import weir

SIZES = {"64 KiB": 1 << 16, "1 MiB": 1 << 20}
NAMES = {"tcp": "TCP", "ucx": "UCX"}


@dataclass
class Carrier:
    """A stager that is reached over one carrier, and a session with it."""

    stager: Stager
    session: weir.Session
    rates: dict[str, list[float]] = field(default_factory=dict)
    """Bytes per second, by size."""
    costs: dict[str, list[float]] = field(default_factory=dict)
    """Processor seconds per GiB, by size."""

    def brought_by(self) -> list[str]:
        return [name for one in self.stager.sessions() for name in one["carriers"]]

    def processor_seconds(self) -> float:
        """Returns the processor time of this process and the stager."""
        return time.process_time() + self.stager.processor_seconds()

    def measure(self, words: str, total: int) -> None:
        size = SIZES[words]
        array = self.session.create(f"{self.stager.socket}-{size}", (size,), "uint8")
        whole = self.session.distribution((size,), "BLOCK")
        message = np.zeros(whole.shape, "uint8")
        array.write(whole, message)
        array.sync()
        spent = self.processor_seconds()
        began = time.perf_counter()
        for _ in range(total // size):
            array.write(whole, message)
        array.sync()
        seconds = time.perf_counter() - began
        spent = self.processor_seconds() - spent
        array.close()
        self.rates.setdefault(words, []).append(total / seconds)
        self.costs.setdefault(words, []).append(spent / total * GIB)


@contextmanager
def opened(program: Path, folder: Path, carrier: str) -> Iterator[Carrier]:
    """Starts a stager and opens a session with it."""
    words = ["--drop", "--stager-memory", "256m", "--stager-carrier", carrier]
    with (
        running(program, folder, carrier, words) as stager,
        weir.Session(MPI.COMM_WORLD, staging=f"service:{stager.place}") as session,
    ):
        yield Carrier(stager, session)


def main() -> None:
    parser = arguments(__doc__, None)
    parser.add_argument("--megabytes", type=int, default=128, help="bytes of each measurement")
    parser.add_argument("--stager", type=Path, default=STAGER)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="weir-carriers-") as name:
        folder = Path(name)
        with (
            opened(given.stager, folder, "tcp") as tcp,
            opened(given.stager, folder, "ucx") as ucx,
        ):
            carriers = {"tcp": tcp, "ucx": ucx}
            for _ in range(given.pairs):
                for words in SIZES:
                    for one in carriers.values():
                        one.measure(words, given.megabytes << 20)
            for key, one in carriers.items():
                if one.brought_by() != [NAMES[key]]:
                    sys.exit(f"the bytes for {key} came over {one.brought_by()}")
    load = os.getloadavg()[0]
    print(f"{given.pairs} pairs of {given.megabytes} MiB, load {load:.1f} at the end")
    for words in SIZES:
        for key, one in carriers.items():
            rates = Values(one.rates[words]).text(".0f", 1e-6)
            costs = Values(one.costs[words]).text(".2f")
            print(f"{words:>6} {key}: {rates} MB/s, {costs} s per GiB")


if __name__ == "__main__":
    main()
