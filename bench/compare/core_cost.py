"""The cost of the measurement core per operation: weir-bench stream against a bare loop of calls.

usage: core_cost.py [--directory D] [--pairs N] [--weir-bench PROGRAM]

One process reads and writes a file whose pages are in memory (a file system in memory is best,
because only the calls remain). The bare loop (plain_loop.c) makes the same calls with the same
buffers and does not record them; the difference per operation is the cost of clocks, events,
histograms and the stamps of the payload. Two processes differ by more than that if the memory of
one is slower than that of the other, so the time that a run itself spends outside its calls is also
printed.
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
    """Return the number of operations: at most 256 MiB and 100,000 calls."""
    return min(100_000, 2**28 // transfer)


def plain_seconds(loop: Path, transfer: int, folder: Path) -> dict[str, float]:
    """Return the seconds of one operation in the bare loop, by direction."""
    count = operations_of(transfer)
    words = [str(folder / "plain.data"), str(transfer), str(count)]
    return {
        direction: statistics.median(map(float, run([str(loop), direction, *words]).split()))
        / count
        for direction in ("write", "read")
    }


def weir_seconds(
    program: Path, transfer: int, folder: Path, outside: dict[str, list[float]]
) -> dict[str, float]:
    """Return the seconds of one operation in weir-bench stream by direction: transfer over rate.

    Append the seconds of an operation that were not spent in its call to ``outside``.
    """
    block = transfer * operations_of(transfer)
    with tempfile.TemporaryDirectory(dir=folder) as results:
        output = Path(results) / "run"
        # All but the first repetition write over allocated pages, like the bare loop's 7 passes.
        command = [str(program), "stream", "-a", "POSIX", "-t", str(transfer), "-b", str(block)]
        command += ["-F", "-w", "-r", "-E", "-k", "-o", str(folder / "weir.data")]
        command += ["--warmups", "1", "--repetitions", "7", "--max-repetitions", "7"]
        run([*command, "--output", str(output)])
        spans = {name: transfer / rate for name, rate in stream_rates(output).items()}
        for name, rate in stream_rates(output, "foreground").items():
            outside.setdefault(name, []).append(spans[name] - transfer / rate)
        return spans


def main() -> None:
    parser = arguments(__doc__, "/dev/shm")
    given = parser.parse_args()
    loop = given.weir_bench.with_name("plain_loop")
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as name:
        folder = Path(name)
        print(f"{given.pairs} pairs, below {given.directory}; seconds of one operation")
        print(heading("weir", "bare loop"))
        for transfer in TRANSFERS:
            outside: dict[str, list[float]] = {}
            for compared in compare(
                "s",
                partial(weir_seconds, given.weir_bench, transfer, folder, outside=outside),
                partial(plain_seconds, loop, transfer, folder),
                given.pairs,
            ):
                cost = compared.differences.median
                within = cost < MOST_SECONDS and (
                    transfer < 65536 or compared.ratios.median - 1 < MOST_SHARE
                )
                much = "" if within else "  too much"
                beside = statistics.median(outside[compared.name])
                share = beside / statistics.median(compared.first)
                print(
                    f"{transfer:>16} bytes {compared.line()}  {cost * 1e9:+.0f} ns{much}; outside "
                    f"the calls {beside * 1e9:.0f} ns, {100 * share:.2f} %"
                )
    print(f"goal: under {MOST_SECONDS * 1e6:.0f} us, and {100 * MOST_SHARE:.0f} % from 64 KiB on")


if __name__ == "__main__":
    main()
