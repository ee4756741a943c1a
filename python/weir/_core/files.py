"""Binds libweir_files.so: it opens, reads and makes files of arrays in one process without MPI."""

from __future__ import annotations

import json
import os
from ctypes import CDLL, POINTER, byref, c_char_p, c_int64, c_void_p, string_at
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from weir._core import declarations
from weir._core.errors import StorageError
from weir._core.failures import failure
from weir._core.shared_library import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

LIBRARY = "libweir_files.so.0"
PATH_VARIABLE = "WEIR_FILES_LIBRARY"

VERIFIED = {
    "none": declarations.FILES_VERIFY_NONE,
    "covered": declarations.FILES_VERIFY_COVERED,
    "touched": declarations.FILES_VERIFY_TOUCHED,
}
"""Words for the checksummed blocks that reads verify."""


@cache
def library() -> CDLL:
    """Loads libweir_files.so and declares its functions. Raises LibraryError with the remedy."""
    return load(LIBRARY, PATH_VARIABLE, declarations.FILES_FUNCTIONS)


def checked(code: int) -> int:
    """Returns `code`; raises the failure if it is negative."""
    if code >= 0:
        return code
    text = library().weir_files_last_error().decode(errors="replace")
    raise failure(code, text)


@cache
def abilities() -> dict[str, dict[str, Any]]:
    """Returns what each format that this build writes has, as ``weir_files_abilities`` says it."""
    described: dict[str, dict[str, Any]] = json.loads(library().weir_files_abilities())
    return described


def formats() -> list[str]:
    """Returns the names of the formats that this build writes."""
    return list(abilities())


def _lines(text: bytes | None) -> list[str]:
    if text is None:
        raise StorageError(library().weir_files_last_error().decode(errors="replace"))
    return text.decode(errors="replace").splitlines()


def unfinished(path: str | os.PathLike[str]) -> list[str]:
    """Returns one line for each thing that killed runs left in or beside a file."""
    return _lines(library().weir_files_unfinished(os.fsencode(path)))


def drop_steps(path: str | os.PathLike[str], steps: int) -> None:
    """Keeps the first `steps` steps of a file and removes the others."""
    checked(library().weir_files_drop_steps(os.fsencode(path), steps))


def numbers(values: Sequence[int] | None) -> Any:
    return None if values is None else (c_int64 * max(1, len(values)))(*values)


@dataclass(frozen=True)
class Missing:
    """How many parts of an array (chunks, or indices of its first dimension) no file contains."""

    parts: int
    unwritten: int
    """Number of chunks that were never written; they read as the fill value."""
    lost: int
    damage: str
    """The damage through which `lost` parts were lost; empty if none are."""


class FileHandle:
    """A file that is open or being made; it is closed when the last reference to it disappears.

    Several threads may call `read` and `write` at once: ctypes releases Python's global lock.
    """

    def __init__(self) -> None:
        """`open` and `create` make handles of files; this one has no file yet."""
        # The library stores its handle here itself: a handle in a local variable would be lost, and
        # the temporary file left, if Ctrl-C arrived between the library's return and a Python
        # object that owns it.
        self._handle = c_void_p()
        self.description: dict[str, Any] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> FileHandle:
        file = cls()
        checked(library().weir_files_open(os.fsencode(path), byref(file._handle)))
        file._describe()
        return file

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], file_format: str, description: dict[str, Any]
    ) -> FileHandle:
        """Lays out a file under a temporary name; `close` removes it unless `commit` was called."""
        file = cls()
        text = json.dumps(description).encode()
        checked(
            library().weir_files_create(
                os.fsencode(path), file_format.encode(), text, byref(file._handle)
            )
        )
        file._describe()
        return file

    def _describe(self) -> None:
        self.description = json.loads(library().weir_files_description(self._handle).decode())

    def reload(self) -> None:
        """Updates the description to the file's present content; a failure leaves the old one.

        No other thread may use the file meanwhile.
        """
        checked(library().weir_files_reload(byref(self._handle)))
        self._describe()

    def close(self) -> None:
        """Closes the file, and removes it if it was being made and is not committed.

        No other thread may use the file.
        """
        if getattr(self, "_handle", None):
            library().weir_files_close(byref(self._handle))

    __del__ = close

    def read(
        self,
        array: int,
        start: Sequence[int],
        count: Sequence[int],
        stride: Sequence[int],
        out: np.ndarray[Any, Any],
    ) -> None:
        """Reads a section into `out`, which has the shape `count` and any strides."""
        checked(library().weir_files_read(*self._move(array, start, count, stride, out)))

    def read_texts(
        self, array: int, start: Sequence[int], count: Sequence[int], stride: Sequence[int]
    ) -> list[bytes]:
        """Returns a section of an array of variable-length texts, in row-major order."""
        read = POINTER(declarations.FilesTexts)()
        checked(
            library().weir_files_read_texts(
                self._handle, array, numbers(start), numbers(count), numbers(stride), byref(read)
            )
        )
        try:
            texts = read.contents
            offsets = texts.offsets[: texts.count + 1]
            every = string_at(texts.bytes, offsets[-1])
        finally:
            library().weir_files_free_texts(byref(read))
        return [every[begin : end - 1] for begin, end in pairwise(offsets)]

    def write(
        self,
        array: int,
        start: Sequence[int],
        count: Sequence[int],
        stride: Sequence[int],
        data: np.ndarray[Any, Any],
    ) -> None:
        """Writes a section from `data`, which has the shape `count` and any strides."""
        checked(library().weir_files_write(*self._move(array, start, count, stride, data)))

    def verify_reads(self, blocks: str) -> None:
        """Sets which blocks with checksums reads verify; `blocks` is a key of `VERIFIED`."""
        checked(library().weir_files_verify_reads(self._handle, VERIFIED[blocks]))

    def cache(self, size: int) -> None:
        """Sets how many bytes of decoded chunks reads keep for later reads at most; 0: none."""
        checked(library().weir_files_cache(self._handle, size))

    def missing(self, array: int, *, unwritten: bool = True) -> Missing:
        """Counts the parts of an array that no file contains.

        With `unwritten` False it does not count unwritten chunks: `Missing.unwritten` is 0.
        """
        absent, lost, damage = c_int64(), c_int64(), c_char_p()
        counted = byref(absent) if unwritten else None
        parts = checked(
            library().weir_files_missing(self._handle, array, counted, byref(lost), byref(damage))
        )
        text = (damage.value or b"").decode(errors="replace")
        return Missing(parts, absent.value, lost.value, text)

    def sums(self) -> tuple[int, int, str]:
        """Returns the number of parts that have checksums, and their size in bytes.

        The third value says what is wrong with the file of checksums itself; it is empty if nothing
        is.
        """
        size, damage = c_int64(), c_char_p()
        parts = checked(library().weir_files_sums(self._handle, byref(size), byref(damage)))
        return parts, size.value, (damage.value or b"").decode(errors="replace")

    def verify(self, part: int) -> list[str]:
        """Returns one line for each block of the part that differs from what was written."""
        return _lines(library().weir_files_verify(self._handle, part))

    def commit(self) -> None:
        """Makes the written data durable and renames the file to its final name."""
        checked(library().weir_files_commit(self._handle))

    def _move(
        self,
        array: int,
        start: Sequence[int],
        count: Sequence[int],
        stride: Sequence[int],
        memory: np.ndarray[Any, Any],
    ) -> tuple[Any, ...]:
        return (
            self._handle,
            array,
            numbers(start),
            numbers(count),
            numbers(stride),
            memory.ctypes.data_as(c_void_p) if memory.size else None,
            numbers(memory.strides),
        )
