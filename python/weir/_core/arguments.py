"""Converts Python values to the structs of weir.h.

This module does not raise an exception for an invalid value on one rank: that would leave the other
ranks waiting. It passes the value on in a form that the library refuses on all ranks alike.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import byref, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from weir._core import declarations
from weir._core import library as c
from weir._core.failures import REFUSED_FORMATS, WRONG_DATA, WRONG_TYPE, checked
from weir.errors import Error

if TYPE_CHECKING:
    from weir._core.array_handle import Array
    from weir._core.distribution import Distribution

ORDERS = {"C": declarations.ROW_MAJOR, "F": declarations.COLUMN_MAJOR}
"""NumPy's letters for the orders of elements."""

SIZED = {"record": "V", "text": "S", "utf32": "U"}
"""NumPy's type letters of the element types whose names contain a size, such as ``text[8]``."""

TEXT_OF_ANY_LENGTH = "text[]"
"""Element type of arrays of variable-length texts, which only `weir.open` reads."""

LONGEST_PROBLEM = 1000
"""Letters of a problem that is passed on; the library's error lines have room for 2000 bytes."""

HOST_DEVICES = {1, 3, 11}
"""DLPack devices whose memory the CPU can access: CPU, and host memory pinned by CUDA or ROCm."""

Data: TypeAlias = np.ndarray[Any, Any] | Sequence[np.ndarray[Any, Any]]
"""A rank's part in memory: one array, or a list with one array for each of the rank's boxes.

An array is a NumPy array or another array in host memory (`__array_interface__` or DLPack). A rank
without elements may pass None.
"""
SectionLike: TypeAlias = Sequence[slice] | None
"""One slice for each dimension; None selects the whole array."""


def numbers(values: Sequence[int] | None) -> Any:
    """Returns the values as a C array of int64, or None."""
    return None if values is None else (c_int64 * max(1, len(values)))(*values)


def type_name(dtype: np.dtype[Any]) -> str:
    """Returns Weir's name of `dtype`, or for an unsupported `dtype` a name that Weir refuses."""
    if dtype.kind in "mM":
        return dtype.str
    if not dtype.isnative:
        return f"{dtype.str} (of another byte order than this machine)"
    if dtype.kind == "V":
        return f"record[{dtype.itemsize}]"
    if dtype.kind == "S":
        return f"text[{dtype.itemsize}]"
    if dtype.kind == "U":
        return f"utf32[{dtype.itemsize // 4}]"
    return dtype.name


def problem_name(problems: Sequence[str], *, is_wrong_type: bool) -> bytes:
    """Returns the problems as the name of an element type, which the library refuses everywhere."""
    kind = WRONG_TYPE if is_wrong_type else WRONG_DATA
    return (kind + ", ".join(problems)).encode(errors="replace")


@contextmanager
def arguments_of(call: str, session: c_void_p) -> Iterator[None]:
    """Lets all ranks refuse what a collective call's arguments raise on this rank alone.

    While the other ranks make the call, this one makes one that the library refuses on all ranks
    alike, and whose error line quotes the problem.
    """
    try:
        yield
    except Exception as error:
        if not session:
            raise  # No rank waits in a session that is closed.
        is_wrong_type = isinstance(error, TypeError)
        is_told = isinstance(error, (TypeError, ValueError))
        text = f"{call}: {error}" if is_told else f"{call}: {type(error).__name__}: {error}"
        line = " ".join(text[:LONGEST_PROBLEM].split())
        problem = problem_name([line], is_wrong_type=is_wrong_type)
        refused = c.library().weir_distribution_create(
            session, 1, numbers([1]), REFUSED_FORMATS.encode() + problem, None, byref(c_void_p())
        )
        checked(refused)
        raise


def extents(name: str, values: Any) -> tuple[int, ...]:
    """Returns the argument `name` as integers; a single number stands for one dimension.

    Raises TypeError if a value is not an integer.
    """
    try:
        return tuple(operator.index(one) for one in np.atleast_1d(np.asarray(values, object)))
    except TypeError:
        message = f"{name} is {values!r}: give a whole number for each dimension"
        raise TypeError(message) from None


def numbers_of(name: str, values: Any) -> Any:
    """Returns the argument `name`, which may be None, as a C array. Raises as `extents` does."""
    return None if values is None else numbers(extents(name, values))


def corners_of(boxes: Any, dimensions: int) -> tuple[list[int], list[int]]:
    """Returns the lower corners of the boxes, one after the other, and their extents.

    Raises TypeError or ValueError if they are not boxes of an array with so many dimensions.
    """
    lowers: list[int] = []
    sizes: list[int] = []
    try:
        given = list(boxes)
    except TypeError:
        message = f"boxes is {boxes!r}: give a list of boxes"
        raise TypeError(message) from None
    for number, box in enumerate(given):
        try:
            lower, size = (list(map(operator.index, side)) for side in box)
        except (TypeError, ValueError):
            message = f"boxes[{number}] is {box!r}: give its lower corner and its extents, in "
            raise TypeError(message + "whole numbers") from None
        if {len(lower), len(size)} != {dimensions}:
            message = f"boxes[{number}] is {box!r}, the array has {dimensions} dimensions: give "
            raise ValueError(message + "a number of the corner and an extent for each")
        lowers += lower
        sizes += size
    return lowers, sizes


def choice(name: str, value: Any, numbers_of: Mapping[str, int]) -> int:
    """Returns the number of the word `value`. Raises ValueError for an unknown word."""
    if value not in numbers_of:
        message = f"{name} is {value!r}: give {' or '.join(map(repr, numbers_of))}"
        raise ValueError(message)
    return numbers_of[value]


def whole_section(section: Any) -> Sequence[slice]:
    """Returns a section as a sequence; a single slice selects along the first dimension."""
    return (section,) if isinstance(section, slice) else section


def dtype_of(name: str) -> np.dtype[Any]:
    """Returns the NumPy type of an element type; a record is opaque bytes.

    Variable-length texts have the type object; each element is a Python str.
    """
    if name == TEXT_OF_ANY_LENGTH:
        return np.dtype(object)
    kind, _, size = name.rstrip("]").partition("[")
    return np.dtype(f"{SIZED[kind]}{size}" if kind in SIZED else name)


def section_numbers(
    section: Sequence[slice], shape: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Returns start, count and stride for each slice; bounds are clipped to the array as in NumPy.

    Negative steps and a wrong number of dimensions give numbers that the library refuses.
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


class UnusableMemoryError(Error, TypeError):
    """An array's memory cannot be read or written in place; the text says what to pass instead."""


def is_one_array(data: Any) -> bool:
    """Returns whether `data` is one array, of NumPy or another library, and not a list."""
    protocols = ("__array_interface__", "__cuda_array_interface__", "__dlpack__", "__array__")
    return isinstance(data, np.ndarray) or any(hasattr(data, name) for name in protocols)


def memory_of(data: Any) -> np.ndarray[Any, Any]:
    """Returns a NumPy view of the memory of one array, never a copy.

    Raises UnusableMemoryError for arrays in GPU memory, which the CPU cannot access, for masked
    arrays, whose mask no file can store, and for objects without an array protocol.
    """
    kind = f"{type(data).__module__}.{type(data).__name__}"
    if isinstance(data, np.ma.MaskedArray):
        message = "a masked array, whose mask would be lost: give its .filled(VALUE) or its .data"
        raise UnusableMemoryError(message)
    if isinstance(data, np.ndarray):
        return data
    if hasattr(data, "__cuda_array_interface__"):
        message = f"{kind} in the memory of a GPU: give a copy in host memory"
        raise UnusableMemoryError(message)
    device = int(data.__dlpack_device__()[0]) if hasattr(data, "__dlpack_device__") else 1
    if device not in HOST_DEVICES:
        message = (
            f"{kind} in the memory of a device (number {device} of DLPack): give a copy in host "
            "memory"
        )
        raise UnusableMemoryError(message)
    if hasattr(data, "__array_interface__"):
        return np.asarray(data)
    if hasattr(data, "__dlpack__"):
        return np.from_dlpack(data)
    message = f"{kind}, whose memory NumPy cannot use without a copy: give numpy.asarray of it"
    raise UnusableMemoryError(message)


def describe_memory(struct: Any, data: np.ndarray[Any, Any]) -> None:
    """Describes the memory of one array: contiguous, transposed, or a strided view."""
    struct.dimensions = data.ndim
    struct.data_shape = numbers(data.shape)
    struct.data = data.ctypes.data if data.size else None
    struct.data_bytes = data.nbytes
    memory = declarations.Memory()
    if data.flags.f_contiguous and not data.flags.c_contiguous:
        memory.order = declarations.COLUMN_MAJOR
    elif not data.flags.c_contiguous:
        memory.strides = numbers(data.strides)
    struct.memory = ctypes.pointer(memory)


class RegionArguments:
    """The C struct of this rank's region, with references to the memory that it points to.

    It passes invalid values on to the library in the way of `TransferArguments`.
    """

    def __init__(
        self,
        lower: Sequence[int] | None,
        data: Any,
        stride: Sequence[int] | None,
        *,
        is_read_into: bool,
    ) -> None:
        self.data: Any = None
        self.struct: Any = None
        """The struct, or None if the rank takes no part in the call."""
        if lower is None:
            return
        self.struct = declarations.Region()
        problems = []
        is_wrong_type = False
        try:
            if not is_one_array(data):
                message = f"a {type(data).__name__}, not a NumPy array"
                raise UnusableMemoryError(message)
            self.data = memory_of(data)
            self.struct.data_type = type_name(self.data.dtype).encode()
            if is_read_into and not self.data.flags.writeable:
                problems.append("in read-only memory")
            describe_memory(self.struct, self.data)
            self.struct.lower = numbers(lower)
            self.struct.extent = numbers(self.data.shape)
            self.struct.stride = numbers(stride)
            counts = {len(given) for given in (lower, stride) if given is not None}
            if counts != {self.data.ndim}:
                self.struct.dimensions = -1  # The library refuses -1 on all ranks.
        except UnusableMemoryError as error:
            is_wrong_type = True
            problems.append(str(error))
        except Exception as error:
            is_wrong_type = isinstance(error, TypeError)
            problems.append(f"not usable as a region ({type(error).__name__}: {error})")
        if problems:
            self.struct.data_type = problem_name(problems, is_wrong_type=is_wrong_type)
            # The library checks these fields before the type: give them values that are valid.
            self.struct.dimensions = 0
            zeros = numbers([0] * declarations.MAX_DIMENSIONS)
            self.struct.lower = self.struct.extent = zeros
            self.struct.stride = None

    @property
    def pointer(self) -> Any:
        return None if self.struct is None else ctypes.byref(self.struct)


class TransferArguments:
    """The C structs of one array of a request, with references to the memory that they point to.

    An invalid value on one rank raises no exception here, because the other ranks would be left
    waiting. Its description becomes the name of an element type that does not exist. The library
    refuses this name on all ranks and quotes it in its error line.
    """

    def __init__(
        self,
        array: Array | None,
        distribution: Distribution | None,
        data: Data | None,
        section: SectionLike,
        *,
        is_read_into: bool,
    ) -> None:
        self.struct = declarations.Transfer()
        self.data: Any = None
        self.problems: list[str] = []
        self.is_wrong_type = False
        try:
            if array is None or distribution is None:
                return  # The library refuses a null array or distribution.
            self.struct.array = array.handle
            self.struct.distribution = distribution.handle
            self.describe(distribution, data, is_read_into=is_read_into)
            if section is not None:
                self.describe_section(whole_section(section), array.shape)
        except UnusableMemoryError as error:
            self.is_wrong_type = True
            self.problems.append(str(error))
        except Exception as error:
            self.is_wrong_type = isinstance(error, TypeError)
            self.problems.append(f"not usable as an array ({type(error).__name__}: {error})")
        if self.problems:
            name = problem_name(self.problems, is_wrong_type=self.is_wrong_type)
            self.struct.data_type = name

    def describe(
        self, distribution: Distribution, data: Data | None, *, is_read_into: bool
    ) -> None:
        if data is None:
            return  # The library refuses null data if the rank has elements.
        if is_one_array(data):
            arrays = [memory_of(data)]
        elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
            not_arrays = {type(piece).__name__ for piece in data if not is_one_array(piece)}
            if not_arrays:
                self.is_wrong_type = True
                self.problems.append(
                    f"a {type(data).__name__} of {', '.join(sorted(not_arrays))}, not NumPy "
                    "arrays: use numpy.asarray"
                )
                return
            arrays = [memory_of(piece) for piece in data]
        else:
            self.is_wrong_type = True
            self.problems.append(f"a {type(data).__name__}, not a NumPy array")
            return
        self.data = arrays
        if is_one_array(data) and distribution.pieces == 1:
            describe_memory(self.struct, arrays[0])
        else:
            self.describe_pieces(arrays, distribution)
        if is_read_into and not all(array.flags.writeable for array in arrays):
            self.problems.append("in read-only memory")
        types = sorted({type_name(array.dtype) for array in arrays})
        if arrays:
            self.problems[:0] = types if self.problems else []
            self.struct.data_type = " ".join(types).encode()

    def describe_section(self, section: Sequence[slice], shape: Sequence[int]) -> None:
        start, count, stride = section_numbers(section, shape)
        self.struct.section = ctypes.pointer(
            declarations.Section(start=numbers(start), count=numbers(count), stride=numbers(stride))
        )
        # The library refuses -1: the section and the memory differ in their number of dimensions.
        told = self.struct.dimensions
        self.struct.dimensions = len(section) if told in (0, len(section)) else -1

    def describe_pieces(
        self, data: Sequence[np.ndarray[Any, Any]], distribution: Distribution
    ) -> None:
        """Describes one array for each piece; each must be packed in row-major order."""
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
    """Returns the structs as a contiguous C array."""
    return (declarations.Transfer * max(1, len(transfers)))(
        *(transfer.struct for transfer in transfers)
    )
