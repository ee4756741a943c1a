"""NumPy's advanced indexing of an array in a file: lists of indices, masks and new axes.

The selected elements are read as sections by basic indexing. One read covers elements that differ
only in the last index and lie close together; it may also read a few elements between them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Indices: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
ReadSection: TypeAlias = Callable[[tuple[int | slice, ...]], np.ndarray[Any, Any]]

MOST_READ_OF_WANTED = 4
"""A read covers at most this many times the number of its selected elements."""


def is_basic(key: Any) -> bool:
    """Returns whether the key has no lists of indices, no masks and no new axes."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(
        part is Ellipsis
        or isinstance(part, slice)
        or (hasattr(part, "__index__") and not isinstance(part, bool | np.bool_ | np.ndarray))
        for part in parts
    )


@dataclass(frozen=True)
class _Part:
    """What a key specifies for one dimension: a slice or indices; or a new axis.

    A part with none of these is an ellipsis that stands for no dimension. It separates lists of
    indices.
    """

    dimension: int | None = None
    taken: slice | None = None
    indices: Indices | None = None
    is_new_axis: bool = False


def read_gathered(
    key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], read: ReadSection
) -> np.ndarray[Any, Any]:
    """Returns what `key` selects of an array of this shape, as NumPy would.

    `read` receives an integer or a slice for each dimension. Raises IndexError for a key that NumPy
    refuses, and for a single truth value.
    """
    parts = _parts(key, shape)
    lists = [part for part in parts if part.indices is not None]
    dimensions = [part.dimension for part in lists if part.dimension is not None]
    broadcast = _broadcast([part.indices for part in lists if part.indices is not None])
    points = np.stack([one.ravel() for one in broadcast], axis=-1)
    found, place = np.unique(points, axis=0, return_inverse=True)
    basic: list[int | slice] = [0] * len(shape)
    extents: list[int] = []  # Extents of the result, without the dimensions from lists.
    for part in parts:
        if part.taken is not None and part.dimension is not None:
            basic[part.dimension] = part.taken
            extents.append(len(range(*part.taken.indices(shape[part.dimension]))))
        elif part.is_new_axis:
            extents.append(1)
    read_extents = [
        len(range(*one.indices(extent)))
        for one, extent in zip(basic, shape, strict=True)
        if isinstance(one, slice)
    ]
    out = np.empty((len(found), *read_extents), dtype)
    if out.size:
        _fill(out, found, dimensions, basic, read)
    result = out[place.ravel()].reshape((*broadcast[0].shape, *extents))
    return _placed(result, parts, broadcast[0].ndim)


def _parts(key: Any, shape: tuple[int, ...]) -> list[_Part]:
    given = [_as_given(part) for part in (key if isinstance(key, tuple) else (key,))]
    if sum(part is Ellipsis for part in given) > 1:
        message = "an index can only have a single ellipsis ('...')"
        raise IndexError(message)
    indexed = sum(_dimensions_of(part) for part in given)
    if indexed > len(shape):
        message = f"too many indices: the array has {len(shape)} dimensions, {indexed} were indexed"
        raise IndexError(message)
    at = next((n for n, part in enumerate(given) if part is Ellipsis), len(given))
    given[at : at + 1] = [slice(None)] * (len(shape) - indexed) or given[at : at + 1]
    parts: list[_Part] = []
    dimension = 0
    for part in given:
        if part is None or part is Ellipsis:
            parts.append(_Part(is_new_axis=part is None))
            continue
        if isinstance(part, slice):
            parts.append(_Part(dimension, taken=part))
        else:
            for indices in _of_dimensions(part, shape, dimension):
                parts.append(_Part(dimension, indices=indices))
                dimension += 1
            continue
        dimension += 1
    if all(part.indices is None for part in parts):
        # The key has new axes only: add a list with one index, which adds no dimension.
        parts.insert(0, _Part(indices=np.zeros((), np.int64)))
    return parts


def _as_given(part: Any) -> Any:
    """Returns an ellipsis, None, a slice, or an array of indices or truth values."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    array = np.asarray(part)
    if array.size == 0 and not isinstance(part, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub" or (array.dtype.kind == "b" and array.ndim == 0):
        message = (
            f"index {part!r}: whole numbers, slices, lists of whole numbers, masks, an ellipsis "
            "and new axes select from a file"
        )
        raise IndexError(message)
    return array


def _dimensions_of(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype.kind == "b" else 1


def _of_dimensions(
    part: np.ndarray[Any, Any], shape: tuple[int, ...], first: int
) -> Iterator[Indices]:
    """Yields the indices along one dimension, or those of a mask along each of its dimensions."""
    if part.dtype.kind == "b":
        extents = shape[first : first + part.ndim]
        if part.shape != extents:
            message = (
                f"a mask of shape {part.shape} does not fit the {extents} elements of dimension "
                f"{first} and those after it"
            )
            raise IndexError(message)
        yield from part.nonzero()
        return
    extent = shape[first]
    outside = (part < -extent) | (part >= extent)
    if outside.any():
        index = operator.index(part[outside].flat[0])
        message = f"index {index} is out of bounds for dimension {first} with size {extent}"
        raise IndexError(message)
    indices = part.astype(np.int64)
    yield np.where(indices < 0, indices + extent, indices)


def _broadcast(lists: list[Indices]) -> list[Indices]:
    try:
        return [np.asarray(one) for one in np.broadcast_arrays(*lists)]
    except ValueError:
        shapes = " ".join(str(one.shape) for one in lists)
        message = f"lists of indices cannot be broadcast together: their shapes are {shapes}"
        raise IndexError(message) from None


def _fill(
    out: np.ndarray[Any, Any],
    found: Indices,
    dimensions: list[int],
    basic: list[int | slice],
    read: ReadSection,
) -> None:
    """Reads the parts of the points `found`, which are in ascending order, into `out`."""
    if not dimensions:  # The key has new axes only.
        out[0] = read(tuple(basic))
        return
    last = dimensions[-1]
    axis = sum(
        isinstance(one, slice) for one in basic[:last]
    )  # The axis of `last` in what is read.
    for first, end in _runs(found):
        for dimension, index in zip(dimensions, found[first], strict=True):
            basic[dimension] = int(index)
        low = int(found[first, -1])
        basic[last] = slice(low, int(found[end - 1, -1]) + 1)
        block = np.moveaxis(read(tuple(basic)), axis, 0)
        out[first:end] = block[found[first:end, -1] - low]


def _runs(found: Indices) -> Iterator[tuple[int, int]]:
    """Yields the first and the end number of the points that each read covers."""
    first = 0
    for end in range(1, len(found) + 1):
        if end < len(found) and (found[end, :-1] == found[first, :-1]).all():
            span = found[end, -1] - found[first, -1] + 1
            if span <= MOST_READ_OF_WANTED * (end - first + 1):
                continue
        yield first, end
        first = end


def _placed(result: np.ndarray[Any, Any], parts: list[_Part], listed: int) -> np.ndarray[Any, Any]:
    """Moves the dimensions of the lists to where NumPy puts them.

    They take the place of the lists if these are adjacent in the key, and come first otherwise.
    """
    places = [n for n, part in enumerate(parts) if part.indices is not None]
    if places[-1] - places[0] + 1 != len(places):
        return result
    before = parts[: places[0]]
    target = sum(part.is_new_axis or part.taken is not None for part in before)
    return np.moveaxis(result, range(listed), range(target, target + listed))
