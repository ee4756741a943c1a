"""weir as a process that is forked from one which has loaded its modules already.

Loading them takes a process a second of the processor, longer than most of what tests ask of weir.
The process has words, a directory, an environment and pipes of its own, takes signals and ends as
one of ``python -m weir.cli`` does. ``python/test_cli_real.py`` and others start weir from nothing.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

LONGEST_MESSAGE = 1 << 20
ENDING_SECONDS = 60


class WeirProcess:
    """``weir WORDS``, with what of subprocess.Popen the tests use."""

    def __init__(self, words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self._server = _server()
        self._pipes = {}
        given = []
        for name in ("stdout", "stderr"):
            self._pipes[name], end = os.pipe()
            given.append(end)
        request = {"words": list(words), "cwd": str(cwd), "env": dict(env)}
        self.pid: int = _ask(self._server, request, given)
        for end in given:
            os.close(end)
        self._process = os.pidfd_open(self.pid)
        self.returncode: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Asks it to end, if the test gave it up, so that it ends its job, and waits for that."""
        self.terminate()
        self.wait(ENDING_SECONDS)
        for end in self._pipes.values():
            os.close(end)
        self._pipes = {}

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float) -> int:
        status = self._ended(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("weir", timeout)
        return status

    def _ended(self, seconds: float) -> int | None:
        if self.returncode is None and select.select([self._process], [], [], seconds)[0]:
            self.returncode = _ask(self._server, {"wait": self.pid})
            os.close(self._process)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Standard output and standard error, until all who have them are done with them."""
        end = time.monotonic() + timeout
        texts = {name: bytearray() for name in self._pipes}
        with selectors.DefaultSelector() as selector:
            for name, pipe in self._pipes.items():
                selector.register(pipe, selectors.EVENT_READ, name)
            while selector.get_map():
                ready = selector.select(max(0, end - time.monotonic()))
                if not ready:
                    raise subprocess.TimeoutExpired("weir", timeout)
                for key, _ in ready:
                    some = os.read(key.fd, 1 << 16)
                    texts[key.data] += some
                    if not some:
                        selector.unregister(key.fd)
                        os.close(self._pipes.pop(key.data))
        self.wait(max(1, end - time.monotonic()))
        return texts["stdout"].decode(), texts["stderr"].decode()


@functools.cache
def _server() -> socket.socket:
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        process = subprocess.Popen(
            [sys.executable, __file__, str(its.fileno())],
            pass_fds=[its.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def end() -> None:
        ours.close()
        process.wait(ENDING_SECONDS)

    atexit.register(end)
    return ours


def _ask(server: socket.socket, request: Mapping[str, Any], descriptors: Sequence[int] = ()) -> int:
    socket.send_fds(server, [json.dumps(request).encode()], list(descriptors))
    answer = server.recv(LONGEST_MESSAGE)
    if not answer:
        raise RuntimeError("the process that weir is forked from has ended")
    return int(json.loads(answer))


def _serve(asked: socket.socket) -> Mapping[str, Any] | None:
    """Answers until nobody asks; in each process that is forked: what was asked for it."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(asked, LONGEST_MESSAGE, 2)
        if not message:
            return None
        request: dict[str, Any] = json.loads(message)
        if "wait" in request:
            answer = os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
        else:
            answer = os.fork()
            if answer == 0:
                asked.close()
                for descriptor, standard in zip(descriptors, (1, 2), strict=True):
                    os.dup2(descriptor, standard)
                    os.close(descriptor)
                return request
            for descriptor in descriptors:
                os.close(descriptor)
        asked.send(json.dumps(answer).encode())


def main() -> None:
    cli = import_module("weir.cli")
    cli.application()  # loads the modules of every command
    import_module("weir.report.campaign")
    gc.freeze()  # no process that is forked looks through the objects of the modules again
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if request is None:
        return
    atexit.register(gc.unfreeze)  # DuckDB would list what is left at the end as leaks
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["weir", *request["words"]]
    cli.main()


if __name__ == "__main__":
    main()
