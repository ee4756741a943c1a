"""Whatever happens to the test bed's commands, `down` leaves the machine as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from testbed_calls import PROGRAM, MakeTargets, call, call_json, kill_up
from testbed_traces import machine_state

JOURNAL = Path("/run/weir-testbed/journal.json")


@pytest.mark.parametrize("delay", [0.12, 0.2, 0.3, 0.5])
def test_down_after_up_was_killed(targets: MakeTargets, delay: float) -> None:
    before = machine_state()
    targets(size="16MiB")  # skips where targets cannot be
    call("targets", "down")
    assert machine_state() == before
    kill_up(delay, "targets", "up", "--rates", "50MB/s", "--count", "12", "--size", "64MiB")
    assert machine_state() == before
    call("down")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_up_takes_itself_away(testbed: None, number: signal.Signals) -> None:  # noqa: ARG001
    before = machine_state()
    command = [str(PROGRAM), "targets", "up", "--count", "32", "--size", "32MiB"]
    interrupted = subprocess.Popen(
        ["env", "--default-signal=HUP,INT,TERM", *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 20
    while not JOURNAL.exists() and interrupted.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    interrupted.send_signal(number)
    _, said = interrupted.communicate(timeout=60)
    assert interrupted.returncode == 128 + number, said
    assert "interrupted" in said
    assert machine_state() == before


def test_down_without_the_journal(targets: MakeTargets) -> None:
    before = machine_state()
    targets("50MB/s", size="16MiB", options="--count 3")
    JOURNAL.unlink()
    call("down")
    assert machine_state() == before


def test_down_with_a_journal_that_lacks_something(targets: MakeTargets) -> None:
    before = machine_state()
    targets("50MB/s", size="16MiB", options="--count 3")
    stored = json.loads(JOURNAL.read_text())
    made = stored["parts"]["targets"]["made"]
    lost = [entry for entry in made if "target1" in entry[1]]
    assert {entry[0] for entry in lost} >= {"mount", "loop"}
    stored["parts"]["targets"]["made"] = [entry for entry in made if entry not in lost]
    JOURNAL.write_text(json.dumps(stored))
    call("down")
    assert machine_state() == before


def test_down_leaves_what_others_made(targets: MakeTargets, tmp_path: Path) -> None:
    (target,) = targets(size="64MiB")
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["losetup", "--find", str(image)], check=True, timeout=30)
    try:
        held = subprocess.run(
            ["losetup", "--associated", str(image)],
            capture_output=True, text=True, check=True, timeout=30,
        )  # fmt: skip
        call("down")
        assert not os.path.ismount(target.directory)
        listed = subprocess.run(["losetup"], capture_output=True, text=True, check=True, timeout=30)
        assert str(image) in listed.stdout
        assert held.stdout
    finally:
        device = held.stdout.partition(":")[0]
        subprocess.run(["losetup", "--detach", device], check=True, timeout=30)


def test_a_target_in_use_is_named_and_can_be_freed(targets: MakeTargets) -> None:
    (target,) = targets(size="64MiB")
    with subprocess.Popen(["sleep", "100"], cwd=target.directory) as user:
        said = call("down", status=1).stderr
        assert f"{target.directory} is in use by {user.pid} (sleep)" in said
        assert said.count("\n") == 1
        call("down", "--kill")
    assert user.returncode == -signal.SIGTERM
    assert call_json("status", "--json") == {}


def test_what_is_refused(targets: MakeTargets) -> None:
    targets(size="16MiB")
    refused = {
        ("targets", "up"): "up already",
        ("targets", "up", "--rates", "fast"): "rate 'fast' is not understood",
        ("targets", "up", "--size", "1TiB"): "is not understood",
        ("targets", "up", "--size", "4MiB"): "needs a --size of at least",
        ("targets", "up", "--rates", "1,2MB/s", "--count", "3"): "2 values for 3 targets",
        ("targets", "set", "target7", "--rate", "1MB/s"): "no target 'target7'",
        ("targets", "set", "target0"): "nothing to set",
    }
    for words, part in refused.items():
        done = subprocess.run(
            [str(PROGRAM), *words], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode in (1, 2), words
        assert part in done.stderr
        assert done.stderr.count("\n") == 1
    assert list(call_json("status", "--json")) == ["targets"]


def test_two_commands_at_once_are_refused(testbed: None) -> None:  # noqa: ARG001
    first = subprocess.Popen(
        [str(PROGRAM), "targets", "up", "--count", "40", "--size", "32MiB"],
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not JOURNAL.exists() and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    second = subprocess.run(
        [str(PROGRAM), "status"], capture_output=True, text=True, timeout=60, check=False
    )
    assert first.wait(timeout=60) == 0
    assert second.returncode == 1
    assert f"another testbed command runs (process {first.pid})" in second.stderr


def test_only_root_may() -> None:
    done = subprocess.run(
        [str(PROGRAM), "status"], capture_output=True, text=True, timeout=60, check=False,
        user=65534 if os.geteuid() == 0 else None,
    )  # fmt: skip
    assert done.returncode == 2
    assert "only root" in done.stderr
