"""Stagers that end before they have stored everything."""

from __future__ import annotations

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from own_stager import STAGER, start
from staged_files import RUN_SECONDS, run


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
