"""Lists of indices, masks and new axes select from a file what they select from NumPy's arrays."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np
import pytest

import weir
from weir.files.gathered_selection import MOST_READ_OF_WANTED, is_basic, read_gathered

Array = np.ndarray[Any, Any]
SHAPE = (6, 7, 8)
VALUES: Array = np.arange(6 * 7 * 8, dtype="float64").reshape(SHAPE)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[weir.StoredArray]:
    path = tmp_path_factory.mktemp("indexing") / "values.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("values", data=VALUES, chunks=(2, 3, 8))
    with weir.open(path) as opened:
        yield opened.arrays["values"]


def drawn_key(draw: random.Random, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Any key of NumPy's, without lists that select nothing: of those NumPy refuses less."""
    key: list[Any] = []
    dimension = 0
    numbers = np.random.default_rng(draw.randrange(1 << 30))
    while dimension < len(shape) and draw.random() < 0.9:
        extent = shape[dimension]
        kind = draw.choice(["number", "slice", "list", "list", "mask", "axis", "ellipsis"])
        if kind == "axis":
            key.append(None)
        elif kind == "ellipsis":
            key += [] if any(part is Ellipsis for part in key) else [Ellipsis]
        elif kind == "mask":
            of = shape[dimension : dimension + draw.randint(1, 2)]
            key.append(numbers.random(of) < 0.5)
            dimension += len(of)
        else:
            if kind == "number":
                key.append(draw.randrange(-extent, extent))
            elif kind == "slice":
                step = draw.choice([None, 1, 2, -1, -2])
                key.append(slice(draw.choice([None, -2, 1]), draw.choice([None, 3, -1]), step))
            else:
                of = draw.choice([(2,), (1,), (2, 2), (), (3,)])
                key.append(numbers.integers(-extent, extent, of))
            dimension += 1
    return tuple(key)


def test_all_kinds_of_keys_select_what_numpy_selects() -> None:
    draw = random.Random(1)
    compared = refused = 0
    for _ in range(3000):
        shape = tuple(draw.randint(1, 5) for _ in range(draw.randint(1, 4)))
        values = np.arange(np.prod(shape)).reshape(shape)
        key = drawn_key(draw, shape)
        if is_basic(key):
            continue
        try:
            wanted = values[key]
        except IndexError:  # lists that do not fit each other, or too many of them
            with pytest.raises(IndexError):
                read_gathered(key, shape, values.dtype, values.__getitem__)
            refused += 1
            continue
        got = read_gathered(key, shape, values.dtype, values.__getitem__)
        assert got.shape == wanted.shape, (shape, key)
        np.testing.assert_array_equal(got, wanted, f"{shape} {key}")
        compared += 1
    assert compared > 1000
    assert refused > 50


@pytest.mark.parametrize(
    "key",
    [
        [0, 3, 3, -1],
        [],
        ([5, 1], slice(None), [0, 7]),
        (slice(None), VALUES[0, :, 0] > 20, 2),
        VALUES % 5 == 0,
        (None, 1, ..., None),
        (np.array([[0], [2]]), [1, 3], ...),
        ([True, False, True, False, True, False],),
    ],
)
def test_a_file_gives_the_same_as_an_array(stored: weir.StoredArray, key: Any) -> None:
    wanted = VALUES[key]
    got = stored[key]
    assert got.shape == wanted.shape
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ([0, 6], "index 6 is out of bounds for dimension 0 with size 6"),
        (([0, 1], [0, 1, 2]), r"cannot be broadcast together: their shapes are \(2,\) \(3,\)"),
        (np.ones(5, bool), r"a mask of shape \(5,\) does not fit"),
        ([0.5], "whole numbers, slices, lists of whole numbers"),
        (True, "whole numbers, slices, lists of whole numbers"),
        (([0], 0, 0, 0), "too many indices: the array has 3 dimensions, 4 were indexed"),
        ((..., [0], ...), "single ellipsis"),
    ],
)
def test_what_numpy_refuses_is_an_error(stored: weir.StoredArray, key: Any, text: str) -> None:
    with pytest.raises(IndexError, match=text):
        stored[key]


def test_a_read_takes_no_more_than_some_times_what_is_wanted() -> None:
    values = np.arange(1000)
    read: list[int] = []

    def section(key: tuple[int | slice, ...]) -> Array:
        part: Array = values[key]
        read.append(part.size)
        return part

    near = [10, 11, 13, 10 + MOST_READ_OF_WANTED * 4 - 1]
    assert list(read_gathered(near, (1000,), values.dtype, section)) == near
    assert read == [MOST_READ_OF_WANTED * 4]
    read.clear()
    apart = [10, 11, 13, 10 + MOST_READ_OF_WANTED * 4]
    assert list(read_gathered(apart, (1000,), values.dtype, section)) == apart
    assert read == [4, 1]
