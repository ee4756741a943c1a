"""What staging hides: steps of a file written by the ranks, and by the stager of the node.

usage: staging.py [--directory D] [--ranks N] [--mebibytes N] [--pairs N] [--format NAME]

Every rank holds a block of a 3-D array of float64. In each pair one step is written by the ranks
and one is handed to a stager, in alternating order. In runs, computing that takes about as long as
storing a step follows each step: always the same operations, so that processor time that a stager
takes makes it longer. A stager of this script's own is used. Both files are verified at the end.

observed    bytes of a step over the time for which the program was blocked in begin, write and end
storage     bytes of a step over the time from its beginning until it is durable
hand-over   bytes over the time of write and end alone, against all ranks copying as much in memory
run         wall time of all steps with computing, against computing alone
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from interleaved import Compared
from programs import DEADLINE_SECONDS, LAUNCHER, MEBIBYTE, options, run
from stagers import on_this_node

SUFFIXES = {"hdf5": "h5", "cdf5": "nc", "zarr": "zarr", "raw": "raw"}
Seconds = dict[str, list[float]]
SAMPLE = 100_000
"""Operations by which the speed of computing is found."""


def compute(operations: int) -> None:
    """Keep the processor busy, in its own registers and caches."""
    value = 1
    for number in range(operations):
        value = (value * 31 + number) & 0xFFFF


def work(given: argparse.Namespace) -> None:
    """Write the steps on every rank; rank 0 prints the seconds of each as JSON."""
    import numpy as np  # noqa: PLC0415
    from mpi4py import MPI  # noqa: PLC0415

    import weir  # noqa: PLC0415

    world = MPI.COMM_WORLD
    side = round((given.mebibytes * MEBIBYTE / 8) ** (1 / 3) / 4) * 4
    shape = (side, side, side)
    found: Seconds = {}

    def timed(name: str, act: Callable[[], None]) -> float:
        """Add the time of the slowest rank, from a barrier on."""
        world.Barrier()
        began = time.perf_counter()
        act()
        seconds = float(world.allreduce(time.perf_counter() - began, MPI.MAX))
        found.setdefault(name, []).append(seconds)
        return seconds

    class Way:
        """A session and a file, written by the ranks or by a stager."""

        def __init__(self, staging: str) -> None:
            self.name = staging
            self.path = given.directory / f"weir-{staging}.{SUFFIXES[given.format]}"
            self.session = weir.Session(world, staging=staging)
            self.blocks = self.session.distribution(shape, "BLOCK,BLOCK,BLOCK")
            self.file = self.session.create_file(str(self.path), format=given.format)
            self.array = self.file.define("a", shape, "float64", steps=True)
            self.mine = np.zeros(self.blocks.shape)
            self.steps = 0

        def step(self, operations: int) -> None:
            self.mine[...] = 1000.0 * self.steps + world.rank
            self.steps += 1
            world.Barrier()
            began = time.perf_counter()
            self.file.begin_step()
            entered = time.perf_counter()
            self.array.write(self.blocks, self.mine)
            self.file.end_step()
            left = time.perf_counter()
            for name, duration in (("blocked", left - began), ("hand-over", left - entered)):
                slowest = world.allreduce(duration, MPI.MAX)
                found.setdefault(f"{self.name} {name}", []).append(slowest)
            compute(operations)

        def run(self, operations: int) -> None:
            for _ in range(given.steps):
                self.step(operations)

        def stored(self) -> None:
            self.step(0)
            self.file.wait_for_step(DEADLINE_SECONDS)

    ways = [Way("none"), Way("node")]
    target = np.empty_like(ways[0].mine)
    for way in ways:  # the first steps make files and touch memory
        timed("warm-up", way.stored)
        timed("warm-up", way.stored)
    for name in list(found):
        found[name].clear()
    storing = max(timed("warm-up", way.stored) for way in ways)
    speed = SAMPLE / min(timed("warm-up", partial(compute, SAMPLE)) for _ in range(3))
    operations = int(storing * speed)
    for name in list(found):
        found[name].clear()
    for pair in range(given.pairs):
        for way in ways if pair % 2 == 0 else reversed(ways):
            timed("copy", lambda: np.copyto(target, ways[0].mine))
            timed(f"{way.name} storage", way.stored)
    for name in [name for name in found if name.endswith(("blocked", "hand-over"))]:
        found[name].clear()
    for pair in range(given.pairs):
        for way in ways if pair % 2 == 0 else reversed(ways):
            timed("computing", partial(compute, operations * given.steps))
            timed(f"{way.name} run", partial(way.run, operations))
            way.file.wait_for_step(DEADLINE_SECONDS)
    for way in ways:
        way.file.close()
        way.session.close()
    world.Barrier()
    if world.rank == 0:
        for way in ways:
            verify(way.path, way.steps, world.size)
        print(json.dumps({"bytes": side**3 * 8, "computing": storing, "seconds": found}))


def verify(path: Path, steps: int, ranks: int) -> None:
    """End the comparison unless the file has these steps."""
    import numpy as np  # noqa: PLC0415

    import weir  # noqa: PLC0415

    with weir.open(path) as file:
        if file.steps != steps:
            sys.exit(f"{path} has {file.steps} steps instead of {steps}")
        values: Any = file["a"]
        for step in range(steps):
            held = np.unique(np.asarray(values[step]))
            if not np.array_equal(held, 1000.0 * step + np.arange(ranks)):
                sys.exit(f"{path}: step {step} is wrong")


def measure(
    directory: Path, ranks: int, mebibytes: int, pairs: int, steps: int, form: str
) -> dict[str, Any]:
    """Return what the ranks have found: the bytes of a step, and seconds by name."""
    with (
        tempfile.TemporaryDirectory(dir=directory, prefix="staging-") as folder,
        on_this_node(Path(folder)) as variables,
    ):
        command = [
            *(*LAUNCHER, "-n", str(ranks), sys.executable, "-m", "mpi4py", __file__, "--work"),
            *("--directory", folder, "--mebibytes", str(mebibytes), "--pairs", str(pairs)),
            *("--steps", str(steps), "--format", form),
        ]
        answer: dict[str, Any] = json.loads(run(command, variables))
    return answer


def tell(answer: Mapping[str, Any], given: argparse.Namespace) -> None:
    seconds: Seconds = answer["seconds"]
    size = float(answer["bytes"])
    print(
        f"{size / MEBIBYTE:.0f} MiB a step, {given.format}, {given.ranks} ranks, computing "
        f"{float(answer['computing']):.3g} s a step"
    )
    print(f"{'':<10} {'staged':>10} {'by ranks':>10} {'':<6} {'ratio':>7}  [smallest, largest]")
    for figure, name in (("blocked", "observed"), ("storage", "storage")):
        taken = [seconds[f"{way} {figure}"] for way in ("node", "none")]
        rates = [[size / MEBIBYTE / one for one in way] for way in taken]
        print(Compared(f"{name:<10}", "MiB/s", *rates).line())
    handed = statistics.median(size / MEBIBYTE / one for one in seconds["node hand-over"])
    copied = statistics.median(size / MEBIBYTE / one for one in seconds["copy"])
    print(f"hand-over  {handed:.4g} MiB/s, {handed / copied:.2f} of copying ({copied:.4g} MiB/s)")
    alone = statistics.median(seconds["computing"])
    for way, name in (("node", "staged"), ("none", "by ranks")):
        whole = statistics.median(seconds[f"{way} run"])
        share = whole / alone
        print(f"run {name:<8} {whole:.3f} s, {share:.3f} of computing alone ({alone:.3f} s)")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--directory", type=Path, default=Path.cwd())
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--mebibytes", type=int, default=128, help="of a step")
    parser.add_argument("--pairs", type=int, default=5, help="counted pairs")
    parser.add_argument("--steps", type=int, default=4, help="steps of a run with computing")
    parser.add_argument("--format", choices=sorted(SUFFIXES), default="hdf5")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given)
        return
    tell(
        measure(
            given.directory, given.ranks, given.mebibytes, given.pairs, given.steps, given.format
        ),
        given,
    )


if __name__ == "__main__":
    main()
