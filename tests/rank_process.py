"""Ranks in Python that are forked from a process which has loaded their modules already.

Loading NumPy and Weir takes a rank two thirds of the processor time of its start, more than most
tests of several ranks take for what they test. The launcher starts harness/forked_rank.c as a rank,
which has the process forked that is the rank to MPI: one with the words, directory, environment and
standard files that the launcher gave, which gets its signals and ends as it would.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import os
import runpy
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from mpi_launcher import BUILD, environment, is_open_mpi, preload

CLIENT = BUILD / "tests" / "harness" / "forked_rank"
LONGEST_MESSAGE = 1 << 18
ENDING_SECONDS = 60
STANDARD_FILES = 3
MOST_WAITING = 64
BY_MPI4PY = ["-m", "mpi4py"]
LOADED = (
    "numpy",
    "numpy.ma",
    "mpi4py.run",
    "weir",
    "weir._core.session",
    "weir._core.step_file",
    "weir.files",
)


def python(*libraries: Path) -> list[str | Path]:
    """Python as a launcher starts it for each rank; a program and its arguments follow.

    `libraries` are preloaded into the ranks, besides what every rank of a test has. A rank of MPICH
    hears of the others by a file that its launcher leaves open, so that it is not forked elsewhere.
    """
    preloaded = preload(*libraries)
    if is_open_mpi():
        return [CLIENT, _server(preloaded), preloaded, sys.executable]
    return ["env", f"LD_PRELOAD={preloaded}", sys.executable] if libraries else [sys.executable]


def aborting_python(*libraries: Path) -> list[str | Path]:
    """The same; an exception that nobody catches on one rank ends the job."""
    return [*python(*libraries), *BY_MPI4PY]


@functools.cache
def _server(preloaded: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="weir-ranks-"))
    place = folder / "socket"
    ours, its = socket.socketpair()
    with its, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(place))
        listening.listen(MOST_WAITING)
        process = subprocess.Popen(
            [sys.executable, __file__, str(listening.fileno()), str(its.fileno())],
            pass_fds=[listening.fileno(), its.fileno()],
            env=environment({"LD_PRELOAD": preloaded}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    owner = os.getpid()

    def end() -> None:
        if os.getpid() != owner:  # a process that was forked from this one ends
            return
        ours.close()
        process.wait(ENDING_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return place


class Request:
    """What a rank was started with."""

    def __init__(self, message: bytes, files: list[int]) -> None:
        folder, count, *parts = message.split(b"\0")[:-1]
        self.folder = os.fsdecode(folder)
        self.words = [os.fsdecode(one) for one in parts[: int(count)]]
        given = (os.fsdecode(one).partition("=") for one in parts[int(count) :])
        self.variables = {name: value for name, _, value in given}
        self.files = files

    def take_over(self) -> None:
        """Makes this process the one that was asked for."""
        for place, file in enumerate(self.files):
            os.dup2(file, place)
            os.close(file)
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.variables)
        sys.path[1:1] = filter(None, self.variables.get("PYTHONPATH", "").split(os.pathsep))

    def run(self) -> None:
        """Does what the interpreter does with the words, a program and what it is given."""
        if self.words[1:3] == BY_MPI4PY:
            sys.argv = self.words[2:]
            import_module("mpi4py.run").main()
        else:
            sys.argv = self.words[1:]
            sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
            runpy.run_path(sys.argv[0], run_name="__main__")


class Server:
    """Forks a rank for each client, and tells the client how it has ended."""

    def __init__(self, listening: socket.socket, asked: socket.socket) -> None:
        self._listening, self._asked = listening, asked
        self._ranks: dict[socket.socket, int] = {}  # process of each client
        self._ends: dict[int, socket.socket] = {}  # what becomes readable when the rank has ended
        self._selector = selectors.DefaultSelector()
        for one in (listening, asked):
            self._selector.register(one, selectors.EVENT_READ)

    def serve(self) -> Request | None:
        """Returns when nobody asks any more; in each process that is forked: what was asked."""
        while True:
            for key, _ in self._selector.select():
                ready = key.fileobj
                if ready is self._asked:
                    for process in self._ranks.values():
                        os.kill(process, signal.SIGKILL)
                    return None
                if ready is self._listening:
                    self._selector.register(self._listening.accept()[0], selectors.EVENT_READ)
                elif isinstance(ready, int):
                    self._tell_end(ready)
                elif isinstance(ready, socket.socket) and ready in self._ranks:
                    os.kill(self._ranks[ready], signal.SIGKILL)  # since its client has ended
                    self._selector.unregister(ready)
                elif isinstance(ready, socket.socket) and (request := self._fork(ready)):
                    return request

    def _fork(self, client: socket.socket) -> Request | None:
        message, files = b"", []
        with contextlib.suppress(OSError):  # the client was killed
            message, files, _, _ = socket.recv_fds(client, LONGEST_MESSAGE, STANDARD_FILES)
        if not message:
            self._selector.unregister(client)
            client.close()
            return None
        process = os.fork()
        if process == 0:
            self._selector.close()
            for one in (self._listening, self._asked, client, *self._ranks):
                one.close()
            for end in self._ends:
                os.close(end)
            return Request(message, files)
        for file in files:
            os.close(file)
        with contextlib.suppress(OSError):  # the client was killed, and so will be its rank
            client.send(struct.pack("i", process))
        end = os.pidfd_open(process)
        self._ranks[client], self._ends[end] = process, client
        self._selector.register(end, selectors.EVENT_READ)
        return None

    def _tell_end(self, end: int) -> None:
        client = self._ends.pop(end)
        self._selector.unregister(end)
        os.close(end)
        status = os.waitpid(self._ranks.pop(client), 0)[1]
        with contextlib.suppress(OSError):  # the client was killed, and its rank for that reason
            client.send(struct.pack("i", status))
        with contextlib.suppress(KeyError):
            self._selector.unregister(client)
        client.close()


def main() -> None:
    for name in LOADED:
        import_module(name)
    import_module("weir._core.library").library()
    gc.freeze()  # no rank looks through the objects of the modules again
    listening, asked = (socket.socket(fileno=int(number)) for number in sys.argv[1:])
    request = Server(listening, asked).serve()
    if request is None:
        return
    request.take_over()
    request.run()


if __name__ == "__main__":
    main()
