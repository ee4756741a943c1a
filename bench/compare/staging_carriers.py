"""Bytes to a stager of another node over TCP and over UCX: one rank, and a stager that drops them.

usage: staging_carriers.py [--pairs N] [--megabytes N] [--stager PROGRAM]

Both run on this node, so TCP is that of the loopback interface, and UCX carries through shared
memory. Each message is one write of an array of its size, over and over, and the time ends when the
stager has dropped everything. The two carriers alternate. Rates, and the processor time of rank and
stager together, are medians with the lowest and the highest; the latter depends less on what else
runs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from mpi4py import MPI
from programs import CLONE, arguments

import weir

SIZES = {"64 KiB": 1 << 16, "1 MiB": 1 << 20}
NAMES = {"tcp": "TCP", "ucx": "UCX"}
START_SECONDS = 30
GIB = 1 << 30


@dataclass
class Carrier:
    """A stager that is reached over one carrier, and a session with it."""

    program: Path
    socket: Path
    process: int
    session: weir.Session
    rates: dict[str, list[float]] = field(default_factory=dict)
    """Bytes per second, by size."""
    costs: dict[str, list[float]] = field(default_factory=dict)
    """Processor seconds per GiB, by size."""

    def brought_by(self) -> list[str]:
        told = subprocess.run(
            [self.program, "--stager-socket", self.socket, "--report"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        return [name for one in json.loads(told)["sessions"] for name in one["carriers"]]

    def processor_seconds(self) -> float:
        """Returns the processor time of this process and the stager."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")

    def measure(self, words: str, total: int) -> None:
        size = SIZES[words]
        array = self.session.create(f"{self.socket}-{size}", (size,), "uint8")
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
    socket = folder / carrier
    place = folder / f"{carrier}.rendezvous"
    words: list[str | Path] = [
        "--stager-socket", socket, "--drop", "--stager-listen", "127.0.0.1",
        "--stager-rendezvous", place, "--stager-memory", "256m", "--stager-carrier", carrier,
    ]  # fmt: skip
    with subprocess.Popen([program, *words], stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + START_SECONDS
            while not place.exists() or not place.stat().st_size:
                if process.poll() is not None or time.monotonic() > end:
                    sys.exit(f"the stager for {carrier} does not start")
                time.sleep(0.01)
            with weir.Session(MPI.COMM_WORLD, staging=f"service:{place}") as session:
                yield Carrier(program, socket, process.pid, session)
        finally:
            process.terminate()


def spread(values: list[float], digits: int) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--megabytes", type=int, default=128, help="bytes of each measurement")
    stager = CLONE / "build/release/src/stager/weir-stager"
    parser.add_argument("--stager", type=Path, default=stager)
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
            rates = spread([rate / 1e6 for rate in one.rates[words]], 0)
            print(f"{words:>6} {key}: {rates} MB/s, {spread(one.costs[words], 2)} s per GiB")


if __name__ == "__main__":
    main()
