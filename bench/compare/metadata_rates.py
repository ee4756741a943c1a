"""weir-bench metadata against a bare loop of the same calls: create, stat and unlink.

usage: metadata_rates.py [--directory D] [--ranks 1,2,4] [--items N] [--pairs N] [--api API]

The files of all ranks lie in one new directory, with equal depth and path length on both sides,
because every call walks the path. Rates are operations per second over the time of the slowest
rank, without barriers, on both sides. A figure of weir-bench is from one repetition, and a figure
of the loop is from one pass. The loop (plain_metadata.c) writes each name and makes the call;
weir-bench also reads the clock, keeps a histogram, and checks the tree between phases.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from interleaved import compare, heading
from programs import LAUNCHER, arguments, records_of, run

GOAL = 0.97
ACTIONS = ("create", "stat", "unlink")

FOLDER_PREFIX = "weir-20261122T000000Z-metadata-"
"""With what weir-bench calls the folder of its trees."""


def plain_rates(loop: Path, ranks: int, items: int, directory: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory(dir=directory, prefix=FOLDER_PREFIX) as folder:
        tree = Path(folder) / "weir-tree"
        tree.mkdir()
        told = run([str(loop), str(tree), str(ranks), str(items)])
    return {line.split()[0]: float(line.split()[1]) for line in told.splitlines()}


def weir_rates(
    program: Path, ranks: int, items: int, directory: Path, api: str
) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="compare-") as results:
        output = Path(results) / "run"
        command = [*LAUNCHER, "-n", str(ranks), str(program), "metadata", "--items", str(items)]
        command += ["--actions", ",".join(ACTIONS), "--directory", str(directory), "--api", api]
        command += ["--warmups", "0", "--repetitions", "1", "--max-repetitions", "1"]
        run([*command, "--output", str(output)])
        (record,) = records_of(output)
    return {
        action["action"]: next(
            float(rate["median_per_second"]) for rate in action["rates"] if rate["headline"]
        )
        for action in record["metadata"]
    }


def main() -> None:
    parser = arguments(__doc__, "/dev/shm", ranks="1,2,4")
    parser.add_argument("--items", type=int, default=20000, help="of each rank")
    parser.add_argument("--api", default="POSIX", choices=("POSIX", "AT", "io_uring"))
    given = parser.parse_args()
    loop = given.weir_bench.with_name("plain_metadata")
    print(
        f"{given.pairs} pairs, {given.items} files of each rank below {given.directory}, "
        f"--api {given.api}"
    )
    for ranks in map(int, given.ranks.split(",")):
        print(heading(f"{ranks} ranks", "bare loop"))
        for compared in compare(
            "1/s",
            partial(weir_rates, given.weir_bench, ranks, given.items, given.directory, given.api),
            partial(plain_rates, loop, ranks, given.items, given.directory),
            given.pairs,
        ):
            much = "" if compared.ratios.median >= GOAL else f"  below {GOAL}"
            print(compared.line() + much)


if __name__ == "__main__":
    main()
