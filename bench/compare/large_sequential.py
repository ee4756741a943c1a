"""Large sequential transfers: weir-bench stream against fio, the same pattern on one process.

usage: large_sequential.py [--directory D] [--megabytes N] [--pairs N] [--weir-bench PROGRAM]

Patterns: write and read, psync and io_uring with 16 in flight, through the page cache (writes
with an fsync at the end and inside the time, reads after dropping the pages) and by O_DIRECT; 1
MiB per transfer, a new file for each write. Both move the same bytes of one file. weir-bench also
checks every byte that it reads, outside the time.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from interleaved import compare, heading
from programs import arguments, run, stream_rate

GOAL = 0.97


@dataclass(frozen=True)
class Pattern:
    """One line of the comparison."""

    direction: str
    engine: str
    direct: bool

    @property
    def name(self) -> str:
        way = "O_DIRECT" if self.direct else "page cache"
        durable = " + fsync" if self.direction == "write" and not self.direct else ""
        return f"{self.direction} {self.engine} {way}{durable}"


PATTERNS = [
    Pattern(direction, engine, direct)
    for direction in ("write", "read")
    for engine in ("psync", "io_uring")
    for direct in (False, True)
]


def fio_rate(pattern: Pattern, folder: Path, megabytes: int) -> float:
    """MiB/s of one job of fio, by its own account."""
    file = folder / "fio.data"
    if pattern.direction == "write":
        file.unlink(missing_ok=True)
    command = ["fio", "--name=job", f"--filename={file}", f"--rw={pattern.direction}", "--bs=1M"]
    command += [f"--size={megabytes}M", "--fallocate=none", "--output-format=json", "--thread"]
    command += [f"--ioengine={pattern.engine}", f"--direct={int(pattern.direct)}"]
    command += ["--iodepth=16"] if pattern.engine == "io_uring" else []
    command += ["--end_fsync=1"] if pattern.direction == "write" and not pattern.direct else []
    job = json.loads(run(command))["jobs"][0][pattern.direction]
    return float(job["io_bytes"]) / (float(job["runtime"]) / 1000) / 2**20


def weir_rate(pattern: Pattern, folder: Path, megabytes: int, program: Path) -> float:
    """MiB/s of one repetition of weir-bench stream, span of the transfers and the sync."""
    with tempfile.TemporaryDirectory(dir=folder) as results:
        output = Path(results) / "run"
        command = [str(program), "stream", "-a", pattern.engine.replace("psync", "POSIX").upper()]
        command += ["-b", f"{megabytes}m", "-t", "1m", "-i", "1", "-F", "-o", str(folder / "weir")]
        command += ["-w", "-r", "--drop-cache", "--output", str(output)]
        command += ["--direct"] if pattern.direct else ["-e"]
        command += ["--queue-depth", "16"] if pattern.engine == "io_uring" else []
        run(command)
        return stream_rate(output, pattern.direction) / 2**20


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--directory", type=Path, default=Path.cwd())
    parser.add_argument("--megabytes", type=int, default=512)
    given = parser.parse_args()
    below = 0
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as name:
        folder = Path(name)
        print(f"{given.megabytes} MiB per run, {given.pairs} pairs, below {given.directory}")
        print(heading("weir", "fio"))
        for pattern in PATTERNS:
            compared = compare(
                pattern.name,
                "MiB/s",
                partial(weir_rate, pattern, folder, given.megabytes, given.weir_bench),
                partial(fio_rate, pattern, folder, given.megabytes),
                given.pairs,
            )
            below += compared.median_ratio < GOAL
            print(compared.line(), "" if compared.median_ratio >= GOAL else f"  below {GOAL}")
    print(f"{len(PATTERNS) - below} of {len(PATTERNS)} patterns reach {GOAL} of fio")


if __name__ == "__main__":
    main()
