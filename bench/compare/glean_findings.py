"""Judges the findings of GLEAN on Blue Gene/P by simulations of the platform intrepid.

usage: glean_findings.py [--quick] [--pictures FOLDER] [--outcomes FILE]

V. Vishwanath, M. Hereld, V. Morozov, M. Papka, "Topology-aware data movement and staging for I/O
acceleration on Blue Gene/P supercomputing systems" (SC11), figures 3 and 6 to 13, table 1. This
simulates the case files cases/glean-figure*.toml and cases/glean-ways-out.toml, and prints a table:
each finding with `found`, `not found` or `cannot be decided`, and the figures on which the
judgement is based. A figure of the paper is found within 10 %. --quick leaves out 65,536 cores and
more.
--pictures draws figures 3 and 6 to 13 with the simulated curves and what the paper prints of them.
It needs weir-sim. docs/simulation.md says which constants were fitted to which of these findings:
those are no evidence, and marked.
"""

from __future__ import annotations

import sys
from pathlib import Path

from glean_figures import figures, write_page
from glean_judgements import (
    CASES,
    WHOLE,
    aggregators,
    applications,
    end_to_end,
    mechanisms,
    scaling,
    stager_nodes,
)
from glean_outcomes import Outcomes, Simulate
from programs import options

from weir.analysis.findings import Judgement, table
from weir.bench.errors import BenchError
from weir.bench.platforms import find_platform

QUICK_CORES = 32_768


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
    parser.add_argument("--pictures", type=Path, help="also draw each figure, into this folder")
    parser.add_argument(
        "--outcomes",
        type=Path,
        help="keep outcomes in this file; what it has already is not simulated again",
    )
    given = parser.parse_args()
    most_cores = QUICK_CORES if given.quick else WHOLE
    try:
        run = Outcomes(given.outcomes, find_platform(CASES["figure3"].platform))
        print(table(judge(run, most_cores), "where", "figures: simulated (paper)"))
        if given.pictures is not None:
            given.pictures.mkdir(parents=True, exist_ok=True)
            for one in figures(run, most_cores):
                print(write_page(given.pictures, one))
    except (BenchError, OSError) as error:
        sys.exit(f"glean_findings: {error}")


if __name__ == "__main__":
    main()
