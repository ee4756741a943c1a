"""`Array`: an array that all ranks of a session have open."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref, c_int64, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np

from weir._core import declarations
from weir._core import library as c
from weir._core.arguments import Data, RegionArguments, SectionLike, dtype_of
from weir._core.failures import checked

if TYPE_CHECKING:
    from weir._core.distribution import Distribution
    from weir._core.request import Request
    from weir._core.session import Session


class Array:
    """A global array in files; `Session.create` and `Session.open` return it.

    Methods are collective unless marked "Local" or called with `independent`: all ranks of the
    session call them in the same order. Properties are local.
    """

    def __init__(self, session: Session, handle: c_void_p) -> None:
        self.session = session
        self._handle = handle

    @property
    def handle(self) -> c_void_p | None:
        """The C handle, or None after the array or the session was closed."""
        return self._handle if self.session.handle and self._handle else None

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the array in elements."""
        extents = (c_int64 * checked(c.library().weir_array_dimensions(self.handle)))()
        checked(c.library().weir_array_shape(self.handle, extents))
        return tuple(extents)

    @property
    def element_type(self) -> str:
        """Weir's name of the element type, such as ``"float64"`` or ``"record[24]"``."""
        name = c.library().weir_array_element_type(self.handle)
        if name is None:
            checked(declarations.E_ARGUMENT)
        return str(name.decode())

    @property
    def element_bytes(self) -> int:
        """Size of one element in bytes."""
        return checked(c.library().weir_array_element_bytes(self.handle))

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        return checked(c.library().weir_array_dimensions(self.handle))

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy type of the elements; records are opaque bytes, to which a view can give fields."""
        return dtype_of(self.element_type)

    def write(self, distribution: Distribution, data: Data, section: SectionLike = None) -> None:
        """Writes the array, or a section of it, from `data`, this rank's part. Collective.

        `distribution` and `section` are the same on every rank. `section` has one slice per
        dimension of the array, with positive steps; the rank writes the elements of its part that
        lie in the section. A rank without elements may pass None as `data`.
        """
        self.session.write_many([(self, distribution, data, section)])

    def read(self, distribution: Distribution, out: Any = None, section: SectionLike = None) -> Any:
        """Reads the array, or a section of it, into this rank's part and returns the part.

        Collective; `distribution` and `section` are the same on every rank. Without `out` the part
        is new memory: one array, or a list with one array per box if the rank has not exactly one
        box. Elements outside the section are then 0.
        """
        if out is None:
            out = [
                np.zeros(distribution.piece_shape(piece), self.dtype)
                for piece in range(distribution.pieces)
            ]
            out = out[0] if len(out) == 1 else out
        self.session.read_many([(self, distribution, out, section)])
        return out

    def write_region(
        self,
        lower: Sequence[int] | None,
        data: Any,
        stride: Sequence[int] | None = None,
        *,
        independent: bool = False,
    ) -> None:
        """Writes `data` to this rank's own region of the array.

        The region has the shape of `data`. It begins at the index `lower`, and its elements are
        `stride` apart along each dimension (default 1). All arguments except `independent` may
        differ between ranks.

        Collective: a rank that takes no part passes None as `lower`. With `independent` the call is
        local: only this rank writes.
        """
        given = RegionArguments(lower, data, stride, is_read_into=False)
        library = c.library()
        call = library.weir_write_region_independent if independent else library.weir_write_region
        checked(call(self.handle, given.pointer))

    def read_region(
        self,
        lower: Sequence[int] | None,
        extent: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        *,
        out: Any = None,
        independent: bool = False,
    ) -> Any:
        """Reads this rank's own region of the array and returns it.

        The region begins at the index `lower`. It has `extent` elements along each dimension, which
        are `stride` apart (default 1). They are read into `out`, whose shape is then the extent, or
        into a new array. All arguments except `independent` may differ between ranks.

        Collective: a rank that takes no part passes None as `lower`, and `out` is returned. With
        `independent` the call is local: only this rank reads.
        """
        if lower is not None and out is None:
            try:
                out = np.zeros(() if extent is None else tuple(extent), self.dtype)
            except (TypeError, ValueError, MemoryError) as error:
                out = error  # An exception is not an array: the library refuses it on all ranks.
        given = RegionArguments(lower, out, stride, is_read_into=True)
        library = c.library()
        call = library.weir_read_region_independent if independent else library.weir_read_region
        checked(call(self.handle, given.pointer))
        return out

    def write_region_begin(
        self, lower: Sequence[int] | None, data: Any, stride: Sequence[int] | None = None
    ) -> Request:
        """Begins `write_region` and returns without waiting for other ranks. Collective."""
        given = RegionArguments(lower, data, stride, is_read_into=False)
        call = c.library().weir_write_region_begin
        return self.session._begun(call, (self.handle, given.pointer), given)

    def read_region_begin(
        self, lower: Sequence[int] | None, out: Any, stride: Sequence[int] | None = None
    ) -> Request:
        """Begins `read_region` into `out`; returns without waiting for other ranks. Collective."""
        given = RegionArguments(lower, out, stride, is_read_into=True)
        call = c.library().weir_read_region_begin
        return self.session._begun(call, (self.handle, given.pointer), given)

    def sync(self) -> None:
        """Makes all data written to the array durable on storage. Collective."""
        checked(c.library().weir_array_sync(self.handle))

    def close(self) -> None:
        """Closes the array; other programs can then read it. Collective."""
        place = c_void_p(self.handle.value if self.handle else None)
        self._handle = c_void_p()
        checked(c.library().weir_array_close(byref(place)))
