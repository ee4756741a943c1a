"""A rank dies, hangs or is told to stop: the run ends, says so, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from failing_runs import (
    BRIEF,
    ENDLESS,
    PATIENT_LAUNCHER,
    assert_ended_cleanly,
    ranks_under_way,
    run,
)
from mpi_marks import needs_survivors

ENGINES = [("POSIX", "SYNC"), ("POSIX", "ASYNC"), ("MPI", "SYNC"), ("MPI", "ASYNC")]


@needs_survivors
@pytest.mark.parametrize(
    ("call", "nth"), [("pwrite", 1), ("pwrite", 6), ("pread", 2), ("fsync", 3)]
)
def test_a_rank_killed_in_a_call(tmp_path: Path, call: str, nth: int) -> None:
    ended = run(tmp_path, *BRIEF, fault=f"rank=2,call={call},nth={nth},effect=kill")
    failure = assert_ended_cleanly(ended).failure
    assert failure is not None
    assert failure.rank == 2
    assert failure.cause == "lost_rank"
    assert "rank 2: was lost" in ended.messages[0]


@needs_survivors
@pytest.mark.parametrize(("method", "mode"), ENGINES)
@pytest.mark.parametrize("victim", [0, 3])
def test_a_rank_killed_from_outside(tmp_path: Path, method: str, mode: str, victim: int) -> None:
    def kill(_: subprocess.Popen[str]) -> None:
        os.kill(ranks_under_way(tmp_path, least_bytes=1)[victim], signal.SIGKILL)

    options = ("--iomethod", method, "--iomode", mode)
    failure = assert_ended_cleanly(run(tmp_path, *ENDLESS, *options, while_running=kill)).failure
    assert failure is not None
    assert failure.rank == victim
    assert failure.cause == "lost_rank"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("method", "mode"), ENGINES)
def test_a_signal_to_the_launcher(
    tmp_path: Path, method: str, mode: str, sent: signal.Signals
) -> None:
    """Ctrl-C and a batch system's time limit."""

    def interrupt(launcher: subprocess.Popen[str]) -> None:
        ranks_under_way(tmp_path)
        launcher.send_signal(sent)

    options = ("--iomethod", method, "--iomode", mode)
    ended = run(tmp_path, *ENDLESS, *options, while_running=interrupt, variables=PATIENT_LAUNCHER)
    failure = assert_ended_cleanly(ended, status="interrupted").failure
    assert failure is not None
    assert failure.cause == "interrupted"


@pytest.mark.parametrize("call", ["pwrite", "fsync", "pread"])
def test_a_call_that_never_returns(tmp_path: Path, call: str) -> None:
    ended = run(tmp_path, *BRIEF, "--deadline", "3", fault=f"rank=1,call={call},nth=2,effect=hang")
    failure = assert_ended_cleanly(ended).failure
    assert failure is not None
    assert failure.cause == "deadline"
    assert "--deadline" in ended.messages[0]


def test_a_hanging_call_is_named_although_others_wait_for_it(tmp_path: Path) -> None:
    """The ranks that wait at the barrier reach their deadline later than the one that hangs."""
    ended = run(tmp_path, *BRIEF, "--deadline", "3", fault="rank=1,call=pwrite,nth=2,effect=hang")
    failure = assert_ended_cleanly(ended).failure
    assert failure is not None
    assert failure.rank == 1
    assert failure.operation == "write"
    assert failure.file is not None
