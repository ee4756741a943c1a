"""Arrays of text that text_program.py writes on several ranks, and that test_text.py compares."""

from __future__ import annotations

from typing import Any

import numpy as np

SHAPE = (9, 5)
STEPS = 3
SUFFIXES = {
    "hdf5": "h5", "cdf5": "nc5", "cdf2": "nc2", "cdf1": "nc1", "zarr": "zarr", "raw": "raw",
}  # fmt: skip
KINDS = {"hdf5": ["S7"], "zarr": ["S7", "U5"], "raw": ["S7", "U5"]}
"""Types of text of several characters; every format has text of one byte, S1."""
CODECS = {"hdf5": "deflate:1,fletcher32", "zarr": "gzip:1,crc32c"}
TITLE = "Über den Strömungen"
NOTES = ["", "日本", "a note"]


def types_of(file_format: str) -> list[str]:
    return ["S1", *KINDS.get(file_format, [])]


def texts(dtype: str, number: int) -> np.ndarray[Any, Any]:
    """Different ones in each step, and of each length from none to the longest."""
    count = int(np.prod(SHAPE))
    longest = np.dtype(dtype).itemsize // (4 if dtype[0] == "U" else 1)
    if longest == 1:
        found = ["abcdefghijklmnopqrstuvwxyz"[(n * 7 + number) % 27 :][:1] for n in range(count)]
    else:
        rest = "äÖ日" if dtype[0] == "U" else "abc"
        found = [f"{n}{number}{rest * longest}"[: n % (longest + 1)] for n in range(count)]
    return np.array(found, dtype).reshape(SHAPE)
