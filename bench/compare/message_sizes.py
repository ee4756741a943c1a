"""Messages of 2 KiB to 4 MiB a rank that are dropped: measured and simulated rates side by side.

usage: message_sizes.py [--ranks LIST] [--sizes LEVELS] [--hosts N] [--link MBIT] [--rounds N]
                        [--repetitions N] [--iterations N] [--probe-seconds S] [--directory D]

`weir-bench sink` sends messages of contiguous bytes by POSIX calls, collective MPI-IO, and Weir's
direct, two-phase and server-directed; `weir-bench array` with the engine null does a write of
columns, whose rows have elements of all ranks, by Weir's three strategies. Jobs take turns. On the
cores of this machine, or with --hosts (as root; see docs/testbed.md) on hosts of the test bed.

The simulation is `weir sim` at the level of plans, on a description that is measured first:

    links, messages            `weir platform probe` on the same ranks
    copies                     the source capacity of sink, for each size: how fast all ranks copy
                               such a message in their own memory, by no route
    calls                      what messages of few bytes take in the same jobs, less what the
                               simulation has of their bytes and messages

These messages have one byte, or one in each row, and with aggregators a page for each of them. If
such a size is in the table, its row is marked and not counted. Nothing is fitted to other rows.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from array_jobs import Job, run_job
from message_simulation import BUFFER_BYTES, conditions, rows_of
from message_ways import (
    HEADING,
    ROUTES,
    ROWS,
    WAYS,
    WEIR_ROUTES,
    Measured,
    Place,
    Route,
    Row,
    Way,
    array_shape,
    summary,
)
from programs import CLONE, LAUNCHER, MEBIBYTE, ended, options, records_of, run

from weir.campaign.levels import LevelError, read_levels
from weir.results.platform import Platform
from weir.results.platform_file import load_platform
from weir.results.quantities import size_text

TESTBED = str(CLONE / "tools/testbed/testbed")
WEIR = str(CLONE / ".venv/bin/weir")
RANK_BYTES = 64 * MEBIBYTE
"""Most bytes that a rank sends in a repetition by a route that copies them."""
SECONDS = 300.0
CORES = len(os.sched_getaffinity(0))


def iterations_of(given: int, place: Place) -> int:
    """Returns fewer messages where more ranks share the processors, and where votes cross links."""
    return max(100, 2 * given // place.ranks // (4 if place.hosts > 1 else 1))


def sink_command(
    given: argparse.Namespace, place: Place, routes: Sequence[Route], output: Path
) -> list[str]:
    """Returns the command of one job, whose routes differ in their interface only."""
    by_mpi_io = any(route.api == "mpiio" for route in routes)
    aggregators = place.aggregators * (place.hosts if by_mpi_io else 1)
    strategy = [route.strategy for route in routes if route.api == "weir"]
    most = RANK_BYTES if any(route.copies for route in routes) else 0
    ways = [way for way in WAYS if way.workload == "sink" and way.route in routes]
    sizes = ",".join(map(str, sorted({*given.sizes, *(way.least(place) for way in ways)})))
    return [
        *place.launcher,
        *("--mca", "io", "ompio", "-x", "WEIR_BUFFER_BYTES", "-n", str(place.ranks)),
        *(str(given.weir_bench), "sink", "--api", ",".join(route.api for route in routes)),
        *(["--strategy", strategy[0]] if strategy else []),
        *("--message-bytes", sizes, "--iterations", str(iterations_of(given.iterations, place))),
        *("--rank-bytes", str(most), "--aggregators", str(aggregators), "--no-verify"),
        *("--warmups", "1", "--repetitions", str(given.repetitions)),
        *("--max-repetitions", str(given.repetitions), "--time-limit", str(SECONDS)),
        *("--directory", str(place.directory), "--output", str(output)),
    ]


def measure_sink(
    given: argparse.Namespace, place: Place, routes: Sequence[Route], measured: Measured
) -> None:
    """Adds what one job of sink finds."""
    name = " and ".join(route.name for route in routes)
    with tempfile.TemporaryDirectory(dir=place.directory, prefix="sizes-") as folder:
        output = Path(folder) / "run"
        command = sink_command(given, place, routes, output)
        try:
            done = ended(command, {"WEIR_BUFFER_BYTES": str(BUFFER_BYTES)}, SECONDS)
        except subprocess.TimeoutExpired:
            sys.exit(f"sink by {name}: nothing within {SECONDS:.0f} s: give fewer --iterations")
        if done.returncode != 0:
            complaint = next(iter(done.stderr.strip().splitlines()), "failed")
            sys.exit(f"sink by {name}: {complaint}")
        measured.add_sink(records_of(output), routes)


def measure_array(given: argparse.Namespace, place: Place, way: Way, size: int) -> list[float]:
    """Returns the times of writes of an array of which each rank has `size` bytes."""
    rates = run_job(
        Job(
            weir_bench=given.weir_bench,
            directory=place.directory,
            ranks=place.ranks,
            apis=["weir"],
            arguments=[
                *("--shape", array_shape(place, size), "--type", "uint8"),
                *("--distribution", "*,BLOCK", "--write", "--engine", "null", "--no-verify"),
                *("--strategy", way.route.strategy, "--aggregators", str(place.aggregators)),
                *("--buffer", str(BUFFER_BYTES)),
            ],
            repetitions=given.array_repetitions,
            implementation="OMPIO",
            seconds=SECONDS,
            launcher=place.launcher,
            peak=False,
        )
    )
    if isinstance(rates, str):
        sys.exit(f"array by {way.route.name}, {size_text(size)} a rank: {rates}")
    return [place.ranks * size / rate for rate in rates["weir"]["write"].values]


def measure(given: argparse.Namespace, place: Place) -> Measured:
    """Returns what all ways and sizes take, whose jobs take turns."""
    measured = Measured()
    jobs: list[tuple[Route, ...]] = [ROUTES[:2], *((route,) for route in WEIR_ROUTES)]
    for number in range(given.rounds):
        for routes in jobs:
            measure_sink(given, place, routes, measured)
        of_array = [way for way in WAYS if way.workload == "array"]
        for size in sorted({*given.sizes, *(way.least(place) for way in of_array)}):
            for way in of_array:
                if size in given.sizes or size == way.least(place):
                    measured.add(way, size, measure_array(given, place, way, size))
        told = f"{place.name}, {place.ranks} ranks: round {number + 1} of {given.rounds} has ended"
        print(told, file=sys.stderr, flush=True)
    return measured


def probe(given: argparse.Namespace, place: Place) -> Platform:
    with tempfile.TemporaryDirectory(dir=place.directory, prefix="probe-") as folder:
        output = Path(folder) / "here.toml"
        run(
            [
                *(WEIR, "platform", "probe", "-n", str(place.ranks)),
                *("--launcher", shlex.join(place.launcher), "--directory", folder),
                *("--seconds", str(given.probe_seconds), "--output", str(output)),
            ]
        )
        return load_platform(output)


def compare(given: argparse.Namespace, places: Sequence[Place]) -> list[Row]:
    rows = []
    for place in places:
        probed = probe(given, place)
        measured = measure(given, place)
        rows += rows_of(measured, probed, place, given.sizes)
        print("\n".join(conditions(probed, place, measured)), flush=True)
    return rows


def on_hosts(given: argparse.Namespace, directory: Path) -> list[Row]:
    run([TESTBED, "hosts", "up", "--count", str(given.hosts), "--link", f"{given.link}mbit"])
    try:
        places = []
        for ranks in given.ranks:
            launcher = shlex.split(run([TESTBED, "hosts", "launcher", "-n", str(ranks)]))
            places.append(Place("hosts", ranks, given.hosts, launcher, 1, directory, CORES))
        return compare(given, places)
    finally:
        run([TESTBED, "hosts", "down", "--kill"])


def sizes_in(text: str) -> list[int]:
    """Returns the bytes of a rank, which the rows of the array divide."""
    try:
        sizes = read_levels(text)
    except LevelError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not all(isinstance(one, int) and one > ROWS and one % ROWS == 0 for one in sizes):
        raise argparse.ArgumentTypeError(f"give multiples of {ROWS} bytes above {ROWS}")
    return [int(one) for one in sizes]


def ranks_in(text: str) -> list[int]:
    if not all(one.isdecimal() and int(one) > 1 for one in text.split(",")):
        raise argparse.ArgumentTypeError("give numbers of ranks from 2 on, such as 2,4")
    return [int(one) for one in text.split(",")]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--ranks", type=ranks_in, help="of a job  [2, or 2 on each host]")
    parser.add_argument("--sizes", type=sizes_in, default="2k:4m:*2", help="bytes of a rank")
    parser.add_argument("--hosts", type=int, default=1, help="of the test bed; 1: the cores here")
    parser.add_argument("--link", type=int, default=100, metavar="MBIT", help="of a host, each way")
    parser.add_argument("--rounds", type=int, default=1, help="jobs of each way")
    parser.add_argument("--repetitions", type=int, default=3, help="of a job of sink")
    parser.add_argument("--array-repetitions", type=int, default=15, help="of a job of array")
    parser.add_argument("--iterations", type=int, default=4000, help="messages of 2 ranks")
    parser.add_argument("--probe-seconds", type=float, default=10.0, help="for the description")
    parser.add_argument("--weir-bench", type=Path, default=CLONE / "build/release/bench/weir-bench")
    parser.add_argument("--directory", type=Path, default=Path("/dev/shm"), help="in memory")
    given = parser.parse_args()
    given.ranks = given.ranks or [2 * given.hosts]
    if any(ranks % given.hosts for ranks in given.ranks):
        parser.error("--ranks are multiples of --hosts")
    # A script that is ended takes its ranks, files and hosts away, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("message_sizes.py was ended by a signal"))
    if given.hosts > 1:
        rows = on_hosts(given, given.directory)
    else:
        rows = compare(
            given, [Place("cores", n, 1, LAUNCHER, 2, given.directory, CORES) for n in given.ranks]
        )
    print("\n".join(["", HEADING, *(row.line for row in rows), "", *summary(rows)]))


if __name__ == "__main__":
    main()
