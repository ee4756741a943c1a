"""Values of attributes: texts, lists of texts, and numbers that keep their NumPy type."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

GivenValue: TypeAlias = "str | int | float | bool | list[str] | Any"
"""Value that a program passes: a text, a list of texts, or what `numpy.asarray` accepts."""
PlainValue: TypeAlias = "str | list[str] | np.ndarray[Any, Any]"
"""A text, a list of texts, or a one-dimensional array of a type that files can store."""
AttributeValue: TypeAlias = (
    "str | list[str] | int | float | bool | np.generic | np.ndarray[Any, Any]"
)
"""Value that was read from a file. A single number is a scalar; it is a Python bool, int or float
for the types bool, int64 and float64."""

REALS = (np.dtype(np.float32), np.dtype(np.float64))


def plain(name: str, value: GivenValue) -> PlainValue:
    """Returns the value of the attribute `name` in a form that files can store.

    Raises TypeError for masked arrays and for types that attributes cannot have, and ValueError for
    more than one dimension.
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.ma.MaskedArray):
        message = f"attribute {name!r} is a masked array, whose mask would be lost: give its "
        raise TypeError(message + ".filled(VALUE) or its .data")
    values = np.asarray(value)
    if values.ndim > 1:
        message = f"attribute {name!r} has {values.ndim} dimensions: give one list, or an array"
        raise ValueError(message)
    items = np.asarray(value, object).ravel().tolist()
    if items and all(isinstance(one, str) for one in items):
        return [str(one) for one in items]
    if values.dtype.kind not in "biu" and values.dtype.newbyteorder("=") not in REALS:
        message = (
            f"attribute {name!r} is {value!r} of type {values.dtype}: give texts, integers of 8 "
            "to 64 bits, float32, float64 or bool"
        )
        raise TypeError(message)
    if any(isinstance(one, str) for one in items):
        message = f"attribute {name!r} is {value!r}: give texts or numbers, not both"
        raise TypeError(message)
    return np.ascontiguousarray(np.atleast_1d(values).astype(values.dtype.newbyteorder("=")))


def one_or_all(values: np.ndarray[Any, Any]) -> AttributeValue:
    """Returns a single number as a scalar, of Python's own type if that has the same size."""
    if values.size != 1:
        return values
    number: np.generic = values.reshape(-1)[0]
    if values.dtype in (np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64)):
        return number.item()  # type: ignore[no-any-return]
    return number
