"""Calls the test bed as a person does; the types of its fixtures."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mpi_launcher import BUILD, is_open_mpi

from testbed.errors import TestbedError
from testbed.hosts import Host
from testbed.targets import Target

PROGRAM = Path(__file__).parents[2] / "tools/testbed/testbed"
WEIR_BENCH = BUILD / "bench/weir-bench"
LIBRARY = BUILD / "src/capi/libweir.so.0"
SECONDS = 170.0

needs_library = pytest.mark.skipif(not LIBRARY.exists(), reason="libweir.so is not built")

MakeHosts = Callable[..., list[Host]]
"""The fixture `hosts` of conftest.py."""
MakeTargets = Callable[..., list[Target]]
"""The fixture `targets` of conftest.py."""


def call(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs the test bed and checks its exit status."""
    done = subprocess.run(
        [str(PROGRAM), "--wait", "60", *words],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == status, f"testbed {' '.join(words)}: {done.stderr}{done.stdout}"
    return done


def call_json(*words: str) -> dict[str, Any]:
    """What a command prints with ``--json``."""
    value: dict[str, Any] = json.loads(call(*words).stdout)
    return value


def switch_traffic() -> dict[str, int]:
    """Bytes that each switch has sent to the one above."""
    links = call_json("hosts", "traffic", "--json")["links"]
    return {link["name"]: link["up"] for link in links if link["name"].startswith("switch")}


def skip_without(require: Callable[[], object]) -> None:
    """Skips with the reason that `require` raises."""
    try:
        require()
    except TestbedError as error:
        pytest.skip(str(error))


def launcher(ranks: int) -> list[str]:
    """What starts so many ranks on the hosts that are up; skips where that is of another MPI."""
    if not is_open_mpi():
        pytest.skip("the ranks of the test bed's hosts are started by Open MPI's launcher")
    return shlex.split(call("hosts", "launcher", "-n", str(ranks)).stdout)


def library_ranks(ranks: int, program: Path, *words: str) -> list[str]:
    """A Python program that loads the library, started on so many ranks."""
    return [
        *launcher(ranks), "-x", f"WEIR_LIBRARY={LIBRARY}", sys.executable, str(program), *words,
    ]  # fmt: skip


def kill_up(delay: float, *words: str) -> None:
    """Kills an ``up`` after the delay, and takes away what it has made by then."""
    killed = subprocess.Popen([str(PROGRAM), *words], stdout=subprocess.DEVNULL)
    time.sleep(delay)
    killed.send_signal(signal.SIGKILL)
    killed.wait(timeout=30)
    call("down")
