"""`StoredArray`: an array in a file, whose elements are read on demand."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from weir._core.arguments import dtype_of
from weir._core.attribute_values import AttributeValue, one_or_all
from weir.files.gathered_selection import is_basic, read_gathered
from weir.files.selection import Key, Selection, select

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from weir._core.files import Missing
    from weir.files.stored_file import StoredFile


OTHER_BYTES = "surrogateescape"
"""Error handler that preserves bytes of variable-length texts that are not UTF-8."""


def attributes_of(described: list[dict[str, Any]]) -> Mapping[str, AttributeValue]:
    """Returns attributes by name: texts, lists of texts, single numbers, or arrays of numbers."""
    return MappingProxyType({one["name"]: _value(one) for one in described})


def _value(one: dict[str, Any]) -> AttributeValue:
    if "text" in one:
        return str(one["text"])
    if "texts" in one:
        return [str(text) for text in one["texts"]]
    if "integers" in one:
        return one_or_all(np.array(one["integers"], one["type"]))
    return one_or_all(np.array([float(value) for value in one["reals"]], one["type"]))


class StoredArray:
    """An array in a file. Indexing it reads elements and returns NumPy arrays.

    Indices are NumPy's: integers, slices with steps of any sign, an ellipsis, new axes, lists of
    indices, and masks. For lists and masks only the selected elements are read, and those between
    selected elements that are close together. Several threads may read at once.
    ``dask.array.from_array`` accepts an array and uses its chunks.

    Lengths and extents are in elements.
    """

    def __init__(self, file: StoredFile, number: int, described: dict[str, Any]) -> None:
        self.file = file
        self.describe(number, described)

    def describe(self, number: int, described: dict[str, Any]) -> None:
        """Makes this object the array with this number in the file as it is open now."""
        self._number = number
        self.name: str = described["name"]
        """Full name, such as ``fields/density``."""
        self.shape: tuple[int, ...] = tuple(described["shape"])
        """Extents in elements, in the file's order; the steps of a growing array are first."""
        self.dtype: np.dtype[Any] = dtype_of(described["type"])
        """NumPy type of the elements, in the machine's byte order; object, with Python str
        elements, for variable-length texts."""
        self.dimension_names: tuple[str, ...] = tuple(described["dimension_names"])
        """One name per dimension, or empty."""
        self.attributes = attributes_of(described["attributes"])
        """Texts and numbers. Numbers have NumPy types, except int64, float64 and bool, which become
        Python's own. The unit, if there is one, is ``attributes["units"]``."""
        self.chunks: tuple[int, ...] | None = _tuple_or_none(described["chunks"])
        """Extents of the chunks on disk in elements, or None if the array is not chunked."""
        self.shards: tuple[int, ...] | None = _tuple_or_none(described["shards"])
        """Extents, in elements, of the files with several chunks each; None without such files."""
        self.codecs: str | None = described["codecs"]
        """Codecs that compress chunks and add checksums, such as "shuffle,zstd:1"; or None."""
        self.fill: np.generic | str | None = _fill(described["fill"], self.dtype)
        """Value of elements that were never written; None stands for 0."""
        self.grows: bool = described["grows"]
        """Whether the array grows along its first dimension, by steps."""
        self.order: str = "C" if described["order"] == "row-major" else "F"
        """Order of the elements on disk: "C" (row-major) or "F" (column-major)."""
        self.byte_order: str = described["byte_order"]
        """Byte order of the numbers on disk, "little" or "big"; in memory it is the machine's."""

    def forget(self) -> None:
        """Marks the array as no longer present in the file."""
        self._number = -1

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def nbytes(self) -> int:
        """Bytes in memory when all of it is read; for variable-length texts, of the references."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            message = f"{self.name!r} has no dimensions and therefore no length"
            raise TypeError(message)
        return self.shape[0]

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.shape))
        return f"<weir.StoredArray {self.name!r}: {shape} {self.dtype} in {self.file.path}>"

    def __getitem__(self, key: Any) -> Any:
        """Reads what `key` selects: an array, or a scalar if every dimension has an index.

        Raises IndexError for an invalid key, StorageError if the file cannot be read, and
        ValueError after the file was closed.
        """
        if not is_basic(key):
            return read_gathered(key, self.shape, self.dtype, self._read_section)
        return self._read_section(key)

    def _read_section(self, key: Key) -> Any:
        chosen = select(key, self.shape)
        out = np.empty(chosen.count, self.dtype, order="F" if self.order == "F" else "C")
        if out.size and self.dtype.hasobject:
            out[...] = self._read_texts(chosen)
        elif out.size:
            ahead, backwards = slice(None), slice(None, None, -1)
            # The ellipsis makes it a view, even without dimensions.
            view = out[(*(backwards if back else ahead for back in chosen.reversed), ...)]
            handle = self.file.handle
            handle.read(self._number, chosen.start, chosen.count, chosen.stride, view)
        if key is ...:
            return out  # An array, even without dimensions.
        return out[tuple(0 if drop else slice(None) for drop in chosen.dropped)]

    def _read_texts(self, chosen: Selection) -> np.ndarray[Any, Any]:
        read = self.file.handle.read_texts(self._number, chosen.start, chosen.count, chosen.stride)
        texts = np.empty(len(read), object)
        texts[:] = [one.decode("utf-8", OTHER_BYTES) for one in read]
        ahead, backwards = slice(None), slice(None, None, -1)
        return texts.reshape(chosen.count)[
            (*(backwards if back else ahead for back in chosen.reversed), ...)
        ]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            message = "an array in a file cannot become an array in memory without a copy"
            raise ValueError(message)
        read: np.ndarray[Any, Any] = self[...]
        return read if dtype is None else read.astype(dtype, copy=False)

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the array's slices along the first dimension, reading one at a time."""
        return (self[number] for number in range(len(self)))

    def read_into(self, out: np.ndarray[Any, Any], key: Key = ...) -> None:
        """Reads what `key` selects into `out`, which may have any strides.

        Raises ValueError if the shape or type of `out` differs from that of the selection, or if it
        is read-only; and IndexError for lists of indices, masks and new axes.
        """
        chosen = select(key, self.shape)
        if out.shape != chosen.shape or out.dtype != self.dtype or not out.flags.writeable:
            message = (
                f"{chosen.shape} elements of {self.dtype} cannot be read into an array of shape "
                f"{out.shape} and type {out.dtype}" + ("" if out.flags.writeable else ", read-only")
            )
            raise ValueError(message)
        if not out.size:
            return
        if self.dtype.hasobject:
            out[...] = self._read_texts(chosen).reshape(out.shape)
            return
        # Restore each dropped dimension with extent 1.
        view = out[(*(np.newaxis if drop else slice(None) for drop in chosen.dropped), ...)]
        view = view[
            (*(slice(None, None, -1) if back else slice(None) for back in chosen.reversed), ...)
        ]
        self.file.handle.read(self._number, chosen.start, chosen.count, chosen.stride, view)

    def missing(self, *, unwritten: bool = True) -> Missing:
        """Counts the parts of the array that no file has; unwritten chunks only if requested."""
        return self.file.handle.missing(self._number, unwritten=unwritten)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return (type(self).__name__, *self.file.identity, self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _array_of, (self.file, self.name)


def _array_of(file: StoredFile, name: str) -> StoredArray:
    return file.arrays[name]


def _tuple_or_none(extents: list[int] | None) -> tuple[int, ...] | None:
    return None if extents is None else tuple(extents)


def _fill(digits: str | None, dtype: np.dtype[Any]) -> np.generic | str | None:
    if digits is None:
        return None
    if dtype.hasobject:
        return bytes.fromhex(digits).decode("utf-8", OTHER_BYTES)
    value: np.generic = np.frombuffer(bytes.fromhex(digits), dtype)[0]
    return value
