"""Turns the library's error lines into Python exceptions.

The library returns the same code and line on all ranks, with the names of ``weir.h``. This module
replaces those names by the ones that a Python program uses, and selects the exception's class.
"""

from __future__ import annotations

import errno
import os
import re
import traceback
from pathlib import Path

from weir._core.errors import (
    CLASSES,
    ArgumentError,
    ArgumentTypeError,
    ExistingFileError,
    ForbiddenError,
    MissingFileError,
    StorageError,
)
from weir._core.library import library
from weir.errors import Error

WRONG_TYPE = "wrong type: "
"""Prefix that `weir._core.arguments` gives to a problem with the type of data; the library's error
line quotes it."""
WRONG_DATA = "wrong data: "
"""Prefix that it gives to any other problem with data."""

REFUSED_FORMATS = ", "
"""Beginning of the formats of a distribution of one dimension, which the library refuses: there are
at least two. The problem of an argument follows."""
SAID_OF_ARGUMENT = re.compile(
    rf"weir_distribution_create: formats is '{REFUSED_FORMATS}(?:{WRONG_TYPE}|{WRONG_DATA})"
    r"(?P<problem>.*)', which has \d+ words for 1 dimensions: .*",
    re.DOTALL,
)

CALLS = {
    "session_open": "Session",
    "session_close": "Session.close",
    "session_explain": "explain",
    "session_figures": "figures",
    "distribution_create": "distribution",
    "distribution_from_boxes": "distribution_from_boxes",
    "distribution_piece_shape": "Distribution.shape",
    "distribution_global_index": "global_index",
    "array_create": "create",
    "array_dimensions": "Array.shape",
    "array_shape": "Array.shape",
    "array_element_type": "Array.element_type",
    "array_element_bytes": "Array.element_bytes",
    "array_open": "open",
    "array_sync": "sync",
    "array_close": "Array.close",
    "file_create": "create_file",
    "file_open": "open_file",
    "file_define": "define",
    "file_step_begin": "begin_step",
    "file_step_end": "end_step",
    "file_step_wait": "wait_for_step",
    "file_step_test": "is_step_stored",
    "file_step_abort": "abort_step",
    "file_unwritten": "unwritten",
    "file_drop_steps": "drop_steps",
    "file_extend": "extend",
    "file_select_step": "select_step",
    "file_close": "File.close",
    "file_attribute_text": "set_attribute",
    "file_attribute_integers": "set_attribute",
    "file_attribute_reals": "set_attribute",
    "write_many": "write",
    "read_many": "read",
    "write_region_independent": "write_region",
    "read_region_independent": "read_region",
    "wait": "Request.wait",
    "test": "Request.test",
}
"""Python name of each call of weir.h for which removing ``weir_`` does not give the Python name."""

SAID_OF_DATA = re.compile(
    r"(?:region\.)?data_type is '(?:wrong type|wrong data): (?P<problem>.*)': "
    r"(?P<array>the elements of .* are .*)",
    re.DOTALL,
)
WORDS = (
    (re.compile(r"\b(session|array|file|distribution) is null"), r"the \1 is None, or was closed"),
    (re.compile(r"\b([\w.]+(?:\[\d+\])?) is null"), r"\1 is None"),
    (re.compile(r"\boptions\.(?=\w)"), ""),
    (re.compile(r"\b(?:region\.)?data_shape\b"), "data.shape"),
    (re.compile(r"\b(?:region\.)?data_type\b"), "data.dtype"),
    (
        re.compile(r"\bregion\.dimensions is -1: "),
        "lower or stride has another number of dimensions than data: ",
    ),
    (
        re.compile(r"\bdimensions is -1\b"),
        "the section or an extent has another number of dimensions",
    ),
    (re.compile(r"\bregion\.(lower|extent|stride)\b"), r"\1"),
)
SYSTEM_FAILURE = re.compile(r"failed: (?P<reason>[^:(]+?)(?: \(file |$|, )")
CLASS_OF_ERRNO = {
    errno.ENOENT: MissingFileError,
    errno.EEXIST: ExistingFileError,
    errno.EACCES: ForbiddenError,
    errno.EPERM: ForbiddenError,
    errno.EROFS: ForbiddenError,
}
PACKAGE = str(Path(__file__).parent.parent) + os.sep
"""Folder of this package's own sources."""
ERRNO_OF_REASON = {os.strerror(number): number for number in errno.errorcode}


def checked(code: int) -> int:
    """Returns the return value of a call of libweir.so; raises the failure if it is negative."""
    if code >= 0:
        return code
    raise failure(code, library().weir_last_error().decode(errors="replace"))


def failure(code: int, line: str) -> Error:
    """Returns the exception for a call of the library that failed with this code and line."""
    text = in_python_words(line)
    kind = CLASSES.get(code, Error)
    if kind is ArgumentError and WRONG_TYPE in line:
        return ArgumentTypeError(text)
    found = SYSTEM_FAILURE.search(line)
    number = ERRNO_OF_REASON.get(found["reason"]) if found else None
    if kind is not StorageError or number is None:
        return kind(text)
    told = CLASS_OF_ERRNO.get(number, StorageError)(text)
    told.errno = number
    return told


def line_of_exception(error: BaseException) -> str:
    """Describes an exception of the program in one line for the other ranks: what and where."""
    line = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(PACKAGE)]
    for frame in (own or frames)[-1:]:
        line += f" in {Path(frame.filename).name}, line {frame.lineno}"
    text = " ".join(str(error).split())
    return f"{line}: {text}" if text else line


def in_python_words(line: str) -> str:
    """Returns a line of the library with the names of weir.h replaced by those of this package."""
    argument = SAID_OF_ARGUMENT.search(line)
    if argument:
        return line[: argument.start()] + argument["problem"]
    said = SAID_OF_DATA.search(line)
    if said:
        line = f"{line[: said.start()]}data is {said['problem']}: {said['array']}"
    line = re.sub(r"\bweir_(\w+)", lambda name: CALLS.get(name[1], name[1]), line)
    for pattern, words in WORDS:
        line = pattern.sub(words, line)
    return line
