"""Elements of text, in the form that each format of files has for them.

Zarr and raw files have NumPy's two kinds: bytes ("S") and characters ("U"). HDF5 has bytes, and
characters become UTF-8 there. NetCDF's classic formats have single characters, so that a text is a
row of them along one more dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.convert.tiles import tile_shape, tiles
from weir.files.stored_array import OTHER_BYTES

if TYPE_CHECKING:
    from weir.files import StoredArray

WITH_CHARACTERS = {"zarr", "raw"}
CHARACTER_BYTES = 4
"""Of a character in NumPy's arrays, and at most of one in UTF-8."""
TEXT_BYTES = 128
"""What a text of any length is taken to need in memory, where none was read."""
LARGEST_PART = 32 << 20
"""Bytes of texts that are looked at together, by that measure."""


@dataclass(frozen=True)
class StoredForm:
    """What elements of an array are in a file of another format."""

    dtype: np.dtype[Any]
    length: int | None = None
    """The extent of one more dimension, the last one: characters of a text; None: there is none."""

    def extents(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Of an array or section with these extents."""
        return tuple(shape) if self.length is None else (*shape, self.length)

    def start(self, start: Sequence[int]) -> tuple[int, ...]:
        """Where a section that begins there begins in the file."""
        return tuple(start) if self.length is None else (*start, 0)

    def names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Of the dimensions; none where the array has none."""
        return (*names, f"string{self.length}") if self.length and names else tuple(names)

    def elements(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The values as they are written; the same memory where they lie so already."""
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
    """The longest of the texts that were looked at: what those of one length have to hold."""

    size: int = 1
    """Bytes in UTF-8."""
    characters: int = 1
    is_utf8: bool = True
    ends_with_zero: bool = False
    """One does: the zeros behind a text of a fixed length are no part of it."""

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
        """Characters, where the format has them and all texts consist of some; else bytes."""
        if file_format in WITH_CHARACTERS and self.is_utf8:
            return np.dtype(f"U{self.characters}")
        return np.dtype(f"S{self.size}")


def stored_form(dtype: np.dtype[Any], file_format: str) -> StoredForm:
    """Of elements of this type in a file of the format; what is no text stays as it is."""
    if dtype.kind == "U" and file_format not in WITH_CHARACTERS:
        dtype = np.dtype(f"S{dtype.itemsize // np.dtype('U1').itemsize * CHARACTER_BYTES}")
    if dtype.kind == "S" and dtype.itemsize > 1 and file_format.startswith("cdf"):
        return StoredForm(np.dtype("S1"), dtype.itemsize)
    return StoredForm(dtype)


def stored_forms(arrays: Sequence[StoredArray], file_format: str) -> dict[str, StoredForm]:
    """The forms of arrays, by their names, in a file of the format.

    Arrays of texts of any length are read, a part at a time, to find the longest of each. Raises
    ValueError for one that ends with zeros, which no text of a fixed length does.
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
                    f"array {array.name!r} of {array.file.path} has a text that ends with a zero, "
                    f"which texts of a fixed length cannot: leave the array out by --array"
                )
                raise ValueError(message)
            dtype = longest.dtype(file_format)
        forms[array.name] = stored_form(dtype, file_format)
    return forms
