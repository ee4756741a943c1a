"""From Python's values to the structs of weir.h.

What is wrong with a value is not raised here: it is passed on such that the library refuses it on
all ranks alike. A rank that raised by itself would leave the others waiting.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_int64, c_void_p
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from weir._core import library as c

if TYPE_CHECKING:
    from weir._core.array_handle import Array
    from weir._core.session import Distribution

ROW_MAJOR, COLUMN_MAJOR = 0, 1

Data: TypeAlias = np.ndarray[Any, Any] | Sequence[np.ndarray[Any, Any]]
"""A rank's part: an array; of a distribution by several boxes, an array for each."""
SectionLike: TypeAlias = Sequence[slice] | None
"""A slice for each dimension."""


def numbers(values: Sequence[int] | None) -> Any:
    """An array of int64 for C, or nothing."""
    return None if values is None else (c_int64 * max(1, len(values)))(*values)


def type_name(dtype: np.dtype[Any]) -> str:
    """The element type of NumPy's `dtype`; one that there is not for others."""
    if not dtype.isnative:
        return f"{dtype.str} (of another byte order than this machine)"
    if dtype.kind == "V":
        return f"record[{dtype.itemsize}]"
    return dtype.name


def dtype_of(name: str) -> np.dtype[Any]:
    """NumPy's type for an element type; records are bytes that NumPy does not look into."""
    if name.startswith("record["):
        return np.dtype(f"V{name[len('record[') : -1]}")
    return np.dtype(name)


def section_numbers(
    section: Sequence[slice], shape: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Start, count and stride for each slice; as in NumPy, bounds beyond the array are cut.

    What has no meaning here (negative steps, missing dimensions) comes out such that the library
    refuses it.
    """
    starts, counts, strides = [], [], []
    for number, part in enumerate(section):
        extent = shape[number] if number < len(shape) else 0
        step = 1 if part.step is None else int(part.step)
        start, stop, _ = slice(part.start, part.stop).indices(extent)
        starts.append(start)
        counts.append(max(0, -(-(stop - start) // step)) if step > 0 else 0)
        strides.append(step)
    return starts, counts, strides


class TransferArguments:
    """The structs for one array of a request, and what keeps alive what they point to."""

    def __init__(
        self,
        array: Array,
        distribution: Distribution,
        data: Data,
        section: SectionLike,
        *,
        is_read_into: bool,
    ) -> None:
        self.struct = c.Transfer(array=array.handle, distribution=distribution.handle)
        self.data = data
        self.problems: list[str] = []
        if isinstance(data, np.ndarray) and distribution.pieces == 1:
            self.describe_memory(data)
        else:
            self.describe_pieces([data] if isinstance(data, np.ndarray) else data, distribution)
        if section is not None:
            start, count, stride = section_numbers(section, array.shape)
            self.struct.section = ctypes.pointer(
                c.Section(start=numbers(start), count=numbers(count), stride=numbers(stride))
            )
            # Another number of dimensions than the memory's is none at all.
            told = self.struct.dimensions
            self.struct.dimensions = len(section) if told in (0, len(section)) else -1
        pieces = [data] if isinstance(data, np.ndarray) else data
        if is_read_into and not all(piece.flags.writeable for piece in pieces):
            self.problems.append("in read-only memory")
        types = sorted({type_name(piece.dtype) for piece in pieces})
        if pieces:
            self.struct.data_type = " ".join(types + self.problems).encode()

    def describe_memory(self, data: np.ndarray[Any, Any]) -> None:
        """One array, wherever its elements lie: contiguous, a transpose, a view without ghosts."""
        self.struct.dimensions = data.ndim
        self.struct.data_shape = numbers(data.shape)
        self.struct.data = data.ctypes.data if data.size else None
        self.struct.data_bytes = data.nbytes
        memory = c.Memory()
        if data.flags.f_contiguous and not data.flags.c_contiguous:
            memory.order = COLUMN_MAJOR
        elif not data.flags.c_contiguous:
            memory.strides = numbers(data.strides)
        self.struct.memory = ctypes.pointer(memory)

    def describe_pieces(
        self, data: Sequence[np.ndarray[Any, Any]], distribution: Distribution
    ) -> None:
        """An array for each piece, all packed in row-major order."""
        shapes = [distribution.piece_shape(number) for number in range(distribution.pieces)]
        if [piece.shape for piece in data] != shapes:
            given = [piece.shape for piece in data]
            self.problems.append(f"in arrays of shapes {given}, where the boxes have {shapes}")
        if not all(piece.flags.c_contiguous for piece in data):
            self.problems.append("in arrays that are not contiguous")
        if data:
            self.struct.piece_data = (c_void_p * len(data))(
                *(piece.ctypes.data if piece.size else None for piece in data)
            )


def transfer_structs(transfers: Sequence[TransferArguments]) -> Any:
    """The structs in a row, as the library takes them."""
    return (c.Transfer * max(1, len(transfers)))(*(transfer.struct for transfer in transfers))
