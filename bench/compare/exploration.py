"""What weir explore predicts with a quarter of a full grid's runs, beside what the grid predicts.

usage: exploration.py [--directory D] [--block B] [--runs N] [--output FOLDER]

Both explore `weir-bench stream` over ranks and transfer sizes, as writes with fsync. Held out are
combinations between the levels, each measured several times, in a campaign between the grid and the
exploration. The grid and the exploration predict them by the same model. An error is the distance
of a prediction from the median of a held-out combination, whose own runs differ by the scatter that
is printed beside it; no prediction can be closer than that.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from programs import AS_ROOT, CLONE, options

from weir.commands.next_test import base_of_campaign
from weir.follow_up.exploration import predictions
from weir.follow_up.points import Measured, Point
from weir.results.campaign import load_campaign

RANKS = (1, 2, 3, 4)
TRANSFERS = tuple(4096 * 2**power for power in range(11))
BETWEEN = tuple(size * 3 // 2 for size in TRANSFERS[::2][:-1])
"""Transfer sizes that are held out, between the levels; a block is a multiple of them too."""
BETWEEN_RANKS = (1, 4)
PLATFORM = "franklin"
"""Any description: no expectation is compared here, and one saves the calibrations."""
FIXED = ("--write", "--sync", "fsync", "--file-per-rank", "--warmups", "0",
         "--repetitions", "1", "--max-repetitions", "1")  # fmt: skip
DEADLINE_SECONDS = 3600


def weir(folder: Path, *words: str) -> None:
    """Runs a command of weir; its text goes to standard error."""
    command = [str(Path(sys.executable).parent / "weir"), *words]
    environment = {**os.environ, **AS_ROOT, "WEIR_LOCK_DIRECTORY": str(folder)}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=sys.stderr,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}")


def file_of(name: str, words: str, ranks: Sequence[int], transfers: Sequence[int]) -> str:
    """Returns a campaign over all combinations of ranks and transfer sizes, each run once."""
    return (
        f'workload = "stream"\nname = "{name}"\narguments = "{words}"\n'
        f'[[factor]]\nname = "ranks"\nlevels = {list(ranks)}\n'
        f'[[factor]]\nname = "transfer"\nlevels = {list(transfers)}\n'
    )


def errors(measured: Measured, held_out: Sequence[Point]) -> list[float]:
    """Returns the relative errors of the predictions of held-out points."""
    return [
        abs(predictions(measured, one.settings)[one.line].value / one.median - 1)
        for one in held_out
    ]


def said(name: str, found: list[float]) -> str:
    """Formats the errors of one way."""
    return (
        f"{name}: median error {100 * statistics.median(found):.0f} %, 90th percentile "
        f"{100 * float(np.quantile(found, 0.9)):.0f} %, largest {100 * max(found):.0f} %"
    )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--directory", type=Path, default=Path.cwd())
    parser.add_argument("--block", default="12m", help="of each rank")
    parser.add_argument("--runs", type=int, default=2, help="of each held-out combination")
    parser.add_argument("--output", type=Path, help="keeps the campaigns in this folder")
    parser.add_argument("--budget", default="1h", help="of the exploration at most")
    given = parser.parse_args()
    os.environ.setdefault("WEIR_BENCH", str(CLONE / "build/release/bench/weir-bench"))
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as name:
        folder = (given.output or Path(name)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        quarter = len(RANKS) * len(TRANSFERS) // 4
        words = [*FIXED, "--block", given.block, "--directory", name]
        grid_text = file_of("grid", " ".join(words), RANKS, TRANSFERS)
        (folder / "grid.toml").write_text(grid_text)
        between = file_of("between", " ".join(words), BETWEEN_RANKS, BETWEEN)
        (folder / "between.toml").write_text(f"replication = {given.runs}\n{between}")
        for one in ("grid", "between"):
            weir(folder, "campaign", f"{one}.toml", "--output", one, "--platform", PLATFORM)
        weir(
            folder,
            *("explore", "stream", *words),
            *("--factor", "ranks=" + ",".join(map(str, RANKS))),
            *("--factor", "transfer=" + ",".join(map(str, TRANSFERS))),
            *("--most", str(quarter), "--budget", given.budget, "--output", "explored"),
            *("--platform", PLATFORM),
        )
        grid, explored = measured_in(folder / "grid"), measured_in(folder / "explored")
        held_out = measured_in(folder / "between").points
        runs = sum(len(one.runs) for one in explored.points)
        scatter = [one.spread for one in held_out if one.spread is not None]
        print(
            f"stream, {given.block} per rank, ranks {RANKS[0]} to {RANKS[-1]}, transfers "
            f"{TRANSFERS[0]} to {TRANSFERS[-1]}; {len(held_out)} held-out combinations of "
            f"{given.runs} runs, which scatter by {100 * statistics.median(scatter):.0f} %"
        )
        print(said(f"full grid, {len(grid.points)} runs", errors(grid, held_out)))
        print(said(f"weir explore, {runs} runs", errors(explored, held_out)))


def measured_in(folder: Path) -> Measured:
    """Returns the points of a campaign."""
    return base_of_campaign(folder, load_campaign(folder)).measured


if __name__ == "__main__":
    main()
