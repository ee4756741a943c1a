"""Monitors on other hosts, such as servers, while a job runs; this host has their clocks.

``WEIR_MONITOR_ON`` names the hosts, and ``WEIR_MONITOR_REACH`` the words that run ``weir`` on one:
``{host}`` in them is its name. Before the job and after it, each host is asked for its clock. An
answer was read between question and answer, so that its clock is known to within their distance;
between the two moments, the clocks are taken to be apart by something between the two values.
"""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from weir.errors import Error
from weir.monitor.serving import AT_A_TIME, END, READY, TIME, write_all

HOSTS, REACH = "WEIR_MONITOR_ON", "WEIR_MONITOR_REACH"
REACHED_BY = "ssh -o BatchMode=yes {host} weir"
ANSWER_SECONDS = 20.0
QUESTIONS = 16
LONGEST_RECORDING = 4 << 30
LONGEST_LINE = 4096


@dataclass(frozen=True)
class Apart:
    """By how many nanoseconds the clock of another host is ahead of this host's."""

    least_ns: int
    most_ns: int

    def and_(self, other: Apart) -> Apart:
        return Apart(min(self.least_ns, other.least_ns), max(self.most_ns, other.most_ns))

    @property
    def middle_ns(self) -> int:
        return (self.least_ns + self.most_ns) // 2

    @property
    def error_bound_ns(self) -> int:
        return (self.most_ns - self.least_ns + 1) // 2


@dataclass(frozen=True)
class Recorded:
    """What the monitor of another host has recorded."""

    host: str
    file: str
    """The name of the recording in its folder."""
    apart: Apart


def hosts_of(environment: Mapping[str, str]) -> list[str]:
    """Returns the hosts on which monitors are to run."""
    names = environment.get(HOSTS, "").replace(",", " ").split()
    return list(dict.fromkeys(names))


def command_for(host: str, interval_seconds: float, environment: Mapping[str, str]) -> list[str]:
    """Returns the command that runs a monitor on a host."""
    words = shlex.split(environment.get(REACH, "") or REACHED_BY)
    reached = [word.replace("{host}", host) for word in words]
    return [*reached, "monitor", "--serve", "--interval", f"{interval_seconds}s"]


class Elsewhere:
    """The monitor of another host; each method raises ``Error`` if it does not answer."""

    def __init__(self, host: str, interval_seconds: float, environment: Mapping[str, str]) -> None:
        self.host = host
        self._text = b""
        self._apart: Apart | None = None
        command = command_for(host, interval_seconds, environment)
        try:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise Error(f"{command[0]} cannot be run: {error.strerror}; set {REACH}") from None

    def begin(self) -> None:
        """Waits for the first sample, then compares the clocks."""
        if self._line() + b"\n" != READY:
            raise Error("what answers is no monitor of this version of weir")
        self._apart = self._compared()

    def finish(self, folder: Path) -> Recorded:
        """Compares the clocks again, ends the monitor and fetches its recording."""
        assert self._apart is not None
        apart = self._apart.and_(self._compared())
        self._say(END)
        word, _, size = self._line().partition(b" ")
        if word != b"recorded" or not size.isdigit() or int(size) > LONGEST_RECORDING:
            raise Error("it did not send its recording")
        name = f"monitor-{self.host.replace('/', '-')}.recording"
        with (folder / name).open("wb") as stream:
            left = int(size)
            while left:
                part = self._text[:left] or self._read(min(left, AT_A_TIME))
                self._text = self._text[len(part) :]
                stream.write(part)
                left -= len(part)
        return Recorded(self.host, name, apart)

    def close(self) -> str:
        """Ends it, whatever it does, and returns the last line of its standard error."""
        try:
            _, said = self._child.communicate(timeout=ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            _, said = self._child.communicate()
        lines = said.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _compared(self) -> Apart:
        found = []
        for _ in range(QUESTIONS):
            asked = time.monotonic_ns()
            self._say(TIME)
            line = self._line()
            answered = time.monotonic_ns()
            if not line.isdigit():
                raise Error("it did not tell its clock")
            found.append(Apart(int(line) - answered, int(line) - asked))
        return min(found, key=lambda one: one.error_bound_ns)

    def _say(self, line: bytes) -> None:
        assert self._child.stdin is not None
        try:
            write_all(self._child.stdin.fileno(), line + b"\n")
        except OSError:
            raise Error("it has ended") from None

    def _line(self) -> bytes:
        while b"\n" not in self._text:
            self._text += self._read(LONGEST_LINE)
            if len(self._text) > LONGEST_LINE:
                raise Error("what answers is no monitor of this version of weir")
        line, _, self._text = self._text.partition(b"\n")
        return line

    def _read(self, most: int) -> bytes:
        assert self._child.stdout is not None
        descriptor = self._child.stdout.fileno()
        if not select.select([descriptor], [], [], ANSWER_SECONDS)[0]:
            raise Error(f"it did not answer within {ANSWER_SECONDS:.0f} s")
        text = os.read(descriptor, most)
        if not text:
            raise Error("it has ended")
        return text
