"""What the measurement core costs per operation: weir-bench stream against a bare loop of calls.

usage: core_cost.py [--directory D] [--pairs N] [--weir-bench PROGRAM]

Reads and writes of a file whose pages are in memory (a file system in memory is best: nothing but
the calls remains), by one process. The bare loop (plain_loop.c) makes the same calls with the same
buffers and no record of them; the difference per operation is clocks, events, histograms and the
stamps of the payload.
"""

from __future__ import annotations

import statistics
import tempfile
from functools import partial
from pathlib import Path

from interleaved import compare, heading
from programs import arguments, run, stream_rates

TRANSFERS = [512, 4096, 65536, 1048576]
MOST_SECONDS = 1e-6
MOST_SHARE = 0.01


def operations_of(transfer: int) -> int:
    """At most 256 MiB and 100,000 calls."""
    return min(100_000, 2**28 // transfer)


def plain_seconds(loop: Path, transfer: int, folder: Path) -> dict[str, float]:
    """Seconds of one operation in the bare loop, by direction."""
    count = operations_of(transfer)
    words = [str(folder / "plain.data"), str(transfer), str(count)]
    return {
        direction: float(run([str(loop), direction, *words])) / count
        for direction in ("write", "read")
    }


def weir_seconds(program: Path, transfer: int, folder: Path) -> dict[str, float]:
    """Seconds of one operation in weir-bench stream, by direction: a transfer over the rate."""
    block = transfer * operations_of(transfer)
    with tempfile.TemporaryDirectory(dir=folder) as results:
        output = Path(results) / "run"
        # The second repetition writes over allocated pages, as the bare loop does.
        command = [str(program), "stream", "-a", "POSIX", "-t", str(transfer), "-b", str(block)]
        command += ["-F", "-w", "-r", "-E", "-k", "-o", str(folder / "weir.data")]
        command += ["--warmups", "1", "--repetitions", "1", "--max-repetitions", "1"]
        run([*command, "--output", str(output)])
        return {name: transfer / rate for name, rate in stream_rates(output).items()}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--directory", type=Path, default=Path("/dev/shm"))
    given = parser.parse_args()
    loop = given.weir_bench.with_name("plain_loop")
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as name:
        folder = Path(name)
        print(f"{given.pairs} pairs, below {given.directory}; seconds of one operation")
        print(heading("weir", "bare loop"))
        for transfer in TRANSFERS:
            for compared in compare(
                "s",
                partial(weir_seconds, given.weir_bench, transfer, folder),
                partial(plain_seconds, loop, transfer, folder),
                given.pairs,
            ):
                cost = statistics.median(
                    a - b for a, b in zip(compared.first, compared.second, strict=True)
                )
                within = cost < MOST_SECONDS and (
                    transfer < 65536 or compared.median_ratio - 1 < MOST_SHARE
                )
                much = "" if within else "  too much"
                print(f"{transfer:>16} bytes {compared.line()}  {cost * 1e9:+.0f} ns{much}")
    print(f"goal: under {MOST_SECONDS * 1e6:.0f} us, and {MOST_SHARE:.0%} from 64 KiB on")


if __name__ == "__main__":
    main()
