"""A crash of the system loses no step that had ended, whatever it loses of what was not durable.

Programs add steps while recorded_io.c records what they ask of the file system; lost_writes.py
makes the states that a crash may leave at any time, and each is read: all steps that had ended are
there, with their numbers, at most one more, and that whole. To files that take steps one is added
then, after which all are there again, and that one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from appended_steps import Appender
from failing_runs import BUILD, environment, launcher
from killed_steps import SHAPES, SUFFIXES, WRITER, expected, read_by_weir
from lost_writes import Folder, Record, snapshot_of, states_of
from mpi_launcher import preload

import weir
from weir._core.files import PATH_VARIABLE, FileHandle

RECORDER = BUILD / "tests" / "failure" / "recorded_io.so"
RUN_SECONDS = 240
LOOKED_AT_ONE_BY_ONE = 10


def run_recorded(command: list[str], data: Path, record: Path) -> None:
    recorded = [
        "env", f"LD_PRELOAD={preload(RECORDER)}", f"WEIR_RECORDED={data}", f"WEIR_RECORD={record}",
        "WEIR_ENGINE=posix",
    ]  # fmt: skip
    launch = [*launcher(), "-n", "2", *recorded] if command[0] == str(WRITER) else recorded
    library = {name: os.environ[name] for name in [PATH_VARIABLE] if name in os.environ}
    ended = subprocess.run(
        [*launch, *command], env=environment(library), capture_output=True, text=True, check=False,
        timeout=RUN_SECONDS,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr


@pytest.fixture(scope="module")
def appender() -> Iterator[Appender]:
    library = {name: os.environ[name] for name in [PATH_VARIABLE] if name in os.environ}
    program = Appender(environment(library))
    yield program
    program.close()


def read_all_states(
    record: Record,
    folder: Path,
    read: Callable[[Path], int],
    *,
    append: Callable[[Path], int] | None = None,
    earlier: int = 0,
    seed: int = 1,
) -> int:
    """How many there were. `earlier`: steps that were there before the record."""
    shown = Folder(folder)
    count = 0
    for ended, what, state in states_of(record, most=LOOKED_AT_ONE_BY_ONE, seed=seed):
        shown.show(state)
        count += 1
        least = max(earlier, ended)
        try:
            found = read(folder)
            assert least <= found <= least + 1, f"{found} steps, {least} had ended"
            if append is not None and found > 0:
                assert append(folder) == found + 1
                assert read(folder) == found + 1, "after one was added"
                shown.look()
        except Exception as error:
            raise AssertionError(f"{error!r}: {what}") from error
    return count


def steps_in(path: Path) -> int:
    """The steps of a file, all whole; none where there is nothing to be opened."""
    if path.exists() or Path(f"{path}.json").exists():
        return read_by_weir(path)
    return 0


class Recorded:
    """A folder whose changes are recorded, and what reads the states that a crash leaves of it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.data = folder / "data"
        self.data.mkdir()
        self.name = name
        self.path = self.data / name
        self.record = folder / "record"
        self.shown = folder / "shown"
        self.shown.mkdir()
        self.before = snapshot_of(self.data)

    def read_all(
        self,
        read: Callable[[Path], int] = steps_in,
        *,
        appender: Appender | None = None,
        earlier: int = 0,
    ) -> int:
        record = Record(self.record, self.data, self.before)
        append = None if appender is None else lambda at: appender.append(at / self.name)
        states = read_all_states(record, self.shown, lambda at: read(at / self.name),
                                 append=append, earlier=earlier)  # fmt: skip
        # Nothing has escaped the recorder.
        left = {path: content for path, (_, content) in snapshot_of(self.data).items()}
        assert record.state_at_end() == left
        return states


@pytest.mark.parametrize(
    "file_format", ["hdf5", "hdf5-encoded", "cdf5", "zarr", "zarr-encoded", "raw"]
)
def test_no_step_is_lost(memory: Path, appender: Appender, file_format: str) -> None:
    folder = Recorded(memory, f"file.{SUFFIXES[file_format]}")
    for _ in range(2):  # one run makes the file, one adds steps
        command = [str(WRITER), str(folder.path), file_format, str(folder.record), "2"]
        run_recorded(command, folder.data, folder.record)
    assert folder.read_all(appender=appender) > 50


SHARED_CHUNKS = {
    "arrays": [
        {"name": "density", "shape": [1, 24, 30], "type": "float64", "grows": True,
         "chunks": [4, 12, 10], "shards": [4, 24, 20], "codecs": "gzip:1,crc32c"},
        {"name": "count", "shape": [1, 7, 5], "type": "int32", "grows": True,
         "chunks": [4, 4, 5], "codecs": "gzip:1,crc32c"},
        {"name": "mesh", "shape": [16], "type": "float64"},
    ]
}  # fmt: skip


def make_with_shared_chunks(path: Path) -> None:
    """Makes a file with one step, whose compressed chunks and shards have room for four."""
    file = FileHandle.create(path, "zarr", SHARED_CHUNKS)
    for number, (name, shape) in enumerate([*SHAPES.items(), ("mesh", (16,))]):
        steps = () if name == "mesh" else (1,)
        values = np.arange(1, np.prod(shape) + 1).reshape((*steps, *shape))
        values = values.astype(SHARED_CHUNKS["arrays"][number]["type"])
        start = [0] * values.ndim
        file.write(number, start, list(values.shape), [1] * values.ndim, values)
    file.commit()


def test_no_step_of_chunks_that_steps_share_is_lost(memory: Path, appender: Appender) -> None:
    """A step is written into compressed chunks and shards that hold committed steps."""
    folder = Recorded(memory, "file.zarr")
    make_with_shared_chunks(folder.path)
    folder.before = snapshot_of(folder.data)
    run_recorded([str(WRITER), str(folder.path), "zarr", str(folder.record), "2"], folder.data,
                 folder.record)  # fmt: skip
    assert folder.read_all(appender=appender, earlier=1) > 50


def file_with_three_steps(memory: Path, file_format: str) -> Recorded:
    folder = Recorded(memory, f"file.{SUFFIXES[file_format.removesuffix('-shared')]}")
    steps = "3"
    if file_format == "zarr-shared":
        make_with_shared_chunks(folder.path)
        file_format, steps = "zarr", "2"
    run_recorded([str(WRITER), str(folder.path), file_format, str(folder.record), steps],
                 folder.data, folder.record)  # fmt: skip
    folder.record.unlink()
    folder.before = snapshot_of(folder.data)
    return folder


def steps_with_counts(path: Path, whole: int) -> int:
    """The steps of a file, of which those from number `whole` on have numbers in `count` alone."""
    with weir.open(path) as file:
        steps = file.steps
        assert steps is not None
        np.testing.assert_array_equal(file["density"][:whole], expected("density", whole))
        assert not file["density"][whole:].any()
        np.testing.assert_array_equal(file["count"][...], expected("count", steps))
        return steps


def after_three_steps(memory: Path, file_format: str, program: str) -> tuple[Recorded, Record]:
    """Returns a file of three steps, and what this program then asked of the file system."""
    folder = file_with_three_steps(memory, file_format)
    run_recorded([sys.executable, "-c", program, str(folder.path), str(folder.record)],
                 folder.data, folder.record)  # fmt: skip
    return folder, Record(folder.record, folder.data, folder.before)


DROPPER = """
import sys
from mpi4py import MPI
import weir
path, log = sys.argv[1:]
with weir.Session(MPI.COMM_WORLD) as session, session.open_file(path) as file:
    file.drop_steps(1)
    with open(log, "a") as told:
        told.write("ended 1\\n")
"""
FORMATS_AND_SHARED = ["hdf5", "hdf5-encoded", "cdf5", "zarr", "zarr-encoded", "zarr-shared", "raw"]


@pytest.mark.parametrize("file_format", FORMATS_AND_SHARED)
def test_dropped_steps_are_there_or_gone(
    memory: Path, appender: Appender, file_format: str
) -> None:
    """What is left of three steps is three or one, and the next step has nothing of the others."""
    folder, record = after_three_steps(memory, file_format, DROPPER)
    shown = Folder(folder.shown)
    path = folder.shown / folder.name
    counted = {1: 0, 3: 0}
    for ended, what, state in states_of(record, most=LOOKED_AT_ONE_BY_ONE, seed=1):
        shown.show(state)
        try:
            found = read_by_weir(path)
            assert found in ((1,) if ended else (1, 3))
            counted[found] += 1
            assert appender.append(path, ["count"]) == found + 1
            assert steps_with_counts(path, found) == found + 1
            shown.look()
        except Exception as error:
            raise AssertionError(f"{error!r}: {what}") from error
    assert min(counted.values()) > 0


ABORTER = """
import sys
import numpy as np
from mpi4py import MPI
import weir
path, log = sys.argv[1:]
with weir.Session(MPI.COMM_WORLD) as session, session.open_file(path) as file:
    def write(name, first):
        array = file[name]
        numbers = np.arange(np.prod(array.shape)).reshape(array.shape) + first
        distributed = session.distribution(array.shape, "BLOCK, *")
        array.write(distributed, numbers.astype(array.dtype))
    file.begin_step()
    write("density", 500000)
    write("count", 600000)
    file.abort_step("the numbers are wrong")
    with file.step():
        write("count", 3001)
    with open(log, "a") as told:
        told.write("ended 4\\n")
"""


@pytest.mark.parametrize("file_format", FORMATS_AND_SHARED)
def test_nothing_of_an_aborted_step_is_seen(
    memory: Path, appender: Appender, file_format: str
) -> None:
    """The step after it has numbers in one array alone; the other one has zeros there."""
    folder, record = after_three_steps(memory, file_format, ABORTER)
    states = read_all_states(
        record, folder.shown, lambda shown: steps_with_counts(shown / folder.name, 3),
        append=lambda shown: appender.append(shown / folder.name, ["count"]), earlier=3,
    )  # fmt: skip
    assert states > 10


ADDER = """
import sys
import numpy as np
from mpi4py import MPI
import weir
path, file_format, log, what = sys.argv[1:]
shapes = {"density": ((24, 30), float), "count": ((7, 5), "int32")}
with weir.Session(MPI.COMM_WORLD) as session:
    def write(file, step):
        for name, (shape, dtype) in shapes.items():
            numbers = np.arange(np.prod(shape)).reshape(shape) + 1 + 1000 * step
            file[name].write(session.distribution(shape, "BLOCK, *"), numbers.astype(dtype))
    if what == "make":
        with session.create_file(path, format=file_format) as file:
            for name, (shape, dtype) in shapes.items():
                file.define(name, shape, dtype, steps=True)
            mesh = file.define("mesh", (16,), float)
            with file.step():
                write(file, 0)
                mesh.write(session.distribution((16,), "BLOCK"), np.arange(16.0) + 1)
    else:
        with session.open_file(path) as file:
            filled = file.define("later/filled", (6, 4), float, steps=True, fill=-3.0)
            file.define("later/zeros", (5000,), "int32", steps=True)
            file.set_attribute("title", "what was added")
            file.set_attribute("units", "kg", owner="later/filled")
            file.extend()
            with file.step():
                write(file, 1)
                filled.write(session.distribution((6, 4), "BLOCK, *"), np.full((6, 4), 7.0))
            with open(log, "a") as told:
                told.write("ended 2\\n")
"""


@pytest.mark.parametrize("file_format", ["hdf5", "zarr", "raw"])
def test_what_is_added_is_there_whole_or_not_at_all(
    memory: Path, appender: Appender, file_format: str
) -> None:
    folder = Recorded(memory, f"file.{SUFFIXES[file_format]}")
    for what in ("make", "add"):
        run_recorded(
            [sys.executable, "-c", ADDER, str(folder.path), file_format, str(folder.record), what],
            folder.data, folder.record,
        )  # fmt: skip
        if what == "make":
            folder.record.unlink()
            folder.before = snapshot_of(folder.data)
    found = {"before": 0, "added": 0}

    def read(path: Path) -> int:
        with weir.open(path) as file:
            names = set(file.arrays) - {"density", "count", "mesh"}
            found["added" if names else "before"] += 1
            steps = file.steps
            assert steps is not None
            for name, shape in SHAPES.items():
                numbers = np.arange(1, np.prod(shape) + 1).reshape(shape)
                for step in range(steps):
                    np.testing.assert_array_equal(file[name][step], numbers + 1000 * step)
            np.testing.assert_array_equal(file["mesh"][...], np.arange(16) + 1)
            assert names in (set(), {"later/filled", "later/zeros"})
            assert file.attributes.get("title", "") == ("what was added" if names else "")
            if names:
                assert file["later/filled"].attributes["units"] == "kg"
                filled = file["later/filled"][...]
                # The program's own step is whole; one that was added to this state has none of it.
                assert {tuple(np.unique(one)) for one in filled[1:]} <= {(7.0,), (-3.0,)}
                np.testing.assert_array_equal(filled[0], -3.0)
                assert not file["later/zeros"][...].any()
            return steps

    assert folder.read_all(read, appender=appender, earlier=1) > 20
    assert min(found.values()) > 0


MAKER = """
import sys
import numpy as np
from weir._core.files import FileHandle
path, file_format, log, *chunks = sys.argv[1:]
array = {"name": "a", "shape": [96, 8], "type": "float64"}
if chunks:
    array |= {"chunks": [1, 8], "codecs": chunks[0]}
file = FileHandle.create(path, file_format, {"arrays": [array]})
for row in range(96):
    file.write(0, [row, 0], [1, 8], [1, 1], np.full((1, 8), row + 1.0))
file.commit()
with open(log, "a") as told:
    told.write("ended 1\\n")
"""


@pytest.mark.parametrize("file_format", ["hdf5", "cdf5", "raw", "zarr", "zarr-encoded"])
def test_no_file_of_one_process_is_lost(memory: Path, file_format: str) -> None:
    """Also one of more chunks than are open together."""
    folder = Recorded(memory, f"file.{SUFFIXES[file_format]}")
    name, _, encoded = file_format.partition("-")
    chunks = ["gzip:1"] if encoded else [""] if name == "zarr" else []
    run_recorded([sys.executable, "-c", MAKER, str(folder.path), name, str(folder.record), *chunks],
                 folder.data, folder.record)  # fmt: skip

    def read(path: Path) -> int:
        if not path.exists() and not Path(f"{path}.json").exists():
            return 0
        with weir.open(path) as file:
            rows = np.broadcast_to(np.arange(1, 97.0)[:, np.newaxis], (96, 8))
            np.testing.assert_array_equal(file["a"][...], rows)
        return 1

    assert folder.read_all(read) > 20


def test_no_array_that_was_synced_is_lost(memory: Path) -> None:
    folder = Recorded(memory, "array")
    run_recorded([str(WRITER), str(folder.path), "array", str(folder.record), "2"], folder.data,
                 folder.record)  # fmt: skip

    def read(path: Path) -> int:
        """How many syncs of the array had ended for what is there, where that can be told."""
        if not Path(f"{path}.json").exists():
            return 0
        with weir.open(path) as file:
            values = file["array"][...].ravel()
        numbers = np.arange(1, values.size + 1)
        for synced in (2, 1):
            if np.array_equal(values, numbers + 1000 * (synced - 1)):
                return synced
        return -1

    record = Record(folder.record, folder.data, folder.before)
    shown = Folder(folder.shown)
    states = 0
    for ended, what, state in states_of(record, most=LOOKED_AT_ONE_BY_ONE, seed=1):
        shown.show(state)
        states += 1
        if ended == 0:
            continue  # what nobody synced may be in any state
        found = read(folder.shown / folder.name)
        # The second write is over the first, in place.
        assert found >= ended or (ended == 1 and found == -1), f"{found} of {ended}: {what}"
    assert states > 5
