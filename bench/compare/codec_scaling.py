"""Zarr chunks compressed by zstd at level 1, by one rank and by one on each core.

usage: codec_scaling.py [--directory D] [--codec C] [--mebibytes N] [--pairs N]
                        [--weir-bench PROGRAM]

The same array of float64 in chunks of 1 MiB, half of whose bytes a compressor can remove, is
written and read in memory (nothing is made durable) by 1 rank and by as many ranks as there are
cores, in turn, encoded and plain. Compression scales with cores if the encoded rates do; the plain
rates show what storage and memory allow.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from pathlib import Path

from array_jobs import MEBIBYTE, rates_of
from programs import arguments, run

LAUNCHER = "mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1"


def rates(program: Path, directory: Path, ranks: int, codec: str, rows: int) -> dict[str, float]:
    """Return bytes per second by direction, of one repetition after a warm-up."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="compare-") as folder:
        output = Path(folder) / "run"
        run(
            [*LAUNCHER.split(), "-n", str(ranks), str(program), "array", "--api", "weir-zarr",
             "--shape", f"{rows}x1024", "--distribution", "BLOCK,*", "--chunk", "128x1024",
             *(["--codec", codec] if codec else []), "--compressible", "50", "--sync", "none",
             "--warmups", "1", "--repetitions", "1", "--max-repetitions", "1",
             "--directory", folder, "--output", str(output)]
        )  # fmt: skip
        records = [json.loads(file.read_text()) for file in output.glob("*/run.json")]
    (found,) = rates_of(records).values()
    return {direction: values[0] for direction, values in found.items()}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--directory", type=Path, default=Path.cwd())
    parser.add_argument("--codec", default="zstd:1")
    parser.add_argument("--mebibytes", type=int, default=128)
    given = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    rows = given.mebibytes * 128
    measured: dict[tuple[int, str, str], list[float]] = {}
    for _ in range(given.pairs):
        for ranks in (1, cores):
            for codec in (given.codec, ""):
                found = rates(given.weir_bench, given.directory, ranks, codec, rows)
                for direction, value in found.items():
                    measured.setdefault((ranks, codec, direction), []).append(value)
    for codec in (given.codec, ""):
        for direction in ("write", "read"):
            one, many = measured[1, codec, direction], measured[cores, codec, direction]
            ratios = [b / a for a, b in zip(one, many, strict=True)]
            print(
                f"{codec or 'plain':<8} {direction:<6} 1 rank "
                f"{statistics.median(one) / MEBIBYTE:>8.0f} MiB/s, {cores} ranks "
                f"{statistics.median(many) / MEBIBYTE:>8.0f} MiB/s: "
                f"{statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}] times"
            )


if __name__ == "__main__":
    main()
