"""Stagers that the system gives no more memory or open files, and stagers that end early.

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
from staged_files import RUN_SECONDS, run, steps_in

NO_MEMORY = "the stager found no memory for what it has to do"


@contextmanager
def limited(one: Stager, limit: int, value: int) -> Iterator[None]:
    before = resource.prlimit(one.pid, limit)
    resource.prlimit(one.pid, limit, (value, before[1]))
    try:
        yield
    finally:
        resource.prlimit(one.pid, limit, before)


def address_space(one: Stager) -> int:
    status = Path(f"/proc/{one.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmSize"))
    return int(line.split()[1]) << 10


def wait_until_said(one: Stager, words: str) -> None:
    end = time.monotonic() + 30
    while words not in one.log():
        assert time.monotonic() < end, one.log()
        time.sleep(0.02)


def test_a_job_without_memory_fails_its_program_and_no_other(tmp_path: Path) -> None:
    """What was spilled is read back into memory of 16 MiB, and other jobs need little."""
    one = start("--stager-memory", "16m", "--stager-spill", str(tmp_path / "spill"),
                "--stager-spill-quota", "128m")  # fmt: skip
    try:
        folders = [tmp_path / name for name in ("failed", "after")]
        for folder in folders:
            folder.mkdir()
        with limited(one, resource.RLIMIT_AS, address_space(one) + (8 << 20)):
            failed = run(one, "large", folders[0], "cdf5", "stored")
            assert failed.returncode != 0
            assert NO_MEMORY in failed.stderr, failed.stdout + failed.stderr
            assert NO_MEMORY in one.log()
            other = run(one, "many", tmp_path, "cdf5", "3", "other")
            assert other.returncode == 0, other.stdout + other.stderr
        after = run(one, "large", folders[1], "cdf5", "stored")
        assert after.returncode == 0, after.stdout + after.stderr
        one.wait_until_stored()
        assert steps_in(tmp_path / "other.nc") == 3
    finally:
        one.kill()


def test_a_stager_that_starts_without_memory_says_so(tmp_path: Path) -> None:
    def keep_memory_small() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (120 << 20, 120 << 20))

    refused = subprocess.run(
        [STAGER, "--stager-socket", tmp_path / "stager", "--stager-memory", "16m",
         "--stager-threads", "64"],
        capture_output=True, text=True, timeout=30, check=False, preexec_fn=keep_memory_small,
    )  # fmt: skip
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1, refused.stderr
    assert "ulimit -v" in refused.stderr


def test_programs_that_connect_wait_until_the_stager_may_open_files() -> None:
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
