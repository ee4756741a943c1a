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
    """A section of an array, ascending along each dimension, and how it appears in the result."""

    start: tuple[int, ...]
    count: tuple[int, ...]
    stride: tuple[int, ...]
    reversed: tuple[bool, ...]
    """Dimensions along which the result has the elements in descending order."""
    dropped: tuple[bool, ...]
    """Dimensions that a number indexes; the result lacks them."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return tuple(n for n, drop in zip(self.count, self.dropped, strict=True) if not drop)


def select(key: Any, shape: tuple[int, ...]) -> Selection:
    """Returns the section that `key` selects of an array of this shape.

    It accepts integers, slices with any step and one ellipsis, as NumPy's basic indexing does.
    Raises IndexError for a number out of range, too many indices, and any other kind of index;
    gathered_selection.py handles lists, masks and new axes.
    """
    along = [_along(part, extent, d) for d, (part, extent) in enumerate(_expanded(key, shape))]
    if not along:
        return Selection((), (), (), (), ())
    start, count, stride, flipped, dropped = zip(*along, strict=True)
    return Selection(start, count, stride, flipped, dropped)


def _expanded(key: Any, shape: tuple[int, ...]) -> list[tuple[Any, int]]:
    """Returns one index for each dimension, with the extent of the dimension."""
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
    """Returns start, count, stride, whether reversed, and whether dropped."""
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
            raise TypeError  # NumPy would treat a bool as a mask.
        index = operator.index(part)
    except TypeError:
        message = (
            f"index {part!r} along dimension {dimension}: only whole numbers, slices and an "
            "ellipsis are possible here; use other indices on the array itself"
        )
        raise IndexError(message) from None
    if not -extent <= index < extent:
        message = f"index {index} is out of bounds for dimension {dimension} with size {extent}"
        raise IndexError(message)
    return index % extent, 1, 1, False, True
