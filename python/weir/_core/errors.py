"""The exceptions that calls of Weir's libraries raise, the same one on every rank."""

from __future__ import annotations

from weir._core import declarations
from weir.errors import Error


class ArgumentError(Error, ValueError):
    """An invalid argument; nothing was started."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has an invalid type on at least one rank; raised on all ranks."""


class MismatchError(Error, ValueError):
    """Ranks made different calls, or passed different arguments where they must be the same."""


class StorageError(Error, OSError):
    """The system refused to open, read or write a file, or a file is damaged."""


class MissingFileError(StorageError, FileNotFoundError):
    """The file or folder does not exist."""


class ExistingFileError(StorageError, FileExistsError):
    """The file exists already."""


class ForbiddenError(StorageError, PermissionError):
    """The system denied permission."""


class NotEnoughMemoryError(Error, MemoryError):
    """There is not enough memory or disk space."""


class UnsupportedError(Error, NotImplementedError):
    """The system, or this version of Weir, does not support the operation."""


class DeadlineError(Error, TimeoutError):
    """A rank was silent for too long; the session is broken and can only be closed."""


class BrokenError(DeadlineError):
    """MPI failed on a rank, a rank gave the session up, or an earlier call missed its deadline.

    The session can only be closed. The class derives from DeadlineError because a program can
    respond to both in the same way.
    """


class AbortedError(Error):
    """A rank gave up the step that the call belongs to; the text contains the reason.

    `File.step` then gives the step up on this rank too. A program that called `begin_step` itself
    must call `abort_step`.
    """


CLASSES = {
    declarations.E_ARGUMENT: ArgumentError,
    declarations.E_MISMATCH: MismatchError,
    declarations.E_IO: StorageError,
    declarations.E_CORRUPT: StorageError,
    declarations.E_MEMORY: NotEnoughMemoryError,
    declarations.E_UNSUPPORTED: UnsupportedError,
    declarations.E_DEADLINE: DeadlineError,
    declarations.E_BROKEN: BrokenError,
    declarations.E_ABORTED: AbortedError,
}
