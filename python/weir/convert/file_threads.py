"""Threads that use files which their starter closes when they have ended."""

from __future__ import annotations

import threading
from collections.abc import Callable


def run_in_threads(
    work: Callable[[int], None],
    threads: int,
    stop: threading.Event,
    tell: Callable[[], None] | None = None,
) -> None:
    """Calls ``work`` with the number of each thread, and returns when all threads have ended.

    ``work`` ends soon after ``stop`` is set, which Ctrl-C does. KeyboardInterrupt is raised only
    when no thread uses a file any more. ``tell`` is called about ten times a second.
    """
    # Thread.join() with a time limit is not used: interrupted by Ctrl-C, it takes the thread for
    # ended (CPython 3.10 to 3.12), and the file would be closed while the thread writes to it.
    ended = [threading.Event() for _ in range(threads)]

    def run(number: int) -> None:
        try:
            work(number)
        finally:
            ended[number].set()

    started = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    try:
        for thread in started:
            thread.start()
        for one in ended:
            while not one.wait(0.1):
                if tell:
                    tell()
    finally:
        # A thread that has not begun when Ctrl-C arrives finds `stop` set.
        stop.set()
        again: KeyboardInterrupt | None = None
        for thread, one in zip(started, ended, strict=True):
            while thread.ident is not None and not one.is_set():
                try:
                    one.wait()
                except KeyboardInterrupt as interrupted:
                    again = interrupted
        if again:
            raise again
