"""Real runs of weir-bench on a few ranks, for tests of what it measures."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mpi_launcher import BUILD, environment, launcher

from weir.results.schema import Run

WEIR_BENCH = BUILD / "bench" / "weir-bench"
SMALL = ("256", "4", "1", "32", "4096", "1", "1")
BRIEF = ("--warmups", "0", "--repetitions", "1", "--max-repetitions", "1")


@dataclass(frozen=True)
class Done:
    stdout: str
    folder: Path  # where it was started
    results: Path

    def run(self, slug: str) -> Run:
        return Run.model_validate(json.loads((self.results / slug / "run.json").read_text()))


def run_bench(
    folder: Path,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    ranks: int = 4,
    workload: str = "madbench",
) -> Done:
    """Runs ``weir-bench WORKLOAD`` to its successful end in ``folder``."""
    results = folder / "results"
    done = subprocess.run(
        [*launcher(), "-n", str(ranks), str(WEIR_BENCH), workload, *arguments],
        cwd=folder,
        env=environment({"WEIR_OUTPUT": str(results), **(variables or {})}),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Done(done.stdout, folder, results)
