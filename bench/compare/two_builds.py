"""Two builds of Weir on the same work: the loss or gain from a change.

usage: two_builds.py BEFORE AFTER [--directory D] [--ranks N] [--mebibytes N] [--pairs N]
                     [--seconds N] [--only CASE,...]

BEFORE and AFTER are two programs weir-bench. Each case is a job of Weir's own arrays (3-D blocks
with short rows, a matrix in columns or block-cyclic, the formats) or of opening a shared file. In
cases named 2-a-node two ranks count as a node, so that data moves in messages between nodes. Where
one of the builds cannot count so, the case is left out, and the output says why. The builds take
turns, job by job, so that both see the same states of the machine. Each pair of jobs gives one
ratio of rates or times, and the median of the ratios is the result. Nothing is made durable, and
every element that is read is verified.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from array_blocks import GRIDS, extents
from array_jobs import Job, run_job
from interleaved import compare, heading
from programs import LAUNCHER, MEBIBYTE, options, records_of, run

REPETITIONS = 5
BETWEEN_NODES = "-2-a-node"
"""The end of the names of cases whose ranks are on several nodes, two on each."""
TWO_A_NODE = ["--ranks-per-node", "2"]


def array_rates(
    given: argparse.Namespace, api: str, words: list[str], program: Path
) -> Mapping[str, float]:
    """Return the median rates of one job by direction, in MiB/s."""
    job = Job(
        weir_bench=program,
        directory=given.directory,
        ranks=given.ranks,
        apis=[api],
        arguments=words,
        repetitions=REPETITIONS,
        implementation="ROMIO",
        seconds=given.seconds,
    )
    rates = run_job(job)
    if isinstance(rates, str):
        sys.exit(f"{program}: {api} {' '.join(words)}: {rates}")
    return {direction: values.median / MEBIBYTE for direction, values in rates[api].items()}


def opening_times(given: argparse.Namespace, words: list[str], program: Path) -> dict[str, float]:
    """Return the median times of creating, opening and closing one shared file, in ms."""
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as name:
        output = Path(name) / "run"
        run(
            [
                *LAUNCHER,
                *("-n", str(given.ranks), str(program), "open", "--api", "WEIR", "--no-count"),
                *("--warmups", "1", "--repetitions", "9", "--max-repetitions", "9"),
                *("--directory", name, "--output", str(output), *words),
            ]
        )
        (record,) = records_of(output)
        steps = record["opening"]
        return {one["step"]: 1e3 * float(one["times"]["median_seconds"]) for one in steps}


Case = tuple[str, Callable[[Path], Mapping[str, float]]]


def cases(given: argparse.Namespace) -> dict[str, Case]:
    """Return by name a unit, and a function that does the work once with a program."""
    array = partial(array_rates, given)
    found: dict[str, Case] = {}
    for row_bytes in (64, 512, 2048):
        blocks = extents(given.ranks, row_bytes, given.mebibytes)
        found[f"blocks-{row_bytes}"] = ("MiB/s", partial(array, "weir", blocks))
    formats = extents(given.ranks, 512, given.mebibytes)
    for api in ("weir-hdf5", "weir-cdf5", "weir-zarr"):
        found[api] = ("MiB/s", partial(array, api, formats))
    for name, distribution in (("columns", "*,BLOCK"), ("block-cyclic", "CYCLIC(32)")):
        matrix = ["--shape", "4096x4096", "--distribution", distribution]
        found[name] = ("MiB/s", partial(array, "weir", matrix))
        found[f"{name}{BETWEEN_NODES}"] = ("MiB/s", partial(array, "weir", [*matrix, *TWO_A_NODE]))
    found["open"] = ("ms", partial(opening_times, given, []))
    found[f"open{BETWEEN_NODES}"] = ("ms", partial(opening_times, given, TWO_A_NODE))
    return found


def counts_nodes(program: Path, workload: str, api: str) -> bool:
    """Return whether this build counts the ranks of one machine as those of several nodes."""
    command = [str(program), workload, "--plan", "--ranks", "4", "--api", api, *TWO_A_NODE]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def why_left_out(name: str, programs: Sequence[Path]) -> str | None:
    """Return which builds cannot do a case between nodes; None if all can do the case."""
    if not name.endswith(BETWEEN_NODES):
        return None
    workload, api = ("open", "WEIR") if name.startswith("open") else ("array", "weir")
    without = [one for one in programs if not counts_nodes(one, workload, api)]
    if not without:
        return None
    return f"left out: without `{workload} --ranks-per-node`: {', '.join(map(str, without))}"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("before", type=Path, metavar="BEFORE")
    parser.add_argument("after", type=Path, metavar="AFTER")
    parser.add_argument("--directory", type=Path, default=Path.cwd())
    parser.add_argument("--ranks", type=int, default=8, choices=sorted(GRIDS))
    parser.add_argument("--mebibytes", type=int, default=128, help="of the array")
    parser.add_argument("--pairs", type=int, default=5, help="counted pairs of jobs")
    parser.add_argument("--seconds", type=float, default=300, help="for each job")
    parser.add_argument("--only", help="these cases, by name")
    given = parser.parse_args()
    known = cases(given)
    chosen = given.only.split(",") if given.only else list(known)
    for name in chosen:
        if name not in known:
            parser.error(f"no case {name!r}: one of {', '.join(known)}")
    print("ratio: AFTER over BEFORE; of rates higher is better, of times lower")
    print(heading("AFTER", "BEFORE"))
    for name in chosen:
        if reason := why_left_out(name, [given.before, given.after]):
            print(f"{name}: {reason}", flush=True)
            continue
        unit, work = known[name]
        figures = compare(
            unit, partial(work, given.after), partial(work, given.before), given.pairs
        )
        print(f"{name}")
        for figure in figures:
            print(f"  {figure.line()}", flush=True)


if __name__ == "__main__":
    main()
