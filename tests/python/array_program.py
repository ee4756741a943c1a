"""Round trips of NumPy arrays on the ranks of a launcher: array_program.py FOLDER CASE..."""

from __future__ import annotations

import gc
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from mpi4py import MPI
from raising import raises

import weir
from array_refusals import (
    COMM,
    LAST,
    refusals,
    refused,
    wrong_arguments,
    wrong_data,
    wrong_definitions,
    wrong_regions,
)

NEGATIVE = "a negative density"


def part_of(whole: np.ndarray, distribution: weir.Distribution) -> np.ndarray:
    """This rank's part, by the index in the array of each of its elements."""
    part = np.empty(distribution.shape, whole.dtype)
    for local in np.ndindex(*distribution.shape):
        part[local] = whole[distribution.global_index(local)]
    return part


def numbered(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.arange(1, 1 + np.prod(shape, dtype=int)).astype(dtype).reshape(shape)


def element_types(folder: Path) -> None:
    names = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64"
    with weir.Session(COMM) as session:
        rows = session.distribution((7, 6), "BLOCK, *")
        columns = session.distribution((7, 6), "*, CYCLIC(2)")
        for name in [*names.split(), "complex128", "bool"]:
            whole = numbered((7, 6), name)
            array = session.create(str(folder / name), whole.shape, name)
            assert array.dtype == whole.dtype
            assert (array.dimensions, array.element_bytes) == (whole.ndim, whole.itemsize)
            array.write(rows, part_of(whole, rows))
            np.testing.assert_array_equal(array.read(columns), part_of(whole, columns))
            array.close()
            found = np.fromfile(folder / name, name).reshape(whole.shape)
            np.testing.assert_array_equal(found, whole)


def records(folder: Path) -> None:
    kind = np.dtype([("place", "<f4", 3), ("kind", "<i4")])
    with weir.Session(COMM) as session:
        distributed = session.distribution((9,), "CYCLIC")
        whole = np.zeros(9, kind)
        whole["kind"] = np.arange(9)
        array = session.create(str(folder / "records"), (9,), kind)
        assert array.element_type == "record[16]"
        array.write(distributed, part_of(whole, distributed))
        read = array.read(distributed).view(kind)
        np.testing.assert_array_equal(read, part_of(whole, distributed))


def memory(folder: Path) -> None:
    """Transposed, reversed and ghosted memory is written and read where it is."""
    with weir.Session(COMM) as session:
        whole = numbered((8, 10), "float64")
        distributed = session.distribution(whole.shape, "BLOCK, BLOCK")
        array = session.create(str(folder / "memory"), whole.shape, "float64", order="F")
        part = part_of(whole, distributed)
        ghosted = np.full((part.shape[0] + 2, part.shape[1] + 3), -1.0)
        ghosted[1:-1, 1:-2] = part
        for view in (
            part,
            np.asfortranarray(part),
            np.ascontiguousarray(part[::-1, ::-1])[::-1, ::-1],
            ghosted[1:-1, 1:-2],
        ):
            array.write(distributed, view)
            np.testing.assert_array_equal(array.read(distributed), part)
            kept = view.copy()
            view[...] = 0
            assert array.read(distributed, view) is view
            np.testing.assert_array_equal(view, kept)
        assert (ghosted[0] == -1).all()
        assert (ghosted[:, -2:] == -1).all()
        array.close()
        found = np.fromfile(folder / "memory").reshape(whole.shape, order="F")
        np.testing.assert_array_equal(found, whole)


def sections(folder: Path) -> None:
    with weir.Session(COMM) as session:
        whole = numbered((9, 12), "int32")
        distributed = session.distribution(whole.shape, "CYCLIC, BLOCK")
        array = session.create(str(folder / "a"), whole.shape, "int32", chunks=(4, 5))
        part = part_of(whole, distributed)
        cut = (slice(1, None, 3), slice(2, -2, 2))
        array.write(distributed, part, cut)
        expected = np.zeros_like(whole)
        expected[cut] = whole[cut]
        np.testing.assert_array_equal(array.read(distributed), part_of(expected, distributed))
        array.write(distributed, part)
        np.testing.assert_array_equal(
            array.read(distributed, section=cut), part_of(expected, distributed)
        )


def directories(folder: Path) -> None:
    """A file per rank, all of them in another folder than the description."""
    with weir.Session(COMM) as session:
        whole = numbered((9, 12), "int32")
        distributed = session.distribution(whole.shape, "BLOCK, *")
        if COMM.rank == 0:
            (folder / "far").mkdir()
        array = session.create(
            str(folder / "a"),
            whole.shape,
            "int32",
            chunks=(4, 5),
            files="per rank",
            directories=[str(folder / "far")],
        )
        array.write(distributed, part_of(whole, distributed))
        np.testing.assert_array_equal(array.read(distributed), part_of(whole, distributed))
        assert (folder / "far" / f"a.{COMM.rank}").exists()


def boxes(folder: Path) -> None:
    """Each rank has two boxes in arrays of their own."""
    with weir.Session(COMM) as session:
        whole = numbered((4 * COMM.size, 5), "uint16")
        mine = [((4 * COMM.rank, 0), (1, 5)), ((4 * COMM.rank + 1, 1), (3, 4))]
        held = session.distribution_from_boxes(whole.shape, mine)
        parts = [
            np.ascontiguousarray(whole[low[0] : low[0] + ext[0], low[1] : low[1] + ext[1]])
            for low, ext in mine
        ]
        array = session.create(str(folder / "a"), whole.shape, "uint16")
        array.write(held, parts)
        for got, given in zip(array.read(held), parts, strict=True):
            np.testing.assert_array_equal(got, given)


def requests(folder: Path) -> None:
    with weir.Session(COMM) as session:
        whole = numbered((6, 6), "float32")
        distributed = session.distribution(whole.shape, "BLOCK, *")
        first = session.create(str(folder / "first"), whole.shape, "float32")
        second = session.create(str(folder / "second"), whole.shape, "float32")
        part = part_of(whole, distributed)
        writing = session.write_begin([(first, distributed, part), (second, distributed, 2 * part)])
        got = np.empty_like(part)
        reading = session.read_begin([(second, distributed, got)])
        while not reading.test():
            pass
        writing.wait()
        np.testing.assert_array_equal(got, 2 * part)
        assert session.figures()["bytes_asked"] == part.nbytes
        explained = session.explain(
            "write", [(first, distributed, part), (second, distributed, part)]
        )
        assert "\nserver-directed " in explained
        assert session.explain("read", [(second, distributed, got)]) != explained


def dropped_requests(folder: Path) -> None:
    """The session holds the memory of requests that the program has let go of."""
    with weir.Session(COMM) as session:
        whole = numbered((8 * COMM.size, 4096), "float64")
        distributed = session.distribution(whole.shape, "BLOCK, *")
        array = session.create(str(folder / "a"), whole.shape, "float64")
        part = part_of(whole, distributed)
        for turn in range(5):
            session.write_begin([(array, distributed, part + turn)])  # kept by nobody
            gc.collect()
            # Takes memory that is free.
            other = [np.full(distributed.shape, -7.0) for _ in range(4)]
        array.sync()
        np.testing.assert_array_equal(array.read(distributed), part + 4)
        target = np.zeros_like(part)
        session.read_begin([(array, distributed, target)])
        del target
        other = [np.full(distributed.shape, -7.0) for _ in range(4)]
        array.sync()
        assert all((one == -7).all() for one in other)
        # Ends what began before, then lets go of it.
        memory = weakref.ref(kept := part + 9)
        session.write_begin([(array, distributed, kept)])
        del kept
        assert memory() is not None
        array.sync()
        session.write_begin([(array, distributed, part)]).wait()
        gc.collect()
        assert memory() is None
        array.close()
    found = np.fromfile(folder / "a").reshape(whole.shape)
    np.testing.assert_array_equal(found, whole)
    session = weir.Session(COMM)
    distributed = session.distribution((6, 4), "BLOCK, *")
    array = session.create(str(folder / "b"), (6, 4), "float64")
    session.write_begin([(array, distributed, np.zeros(distributed.shape, "int8"))])
    refused(weir.ArgumentError, "int8", session.close)
    session.close()


def regions(folder: Path) -> None:
    """Random regions of each rank, together and alone, against NumPy."""
    random = np.random.default_rng(13)  # the same draws on every rank
    with weir.Session(COMM) as session:
        shape = (4 * COMM.size + 1, 11, 5)
        for chunks in (None, (3, 4, 5)):
            whole = np.zeros(shape, "int32")
            array = session.create(str(folder / "a"), shape, "int32", chunks=chunks)
            for turn in range(12):
                strided = turn % 2 == 1
                # Rank r writes inside rows r, r + n, r + 2n ... or rows 4r to 4r + 3.
                cuts = []
                for rank in range(COMM.size):
                    rows = (
                        slice(rank, None, COMM.size) if strided else slice(4 * rank, 4 * rank + 4)
                    )
                    other = []
                    for extent in shape[1:]:
                        low = int(random.integers(0, extent + 1))
                        high = int(random.integers(low, extent + 1))
                        step = int(random.integers(1, 4)) if strided else 1
                        other.append(slice(low, high, step))
                    cuts.append((rows, *other))
                for rank, cut in enumerate(cuts):
                    part = whole[cut]
                    part[...] = 1000 * turn + 100 * rank + np.arange(part.size).reshape(part.shape)
                mine = cuts[COMM.rank]
                lower = tuple(
                    cut.indices(extent)[0] for cut, extent in zip(mine, shape, strict=True)
                )
                steps = tuple(cut.step or 1 for cut in mine)
                data = whole[mine].copy()
                if turn % 3 == 0:
                    array.write_region_begin(lower, data, steps)  # kept by nobody
                    array.sync()
                elif turn % 3 == 1:
                    array.write_region(lower, np.asfortranarray(data), steps)
                else:
                    array.write_region(lower, data, steps, independent=True)
                COMM.barrier()
                start = tuple(int(random.integers(0, extent)) for extent in shape)
                stride = tuple(int(random.integers(1, 4)) for _ in shape)
                count = tuple(
                    -(-(extent - low) // step)
                    for extent, low, step in zip(shape, start, stride, strict=True)
                )
                expected = whole[tuple(map(slice, start, shape, stride))]
                got = array.read_region(start, count, stride)
                np.testing.assert_array_equal(got, expected)
                out = np.full((*count[:-1], count[-1] + 2), -1, "int32")[..., 1:-1]
                array.read_region(start, stride=stride, out=out, independent=True)
                np.testing.assert_array_equal(out, expected)
                target = np.zeros(count, "int32")
                array.read_region_begin(start, target, stride).wait()
                np.testing.assert_array_equal(target, expected)
                COMM.barrier()
            array.close()


def layouts(folder: Path) -> None:
    """A layout that the file system cannot give is refused by name, and nothing is left."""
    given: list[dict[str, object]] = [
        {"stripe_count": 2}, {"stripe_count": -1}, {"stripe_bytes": 1 << 20}, {"first_target": 0},
        {"pool": "flash"},
    ]  # fmt: skip
    text = "programs cannot choose how a file is striped"
    with weir.Session(COMM, deadline_seconds=60) as session:
        for layout in given:
            created = partial(session.create, str(folder / "a"), (6, 4), "int8", **layout)
            line = refused(weir.UnsupportedError, text, created)
            assert line.startswith("create: "), line
            for ending in ("h5", "nc", "zarr", "raw"):
                path = folder / f"a.{ending}"
                file = session.create_file(str(path), **layout)
                file.define("field", (6, 4), "int8", steps=True)
                refused(weir.UnsupportedError, text, file.begin_step)
        for wrong in ({"stripe_count": -2}, {"stripe_bytes": -1}, {"first_target": -2}):
            (name,) = wrong
            created = partial(session.create, str(folder / "a"), (6, 4), "int8", **wrong)
            refused(weir.ArgumentError, name, created)
    COMM.barrier()
    assert list(folder.glob("a*")) == []


def files(folder: Path) -> None:
    """Steps and attributes of each format, and a file that is opened again."""
    cube = (4, 5, 6)
    whole = numbered(cube, "float64")
    with weir.Session(COMM) as session:
        blocks = session.distribution(cube, "BLOCK, *, BLOCK")
        rows = session.distribution(cube, "*, BLOCK, *")
        for ending in ("h5", "nc", "zarr"):
            path = str(folder / f"plot.{ending}")
            with session.create_file(path, durability="none", step_dimension="time") as file:
                field = file.define(
                    "field", cube, "float64", steps=True, dimension_names=("z", "y", "x"),
                    attributes={"units": "K", "levels": [1, 2, 3], "scale": 0.5},
                )  # fmt: skip
                mask = file.define("mask", cube, np.int8)
                square = partial(file.define, "square", cube, np.int8, chunks=(2, 2))
                refused(weir.ArgumentError, "dimensions", square)
                file.set_attribute("title", "a test")
                for number in range(2):
                    with file.step():
                        field.write(blocks, part_of(whole, blocks) + 100 * number)
                        if number == 0:
                            mask.write(rows, part_of(whole % 2, rows).astype("int8"))
                assert file.steps == 2
                refused(
                    weir.ArgumentError,
                    "first step",
                    mask.write,
                    rows,
                    part_of(whole, rows).astype("int8"),
                )
            with session.open_file(path, read_only=True) as file:
                assert sorted(file) == ["field", "mask"]
                assert file.attributes()["title"] == "a test"
                found = file.attributes("field")
                assert found["units"] == "K"
                np.testing.assert_array_equal(found["levels"], [1, 2, 3])
                np.testing.assert_array_equal(found["scale"], [0.5])
                assert file["field"].has_steps
                assert file["field"].dimension_names == ("z", "y", "x")
                for number in (1, 0):
                    file.select_step(number)
                    expected = part_of(whole, rows) + 100 * number
                    np.testing.assert_array_equal(file["field"].read(rows), expected)
                np.testing.assert_array_equal(file["mask"].read(blocks), part_of(whole % 2, blocks))
                refused(weir.ArgumentError, "read-only", file.begin_step)


def left_by_exception(folder: Path) -> None:
    """An exception of the program on one rank, in the third step: the others are told of it."""
    shape, path = (4, 6), str(folder / "left.zarr")
    raises = COMM.rank == 1
    message = "negative\npressure"

    def three_steps() -> None:
        with weir.Session(COMM) as session, session.create_file(path) as file:
            rows = session.distribution(shape, "*, BLOCK")
            field = file.define("field", shape, "float64", steps=True)
            for number in range(3):
                file.begin_step()
                if raises and number == 2:
                    raise ValueError(message)
                field.write(rows, part_of(numbered(shape, "float64"), rows))
                file.end_step()

    told = f"rank 1: gave the session up in step 2 of '{path}': ValueError in array_program.py"
    kind, line = "", ""
    try:
        three_steps()
    except (ValueError, weir.BrokenError) as error:
        kind, line = type(error).__name__, str(error)
    assert kind == ("ValueError" if raises else "BrokenError"), line
    assert (message if raises else told) in line, line
    COMM.barrier()
    with weir.Session(COMM) as session:
        assert session.open_file(path, read_only=True).steps == 2


def left_steps(folder: Path) -> None:
    """Steps that an exception leaves, on all ranks or on one: each can be begun again."""
    with weir.Session(COMM, deadline_seconds=60) as session:
        rows = session.distribution((8, 6), "BLOCK, *")
        for ending in ("h5", "nc", "zarr"):
            with session.create_file(str(folder / f"left.{ending}")) as file:
                field = file.define("field", (8, 6), "float64", steps=True)
                for number in range(3):
                    for leaving in (list(range(COMM.size)), [LAST]):
                        leave_step(file, field, rows, leaving)
                        assert not file.in_step
                        assert file.steps == number
                    with file.step():
                        field.write(rows, np.full(rows.shape, 1.0 + number))
            with session.open_file(str(folder / f"left.{ending}"), read_only=True) as file:
                assert file.steps == 3
                for number in range(3):
                    file.select_step(number)
                    assert (file["field"].read(rows) == 1.0 + number).all()


def leave_step(
    file: weir.File, field: weir.FileArray, rows: weir.Distribution, leaving: list[int]
) -> None:
    def left() -> None:
        with file.step():
            field.write(rows, np.full(rows.shape, -1.0))
            if COMM.rank in leaving:
                raise ValueError(NEGATIVE)
            field.write(rows, np.full(rows.shape, -2.0))

    with raises(ValueError if COMM.rank in leaving else weir.AbortedError) as told:
        left()
    text = str(told.value)
    assert text == NEGATIVE or f"rank {LAST}: abort_step: " in text
    assert NEGATIVE in text


def threads(folder: Path) -> None:
    """Each of three threads has a session of its own, all at once, and writes files of its own."""
    assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
    shape = (24, 30)

    def write_and_read(number: int, communicator: MPI.Comm) -> None:
        strategies = ("node", "two-phase", "server-directed")
        nodes = {"strategy": strategies[number], "ranks_per_node": number % 2}
        with weir.Session(communicator, deadline_seconds=60, **nodes) as session:
            rows = session.distribution(shape, "BLOCK, *")
            columns = session.distribution(shape, "*, CYCLIC(7)")
            path = str(folder / f"threads{number}.{('h5', 'nc', 'zarr')[number]}")
            with session.create_file(path) as file:
                field = file.define("field", shape, "float64", steps=True)
                for step in range(5):
                    with file.step():
                        field.write(rows, np.full(rows.shape, 10.0 * number + step))
            with session.open_file(path, read_only=True) as file:
                for step in range(5):
                    file.select_step(step)
                    assert (file["field"].read(columns) == 10 * number + step).all()

    communicators = [COMM.Dup() for _ in range(3)]
    with ThreadPoolExecutor(len(communicators)) as pool:
        list(pool.map(write_and_read, range(len(communicators)), communicators))
    for communicator in communicators:
        communicator.Free()


CASES = {
    case.__name__: case
    for case in (
        element_types,
        records,
        memory,
        sections,
        directories,
        boxes,
        requests,
        dropped_requests,
        regions,
        layouts,
        files,
        left_by_exception,
        left_steps,
        threads,
        wrong_data,
        wrong_arguments,
        wrong_definitions,
        wrong_regions,
        refusals,
    )
}

if __name__ == "__main__":
    for case in sys.argv[2:]:
        CASES[case](Path(sys.argv[1]))
        sys.stdout.write(f"{case} passed\n")
