"""Ranks that write files of unusual names and forms: parts of staged_ranks.py."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from own_stager import given_staging
from staged_writer import path_of

import weir

NAMES = ("with some spaces", "a\nline", "[red]", "%s{}", "-rf", "caf\udce9", "longest" * 50)
"""One has bytes that are no UTF-8. The last one is as long as names of staged files may be: their
checksums have the longest name while the file is being made."""
LONGEST_NAME = 255 - len(".incomplete.sums")


def unusual_names(comm, folder: Path, file_format: str, suffix: str) -> None:
    with weir.Session(comm, staging=given_staging()) as session:
        for name in NAMES:
            path = folder / (name[: LONGEST_NAME - len(suffix)] + suffix)
            file = session.create_file(str(path), format=file_format)
            part = session.distribution((4 * comm.size,), "BLOCK")
            array = file.define("a", (4 * comm.size,), "float64", steps=True)
            for step in range(2):
                file.begin_step()
                array.write(part, np.full(part.shape, float(step)))
                file.end_step()
            file.wait_for_step(60)
            file.close()
            if comm.rank == 0:
                with weir.open(path) as stored:
                    assert (stored["a"][1] == 1).all()
            comm.Barrier()
            with session.open_file(str(path)) as again:
                assert again.steps == 2
    if comm.rank == 0:
        left = [one for one in folder.iterdir() if one.name.endswith(suffix)]
        sys.stdout.write(f"{len(left)} files\n")


def few_elements(comm, folder: Path, file_format: str, *codec: str) -> None:
    """Writes arrays without elements, and arrays of which some ranks have none."""
    with weir.Session(comm, staging=given_staging()) as session:
        file = session.create_file(str(path_of(folder, file_format)), format=file_format)
        arrays = []
        for number, shape in enumerate(((0,), (4, 0, 3), (1,), (comm.size - 1, 2), (1,) * 15)):
            chunks = tuple(max(1, extent) for extent in shape)
            layout = {"codec": codec[0], "chunks": chunks} if codec else {}
            part = session.distribution(shape, ",".join(["BLOCK", *"*" * (len(shape) - 1)]))
            arrays.append((file.define(f"a{number}", shape, "float64", steps=True, **layout), part))
        for step in range(2):
            file.begin_step()
            for array, part in arrays:
                array.write(part, np.full(part.shape, float(step)))
            file.end_step()
        for array, part in arrays:
            assert (array.read(part) == 1).all()
        file.close()
