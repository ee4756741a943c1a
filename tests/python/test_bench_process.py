"""The child process: output, deadline, signals, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from weir.bench.errors import BenchError
from weir.bench.process import Ending, run_child

FOREVER = 600.0


def run(script: str, timeout: float = FOREVER, grace: float = 5.0) -> tuple[Ending, list[str]]:
    lines: list[str] = []
    ending = run_child(
        ["/bin/sh", "-c", script],
        os.environ,
        timeout,
        on_stdout=lambda line: lines.append(f"out {line}"),
        on_stderr=lambda line: lines.append(f"err {line}"),
        grace_seconds=grace,
    )
    return ending, lines


def is_running(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(process: int) -> None:
    """SIGKILL takes effect a moment after it was sent."""
    deadline = time.monotonic() + 60
    while is_running(process):
        assert time.monotonic() < deadline, f"process {process} is left"
        time.sleep(0.02)


def test_lines_of_both_streams_arrive_and_success_is_success() -> None:
    ending, lines = run("echo one; echo two >&2; printf 'no newline'")
    assert ending.succeeded
    assert sorted(lines) == ["err two", "out no newline", "out one"]


def test_much_output_on_both_streams_does_not_block() -> None:
    ending, lines = run("seq 1 50000; seq 1 50000 >&2")
    assert ending.succeeded
    assert len(lines) == 100_000
    assert [line for line in lines if line.startswith("out")][-1] == "out 50000"


def test_an_exit_status_is_kept() -> None:
    ending, _ = run("exit 3")
    assert (ending.succeeded, ending.describe()) == (False, "exit status 3")


def test_death_by_a_signal_is_named() -> None:
    assert run("kill -SEGV $$")[0].describe() == "the launcher was ended by SIGSEGV"
    assert run("exit 137")[0].describe() == "exit status 137, a process was ended by SIGKILL"


def test_the_deadline_ends_a_child_that_hangs() -> None:
    ending, _ = run("sleep 600", timeout=0.5, grace=FOREVER)
    assert ending.timed_out
    assert not ending.killed
    assert "deadline" in ending.describe()


def test_a_child_that_ignores_the_end_is_killed_with_its_children() -> None:
    script = "trap '' TERM; (trap '' TERM; echo $$; exec sleep 600) & echo $!; wait; sleep 600"
    ending, lines = run(script, timeout=1.0, grace=0.5)
    assert ending.timed_out
    assert ending.killed
    for process in (int(line.removeprefix("out ")) for line in lines):
        wait_until_gone(process)


def test_children_left_by_a_failed_child_are_ended() -> None:
    ending, lines = run("sleep 600 >/dev/null 2>&1 & echo $!; exit 1")
    assert ending.status == 1
    wait_until_gone(int(lines[0].removeprefix("out ")))


def test_a_grandchild_that_holds_the_streams_does_not_hold_the_end() -> None:
    ending, lines = run("sleep 600 & echo $!; exit 0")
    assert ending.status == 0
    process = int(lines[0].removeprefix("out "))
    assert is_running(process)
    os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_forwarded_and_the_child_may_finish(number: signal.Signals) -> None:
    name = number.name.removeprefix("SIG")
    script = f"trap 'echo ended by {name}; exit 0' {name}; echo ready; while :; do sleep 0.05; done"
    lines: list[str] = []

    def on_line(line: str) -> None:
        lines.append(line)
        if line == "ready":
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    ending = run_child(
        ["/bin/sh", "-c", script],
        os.environ,
        FOREVER,
        on_stdout=on_line,
        on_stderr=lines.append,
    )
    assert lines == ["ready", f"ended by {name}"]
    assert ending.asked_by == number
    assert not ending.succeeded
    assert ending.describe() == f"stopped by {number.name}"
    assert signal.getsignal(number) is before


def test_outside_the_main_thread_the_child_runs_without_forwarding() -> None:
    endings: list[Ending] = []
    thread = threading.Thread(target=lambda: endings.append(run("exit 0")[0]))
    thread.start()
    thread.join(60)
    assert endings[0].succeeded


def test_a_handler_that_raises_ends_the_child() -> None:
    processes: list[int] = []

    def fail(line: str) -> None:
        processes.append(int(line))
        raise RuntimeError("in the handler")

    command = ["/bin/sh", "-c", "echo $$; exec sleep 600"]
    with pytest.raises(RuntimeError, match="in the handler"):
        run_child(command, os.environ, FOREVER, on_stdout=fail, on_stderr=fail)
    wait_until_gone(processes[0])


def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(BenchError, match="/nowhere/mpirun cannot be started: No such file"):
        run_child(["/nowhere/mpirun"], os.environ, 1.0, on_stdout=print, on_stderr=print)


def test_a_ctrl_c_at_the_terminal_reaches_weir_alone() -> None:
    """The child leads a session of its own, so the terminal's signal does not go to it."""
    script = (
        "import os, sys; from weir.bench.process import run_child; "
        "run_child(['/bin/sh', '-c', 'ps -o sid= -p $$'], os.environ, 60, "
        "on_stdout=lambda l: print(int(l) != os.getsid(0)), on_stderr=print)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert answer.stdout == "True\n"
