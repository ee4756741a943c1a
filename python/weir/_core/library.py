"""Finds and loads libweir.so with the functions of weir.h."""

from __future__ import annotations

from ctypes import CDLL
from functools import cache

from weir._core.declarations import FUNCTIONS
from weir._core.shared_library import load

LIBRARY = "libweir.so.0"
PATH_VARIABLE = "WEIR_LIBRARY"


@cache
def library() -> CDLL:
    """Loads libweir.so and declares its functions. Raises LibraryError with the remedy."""
    return load(LIBRARY, PATH_VARIABLE, FUNCTIONS)
