"""Files that a stager writes behind the program, also when either is killed or storage is full."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from failing_runs import environment, launcher
from own_stager import STAGER, STORED_SECONDS, Stager, start, start_for_nodes, start_service
from staged_runs import LOST_LINE, PROGRAM, RUN_SECONDS, bytes_below, run, steps_in
from staged_values import LARGE_ROWS, SUFFIXES, counts, density, large_value

import weir


@pytest.fixture
def stager(request: pytest.FixtureRequest) -> Iterator[Stager]:
    """The stager of the node, or one that is reached over a network (`wherever`)."""
    of_node = getattr(request, "param", "node") == "node"
    one = start("--stager-memory", "64m") if of_node else start_service(1, "--stager-memory", "64m")
    yield one
    one.kill()


wherever = pytest.mark.parametrize("stager", ["node", "service"], indirect=True)


@pytest.fixture(
    params=[(start_for_nodes, 1), (start_for_nodes, 2), (start_service, 1), (start_service, 2)],
    ids=["one-node", "two-nodes", "service", "service-of-two"],
)
def stagers(request: pytest.FixtureRequest) -> Iterator[Stager]:
    """The stager of rank 0, with another one or without."""
    start_them, count = request.param
    one = start_them(count, "--stager-memory", "64m")
    yield one
    one.kill()


@pytest.mark.parametrize("checksum", ["none", "crc32c"])
@pytest.mark.parametrize("file_format", list(SUFFIXES))
def test_files_are_those_that_ranks_write_without_a_stager(
    tmp_path: Path, stagers: Stager, file_format: str, checksum: str
) -> None:
    """Checksums of blocks that several ranks write are of what the stager has stored."""
    ended = run(stagers, "equal", tmp_path, file_format, checksum)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stagers.wait_until_stored()
    suffix = SUFFIXES[file_format]
    paths = [tmp_path / f"{name}.{suffix}" for name in ("none", "node")]
    assert [steps_in(path) for path in paths] == [3, 3]
    if file_format == "hdf5":  # has times of its making
        assert paths[0].stat().st_size == paths[1].stat().st_size
    else:
        alone, staged = (bytes_below(path) for path in paths)
        assert alone == staged
    sums = [path.with_name(f"{path.name}.sums").exists() for path in paths]
    assert sums == [checksum != "none"] * 2
    assert not list(tmp_path.glob("*.weir_lock")), "a lock was left"


@wherever
@pytest.mark.parametrize("layout", [("zstd:3",), ("shuffle,zstd:1", "14", "32", "10")],
                         ids=["chunks", "shards"])  # fmt: skip
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_stager_encodes_the_chunks_of_zarr(
    tmp_path: Path, stager: Stager, layout: tuple[str, ...], ranks: int
) -> None:
    """Shards are encoded by the ranks: their bytes depend on the order of their chunks."""
    ended = run(stager, "encoded", tmp_path, "zarr", *layout, ranks=ranks)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stager.wait_until_stored()
    steps_of_density, steps_of_counts = (2 * 3 if len(layout) == 1 else 0), 3
    handed = steps_of_density * density(0).nbytes + steps_of_counts * counts(0).nbytes
    assert int(ended.stdout) == handed
    paths = [tmp_path / f"{name}.zarr" for name in ("none", "node")]
    assert [steps_in(path) for path in paths] == [3, 3]
    assert bytes_below(paths[0]) == bytes_below(paths[1])


@wherever
@pytest.mark.parametrize("file_format", ["hdf5", "zarr"])
@pytest.mark.parametrize("how", ["between_steps", "in_a_step", "first_is_lost", "is_lost"])
def test_ranks_encode_what_follows_a_lost_stager(
    tmp_path: Path, stager: Stager, file_format: str, how: str
) -> None:
    ended = run(stager, "goes_on", tmp_path, file_format, "5", f"{how},zstd:3", str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
    assert steps_in(tmp_path / f"out.{SUFFIXES[file_format]}") == 5


def test_an_array_by_itself_is_stored_by_the_stager(tmp_path: Path, stagers: Stager) -> None:
    ended = run(stagers, "alone", tmp_path, "raw")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    if not stagers.others:
        assert int(ended.stdout) == 3 * density(0).nbytes
    stagers.wait_until_stored()
    for suffix in ("raw", "raw.json"):
        alone, staged = (tmp_path / f"{name}.{suffix}" for name in ("none", "node"))
        assert alone.read_bytes() == staged.read_bytes().replace(b"node", b"none")
    assert not list(tmp_path.glob("*.weir_lock")), "a lock was left"


def test_a_write_of_an_array_by_itself_survives_the_program(
    tmp_path: Path, stagers: Stager
) -> None:
    assert run(stagers, "alone_dies", tmp_path, "raw").returncode != 0
    stagers.wait_until_stored()
    with weir.open(tmp_path / "out.raw") as file:
        assert (file[next(iter(file.keys()))][...] == density(4)).all()


@wherever
def test_an_array_by_itself_fails_with_its_stager(tmp_path: Path, stager: Stager) -> None:
    ended = run(stager, "alone_is_lost", tmp_path, "raw", str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
    with weir.open(tmp_path / "other.raw") as file:
        assert (file[next(iter(file.keys()))][...] == density(4)).all()


@pytest.mark.parametrize("file_format", list(SUFFIXES))
def test_a_step_is_waited_for_given_up_and_written_again(
    tmp_path: Path, stagers: Stager, file_format: str
) -> None:
    ended = run(stagers, "wait", tmp_path, file_format)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("file_format", ["hdf5", "zarr", "raw"])
def test_arrays_are_added_after_the_step_before_is_stored(
    tmp_path: Path, stagers: Stager, file_format: str
) -> None:
    ended = run(stagers, "extend", tmp_path, file_format)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stagers.wait_until_stored()
    path = tmp_path / f"out.{SUFFIXES[file_format]}"
    assert steps_in(path) == 5
    with weir.open(path) as file:
        assert file["more3"].shape == (5, 37)


@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("when", ["between_steps", "in_a_step"])
def test_accepted_steps_survive_the_program(
    tmp_path: Path, stagers: Stager, file_format: str, when: str
) -> None:
    ended = run(stagers, "die", tmp_path, file_format, when)
    assert ended.returncode != 0
    stagers.wait_until_stored()
    path = tmp_path / f"out.{SUFFIXES[file_format]}"
    assert steps_in(path, with_remains=when == "in_a_step") == 3
    assert not Path(f"{path}.weir_lock").exists()


@wherever
@pytest.mark.parametrize("file_format", list(SUFFIXES))
def test_a_killed_stager_is_an_error_on_every_rank(
    tmp_path: Path, stager: Stager, file_format: str
) -> None:
    ended = run(stager, "stager_dies", tmp_path, file_format, str(stager.pid))
    assert "refused" in ended.stdout, ended.stdout + ended.stderr
    assert steps_in(tmp_path / f"out.{SUFFIXES[file_format]}", with_remains=True) == 1


@wherever
@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("when", ["between_steps", "in_a_step"])
def test_ranks_write_what_follows_a_killed_stager(
    tmp_path: Path, stager: Stager, file_format: str, when: str
) -> None:
    ended = run(stager, "goes_on", tmp_path, file_format, "5", when, str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout == "5 steps\n"
    assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
    assert steps_in(tmp_path / f"out.{SUFFIXES[file_format]}") == 5
    assert not list(tmp_path.glob("*.weir_lock")), "a lock was left"


@wherever
@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("lost", [0, 2])
def test_a_lost_step_is_named_and_written_again(
    tmp_path: Path, stager: Stager, file_format: str, lost: int
) -> None:
    """The stager has accepted the step, and its files may grow no further."""
    how = "is_lost" if lost else "first_is_lost"
    ended = run(stager, "goes_on", tmp_path, file_format, "4", how, str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    path = tmp_path / f"out.{SUFFIXES[file_format]}"
    assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
    assert f"weir: step {lost} of {path}, which the stager had accepted, is lost" in ended.stderr
    assert steps_in(path) == 4


@pytest.mark.parametrize("file_format", ["hdf5", "zarr"])
@pytest.mark.parametrize("killed", [0, 1])
def test_ranks_of_all_nodes_write_what_follows(
    tmp_path: Path, file_format: str, killed: int
) -> None:
    one = start_for_nodes(2, "--stager-memory", "64m")
    victim = (one, *one.others)[killed]
    try:
        for when in ("between_steps", "in_a_step"):
            folder = tmp_path / f"weir-{when}"
            folder.mkdir()
            victim = (one, *one.others)[killed]
            ended = run(one, "goes_on", folder, file_format, "5", when, str(victim.pid))
            assert ended.returncode == 0, ended.stdout + ended.stderr
            assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
            assert steps_in(folder / f"out.{SUFFIXES[file_format]}") == 5
            one.kill()
            one = start_for_nodes(2, "--stager-memory", "64m")
    finally:
        one.kill()


def ended_without_stager(
    path: Path, pause: float, *words: str | Path, one: Stager | None = None
) -> tuple[int, str, str]:
    """Kills the stager of two ranks `pause` seconds after their file has its name.

    Returns the ranks' exit status and what they printed.
    """
    one = one or start("--stager-memory", "16m")
    own = one.variables() | {"PYTHONPATH": str(PROGRAM.parents[1])}
    writer = subprocess.Popen(
        [*launcher(deadline_seconds=RUN_SECONDS), "-n", "2", sys.executable, "-m", "mpi4py",
         PROGRAM, *words],
        env=environment(own), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + RUN_SECONDS
    while not path.exists() and writer.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(pause)
    one.kill()
    told, said = writer.communicate(timeout=RUN_SECONDS)
    return writer.returncode, told, said


@pytest.mark.parametrize("file_format", ["hdf5", "cdf5", "zarr", "raw"])
def test_a_stager_killed_at_any_time_costs_only_named_steps(
    tmp_path: Path, file_format: str
) -> None:
    for pause in (0.0, 0.02, 0.1):
        folder = tmp_path / f"weir-{pause}"
        folder.mkdir()
        path = folder / f"out.{SUFFIXES[file_format]}"
        status, told, said = ended_without_stager(
            path, pause, "goes_on", folder, file_format, "60", "any_time"
        )
        assert status == 0, told + said
        assert told == "60 steps\n"
        assert said.count(LOST_LINE) == 1, said
        assert steps_in(path) == 60


@wherever
@pytest.mark.parametrize("file_format", ["hdf5", "raw"])
def test_what_became_of_closed_files_is_told(
    tmp_path: Path, stager: Stager, file_format: str
) -> None:
    ended = run(stager, "files_go_on", tmp_path, file_format, str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    paths = [tmp_path / f"out{number}.{SUFFIXES[file_format]}" for number in range(4)]
    assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
    assert f"step 0 of {paths[1]}, which the stager had accepted, is lost" in ended.stderr
    assert str(paths[0]) not in ended.stderr, "it was known to be stored"
    with pytest.raises(FileNotFoundError):
        weir.open(paths[1])
    assert [steps_in(path) for path in (paths[0], *paths[2:])] == [1, 1, 1]


@wherever
def test_waiting_for_a_lost_step_says_so_once(tmp_path: Path, stager: Stager) -> None:
    ended = run(stager, "told_of_lost_step", tmp_path, "zarr", str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert steps_in(tmp_path / "out.zarr") == 2


@wherever
def test_ranks_do_not_write_beside_a_stager_that_was_stopped(
    tmp_path: Path, stager: Stager
) -> None:
    ended = run(stager, "stopped", tmp_path, "hdf5", str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert steps_in(tmp_path / "out.h5", with_remains=True) == 1


@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_stager_of_one_node_is_an_error_on_every_rank(tmp_path: Path, killed: int) -> None:
    one = start_for_nodes(2, "--stager-memory", "64m")
    victim = (one, *one.others)[killed]
    try:
        ended = run(one, "stager_dies", tmp_path, "hdf5", str(victim.pid))
        assert "refused" in ended.stdout, ended.stdout + ended.stderr
        assert steps_in(tmp_path / "out.h5", with_remains=True) == 1
    finally:
        one.kill()


def test_a_share_that_is_lost_with_its_stager_is_told(tmp_path: Path) -> None:
    """The stager of the second node is stopped before it has stored its share, and then killed."""
    one = start_for_nodes(2, "--stager-memory", "64m")
    try:
        ended = run(one, "share_is_lost", tmp_path, "zarr", str(one.others[0].pid))
        told = {"stored": 2, "lost": 1}  # it may have been quicker
        said = ended.stdout.partition("\n")[0]  # UCX may warn there of messages that were lost too
        assert said in told, ended.stdout + ended.stderr
        assert steps_in(tmp_path / "out.zarr", with_remains=True) == told[said]
    finally:
        one.kill()


def test_strangers_are_sent_away_and_keep_nobody_out(tmp_path: Path) -> None:
    """More of them than are listened to at a time, each with a part of a message."""
    one = start_for_nodes(2, "--stager-listen", "127.0.0.1")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        assert run(one, "many", tmp_path, "raw", "1", ranks=2).returncode == 0
        found = re.search(r"can join at 127\.0\.0\.1:(\d+)", one.log())
        assert found is not None, one.log()
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[1], 4096), before[1]))
        with ExitStack() as strangers:
            for _ in range(1100):
                stranger = socket.create_connection(("127.0.0.1", int(found[1])))
                strangers.enter_context(stranger)
                stranger.sendall(b"WEIF" + bytes(4) + struct.pack("<I", 60_000) + b"x" * 100)
            ended = run(one, "many", tmp_path, "raw", "2", ranks=2)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        one.wait_until_stored()
        assert steps_in(tmp_path / "out.raw") == 2
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        one.kill()


@pytest.mark.parametrize("ranks_per_node", [2, 4])
def test_ranks_of_a_node_may_have_different_stagers(tmp_path: Path, ranks_per_node: int) -> None:
    """The first rank of each stager tells it that a step has ended."""
    one = start_for_nodes(2)
    try:
        ended = run(one, "many", tmp_path, "raw", "3", ranks=4, ranks_per_node=ranks_per_node)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        one.wait_until_stored()
        assert steps_in(tmp_path / "out.raw") == 3
    finally:
        one.kill()


@pytest.mark.parametrize("staging", ["ranks", "ranks:1/2"])
@pytest.mark.parametrize("ending", ["killed", "forgets", "without_stager"])
def test_stagers_of_ranks_end_with_their_program(tmp_path: Path, staging: str, ending: str) -> None:
    absent = Stager(Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager")
    ended = run(absent, "set_apart", tmp_path, "hdf5", staging, ending, ranks=4)
    assert (ended.returncode == 0) == (ending != "killed"), ended.stdout + ended.stderr
    # Nothing of a stager that has ended by itself is left.
    deadline = time.monotonic() + STORED_SECONDS
    while ending != "without_stager" and list(absent.socket.parent.iterdir()):
        assert time.monotonic() < deadline, list(absent.socket.parent.iterdir())
        time.sleep(0.02)
    told = ended.stdout.count("the stager of this rank has ended before its programs")
    stagers = {"ranks": 1, "ranks:1/2": 2}[staging]
    assert told == (stagers if ending == "without_stager" else 0), ended.stdout
    assert steps_in(tmp_path / "out.h5", with_remains=ending == "without_stager") == 3
    assert ending == "without_stager" or not list(tmp_path.glob("*.weir_lock"))


def test_an_address_of_another_host_is_refused(tmp_path: Path) -> None:
    one = start_for_nodes(2, "--stager-listen", "192.0.2.200")
    try:
        ended = run(one, "many", tmp_path, "raw", "1")
        assert ended.returncode != 0
        assert "no address of this node: give one of" in ended.stderr
    finally:
        one.kill()


@pytest.mark.parametrize("file_format", ["hdf5", "zarr"])
def test_a_stager_killed_at_any_time_leaves_whole_steps(tmp_path: Path, file_format: str) -> None:
    for pause in (0.0, 0.01, 0.05, 0.2):
        folder = tmp_path / f"weir-{pause}"
        folder.mkdir()
        path = folder / f"out.{SUFFIXES[file_format]}"
        ended_without_stager(path, pause, "many", folder, file_format, "200")
        assert steps_in(path, with_remains=True) >= 1


def test_a_full_file_system_delays_what_was_accepted(small_file_system: Path) -> None:
    one = start("--stager-memory", "64m")
    hog = small_file_system / "hog"
    try:
        free = os.statvfs(small_file_system)
        # The header of the file has room, and its step of 60 KiB has not.
        hog.write_bytes(b"x" * (free.f_bavail * free.f_frsize - (48 << 10)))
        ended = run(one, "many", small_file_system, "raw", "1", ranks=2)
        assert "accepted" in ended.stdout, ended.stdout + ended.stderr
        deadline = time.monotonic() + STORED_SECONDS
        while not any(session["waits_for_space"] for session in one.report()["sessions"]):
            assert time.monotonic() < deadline, one.report()
            time.sleep(0.1)
        assert not (small_file_system / "out.raw.json").exists()
        hog.unlink()
        one.wait_until_stored()
        assert steps_in(small_file_system / "out.raw") == 1
    finally:
        one.kill()


def start_with_journal(journal: Path, *words: str) -> Stager:
    """Returns when the stager has replayed what is there, and answers."""
    one = start("--stager-memory", "16m", "--stager-journal", str(journal), *words)
    one.report()
    return one


def lose_accepted_step(one: Stager, folder: Path, file_format: str, step: int) -> Path:
    """Kills the stager, and the program, when it has accepted a step and stored nothing of it."""
    ended = run(one, "journaled", folder, file_format, str(step), "killed", str(one.pid), ranks=2)
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr, ended.stdout + ended.stderr
    one.kill()
    path = folder / f"out.{SUFFIXES[file_format]}"
    if step:
        assert steps_in(path, with_remains=True) == step
    else:
        assert not path.exists()
    return path


@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("step", [0, 2])
def test_a_step_in_the_journal_survives_the_stager(
    tmp_path: Path, small_file_system: Path, file_format: str, step: int
) -> None:
    journal = tmp_path / "journal"
    one = start_with_journal(journal)
    path = lose_accepted_step(one, small_file_system, file_format, step)
    assert len(list(journal.iterdir())) == 1
    again = start_with_journal(journal)
    try:
        assert steps_in(path) == step + 1
        assert not list(journal.iterdir())
        assert "was stored from the journal" in again.log()
        plain = tmp_path / "plain"
        plain.mkdir()
        ended = run(again, "plain", plain, file_format, str(step + 1), ranks=2)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        if file_format == "hdf5":  # has times of its making
            assert path.stat().st_size == (plain / path.name).stat().st_size
        else:
            assert bytes_below(path) == bytes_below(plain / path.name)
        assert not list(small_file_system.glob("*.weir_lock")), "a lock was left"
    finally:
        again.kill()


@pytest.mark.parametrize("file_format", list(SUFFIXES))
def test_a_replay_that_is_killed_is_made_again(
    tmp_path: Path, small_file_system: Path, file_format: str
) -> None:
    journal = tmp_path / "journal"
    path = lose_accepted_step(start_with_journal(journal), small_file_system, file_format, 2)
    place = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
    for pause in (0.005, 0.01, 0.015, 0.02, 0.03):
        killed = subprocess.Popen([STAGER, "--stager-socket", place, "--stager-memory", "16m",
                                   "--stager-journal", journal])  # fmt: skip
        time.sleep(pause)
        killed.kill()
        killed.wait()
    last = start_with_journal(journal)
    try:
        assert steps_in(path) == 3
        assert not list(journal.iterdir())
    finally:
        last.kill()


@pytest.mark.parametrize("file_format", list(SUFFIXES))
def test_with_a_journal_a_stager_killed_at_any_time_costs_no_step(
    tmp_path: Path, file_format: str
) -> None:
    for pause in (0.0, 0.02, 0.1):
        folder = tmp_path / f"weir-{pause}"
        folder.mkdir()
        path = folder / f"out.{SUFFIXES[file_format]}"
        journal = folder / "journal"
        _, told, said = ended_without_stager(path, pause, "acknowledged", folder, file_format,
                                             "200", one=start_with_journal(journal))  # fmt: skip
        assert "stager" in said, said
        again = start_with_journal(journal)
        try:
            accepted = told.count("\n")
            assert 0 < accepted < 200
            # One more may have been recorded when the stager was killed.
            assert steps_in(path, with_remains=True) in (accepted, accepted + 1)
            assert not list(journal.iterdir()), again.log()
        finally:
            again.kill()


@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("step", [0, 2])
def test_a_journal_is_not_written_into_another_file(
    tmp_path: Path, small_file_system: Path, file_format: str, step: int
) -> None:
    journal = tmp_path / "journal"
    one = start_with_journal(journal)
    path = lose_accepted_step(one, small_file_system, file_format, step)
    if path.is_dir():
        shutil.rmtree(path)
    absent = Stager(Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager")
    ended = run(absent, "plain", small_file_system, file_format, "2", ranks=2)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    before = bytes_below(path)
    again = start_with_journal(journal)
    try:
        assert bytes_below(path) == before
        assert f"{path} was replaced or changed since" in again.log()
        (kept,) = journal.iterdir()
        assert str(kept) in again.log()
    finally:
        again.kill()
    once_more = start_with_journal(journal)
    once_more.kill()
    assert "replaced" not in once_more.log()
    assert steps_in(path) == 2


@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("step", [0, 2])
def test_ranks_that_go_on_are_not_written_over_by_a_journal(
    tmp_path: Path, small_file_system: Path, file_format: str, step: int
) -> None:
    """The journal has other values for the step that the ranks write again.

    One stager starts while they have the file open, and one later.
    """
    journal = tmp_path / "journal"
    one = start_with_journal(journal)
    place = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
    second = [str(STAGER), "--stager-socket", str(place), "--stager-memory", "16m",
              "--stager-journal", str(journal)]  # fmt: skip
    ended = run(one, "journaled", small_file_system, file_format, str(step), "goes_on",
                str(one.pid), *second, ranks=2)  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    one.kill()
    assert "stays in the journal" in place.with_name("stager.log").read_text()
    Stager(place).ask("--stop")
    path = small_file_system / f"out.{SUFFIXES[file_format]}"
    before = bytes_below(path)
    again = start_with_journal(journal)
    again.kill()
    assert bytes_below(path) == before
    assert steps_in(path) == step + 2
    assert "was stored from the journal" not in again.log()


def test_steps_beyond_the_quota_of_the_journal_are_stored_and_reported(tmp_path: Path) -> None:
    for quota, has_failed in (("1m", False), ("20k", True)):
        journal = tmp_path / f"journal-{quota}"
        one = start_with_journal(journal, "--stager-journal-quota", quota)
        try:
            ended = run(one, "many", tmp_path, "cdf5", "3", f"out{quota}")
            assert ended.returncode == 0, ended.stdout + ended.stderr
            one.wait_until_idle()
            told = one.report()
            assert told["has_journal"]
            assert ("--journal-quota" in told["journal_failure"]) == has_failed
            assert steps_in(tmp_path / f"out{quota}.nc") == 3
            one.wait_until_stored()
            assert not list(journal.iterdir())
        finally:
            one.kill()


def report_of_large_step(stager: Stager, folder: Path, ending: str) -> dict[str, Any]:
    """Writes a step of 48 MiB; returns the report of the stager from before the step's end."""
    ended = run(stager, "large", folder, "cdf5", ending)
    assert ending in ended.stdout, ended.stdout + ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout.splitlines()[0])
    assert told["memory_bytes"] == 16 << 20
    return told


def large_steps_in(path: Path) -> int:
    with weir.open(path) as file:
        for step in range(file.steps):
            for rank in range(3):
                part = file["a"][step, LARGE_ROWS * rank : LARGE_ROWS * (rank + 1)]
                assert np.all(part == large_value(step, rank))
        return file.steps


@pytest.mark.parametrize("quota", ["none", "20m", "128m"])
def test_a_step_larger_than_the_memory_is_written(tmp_path: Path, quota: str) -> None:
    """What the memory cannot hold is spilled, and what is beyond the quota goes to the file."""
    spill = tmp_path / "spill"
    words = ["--stager-spill", str(spill), "--stager-spill-quota", quota] if quota != "none" else []
    one = start("--stager-memory", "16m", *words)
    try:
        told = report_of_large_step(one, tmp_path, "stored")
        first_step, memory = 48 << 20, 16 << 20
        written = told["sessions"][0]["written_bytes"] - first_step
        spilled = told["spilled_bytes"]
        if quota == "128m":
            assert written == 0, "the step had not ended, and all of it had room"
            assert spilled >= first_step - memory
        else:
            assert written >= first_step - memory - (20 << 20)
            assert spilled <= told["spill_bytes"] <= (20 << 20 if quota == "20m" else 0)
            assert (spilled > 0) == (quota == "20m")
        left = one.report()
        assert left["spilled_bytes"] == 0
        assert left["spill_failure"] == ""
        one.wait_until_stored()
        assert large_steps_in(tmp_path / "out.nc") == 2
        assert not spill.exists() or not list(spill.iterdir())
    finally:
        one.kill()


def test_a_stager_killed_with_spilled_data_leaves_whole_steps_and_no_file(tmp_path: Path) -> None:
    spill = tmp_path / "spill"
    one = start("--stager-memory", "16m", "--stager-spill", str(spill),
                "--stager-spill-quota", "128m")  # fmt: skip
    try:
        assert report_of_large_step(one, tmp_path, "refused")["spilled_bytes"] > 0
        assert large_steps_in(tmp_path / "out.nc") == 1
        assert not list(spill.iterdir())
    finally:
        one.kill()


def test_a_full_disk_for_spilled_data_fails_no_step(
    tmp_path: Path, small_file_system: Path
) -> None:
    one = start("--stager-memory", "16m", "--stager-spill", str(small_file_system / "spill"),
                "--stager-spill-quota", "128m")  # fmt: skip
    try:
        told = report_of_large_step(one, tmp_path, "stored")
        assert told["spilled_bytes"] <= 4 << 20
        assert told["spill_failure"] == ""  # it is tried again
        one.wait_until_stored()
        assert large_steps_in(tmp_path / "out.nc") == 2
    finally:
        one.kill()


@pytest.mark.parametrize(("option", "what"), [("--stager-spill", "spilled data"),
                                              ("--stager-journal", "the journal")])  # fmt: skip
def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path, option: str, what: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o755)
    place = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
    refused = subprocess.run([STAGER, "--stager-socket", place, option, folder],
                             capture_output=True, text=True, timeout=30, check=False)  # fmt: skip
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert f"the folder for {what} must belong to you alone" in refused.stderr


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--stager-connections", "3", "3 ranks are connected, which is the limit of the stager"),
        ("--stager-client-memory", "3m", "the memory for one program has 3 blocks"),
    ],
)
def test_a_rank_beyond_a_limit_is_refused_and_other_programs_go_on(
    tmp_path: Path, option: str, value: str, said: str
) -> None:
    one = start("--stager-memory", "32m", option, value)
    try:
        for ranks, is_refused in ((3, False), (4, True), (3, False)):
            ended = run(one, "many", tmp_path, "cdf5", "2", ranks=ranks)
            assert (ended.returncode != 0) == is_refused, ended.stdout + ended.stderr
            named = f"(weir stage start {option.replace('stager-', '')})"
            lines = [line for line in ended.stderr.splitlines() if named in line]
            assert bool(lines) == is_refused, ended.stderr
            assert all(said in line for line in lines)
            one.wait_until_idle()
            assert steps_in(tmp_path / "out.nc") == 2
    finally:
        one.kill()


def test_a_file_beyond_the_limit_is_refused_by_name(tmp_path: Path) -> None:
    one = start("--stager-memory", "32m", "--stager-client-files", "2")
    try:
        for count, is_refused in ((2, False), (3, True), (2, False)):
            ended = run(one, "open_together", tmp_path, "cdf5", str(count))
            assert (ended.returncode != 0) == is_refused, ended.stdout + ended.stderr
            said = "would be file 3 that the program has open, and the limit of the stager is 2"
            assert (said in ended.stderr) == is_refused, ended.stderr
        one.wait_until_idle()
        assert [steps_in(tmp_path / f"out{number}.nc") for number in range(2)] == [1, 1]
    finally:
        one.kill()


def test_a_program_waits_where_it_has_its_share_of_the_memory(tmp_path: Path) -> None:
    one = start("--stager-memory", "16m", "--stager-client-memory", "5m")
    try:
        told = report_of_large_step(one, tmp_path, "stored")
        assert 0 < told["sessions"][0]["memory_bytes"] <= told["client_memory_bytes"] == 5 << 20
        one.wait_until_stored()
        assert large_steps_in(tmp_path / "out.nc") == 2
    finally:
        one.kill()


def test_memory_for_a_program_that_holds_no_block_is_refused() -> None:
    place = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
    for given, is_refused in (("1048575", True), ("1048576", False)):
        words = [STAGER, "--stager-socket", place, "--stager-memory", "16m",
                 "--stager-client-memory", given]  # fmt: skip
        if not is_refused:
            words.append("--detach")
        ended = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
        assert (ended.returncode == 2) == is_refused, ended.stderr
        assert ended.stderr.count("\n") == (1 if is_refused else 0)
    Stager(place).ask("--stop")


def test_two_programs_and_one_file_name(tmp_path: Path, stager: Stager) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c",
         "import fcntl, sys, time\n"
         f"file = open({str(tmp_path / 'out.h5.weir_lock')!r}, 'w')\n"
         "fcntl.flock(file, fcntl.LOCK_EX)\n"
         "file.write('process 1 on elsewhere\\n'); file.flush()\n"
         "print('held', flush=True); time.sleep(600)\n"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        ended = run(stager, "many", tmp_path, "hdf5", "1")
        holder.kill()
    assert ended.returncode != 0
    assert "is writing it" in ended.stderr


def test_a_second_stager_is_refused(stager: Stager) -> None:
    second = subprocess.run([STAGER, "--stager-socket", stager.socket], capture_output=True,
                            text=True, timeout=30, check=False)  # fmt: skip
    assert second.returncode == 2
    assert "another process listens" in second.stderr


def test_a_signal_stops_a_stager_when_all_is_stored(tmp_path: Path, stager: Stager) -> None:
    ended = run(stager, "many", Path(), "cdf5", "5", cwd=tmp_path)  # a relative path
    assert ended.returncode == 0, ended.stdout + ended.stderr
    os.kill(stager.pid, signal.SIGTERM)
    stager.wait_for_its_end()
    assert steps_in(tmp_path / "out.nc") == 5


def test_a_session_starts_a_stager_where_there_is_none(tmp_path: Path) -> None:
    place = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
    absent = Stager(place)
    ended = run(absent, "many", tmp_path, "hdf5", "3")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    absent.ask("--stop")
    assert steps_in(tmp_path / "out.h5") == 3
    assert not place.exists()


def test_the_command_shows_and_stops_a_stager(stager: Stager) -> None:
    def stage(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "weir.cli", "stage", *words],
                              env=os.environ | stager.variables(), capture_output=True, text=True,
                              timeout=STORED_SECONDS, check=False)  # fmt: skip

    shown = stage("status")
    assert shown.returncode == 0, shown.stderr
    assert "of 64.0 MiB in use" in shown.stdout
    assert "spilled" not in shown.stdout
    assert "no program" in shown.stdout
    assert stage("stop").returncode == 0
    stager.wait_for_its_end()
    gone = stage("status")
    assert gone.returncode == 2
    assert gone.stderr.count("\n") == 1
    assert "no stager listens there" in gone.stderr


def test_the_command_starts_a_stager_that_spills_and_has_a_journal(tmp_path: Path) -> None:
    place = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
    absent = Stager(place)

    def stage(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "weir.cli", "stage", *words],
                              env=os.environ | absent.variables(), capture_output=True, text=True,
                              timeout=STORED_SECONDS, check=False)  # fmt: skip

    started = stage("start", "--memory", "32m", "--spill", str(tmp_path / "spill"),
                    "--spill-quota", "64m", "--journal", str(tmp_path / "journal"),
                    "--journal-quota", "64m")  # fmt: skip
    assert started.returncode == 0, started.stderr
    try:
        shown = stage("status").stdout
        assert ", 0 bytes of 63.0 MiB spilled" in shown  # blocks have heads
        assert ", with a journal" in shown
    finally:
        assert stage("stop").returncode == 0
