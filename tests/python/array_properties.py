"""Random requests against NumPy: array_properties.py FOLDER SEED CASES, on the ranks of a launcher.

Each case draws an array, how files and ranks hold it, a section and a way of moving it; writes the
whole of it and then the section with other values, under another distribution, and reads both back
under a third. Every element is compared with the same assignments to a NumPy array. Each rank draws
the same cases, but for how its own memory lies. A case that fails is named by seed and number:
`array_properties.py FOLDER SEED 1 NUMBER` makes that one again.
"""

from __future__ import annotations

import itertools
import random
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from mpi4py import MPI

import weir
from weir._core.session import STRATEGIES

COMM = MPI.COMM_WORLD
TYPES = ["int8", "uint16", "float32", "int64", "complex128", "bool", "float16"]


@dataclass
class Held:
    """What this rank holds under a distribution: per piece the indices along each dimension."""

    distribution: weir.Distribution
    pieces: list[tuple[np.ndarray, ...]]


def indices_of(distributed: weir.Distribution, piece: int) -> tuple[np.ndarray, ...]:
    extents = distributed.piece_shape(piece)
    if min(extents) == 0:  # no element has an index; the extents remain
        return tuple(np.zeros(extent, dtype=int) for extent in extents)
    along = []
    for d, extent in enumerate(extents):
        local = [0] * len(extents)
        found = []
        for i in range(extent):
            local[d] = i
            found.append(distributed.global_index(local, piece)[d])
        along.append(np.array(found, dtype=int))
    return tuple(along)


def by_formats(draw: random.Random, session: weir.Session, shape: tuple[int, ...]) -> Held:
    words = []
    for _ in shape:
        size = draw.randint(1, 4)
        words.append(draw.choice(["*", "BLOCK", "CYCLIC", f"CYCLIC({size})"]))
    order: Literal["C", "F"] = "C" if draw.random() < 0.5 else "F"
    distributed = session.distribution(shape, ", ".join(words), grid_order=order)
    return Held(distributed, [indices_of(distributed, 0)])


def by_boxes(
    draw: random.Random,
    session: weir.Session,
    shape: tuple[int, ...],
    communicator: MPI.Comm = COMM,
) -> Held:
    """Boxes between random cuts along every dimension, distributed at random; some are nobody's."""
    cuts = [sorted({0, extent, *draw.sample(range(extent), min(2, extent))}) for extent in shape]
    boxes: list[tuple[list[int], list[int]]] = [([], [])]
    for ends in cuts:
        boxes = [
            ([*low, begin], [*extents, end - begin])
            for low, extents in boxes
            for begin, end in itertools.pairwise(ends)
        ]
    owners = communicator.size + 1
    mine = [box for box in boxes if draw.randrange(owners) == communicator.rank]
    if draw.random() < 0.3:
        mine.append(([0] * len(shape), [0] * len(shape)))  # empty
    distributed = session.distribution_from_boxes(shape, mine)
    return Held(
        distributed, [indices_of(distributed, piece) for piece in range(distributed.pieces)]
    )


def drawn_distribution(
    draw: random.Random,
    session: weir.Session,
    shape: tuple[int, ...],
    communicator: MPI.Comm = COMM,
) -> Held:
    if draw.random() < 0.3:
        return by_boxes(draw, session, shape, communicator)
    return by_formats(draw, session, shape)


def drawn_section(draw: random.Random, shape: tuple[int, ...]) -> tuple[slice, ...]:
    cuts = []
    for extent in shape:
        begin = draw.randint(0, extent)
        cuts.append(slice(begin, draw.randint(begin, extent), draw.choice([1, 1, 2, 3])))
    return tuple(cuts)


def drawn_memory(own: random.Random, values: list[np.ndarray]) -> list[np.ndarray]:
    """Lays values out in some order; one piece alone may have strides and ghost cells, too."""
    laid = []
    for piece in values:
        way = own.choice(["C", "F", "reversed", "ghosts"]) if len(values) == 1 else "C"
        if way == "C" or piece.size == 0:
            laid.append(np.ascontiguousarray(piece))
        elif way == "F":
            laid.append(np.asfortranarray(piece))
        elif way == "reversed":
            turned = (slice(None, None, -1),) * piece.ndim
            laid.append(np.ascontiguousarray(piece[turned])[turned])
        else:
            around = np.zeros(tuple(extent + 3 for extent in piece.shape), piece.dtype)
            inside = around[(slice(1, -2),) * piece.ndim]
            inside[...] = piece
            laid.append(inside)
    return laid


def drawn_layout(
    draw: random.Random, session: weir.Session, shape: tuple[int, ...]
) -> dict[str, Any]:
    layout: dict[str, Any] = {"order": draw.choice(["C", "F"])}
    kind = draw.choice(["contiguous", "chunks", "natural", "typical"])
    extents = tuple(draw.randint(1, max(1, extent)) for extent in shape)
    if kind == "chunks":
        layout["chunks"] = extents
    elif kind == "natural":
        layout["natural_chunks"] = by_formats(draw, session, shape).distribution
    elif kind == "typical":
        layout |= {"typical_request": extents, "chunk_buffer_bytes": 256, "chunk_block_bytes": 16}
    if kind != "contiguous":
        layout["files"] = draw.choice(["shared", "per aggregator", "per rank"])
    return layout


def drawn_session(draw: random.Random) -> dict[str, Any]:
    return {
        "strategy": draw.choice(["automatic", *STRATEGIES.values()]),
        "aggregators": draw.choice([0, 1, 2, 3]),
        "buffer_bytes": draw.choice([0, 16, 40, 100, 1000]),
        "buffers": draw.choice([0, 2, 3]),
        "ranks_per_node": draw.choice([0, 0, 1, 2, 3]),
        "io_groups": draw.choice([None, "", "1", "2"]),
        "aggregator_placement": draw.choice([None, "spread", "nearest", "first", "priced"]),
        "deadline_seconds": 30,
    }


def parts(whole: np.ndarray, held: Held) -> list[np.ndarray]:
    return [whole[np.ix_(*piece)] for piece in held.pieces]


def drawn_values(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    return rng.integers(1, 100, shape).astype(kind)


def holders(held: Held, shape: tuple[int, ...], communicator: MPI.Comm = COMM) -> np.ndarray:
    """Whether any rank holds each of the elements."""
    mine = np.zeros(shape, dtype=np.uint8)
    for piece in held.pieces:
        mine[np.ix_(*piece)] = 1
    everyone = np.zeros_like(mine)
    communicator.Allreduce(mine, everyone, MPI.MAX)
    return everyone.astype(bool)


def one_case(folder: Path, seed: int, number: int) -> None:
    draw = random.Random(f"{seed} {number}")
    own = random.Random(f"{seed} {number} {COMM.rank}")
    rng = np.random.default_rng([seed, number])
    shape = tuple(draw.randint(1, 9) for _ in range(draw.choice([1, 2, 2, 3, 3, 4, 5])))
    kind = draw.choice(TYPES)
    settings = drawn_session(draw)
    with weir.Session(COMM, **settings) as session:
        layout = drawn_layout(draw, session, shape)
        array = session.create(str(folder / "array"), shape, kind, **layout)
        expected = np.zeros(shape, kind)

        def write(section: tuple[slice, ...]) -> None:
            held = drawn_distribution(draw, session, shape)
            values = drawn_values(rng, shape, kind)
            memory = drawn_memory(own, parts(values, held))
            array.write(held.distribution, memory[0] if len(memory) == 1 else memory, section)
            asked = np.zeros(shape, dtype=bool)
            asked[section] = True
            changed = asked & holders(held, shape)
            expected[changed] = values[changed]

        def read(section: tuple[slice, ...]) -> None:
            held = drawn_distribution(draw, session, shape)
            before = drawn_values(rng, shape, kind)
            memory = drawn_memory(own, parts(before, held))
            array.read(held.distribution, memory[0] if len(memory) == 1 else memory, section)
            found = before.copy()
            found[section] = expected[section]
            for got, wanted in zip(memory, parts(found, held), strict=True):
                np.testing.assert_array_equal(got, wanted, err_msg=f"{settings} {layout} {shape}")

        write((slice(None),) * len(shape))
        read((slice(None),) * len(shape))
        section = drawn_section(draw, shape)
        write(section)
        read((slice(None),) * len(shape))
        read(drawn_section(draw, shape))
        array.close()
        if len(layout) == 1 and COMM.rank == 0:
            stored = np.fromfile(folder / "array", kind).reshape(shape, order=layout["order"])
            np.testing.assert_array_equal(stored, expected)


def main(case: Callable[[Path, int, int], None]) -> None:
    folder, seed, cases = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    for number in range(first, first + cases):
        try:
            case(folder, seed, number)
        except BaseException:
            sys.stderr.write(f"case {number} of seed {seed}, rank {COMM.rank} of {COMM.size}:\n")
            traceback.print_exc()
            sys.stderr.flush()
            COMM.Abort(1)
    if COMM.rank == 0:
        sys.stdout.write(f"{cases} cases of seed {seed} passed\n")


if __name__ == "__main__":
    main(one_case)
