"""What one rank alone passes wrong to a call: all ranks refuse it together, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from mpi4py import MPI
from raising import raises

import weir

COMM = MPI.COMM_WORLD
LAST = COMM.size - 1


def refused(
    kind: type[weir.Error], text: str, call: Callable[..., object], *arguments: object
) -> str:
    """Every rank gets the same exception with this in its text, which is returned."""
    line = ""
    try:
        call(*arguments)
    except kind as error:
        line = str(error)
    assert text in line, line or f"not refused: {text}"
    assert set(COMM.allgather(line)) == {line}
    return line


class InHost:
    """An array of another library, in the host's memory."""

    def __init__(self, data: np.ndarray) -> None:
        self.__array_interface__ = data.__array_interface__
        self.data = data


class OnCuda:
    """What CuPy and PyTorch look like; its address is nobody's."""

    __cuda_array_interface__: ClassVar = {
        "shape": (2, 4), "typestr": "<f8", "data": (64, False), "version": 3
    }  # fmt: skip


class OnDevice:
    """What JAX and PyTorch look like on a device that DLPack names."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 10, 0

    def __dlpack__(self, **_: object) -> object:
        raise AssertionError


class Broken:
    """An array whose every look fails."""

    @property
    def __array_interface__(self) -> dict[str, object]:
        message = "broken"
        raise ValueError(message)


def wrong_data(folder: Path) -> None:
    """What one rank alone passes wrong is refused on all together, by name; then all go on."""
    odd = COMM.rank == LAST
    with weir.Session(COMM, deadline_seconds=60) as session:
        shape = (2 * COMM.size, 4)
        distributed = session.distribution(shape, "BLOCK, *")
        array = session.create(str(folder / "a"), shape, "float64")
        good = np.full(distributed.shape, 1.0 + COMM.rank)
        masked = np.ma.masked_array(good, mask=True)
        wrong = [
            (None, "data is None"),
            ([[1.0] * 4] * 2, "a list of list, not NumPy arrays"),
            ("text", "a str, not a NumPy array"),
            (7, "a int, not a NumPy array"),
            (masked, "a masked array, whose mask would be lost"),
            ([masked], "a masked array"),
            (OnCuda(), "OnCuda in the memory of a GPU"),
            ([OnCuda()], "OnCuda in the memory of a GPU"),
            (OnDevice(), "OnDevice in the memory of a device (number 10"),
            (Broken(), "broken"),
            (good.astype(">f8"), "of another byte order"),
            (good.astype("float32"), "float32"),
            (good.astype(object), "object"),
        ]
        for data, text in wrong:
            kind: type[weir.Error] = weir.ArgumentError
            if text.startswith(("a ", "On")):
                kind = weir.ArgumentTypeError
                assert issubclass(kind, TypeError)
            refused(kind, text, array.write, distributed, data if odd else good)
            if data is not None:
                refused(weir.ArgumentError, text, array.read, distributed, data if odd else good)
        fixed = good.copy()
        fixed.flags.writeable = False
        refused(weir.ArgumentError, "read-only", array.read, distributed, fixed if odd else good)
        for section in [(1, 2), [slice(None)], "ab", (slice("a"), slice(None)), 5]:
            whole = (slice(None), slice(None))
            refused(weir.Error, "rank", array.write, distributed, good, section if odd else whole)
        transfer = (array, distributed, good)
        for transfers in [
            [(array, distributed)],
            [7],
            [(None, distributed, good)],
            [(array, None, good)],
        ]:
            given = transfers if odd else [transfer]
            refused(weir.ArgumentError, "None", session.write_many, given)
        array.write(distributed, InHost(good))
        target = np.zeros(distributed.shape)
        array.read(distributed, InHost(target))
        np.testing.assert_array_equal(target, good)

        # Ranks without elements pass nothing at all.
        one = session.distribution(shape, "BLOCK, *", grid=(1, 1))
        array.write(one, np.full(shape, 3.0) if COMM.rank == 0 else None)
        boxes = session.distribution_from_boxes(shape, [((0, 0), shape)] if COMM.rank == 0 else [])
        array.write(boxes, np.full(shape, 4.0) if COMM.rank == 0 else None)
        assert (array.read(distributed) == 4).all()


def wrong_arguments(folder: Path) -> None:
    """What one rank alone passes wrong to any collective call is refused on all; then all go on."""
    path, shape = str(folder / "a"), (2 * COMM.size, 4)
    at = ((0, 0), (1, 4))
    with weir.Session(COMM, deadline_seconds=60) as session:
        natural = session.distribution(shape, "BLOCK, *")
        file = session.create_file(str(folder / "b.h5"))
        file.define("field", shape, "float64", steps=True)
        for _ in range(2):
            file.begin_step()
            file.end_step()
        calls: list[tuple[str, Callable[..., object], dict[str, object]]] = [
            ("distribution", session.distribution, {"shape": shape, "formats": "BLOCK, *"}),
            ("distribution_from_boxes", session.distribution_from_boxes,
             {"shape": shape, "boxes": []}),
            ("create", session.create, {"path": path, "shape": shape, "element_type": "int8"}),
            ("open", session.open, {"path": path}),
            ("open_file", session.open_file, {"path": path}),
            ("drop_steps", file.drop_steps, {"steps": 1}),
        ]  # fmt: skip
        wrong: list[tuple[str, dict[str, object], str]] = [
            ("distribution", {"shape": (8.0, 4)}, "shape is (8.0, 4): give a whole number"),
            ("distribution", {"shape": None}, "shape is None: give a whole number"),
            ("distribution", {"grid": (1.5, 1)}, "grid is (1.5, 1): give a whole number"),
            ("distribution", {"grid": (1,)}, "dimensions is 0"),
            ("distribution", {"grid_order": "f"}, "grid_order is 'f': give 'C' or 'F'"),
            ("distribution", {"formats": 7}, "formats is 7: give a text"),
            ("distribution", {"formats": b"BLOCK"}, "formats is b'BLOCK': give a text"),
            ("distribution_from_boxes", {"shape": "ab"}, "shape is 'ab': give a whole number"),
            ("distribution_from_boxes", {"boxes": 7}, "boxes is 7: give a list"),
            ("distribution_from_boxes", {"boxes": [at, 5]}, "boxes[1] is 5: give its lower"),
            ("distribution_from_boxes", {"boxes": [(*at, 1)]}, "boxes[0] is ((0, 0), (1, 4), 1)"),
            ("distribution_from_boxes", {"boxes": [((0.5, 0), at[1])]}, "boxes[0] is ((0.5, 0)"),
            ("distribution_from_boxes", {"boxes": [((0,), (1, 4))]}, "has 2 dimensions: give a"),
            ("create", {"shape": (8, "4")}, "shape is (8, '4'): give a whole number"),
            ("create", {"chunks": (2, 2.0)}, "chunks is (2, 2.0): give a whole number"),
            ("create", {"typical_request": "no"}, "typical_request is 'no': give a whole"),
            ("create", {"chunks": (2, 2, 2)}, "dimensions is 0"),
            ("create", {"order": "c"}, "order is 'c': give 'C' or 'F'"),
            ("create", {"files": "many"}, "files is 'many': give 'shared'"),
            ("create", {"element_type": "type(of 'mine"}, "type(of 'mine"),
            ("create", {"element_type": "x" * 5000}, "x" * 900),
            ("create", {"natural_chunks": 7}, "AttributeError: 'int' object"),
            ("create", {"directories": 7}, "'int' object"),
            ("create", {"pool": 7}, "AttributeError: 'int' object"),
            ("create", {"first_target": "1"}, "str"),
            ("create", {"stripe_count": 1.0}, "float"),
            ("open", {"read_only": "yes"}, "'yes'"),
            ("open_file", {"durability": 7}, "AttributeError: 'int' object"),
            ("drop_steps", {"steps": 0.5}, "steps is 0.5: give a whole number"),
            ("drop_steps", {"steps": (1, 2)}, "steps is (1, 2): give one number"),
        ]
        for name, arguments, text in wrong:
            call, good = next((call, good) for known, call, good in calls if known == name)
            for odd in {0, LAST}:
                given = good | arguments if COMM.rank == odd else good
                line = refused(weir.ArgumentError, text, partial(call, **given))
                assert line.startswith(f"rank {odd}: {name}: "), line
                assert "wrong " not in line
        refused(weir.ArgumentTypeError, "shape", session.distribution, "8", "BLOCK")
        file.drop_steps(1)
        file.close()
        held = session.distribution_from_boxes(shape, np.array([at]) if COMM.rank == 0 else [])
        assert held.elements == (4 if COMM.rank == 0 else 0)
        session.create(path, shape, "int8", natural_chunks=natural).close()
        session.open(path).close()
    with raises(weir.ArgumentError, match="the session is None, or was closed"):
        session.distribution(shape, "BLOCK, *")
    with raises(TypeError, match="shape is 'ab'"):
        session.distribution("ab", "BLOCK, *")


def wrong_definitions(folder: Path) -> None:
    """Definitions are local, as in C: who is refused leaves, and the others are told why."""
    wrong: list[Callable[[weir.File], object]] = [
        lambda file: file.define("a", (4.0,), "int8"),
        lambda file: file.define("a", (4,), "int8", order="c"),
        lambda file: file.define("a", (4,), "int8", chunks=(2.0,)),
        lambda file: file.define("a", (4,), "int8", dimension_names="x"),
        lambda file: file.set_attribute("a", np.ma.masked_array([1, 2], mask=[False, True])),
    ]
    odd = COMM.rank == LAST

    def defined(number: int, define: Callable[[weir.File], object]) -> None:
        with (
            weir.Session(COMM, deadline_seconds=60) as session,
            session.create_file(str(folder / f"{number}.h5")) as file,
        ):
            file.define("there", (4,), "int8", steps=True)
            if odd:
                define(file)
            file.begin_step()

    for number, define in enumerate(wrong):
        with raises((TypeError, ValueError) if odd else weir.BrokenError) as told:
            defined(number, define)
        text = str(told.value)
        told_by_odd = COMM.bcast(text, LAST)
        assert odd or f"rank {LAST}: gave the session up" in text, text
        assert told_by_odd in text
        COMM.barrier()


def wrong_regions(folder: Path) -> None:
    """What is wrong with the region of one rank is refused on all together."""
    with weir.Session(COMM, deadline_seconds=60) as session:
        odd = COMM.rank == LAST
        shape = (2 * COMM.size, 4)
        array = session.create(str(folder / "b"), shape, "float64")
        good = np.ones((2, 4))
        at = (2 * COMM.rank, 0)
        wrong = [
            ((at, good.astype(">f8")), "byte order"),
            ((at, OnCuda()), "in the memory of a GPU"),
            ((at, [[1.0]]), "a list, not a NumPy array"),
            ((at, None), "a NoneType, not a NumPy array"),
            (((0,), good), "lower or stride has another number of dimensions"),
            ((at, good, (1,)), "lower or stride has another number of dimensions"),
            (("ab", good), "not usable as a region"),
            (((2 * COMM.size - 1, 0), good), "ends outside"),
        ]
        for call in (array.write_region, array.write_region_begin):
            for given, text in wrong:
                arguments = given if odd else (at, good)
                begun = call == array.write_region_begin
                refused(
                    weir.ArgumentError,
                    text,
                    (lambda *a: array.write_region_begin(*a).wait()) if begun else call,
                    *arguments,
                )
        refused(
            weir.ArgumentError, "not a NumPy array", array.read_region, at, (-1,) if odd else (2, 4)
        )
        array.write_region(at, good)
        array.write_region(None if odd else at, None if odd else 2 * good)
        found = array.read_region((0, 0), shape)
        assert (found[:-2] == 2).all()
        assert (found[-2:] == 1).all()
        assert array.read_region(None) is None


def refusals(folder: Path) -> None:
    """What is wrong on the last rank only is refused by all."""
    odd = COMM.rank == LAST
    with weir.Session(COMM) as session:
        distributed = session.distribution((6, 4), "BLOCK, *")
        array = session.create(str(folder / "a"), (6, 4), "float64")
        good = np.ones(distributed.shape)
        fixed = good.copy()
        fixed.flags.writeable = False
        wrong = [
            (good.astype("int32"), "int32"),
            (np.ones((distributed.shape[0], 7)), "data.shape[1] is 7"),
            (np.ones(5), "dimensions is 1"),
            (good.astype(">f8"), "byte order"),
        ]
        for data, text in wrong:
            refused(weir.ArgumentError, text, array.write, distributed, data if odd else good)
        refused(weir.ArgumentError, "read-only", array.read, distributed, fixed if odd else good)
        backwards = (slice(None, None, -1 if odd else 1), slice(None))
        refused(weir.ArgumentError, "stride -1", array.write, distributed, good, backwards)
        cut = (slice(1 if odd else 0, 2), slice(None))
        refused(weir.MismatchError, "section", array.write, distributed, good, cut)
        refused(weir.MissingFileError, "nowhere", session.open, str(folder / "nowhere"))
        assert issubclass(weir.MissingFileError, FileNotFoundError)
        array.write(distributed, good)
    refused(weir.ArgumentError, "sync: the array is None, or was closed", array.sync)
