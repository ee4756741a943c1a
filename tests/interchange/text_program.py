"""Texts written and read collectively: test_text.py runs it on several ranks.

python text_program.py write FOLDER
    writes a file of each format with the arrays of text_values: one value of each, steps, and in
    encoded chunks
python text_program.py read FOLDER
    reads the arrays of text of every file of FOLDER whose values lie beside it in FILE.npz, each
    under several distributions, and prints "N arrays of FILE" when all were right
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from parts_of_ranks import distribution, part_of
from text_values import CODECS, NOTES, SHAPE, STEPS, SUFFIXES, TITLE, texts, types_of

import weir


def write_part(session: weir.Session, array: Any, values: np.ndarray[Any, Any], turn: int) -> None:
    distributed = distribution(session, values.shape, turn)
    part = part_of(distributed, values)
    array.write(distributed, [] if part is None else part)


def write(session: weir.Session, path: Path, file_format: str) -> None:
    with session.create_file(str(path), format=file_format) as file:
        file.set_attribute("title", TITLE)
        file.set_attribute("nothing", "")
        if not file_format.startswith("cdf"):
            file.set_attribute("notes", NOTES)
        arrays = {}
        for dtype in types_of(file_format):
            arrays[f"{dtype}_once"] = file.define(f"{dtype}_once", SHAPE, np.dtype(dtype))
            arrays[f"{dtype}_steps"] = file.define(
                f"{dtype}_steps", SHAPE, np.dtype(dtype), steps=True
            )
            file.set_attribute("long_name", TITLE, owner=f"{dtype}_steps")
            if file_format in CODECS:
                arrays[f"{dtype}_encoded"] = file.define(
                    f"{dtype}_encoded", SHAPE, np.dtype(dtype), steps=True, chunks=(4, 3),
                    codec=CODECS[file_format],
                )  # fmt: skip
        for step in range(STEPS):
            with file.step():
                for turn, (name, array) in enumerate(arrays.items()):
                    dtype, _, kind = name.partition("_")
                    if kind != "once" or step == 0:
                        write_part(session, array, texts(dtype, step), turn + step)


def read(session: weir.Session, path: Path) -> None:
    expected = np.load(f"{path}.npz")
    with session.open_file(str(path), read_only=True) as file:
        for number, name in enumerate(expected.files):
            array = file[name]
            for turn in range(number, number + 4):
                values = expected[name]
                if array.has_steps:
                    file.select_step(turn % len(values))
                    values = values[turn % len(values)]
                distributed = distribution(session, values.shape, turn)
                part = part_of(distributed, values)
                if part is None:
                    array.read(distributed, [])
                    continue
                memory = np.full(part.shape, "?", values.dtype, order="F" if turn % 2 else "C")
                array.read(distributed, memory)
                np.testing.assert_array_equal(memory, part, name)
    if MPI.COMM_WORLD.rank == 0:
        sys.stdout.write(f"{len(expected.files)} arrays of {path.name}\n")


def main() -> None:
    what, folder = sys.argv[1], Path(sys.argv[2])
    with weir.Session(MPI.COMM_WORLD, deadline_seconds=60) as session:
        if what == "write":
            for name, suffix in SUFFIXES.items():
                write(session, folder / f"file.{suffix}", name)
        else:
            for values in sorted(folder.glob("*.npz")):
                read(session, values.with_suffix(""))


main()
