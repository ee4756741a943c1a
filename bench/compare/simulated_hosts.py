"""Hosts on two switches with a slow link between them: simulated and measured rates side by side.

usage: simulated_hosts.py [--hosts N] [--ranks N] [--link MBIT] [--between MBIT] [--target MB]
                          [--seconds S] [--rounds N] [--repetitions N] [--directory D]

This creates hosts on the test bed (as root; see docs/testbed.md), half of them on each switch, and
a target of a set rate. An array of float64 is distributed by `*, BLOCK`, so that every row has
elements of all ranks, and weir-bench writes and reads it

    to memory       limited by links: two-phase and server-directed
    to the target   limited by what is slower, links or target: direct as well

each in one I/O group of all hosts, whose data cross the link between the switches, and in a group
for each switch, whose data do not. `weir sim` gets the test bed's own description of the hosts and
the same request. Each array is so large that its transfer takes as many seconds as asked for in
the simulation, which has no cost of a call, of opening a file or of a process that comes late. The
bytes that crossed are counted by the kernel on the link. Jobs take turns.
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from array_jobs import Job, run_job
from programs import CLONE, MEBIBYTE, options, run
from values import Values

TESTBED = str(CLONE / "tools/testbed/testbed")
WEIR = str(CLONE / ".venv/bin/weir")
ROWS = 64
BUFFER = "1m"
GOAL = 0.15
"""Largest difference between what is simulated and what is measured, over the latter."""
SECONDS = 300.0
GATHERED = ("two-phase", "server-directed")
LEAST_MEBIBYTES, MOST_MEBIBYTES = 32, 512
TARGET_MEBIBYTES = 1024


@dataclass
class Case:
    """A way to move the array, and what was found."""

    storage: str
    strategy: str
    groups: int
    mebibytes: int = LEAST_MEBIBYTES
    """Size of the array."""
    measured: dict[str, list[float]] = field(default_factory=dict)
    crossed: list[float] = field(default_factory=list)
    """Bytes that one transfer sends to the other switch, in both directions."""


def cases(per_switch: int) -> list[Case]:
    """Return the ways to move it; `groups` is nodes of an I/O group, 0 for one group."""
    gathered = [(strategy, groups) for strategy in GATHERED for groups in (0, per_switch)]
    return [
        *(Case("memory", *one) for one in gathered),
        Case("target", "direct", 0),
        *(Case("target", *one) for one in gathered),
    ]


def crossed_so_far() -> float:
    """Return the bytes that the switches have sent each other."""
    told = json.loads(run([TESTBED, "hosts", "traffic", "--json"]))
    return sum(float(one["up"]) for one in told["links"] if one["name"].startswith("switch"))


def measure(case: Case, job: Job) -> None:
    before = crossed_so_far()
    rates = run_job(job)
    if isinstance(rates, str):
        sys.exit(f"{case.strategy} to {case.storage}: {rates}")
    for direction, values in rates["weir"].items():
        case.measured.setdefault(direction, []).extend(values.values)
    # A repetition that does not count comes first.
    transfers = len(rates["weir"]) * (job.repetitions + 1)
    case.crossed.append((crossed_so_far() - before) / transfers)


def simulated(
    case: Case, given: argparse.Namespace, description: Path, direction: str
) -> tuple[float, float]:
    """Return the rate that `weir sim` says, and the bytes that cross to the other switch."""
    nodes = case.groups or given.hosts
    told = run(
        [
            *(WEIR, "sim", "array", "--platform", str(description), "-n", str(given.ranks)),
            *("--array-shape", shape(case), "--distribution", "*,BLOCK", "--buffer", BUFFER),
            *("--strategy", case.strategy, "--aggregators", str(nodes)),
            *("--io-groups", str(case.groups), "--json"),
            *(["--read"] if direction == "read" else []),
        ]
    )
    (outcome,) = json.loads(told)
    # What crosses passes two links, up from one switch and down to the other.
    crossing = [p["bytes"] / 2 for p in outcome["parts"] if p["name"] == "links between switches"]
    return float(outcome["bytes_per_second"]), sum(crossing)


def shape(case: Case) -> str:
    return f"{ROWS}x{case.mebibytes * MEBIBYTE // 8 // ROWS}"


def choose_size(case: Case, given: argparse.Namespace, description: Path) -> None:
    """Make the array so large that writing it takes long enough, in steps of the least size."""
    rate, _ = simulated(case, given, description, "write")
    wanted = rate * given.seconds / MEBIBYTE
    steps = max(1, round(wanted / LEAST_MEBIBYTES))
    case.mebibytes = min(steps * LEAST_MEBIBYTES, MOST_MEBIBYTES)


def job_of(case: Case, given: argparse.Namespace, launcher: Sequence[str], folder: Path) -> Job:
    engine = "direct-io" if case.storage == "target" else "posix"
    groups = ["--io-groups", str(case.groups)] if case.groups else []
    return Job(
        weir_bench=given.weir_bench,
        directory=folder,
        ranks=given.ranks,
        apis=["weir"],
        arguments=[
            *("--shape", shape(case), "--distribution", "*,BLOCK", "--strategy", case.strategy),
            *("--aggregators", "1", "--buffer", BUFFER, "--engine", engine, *groups),
        ],
        repetitions=given.repetitions,
        implementation="OMPIO",
        seconds=SECONDS,
        launcher=launcher,
        peak=False,
    )


def report(case: Case, given: argparse.Namespace, description: Path) -> bool:
    """Print a line for each direction; return whether all are within the goal."""
    good = True
    for direction, values in case.measured.items():
        found = Values(values)
        rate = found.median
        expected, crossing = simulated(case, given, description, direction)
        difference = expected / rate - 1
        good = good and abs(difference) <= GOAL
        groups = f"{given.hosts // case.groups}" if case.groups else "1"
        print(
            f"{case.storage:<7} {case.strategy:<15} {groups:>6} {direction:<5} {case.mebibytes:>4} "
            f"{found.text('8.2f', 1 / MEBIBYTE)}"
            f" {expected / MEBIBYTE:>9.2f} {difference:>+6.0%}"
            f" {Values(case.crossed).median / MEBIBYTE:>8.2f} {crossing / MEBIBYTE:>9.2f}",
            flush=True,
        )
    return good


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--hosts", type=int, default=4, help="an even number")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--link", type=int, default=100, metavar="MBIT", help="of a host, each way")
    parser.add_argument("--between", type=int, default=25, metavar="MBIT", help="of a switch")
    parser.add_argument("--target", type=int, default=20, metavar="MB", help="a second")
    parser.add_argument("--seconds", type=float, default=3.0, help="of a transfer, in simulation")
    parser.add_argument("--rounds", type=int, default=2, help="jobs of each way")
    parser.add_argument("--repetitions", type=int, default=3, help="in each job")
    parser.add_argument("--weir-bench", type=Path, default=CLONE / "build/release/bench/weir-bench")
    parser.add_argument("--directory", type=Path, default=Path("/dev/shm"), help="in memory")
    given = parser.parse_args()
    if given.hosts % 2 or given.ranks % given.hosts:
        parser.error("--hosts is even, and --ranks is a multiple of it")
    # A script that is ended takes the hosts away, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("simulated_hosts.py was ended by a signal"))
    run(
        [
            *(TESTBED, "hosts", "up", "--count", str(given.hosts), "--link", f"{given.link}mbit"),
            *("--switches", "2", "--between", f"{given.between}mbit"),
        ]
    )
    try:
        size = f"{TARGET_MEBIBYTES}MiB"
        run([TESTBED, "targets", "up", "--rates", f"{given.target}MB/s", "--size", size])
        compare(given)
    finally:
        run([TESTBED, "hosts", "down", "--kill"])
        run([TESTBED, "targets", "down", "--kill"])


def compare(given: argparse.Namespace) -> None:
    launcher = shlex.split(run([TESTBED, "hosts", "launcher", "-n", str(given.ranks)]))
    status = json.loads(run([TESTBED, "status", "--json"]))
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="hosts-") as name:
        folders = {
            "memory": Path(name),
            "target": Path(status["targets"]["targets"][0]["directory"]),
        }
        descriptions = {}
        for storage in folders:
            descriptions[storage] = Path(name) / f"{storage}.toml"
            words = ["--ranks-per-host", str(given.ranks // given.hosts)]
            words += ["--target", "target0"] if storage == "target" else []
            descriptions[storage].write_text(run([TESTBED, "hosts", "platform", *words]))
        all_cases = cases(given.hosts // 2)
        for case in all_cases:
            choose_size(case, given, descriptions[case.storage])
        for number in range(given.rounds):
            for case in all_cases:
                measure(case, job_of(case, given, launcher, folders[case.storage]))
                print(
                    f"job {number + 1} of {given.rounds} of {case.strategy} to {case.storage}, "
                    f"{case.groups or given.hosts} hosts to a group, has ended",
                    file=sys.stderr,
                )
        print(
            f"{given.hosts} hosts with {given.link} Mbit/s each, {given.between} Mbit/s between two"
            f" switches, target {given.target} MB/s; {given.ranks} ranks\n"
            f"{'':<32} {'MiB':>4} {'MiB/s':>8} {'':>14} {'simulated':>9} {'':>6} {'crossed':>8} "
            "simulated"
        )
        told = [report(case, given, descriptions[case.storage]) for case in all_cases]
    print(f"within {100 * GOAL:.0f} %: {sum(told)} of {len(told)} ways")


if __name__ == "__main__":
    main()
