"""Judges the findings of GLEAN on Blue Gene/P by simulations of the platform intrepid.

usage: glean_findings.py [--quick]

V. Vishwanath, M. Hereld, V. Morozov, M. Papka, "Topology-aware data movement and staging for I/O
acceleration on Blue Gene/P supercomputing systems" (SC11), figures 3 and 6 to 13, table 1. Prints a
table: each finding with `found`, `not found` or `cannot be decided`, and the figures on which the
judgement is based. A figure of the paper is found within 10 %. --quick leaves out 65,536 cores and
more. It needs weir-sim. docs/simulation.md says which constants were fitted to which of these
findings: those are no evidence, and marked.
"""

from __future__ import annotations

import sys

from glean_judgements import (
    Simulate,
    aggregators,
    applications,
    end_to_end,
    mechanisms,
    scaling,
    stager_nodes,
)
from programs import options

from weir.analysis.findings import Judgement, table
from weir.bench.errors import BenchError
from weir.bench.platforms import find_platform
from weir.sim.job import Asked
from weir.sim.program import Outcome, simulate

QUICK_CORES = 32_768


def simulation(platform_name: str) -> Simulate:
    """Returns a function that simulates once for each question."""
    platform = find_platform(platform_name)
    known: dict[Asked, Outcome] = {}

    def once(asked: Asked) -> Outcome:
        if asked not in known:
            known[asked] = simulate(platform, asked)
        return known[asked]

    return once


def judge(run: Simulate, most_cores: int) -> list[Judgement]:
    """Returns the judgements of all findings, those of larger machines left out."""
    return [
        *mechanisms(run),
        *aggregators(run),
        *scaling(run, most_cores),
        *stager_nodes(run),
        *end_to_end(run, most_cores),
        *applications(run, most_cores),
    ]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 32,768 cores")
    given = parser.parse_args()
    try:
        judgements = judge(simulation("intrepid"), QUICK_CORES if given.quick else 131_072)
    except BenchError as error:
        sys.exit(f"glean_findings: {error}")
    print(table(judgements, "where", "figures: simulated (paper)"))


if __name__ == "__main__":
    main()
