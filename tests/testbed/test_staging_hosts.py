"""Steps of a session on several hosts, which a stager on each stores."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from own_stager import STAGER

import weir
from testbed_calls import MakeHosts, call, library_ranks, needs_library

PROGRAM = Path(__file__).parent / "staged_host_program.py"
RANKS, ROWS, STEPS = 6, 60, 3
SECONDS = 100

pytestmark = needs_library


def owner_of_row(row: int) -> int:
    return row // 7 % RANKS


def expect_all_steps(path: Path) -> None:
    owners = np.array([owner_of_row(row) for row in range(ROWS)], "float64")
    with weir.open(path) as file:
        assert file.steps == STEPS
        for step in range(STEPS):
            assert (file["a"][step] == 10.0 * step + owners[:, None]).all()


def wait_for(path: Path, job: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + SECONDS
    while not path.exists():
        assert time.monotonic() < end, f"{path.name} is not there"
        assert job.poll() is None, f"the program ended with {job.returncode}"
        time.sleep(0.01)


def test_steps_are_stored_although_a_link_is_cut_and_restored(
    hosts: MakeHosts, tmp_path: Path
) -> None:
    """Once when a step has just been accepted, and once while the next one is written."""
    made = hosts(3)
    sockets = Path(tempfile.mkdtemp(prefix="weir-test-"))
    words = [str(tmp_path), str(sockets), str(ROWS), str(STEPS), "node"]
    command = library_ranks(RANKS, PROGRAM, *words)
    with subprocess.Popen(command) as job:
        try:
            for step in range(STEPS):
                wait_for(tmp_path / f"accepted-{step}", job)
                if step == 0:  # stagers tell each other that it is stored, or have told it
                    call("hosts", "unplug", made[2].name)
                    time.sleep(2)
                    call("hosts", "plug-in", made[2].name)
                (tmp_path / f"go-{step}").touch()
                if step == 1:  # ranks and stagers are at work on step 2
                    call("hosts", "unplug", made[1].name)
                    time.sleep(2)
                    call("hosts", "plug-in", made[1].name)
            assert job.wait(SECONDS) == 0
        finally:
            job.kill()
    assert len(list(sockets.glob("*/stager"))) == len(made), "each host has a stager"
    logs = [log.read_text() for log in sorted(sockets.glob("*/stager.log"))]
    assert sum("stagers of other nodes can join" in log for log in logs) == 1, logs
    expect_all_steps(tmp_path / "out.h5")


def test_a_service_stores_steps_although_its_link_is_cut_and_restored(
    hosts: MakeHosts, tmp_path: Path
) -> None:
    """The stager is on the last host: ranks send to it, and wait for it, over the link that is cut.

    Once while the ranks are between two steps, and once while they write and end one.
    """
    made = hosts(3)
    folder = Path(tempfile.mkdtemp(prefix="weir-test-"))
    socket, rendezvous = folder / "stager", folder / "rendezvous"
    call("hosts", "run", made[2].name, "--", str(STAGER), "--detach",
         "--stager-socket", str(socket), "--stager-listen", made[2].address,
         "--stager-rendezvous", str(rendezvous),
         "--stager-memory", "64m")  # fmt: skip
    words = [str(tmp_path), str(folder), str(ROWS), str(STEPS), f"service:{rendezvous}"]
    try:
        with subprocess.Popen(library_ranks(RANKS, PROGRAM, *words)) as job:
            try:
                for step in range(STEPS):
                    wait_for(tmp_path / f"accepted-{step}", job)
                    if step == 0:
                        call("hosts", "unplug", made[2].name)
                        time.sleep(2)
                        call("hosts", "plug-in", made[2].name)
                    (tmp_path / f"go-{step}").touch()
                    if step == 1:
                        call("hosts", "unplug", made[2].name)
                        time.sleep(2)
                        call("hosts", "plug-in", made[2].name)
                assert job.wait(SECONDS) == 0
            finally:
                job.kill()
    finally:
        subprocess.run([STAGER, "--stager-socket", socket, "--stop"], timeout=SECONDS, check=True)
    assert "was lost" not in socket.with_name("stager.log").read_text()
    assert not rendezvous.exists()
    expect_all_steps(tmp_path / "out.h5")
