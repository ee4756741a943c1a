"""Zarr chunks compressed by zstd at level 1, by one rank and by one on each core.

usage: codec_scaling.py [--directory D] [--codec C] [--mebibytes N] [--pairs N]
                        [--weir-bench PROGRAM]

The same array of float64 in chunks of 1 MiB, half of whose bytes a compressor can remove, is
written and read in memory (nothing is made durable) by 1 rank and by as many ranks as there are
cores, in turn, encoded and plain. Compression scales with cores if the encoded rates do; the plain
rates show what storage and memory allow.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from array_jobs import rates_of
from programs import LAUNCHER, MEBIBYTE, arguments, records_of, run
from values import Values, ratios


def rates(program: Path, directory: Path, ranks: int, codec: str, rows: int) -> dict[str, float]:
    """Return bytes per second by direction, of one repetition after a warm-up."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="compare-") as folder:
        output = Path(folder) / "run"
        run(
            [*LAUNCHER, "-n", str(ranks), str(program), "array", "--api", "weir-zarr",
             "--shape", f"{rows}x1024", "--distribution", "BLOCK,*", "--chunk", "128x1024",
             *(["--codec", codec] if codec else []), "--compressible", "50", "--sync", "none",
             "--warmups", "1", "--repetitions", "1", "--max-repetitions", "1",
             "--directory", folder, "--output", str(output)]
        )  # fmt: skip
        (found,) = rates_of(records_of(output)).values()
    return {direction: rate.median for direction, rate in found.items()}


def main() -> None:
    parser = arguments(__doc__)
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
            print(
                f"{codec or 'plain':<8} {direction:<6} 1 rank "
                f"{Values(one).median / MEBIBYTE:>8.0f} MiB/s, {cores} ranks "
                f"{Values(many).median / MEBIBYTE:>8.0f} MiB/s: "
                f"{ratios(many, one).text('.2f')} times"
            )


if __name__ == "__main__":
    main()
