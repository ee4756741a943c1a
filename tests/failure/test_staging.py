"""Files that a stager writes behind the program, also when the program dies or storage is full."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import zarr
from failing_runs import FAULTY_IO
from mpi_launcher import preload
from network_frames import frame
from own_stager import STAGER, STORED_SECONDS, Stager, start, start_for_nodes
from staged_files import bytes_below, run, steps_in, wherever
from staged_values import SUFFIXES, counts, density

import weir

IN_SHARDS = "zstd:1/14x32x10"
LAYOUTS = [*SUFFIXES, "hdf5 deflate:1", f"zarr {IN_SHARDS}"]
"""Formats, and codecs whose chunks the stager enters in a table of the file, or puts in shards."""


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
@pytest.mark.parametrize("file_format", list(SUFFIXES))
def test_files_may_have_unusual_names(tmp_path: Path, stager: Stager, file_format: str) -> None:
    ended = run(stager, "unusual_names", tmp_path, file_format, f".{SUFFIXES[file_format]}")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout == "7 files\n"


@wherever
@pytest.mark.parametrize("layout", ["hdf5", "zarr", "raw", "zarr deflate:1", "hdf5 deflate:1"])
def test_arrays_may_have_no_elements(tmp_path: Path, stager: Stager, layout: str) -> None:
    """Also parts of ranks may have none. NetCDF has no such arrays."""
    ended = run(stager, "few_elements", tmp_path, *layout.split())
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stager.wait_until_stored()
    path = tmp_path / f"out.{SUFFIXES[layout.split(maxsplit=1)[0]]}"
    with weir.open(path) as file:
        assert file.steps == 2
        assert [file[f"a{n}"].shape[1:] for n in range(2)] == [(0,), (4, 0, 3)]
        assert all((file[f"a{n}"][1] == 1).all() for n in range(5))


@wherever
@pytest.mark.parametrize("codec", ["zstd:3", "zstd:1,crc32c/14x32x10"], ids=["chunks", "shards"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_stager_encodes_the_chunks_of_zarr(
    tmp_path: Path, stager: Stager, codec: str, ranks: int
) -> None:
    ended = run(stager, "encoded", tmp_path, "zarr", codec, ranks=ranks)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stager.wait_until_stored()
    assert int(ended.stdout) == 3 * (2 * density(0).nbytes + counts(0).nbytes)
    expect_same_stores([tmp_path / f"{name}.zarr" for name in ("none", "node")], codec)


def expect_same_stores(paths: list[Path], codec: str) -> None:
    """The order of chunks in a shard is that in which they came."""
    assert [steps_in(path) for path in paths] == [3, 3]
    alone, staged = map(bytes_below, paths)
    if "/" not in codec:
        assert alone == staged
        return
    assert alone.keys() == staged.keys()
    for path in paths:
        found = zarr.open_group(path, mode="r")["density"]
        assert found.shards == (1, 14, 32, 10)
        for step in range(3):
            assert (found[step] == density(step)).all()


@pytest.mark.sampled(4, by=("codec", "count", "ranks", "ranks_per_node"))
@pytest.mark.parametrize(
    ("file_format", "codec"), [("hdf5", "deflate:1"), ("zarr", "zstd:3"), ("zarr", IN_SHARDS)]
)
@pytest.mark.parametrize(("count", "ranks", "ranks_per_node"), [(2, 3, 1), (3, 4, 1), (2, 4, 4)])
def test_each_of_several_stagers_encodes_chunks(
    tmp_path: Path, file_format: str, codec: str, count: int, ranks: int, ranks_per_node: int
) -> None:
    """Also where later calls of a step write parts of chunks that earlier ones have written."""
    one = start_for_nodes(count, "--stager-memory", "64m")
    try:
        ended = run(one, "encoded", tmp_path, file_format, codec, ranks=ranks,
                    ranks_per_node=ranks_per_node)  # fmt: skip
        assert ended.returncode == 0, ended.stdout + ended.stderr
        one.wait_until_stored()
        handed = list(map(int, ended.stdout.split()))
        assert sum(handed) == 3 * (2 * density(0).nbytes + counts(0).nbytes)
        if ranks_per_node == 1:  # each rank is an aggregator then
            assert min(handed) > 3 * counts(0).nbytes, "a stager has encoded nothing"
        paths = [tmp_path / f"{name}.{SUFFIXES[file_format]}" for name in ("none", "node")]
        assert [steps_in(path) for path in paths] == [3, 3]
        if file_format == "zarr":
            expect_same_stores(paths, codec)
        elif shutil.which("h5diff") is not None:
            compared = subprocess.run(["h5diff", *paths], capture_output=True, text=True,
                                      timeout=60, check=False)  # fmt: skip
            assert compared.returncode == 0, compared.stdout + compared.stderr
    finally:
        one.kill()


def test_no_chunk_of_a_step_goes_to_two_stagers(tmp_path: Path) -> None:
    one = start_for_nodes(2, "--stager-memory", "64m")
    try:
        ended = run(one, "other_stagers", tmp_path, "hdf5", "zstd:1", ranks=4, ranks_per_node=4)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        one.wait_until_stored()
        assert steps_in(tmp_path / "out.h5") == 1
    finally:
        one.kill()


@pytest.mark.parametrize(
    ("file_format", "codec"), [("hdf5", "deflate:1"), ("zarr", IN_SHARDS), ("zarr", "zstd:1")]
)
def test_users_are_told_what_is_staged(
    tmp_path: Path, stager: Stager, file_format: str, codec: str
) -> None:
    """By explain(), and by the figures of the session."""
    ended = run(stager, "told", tmp_path, file_format, codec, ranks=2)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stager.wait_until_stored()
    assert not [line for line in ended.stderr.splitlines() if line.startswith("weir: ")]
    told = ended.stdout.splitlines()
    assert len(told) == 2
    for line in told:
        assert line.startswith("1 staging: with a stager, the ranks are blocked for "), line


def test_users_are_told_that_ranks_write_shards_of_long_rows(
    tmp_path: Path, stager: Stager
) -> None:
    """By a line for the file, too."""
    ended = run(stager, "told_of_long_rows", tmp_path, "zarr", "crc32c", ranks=2)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stager.wait_until_stored()
    why = 'the ranks write "long" themselves, without a stager: a row of chunks in its shards has '
    assert ended.stderr.count(f"weir: {tmp_path}/out.zarr: {why}") == 1, ended.stderr
    assert ended.stdout.startswith(f"0 staging: {why}"), ended.stdout
    with weir.open(tmp_path / "out.zarr") as file:
        assert (file["long"][0, 0] == np.repeat([1.0, 2.0], 9 << 19)).all()


@pytest.mark.skipif(shutil.which("h5diff") is None, reason="h5diff is not installed")
@pytest.mark.parametrize("stager", ["node", "service"], indirect=True)
@pytest.mark.parametrize("codec", [None, "deflate:1"])
def test_hdf5_finds_no_difference_to_a_file_that_ranks_wrote(
    tmp_path: Path, stager: Stager, codec: str | None
) -> None:
    """All that differs byte for byte are times of making: h5diff compares every object."""
    what = ("encoded", codec) if codec else ("equal", "none")
    ended = run(stager, what[0], tmp_path, "hdf5", what[1])
    assert ended.returncode == 0, ended.stdout + ended.stderr
    if codec:
        assert int(ended.stdout) == 3 * (2 * density(0).nbytes + counts(0).nbytes)
    stager.wait_until_stored()
    paths = [tmp_path / f"{name}.h5" for name in ("none", "node")]
    assert [steps_in(path) for path in paths] == [3, 3]
    compared = subprocess.run(["h5diff", "-v", *paths], capture_output=True, text=True, timeout=60,
                              check=False)  # fmt: skip
    assert compared.returncode == 0, compared.stdout + compared.stderr
    for name in ("density", "counts"):
        assert f"dataset: </{name}> and </{name}>" in compared.stdout
    dumped = [
        subprocess.run(["h5dump", "-H", "-p", path], capture_output=True, text=True, timeout=60,
                       check=True).stdout.partition("\n")[2]
        for path in paths
    ]  # fmt: skip
    assert without_offsets(dumped[0]) == without_offsets(dumped[1])


@pytest.mark.parametrize("ranks", [1, 3])
def test_chunks_that_stagers_have_encoded_are_read_back(
    tmp_path: Path, stagers: Stager, ranks: int
) -> None:
    """Where they are in an HDF5 file is known only after the step has ended."""
    ended = run(stagers, "read_encoded", tmp_path, "hdf5", "shuffle,deflate:1", ranks=ranks)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stagers.wait_until_stored()
    for name in ("none", "node"):
        assert steps_in(tmp_path / f"{name}.h5") == 3
        with weir.open(tmp_path / f"{name}.h5") as file:
            assert (file["fixed"][...] == density(9)).all()


def test_chunks_of_two_files_are_encoded_at_a_time(tmp_path: Path, stagers: Stager) -> None:
    ended = run(stagers, "steps_of_two_files", tmp_path, "hdf5", "zstd:1", ranks=2)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stagers.wait_until_stored()
    assert [steps_in(tmp_path / f"{name}.h5") for name in ("a", "b")] == [2, 2]


def without_offsets(dumped: str) -> str:
    """Chunks may lie elsewhere in the file."""
    return re.sub(r"OFFSET \d+", "OFFSET", dumped)


@pytest.mark.parametrize("file_format", ["hdf5", "raw"])
def test_slow_storage_fails_no_step(tmp_path: Path, file_format: str) -> None:
    """Each second write takes two seconds, so that steps take longer than the deadline of ranks."""
    deadline = 3.0
    one = start(variables={
        "LD_PRELOAD": str(preload(FAULTY_IO)), "OMPI_COMM_WORLD_RANK": "0",
        "WEIR_FAULT": f"call=pwrite,nth=0,effect=late,tree={tmp_path.name}",
    })  # fmt: skip
    try:
        ended = run(one, "slow", tmp_path, file_format, str(deadline), ranks=2)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        stored, blocked = map(float, ended.stdout.split())
        assert stored > blocked > deadline
        shown = one.report()
        one.wait_until_stored()
        assert steps_in(tmp_path / f"out.{SUFFIXES[file_format]}") == 3
        assert all(session["failure"] == "" for session in shown["sessions"])
    finally:
        one.kill()


def test_a_step_can_be_waited_for_behind_writes_to_another_file(
    tmp_path: Path, stagers: Stager
) -> None:
    """Several stagers settle what was written since; nobody may wait for rank 0 meanwhile."""
    ended = run(stagers, "two_files", tmp_path, "raw")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stagers.wait_until_stored()
    for name in ("a", "b"):
        assert steps_in(tmp_path / f"{name}.raw") == 2


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


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_step_is_waited_for_given_up_and_written_again(
    tmp_path: Path, stagers: Stager, layout: str
) -> None:
    ended = run(stagers, "wait", tmp_path, *layout.split())
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("layout", ["hdf5", "zarr", "raw", "hdf5 deflate:1"])
def test_arrays_are_added_after_the_step_before_is_stored(
    tmp_path: Path, stagers: Stager, layout: str
) -> None:
    file_format, *codec = layout.split()
    ended = run(stagers, "extend", tmp_path, file_format, *codec)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stagers.wait_until_stored()
    path = tmp_path / f"out.{SUFFIXES[file_format]}"
    assert steps_in(path) == 5
    with weir.open(path) as file:
        assert file["more3"].shape == (5, 37)


@pytest.mark.sampled(7, by=("layout", "when"))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("when", ["between_steps", "in_a_step"])
def test_accepted_steps_survive_the_program(
    tmp_path: Path, stagers: Stager, layout: str, when: str
) -> None:
    file_format, *codec = layout.split()
    ended = run(stagers, "die", tmp_path, file_format, when, *codec)
    assert ended.returncode != 0
    stagers.wait_until_stored()
    path = tmp_path / f"out.{SUFFIXES[file_format]}"
    assert steps_in(path, with_remains=when == "in_a_step") == 3
    assert not Path(f"{path}.weir_lock").exists()
    for one in (stagers, *stagers.others):
        assert one.log().count(" was lost: connections of its ranks, ") == 1, one.log()


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
                stranger.sendall(frame(0, b"x" * 100, claimed=60_000))
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
    stagers = {"ranks": 1, "ranks:1/2": 2}[staging]
    # Nothing of a stager that has ended by itself is left, but what it says of a lost program.
    folder = absent.socket.parent
    logs = list(folder.glob("*.log")) if ending == "killed" else []
    deadline = time.monotonic() + STORED_SECONDS
    while ending != "without_stager" and set(folder.iterdir()) != set(logs):
        assert time.monotonic() < deadline, list(folder.iterdir())
        time.sleep(0.02)
        logs = list(folder.glob("*.log")) if ending == "killed" else []
    assert len(logs) == (stagers if ending == "killed" else 0)
    assert all("was lost" in one.read_text() for one in logs)
    told = ended.stdout.count("the stager of this rank has ended before its programs")
    assert told == (stagers if ending == "without_stager" else 0), ended.stdout
    assert steps_in(tmp_path / "out.h5", with_remains=ending == "without_stager") == 3
    assert ending == "without_stager" or not list(tmp_path.glob("*.weir_lock"))


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("192.0.2.200", "no address of this node: give one of"),
        ("nosuch", '"nosuch" is no numeric address: give one such as'),
    ],
)
def test_a_wrong_address_is_refused_when_a_stager_starts(
    tmp_path: Path, address: str, reason: str
) -> None:
    socket_path = tmp_path / "stager"
    ended = subprocess.run(
        [STAGER, "--stager-socket", socket_path, "--stager-listen", address],
        capture_output=True, text=True, timeout=STORED_SECONDS, check=False,
    )  # fmt: skip
    assert ended.returncode != 0
    assert reason in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not socket_path.exists()


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


@pytest.mark.parametrize("step", [0, 2])
def test_encoded_chunks_are_stored_when_there_is_space(small_file_system: Path, step: int) -> None:
    """The places of those that were stored before there was none are entered with the others."""
    one = start("--stager-memory", "64m")
    try:
        ended = run(one, "finds_room", small_file_system, "hdf5", str(step), "deflate:1", ranks=2)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        one.wait_until_stored()
        assert steps_in(small_file_system / "out.h5") == step + 1
    finally:
        one.kill()


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
    assert "no stager listens there: start one, or name its socket with --socket" in gone.stderr


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


STEP_OF_ONE_RANK = """
import sys
import numpy as np
from mpi4py import MPI
import weir
session = weir.Session(MPI.COMM_WORLD, staging="node")
file = session.create_file(sys.argv[1], format="raw")
array = file.define("a", (1 << 20,), "float64", steps=True)
file.begin_step()
array.write(session.distribution((1 << 20,), "BLOCK"), np.arange(1 << 20, dtype=np.float64))
file.end_step()
file.close()
session.close()
"""


def cached_pages(path: Path) -> int:
    """Return how many of a file's pages are in the page cache."""
    pages = -(-path.stat().st_size // mmap.PAGESIZE)
    resident = (ctypes.c_ubyte * pages)()
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        first = (ctypes.c_ubyte * len(mapped)).from_buffer(mapped)
        libc = ctypes.CDLL(None, use_errno=True)
        told = libc.mincore(ctypes.byref(first), ctypes.c_size_t(len(mapped)), resident)
        del first
    assert told == 0, os.strerror(ctypes.get_errno())
    return sum(one & 1 for one in resident)


def test_a_stager_writes_past_the_page_cache_if_it_is_told(tmp_path: Path) -> None:
    probe = tmp_path / "probe"
    probe.touch()
    try:
        os.close(os.open(probe, os.O_RDWR | os.O_DIRECT))
    except OSError:
        pytest.skip(f"the file system of {tmp_path} has no O_DIRECT")
    cached = {}
    for engine in ("automatic", "direct-io"):
        place = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
        variables = os.environ | Stager(place).variables()

        def execute(*words: str, variables: dict[str, str] = variables) -> None:
            subprocess.run([sys.executable, *words], env=variables, capture_output=True,
                           text=True, timeout=STORED_SECONDS, check=True)  # fmt: skip

        path = tmp_path / f"{engine}.raw"
        execute("-m", "weir.cli", "stage", "start", "--memory", "64m", "--engine", engine)
        try:
            execute("-c", STEP_OF_ONE_RANK, str(path))
        finally:
            execute("-m", "weir.cli", "stage", "stop")
        # Nobody reads the file before its pages are counted.
        cached[engine] = cached_pages(path) * mmap.PAGESIZE
        with weir.open(path) as file:
            assert np.array_equal(np.asarray(file["a"][0]), np.arange(1 << 20))
    assert cached["automatic"] >= 8 << 20
    assert cached["direct-io"] <= 1 << 20
