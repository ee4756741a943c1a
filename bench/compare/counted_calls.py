"""The cost of a call that `weir run --advise` counts, against the same call uncounted.

usage: counted_calls.py [--directory D] [--pairs N] [--weir-bench PROGRAM]

A loop of calls on one file (counted_calls.c) runs with the counting library and without it in turn.
The cost of counting a call is the difference; the goal is under 1 us.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

from interleaved import compare
from programs import arguments, run
from values import reached

from weir._core.shared_library import find
from weir.advise.observe import LIBC_CALLS

CALLS = 200_000
MOST_NS = 1000


def nanoseconds(program: Path, folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """Return the nanoseconds of one call, by kind."""
    shown = run([str(program), str(folder), str(CALLS)], environment)
    return {name: float(value) for name, value in map(str.split, shown.splitlines())}


def main() -> None:
    parser = arguments(__doc__, None)
    parser.add_argument("--directory", help="where the file is, not below /dev [a temporary one]")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.directory) as name:
        folder = Path(name)
        program = asked.weir_bench.with_name("counted_calls")
        records = folder / "records"
        records.mkdir()
        counted = {
            "LD_PRELOAD": find(LIBC_CALLS.library, LIBC_CALLS.path_variable),
            LIBC_CALLS.folder_variable: str(records),
        }
        results = compare(
            "ns",
            partial(nanoseconds, program, folder, counted),
            partial(nanoseconds, program, folder, {}),
            asked.pairs,
        )
        if not any("/counted\n" in record.read_text() for record in records.iterdir()):
            sys.exit(f"{folder}: calls there are not counted; give another --directory")
        print("ns of a call      counted     plain  difference [least, most]")
        for one in results:
            more = one.differences
            # A pair is two calls.
            calls = 2 if "+" in one.name else 1
            print(
                f"{one.name:<12} {statistics.median(one.first):>12.0f} "
                f"{statistics.median(one.second):>9.0f} {more.text('11.0f')}"
                f"  under {MOST_NS} ns a call: {reached(more.median / calls < MOST_NS)}"
            )


if __name__ == "__main__":
    main()
