"""Elements of text, in the form that each format of files has for them.

Zarr and raw files have NumPy's two kinds: bytes ("S") and characters ("U"). HDF5 has bytes, and
characters become UTF-8 there. NetCDF's classic formats have single characters, so that a text is a
row of them along one more dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

WITH_CHARACTERS = {"zarr", "raw"}
CHARACTER_BYTES = 4
"""Of a character in NumPy's arrays, and at most of one in UTF-8."""


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
        if values.dtype.kind == "U" and self.dtype.kind == "S":
            size = values.dtype.itemsize if self.length is None else self.length
            values = np.char.encode(values, "utf-8").astype(f"S{size}")
        if self.length is None:
            return values
        return np.ascontiguousarray(values).view("S1").reshape(self.extents(values.shape))


def stored_form(dtype: np.dtype[Any], file_format: str) -> StoredForm:
    """Of elements of this type in a file of the format; what is no text stays as it is."""
    if dtype.kind == "U" and file_format not in WITH_CHARACTERS:
        dtype = np.dtype(f"S{dtype.itemsize // np.dtype('U1').itemsize * CHARACTER_BYTES}")
    if dtype.kind == "S" and dtype.itemsize > 1 and file_format.startswith("cdf"):
        return StoredForm(np.dtype("S1"), dtype.itemsize)
    return StoredForm(dtype)
