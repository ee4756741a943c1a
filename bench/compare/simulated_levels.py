"""Simulated times of the plans alone, and of the library itself on as many simulated ranks.

Both are exact, so each row is run once. With --simgrid FOLDER, the programs are those that
tools/newer_simgrid has built there. Numbers of ranks are multiples of 128.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import options, run

LEVELS = ("plan", "library")
GOAL = 0.10


@dataclass(frozen=True)
class Case:
    """A job that both levels simulate, and how its row is named."""

    name: str
    words: tuple[str, ...]
    ranks_of_an_aggregator: int = 0
    """0: as prices decide."""

    def options(self, ranks: int) -> list[str]:
        words = [*self.words, "-n", str(ranks)]
        if self.ranks_of_an_aggregator:
            words += ["--aggregators", str(ranks // self.ranks_of_an_aggregator)]
        return words


CASES = (
    Case(
        "`intrepid`, `posix`, 64 KiB of a rank",
        ("messages", "--platform", "intrepid", "--strategy", "posix",
         "--bytes", "64k", "--buffer", "64k"),
    ),
    Case(
        "`intrepid`, `two-phase`, 64 KiB of a rank",
        ("messages", "--platform", "intrepid", "--strategy", "two-phase", "--aggregators", "64",
         "--bytes", "64k", "--buffer", "64k"),
    ),
    Case(
        "`made-up`, `two-phase`, 1 MiB of a rank, an aggregator of each node",
        ("messages", "--platform", "made-up", "--strategy", "two-phase",
         "--bytes", "1m", "--buffer", "1m"),
        ranks_of_an_aggregator=128,
    ),
    Case(
        "`made-up`, `two-phase`, 1 MiB of a rank, as many aggregators as prices say",
        ("messages", "--platform", "made-up", "--strategy", "two-phase",
         "--bytes", "1m", "--buffer", "1m"),
    ),
)  # fmt: skip


def simulated(case: Case, ranks: int, level: str, programs: dict[str, str]) -> dict[str, Any]:
    """What ``weir sim --json`` says of one job."""
    weir = [sys.executable, "-m", "weir.cli", "sim", *case.options(ranks)]
    outcomes: list[dict[str, Any]] = json.loads(run([*weir, "--level", level, "--json"], programs))
    (outcome,) = outcomes
    return outcome


def row(case: Case, ranks: int, programs: dict[str, str]) -> tuple[str, float]:
    """A row of the table, and by how much of the plan's time the library's differs."""
    plan, library = (simulated(case, ranks, level, programs) for level in LEVELS)
    different = [
        name
        for name in ("bytes", "bytes_moved", "operations", "calls", "messages", "message_bytes")
        if plan[name] != library[name]
    ]
    if different:
        sys.exit(f"{case.name}, {ranks} ranks: the levels differ in {', '.join(different)}")
    difference = library["seconds"] / plan["seconds"] - 1
    cost = library["cost"]
    words = [
        case.name, f"{ranks}", f"{plan['bytes'] / 2**20:.0f} MiB", f"{plan['messages']:.0f}",
        f"{plan['seconds'] * 1e3:.3f} ms", f"{library['seconds'] * 1e3:.3f} ms",
        f"{100 * difference:+.1f} %",
        f"{cost['processor_seconds']:.1f}, {cost['peak_memory_bytes'] / 1e6:.0f} MB",
    ]  # fmt: skip
    return "| " + " | ".join(words) + " |", difference


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--ranks", default="256,1024,4096", help="numbers of ranks, with commas")
    parser.add_argument("--simgrid", type=Path, help="the folder of tools/newer_simgrid")
    asked = parser.parse_args()
    programs = {}
    if asked.simgrid:
        built = asked.simgrid.resolve() / "weir" / "sim"
        programs = {
            "WEIR_SIM": str(built / "weir-sim"),
            "WEIR_SIM_LIBRARY": str(built / "weir-sim-library"),
        }
    print("| platform, strategy | ranks | bytes | messages between nodes | plan | library "
          "| difference | processor s, memory |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    most = 0.0
    for ranks in map(int, asked.ranks.split(",")):
        for case in CASES:
            text, difference = row(case, ranks, programs)
            print(text, flush=True)
            most = max(most, abs(difference))
    print(f"\nThe largest difference is {100 * most:.1f} %; the goal is {100 * GOAL:.0f} %.")
    sys.exit(most > GOAL)


if __name__ == "__main__":
    main()
