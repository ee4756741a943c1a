"""Ranks that give steps up, drop steps and add arrays while the storage fails: test_changes.py.

python changing_ranks.py FOLDER FORMAT WHAT [CALL NTH]
    under faulty_io.so, in a folder whose name begins with "weir-". Makes the change once for each
    call of the file system that it makes, which fails on rank 0, and looks at the file each time.
    Prints how many calls failed. With CALL and NTH this one kills rank 0.
python changing_ranks.py FOLDER FORMAT look
    looks at what a killed run left, and adds a step to it
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

import weir

CALLS = ("open", "close", "pwrite", "fsync", "fdatasync", "ftruncate")
MOST_OF_EACH = 60
"""More calls of one kind than any of these changes makes."""
WORLD = MPI.COMM_WORLD
SHAPE = (12, 10)
SUFFIXES = {"hdf5": "h5", "zarr": "zarr", "raw": "raw", "cdf5": "nc"}


def values_of(step: int) -> np.ndarray:
    return np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE) + 1 + 1000 * step


def write(session: weir.Session, array: weir.FileArray, values: np.ndarray) -> None:
    dealt = session.distribution(SHAPE, "BLOCK, *")
    each = -(-SHAPE[0] // WORLD.size)
    array.write(dealt, values[WORLD.rank * each : (WORLD.rank + 1) * each].copy())


def make(path: Path, file_format: str, steps: int) -> None:
    with weir.Session(WORLD) as session, session.create_file(str(path), format=file_format) as file:
        a = file.define("a", SHAPE, float, steps=True)
        file.define("left", SHAPE, float, steps=True)
        for step in range(steps):
            with file.step():
                write(session, a, values_of(step))


def copy_of(source: Path, target: Path) -> None:
    """By rank 0, while the others wait: file or folder, with what lies beside it."""
    if WORLD.rank == 0:
        shutil.rmtree(target.parent, ignore_errors=True)
        shutil.copytree(source.parent, target.parent)
    WORLD.Barrier()


def change(session: weir.Session, path: Path, what: str, fault: str) -> tuple[str, int]:
    """Makes the change, while the storage has a fault: what it raised, how many calls failed."""
    file = session.open_file(str(path))
    said = ""

    def arm() -> None:
        os.environ["WEIR_FAULT"] = fault

    try:
        if what == "abort":
            file.begin_step()
            write(session, file["a"], values_of(77))
            write(session, file["left"], values_of(78))
            arm()
            file.abort_step("by the test")
        elif what == "drop":
            arm()
            file.drop_steps(1)
        else:
            file.define("new", SHAPE, float, steps=True, fill=-1.0)
            file.set_attribute("note", "it is new")
            arm()
            file.extend()
    except weir.Error as error:
        said = str(error)
    failed = spoilt()
    disarm()
    assert not file.in_step
    file.close()
    return said, failed


def spoilt() -> int:
    """Calls that failed since the fault was given, on rank 0, which has it."""
    return WORLD.bcast(ctypes.CDLL(None).faulty_io_hits())


def disarm() -> None:
    os.environ["WEIR_FAULT"] = ""


def look(path: Path, what: str) -> None:
    """Everything of before or everything of after is there, and a step more goes well."""
    with weir.Session(WORLD) as session, session.open_file(str(path)) as file:
        before = file.steps
        assert before in ({1, 3} if what == "drop" else {3}), f"{before} steps"
        is_added = "new" in list(file)
        assert file.attributes().get("note", "") == ("it is new" if is_added else "")
        with file.step():
            write(session, file["a"], values_of(before))
    if WORLD.rank == 0:
        with weir.open(path) as stored:
            assert stored.steps == before + 1
            for step in range(before + 1):
                np.testing.assert_array_equal(stored["a"][step], values_of(step))
            # What nobody wrote in the steps that are there, whatever was dropped or given up.
            assert not stored["left"][...].any()
            if is_added:
                np.testing.assert_array_equal(stored["new"][...], -1.0)
    WORLD.Barrier()


def main() -> None:
    folder, file_format, what = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    name = f"weir-file.{SUFFIXES[file_format]}"
    disarm()
    if what == "look":
        look(folder / "tried" / name, sys.argv[4])
        return
    good, tried = folder / "good" / name, folder / "tried" / name
    good.parent.mkdir(exist_ok=True)
    WORLD.Barrier()
    make(good, file_format, 3)
    if len(sys.argv) > 4:
        copy_of(good, tried)
        fault = f"rank=0,call={sys.argv[4]},nth={sys.argv[5]},effect=kill,tree=weir-"
        with weir.Session(WORLD) as session:
            change(session, tried, what, fault)
        return
    failed = 0
    for call in CALLS:
        for nth in range(1, MOST_OF_EACH + 1):
            copy_of(good, tried)
            fault = f"rank=0,call={call},nth={nth},error=EIO,tree=weir-"
            with weir.Session(WORLD) as session:
                said, hits = change(session, tried, what, fault)
            assert len(set(WORLD.allgather(said))) == 1
            try:
                look(tried, what)
            except Exception as error:
                raise AssertionError(f"{fault}: {said!r}: {error!r}") from error
            if not hits:
                break
            failed += 1
        else:
            raise AssertionError(call)
    if WORLD.rank == 0:
        sys.stdout.write(f"{failed} calls failed\n")


if __name__ == "__main__":
    main()
