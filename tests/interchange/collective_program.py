"""What the tests run on several ranks: files of all formats, written and read collectively.

python collective_program.py write FOLDER
    writes the arrays of stored_cases in each format, step by step, each array by another
    distribution
python collective_program.py many FOLDER
    writes files with one array each, whose steps have more than 8192 chunks or, of 1024, write one
python collective_program.py append FOLDER
    adds a step to the array u of every file of FOLDER, all of it 7, and prints the number of steps
    or why there is no room
python collective_program.py read FOLDER
    reads every file of FOLDER whose arrays' values lie beside it in FILE.npz, each array under
    several distributions, and prints "N arrays of FILE" when all were right
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from parts_of_ranks import distribution, part_of
from stored_cases import CLASSIC, FORMATS, SUFFIXES, TITLE, Case, cases_in

import weir


def write(session: weir.Session, path: Path, file_format: str) -> None:
    arrays = cases_in(path, file_format)
    with session.create_file(str(path), format=file_format, step_dimension="time") as file:
        file.set_attribute("title", TITLE)
        if file_format not in CLASSIC:
            file.set_attribute("solver", "explicit", owner="fields")
        defined = [define(file, case) for case in arrays]
        for step in range(3):
            with file.step():
                for turn, (case, array) in enumerate(zip(arrays, defined, strict=True)):
                    if case.grows or step == 0:
                        # An array of one number per step has one element in memory.
                        values = np.atleast_1d(case.values[step]) if case.grows else case.values
                        distributed = distribution(session, values.shape, turn)
                        part = part_of(distributed, values)
                        array.write(distributed, [] if part is None else part)


def slice_of(distributed: weir.Distribution) -> slice:
    """What this rank holds of an array of one dimension that is distributed by BLOCK."""
    first = distributed.global_index((0,))[0]
    return slice(first, first + distributed.shape[0])


def write_many_chunks(session: weir.Session, folder: Path) -> None:
    """Three steps of 8193 chunks, plain and encoded, and 12 of 1024 of which each writes one."""
    for name, codec in (("plain", None), ("encoded", "fletcher32")):
        with session.create_file(str(folder / f"{name}.h5"), format="hdf5") as file:
            array = file.define("x", (8193,), "int32", steps=True, chunks=(1,), codec=codec)
            distributed = session.distribution(array.shape, "BLOCK")
            for step in range(3):
                with file.step():
                    values = np.arange(8193, dtype="int32") + 10000 * (step + 1)
                    array.write(distributed, values[slice_of(distributed)])
    with session.create_file(str(folder / "sparse.h5"), format="hdf5") as file:
        array = file.define("x", (1024,), "int32", steps=True, chunks=(1,), codec="fletcher32")
        distributed = session.distribution(array.shape, "BLOCK")
        for step in range(12):
            with file.step():
                values = np.full(1024, step + 1, "int32")
                array.write(distributed, values[slice_of(distributed)], [slice(step, step + 1)])


def define(file: Any, case: Case) -> Any:
    step = 1 if case.grows else 0
    return file.define(
        case.name,
        case.values.shape[step:],
        case.values.dtype.name,
        steps=case.grows,
        order="F" if case.column_major else "C",
        chunks=case.chunks and case.chunks[step:],
        shards=case.shards and case.shards[step:],
        dimension_names=case.dimensions[step:],
        fill=case.fill,
        attributes=case.attributes,
    )


def append(session: weir.Session, path: Path) -> None:
    try:
        with session.open_file(str(path)) as file:
            with file.step():
                array = file["u"]
                distributed = distribution(session, array.shape, 0)
                array.write(distributed, part_of(distributed, np.full(array.shape, 7.0)))
            said = f"{file.steps} steps"
    except weir.Error as error:
        said = str(error)
    if MPI.COMM_WORLD.rank == 0:
        print(f"{path.name}: {said}", flush=True)  # noqa: T201


def read(session: weir.Session, path: Path) -> None:
    expected = np.load(f"{path}.npz")
    with session.open_file(str(path), read_only=True) as file:
        for number, key in enumerate(expected.files):
            values = expected[key]
            array = file[key.replace("|", "/")]
            for turn in range(number, number + 3):
                if array.has_steps:
                    step = turn % len(values)
                    file.select_step(step)
                    check(session, array, np.atleast_1d(values[step]), turn)
                else:
                    check(session, array, values, turn)
    if MPI.COMM_WORLD.rank == 0:
        print(f"{len(expected.files)} arrays of {path.name}", flush=True)  # noqa: T201


def check(session: weir.Session, array: Any, values: np.ndarray[Any, Any], turn: int) -> None:
    distributed = distribution(session, array.shape, turn)
    part = part_of(distributed, values)
    if part is None:
        array.read(distributed, [])
        return
    memory = np.empty(part.shape, array.dtype, order="F" if turn % 2 else "C")
    array.read(distributed, memory)
    np.testing.assert_array_equal(memory, part, array.name)


def extend(session: weir.Session, path: Path) -> None:
    """Adds a step: the one that is there, and 100."""
    with session.open_file(path) as file:
        array = file["a"]
        distributed = session.distribution(array.shape, "BLOCK, *")
        values = np.empty(distributed.shape, array.dtype)
        array.read(distributed, values)
        with file.step():
            array.write(distributed, values + 100)


def main() -> None:
    what, folder = sys.argv[1], Path(sys.argv[2])
    with weir.Session(MPI.COMM_WORLD, deadline_seconds=60) as session:
        if what == "write":
            for name in FORMATS:
                write(session, folder / f"file.{SUFFIXES[name]}", name)
        elif what == "many":
            write_many_chunks(session, folder)
        elif what == "append":
            for path in sorted(folder.iterdir()):
                append(session, path)
        elif what == "extend":
            extend(session, folder / "growing.h5")
        else:
            for values in sorted(folder.glob("*.npz")):
                read(session, values.with_suffix(""))


main()
