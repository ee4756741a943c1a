"""A measurement on a file system whose servers a monitor watches, as from a host of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from mpi_launcher import environment

from weir.results.folder import load_run
from weir.results.monitor_records import Monitor

WEIR = [sys.executable, "-m", "weir.cli"]


def watched_run(
    words: list[str], directory: str, results: Path, reach: str, variables: Mapping[str, str]
) -> tuple[Path, Monitor]:
    """Measures in `directory` by the words of ``weir bench``, in a session with these variables.

    The words `reach` run a command where the servers are. Returns the folder of the run, below
    `results`, and what the monitor found.
    """
    where = ["--directory", directory, "--output", str(results)]
    watching = {"WEIR_MONITOR_ON": "server", "WEIR_MONITOR_REACH": f"{reach} {' '.join(WEIR)}"}
    done = subprocess.run(
        [*WEIR, "bench", *words, *where, "--monitor", "100ms", "--no-report"],
        env=environment(watching | dict(variables)),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = results.glob("*/run.json")
    monitor = load_run(file.parent).monitor
    assert monitor is not None
    assert [one.host for one in monitor.hosts] == ["server"], done.stderr
    return file.parent, monitor
