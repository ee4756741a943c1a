"""Collective calls on datasets of an unchanged HDF5 program, by Weir's VOL connector and by HDF5.

usage: hdf5_connector.py [--directory D] [--ranks N] [--rows LIST] [--mebibytes N] [--times N]
                         [--pairs N] [--weir-bench PROGRAM]

A program writes and reads a contiguous 3-D dataset of float64 in blocks, with rows of 512 B and
2 KiB (hdf5_blocks.c). It runs with the connector (weir run --hdf5) and with HDF5 over OMPIO or
ROMIO alone in turn, on Open MPI. ROMIO gets one aggregator per core. Nothing is made durable; what
is read is verified.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path

from array_jobs import IMPLEMENTATIONS, write_hints
from interleaved import compare, heading
from programs import LAUNCHER, arguments
from taken_over import rates

from weir.advise.observe import hdf5_variables
from weir.mpiio.records import sum_up


def main() -> None:
    parser = arguments(__doc__, ranks=8)
    parser.add_argument("--rows", default="512,2048", help="bytes of a rank's rows")
    parser.add_argument("--mebibytes", type=int, default=64, help="of the dataset")
    parser.add_argument("--times", type=int, default=3, help="of each direction in a run")
    given = parser.parse_args()
    program = given.weir_bench.with_name("hdf5_blocks")
    if not program.exists():
        sys.exit(f"{program} does not exist: build with WEIR_HDF5_VOL_WITH, as docs/hdf5.md says")
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="compare-") as name:
        folder = Path(name)
        records = folder / "records"
        records.mkdir()
        plain = {"ROMIO_HINTS": str(write_hints(folder))}
        for row_bytes in (int(word) for word in given.rows.split(",")):
            for implementation, component in IMPLEMENTATIONS.items():
                command = [
                    *LAUNCHER,
                    *("--mca", "io", component, "-n", str(given.ranks), str(program)),
                    *(str(folder / "file.h5"), str(row_bytes), str(given.mebibytes)),
                    str(given.times),
                ]
                results = compare(
                    "MiB/s",
                    partial(rates, command, {**plain, **hdf5_variables(records)}),
                    partial(rates, command, plain),
                    given.pairs,
                )
                print(f"\nrows of {row_bytes} bytes, {given.ranks} ranks")
                print(heading("connector", f"HDF5, {implementation}"))
                for one in results:
                    print(one.line(), flush=True)
        sums = sum_up(sorted(records.iterdir()))
        if passed := sum(times for reasons in sums.passed.values() for times in reasons.values()):
            sys.exit(f"{passed} calls were not taken over: {sums.passed}")


if __name__ == "__main__":
    main()
