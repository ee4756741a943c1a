"""Distributions of arrays over the ranks of a program, and what a rank has of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

import weir

ALONG = ("BLOCK", "CYCLIC(2)", "*", "CYCLIC(3)", "CYCLIC")
"""How dimensions are distributed, in turn."""


def formats(dimensions: int, turn: int) -> str:
    """A distribution of so many dimensions; another one for each turn."""
    return ", ".join(ALONG[(turn + dimension * 2) % len(ALONG)] for dimension in range(dimensions))


def distribution(session: weir.Session, shape: tuple[int, ...], turn: int) -> weir.Distribution:
    """By formats, or for every fourth turn by boxes: to each rank rows from the last one on."""
    if turn % 4 == 3:
        ranks, rank = MPI.COMM_WORLD.size, MPI.COMM_WORLD.size - 1 - MPI.COMM_WORLD.rank
        first, last = shape[0] * rank // ranks, shape[0] * (rank + 1) // ranks
        boxes = [((first, *[0] * (len(shape) - 1)), (last - first, *shape[1:]))]
        return session.distribution_from_boxes(shape, boxes if last > first else [])
    return session.distribution(shape, formats(len(shape), turn))


def part_of(
    distributed: weir.Distribution, values: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any] | None:
    """What of `values` this rank holds; None when it has no piece."""
    if distributed.pieces == 0:
        return None
    shape = distributed.shape
    if 0 in shape:
        return np.empty(shape, values.dtype)
    along = []
    for dimension, extent in enumerate(shape):
        places = np.zeros((extent, len(shape)), int)
        places[:, dimension] = range(extent)
        along.append([distributed.global_index(place.tolist())[dimension] for place in places])
    return values[np.ix_(*along)]
