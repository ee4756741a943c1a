"""Cuts an array into parts that are read and written at once.

No two tiles share a chunk of the target, so threads can write them concurrently. Within the memory
limit a tile covers whole chunks of the source, which would otherwise be read, and perhaps decoded,
several times.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Tile:
    """A box of an array."""

    start: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def key(self) -> tuple[slice, ...]:
        """The box as a NumPy index."""
        return tuple(
            slice(start, start + extent)
            for start, extent in zip(self.start, self.shape, strict=True)
        )


def tile_shape(
    shape: Sequence[int],
    element_bytes: int,
    unit: Sequence[int] | None,
    source_chunks: Sequence[int] | None,
    most_bytes: int,
) -> tuple[int, ...]:
    """Returns the extents of a tile in elements: multiples of `unit`.

    `unit` is the extent of the target's chunks or shards, or None if it is not chunked. A tile has
    at most `most_bytes`, or one unit if that is more.
    """
    step = [
        max(1, min(n, extent)) for n, extent in zip(unit or [1] * len(shape), shape, strict=True)
    ]
    tile = list(step)

    def fits(dimension: int, extent: int) -> bool:
        others = math.prod(tile[:dimension]) * math.prod(tile[dimension + 1 :])
        return others * extent * element_bytes <= most_bytes

    for d in reversed(range(len(shape))):
        wanted = max(source_chunks[d], tile[d]) if source_chunks else tile[d]
        wanted = min(-(-wanted // step[d]) * step[d], -(-shape[d] // step[d]) * step[d])
        if fits(d, wanted):
            tile[d] = max(tile[d], wanted)
    for d in reversed(range(len(shape))):
        others = math.prod(tile[:d]) * math.prod(tile[d + 1 :]) * element_bytes
        units = most_bytes // (others * step[d])
        tile[d] = max(tile[d], min(units * step[d], -(-shape[d] // step[d]) * step[d]))
        if tile[d] < shape[d]:
            break
    return tuple(min(n, extent) for n, extent in zip(tile, shape, strict=True))


def tiles(shape: Sequence[int], tile: Sequence[int]) -> Iterator[Tile]:
    """Yields the tiles of an array in row-major order; none if the array has no element."""
    if 0 in shape:
        return
    starts = (range(0, extent, n) for extent, n in zip(shape, tile, strict=True))
    for start in itertools.product(*starts):
        yield Tile(
            start,
            tuple(min(n, extent - at) for n, extent, at in zip(tile, shape, start, strict=True)),
        )
