"""Disk Resident Arrays (of Global Arrays) and Weir: a whole array and sections, written and read.

usage: array_dra.py [--directory D] [--ranks LIST] [--extent N] [--pairs N] [--hints LIST]
                    [--chunks LIST] [--sync none,step] [--strategy S] [--program DRA]

Both move the same square array of float64 from the same memory, in one job, in alternating order
(bench/compare/dra/dra.c). With --sync step the files of both sides are synced within the time of a
write; with none, both leave them to the page cache. --hints sets the requests for which DRA is
prepared: half of each dimension, like the sections ("half"), or unspecified ("none"). --chunks
sets the extents of Weir's chunks, in a file for each aggregator; 0 selects one file, row by row.
Ratios are DRA's time over Weir's, pair by pair; every element that is read is compared.
"""

from __future__ import annotations

import itertools
import shutil
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path

from programs import CLONE, LAUNCHER, arguments, run
from values import ratios, reached

GOAL = 2.0
EDGE = 256
"""Aligned sections begin and end at multiples of it."""

Pairs = dict[str, list[tuple[float, float]]]
"""By direction and part: seconds of DRA and of Weir, pair by pair."""


def run_job(
    program: Path,
    directory: Path,
    ranks: int,
    extent: int,
    pairs: int,
    sync: int,
    hint: int,
    chunk: int,
    strategy: str,
) -> Pairs:
    """Run one job in a separate folder."""
    folder = Path(tempfile.mkdtemp(prefix="array-dra-", dir=directory))
    settings = [*(str(n) for n in (extent, pairs, sync, hint, chunk)), strategy]
    try:
        told = run([*LAUNCHER, "-n", str(ranks), str(program), str(folder), *settings])
    finally:
        shutil.rmtree(folder)
    found: Pairs = defaultdict(list)
    for line in told.splitlines():
        direction, part, dra, weir = line.split()
        found[f"{part} {direction}"].append((float(dra), float(weir)))
    return found


def line(name: str, times: list[tuple[float, float]]) -> str:
    """Return the medians in ms, and the ratios."""
    dra, weir = zip(*times, strict=True)
    found = ratios(dra, weir)
    return (
        f"{name:<16} {statistics.median(dra) * 1e3:>9.1f} {statistics.median(weir) * 1e3:>9.1f}"
        f"   {found.text('6.2f')}  {reached(found.median >= GOAL)}"
    )


def main() -> None:
    parser = arguments(__doc__, ranks="4")
    parser.add_argument("--extent", type=int, default=4096, help="of both dimensions")
    parser.add_argument("--hints", default="none,half")
    parser.add_argument("--chunks", default="0,512")
    parser.add_argument("--sync", default="none,step")
    parser.add_argument("--strategy", default="automatic", help="of Weir's session")
    parser.add_argument(
        "--program", type=Path, default=CLONE / "build/release/bench/compare/dra/dra"
    )
    given = parser.parse_args()
    if not given.program.exists():
        parser.error(f"{given.program} is not built: it needs Global Arrays for Open MPI")
    hints = {"none": 0, "half": given.extent // 2 // EDGE * EDGE}
    for ranks, sync, hint, chunk in itertools.product(
        given.ranks.split(","), given.sync.split(","), given.hints.split(","),
        given.chunks.split(","),
    ):  # fmt: skip
        print(
            f"\n{ranks} ranks, {given.extent} x {given.extent} float64, sync {sync}; "
            f"DRA's hint {hints[hint]}, Weir's chunks {chunk}"
        )
        print(f"{'':<16} {'DRA ms':>9} {'Weir ms':>9}   ratio; the goal is {GOAL:g}")
        found = run_job(
            given.program, given.directory, int(ranks), given.extent, given.pairs,
            {"none": 0, "step": 1}[sync], hints[hint], int(chunk),
            given.strategy,
        )  # fmt: skip
        for name, times in found.items():
            print(line(name, times), flush=True)


if __name__ == "__main__":
    main()
