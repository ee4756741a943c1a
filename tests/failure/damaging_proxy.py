"""A network that damages one message between a rank and a stager."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path

from network_frames import HEAD_BYTES

Damage = Callable[[bytes], bytes]


def exactly(connection: socket.socket, count: int) -> bytes:
    """The next bytes; fewer where the other side has ended the connection."""
    got = b""
    while len(got) < count and (some := connection.recv(count - len(got))):
        got += some
    return got


def flipped(frame: bytes, at: int) -> bytes:
    """The frame with another bit in this byte."""
    changed = bytearray(frame)
    changed[at] ^= 4
    return bytes(changed)


class DamagingProxy:
    """Stands at an address of its own before a stager.

    It passes on what both sides send. The first message of the kind that comes when the file
    `from_now_on` exists is damaged.
    """

    def __init__(
        self, stager: tuple[str, int], kind: int, damage: Damage, from_now_on: Path
    ) -> None:
        self.stager = stager
        self.kind = kind
        self.damage = damage
        self.from_now_on = from_now_on
        self.damaged = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.ends: list[socket.socket] = []
        self.threads: list[threading.Thread] = []
        self.begin(self.accept)

    def begin(self, target: Callable[..., None], *given: socket.socket) -> None:
        self.threads.append(threading.Thread(target=target, args=given))
        self.threads[-1].start()

    def accept(self) -> None:
        while True:
            try:
                rank, _ = self.listener.accept()
            except OSError:  # the test has ended
                return
            stager = socket.create_connection(self.stager)
            for one in (rank, stager):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.ends.append(one)
            self.begin(self.pass_on, rank, stager)
            self.begin(self.pass_on, stager, rank)

    def pass_on(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while len(head := exactly(source, HEAD_BYTES)) == HEAD_BYTES:
                length = struct.unpack_from("<I", head, 8)[0]
                target.sendall(self.changed(head + exactly(source, length)))
            target.shutdown(socket.SHUT_WR)
        except OSError:  # a side has reset its connection
            for one in (source, target):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def changed(self, frame: bytes) -> bytes:
        kind = struct.unpack_from("<H", frame, HEAD_BYTES)[0]
        with self.lock:
            if kind != self.kind or self.damaged or not self.from_now_on.exists():
                return frame
            self.damaged += 1
        return self.damage(frame)

    def end(self) -> None:
        for one in (self.listener, *self.ends):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        for one in (self.listener, *self.ends):
            one.close()
