"""Compare weir-bench stream with fio, the same pattern side by side in one run.

usage: stream_fio.py [--directory DIR] [--size BYTES] [--transfer BYTES] [--rounds N]

One process of each writes a new file from front to back and reads it, by pread and pwrite and by
io_uring, through the page cache with an fsync and past it. The rounds are interleaved, with the
order of the two drawn in each, because the machine's rate drifts; what counts is the ratio of the
medians. By hand, never in CI: it takes minutes and measures the machine it runs on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WEIR_BENCH = Path(__file__).resolve().parents[2] / "build" / "release" / "bench" / "weir-bench"
DEADLINE_SECONDS = 300
DEPTH = 16
WANTED = 0.97


@dataclass(frozen=True)
class Pattern:
    """What both programs do."""

    engine: str  # as fio calls it
    direct: bool
    directory: Path
    size: int
    transfer: int

    @property
    def name(self) -> str:
        return f"{self.engine}, {'O_DIRECT' if self.direct else 'buffered, fsync'}"


def run(command: list[str]) -> str:
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        command,
        env={**os.environ, **allowed},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def fio(pattern: Pattern) -> dict[str, float]:
    """Bytes per second of fio, by direction."""
    file = pattern.directory / "fio-file"
    rates = {}
    for direction in ("write", "read"):
        sync = ["--end_fsync=1"] if direction == "write" and not pattern.direct else []
        said = run(
            [
                *("fio", "--name=compare", f"--filename={file}", f"--rw={direction}"),
                *(f"--bs={pattern.transfer}", f"--size={pattern.size}", "--fallocate=none"),
                *(f"--ioengine={pattern.engine}", f"--direct={int(pattern.direct)}"),
                *(f"--iodepth={DEPTH if pattern.engine == 'io_uring' else 1}", *sync),
                "--output-format=json",
            ]
        )
        rates[direction] = float(json.loads(said)["jobs"][0][direction]["bw_bytes"])
    file.unlink()
    return rates


def weir(pattern: Pattern) -> dict[str, float]:
    """Bytes per second of weir-bench, by direction, over the transfers with their sync."""
    api = "IO_URING" if pattern.engine == "io_uring" else "POSIX"
    with tempfile.TemporaryDirectory(dir=pattern.directory) as folder:
        output = Path(folder) / "results"
        run(
            [
                *(str(WEIR_BENCH), "stream", "-a", api, "-w", "-r", "-i", "1"),
                *("-b", str(pattern.size), "-t", str(pattern.transfer)),
                *("--queue-depth", str(DEPTH), *(["-B"] if pattern.direct else ["-e"])),
                *("--drop-cache", "--directory", str(pattern.directory), "--output", str(output)),
            ]
        )
        (record,) = output.glob("*/run.json")
        phases = json.loads(record.read_text())["repetitions"][0]["phases"]
    return {phase["direction"]: phase["rate_span_bytes_per_second"] for phase in phases}


def compare(pattern: Pattern, rounds: int) -> None:
    programs: dict[str, Callable[[Pattern], dict[str, float]]] = {"fio": fio, "weir": weir}
    values: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds + 1):
        for program in random.sample(sorted(programs), 2):
            for direction, rate in programs[program](pattern).items():
                if number > 0:  # the first round warms up
                    values.setdefault((program, direction), []).append(rate)
    for direction in ("write", "read"):
        medians = {name: statistics.median(values[name, direction]) for name in programs}
        ratio = medians["weir"] / medians["fio"]
        sys.stdout.write(
            f"{pattern.name:26} {direction:6} fio {medians['fio'] / 2**20:8.0f} MiB/s   "
            f"weir {medians['weir'] / 2**20:8.0f} MiB/s   ratio {ratio:.3f}"
            f"{'' if ratio >= WANTED else f'   below {WANTED}'}\n"
        )
        sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="weir-bench stream beside fio")
    parser.add_argument("--directory", type=Path, default=Path())
    parser.add_argument("--size", type=int, default=512 << 20)
    parser.add_argument("--transfer", type=int, default=1 << 20)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="weir-compare-", dir=asked.directory) as folder:
        for engine in ("psync", "io_uring"):
            for direct in (False, True):
                pattern = Pattern(engine, direct, Path(folder), asked.size, asked.transfer)
                compare(pattern, asked.rounds)


if __name__ == "__main__":
    main()
