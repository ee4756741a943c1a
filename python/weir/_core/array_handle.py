"""An array that all ranks of a session have open."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref, c_int64, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np

from weir._core import library as c
from weir._core.arguments import Data, RegionArguments, SectionLike, dtype_of
from weir._core.failures import checked

if TYPE_CHECKING:
    from weir._core.session import Distribution, Request, Session


class Array:
    """A global array in files; made by `Session.create` and `Session.open`."""

    def __init__(self, session: Session, handle: c_void_p) -> None:
        self.session = session
        self._handle = handle

    @property
    def handle(self) -> c_void_p | None:
        """The handle, or None after the array or the session was closed."""
        return self._handle if self.session.handle and self._handle else None

    @property
    def shape(self) -> tuple[int, ...]:
        extents = (c_int64 * checked(c.library().weir_array_dimensions(self.handle)))()
        checked(c.library().weir_array_shape(self.handle, extents))
        return tuple(extents)

    @property
    def element_type(self) -> str:
        name = c.library().weir_array_element_type(self.handle)
        if name is None:
            checked(-1)
        return str(name.decode())

    @property
    def element_bytes(self) -> int:
        """The bytes of one element."""
        return checked(c.library().weir_array_element_bytes(self.handle))

    @property
    def dimensions(self) -> int:
        """How many dimensions the array has."""
        return checked(c.library().weir_array_dimensions(self.handle))

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of the elements; of records, bytes that a view gives fields."""
        return dtype_of(self.element_type)

    def write(self, distribution: Distribution, data: Data, section: SectionLike = None) -> None:
        """Writes the array, or a section of it, from this rank's part."""
        self.session.write_many([(self, distribution, data, section)])

    def read(self, distribution: Distribution, out: Any = None, section: SectionLike = None) -> Any:
        """Reads the array, or a section of it, into this rank's part, which is returned.

        Without `out` the part is new, and 0 where the section has no elements: one array, or a
        list with one for each of the rank's boxes when they are not exactly one.
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
        """Writes `data` at the index `lower`, and on with `stride`; each rank its own region.

        Collective: a rank that takes no part passes None as `lower`. With `independent` this rank
        alone writes, and no other rank has to come.
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
        """Reads `extent` elements along each dimension from the index `lower` on, with `stride`.

        They are read into `out`, whose shape is the extent, or a new array, which is returned.
        Collective: a rank that takes no part passes None as `lower`, and gets `out`. With
        `independent` this rank alone reads, and no other rank has to come.
        """
        if lower is not None and out is None:
            try:
                out = np.zeros(() if extent is None else tuple(extent), self.dtype)
            except (TypeError, ValueError, MemoryError) as error:
                out = error  # is no array: refused on all ranks together
        given = RegionArguments(lower, out, stride, is_read_into=True)
        library = c.library()
        call = library.weir_read_region_independent if independent else library.weir_read_region
        checked(call(self.handle, given.pointer))
        return out

    def write_region_begin(
        self, lower: Sequence[int] | None, data: Any, stride: Sequence[int] | None = None
    ) -> Request:
        """Begins `write_region`. Collective, without waiting."""
        given = RegionArguments(lower, data, stride, is_read_into=False)
        call = c.library().weir_write_region_begin
        return self.session._begun(call, (self.handle, given.pointer), given)

    def read_region_begin(
        self, lower: Sequence[int] | None, out: Any, stride: Sequence[int] | None = None
    ) -> Request:
        """Begins `read_region` into `out`. Collective, without waiting."""
        given = RegionArguments(lower, out, stride, is_read_into=True)
        call = c.library().weir_read_region_begin
        return self.session._begun(call, (self.handle, given.pointer), given)

    def sync(self) -> None:
        """Makes durable what was written."""
        checked(c.library().weir_array_sync(self.handle))

    def close(self) -> None:
        place = c_void_p(self.handle.value if self.handle else None)
        self._handle = c_void_p()
        checked(c.library().weir_array_close(byref(place)))
