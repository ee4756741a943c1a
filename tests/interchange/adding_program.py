"""Adds arrays and attributes to files that have steps: test_additions.py runs it on several ranks.

python adding_program.py add FOLDER
    writes a file of each format, adds to it between its steps and after opening it again
python adding_program.py refuse FOLDER
    tries what no format does, and what ranks do not agree on; all ranks get the same error
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from added_values import CLASSIC, GROWING, SHAPE, values_of
from mpi4py import MPI

import weir


def write(session: weir.Session, array: weir.FileArray, values: np.ndarray) -> None:
    distributed = session.distribution(values.shape, "BLOCK, *"[: 5 + 3 * (values.ndim - 1)])
    rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    each = -(-values.shape[0] // ranks)
    mine = values[rank * each : (rank + 1) * each]
    array.write(distributed, np.ascontiguousarray(mine) if distributed.pieces else None)


def add_to(session: weir.Session, path: Path, file_format: str) -> None:
    codec = {"hdf5": "deflate:1", "zarr": "gzip:1"}.get(file_format)
    encoded = {} if codec is None else {"codec": codec}
    with session.create_file(str(path), format=file_format) as file:
        a = file.define("a", SHAPE, float, steps=True, dimension_names=["y", "x"])
        mesh = file.define("mesh", (16,), "int32")
        file.set_attribute("title", "first")
        for step in range(2):
            with file.step():
                write(session, a, values_of(step, 0))
                if step == 0:
                    write(session, mesh, np.arange(16, dtype="int32"))
        b = file.define("b", SHAPE, float, steps=True, dimension_names=["y", "x"], fill=-7.0)
        packed = file.define("packed", SHAPE, float, steps=True, fill=-8.0, **encoded)
        late_mesh = file.define("late_mesh", (8,), float)
        file.set_attribute("title", "second")
        file.set_attribute("units", "K", owner="a")
        file.set_attribute("units", "m", owner="b")
        with file.step():
            write(session, a, values_of(2, 0))
            write(session, b, values_of(2, 0.5))
            write(session, packed, values_of(2, 0.25))
            write(session, late_mesh, np.arange(8.0))
    with session.open_file(str(path)) as file:
        assert file.steps == 3
        c = file.define("late/c", (5,), "int64", steps=True)
        file.set_attribute("author", "w", owner="late")
        file.set_attribute("valid_max", np.float32(9), owner="b")
        file.extend()
        assert list(file)[-1] == "late/c"
        assert file.attributes("late") == {"author": "w"}
        assert file.steps == 3
        with file.step():
            write(session, file["a"], values_of(3, 0))
            write(session, c, np.arange(5))
            write(session, file["packed"], values_of(3, 0.25))
        got = np.empty((5,), "int64") if MPI.COMM_WORLD.rank == 0 else None
        whole = session.distribution_from_boxes(
            (5,), [((0,), (5,))] if MPI.COMM_WORLD.rank == 0 else []
        )
        file.select_step(1)
        c.read(whole, got)
        assert got is None or not got.any()
        file.select_step(3)
        c.read(whole, got)
        assert got is None or got.tolist() == [0, 1, 2, 3, 4]


def add_to_classic(session: weir.Session, path: Path, file_format: str) -> None:
    """Attributes where the header has room; arrays while the file has no step."""
    with session.create_file(str(path), format=file_format, alignment_bytes=4096) as file:
        a = file.define("a", SHAPE, float, steps=True, dimension_names=["y", "x"])
        with file.step():
            write(session, a, values_of(0, 0))
        file.set_attribute("units", "K", owner="a")
        file.set_attribute("title", "second")
        with file.step():
            write(session, a, values_of(1, 0))
        file.define("b", SHAPE, float, steps=True)
        said = failure_of(file.extend, weir.UnsupportedError)
        assert "the steps of a CDF file are its last bytes" in said, said
        file.set_attribute("long", "x" * 4000)
        said = failure_of(file.extend, weir.UnsupportedError)
        assert "do not fit" in said, said
        file.drop_steps(0)
        b = file.define("b", SHAPE, float, steps=True, fill=-7.0, dimension_names=["y", "x"])
        late_mesh = file.define("late_mesh", (8,), float, fill=-5.0)
        with file.step():
            write(session, a, values_of(0, 0))
            write(session, late_mesh, np.arange(8.0))
        with file.step():
            write(session, b, values_of(1, 0.5))


def failure_of(call, kind: type[Exception]) -> str:  # type: ignore[no-untyped-def]
    """The error, which all ranks get alike."""
    said = ""
    try:
        call()
    except kind as error:
        said = str(error)
    assert said, f"no {kind.__name__}"
    assert len(set(MPI.COMM_WORLD.allgather(said))) == 1
    return said


def refuse(session: weir.Session, path: str, file_format: str) -> None:
    with session.create_file(path, format=file_format) as file:
        a = file.define("a", (8,), float, steps=True)
        with file.step():
            write(session, a, np.arange(8.0))
            failure_of(lambda: file.define("b", (8,), float), weir.ArgumentError)
        failure_of(lambda: file.define("a", (8,), float, steps=True), weir.ArgumentError)
        failure_of(lambda: file.set_attribute("x", 1, owner="none"), weir.ArgumentError)
        failure_of(lambda: file.set_attribute("_FillValue", 1.0, owner="a"), weir.ArgumentError)
        # One rank alone: all ranks are told, and nothing is added.
        if MPI.COMM_WORLD.rank == 1:
            file.set_attribute("mine", 1)
        failure_of(file.extend, weir.Error)
    with session.open_file(path, read_only=True) as reading:
        assert list(reading) == ["a"]
        assert "mine" not in reading.attributes()
        failure_of(lambda: reading.define("b", (8,), float), weir.ArgumentError)
    left = session.open_file(path)
    left.define("b", (8,), float, steps=True)
    said = failure_of(left.close, weir.ArgumentError)
    assert "extend" in said, said


def main() -> None:
    what, folder = sys.argv[1], Path(sys.argv[2])
    with weir.Session(MPI.COMM_WORLD) as session:
        if what == "refuse":
            for file_format, name in GROWING.items():
                refuse(session, str(folder / name), file_format)
            return
        for file_format, name in GROWING.items():
            add_to(session, folder / name, file_format)
        for file_format, name in CLASSIC.items():
            add_to_classic(session, folder / name, file_format)


if __name__ == "__main__":
    main()
