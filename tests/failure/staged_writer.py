"""What each rank of the tests of staging writes into the steps of a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from staged_values import COUNTS, SHAPE, SUFFIXES, counts, density

import weir


def part_of(whole: np.ndarray, distribution: weir.Distribution) -> np.ndarray:
    """This rank's part: an index along a dimension depends on the local one along it alone."""
    if 0 in distribution.shape:
        return np.empty(distribution.shape, whole.dtype)
    along = [
        [distribution.global_index([at * (axis == one) for axis in range(whole.ndim)])[one]
         for at in range(extent)]
        for one, extent in enumerate(distribution.shape)
    ]  # fmt: skip
    return whole[np.ix_(*along)]


class Writer:
    """A file of two arrays, and what this rank writes into each step.

    The extents of shards may follow the codec of the first one, as in "zstd:3/14x32x10".
    """

    def __init__(
        self,
        session: weir.Session,
        path: Path,
        file_format: str,
        codec: str | None = None,
        **options,
    ) -> None:
        self.session = session
        self.blocks = session.distribution(SHAPE, "BLOCK,BLOCK,BLOCK")
        self.turns = session.distribution((COUNTS,), "CYCLIC(2)")
        self.file = session.create_file(str(path), format=file_format, **options)
        codec, _, shards = (codec or "").partition("/")
        layout: dict[str, object] = {"codec": codec or None}
        if shards:
            layout["shards"] = tuple(map(int, shards.split("x")))
        if file_format == "zarr" or codec:
            layout["chunks"] = (7, 16, 5)
        self.density = self.file.define("density", SHAPE, "float64", steps=True, **layout)
        self.counts = self.file.define("counts", (COUNTS,), "int32", steps=True)
        self.more = None
        """One more array of the form of `counts`, or None."""

    def write(self, step: int, more_first: bool = False) -> None:
        if self.more and more_first:
            self.put(self.more, self.turns, counts(step))
        self.put(self.density, self.blocks, density(step))
        self.put(self.counts, self.turns, counts(step))
        if self.more and not more_first:
            self.put(self.more, self.turns, counts(step))

    @staticmethod
    def put(array, distribution, whole: np.ndarray) -> None:
        array.write(distribution, part_of(whole, distribution))

    def step(self, step: int) -> None:
        self.file.begin_step()
        self.write(step)
        self.file.end_step()


def path_of(folder: Path, file_format: str, name: str = "out") -> Path:
    return folder / f"{name}.{SUFFIXES[file_format]}"


def put_density(array, distribution, step: int) -> None:
    """Writes an array that has the values of the density, by itself or in a file."""
    Writer.put(array, distribution, density(step))
