"""What a failed call of the library raises, by names and classes that Python programs know."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import numpy as np
import pytest

import weir
from test_arrays import FILES_LIBRARY
from weir._core.arguments import choice, extents
from weir._core.attribute_values import plain
from weir._core.failures import CALLS, failure, in_python_words, line_of_exception
from weir._core.step_file import dimension_texts

HEADER = (Path(__file__).parent.parent.parent / "include" / "weir" / "weir.h").read_text()

OF_A_LIST = (
    "rank 1: weir_write_many: data_type is 'wrong type: a list of float, no NumPy array': the "
    "elements of array 2 'a' (8 x 8 float64) are float64"
)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (OF_A_LIST, "rank 1: write: data is a list of float, no NumPy array: the elements of array "
                    "2 'a' (8 x 8 float64) are float64"),
        ("rank 0: weir_write_many: data_shape[0] is 3, but this rank's part has extent 4 there",
         "rank 0: write: data.shape[0] is 3, but this rank's part has extent 4 there"),
        ("rank 0: weir_read_many: data_type is 'float32': the elements of a are float64",
         "rank 0: read: data.dtype is 'float32': the elements of a are float64"),
        ("array 4 't' is not in its file yet: begin a step first (weir_file_step_begin)",
         "array 4 't' is not in its file yet: begin a step first (begin_step)"),
        ("weir_array_sync: array is null", "sync: the array is None, or was closed"),
        ("weir_array_create: session is null", "create: the session is None, or was closed"),
        ("weir_file_create: options.format is null and 'f.x' does not end in any of .h5: give one",
         "create_file: format is None and 'f.x' does not end in any of .h5: give one"),
        ("rank 0: options.strategy is 'foo'", "rank 0: strategy is 'foo'"),
    ],
)  # fmt: skip
def test_lines_have_the_names_of_the_package(line: str, words: str) -> None:
    assert in_python_words(line) == words
    assert "weir_" not in words


def test_every_renamed_call_is_one_of_the_header() -> None:
    assert {name for name in CALLS if not re.search(rf"\bweir_{name}\(", HEADER)} == set()


def test_a_wrong_type_is_a_type_error_and_a_wrong_value_a_value_error() -> None:
    assert isinstance(failure(-1, OF_A_LIST), TypeError)
    other = failure(-1, OF_A_LIST.replace("wrong type", "wrong data"))
    assert isinstance(other, ValueError)
    assert not isinstance(other, TypeError)


@pytest.mark.parametrize(
    ("reason", "kind", "number"),
    [
        ("No such file or directory", FileNotFoundError, errno.ENOENT),
        ("Permission denied", PermissionError, errno.EACCES),
        ("Read-only file system", PermissionError, errno.EROFS),
        ("File exists", FileExistsError, errno.EEXIST),
        ("No space left on device", OSError, errno.ENOSPC),
    ],
)
def test_a_failure_of_the_system_has_its_number_and_class(
    reason: str, kind: type[OSError], number: int
) -> None:
    line = f"weir_file_open: rank 0: open failed: {reason} (file nope.h5)"
    raised = failure(-3, line)
    assert isinstance(raised, kind)
    assert isinstance(raised, weir.StorageError)
    assert raised.errno == number
    assert str(raised) == line.replace("weir_file_open", "open_file")


def test_a_damaged_file_has_no_number() -> None:
    raised = failure(-4, "open failed: the header is cut short (file nope.h5)")
    assert type(raised) is weir.StorageError
    assert raised.errno is None


@pytest.mark.skipif(not FILES_LIBRARY.exists(), reason="libweir_files.so is not built")
def test_opening_what_is_not_there(tmp_path: Path) -> None:
    for name in ("nope.h5", "nope.zarr", "folder/nope.nc", "nope"):
        with pytest.raises(FileNotFoundError, match=re.escape(name)):
            weir.open(tmp_path / name)


def test_arguments_that_are_no_data_are_named() -> None:
    assert extents("shape", 8) == (8,)
    assert extents("shape", [2, 3]) == (2, 3)
    for wrong in (("8",), (8.0,), None, "8"):
        with pytest.raises(TypeError, match=r"shape is .*: give a whole number"):
            extents("shape", wrong)
    with pytest.raises(ValueError, match="order is 'X': give 'C' or 'F'"):
        choice("order", "X", {"C": 0, "F": 1})
    assert dimension_texts(("y", "x"), 2) == [b"y", b"x"]
    with pytest.raises(ValueError, match="length 1, but the array's shape has length 2"):
        dimension_texts(("y",), 2)
    for names in ("yx", (1, 2)):
        with pytest.raises(TypeError, match="dimension_names is "):
            dimension_texts(names, 2)


def test_masked_values_of_an_attribute_are_refused() -> None:
    for value in (np.ma.masked_array([1, 2], mask=[False, True]), np.ma.masked):
        with pytest.raises(TypeError, match="attribute 'range' is a masked array, whose mask"):
            plain("range", value)


def test_an_exception_is_told_in_one_line_with_its_place_in_the_program() -> None:
    assert line_of_exception(KeyError("a")) == "KeyError: 'a'"
    assert line_of_exception(KeyboardInterrupt()) == "KeyboardInterrupt"
    with pytest.raises(TypeError) as raised:
        extents("shape", None)  # raised inside the package
    line = line_of_exception(raised.value)
    assert re.fullmatch(r"TypeError in test_python_words.py, line \d+: shape is .*", line)
    assert line_of_exception(ValueError("two\n  lines")) == "ValueError: two lines"
