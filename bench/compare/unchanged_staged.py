"""Output of the kernels by plain HDF5 and PnetCDF, handed to a stager by environment variables.

usage: unchanged_staged.py [--directory D] [--ranks N] [--pairs N] [--kernels LIST] [--apis LIST]
                           [--before FOLDER] [--preload LIBRARY] [--weir-bench PROGRAM]

For each kernel (flash, s3d) and interface (hdf5, pnetcdf), jobs take turns that write the same
elements: by the library alone, by the library with its calls of MPI-IO taken over and staged, and
by Weir's own file with a stager (weir-hdf5). Every element is read back and compared. The figure is
the rate that the program observes in its output, and the goal is a part of the gain of Weir's own
file. With --before, the libraries of an earlier build in FOLDER take over in further jobs, with the
weir-stager there.
--preload names a library for all ranks, such as the one by which ranks of tests sleep while they
wait.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from programs import LAUNCHER, arguments, records_of, run
from stagers import STAGER, on_this_node
from values import Values, ratios, reached

from weir._core.shared_library import find
from weir.advise.observe import MPI_IO_CALLS, take_over_variables

GOAL = 0.8
"""Of the rate of Weir's own staged file."""
WORDS = {
    "flash": ("--blocks", "24", "--checkpoints", "2", "--plots", "0"),
    "s3d": ("--nx", "44", "--steps", "3"),
}
WORK_SECONDS = "0.2"
ALONE, STAGED, BEFORE, OWN = "alone", "staged", "before", "own"


def rate(
    given: argparse.Namespace,
    kernel: str,
    api: str,
    variables: Mapping[str, str],
    program: Path = STAGER,
) -> float:
    """Return the bytes per second that the program observes in its output."""
    with tempfile.TemporaryDirectory(dir=given.directory, prefix="unchanged-") as name:
        folder = Path(name)
        preloaded = [*variables.get("LD_PRELOAD", "").split(), *given.preload]
        with on_this_node(folder, program) as stager:
            run(
                [
                    *(*LAUNCHER, "-n", str(given.ranks), str(given.weir_bench), kernel),
                    *(*WORDS[kernel], "--work", WORK_SECONDS, "--warmups", "1"),
                    *("--repetitions", "1", "--max-repetitions", "1", "--sync", "none"),
                    *("--api", api, "--directory", name, "--output", str(folder / "run")),
                    # The variables of a staged job are not for the interface.
                    *("--staging", "node" if api.startswith("weir") else "none"),
                ],
                {**stager, **variables, "LD_PRELOAD": ":".join(preloaded)},
            )
        (record,) = records_of(folder / "run")
        (stream,) = record["outputs"]["streams"]
        (value,) = stream["observed"]["values_bytes_per_second"]
        return float(value)


def taken_over(records: Path, before: Path | None) -> dict[str, str]:
    """Return the environment in which calls are taken over and staged."""
    library = find(MPI_IO_CALLS.library, MPI_IO_CALLS.path_variable)
    taken = take_over_variables()
    if before is not None:
        library = str(before / MPI_IO_CALLS.library)
        taken = {"WEIR_MPIIO_TAKE_OVER": str(before / "libweir_take_over.so.0")}
    return {
        **taken,
        "LD_PRELOAD": library,
        MPI_IO_CALLS.folder_variable: str(records),
        "WEIR_STAGING": "node",
        "WEIR_STAGING_CLOSE": "handed-over",
    }


def measure(given: argparse.Namespace, kernel: str, api: str, records: Path) -> dict[str, Values]:
    jobs: dict[str, tuple[str, dict[str, str]]] = {
        ALONE: (api, {}),
        STAGED: (api, taken_over(records, None)),
        OWN: ("weir-hdf5", {}),
    }
    if given.before is not None:
        jobs[BEFORE] = (api, taken_over(records, given.before.absolute()))
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for pair in range(given.pairs):
        for name in list(jobs) if pair % 2 == 0 else reversed(jobs):
            program = given.before / "weir-stager" if name == BEFORE else STAGER
            found[name].append(rate(given, kernel, *jobs[name], program))
    return {name: Values(values) for name, values in found.items()}


def main() -> None:
    parser = arguments(__doc__, ranks=8)
    parser.add_argument("--kernels", default="flash,s3d")
    parser.add_argument("--apis", default="hdf5,pnetcdf")
    parser.add_argument(
        "--before", type=Path, help="folder of an earlier build's libraries and weir-stager"
    )
    parser.add_argument("--preload", nargs="*", default=[], help="libraries of all ranks")
    given = parser.parse_args()
    print(f"{given.ranks} ranks, {given.pairs} rounds; load {os.getloadavg()[0]:.1f}")
    for kernel in given.kernels.split(","):
        for api in given.apis.split(","):
            with tempfile.TemporaryDirectory(dir=given.directory, prefix="records-") as name:
                found = measure(given, kernel, api, Path(name))
            alone, staged, own = (found[one].values for one in (ALONE, STAGED, OWN))
            part = ratios(staged, own)
            print(
                f"{kernel} by {api}: staged to alone {ratios(staged, alone).text('.2f')}; "
                f"Weir's own to alone {ratios(own, alone).text('.2f')}; staged to Weir's own "
                f"{part.text('.2f')}, goal {GOAL}: {reached(part.median >= GOAL)}",
                flush=True,
            )
            if BEFORE in found:
                print(f"  staged to before {ratios(staged, found[BEFORE].values).text('.2f')}")


if __name__ == "__main__":
    main()
