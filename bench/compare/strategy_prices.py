"""Prices of strategies against their times, and the loss from choosing by price.

usage: strategy_prices.py [--directory D] [--ranks N] [--nodes LIST] [--rows LIST] [--chunked]
                          [--mebibytes N] [--pairs N] [--platform FILE]

A 3-D array of float64 is distributed BLOCK,BLOCK,BLOCK, in one shared file in the page cache; a row
is what a rank has contiguously in the file. Every strategy writes and reads the same file, in turn,
in an order that changes from round to round; every element that is read is verified, outside the
times. A "node" is a number of consecutive ranks, so that transfers between nodes can be tried on
one host; in that case, give a --platform with half the machine in each node. With --chunked the
file is in 3 x 3 x 3 chunks, which coincide with no rank's part.

Prices are in brackets. The loss by a choice is printed with the spread of the best strategy: its
fastest and its slowest round.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from array_blocks import GRIDS
from programs import AS_ROOT, LAUNCHER, MEBIBYTE

if TYPE_CHECKING:
    from mpi4py import MPI

STRATEGIES = ("direct", "node", "two-phase", "server-directed")
MOST_ROWS = 1 << 18


def shape(ranks: int, row_bytes: int, mebibytes: int) -> tuple[int, int, int]:
    """Return extents of about that size, or of as many rows as can be written singly in seconds."""
    grid = GRIDS[ranks]
    last = grid[2] * row_bytes // 8
    rows = min(mebibytes * MEBIBYTE // row_bytes // grid[2], MOST_ROWS // grid[2])
    second = grid[1]
    while second * second < rows:
        second *= 2
    return (max(rows // second, grid[0]), second, last)


def prices(explained: str) -> tuple[str, dict[str, float]]:
    """Return the choice and the seconds of each strategy from the text that explains a choice."""
    found = {}
    for line in explained.splitlines()[1:]:
        words = line.split()
        if words and words[0] in STRATEGIES:
            found[words[0]] = float(words[2])
    return explained.split(maxsplit=1)[0], found


class Case:
    """One array with one number of nodes, on which all strategies use the same file."""

    def __init__(self, world: MPI.Comm, given: dict[str, Any], row_bytes: int, nodes: int) -> None:
        import numpy as np  # noqa: PLC0415

        import weir  # noqa: PLC0415

        extents = shape(world.size, row_bytes, given["mebibytes"])
        formats = "BLOCK, BLOCK, BLOCK"
        common = {"ranks_per_node": world.size // nodes, "platform": given["platform"]}
        self.world = world
        self.sessions = {
            name: weir.Session(world, strategy=name, **common)
            for name in ("automatic", *STRATEGIES)
        }
        self.held = {
            name: session.distribution(extents, formats, grid=GRIDS[world.size])
            for name, session in self.sessions.items()
        }
        path = str(Path(given["directory"]) / "array")
        chunks = [-(-extent // 3) for extent in extents] if given["chunked"] else None
        first = self.sessions["automatic"]
        self.arrays = {"automatic": first.create(path, extents, "float64", chunks=chunks)}
        for name in STRATEGIES:
            self.arrays[name] = self.sessions[name].open(path)
        self.memory = np.random.default_rng(world.rank).random(self.held["automatic"].shape)
        self.target = np.zeros_like(self.memory)

    def move(self, name: str, direction: str) -> float:
        """Return the seconds from the meeting of all ranks to the end of the last rank."""
        self.world.Barrier()
        began = time.perf_counter()
        if direction == "write":
            self.arrays[name].write(self.held[name], self.memory)
        else:
            self.arrays[name].read(self.held[name], self.target)
        took = time.perf_counter() - began
        if direction == "read" and not (self.target == self.memory).all():
            message = f"{name}: other elements were read than were written"
            raise RuntimeError(message)
        self.target[...] = 0
        return float(max(self.world.allgather(took)))

    def measured(self, pairs: int) -> dict[str, Any]:
        result = {}
        for direction in ("write", "read"):
            whole = (self.arrays["automatic"], self.held["automatic"], self.memory)
            self.move("automatic", direction)
            choice, priced = prices(self.sessions["automatic"].explain(direction, [whole]))
            seconds: dict[str, list[float]] = {name: [] for name in STRATEGIES}
            order = list(STRATEGIES)
            dice = random.Random(1)
            for repetition in range(pairs + 1):
                dice.shuffle(order)
                for name in order:
                    took = self.move(name, direction)
                    if repetition > 0:
                        seconds[name].append(took)
            result[direction] = {"choice": choice, "prices": priced, "seconds": seconds}
        return result

    def close(self) -> None:
        for session in self.sessions.values():
            session.close()


def work(given: dict[str, Any]) -> None:
    """Run all cases on every rank; rank 0 prints a line for each."""
    from mpi4py import MPI  # noqa: PLC0415

    world = MPI.COMM_WORLD
    for nodes in given["nodes"]:
        for row_bytes in given["rows"]:
            case = Case(world, given, row_bytes, nodes)
            result = case.measured(given["pairs"])
            case.close()
            if world.rank == 0:
                print(json.dumps({"nodes": nodes, "row_bytes": row_bytes, **result}), flush=True)


def show(case: dict[str, Any]) -> None:
    for direction in ("write", "read"):
        found = case[direction]
        taken = {name: statistics.median(all_) for name, all_ in found["seconds"].items()}
        best = min(taken, key=lambda name: taken[name])
        columns = [
            f"{name} {1e3 * taken[name]:.0f} ({1e3 * found['prices'].get(name, float('nan')):.0f})"
            for name in STRATEGIES
        ]
        lost = taken[found["choice"]] / taken[best] - 1
        rounds = found["seconds"][best]
        print(
            f"{case['nodes']} node(s), rows of {case['row_bytes']:>7} B, {direction:<5} ms: "
            f"{', '.join(columns)}; {found['choice']} is chosen, {best} is best: "
            f"{100 * lost:+.0f} % [{100 * (min(rounds) / taken[best] - 1):+.0f}, "
            f"{100 * (max(rounds) / taken[best] - 1):+.0f}]",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--directory", type=Path, default=Path.cwd())
    parser.add_argument("--ranks", type=int, choices=sorted(GRIDS), default=8)
    parser.add_argument("--nodes", default="1,2")
    parser.add_argument("--rows", default="64,512,2048,8192,16384,65536,1048576")
    parser.add_argument("--chunked", action="store_true")
    parser.add_argument("--mebibytes", type=int, default=64, help="of the array")
    parser.add_argument("--pairs", type=int, default=5, help="rounds that count")
    parser.add_argument("--platform", default="", help="a description; none: the estimates")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker is not None:
        work(json.loads(given.worker))
        return
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as folder:
        task = {
            "directory": folder,
            "nodes": [int(word) for word in given.nodes.split(",")],
            "rows": [int(word) for word in given.rows.split(",")],
            "chunked": given.chunked,
            "mebibytes": given.mebibytes,
            "pairs": given.pairs,
            "platform": given.platform and str(Path(given.platform).resolve()),
        }
        command = [*LAUNCHER, "-n", str(given.ranks), sys.executable, __file__]
        with subprocess.Popen(
            [*command, "--worker", json.dumps(task)],
            env={**os.environ, **AS_ROOT},
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                show(json.loads(line))
        if process.returncode != 0:
            sys.exit(process.returncode)


if __name__ == "__main__":
    main()
