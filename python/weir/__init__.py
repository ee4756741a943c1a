"""Weir measures the I/O of parallel programs, and writes and reads their arrays.

The command line is ``weir``. MPI programs use ``weir.Session``. ``weir.open`` reads files of
arrays without MPI. Every name is imported at its first use, so the command line starts without
the libraries.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weir._core.array_handle import Array
    from weir._core.distribution import Distribution
    from weir._core.errors import (
        AbortedError,
        ArgumentError,
        ArgumentTypeError,
        BrokenError,
        DeadlineError,
        ExistingFileError,
        ForbiddenError,
        MismatchError,
        MissingFileError,
        NotEnoughMemoryError,
        StorageError,
        UnsupportedError,
    )
    from weir._core.request import Request
    from weir._core.session import (
        Session,
        finalize_staging,
        init_staging,
        library_version,
    )
    from weir._core.step_file import File, FileArray
    from weir.convert.saving import save
    from weir.errors import Error
    from weir.files import StoredArray, StoredFile, StoredGroup, open  # noqa: A004

    __version__: str

__all__ = [
    "AbortedError",
    "ArgumentError",
    "ArgumentTypeError",
    "Array",
    "BrokenError",
    "DeadlineError",
    "Distribution",
    "Error",
    "ExistingFileError",
    "File",
    "FileArray",
    "ForbiddenError",
    "MismatchError",
    "MissingFileError",
    "NotEnoughMemoryError",
    "Request",
    "Session",
    "StorageError",
    "StoredArray",
    "StoredFile",
    "StoredGroup",
    "UnsupportedError",
    "__version__",
    "finalize_staging",
    "init_staging",
    "library_version",
    "open",
    "save",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("weir-io")
    if name not in __all__:
        message = f"module 'weir' has no attribute {name!r}"
        raise AttributeError(message)
    if name == "Error":
        module = "weir.errors"
    elif name.endswith("Error"):
        module = "weir._core.errors"
    elif name == "open" or name.startswith("Stored"):
        module = "weir.files"
    elif name == "save":
        module = "weir.convert.saving"
    elif name == "Array":
        module = "weir._core.array_handle"
    elif name in {"Distribution", "Request"}:
        module = f"weir._core.{name.lower()}"
    elif name in {"File", "FileArray"}:
        module = "weir._core.step_file"
    else:
        module = "weir._core.session"
    return getattr(import_module(module), name)
