"""NumPy's basic indexing as a section: start, count and stride along each dimension."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, SupportsIndex, TypeAlias

Key: TypeAlias = (
    "SupportsIndex | slice | EllipsisType | tuple[SupportsIndex | slice | EllipsisType, ...]"
)


@dataclass(frozen=True)
class Selection:
    """A section of an array, ascending along each dimension, and how it is shown."""

    start: tuple[int, ...]
    count: tuple[int, ...]
    stride: tuple[int, ...]
    reversed: tuple[bool, ...]
    """Along these dimensions the elements are shown from the last to the first."""
    dropped: tuple[bool, ...]
    """These dimensions were indexed by a number and are not shown."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what is shown."""
        return tuple(n for n, drop in zip(self.count, self.dropped, strict=True) if not drop)


def select(key: Any, shape: tuple[int, ...]) -> Selection:
    """The section that `key` selects of an array of this shape.

    Whole numbers, slices with any step and one ellipsis are understood, as by NumPy's basic
    indexing. Raises IndexError on a number out of range, too many indices, and every other kind of
    index; gathered_selection.py reads what lists, masks and new axes select.
    """
    along = [_along(part, extent, d) for d, (part, extent) in enumerate(_expanded(key, shape))]
    if not along:
        return Selection((), (), (), (), ())
    start, count, stride, flipped, dropped = zip(*along, strict=True)
    return Selection(start, count, stride, flipped, dropped)


def _expanded(key: Any, shape: tuple[int, ...]) -> list[tuple[Any, int]]:
    """One index for each dimension, with its extent."""
    parts = list(key) if isinstance(key, tuple) else [key]
    ellipses = [number for number, part in enumerate(parts) if part is Ellipsis]
    if len(ellipses) > 1:
        message = "an index can only have a single ellipsis ('...')"
        raise IndexError(message)
    given = len(parts) - len(ellipses)
    if given > len(shape):
        message = f"too many indices: the array has {len(shape)} dimensions, {given} were indexed"
        raise IndexError(message)
    at = ellipses[0] if ellipses else len(parts)
    parts[at : at + 1] = [slice(None)] * (len(shape) - given)
    return list(zip(parts, shape, strict=True))


def _along(part: Any, extent: int, dimension: int) -> tuple[int, int, int, bool, bool]:
    """Start, count, stride, whether reversed, whether dropped."""
    if isinstance(part, slice):
        numbers = range(*part.indices(extent))
        if not numbers:
            return 0, 0, 1, False, False
        if numbers.step < 0:
            numbers = numbers[::-1]
            return numbers.start, len(numbers), numbers.step, True, False
        return numbers.start, len(numbers), numbers.step, False, False
    try:
        if isinstance(part, bool):
            raise TypeError  # a mask to NumPy
        index = operator.index(part)
    except TypeError:
        message = (
            f"index {part!r} along dimension {dimension}: only whole numbers, slices and an "
            "ellipsis say where elements go; read the others by indexing the array"
        )
        raise IndexError(message) from None
    if not -extent <= index < extent:
        message = f"index {index} is out of bounds for dimension {dimension} with size {extent}"
        raise IndexError(message)
    return index % extent, 1, 1, False, True
