"""Large sequential transfers: weir-bench stream against fio, the same pattern on one process.

usage: large_sequential.py [--directory D] [--megabytes N] [--pairs N] [--weir-bench PROGRAM]

The patterns are write and read, with psync and with io_uring with 16 transfers in flight, through
the page cache (writes with an fsync at the end and inside the time, reads after dropping the pages)
and with O_DIRECT. A transfer has 1 MiB, and each write makes a new file. Both programs move the
same bytes of one file, write it with one process and read it with another. weir-bench also checks
every byte that it reads, outside the time.

Each figure is that of the second of two transfers in a row. The host of a virtual machine may take
back memory that has been free for some seconds, and the next touch of a page then costs a fault in
the host (0.3 to 0.8 GB/s where it was measured). Without the first transfer, the pause before it
would decide which program looks fast.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from interleaved import compare, heading
from programs import arguments, run, stream_rates

GOAL = 0.97


@dataclass(frozen=True)
class Pattern:
    """The way in which both programs write a new file and read it."""

    engine: str
    direct: bool

    @property
    def name(self) -> str:
        return f"{self.engine} {'O_DIRECT' if self.direct else 'page cache'}"


PATTERNS = [Pattern(engine, direct) for engine in ("psync", "io_uring") for direct in (False, True)]


def fio_rates(pattern: Pattern, folder: Path, megabytes: int) -> dict[str, float]:
    """Return MiB/s of one job of fio for each direction, as fio reports them."""
    file = folder / "fio.data"
    rates = {}
    for direction in ("write", "read"):
        command = ["fio", "--name=job", f"--filename={file}", f"--rw={direction}", "--bs=1M"]
        command += [f"--size={megabytes}M", "--fallocate=none", "--output-format=json", "--thread"]
        command += ["--fadvise_hint=0"]  # the kernel decides on read-ahead, as with weir-bench
        command += [f"--ioengine={pattern.engine}", f"--direct={int(pattern.direct)}"]
        command += ["--iodepth=16"] if pattern.engine == "io_uring" else []
        command += ["--end_fsync=1"] if direction == "write" and not pattern.direct else []
        for _ in range(2):
            if direction == "write":
                file.unlink(missing_ok=True)
            job = json.loads(run(command))["jobs"][0][direction]
        rates[direction] = float(job["io_bytes"]) / (float(job["runtime"]) / 1000) / 2**20
    return rates


def weir_rates(pattern: Pattern, folder: Path, megabytes: int, program: Path) -> dict[str, float]:
    """Return MiB/s of one repetition of weir-bench stream over the span of transfers and sync."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        base = [str(program), "stream", "-a", pattern.engine.replace("psync", "POSIX").upper()]
        base += ["-b", f"{megabytes}m", "-t", "1m", "-i", "1", "-F", "-k", "-G", "5"]
        base += ["-o", f"{scratch}/weir"]
        base += ["--queue-depth", "16"] if pattern.engine == "io_uring" else []
        base += ["--warmups", "1", "--repetitions", "1", "--max-repetitions", "1"]
        base += ["--direct"] if pattern.direct else []
        rates = {}
        for direction, more in (("write", ["-w"]), ("read", ["-r", "--drop-cache"])):
            output = Path(scratch) / direction
            sync = ["-e"] if direction == "write" and not pattern.direct else []
            run([*base, *more, *sync, "--output", str(output)])
            rates[direction] = stream_rates(output)[direction] / 2**20
        return rates


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--megabytes", type=int, default=512)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as name:
        folder = Path(name)
        print(f"{given.megabytes} MiB per run, {given.pairs} pairs, below {given.directory}")
        print(heading("weir", "fio"))
        for pattern in PATTERNS:
            for compared in compare(
                "MiB/s",
                partial(weir_rates, pattern, folder, given.megabytes, given.weir_bench),
                partial(fio_rates, pattern, folder, given.megabytes),
                given.pairs,
            ):
                below = "" if compared.ratios.median >= GOAL else f"  below {GOAL}"
                print(f"{pattern.name:<22} {compared.line()}{below}", flush=True)


if __name__ == "__main__":
    main()
