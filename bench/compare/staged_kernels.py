"""What stagers reach with the kernels flash and s3d on storage of a set rate, beside their goals.

usage: staged_kernels.py [--only LIST] [--ranks LIST] [--rate RATE] [--rounds N] [--mebibytes N]

This makes a target on the test bed (as root; see docs/testbed.md), and uses a stager of this
script's own. Every element of the kernels' files is read back and compared. For each number of
ranks:

flash, s3d  rates that the program observes: by a stager, HDF5, PnetCDF and MPI-IO in turn, in one
            job; after each output step computing that takes longer than storing it
durable     rates until durable of checkpoints that follow each other without computing: by a
            stager, by the ranks, and of one process that writes as many bytes past the page cache,
            in turn; a job in each round
steps       staging.py: a run of steps with computing, and the hand-over beside the rate of copies
            that `weir-bench probe` finds
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from programs import CLONE, LAUNCHER, MEBIBYTE, options, records_of, run
from staged_goals import (
    HEADING,
    Judged,
    Round,
    copy_rate,
    judge_computing,
    judge_durable,
    judge_hand_over,
    judge_kernel,
    round_of,
)
from stagers import on_this_node
from staging import measure

TESTBED = str(CLONE / "tools/testbed/testbed")
TARGET_SIZE = "8GiB"
"""More than the files of `steps`, which keep all steps, by a stager and by the ranks."""
S3D_STEPS = 8
CHECKPOINTS = 5
"""Of a repetition that measures the rate until durable."""
CELL_BYTES = {"flash": 9.6 * 16**3 * (10 * 8 + 3 * 4), "s3d": 22 * 36 * 22 * 16 * 8}
"""Bytes of a rank in an output step of each kernel, with its usual settings."""
CHECKPOINT_BYTES = 9.6 * 16**3 * 10 * 8
SPARE = 1.3
"""Computing after an output step takes so many times as long as storing it."""
WRITE_BYTES = 4 * MEBIBYTE
STEPS = 3
"""Of a run with computing."""


def kernel_command(
    given: argparse.Namespace, ranks: int, workload: str, folder: Path, words: Sequence[str]
) -> list[str]:
    return [
        *(*LAUNCHER, "-n", str(ranks), str(given.weir_bench), workload, "--staging", "none,node"),
        *("--directory", str(folder), "--output", str(folder / "run"), *words),
    ]


def measure_kernel(given: argparse.Namespace, ranks: int, workload: str) -> list[Judged]:
    other = "hdf5" if workload == "flash" else "mpiio"
    work = SPARE * ranks * CELL_BYTES[workload] / (given.rate * 1e6)
    words = [
        *("--api", f"weir-hdf5,{other},pnetcdf", "--work", f"{work:.3f}", "--warmups", "1"),
        *("--repetitions", str(given.rounds), "--max-repetitions", str(given.rounds)),
        *(["--steps", str(S3D_STEPS)] if workload == "s3d" else []),
    ]
    with own_folder(given) as (folder, variables):
        run(kernel_command(given, ranks, workload, folder, words), variables)
        return judge_kernel(workload, ranks, records_of(folder / "run"))


def measure_durable(given: argparse.Namespace, ranks: int) -> list[Judged]:
    words = [
        *("--api", "weir-hdf5", "--checkpoints", str(CHECKPOINTS), "--plots", "0"),
        *("--warmups", "1", "--repetitions", "1", "--max-repetitions", "1"),
    ]
    size = round(CHECKPOINTS * ranks * CHECKPOINT_BYTES / WRITE_BYTES) * WRITE_BYTES
    rounds: list[Round] = []
    for _ in range(given.rounds):
        with own_folder(given) as (folder, variables):
            peak = plain_rate(folder / "plain", size)
            run(kernel_command(given, ranks, "flash", folder, words), variables)
            rounds.append(round_of(peak, records_of(folder / "run")))
    return judge_durable(ranks, rounds)


def plain_rate(path: Path, size: int) -> float:
    """Return the bytes per second of one process that writes a file past the page cache."""
    with mmap.mmap(-1, WRITE_BYTES) as content:  # begins at a page, as O_DIRECT demands
        content.write(os.urandom(WRITE_BYTES))
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_DIRECT, 0o600)
        try:
            began = time.perf_counter()
            for _ in range(size // WRITE_BYTES):
                if os.write(file, content) != WRITE_BYTES:
                    sys.exit(f"{path}: only a part of {WRITE_BYTES} bytes could be written")
            os.fsync(file)
            seconds = time.perf_counter() - began
        finally:
            os.close(file)
    path.unlink()
    return size / seconds


def measure_steps(given: argparse.Namespace, ranks: int) -> list[Judged]:
    with own_folder(given) as (folder, _):
        output = folder / "probe.json"
        run(
            [
                *(*LAUNCHER, "-n", str(ranks), str(given.weir_bench), "probe"),
                *("--directory", str(folder), "--seconds", str(given.probe_seconds)),
                *("--output", str(output)),
            ]
        )
        copied = copy_rate(json.loads(output.read_text()), ranks)
        found = measure(folder, ranks, given.mebibytes, given.rounds, STEPS, "hdf5")
    return [judge_computing(ranks, found), judge_hand_over(ranks, found, copied)]


@contextmanager
def own_folder(given: argparse.Namespace) -> Iterator[tuple[Path, dict[str, str]]]:
    """Make a folder on the target, and start a stager that ends with the block."""
    with (
        tempfile.TemporaryDirectory(dir=given.directory, prefix="kernels-") as name,
        on_this_node(Path(name)) as variables,
    ):
        yield Path(name), variables


MEASURES: dict[str, Callable[[argparse.Namespace, int], list[Judged]]] = {
    "flash": lambda given, ranks: measure_kernel(given, ranks, "flash"),
    "s3d": lambda given, ranks: measure_kernel(given, ranks, "s3d"),
    "durable": measure_durable,
    "steps": measure_steps,
}


def parts_in(text: str) -> list[str]:
    parts = text.split(",")
    if not set(parts) <= set(MEASURES):
        raise argparse.ArgumentTypeError(f"give some of {', '.join(MEASURES)}")
    return parts


def ranks_in(text: str) -> list[int]:
    if not all(one.isdecimal() and int(one) > 0 for one in text.split(",")):
        raise argparse.ArgumentTypeError("give numbers of ranks, such as 8,16")
    return [int(one) for one in text.split(",")]


def measure_all(given: argparse.Namespace) -> list[Judged]:
    judged = []
    for ranks in given.ranks:
        for part in given.only:
            began = time.monotonic()
            judged += MEASURES[part](given, ranks)
            told = f"{part}, {ranks} ranks: {time.monotonic() - began:.0f} s"
            print(told, file=sys.stderr, flush=True)
    return judged


def on_target(given: argparse.Namespace) -> list[Judged]:
    words = ["--rates", f"{given.rate}MB/s", "--size", TARGET_SIZE, "--json"]
    made: dict[str, Any] = json.loads(run([TESTBED, "targets", "up", *words]))
    try:
        given.directory = Path(made["targets"][0]["directory"])
        return measure_all(given)
    finally:
        run([TESTBED, "targets", "down", "--kill"])


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--only", type=parts_in, default=list(MEASURES), metavar="LIST")
    parser.add_argument("--ranks", type=ranks_in, default="8,16", metavar="LIST")
    parser.add_argument("--rate", type=int, default=200, metavar="MB/S", help="of the target")
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds")
    parser.add_argument("--mebibytes", type=int, default=128, help="of a step of staging.py")
    parser.add_argument("--probe-seconds", type=float, default=12.0, help="for copies")
    parser.add_argument("--weir-bench", type=Path, default=CLONE / "build/release/bench/weir-bench")
    given = parser.parse_args()
    # A script that is ended takes its target, ranks and stagers away, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("staged_kernels.py was ended by a signal"))
    began, load = time.monotonic(), os.getloadavg()[0]
    judged = on_target(given)
    print(
        f"target of {given.rate} MB/s, {given.rounds} rounds, {len(os.sched_getaffinity(0))} "
        f"processors; load {load:.1f} at the beginning; {time.monotonic() - began:.0f} s"
    )
    print("\n".join([HEADING, *(one.line for one in judged)]))
    missed = sum(not one.is_reached for one in judged)
    print(f"{len(judged) - missed} of {len(judged)} goals are reached")


if __name__ == "__main__":
    main()
