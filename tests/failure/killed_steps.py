"""Programs that write steps on several ranks, killed at random moments.

usage: killed_steps.py [--kills N] [--format NAME]... [--ranks N] [--seed N]

Each run adds steps to the file that the one before left; one rank of it, or all, get SIGKILL at a
random moment. Then the file is read back, by Weir and by the format's own library where it is
there: every step that had ended for any rank is in it, and right. docs/measurements/formats.md has
counts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))

from mpi_launcher import BUILD, environment, launcher

import weir
from weir.check import check

WRITER = BUILD / "tests" / "failure" / "killed_writer"
SUFFIXES = {
    "hdf5": "h5", "cdf5": "nc", "cdf2": "nc", "cdf1": "nc", "zarr": "zarr", "raw": "raw",
    "hdf5-encoded": "h5", "zarr-encoded": "zarr",
}  # fmt: skip
START_SECONDS = 60
ENDING_SECONDS = 30
LONGEST_RUN_SECONDS = 0.3
STEPS_OF_A_FILE = 120
SHAPES = {"density": (24, 30), "count": (7, 5)}


@dataclass
class Told:
    """What a run had written into its log when it was killed."""

    processes: list[int] = field(default_factory=list)
    steps: int = 0
    errors: list[str] = field(default_factory=list)

    @classmethod
    def by(cls, log: Path) -> Told:
        told = cls()
        for line in log.read_text().splitlines() if log.exists() else []:
            kind, _, rest = line.partition(" ")
            if kind == "rank":
                told.processes.append(int(rest.split()[1]))
            elif kind == "ended":
                told.steps = max(told.steps, int(rest))
            else:
                told.errors.append(rest)
        return told


def run_and_kill(
    path: Path, file_format: str, ranks: int, after: float, chosen: int | None
) -> Told:
    """Starts a run and kills rank number `chosen` of it, or all ranks, `after` seconds later."""
    log = path.parent / "log"
    log.unlink(missing_ok=True)
    command = [*launcher(), "-n", str(ranks), str(WRITER), str(path), file_format, str(log)]
    with subprocess.Popen(
        command, env=environment({}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as run:  # fmt: skip
        try:
            end = time.monotonic() + START_SECONDS
            while len(Told.by(log).processes) < ranks:
                assert run.poll() is None, "it ended by itself"
                assert time.monotonic() < end, "it did not start"
                time.sleep(0.005)
            time.sleep(after)
            processes = Told.by(log).processes
            for process in processes if chosen is None else [processes[chosen]]:
                os.kill(process, signal.SIGKILL)
            run.wait(ENDING_SECONDS)
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
    told = Told.by(log)
    # A rank that lives a moment longer than another may see that one is lost, nothing else.
    assert run.returncode != 0
    for process in told.processes:
        wait_for_end(process)
    return Told.by(log)


def wait_for_end(process: int) -> None:
    end = time.monotonic() + ENDING_SECONDS
    while Path(f"/proc/{process}").exists():
        assert time.monotonic() < end, f"process {process} does not end"
        time.sleep(0.005)


def expected(name: str, steps: int) -> np.ndarray[Any, Any]:
    shape = SHAPES[name]
    numbers = np.arange(np.prod(shape)).reshape(shape) + 1
    return numbers[np.newaxis] + 1000 * np.arange(steps).reshape(steps, 1, 1)


def read_by_weir(path: Path) -> int:
    """The steps in the file, all of which are right."""
    with weir.open(path) as file:
        assert set(file.arrays) == {"density", "count", "mesh"}
        steps = file.steps
        assert steps is not None
        for name in SHAPES:
            np.testing.assert_array_equal(file.arrays[name][:steps], expected(name, steps))
        np.testing.assert_array_equal(file.arrays["mesh"][...], np.arange(16) + 1)
        return steps


def read_by_others(path: Path, file_format: str) -> str | None:
    """Reads the file by its format's own library; the name of that, None where there is none."""
    if file_format == "raw":
        check_others({name: raw_steps(path, name) for name in SHAPES})
        return "numpy"
    name = {"hdf5": "h5py", "zarr": "zarr"}.get(file_format.partition("-")[0], "netCDF4")
    try:
        library = importlib.import_module(name)
    except ImportError:
        return None
    if name == "h5py":
        with library.File(path, "r") as file:
            check_others({one: file[one][...] for one in SHAPES})
    elif name == "zarr":
        group = library.open_group(path, mode="r")
        check_others({one: group[one][...] for one in SHAPES})
    else:
        with library.Dataset(path) as file:
            file.set_auto_mask(False)
            check_others({one: file[one][...] for one in SHAPES})
    return name


def raw_steps(path: Path, name: str) -> np.ndarray[Any, Any]:
    """The array by the document alone, as docs/raw-format.md has it."""
    document = json.loads(Path(f"{path}.json").read_text())
    records = document["records"]
    (one,) = (array for array in document["arrays"] if array["name"] == name)
    assert records["steps"] == 1
    data = path if path.exists() else Path(f"{path}.incomplete")
    dtype = np.dtype(one["type"])
    strides = (records["bytes"], *np.empty(one["shape"][1:], dtype).strides)
    begin = records["offset"] + one["offset"]
    return np.ndarray(one["shape"], dtype, np.memmap(data, mode="r"), begin, strides)


def check_others(arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected(name, len(array)))


def kill_runs(
    folder: Path, file_format: str, kills: int, *, ranks: int = 3, seed: int = 0
) -> Counter[str]:
    """Kills so many runs; what was counted. Fails when a step is lost."""
    chance = random.Random(seed)
    path = folder / f"file.{SUFFIXES[file_format]}"
    counts: Counter[str] = Counter()
    committed = 0
    for number in range(kills):
        chosen = chance.choice([None, *range(ranks)])
        told = run_and_kill(
            path, file_format, ranks, chance.uniform(0, LONGEST_RUN_SECONDS), chosen
        )
        counts["all ranks killed" if chosen is None else "one rank killed"] += 1
        assert all("lost" in error or "rank" in error for error in told.errors), told.errors
        steps = max(committed, told.steps)
        if not path.exists():
            assert steps == 0, f"kill {number}: the file is gone"
            counts["before the first commit"] += 1
            continue
        found = read_by_weir(path)
        assert steps <= found <= steps + 1, f"kill {number}: {found} steps, {steps} had ended"
        counts[f"read by {read_by_others(path, file_format) or 'Weir alone'}"] += 1
        report = check(path, workers=1)
        assert report.steps == found
        counts["something unfinished was named"] += bool(report.findings)
        counts["steps"] += found - committed
        committed = found
        if committed > STEPS_OF_A_FILE:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            for beside in (".json", ".json.new"):
                Path(f"{path}{beside}").unlink(missing_ok=True)
            committed = 0
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--format", action="append", choices=SUFFIXES)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    asked = parser.parse_args()
    for file_format in asked.format or SUFFIXES:
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            counts = kill_runs(
                Path(folder), file_format, asked.kills, ranks=asked.ranks, seed=asked.seed
            )
            seconds = time.monotonic() - started
            counted = ", ".join(f"{what} {count}" for what, count in sorted(counts.items()))
            sys.stdout.write(
                f"{file_format}: {asked.kills} kills in {seconds:.0f} s, seed {asked.seed}: "
                f"{counted}\n"
            )


if __name__ == "__main__":
    sys.exit(main())
