"""Runs of weir-bench that are to fail, and what must hold after every one of them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpi_launcher import BUILD, environment, launcher, preload, prints_after_a_signal

from weir.results.schema import Run

WEIR_BENCH = BUILD / "bench" / "weir-bench"
FAULTY_IO = BUILD / "tests" / "failure" / "faulty_io.so"

RANKS = 4
# 4 matrices of 128 x 128 numbers: every rank moves 32 KiB at a time.
SMALL = ("128", "4", "1", "32", "4096", "1", "1")
BRIEF = ("--warmups", "0", "--repetitions", "2", "--max-repetitions", "2")
ENDLESS = ("--warmups", "0", "--repetitions", "1000000", "--max-repetitions", "1000000")
SHARE_BYTES = 128 * 128 * 8 // RANKS

# Longer than any run here should take on a busy machine, shorter than the test's own deadline.
PATIENCE_SECONDS = 240
START_SECONDS = 60
ENDING_SECONDS = 15

# When it gets a signal, Open MPI 4's launcher kills its ranks after a second: on a busy machine the
# rank that ends first has then written its record, but not yet its message. The launcher waits for
# as long as this says whenever it ends ranks, so only the tests that need it ask for it.
PATIENT_LAUNCHER = {"OMPI_MCA_odls_base_sigkill_timeout": "5"}


@dataclass(frozen=True)
class Ended:
    """A run that has ended. ``directory`` is where its test files were."""

    status: int
    stdout: str
    stderr: str
    results: Path
    directory: Path

    @property
    def messages(self) -> list[str]:
        """The lines that weir-bench itself wrote for the user; the launcher adds its own."""
        return [line for line in self.stderr.splitlines() if line.startswith("weir-bench: ")]


def command_of(
    workload: Sequence[str], ranks: int, *, fault: str, wrapper: Sequence[str]
) -> list[str]:
    """The launcher's command line. The ranks alone see the fault, not the launcher."""
    if not WEIR_BENCH.exists() or not FAULTY_IO.exists():
        raise RuntimeError(f"{WEIR_BENCH} or {FAULTY_IO} is missing: ./dev build makes them")
    spoiled = ["env", f"LD_PRELOAD={preload(FAULTY_IO)}", f"WEIR_FAULT={fault}"] if fault else []
    return [
        *launcher(),
        *("-n", str(ranks)),
        *spoiled,
        *wrapper,
        *(str(WEIR_BENCH), *workload),
    ]


def run(
    tmp_path: Path,
    *arguments: str,
    workload: Sequence[str] = ("madbench", *SMALL),
    ranks: int = RANKS,
    fault: str = "",
    wrapper: Sequence[str] = (),
    directory: Path | None = None,
    while_running: Callable[[subprocess.Popen[str]], None] | None = None,
    variables: Mapping[str, str] | None = None,
) -> Ended:
    """Runs weir-bench to its end; kills it and fails when it hangs."""
    results = tmp_path / "results"
    if directory is None:
        directory = tmp_path / "directory"
        directory.mkdir()
    places = ("--directory", str(directory), "--output", str(results))
    command = command_of((*workload, *arguments, *places), ranks, fault=fault, wrapper=wrapper)
    with (
        (tmp_path / "stdout").open("w+") as stdout,
        (tmp_path / "stderr").open("w+") as stderr,
        subprocess.Popen(
            command,
            stdout=stdout,
            stderr=stderr,
            text=True,
            cwd=tmp_path,
            env=environment(variables or {}),
            start_new_session=True,
        ) as process,
    ):
        try:
            if while_running is not None:
                while_running(process)
            status = process.wait(timeout=PATIENCE_SECONDS)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            for rank_process in processes_of(results):
                os.kill(rank_process, signal.SIGKILL)
            sys.stderr.write((tmp_path / "stderr").read_text())
            raise
    return Ended(
        status,
        (tmp_path / "stdout").read_text(),
        (tmp_path / "stderr").read_text(),
        results,
        directory,
    )


def processes_of(results: Path) -> list[int]:
    """The weir-bench processes that were started with ``--output RESULTS`` and still run."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it ended while we looked, or is another person's
        if os.fsencode(results) in words:
            found.append(int(folder.name))
    return found


def ranks_under_way(tmp_path: Path, least_bytes: int = 0) -> dict[int, int]:
    """Waits until a run has begun its first repetition; the process of every rank.

    ``least_bytes``: so much is in a file of it, which the ranks no longer open then.
    """

    def under_way() -> bool:
        files = (path for path in (tmp_path / "directory").rglob("weir-*") if path.is_file())
        with contextlib.suppress(FileNotFoundError):  # removed after a repetition
            return any(path.stat().st_size >= least_bytes for path in files)
        return False

    assert wait_for(under_way, START_SECONDS)
    processes = {}
    for process in processes_of(tmp_path / "results"):
        folder = Path(f"/proc/{process}")
        if (folder / "comm").read_text().strip() != WEIR_BENCH.name:
            continue  # the launcher
        for variable in (folder / "environ").read_bytes().split(b"\0"):
            name, _, value = variable.partition(b"=")
            if name in {b"OMPI_COMM_WORLD_RANK", b"PMI_RANK"}:
                processes[int(value)] = process
    assert sorted(processes) == list(range(RANKS))
    return processes


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether ``condition`` came true within ``seconds``."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def read_run(ended: Ended) -> Run:
    """The only run of the results, checked against the schema."""
    (path,) = ended.results.glob("*/run.json")
    return Run.model_validate(json.loads(path.read_text()))


def assert_ended_cleanly(ended: Ended, status: str = "failed") -> Run:
    """What every broken run must leave behind; returns its record.

    A status other than 0, one line for the user, a record that says the same, nothing of the test
    files, no process.
    """
    assert_nothing_left(ended)
    record = read_run(ended)
    assert record.status == status
    assert record.failure is not None
    assert record.finished_utc is not None
    assert_says(ended, f"{status}: {record.failure.message}")
    return record


def assert_says(ended: Ended, line: str) -> None:
    """One line for the user, unless the launcher got a signal and prints nothing from then on."""
    if line.startswith("interrupted") and not prints_after_a_signal():
        assert ended.messages == [], ended.stderr
    else:
        assert ended.messages == [f"weir-bench: {line}"], ended.stderr


def assert_nothing_left(ended: Ended) -> None:
    assert wait_for(lambda: not processes_of(ended.results), ENDING_SECONDS), ended.stderr
    assert ended.status != 0, ended.stderr
    assert [path.name for path in ended.directory.rglob("*")] == []
