"""An array in a file: its description, and its elements when they are asked for."""

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
"""How texts of any length keep bytes that are not UTF-8, as Python's names of files do."""


def attributes_of(described: list[dict[str, Any]]) -> Mapping[str, AttributeValue]:
    """Names and values: texts, lists of texts, numbers, or arrays of several (or no) numbers."""
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
    """An array in a file. Indexing it reads, and gives NumPy arrays; nothing is read before.

    Indices are NumPy's: whole numbers, slices with steps of any sign, an ellipsis, new axes, lists
    of indices and masks, of which only the elements that are wanted are read, and what lies between
    near ones. Reads may be made by several threads at once. An array is a source for
    ``dask.array.from_array``, which takes its chunks.
    """

    def __init__(self, file: StoredFile, number: int, described: dict[str, Any]) -> None:
        self.file = file
        self.describe(number, described)

    def describe(self, number: int, described: dict[str, Any]) -> None:
        """Makes it the array of this number in its file as it is open now."""
        self._number = number
        self.name: str = described["name"]
        """The full name: ``fields/density``."""
        self.shape: tuple[int, ...] = tuple(described["shape"])
        """Extents in elements, the steps of a growing array first, as the file has them."""
        self.dtype: np.dtype[Any] = dtype_of(described["type"])
        """NumPy's type of the elements, in the machine's byte order; objects, which are Python's
        texts, where texts have any length."""
        self.dimension_names: tuple[str, ...] = tuple(described["dimension_names"])
        """One per dimension, or none."""
        self.attributes = attributes_of(described["attributes"])
        """Texts and numbers, which have NumPy's types (Python's own for int64, float64 and bool
        alone); the unit is ``attributes["units"]``, where there is one."""
        self.chunks: tuple[int, ...] | None = _tuple_or_none(described["chunks"])
        """Extents of the chunks on disk, or None where the array is not chunked."""
        self.shards: tuple[int, ...] | None = _tuple_or_none(described["shards"])
        """Extents of the files of several chunks, in elements; None where there are none."""
        self.codecs: str | None = described["codecs"]
        """What chunks are compressed and summed by, as "shuffle,zstd:1"; None: they are not."""
        self.fill: np.generic | str | None = _fill(described["fill"], self.dtype)
        """What elements have that were never written; None: 0."""
        self.grows: bool = described["grows"]
        """Whether steps are added along the first dimension."""
        self.order: str = "C" if described["order"] == "row-major" else "F"
        """Which elements lie side by side on disk, in NumPy's letters."""
        self.byte_order: str = described["byte_order"]
        """Of the numbers on disk: "little" or "big". In memory they are as the machine has them."""

    def forget(self) -> None:
        """The file has no such array any more."""
        self._number = -1

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Elements in all."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def nbytes(self) -> int:
        """Bytes in memory when all of it is read; of texts of any length, what refers to them."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            message = f"{self.name!r} has no dimensions, and so no length"
            raise TypeError(message)
        return self.shape[0]

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.shape))
        return f"<weir.StoredArray {self.name!r}: {shape} {self.dtype} in {self.file.path}>"

    def __getitem__(self, key: Any) -> Any:
        """Reads what `key` selects: an array, or a number where every dimension has an index.

        Raises IndexError for what cannot be selected, StorageError when the file cannot be read,
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
            # With the ellipsis it is a view, also where there are no dimensions.
            view = out[(*(backwards if back else ahead for back in chosen.reversed), ...)]
            handle = self.file.handle
            handle.read(self._number, chosen.start, chosen.count, chosen.stride, view)
        if key is ...:
            return out  # an array, also where there are no dimensions
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
            message = "an array in a file cannot be an array in memory without a copy"
            raise ValueError(message)
        read: np.ndarray[Any, Any] = self[...]
        return read if dtype is None else read.astype(dtype, copy=False)

    def __iter__(self) -> Iterator[Any]:
        """The array's slices along the first dimension, read one after the other."""
        return (self[number] for number in range(len(self)))

    def read_into(self, out: np.ndarray[Any, Any], key: Key = ...) -> None:
        """Reads what `key` selects into `out`, whose elements may lie anywhere in memory.

        Raises ValueError when shape or type of `out` are not those of what is selected.
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
        # The dimensions that were dropped come back with one index each.
        view = out[(*(np.newaxis if drop else slice(None) for drop in chosen.dropped), ...)]
        view = view[
            (*(slice(None, None, -1) if back else slice(None) for back in chosen.reversed), ...)
        ]
        self.file.handle.read(self._number, chosen.start, chosen.count, chosen.stride, view)

    def missing(self, *, unwritten: bool = True) -> Missing:
        """What of the array is in no file; chunks that have the fill value, where asked for."""
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
