"""Runs the programs that are compared, and reads their results."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DEADLINE_SECONDS = 900
ENDING_SECONDS = 30
"""How long a command that was told to end may take before it is killed."""
CLONE = Path(__file__).resolve().parents[2]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LAUNCHER = (
    *("mpirun", "--oversubscribe", "--bind-to", "none"),
    *("--mca", "mpi_yield_when_idle", "1"),
)
MEBIBYTE = 1 << 20


def options(description: str | None) -> argparse.ArgumentParser:
    """Make a parser without options; the help shows ``description``'s first line."""
    return argparse.ArgumentParser(description=(description or "").splitlines()[0])


def arguments(
    description: str | None, directory: str | None = ".", ranks: int | str | None = None
) -> argparse.ArgumentParser:
    """Make the parser of the options of most comparisons.

    ``directory`` and ``ranks`` are the defaults of these options, which None leaves out; ranks that
    are given as text are a list with commas.
    """
    parser = options(description)
    parser.add_argument("--pairs", type=int, default=5, help="counted pairs")
    parser.add_argument("--weir-bench", type=Path, default=CLONE / "build/release/bench/weir-bench")
    if directory is not None:
        parser.add_argument("--directory", type=Path, default=Path(directory).absolute())
    if ranks is not None:
        parser.add_argument("--ranks", type=type(ranks), default=ranks)
    return parser


def ended(
    command: Sequence[str], variables: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. Raises ``TimeoutExpired`` if it does not end in time."""
    with subprocess.Popen(
        command,
        env={**os.environ, **AS_ROOT, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            told, complaint = process.communicate(timeout=seconds)
        except BaseException:
            # On SIGTERM a launcher also ends its ranks; SIGKILL would leave them running.
            process.terminate()
            try:
                process.communicate(timeout=ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, told, complaint)


def run(command: Sequence[str], variables: Mapping[str, str] | None = None) -> str:
    """Return what a command prints; if it fails, end the comparison with its error output."""
    try:
        done = ended(command, variables or {}, DEADLINE_SECONDS)
    except subprocess.TimeoutExpired:
        sys.exit(f"{' '.join(command)}: not done within {DEADLINE_SECONDS} s")
    if done.returncode != 0:
        complaint = (done.stderr or done.stdout).strip()[-500:]
        sys.exit(f"{' '.join(command)}: status {done.returncode}: {complaint}")
    return done.stdout


def records_of(output: Path) -> list[dict[str, Any]]:
    """Return run.json of every run below a folder."""
    return [json.loads(file.read_text()) for file in output.glob("*/run.json")]


def stream_rates(output: Path, metric: str = "span") -> dict[str, float]:
    """Return bytes per second by direction of the only run below ``output``.

    ``span``: first start to last sync. ``foreground``: the time inside the calls alone.
    """
    (record,) = records_of(output)
    return {
        rate["direction"]: float(rate["median_bytes_per_second"])
        for rate in record["rates"]
        if rate["metric"] == metric
    }
