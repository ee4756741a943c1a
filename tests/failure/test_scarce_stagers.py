"""Stagers that the system gives no more open files, and stagers that end early.

What needs them fails with a line, and everything else goes on.
"""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from own_stager import STAGER, Stager, start
from staged_files import RUN_SECONDS, run


@contextmanager
def limited(one: Stager, limit: int, value: int) -> Iterator[None]:
    before = resource.prlimit(one.pid, limit)
    resource.prlimit(one.pid, limit, (value, before[1]))
    try:
        yield
    finally:
        resource.prlimit(one.pid, limit, before)


def wait_until_said(one: Stager, words: str) -> None:
    end = time.monotonic() + 30
    while words not in one.log():
        assert time.monotonic() < end, one.log()
        time.sleep(0.02)


def test_programs_that_connect_wait_until_the_stager_may_open_files(tmp_path: Path) -> None:
    one = start("--stager-memory", "16m")
    try:
        open_files = len(list(Path(f"/proc/{one.pid}/fd").iterdir()))
        with limited(one, resource.RLIMIT_NOFILE, open_files):
            asked = subprocess.Popen([STAGER, "--stager-socket", one.socket, "--report"],
                                     stdout=subprocess.PIPE, text=True)  # fmt: skip
            wait_until_said(one, "nobody can connect: accept failed: Too many open files")
            assert asked.poll() is None
        told, _ = asked.communicate(timeout=30)
        assert "sessions" in told
        assert one.log().count("nobody can connect") == 1
    finally:
        one.kill()


def test_a_stager_that_is_killed_has_not_been_stopped(tmp_path: Path) -> None:
    """Whoever waits until everything is stored is told that it was not."""
    one = start("--stager-memory", "16m")
    with ThreadPoolExecutor() as threads:
        program = threads.submit(run, one, "held", tmp_path, "raw", ranks=2)
        end = time.monotonic() + RUN_SECONDS
        while not one.report()["sessions"]:
            assert time.monotonic() < end
            assert not program.done(), program.result().stderr
            time.sleep(0.02)
        asked = subprocess.Popen([STAGER, "--stager-socket", one.socket, "--stop"],
                                 stderr=subprocess.PIPE, text=True)  # fmt: skip
        while not one.report()["stopping"]:
            assert time.monotonic() < end
            time.sleep(0.02)
        one.kill()
        _, said = asked.communicate(timeout=30)
        (tmp_path / "go").touch()
        program.result()
    assert asked.returncode == 1
    assert "the stager ended before it had stored everything" in said
