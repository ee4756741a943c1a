"""What nobody writes into an array of one process's file has the array's fill value."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weir
from weir._core.files import FileHandle

FILL = -9.0
LAYOUTS: list[tuple[str, dict[str, Any]]] = [
    ("hdf5", {}),
    ("hdf5", {"chunks": [4, 3]}),
    ("cdf5", {}),
    ("zarr", {}),
    ("zarr", {"chunks": [2, 3]}),
    ("zarr", {"chunks": [2, 3], "shards": [4, 6]}),
    ("raw", {}),
]

# Sections by start, count and stride: in order without the last rows, in another order, with
# strides, and none.
WRITTEN = {
    "in_order": [((0, 0), (2, 4), (1, 1)), ((2, 0), (2, 4), (1, 1))],
    "out_of_order": [((4, 0), (2, 4), (1, 1)), ((0, 0), (1, 4), (1, 1))],
    "with_strides": [((0, 0), (3, 2), (2, 2))],
    "nothing": [],
}


@pytest.mark.parametrize(("file_format", "layout"), LAYOUTS)
def test_what_nobody_writes_has_the_fill_value(
    file_format: str, layout: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "file"
    fill = struct.pack("=d", FILL).hex()
    described = {"shape": [6, 4], "type": "float64", "fill": fill, **layout}
    arrays = [{"name": name, **described} for name in WRITTEN]
    file = FileHandle.create(path, file_format, {"arrays": arrays})
    for number, sections in enumerate(WRITTEN.values()):
        for start, count, stride in sections:
            file.write(number, start, count, stride, np.ones(count))
    file.commit()
    with weir.open(path) as stored:
        for name, sections in WRITTEN.items():
            expected = np.full((6, 4), FILL)
            for start, count, stride in sections:
                ends = [s + c * step for s, c, step in zip(start, count, stride, strict=True)]
                at = tuple(slice(s, e, t) for s, e, t in zip(start, ends, stride, strict=True))
                expected[at] = 1
            np.testing.assert_array_equal(stored[name][...], expected)
