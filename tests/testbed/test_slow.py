"""A command slowed on purpose is as slow as asked, and nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.programs import missing_programs
from testbed.slow import processor_groups
from testbed_calls import PROGRAM, call, skip_without
from testbed_traces import machine_state

CALLS = 200
KINDS = [["processors", "--percent", "50"], ["calls", "--microseconds", "1"]]

TIME_CALLS = f"""
import os, sys, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
piece = bytearray(4096)
calls = [
    lambda: os.pwrite(file, piece, 0), lambda: os.pread(file, 4096, 0),
    lambda: os.pwritev(file, [piece], 0), lambda: os.preadv(file, [piece], 0),
    lambda: os.write(file, piece), lambda: os.lseek(file, 0, 0) + len(os.read(file, 4096)),
]
for call in calls:
    start = time.monotonic()
    for _ in range({CALLS}):
        call()
    print((time.monotonic() - start) / {CALLS})
"""

TIME_PIPE = """
import os, time
reading, writing = os.pipe()
start = time.monotonic()
for _ in range(1000):
    os.read(reading, os.write(writing, b"x"))
print(time.monotonic() - start)
"""

SHARE_OF_PROCESSOR = """
import time
start, used = time.monotonic(), time.process_time()
while time.process_time() - used < 0.4:
    pass
print((time.process_time() - used) / (time.monotonic() - start))
"""


@pytest.fixture(autouse=True)
def _needs_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("the test bed needs root")


def python(program: str, *words: str) -> list[str]:
    return [sys.executable, "-c", program, *words]


@pytest.mark.alone
@pytest.mark.skipif(bool(missing_programs(["cc"])), reason="cc is not installed")
def test_each_call_takes_the_time_added(tmp_path: Path) -> None:
    command = python(TIME_CALLS, str(tmp_path / "file"))
    plain = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    slowed = call("slow", "calls", "--microseconds", "1000", "--", *command)
    assert min(map(float, plain.stdout.split())) < 0.001
    times = [float(word) for word in slowed.stdout.split()]
    assert len(times) == 6
    assert min(times) >= 0.001


@pytest.mark.skipif(bool(missing_programs(["cc"])), reason="cc is not installed")
def test_pipes_are_not_slowed() -> None:
    slowed = call("slow", "calls", "--microseconds", "20000", "--", *python(TIME_PIPE))
    assert float(slowed.stdout) < 20  # of 40 s that the added time alone would take


@pytest.mark.alone
def test_processors_are_slowed() -> None:
    skip_without(processor_groups)
    percent = 10 / len(os.sched_getaffinity(0)) * 2
    words = ["slow", "processors", "--percent", str(percent), "--", *python(SHARE_OF_PROCESSOR)]
    share = float(call(*words).stdout)
    assert share <= 0.2 * 1.1


@pytest.mark.parametrize("kind", KINDS)
def test_the_exit_status_is_the_commands(testbed: None, kind: list[str]) -> None:  # noqa: ARG001
    before = machine_state()
    call("slow", *kind, "--", "sh", "-c", "exit 7", status=7)
    call("slow", *kind, "--", "sh", "-c", "kill -TERM $$", status=128 + signal.SIGTERM)
    assert "/no/such" in call("slow", *kind, "--", "/no/such/program", status=127).stderr
    assert machine_state() == before


@pytest.mark.parametrize("kind", KINDS)
def test_down_after_a_kill(testbed: None, kind: list[str]) -> None:  # noqa: ARG001
    before = machine_state()
    command = ["sh", "-c", "echo started; exec sleep 100"]
    with subprocess.Popen(
        [str(PROGRAM), "slow", *kind, "--", *command], stdout=subprocess.PIPE, text=True
    ) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "started\n"
        children = Path(f"/proc/{killed.pid}/task/{killed.pid}/children").read_text().split()
        killed.send_signal(signal.SIGKILL)
        assert machine_state() != before
        call("down")
        assert machine_state() == before
        for child in children:
            os.kill(int(child), signal.SIGKILL)


def test_a_signal_reaches_the_command(tmp_path: Path) -> None:
    done = tmp_path / "done"
    script = f"trap 'touch {done}; exit 3' TERM; echo started; while :; do sleep 0.05; done"
    words = [str(PROGRAM), "slow", "processors", "--percent", "50", "--", "sh", "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as slowed:
        assert slowed.stdout is not None
        assert slowed.stdout.readline() == "started\n"
        slowed.terminate()
        assert slowed.wait(timeout=30) == 3
    assert done.exists()


def test_what_is_refused() -> None:
    refused = {
        ("processors", "--percent", "0", "--", "true"): "--percent 0 must be from",
        ("processors", "--percent", "101", "--", "true"): "--percent 101 must be from",
        ("calls", "--microseconds", "-1", "--", "true"): "must be from 0",
        ("calls", "--microseconds", "5"): "no command given",
    }
    for words, part in refused.items():
        said = call("slow", *words, status=2).stderr
        assert part in said
        assert said.count("\n") == 1
