"""Distributions of arrays over ranks, as ``weir`` exports them."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref, c_int64, c_void_p
from typing import TYPE_CHECKING

from weir._core import library as c
from weir._core.arguments import numbers
from weir._core.failures import checked

if TYPE_CHECKING:
    from weir._core.session import Session


class Distribution:
    """Which elements of an array each rank holds in memory.

    `Session.distribution` and `Session.distribution_from_boxes` return it. All its methods and
    properties are local.
    """

    def __init__(self, session: Session, handle: c_void_p, dimensions: int) -> None:
        self.session = session
        self.dimensions = dimensions
        self._handle = handle

    def __del__(self) -> None:
        # Freeing is local, so ranks may do it at different times.
        if self.handle:
            c.library().weir_distribution_free(byref(self._handle))

    @property
    def handle(self) -> c_void_p | None:
        """The C handle, or None after the session was closed."""
        return self._handle if self.session.handle else None

    @property
    def elements(self) -> int:
        """Number of elements that this rank holds."""
        return checked(c.library().weir_distribution_elements(self.handle))

    @property
    def pieces(self) -> int:
        """Number of this rank's boxes; 1 if the array is distributed by formats."""
        return checked(c.library().weir_distribution_pieces(self.handle))

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, in elements, of this rank's part if it is one piece."""
        return self.piece_shape(0)

    def piece_shape(self, piece: int) -> tuple[int, ...]:
        """Returns the extents, in elements, of one of this rank's pieces, numbered from 0."""
        extents = (c_int64 * self.dimensions)()
        checked(c.library().weir_distribution_piece_shape(self.handle, piece, extents))
        return tuple(extents)

    def global_index(self, local: Sequence[int], piece: int = 0) -> tuple[int, ...]:
        """Returns the index in the array of the element at index `local` of this rank's piece."""
        if len(local) != self.dimensions:
            message = f"local is {tuple(local)}: give {self.dimensions} indices"
            raise ValueError(message)
        found = (c_int64 * self.dimensions)()
        checked(
            c.library().weir_distribution_global_index(self.handle, piece, numbers(local), found)
        )
        return tuple(found)
