"""Checks the findings of the Panda and DRA study on this machine.

usage: panda_findings.py --directory A,B,C,D [--extent N] [--replication N] [--repetitions N]
                         [--output FOLDER] [--weir PROGRAM] [--judge]

Y. Chen, J. Nieplocha, I. Foster, M. Winslett, "Optimizing Collective I/O Performance on Parallel
Computers: A Multisystem Study" (1997). This runs the three campaigns cases/collective-*.toml over
arrays of extent N x N with a file per aggregator, distributed to the directories, which represent
the paper's I/O nodes. It prints a table: each finding with `found`, `not found` or `cannot be
decided`, and the figures on which the judgement is based. --judge only prints the table of earlier
campaigns.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from panda_judgements import buffers, chunks, io_nodes, sections
from panda_results import load_results
from programs import AS_ROOT, CLONE, options

from weir.analysis.findings import Judgement, table

CAMPAIGNS = ("collective-io-nodes", "collective-chunks", "collective-buffers")
FULL_EXTENT = 5120
"""Extent of the arrays in the case files."""


def sections_of(extent: int) -> tuple[str, str]:
    """Return the sections of cases/collective-chunks.toml in an array of extent x extent."""
    count = round(extent * 0.5**0.5)
    first = (extent - count) // 2 | 1
    middle = f"{first}:{first + count}"
    return f"{middle},{middle}", f"1:{extent - 1},{extent // 4 + 1}:{3 * extent // 4 - 1}"


def scaled(case: str, extent: int, replication: int, repetitions: int) -> str:
    """Return a case file of another size; the sections keep their places in the array."""
    for at_full, at_extent in zip(sections_of(FULL_EXTENT), sections_of(extent), strict=True):
        case = case.replace(f'"{at_full}"', f'"{at_extent}"')
    case = case.replace(f'"{FULL_EXTENT}x{FULL_EXTENT}"', f'"{extent}x{extent}"')
    case = re.sub(r"^replication = \d+", f"replication = {replication}", case, flags=re.M)
    return re.sub(r"^((?:max-)?repetitions) = \d+", rf"\1 = {repetitions}", case, flags=re.M)


def run_campaigns(given: argparse.Namespace) -> None:
    given.output.mkdir(parents=True, exist_ok=True)
    for name in CAMPAIGNS:
        file = given.output / f"{name}.toml"
        case = (CLONE / "cases" / f"{name}.toml").read_text()
        file.write_text(scaled(case, given.extent, given.replication, given.repetitions))
        folder = given.output / name
        command = [*given.weir.split(), "campaign", str(file), "--output", str(folder)]
        if folder.exists():
            command.append("--resume")
        environment = {**os.environ, **AS_ROOT, "WEIR_DIRECTORY": given.directory}
        done = subprocess.run(command, env=environment, stdout=sys.stderr, check=False)
        if done.returncode != 0:
            sys.exit(f"{name}: `weir campaign` ended with status {done.returncode}")


def are_apart(directories: list[str]) -> bool:
    """Return whether every directory has its own file system, and therefore its own device."""
    devices = {Path(directory).stat().st_dev for directory in directories}
    return len(directories) > 1 and len(devices) == len(directories)


def judge(output: Path, apart: bool) -> list[Judgement]:
    nodes, halves, sizes = (load_results(output / name) for name in CAMPAIGNS)
    return [
        *sections(nodes, halves),
        *io_nodes(nodes, apart),
        *chunks(halves),
        *buffers(sizes, apart),
    ]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--directory", required=True, help="of the I/O nodes: A,B,C,D")
    parser.add_argument("--extent", type=int, default=FULL_EXTENT, help="N of the N x N array")
    parser.add_argument("--replication", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=3, help="within a run")
    parser.add_argument("--output", type=Path, default=Path("panda-findings"))
    parser.add_argument("--weir", default=str(CLONE / ".venv/bin/weir"), help="the command weir")
    parser.add_argument("--judge", action="store_true", help="run nothing")
    given = parser.parse_args()
    directories = given.directory.split(",")
    apart = are_apart(directories)
    if not given.judge:
        run_campaigns(given)
    said = "devices of their own" if apart else "one device together"
    print(f"{time.strftime('%Y-%m-%d', time.gmtime())}; {len(directories)} directories on {said}\n")
    print(table(judge(given.output, apart), "section", "figures: median [smallest, largest]"))


if __name__ == "__main__":
    main()
