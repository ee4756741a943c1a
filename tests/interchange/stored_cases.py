"""What the files of these tests hold: one description and its numbers, for every format."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from weir._core.files import FileHandle

FORMATS = ("hdf5", "cdf5", "cdf2", "cdf1", "zarr", "raw")
SUFFIXES = {
    "hdf5": "h5", "cdf5": "nc5", "cdf2": "nc2", "cdf1": "nc1", "zarr": "zarr", "raw": "raw",
}  # fmt: skip
CLASSIC = ("cdf5", "cdf2", "cdf1")
TITLE = "Über den Strömungen"
"""The file's attribute: text that is not ASCII."""

TYPES = {
    "hdf5": "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64",
    "cdf5": "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64",
    "cdf2": "int8 int16 int32 float32 float64",
    "cdf1": "int8 int16 int32 float32 float64",
    "zarr": "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128 bool",
}
TYPES["raw"] = TYPES["zarr"]


@dataclass
class Case:
    """An array of a file."""

    name: str
    values: np.ndarray[Any, Any]
    dimensions: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    chunks: tuple[int, ...] | None = None
    shards: tuple[int, ...] | None = None
    grows: bool = False
    column_major: bool = False
    fill: Any = None

    def described(self) -> dict[str, Any]:
        """As the library is told of it."""
        fill = None
        if self.fill is not None:
            fill = self.values.dtype.type(self.fill).tobytes().hex()
        return {
            "name": self.name,
            "shape": list(self.values.shape),
            "type": self.values.dtype.name,
            "order": "column-major" if self.column_major else "row-major",
            "grows": self.grows,
            "chunks": self.chunks and list(self.chunks),
            "shards": self.shards and list(self.shards),
            "dimension_names": list(self.dimensions),
            "fill": fill,
            "attributes": [attribute(name, value) for name, value in self.attributes.items()],
        }


def attribute(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": name, "text": value}
    numbers = np.atleast_1d(value)
    kind = "integers" if numbers.dtype.kind in "iu" else "reals"
    return {"name": name, kind: numbers.tolist(), "type": numbers.dtype.name}


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray[Any, Any]:
    """Different ones everywhere, within what the type holds."""
    count = int(np.prod(shape))
    whole = (np.arange(count) * 7 + seed) % 120
    if dtype == "bool":
        return (whole % 3 == 0).reshape(shape)
    values = whole.astype(dtype)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * values[::-1]
    return values.astype(dtype).reshape(shape)


def cases(file_format: str) -> list[Case]:
    """The arrays of a file of this format: all that it can express."""
    classic = file_format in CLASSIC
    zarr = file_format == "zarr"
    found = [
        Case("x", np.linspace(0, 1, 10), ("x",), {"units": "m", "standard_name": "x"}),
        Case("y", np.arange(7, dtype="int32"), ("y",), {"units": "m"}),
        Case(
            "density", numbers((7, 10), "float64", 1), ("y", "x"),
            {"units": "kg m-3", "valid_range": [-1.5, 200.25], "level": 3, "flags": [1, 2, 3]},
        ),
        Case("pressure", numbers((3, 7, 10), "float32", 2), ("time", "y", "x"), {"units": "Pa"},
             grows=True),
        Case("time", np.arange(3, dtype="float64") * 6, ("time",),
             {"units": "hours since 2000-01-01 00:00:00"}, grows=True),
        Case("count", numbers((7, 10), "int16", 3), ("y", "x"), {"_FillValue": np.int16(-99)},
             fill=-99),
    ]  # fmt: skip
    if not zarr:  # there columns are chunks
        found.append(Case("columns", numbers((10, 7), "float32", 4), ("x", "y"), column_major=True))
    if not classic:
        found += [
            Case("chunked", numbers((7, 10), "int32", 5), ("y", "x"), chunks=(3, 4)),
            Case("fields/velocity/u", numbers((7, 10), "float64", 6), ("y", "x"),
                 {"units": "m s-1"}, chunks=(7, 10)),
            Case("chunked_steps", numbers((3, 7, 10), "int16", 7), ("time", "y", "x"),
                 chunks=(2, 3, 4), grows=True),
        ]  # fmt: skip
    if zarr:
        found += [
            Case("sharded", numbers((7, 10), "int64", 8), ("y", "x"), chunks=(2, 3), shards=(4, 6)),
            Case("chunk_columns", numbers((7, 10), "float64", 9), ("y", "x"), chunks=(3, 4),
                 column_major=True),
        ]  # fmt: skip
    found += [
        Case(f"as_{dtype}", numbers((7, 10), dtype, 10), ("y", "x"))
        for dtype in TYPES[file_format].split()
    ]
    return found


def cases_in(path: Path, file_format: str) -> list[Case]:
    """The arrays of a file of the fixtures.

    Ranks write step by step: chunks hold one.
    """
    if not path.parent.name.startswith("by-ranks"):
        return cases(file_format)
    return [
        replace(case, chunks=(1, *case.chunks[1:])) if case.grows and case.chunks else case
        for case in cases(file_format)
    ]


def write(path: Path, file_format: str) -> None:
    """Writes the file by Weir, each array in two parts."""
    arrays = cases(file_format)
    groups = [{"name": "", "attributes": [attribute("title", TITLE)]}]
    if file_format not in CLASSIC:
        groups.append({"name": "fields", "attributes": [attribute("solver", "explicit")]})
    described = {"arrays": [one.described() for one in arrays], "groups": groups}
    made = FileHandle.create(path, file_format, described)
    for number, one in enumerate(arrays):
        rest = [0] * (one.values.ndim - 1)
        middle = one.values.shape[0] // 2
        for start, part in ((0, one.values[:middle]), (middle, one.values[middle:])):
            made.write(number, [start, *rest], part.shape, [1] * part.ndim, part)
    made.commit()


def on_disk(case: Case) -> tuple[np.ndarray[Any, Any], tuple[str, ...]]:
    """Values and dimensions as row-major formats have them: columns as rows, reversed."""
    if case.column_major:
        return case.values.T, case.dimensions[::-1]
    return case.values, case.dimensions
