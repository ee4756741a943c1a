"""Many connections to one stager over TCP: how many it serves, and how fast their bytes come.

usage: staging_connections.py [--connections N] [--block BYTES] [--rounds N] [--processes N]
                              [--receivers N] [--drop] [--stager PROGRAM]

Each connection is a rank of another node that speaks the protocol of docs/staging.md: it shows
that it knows the secret, asks for a block, and hands it over, again and again. All connections stay
open until the end. Without --drop, each has a part of one file of its own, and the file is read
again and compared; with it, the stager drops the bytes, so that only their way to it is measured.

All processes are on this node, so TCP is that of the loopback interface, and clients and stager
share its processors.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import multiprocessing
import os
import resource
import secrets
import selectors
import socket
import struct
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from network_frames import frame, message, next_payload
from programs import arguments
from stagers import GIB, STAGER, running

KNOCK, PROVE, HELLO, NAME_FILE, RESERVE, BLOCK_BYTES, FILLED_BLOCK, FLUSH, DRAIN = (
    0, 1, 2, 3, 5, 6, 8, 9, 15,
)  # fmt: skip
CHALLENGE, VOUCH, WELCOME, GRANTED, FLUSHED, DRAINED, ALIVE = 22, 23, 24, 26, 29, 33, 34
PIECE = 64 << 10
DEADLINE_SECONDS = 240


def text(words: bytes) -> bytes:
    """Return a field with a length before it."""
    return struct.pack("<Q", len(words)) + words


class Rank:
    """A rank of another node, with a connection of its own."""

    def __init__(self, place: Path, session: bytes, number: int) -> None:
        """Connect, and show that the secret of the rendezvous file ``place`` is known."""
        words = place.read_text().split()
        host, _, port = words[2].rpartition(":")
        secret = bytes.fromhex(words[4])
        self.socket = socket.create_connection((host, int(port)), DEADLINE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent = 0
        self.received = 0
        nonce = secrets.token_bytes(16)
        self.send(KNOCK, nonce)
        challenge = self.answer(CHALLENGE)[:16]
        proof = hmac.new(secret, b"weir rank " + nonce + challenge, hashlib.sha256).digest()
        hello = session + struct.pack("<i", number) + text(b"staging_connections")
        self.send(PROVE, text(proof))
        self.answer(VOUCH)
        self.send(HELLO, hello)
        self.block_bytes = struct.unpack_from("<qq", self.answer(WELCOME))[1]

    def framed(self, kind: int, fields: bytes = b"") -> bytes:
        """Return the next message to be sent, with its frame."""
        self.sent += 1
        return frame(self.sent - 1, message(kind, fields))

    def send(self, kind: int, fields: bytes = b"") -> None:
        """Send a message."""
        self.socket.sendall(self.framed(kind, fields))

    def exactly(self, count: int) -> bytes:
        """Return the next bytes."""
        parts = []
        while count:
            part = self.socket.recv(count)
            if not part:
                raise ConnectionError("the stager has ended the connection")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def next_message(self, wanted: int) -> bytes | None:
        """Return the fields of the next message, or None if it is a sign of life."""
        payload = next_payload(self.received, self.exactly)
        self.received += 1
        kind = struct.unpack_from("<H", payload)[0]
        if kind not in {wanted, ALIVE}:
            raise ConnectionError(f"message {kind} came instead of {wanted}: {payload[4:]!r}")
        return payload[4:] if kind == wanted else None

    def answer(self, wanted: int) -> bytes:
        """Return the fields of the next message that is no sign of life."""
        while (fields := self.next_message(wanted)) is None:
            pass
        return fields

    def name_file(self, path: Path) -> None:
        """Name the file, number 1, whose parts are written as soon as possible."""
        fields = struct.pack("<Q", 1) + text(os.fsencode(path)) + struct.pack("<q", 0)
        self.send(NAME_FILE, fields + text(b"") + b"\x01\x00")

    def ask(self) -> None:
        """Ask for a block."""
        self.send(RESERVE, struct.pack("<q", 1))

    def hand_over(self, granted: bytes, data: bytes, offset: int) -> None:
        """Hand over the block that was granted."""
        block = struct.unpack_from("<q", granted, 8)[0]
        parts = []
        for at in range(0, len(data), PIECE):
            piece = data[at : at + PIECE]
            parts.append(self.framed(BLOCK_BYTES, struct.pack("<q?", block, False) + text(piece)))
        extent = struct.pack("<QqQ", 1, offset, len(data))
        parts.append(self.framed(BLOCK_BYTES, struct.pack("<q?", block, True) + text(extent)))
        parts.append(self.framed(FILLED_BLOCK, struct.pack("<qq", block, 1)))
        self.socket.sendall(b"".join(parts))

    def flush(self) -> None:
        """Ask whether everything has been taken."""
        self.send(FLUSH)

    def drain(self) -> None:
        """Wait until everything of the session is in the file."""
        self.send(DRAIN)
        if self.answer(DRAINED) != b"\x00":
            raise ConnectionError("the session has failed")


def bytes_of(number: int, round_: int, count: int) -> bytes:
    """Return what a connection hands over in a round: others have something else."""
    seed = hashlib.sha256(struct.pack("<QQ", number, round_)).digest()
    return (seed * (count // len(seed) + 1))[:count]


def serve_ranks(
    pipe: Connection, place: Path, session: bytes, numbers: range, path: Path, given: dict[str, int]
) -> None:
    """Hold some connections, in a process of its own; the main process says when to go on."""
    ranks = [Rank(place, session, number) for number in numbers]
    pipe.send(len(ranks))
    pipe.recv()
    for rank in ranks:
        rank.name_file(path)
    count, rounds = given["block"], given["rounds"]
    for round_ in range(rounds):
        for rank in ranks:
            rank.ask()
        # The stager chooses in which order clients that wait for a block get one.
        with selectors.DefaultSelector() as waiting:
            for number, rank in zip(numbers, ranks, strict=True):
                waiting.register(rank.socket, selectors.EVENT_READ, (number, rank))
            while waiting.get_map():
                for key, _ in waiting.select(DEADLINE_SECONDS):
                    number, rank = key.data
                    granted = rank.next_message(GRANTED)
                    if granted is None:
                        continue
                    waiting.unregister(rank.socket)
                    offset = (number * rounds + round_) * count
                    rank.hand_over(granted, bytes_of(number, round_, count), offset)
    for rank in ranks:
        rank.flush()
    for rank in ranks:
        if rank.answer(FLUSHED) != b"\x00":
            raise ConnectionError("the session has failed")
    ranks[0].drain()
    pipe.send(len(ranks))
    pipe.recv()  # the connections stay open until all have been served


def hear(pipe: Connection) -> int:
    """Return what another process says within the deadline."""
    if not pipe.poll(DEADLINE_SECONDS):
        sys.exit(f"the connections are not served within {DEADLINE_SECONDS} s")
    return int(pipe.recv())


def first_difference(path: Path, connections: int, rounds: int, count: int) -> str:
    """Return where the file has other bytes than were handed over; "": nowhere."""
    if path.stat().st_size != connections * rounds * count:
        return f"the file has {path.stat().st_size} bytes"
    with path.open("rb") as file:
        for number in range(connections):
            for round_ in range(rounds):
                if file.read(count) != bytes_of(number, round_, count):
                    return f"block {round_} of connection {number} differs"
    return ""


@dataclass
class Measured:
    """What was measured of the connections together."""

    opened: int
    connecting_seconds: float
    seconds: float
    processor_seconds: float
    memory: int


def measure(given: argparse.Namespace, folder: Path, path: Path, words: list[str]) -> Measured:
    """Let all connections hand over, and end the program unless each of them is served."""
    with running(given.stager, folder, "stager", words) as stager:
        session = secrets.token_bytes(16)
        share = -(-given.connections // given.processes)
        sizes = {"block": given.block, "rounds": given.rounds}
        pipes, children = [], []
        began = time.perf_counter()
        for first in range(0, given.connections, share):
            here, there = multiprocessing.Pipe()
            numbers = range(first, min(first + share, given.connections))
            child = multiprocessing.Process(
                target=serve_ranks,
                args=(there, stager.place, session, numbers, path, sizes),
                daemon=True,
            )
            child.start()
            there.close()
            pipes.append(here)
            children.append(child)
        opened = sum(hear(pipe) for pipe in pipes)
        connecting = time.perf_counter() - began
        connected = sum(one["ranks"] for one in stager.sessions())
        spent = stager.processor_seconds()
        began = time.perf_counter()
        for pipe in pipes:
            pipe.send(True)
        served = sum(hear(pipe) for pipe in pipes)
        seconds = time.perf_counter() - began
        spent = stager.processor_seconds() - spent
        memory = stager.largest_memory()
        for pipe in pipes:
            pipe.send(True)
        for child in children:
            child.join(DEADLINE_SECONDS)
    if not given.connections == opened == connected == served:
        sys.exit(f"of {given.connections}, {connected} were connected and {served} served")
    return Measured(opened, connecting, seconds, spent, memory)


def main() -> None:
    """Open the connections, let them hand over, and print what was measured."""
    parser = arguments(__doc__, None)
    parser.add_argument("--connections", type=int, default=5120, help="connections at once")
    parser.add_argument("--block", type=int, default=4096, help="bytes of each block, at most 1 MB")
    parser.add_argument("--rounds", type=int, default=2, help="blocks of each connection")
    parser.add_argument("--processes", type=int, default=2, help="processes that hold them")
    parser.add_argument("--receivers", type=int, help="threads of the stager that receive")
    parser.add_argument("--memory", default="128m", help="the stager's memory")
    parser.add_argument("--drop", action="store_true", help="the stager drops all bytes")
    parser.add_argument("--stager", type=Path, default=STAGER)
    given = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    words = ["--stager-memory", given.memory]
    words += ["--stager-receivers", str(given.receivers)] if given.receivers else []
    words += ["--drop"] if given.drop else []
    with tempfile.TemporaryDirectory(prefix="weir-connections-") as name:
        path = Path(name) / "data"
        path.touch()
        told = measure(given, Path(name), path, words)
        different = (
            ""
            if given.drop
            else first_difference(path, given.connections, given.rounds, given.block)
        )
        if different:
            sys.exit(different)
    blocks = given.connections * given.rounds
    total = blocks * given.block
    print(
        f"{told.opened} connections in {told.connecting_seconds:.1f} s; {blocks} blocks of "
        f"{given.block} bytes in {told.seconds:.2f} s, {total / told.seconds / 1e6:.0f} MB/s, "
        f"{'dropped' if given.drop else 'stored and compared'}; the stager took "
        f"{told.processor_seconds:.2f} s of processors, "
        f"{told.processor_seconds / total * GIB:.2f} s per GiB, and {told.memory >> 20} MiB "
        f"beside its blocks; load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
