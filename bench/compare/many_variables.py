"""1,000 variables of 1 KiB on each rank in one step, against one variable of the same total.

usage: many_variables.py [--directory D] [--ranks LIST] [--variables N] [--pairs N]
                         [--weir-bench PROGRAM]

Weir's HDF5 and CDF-5 files, parallel HDF5 (a collective transfer for each dataset) and PnetCDF (all
variables posted, then moved together) are written in turn, in the page cache; nothing is made
durable on any side. The ratios are of the transfer alone; `whole` also includes creating, defining
and closing.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections import defaultdict

from programs import LAUNCHER, arguments, run
from values import ratios, reached

GOAL = 2.0


def main() -> None:
    parser = arguments(__doc__, ranks="4,8")
    parser.add_argument("--variables", type=int, default=1000)
    given = parser.parse_args()
    program = given.weir_bench.parent / "compare" / "many_variables" / "many_variables"
    for ranks in given.ranks.split(","):
        with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as folder:
            told = run(
                [*LAUNCHER, "--mca", "io", "romio321", "-n", ranks, str(program), folder,
                 str(given.variables), "128", str(given.pairs + 1)]
            )  # fmt: skip
        writing: dict[tuple[str, bool], list[float]] = defaultdict(list)
        whole: dict[tuple[str, bool], list[float]] = defaultdict(list)
        for record in map(json.loads, told.splitlines()):
            if record["round"] == 0:  # this round makes the plans and the memory of the buffers
                continue
            key = (record["interface"], record["variables"] > 1)
            writing[key].append(record["writing"])
            whole[key].append(record["creating"] + record["writing"] + record["closing"])
        print(f"\n{ranks} ranks, {given.variables} variables of 1 KiB on each")
        print(f"{'':<12} {'many, ms':>9} {'one, ms':>9} {'ratio, median of rounds':<26} whole, ms")
        for name in dict.fromkeys(interface for interface, _ in writing):
            many, one = writing[name, True], writing[name, False]
            ratio = ratios(many, one)
            print(
                f"{name:<12} {1e3 * statistics.median(many):>9.2f} "
                f"{1e3 * statistics.median(one):>9.2f} {ratio.text('.2f'):<26} "
                f"{1e3 * statistics.median(whole[name, True]):.1f}, "
                f"{1e3 * statistics.median(whole[name, False]):.1f}"
            )
            if name.startswith("weir"):
                print(
                    f"  {name}: {ratio.median:.2f} times one variable; the goal of {GOAL} is "
                    f"{reached(ratio.median <= GOAL)}"
                )


if __name__ == "__main__":
    main()
