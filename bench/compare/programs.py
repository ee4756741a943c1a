"""Runs the programs that are compared, and reads the results of weir-bench stream."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

DEADLINE_SECONDS = 900
CLONE = Path(__file__).resolve().parents[2]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Make the parser of all comparisons' options; the help shows ``description``'s first line."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5, help="counted pairs")
    parser.add_argument("--weir-bench", type=Path, default=CLONE / "build/release/bench/weir-bench")
    return parser


def run(command: list[str]) -> str:
    """Return what a command prints; if it fails, end the comparison with its error output."""
    with subprocess.Popen(
        command,
        env={**os.environ, **AS_ROOT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            told, complaint = process.communicate(timeout=DEADLINE_SECONDS)
        except BaseException as error:
            # On SIGTERM a launcher also ends its ranks; SIGKILL would leave them running.
            process.terminate()
            if isinstance(error, subprocess.TimeoutExpired):
                sys.exit(f"{' '.join(command)}: not done within {DEADLINE_SECONDS} s")
            raise
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {process.returncode}: {complaint.strip()[-500:]}")
    return told


def stream_rates(output: Path, metric: str = "span") -> dict[str, float]:
    """Return bytes per second by direction of the only run below ``output``.

    ``span``: first start to last sync. ``foreground``: the time inside the calls alone.
    """
    (record,) = output.glob("*/run.json")
    rates = json.loads(record.read_text())["rates"]
    return {
        rate["direction"]: float(rate["median_bytes_per_second"])
        for rate in rates
        if rate["metric"] == metric
    }
