"""Finds and loads Weir's shared libraries and declares their functions."""

from __future__ import annotations

import os
import sys
from ctypes import CDLL
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weir.errors import Error

if TYPE_CHECKING:
    from collections.abc import Mapping

    Declarations = Mapping[str, tuple[Any, list[Any]]]
    """Result type and argument types of each function that is used."""


class LibraryError(Error, ImportError):
    """A library of Weir is missing or has another version; the text is one line with the remedy."""


def load(name: str, path_variable: str, functions: Declarations) -> CDLL:
    """Loads the library `name` and declares its `functions`.

    The environment variable `path_variable` gives its path; if it is unset, the library is in the
    wheel, in the Python environment, or where ld.so looks. Raises LibraryError.
    """
    reasons = []
    for path in _candidates(name, path_variable):
        try:
            library = CDLL(path)
        except OSError as error:
            reasons.append(str(error))
            continue
        try:
            for function, (result, arguments) in functions.items():
                declared = getattr(library, function)
                declared.restype = result
                declared.argtypes = arguments
        except AttributeError as error:
            reasons.append(f"{error}: the library has another version than this package")
            continue
        return library
    message = (
        f"{name} could not be loaded ({'; '.join(reasons)}): install Weir with its library, or set "
        f"{path_variable} to the library's path"
    )
    raise LibraryError(message)


def find(
    name: str,
    path_variable: str,
    beside: str = "",
    remedy: str = "install Weir with its library",
) -> str:
    """Returns where `load` finds the library `name`, for LD_PRELOAD of another program.

    A `name` with a folder is not looked up by ld.so, but in that folder where ld.so finds the
    library `beside`. Raises LibraryError; `remedy` is what to do if there is no such library.
    """
    for candidate in _candidates(name, path_variable):
        if candidate != name:
            path: Path | None = Path(candidate)
        elif beside:
            path = _path_by_ld_so(beside)
            path = path.parent / name if path else None
        else:
            path = _path_by_ld_so(name)
        if path is None or not path.is_file():
            continue
        found = str(path.resolve())
        if any(mark in found for mark in " :"):
            message = (
                f"{found}: the path of a library that is loaded into programs must not contain "
                "a space or colon"
            )
            raise LibraryError(message)
        return found
    message = (
        f"{Path(name).name} does not exist: {remedy}, or set {path_variable} to the library's path"
    )
    raise LibraryError(message)


def _path_by_ld_so(name: str) -> Path | None:
    """Where ld.so finds a library; None if it finds none."""
    try:
        CDLL(name)
    except OSError:
        return None
    lines = Path("/proc/self/maps").read_text().splitlines()
    mapped = {Path(line.split(maxsplit=5)[5]) for line in lines if "/" in line}
    return next((path for path in mapped if path.name.startswith(name)), None)


def _candidates(name: str, path_variable: str) -> list[str]:
    told = os.environ.get(path_variable)
    if told:
        return [told]
    places = [Path(__file__).parent / name, Path(sys.prefix) / "lib" / name]
    return [str(place) for place in places if place.exists()] + [name]
