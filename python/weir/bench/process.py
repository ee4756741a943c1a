"""Runs one child process with a deadline, and handles its output, its signals and its end.

1. The child leads its own session, so a Ctrl-C at the terminal reaches only weir.
2. While the child runs, SIGINT, SIGTERM and SIGHUP that reach weir are forwarded to it.
3. At the deadline, or ``grace_seconds`` after a forwarded signal, the child gets SIGTERM. After the
   same time again every process of its session gets SIGKILL; the session includes ranks that a
   launcher left behind.
4. Lines of its output are passed on as they arrive. Streams that are kept open by processes left
   behind are read for ``STREAMS_SECONDS`` after the child has ended.
5. If util-linux's setpriv is found, the kernel sends the child SIGTERM when weir is killed, so that
   no job continues, and leaves its test files, without a parent that waits for it.

Signals are handled in the main thread only; in other threads the child runs without forwarding.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO

from weir.bench.errors import BenchError

GRACE_SECONDS = 20.0
STREAMS_SECONDS = 2.0
POLL_SECONDS = 0.1
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LineHandler = Callable[[str], None]


@dataclass(frozen=True)
class Ending:
    """How the child ended. ``status`` is negative for a signal, as in ``subprocess``."""

    status: int
    seconds: float
    asked_by: signal.Signals | None
    timed_out: bool
    killed: bool

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.status == 0 and self.asked_by is None and not self.timed_out

    def describe(self) -> str:
        """Returns one clause that says why it ended."""
        if self.timed_out:
            return f"the deadline of {self.seconds:.0f} s passed (--timeout)"
        if self.asked_by is not None:
            return f"stopped by {self.asked_by.name}"
        if self.status < 0:
            return f"the launcher was ended by {_signal_name(-self.status)}"
        if self.status > 128:
            ended_by = _signal_name(self.status - 128)
            return f"exit status {self.status}, a process was ended by {ended_by}"
        return f"exit status {self.status}"


def run_child(
    command: Sequence[str],
    environment: Mapping[str, str],
    timeout_seconds: float,
    *,
    on_stdout: LineHandler,
    on_stderr: LineHandler,
    grace_seconds: float = GRACE_SECONDS,
    inherited: Sequence[int] = (),
) -> Ending:
    """Runs a command until it ends or is ended, as described at the top of this file.

    The child inherits the open files ``inherited`` besides its standard streams.
    """
    try:
        child = subprocess.Popen(
            [*_ended_with_parent(command[0]), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            text=True,
            errors="replace",
            start_new_session=True,
            pass_fds=inherited,
        )
    except OSError as error:
        raise BenchError(f"{command[0]} cannot be started: {error.strerror}") from None
    assert child.stdout is not None
    assert child.stderr is not None
    lines = _Lines()
    lines.read(child.stdout, on_stdout)
    lines.read(child.stderr, on_stderr)
    with _forwarding(child) as asked:
        try:
            return _watch(child, lines, asked, timeout_seconds, grace_seconds)
        except BaseException:
            _kill_session(child)
            child.wait(grace_seconds)
            raise


def _ended_with_parent(program: str) -> list[str]:
    """Returns the start of a command line that makes the kernel end a child with its parent."""
    found = shutil.which("setpriv")
    if found is None or "busybox" in os.path.realpath(found) or shutil.which(program) is None:
        return []  # Popen reports a missing program.
    return [found, "--pdeathsig", "TERM", "--"]


class _Lines:
    """Reads streams in threads and passes their lines on in the thread that calls `hand_over`."""

    def __init__(self) -> None:
        self._queue: queue.Queue[tuple[LineHandler, str] | None] = queue.Queue()
        self._open = 0

    def read(self, stream: IO[str], handler: LineHandler) -> None:
        def follow() -> None:
            with stream:
                for line in stream:
                    self._queue.put((handler, line.rstrip("\n")))
            self._queue.put(None)

        self._open += 1
        threading.Thread(target=follow, daemon=True).start()

    @property
    def ended(self) -> bool:
        return self._open == 0

    def hand_over(self, seconds: float) -> None:
        """Passes available lines on, waiting up to ``seconds`` for the first one."""
        try:
            item = self._queue.get(timeout=seconds)
            while True:
                if item is None:
                    self._open -= 1
                else:
                    handler, line = item
                    handler(line)
                item = self._queue.get_nowait()
        except queue.Empty:
            return


def _watch(
    child: subprocess.Popen[str],
    lines: _Lines,
    asked: _Asked,
    timeout_seconds: float,
    grace_seconds: float,
) -> Ending:
    started = time.monotonic()
    next_step = started + timeout_seconds
    steps = iter((signal.SIGTERM, signal.SIGKILL))
    timed_out = killed = ending = False
    gone_at: float | None = None
    while True:
        lines.hand_over(POLL_SECONDS)
        now = time.monotonic()
        if gone_at is None and child.poll() is not None:
            gone_at = now
        if gone_at is not None and (lines.ended or now - gone_at > STREAMS_SECONDS):
            break
        if asked.by is not None and not ending:
            ending, next_step = True, now + grace_seconds
        if gone_at is None and now >= next_step:
            timed_out = timed_out or not ending
            ending, next_step = True, now + grace_seconds
            step = next(steps, signal.SIGKILL)
            if step == signal.SIGKILL:
                killed = True
                _kill_session(child)
            else:
                child.send_signal(step)
    if ending or child.returncode != 0:
        _kill_session(child)
    seconds = timeout_seconds if timed_out else time.monotonic() - started
    return Ending(child.returncode, seconds, asked.by, timed_out, killed)


@dataclass
class _Asked:
    """The first signal that requested the end, if any."""

    by: signal.Signals | None = None


@contextmanager
def _forwarding(child: subprocess.Popen[str]) -> Iterator[_Asked]:
    asked = _Asked()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def forward(number: int, _frame: FrameType | None) -> None:
        asked.by = asked.by or signal.Signals(number)
        if child.poll() is None:
            child.send_signal(number)

    before = {number: signal.signal(number, forward) for number in FORWARDED}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _kill_session(child: subprocess.Popen[str]) -> None:
    """Sends SIGKILL to the child's session: a launcher puts its ranks into other groups."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # After the name, which may contain spaces, come state, parent, group and session.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == child.pid and fields[0] != "Z":
                os.kill(int(entry.name), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
