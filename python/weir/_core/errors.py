"""What calls of Weir's libraries raise, on every rank alike."""

from __future__ import annotations


class Error(Exception):
    """A call failed. The text says on which rank, what, where, and what to do."""


class ArgumentError(Error, ValueError):
    """An invalid argument; nothing was started."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument is of a type that cannot be, on one rank at least; raised on all."""


class MismatchError(Error, ValueError):
    """Ranks made different calls, or passed different things."""


class StorageError(Error, OSError):
    """The system refused to open, read or write; or a file is not what it should be."""


class MissingFileError(StorageError, FileNotFoundError):
    """There is no such file, or no such folder."""


class ExistingFileError(StorageError, FileExistsError):
    """There is such a file already."""


class ForbiddenError(StorageError, PermissionError):
    """The system does not allow it."""


class NotEnoughMemoryError(Error, MemoryError):
    """There is not enough memory or disk."""


class UnsupportedError(Error, NotImplementedError):
    """Neither this system nor this version of Weir can do that."""


class DeadlineError(Error, TimeoutError):
    """A rank did not come in time; the session is broken and can only be closed."""


class BrokenError(DeadlineError):
    """MPI failed on a rank, a rank gave the session up, or an earlier call missed its deadline.

    The session can only be closed.

    A kind of DeadlineError, since what a program can do is the same after both.
    """


class AbortedError(Error):
    """A rank has given up the step that the call belongs to, for the reason that the text tells.

    `File.step` gives it up on this rank, too; who calls `begin_step` calls `abort_step`.
    """


CLASSES = {
    -1: ArgumentError,
    -2: MismatchError,
    -3: StorageError,
    -4: StorageError,
    -5: NotEnoughMemoryError,
    -6: UnsupportedError,
    -7: DeadlineError,
    -8: BrokenError,
    -9: AbortedError,
}
