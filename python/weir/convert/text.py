"""Converts elements of text to the form that each file format has for them.

Zarr and raw files have NumPy's two kinds: bytes ("S") and characters ("U"). HDF5 has bytes;
characters become UTF-8 there. NetCDF's classic formats have single characters: a text is a row of
characters along one more dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weir._core.files import abilities
from weir.convert.tiles import tile_shape, tiles
from weir.files.stored_array import OTHER_BYTES

if TYPE_CHECKING:
    from weir.files import StoredArray

CHARACTER_BYTES = 4
"""Bytes of a character in NumPy's arrays, and the most that a character has in UTF-8."""
TEXT_BYTES = 128
"""Estimated memory per variable-length text, in bytes, before any was read."""
LARGEST_PART = 32 << 20
"""Limit, in bytes by that estimate, for the texts that are examined at once."""


@dataclass(frozen=True)
class StoredForm:
    """The form of an array's elements in a file of another format."""

    dtype: np.dtype[Any]
    length: int | None = None
    """Extent of the additional last dimension, the characters of a text; None without one."""

    def extents(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Returns the extents in the file of an array or section with these extents."""
        return tuple(shape) if self.length is None else (*shape, self.length)

    def start(self, start: Sequence[int]) -> tuple[int, ...]:
        """Returns where a section that begins at `start` begins in the file."""
        return tuple(start) if self.length is None else (*start, 0)

    def names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Returns the names of the dimensions in the file; none if the array has none."""
        return (*names, f"string{self.length}") if self.length and names else tuple(names)

    def elements(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Returns the values as they are written, without a copy if they have that form already."""
        if values.dtype.hasobject:
            values = self._of_one_length(values)
        if values.dtype.kind == "U" and self.dtype.kind == "S":
            size = values.dtype.itemsize if self.length is None else self.length
            values = np.char.encode(values, "utf-8").astype(f"S{size}")
        if self.length is None:
            return values
        return np.ascontiguousarray(values).view("S1").reshape(self.extents(values.shape))

    def _of_one_length(self, texts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if self.dtype.kind == "U":
            return texts.astype(self.dtype)
        size = self.dtype.itemsize if self.length is None else self.length
        encoded = [one.encode("utf-8", OTHER_BYTES) for one in texts.flat]
        return np.array(encoded, f"S{size}").reshape(texts.shape)


@dataclass
class LongestText:
    """The longest text so far: the size that fixed-length texts need."""

    size: int = 1
    """Longest size in bytes, in UTF-8."""
    characters: int = 1
    is_utf8: bool = True
    ends_with_zero: bool = False
    """Whether a text ends with a zero; trailing zeros of a fixed-length text are not part of it."""

    def look_at(self, texts: np.ndarray[Any, Any]) -> None:
        for one in texts.flat:
            try:
                encoded = one.encode()
            except UnicodeEncodeError:
                self.is_utf8 = False
                encoded = one.encode("utf-8", OTHER_BYTES)
            self.size = max(self.size, len(encoded))
            self.characters = max(self.characters, len(one))
            self.ends_with_zero = self.ends_with_zero or one.endswith("\0")

    def dtype(self, file_format: str) -> np.dtype[Any]:
        """Returns a type of characters if the format has one and all texts are UTF-8; or bytes."""
        if abilities()[file_format]["utf32"] and self.is_utf8:
            return np.dtype(f"U{self.characters}")
        return np.dtype(f"S{self.size}")


def stored_form(dtype: np.dtype[Any], file_format: str) -> StoredForm:
    """Returns the form that elements of this type have in a file of the format."""
    if dtype.kind == "U" and not abilities()[file_format]["utf32"]:
        dtype = np.dtype(f"S{dtype.itemsize // np.dtype('U1').itemsize * CHARACTER_BYTES}")
    if dtype.kind == "S" and dtype.itemsize > 1 and file_format.startswith("cdf"):
        return StoredForm(np.dtype("S1"), dtype.itemsize)
    return StoredForm(dtype)


def stored_forms(arrays: Sequence[StoredArray], file_format: str) -> dict[str, StoredForm]:
    """Returns the forms that arrays have in a file of the format, by array name.

    Arrays of variable-length texts are read, a part at a time, to find the longest text of each.
    Raises ValueError for a text that ends with a zero, which no fixed-length text can.
    """
    forms = {}
    for array in arrays:
        dtype = array.dtype
        if dtype.hasobject:
            longest = LongestText()
            if array.fill is not None:
                longest.look_at(np.array([array.fill], object))
            shape = tile_shape(array.shape, TEXT_BYTES, array.chunks, array.chunks, LARGEST_PART)
            for tile in tiles(array.shape, shape):
                part = np.empty(tile.shape, object)
                array.read_into(part, tile.key)
                longest.look_at(part)
            if longest.ends_with_zero:
                message = (
                    f"array {array.name!r} of {array.file.path} has a text that ends with a "
                    "zero character, which texts of fixed length cannot: select other arrays "
                    "with --array"
                )
                raise ValueError(message)
            dtype = longest.dtype(file_format)
        forms[array.name] = stored_form(dtype, file_format)
    return forms
