"""Columns of an array between hosts whose links are the limit: how much of the links is used.

usage: array_links.py [--hosts N] [--ranks N] [--link RATE] [--mebibytes N] [--pairs N]
                      [--strategies LIST] [--libraries FILE,...] [--directory D]

This creates hosts on the test bed (as root; see docs/testbed.md) and distributes an array of
float64 by `*, BLOCK` to ranks on them, so that every row of the file has elements of all ranks.
Aggregators are on all hosts: each of N hosts keeps 1/N of its data and sends the rest, and receives
as much at the same time. The share is the bytes that must cross the links over the bytes that all
links together carry as TCP's payload in that time. `MPI` is the reference: as many bytes, sent by
plain nonblocking messages of 256 KiB from each rank to all others, without a file. Each job does
all three several times in turn, and jobs of several libraries take turns. Every element is
verified.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
import tempfile
import time
from pathlib import Path

from programs import CLONE, options, run
from values import Values, reached

TESTBED = CLONE / "tools/testbed/testbed"
PAYLOAD = 1448 / 1514
"""Share of a frame that TCP carries for the program."""
ROWS = 256
GOAL = 0.9
MESSAGE_BYTES = 256 << 10
DIRECTIONS = ("write", "read", "MPI")


def work(given: dict[str, str | int]) -> None:
    """Write and read on every rank; rank 0 prints the seconds of each as JSON."""
    import numpy as np  # noqa: PLC0415
    from mpi4py import MPI  # noqa: PLC0415

    import weir  # noqa: PLC0415

    world = MPI.COMM_WORLD
    columns = int(given["mebibytes"]) * (1 << 20) // 8 // ROWS // world.size * world.size
    seconds: dict[str, list[float]] = {direction: [] for direction in DIRECTIONS}
    with weir.Session(world, strategy=str(given["strategy"])) as session:
        held = session.distribution((ROWS, columns), "*, BLOCK")
        array = session.create(str(given["file"]), (ROWS, columns), "float64")
        memory = np.random.default_rng(world.rank).random(held.shape)
        target = np.zeros_like(memory)
        sent = np.resize(memory, (world.size, columns * ROWS // world.size**2)).view(np.uint8)
        received = np.empty_like(sent)

        def exchange() -> None:
            requests = []
            for first in range(0, sent.shape[1], MESSAGE_BYTES):
                part = slice(first, first + MESSAGE_BYTES)
                for step in range(1, world.size):
                    to, source = (world.rank + step) % world.size, (world.rank - step) % world.size
                    requests.append(world.Irecv(received[source, part], source, first))
                    requests.append(world.Isend(sent[to, part], to, first))
            MPI.Request.Waitall(requests)

        for repetition in range(int(given["repetitions"]) + 1):
            for direction, taken in seconds.items():
                target[...] = 0
                world.Barrier()
                began = time.perf_counter()
                if direction == "write":
                    array.write(held, memory)
                elif direction == "MPI":
                    exchange()
                else:
                    array.read(held, target)
                took = float(max(world.allgather(time.perf_counter() - began)))
                if direction == "read" and not (target == memory).all():
                    message = "other elements were read than were written"
                    raise RuntimeError(message)
                if repetition > 0:
                    taken.append(took)
        array.close()
    if world.rank == 0:
        print(json.dumps({"bytes": ROWS * columns * 8, **seconds}), flush=True)


def measured(launcher: list[str], library: Path, task: dict[str, str | int]) -> dict[str, float]:
    """Return the median seconds by direction, and the array's bytes, of one job."""
    command = [*launcher, "-x", "WEIR_LIBRARY", sys.executable, __file__, "--worker"]
    told = json.loads(run([*command, json.dumps(task)], {"WEIR_LIBRARY": str(library)}))
    return {
        "bytes": float(told["bytes"]),
        **{direction: statistics.median(told[direction]) for direction in DIRECTIONS},
    }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--link", type=int, default=100, metavar="MBIT", help="each way")
    parser.add_argument("--mebibytes", type=int, default=64, help="of the array")
    parser.add_argument("--pairs", type=int, default=5, help="jobs of each library")
    parser.add_argument("--repetitions", type=int, default=3, help="in each job")
    parser.add_argument("--strategies", default="two-phase,server-directed")
    parser.add_argument("--libraries", default=str(CLONE / "build/release/src/capi/libweir.so.0"))
    parser.add_argument("--directory", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker is not None:
        work(json.loads(given.worker))
        return
    libraries = [Path(word).resolve() for word in given.libraries.split(",")]
    run([str(TESTBED), "hosts", "up", "--count", str(given.hosts), "--link", f"{given.link}mbit"])
    try:
        launcher = shlex.split(run([str(TESTBED), "hosts", "launcher", "-n", str(given.ranks)]))
        all_links = given.hosts * given.link * 1e6 / 8 * PAYLOAD
        print(f"{given.hosts} hosts, {given.ranks} ranks, links of {given.link} Mbit/s each way")
        for strategy in given.strategies.split(","):
            shares: dict[tuple[Path, str], list[float]] = {}
            for _ in range(given.pairs):
                for library in libraries:
                    with tempfile.TemporaryDirectory(dir=given.directory) as folder:
                        task = {
                            "strategy": strategy,
                            "file": f"{folder}/array",
                            "mebibytes": given.mebibytes,
                            "repetitions": given.repetitions,
                        }
                        found = measured(launcher, library, task)
                    crosses = found["bytes"] * (given.hosts - 1) / given.hosts
                    for direction in DIRECTIONS:
                        share = crosses / found[direction] / all_links
                        shares.setdefault((library, direction), []).append(share)
            for (library, direction), values in shares.items():
                used = Values(values)
                print(
                    f"{strategy:<16} {direction:<5} {used.text('.3f')} of the links; {GOAL} is "
                    f"{reached(used.median >= GOAL)}  {library}",
                    flush=True,
                )
    finally:
        run([str(TESTBED), "hosts", "down", "--kill"])


if __name__ == "__main__":
    main()
