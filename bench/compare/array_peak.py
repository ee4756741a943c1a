"""A whole array and a nonaligned half of it, as shares of the file system's peak rate.

usage: array_peak.py [--directory D] [--ranks N] [--extent N] [--pairs N] [--cached] [--seconds N]
                     [--weir-bench PROGRAM]

An N x N array of float64, distributed BLOCK,BLOCK, is written to one shared file and read from it.
The peak is the rate at which the same ranks write and read as many bytes, each rank in one piece of
a file, in turn with Weir and over existing files. Both sides are made durable inside the timed part
(fsync by every rank), and both read after the pages were dropped; --cached omits both, so that the
page cache is the limit. Every element is verified, outside the times.
"""

from __future__ import annotations

import statistics
import sys
from typing import Any

from array_jobs import PEAK, Job, lines, rates_of, run_records, share
from programs import arguments
from values import reached

KINDS_OF_REQUEST: dict[str, tuple[float, list[str]]] = {
    "whole array": (0.97, []),
    "half, in chunks": (0.90, ["--half-section", "--chunk", "128x128"]),
    "half, in rows": (0.90, ["--half-section"]),
}
"""Goals, of the peak; the paper reached 0.90 and 0.80 on its local disks, 0.75 and 0.64 on PFS. Its
arrays lie in chunks: in rows, every other piece of a file is left out, and no reader of as many
bytes in one piece has that to do."""
KINDS = ("planning", "gathering", "storage", "waiting")


def costs(record: dict[str, Any], direction: str) -> str:
    """Return load, bytes moved and stage times of a rank: medians of the counted repetitions."""
    phases = [
        phase
        for repetition in record["repetitions"]
        if not repetition["warmup"]
        for phase in repetition["phases"]
        if phase["direction"] == direction
    ]
    said = []
    for name, key in (("busiest over mean", "balance"), ("moved per byte", "moved_per_byte")):
        values = [phase["array"][key] for phase in phases if phase["array"][key] is not None]
        if values:
            said.append(f"{name} {statistics.median(values):.3f}")
    for kind in KINDS:
        spreads = [phase["array"][f"{kind}_seconds"] for phase in phases]
        if all(spread is not None for spread in spreads):
            mean = statistics.median(spread["mean"] for spread in spreads)
            said.append(f"{kind} {mean * 1e3:.1f} ms")
    whole = statistics.median(phase["io_seconds"]["mean"] for phase in phases)
    return f"  {direction}: {', '.join(said)} of {whole * 1e3:.1f} ms"


def main() -> None:
    parser = arguments(__doc__, ranks=8)
    parser.add_argument("--extent", type=int, default=4096, help="N of the N x N array")
    parser.add_argument("--cached", action="store_true", help="neither durable nor dropped")
    parser.add_argument("--seconds", type=float, default=80, help="for each of the two jobs")
    given = parser.parse_args()
    print(f"{given.ranks} ranks, {given.extent} x {given.extent} float64")
    print(f"{'':<18} {'':<6} {'median':>9} {'peak':>9}        share of the peak")
    for name, (goal, request) in KINDS_OF_REQUEST.items():
        job = Job(
            weir_bench=given.weir_bench,
            directory=given.directory,
            ranks=given.ranks,
            apis=["weir"],
            arguments=["--shape", f"{given.extent}x{given.extent}", *request],
            repetitions=given.pairs,
            implementation="ROMIO",
            seconds=given.seconds,
            sync="none" if given.cached else "fsync",
            drop_cache=not given.cached,
        )
        records = run_records(job)
        if isinstance(records, str):
            sys.exit(f"{name}: {records}")
        rates = rates_of(records)
        (record,) = (one for one in records if one["label"] == "weir")
        print("\n".join(lines(rates, name, "weir")))
        for direction in rates["weir"]:
            found = share(rates, "weir", PEAK, direction).median
            word = reached(found >= goal)
            print(f"  {direction}: {found:.3f} of the peak; the goal of {goal} is {word}")
            print(costs(record, direction), flush=True)


if __name__ == "__main__":
    main()
