"""A stager on a host of its own, over links of a set rate: blocked time against the links' rate.

usage: staging_hosts.py [--hosts N] [--ranks N] [--link MBIT] [--seconds S] [--rounds N]

This creates hosts on the test bed (as root; see docs/testbed.md): the ranks are on all but the last
one, whose link is as fast as all others together and which has a stager that drops what it gets. A
message is one collective write of an array with a row for each rank. For each size the ranks send
messages for about as many seconds as asked for at the links' rate, and again until all rounds are
done; sizes take turns.

blocked     time in which the program was blocked in its writes, over that of the bytes on the links
received    bytes over the time until the stager has dropped everything, over the links' rate

At last one step of a file with many small arrays is compared with one of the same bytes in one
array. The rate of a link is that of TCP's payload: 1448 of each 1514 bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from programs import CLONE, MEBIBYTE, options, run
from stagers import STAGER, running
from values import Values, ratios, reached

if TYPE_CHECKING:
    import weir

TESTBED = str(CLONE / "tools/testbed/testbed")
SIZES = [2 << (10 + n) for n in range(12)]
"""Bytes of a rank's message: 2 KiB to 4 MiB."""
JUDGED_FROM = 64 << 10
PAYLOAD = 1448 / 1514
LEAST_RATE, MOST_BLOCKED, MOST_SMALL = 0.9, 1.1, 2.0
SMALL_ARRAYS = 1000
SMALL_BYTES = 1 << 10


class Times:
    """Seconds of the slowest rank, by what was sent."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.blocked: dict[str, list[float]] = {}
        """Until the last write has returned."""
        self.received: dict[str, list[float]] = {}
        """Until the stager has dropped everything."""

    def add(self, name: str, count: int, send: Callable[[], None], end: Callable[[], None]) -> None:
        self.world.Barrier()
        began = time.perf_counter()
        for _ in range(count):
            send()
        left = time.perf_counter()
        end()
        for found, moment in ((self.blocked, left), (self.received, time.perf_counter())):
            slowest = max(self.world.allgather(moment - began))
            found.setdefault(name, []).append(slowest)


def work(given: argparse.Namespace) -> None:
    """Send the messages on every rank; rank 0 prints the seconds as JSON."""
    from mpi4py import MPI  # noqa: PLC0415

    import weir  # noqa: PLC0415

    times = Times(MPI.COMM_WORLD)
    with weir.Session(
        MPI.COMM_WORLD, staging=f"service:{given.rendezvous}", deadline_seconds=120
    ) as session:
        send_messages(given, session, times)
        send_steps(given, session, times)
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps({"blocked": times.blocked, "received": times.received}))


def send_messages(given: argparse.Namespace, session: weir.Session, times: Times) -> None:
    arrays = {}
    for size in SIZES:
        shape = (given.ranks, size)
        array = session.create(f"{given.folder}/array-{size}", shape, "uint8")
        rows = session.distribution(shape, "BLOCK,*")
        arrays[size] = array, partial(array.write, rows, np.zeros(rows.shape, "uint8"))
    for number in range(given.rounds + 1):
        for size, (array, send) in arrays.items():
            count = given.messages[str(size)] if number else 1
            times.add(str(size) if number else "first", count, send, array.sync)
    for array, _ in arrays.values():
        array.close()


def send_steps(given: argparse.Namespace, session: weir.Session, times: Times) -> None:
    files = []
    for name, count in (("small", SMALL_ARRAYS), ("large", 1)):
        shape = (given.ranks, SMALL_ARRAYS * SMALL_BYTES // count)
        rows = session.distribution(shape, "BLOCK,*")
        file = session.create_file(f"{given.folder}/{name}.raw", format="raw")
        arrays = [file.define(f"a{n}", shape, "uint8", steps=True) for n in range(count)]
        values = np.zeros(rows.shape, "uint8")
        files.append((name, file, [(array, rows, values) for array in arrays]))

    def step(file: weir.StepFile, transfers: Sequence[Any]) -> None:
        with file.step():
            session.write_many(transfers)

    for number in range(given.rounds + 1):
        for name, file, transfers in files:
            end = partial(file.wait_for_step, 60)
            times.add(name if number else "first", 1, partial(step, file, transfers), end)
    for _, file, _ in files:
        file.close()


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--hosts", type=int, default=2, help="hosts of the ranks")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--link", type=int, default=100, metavar="MBIT", help="of each such host")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a size in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--stager", type=Path, default=STAGER)
    parser.add_argument("--rendezvous", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--messages", type=json.loads, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rendezvous:
        work(given)
        return
    if given.ranks % given.hosts:
        parser.error("--ranks is a multiple of --hosts")
    # A script that is ended takes the hosts away, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("staging_hosts.py was ended by a signal"))
    links = [f"{given.link}mbit"] * given.hosts + [f"{given.link * given.hosts}mbit"]
    run([TESTBED, "hosts", "up", "--count", str(given.hosts + 1), "--link", ",".join(links)])
    try:
        compare(given)
    finally:
        run([TESTBED, "hosts", "down", "--kill"])


def compare(given: argparse.Namespace) -> None:
    rate = given.hosts * given.link * 1e6 / 8 * PAYLOAD
    messages = {size: max(8, round(rate * given.seconds / given.ranks / size)) for size in SIZES}
    last = given.hosts
    on_last = [TESTBED, "hosts", "run", f"weir-host{last}", "--"]
    address = f"198.18.0.{last + 1}"
    words = ["--drop", "--stager-memory", "1g"]
    # The launcher fills one host after the other: with fewer ranks the last one has none.
    all_slots = given.ranks // given.hosts * (last + 1)
    launcher = shlex.split(run([TESTBED, "hosts", "launcher", "-n", str(all_slots)]))
    launcher[launcher.index("-n") + 1] = str(given.ranks)
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm", prefix="weir-hosts-") as name,
        running(
            given.stager, Path(name), "stager", words, address=address, before=on_last
        ) as stager,
    ):
        told = run(
            [
                *(*launcher, sys.executable, __file__, "--rendezvous", str(stager.place)),
                *("--folder", name, "--messages", json.dumps(messages)),
                *("--ranks", str(given.ranks), "--rounds", str(given.rounds)),
            ]
        )
    report(given, messages, rate, json.loads(told.splitlines()[-1]))


def report(
    given: argparse.Namespace, messages: dict[int, int], rate: float, found: Mapping[str, Any]
) -> None:
    print(
        f"{given.ranks} ranks on {given.hosts} hosts with {given.link} Mbit/s each, "
        f"{rate / MEBIBYTE:.1f} MiB/s of payload together; load {os.getloadavg()[0]:.1f} at the end"
    )
    print(
        f"{'a rank sends':>12} {'messages':>8}  {'blocked / (bytes / links)':<26} received / links"
    )
    met = []
    for size, count in messages.items():
        least = size * given.ranks * count / rate
        blocked = Values([seconds / least for seconds in found["blocked"][str(size)]])
        received = Values([least / seconds for seconds in found["received"][str(size)]])
        print(f"{size >> 10:>8} KiB {count:>8}  {blocked.text('.3f'):<26} {received.text('.3f')}")
        if size >= JUDGED_FROM:
            met += [blocked.median <= MOST_BLOCKED, received.median >= LEAST_RATE]
    small = ratios(found["received"]["small"], found["received"]["large"])
    print(
        f"a step of {SMALL_ARRAYS} arrays of {SMALL_BYTES >> 10} KiB a rank takes "
        f"{small.text('.2f')} times as long as one of the same bytes in one array"
    )
    met.append(small.median <= MOST_SMALL)
    print(
        f"from {JUDGED_FROM >> 10} KiB on at least {LEAST_RATE} of the links, blocked at most "
        f"{MOST_BLOCKED} times what they need, small arrays at most {MOST_SMALL:.0f} times: "
        f"{reached(all(met))}"
    )


if __name__ == "__main__":
    main()
