"""``weir monitor --serve``: a monitor for another host, which starts it there and has its pipes.

It says ``recording`` when the first sample is taken, and answers each line ``time`` with this
host's CLOCK_MONOTONIC, by which the other host finds how far the two clocks are apart. At the line
``end``, or when its input ends, it says ``recorded BYTES``, then the bytes of the recording.
"""

from __future__ import annotations

import os
import select
import signal
import tempfile
import time
from pathlib import Path

from weir.monitor.watching import watch

READY = b"recording\n"
TIME, END = b"time", b"end"
AT_A_TIME = 1 << 20


class Questions:
    """Answers lines from a pipe while the monitor waits for its next sample."""

    def __init__(self, questions: int, answers: int) -> None:
        self._questions = questions
        self._answers = answers
        self._rest = b""
        self._told = False

    def keeps_on(self, seconds: float) -> bool:
        """Waits so long; returns whether the monitor goes on."""
        if not self._told:
            self._told = True
            write_all(self._answers, READY)
        due = time.monotonic() + seconds
        while (left := due - time.monotonic()) >= 0:
            if not select.select([self._questions], [], [], left)[0]:
                return True
            text = os.read(self._questions, 4096)
            if not text:
                return False
            *lines, self._rest = (self._rest + text).split(b"\n")
            for line in lines:
                if line == TIME:
                    write_all(self._answers, b"%d\n" % time.monotonic_ns())
                elif line == END:
                    return False
        return True


def serve(interval_seconds: float, questions: int = 0, answers: int = 1) -> None:
    """Does what is at the top of this file, by two open files."""
    # Ctrl-C reaches every process of a terminal; this monitor ends when the other host says so.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with tempfile.TemporaryDirectory(prefix="weir-monitor-") as folder:
        recording = Path(folder, "recording")
        watch(recording, interval_seconds, keeps_on=Questions(questions, answers).keeps_on)
        write_all(answers, b"recorded %d\n" % recording.stat().st_size)
        with recording.open("rb") as stream:
            while part := stream.read(AT_A_TIME):
                write_all(answers, part)


def write_all(descriptor: int, text: bytes) -> None:
    """Writes a whole text to an open file."""
    while text:
        text = text[os.write(descriptor, text) :]
