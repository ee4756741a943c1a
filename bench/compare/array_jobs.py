"""Jobs of weir-bench array whose interfaces are compared: run one with a deadline, read its rates.

All interfaces of a job are interleaved, repetition by repetition, with contiguous pieces of the
same bytes by the same ranks (--peak), so that every figure has an R from the same time. A job has
one implementation of MPI-IO, so ROMIO and OMPIO are compared by their shares of R.

ROMIO, and with it HDF5 and PnetCDF, gets one aggregator per core, like Weir; by default it uses one
per node and reaches half to two thirds of the rate. Datasets of HDF5 are contiguous, transfers are
collective, and nothing is filled beforehand. If transfers are durable, they are so on all sides.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import LAUNCHER, MEBIBYTE, ended, records_of
from values import Values, ratios

IMPLEMENTATIONS = {"ROMIO": "romio321", "OMPIO": "ompio"}
PEAK = "contiguous"
HEADING = f"{'':<18} {'':<6} {'median':>9} {'R':>9}        share of R"
"""Of the lines that show_job() prints."""

Rates = dict[str, dict[str, Values]]
"""By interface and direction: bytes per second of each counted repetition, in their order."""


@dataclass(frozen=True)
class Job:
    """One run of weir-bench array, and the time that it may take."""

    weir_bench: Path
    directory: Path
    ranks: int
    apis: Sequence[str]
    arguments: Sequence[str]
    repetitions: int
    implementation: str
    seconds: float
    sync: str = "none"
    drop_cache: bool = False
    launcher: Sequence[str] = LAUNCHER
    peak: bool = True

    def command(self, output: Path, directory: Path) -> list[str]:
        return [
            *self.launcher,
            *("--mca", "io", IMPLEMENTATIONS[self.implementation], "-n", str(self.ranks)),
            *(str(self.weir_bench), "array", "--api", ",".join(self.apis), "--existing"),
            *(["--peak"] if self.peak else []),
            *("--sync", self.sync, "--warmups", "1", "--repetitions", str(self.repetitions)),
            *(["--drop-cache"] if self.drop_cache else []),
            *("--max-repetitions", str(self.repetitions), "--time-limit", str(self.seconds)),
            *("--directory", str(directory), "--output", str(output), *self.arguments),
        ]


def run_job(job: Job) -> Rates | str:
    """Return the rates, or one line that says why there are none."""
    records = run_records(job)
    return records if isinstance(records, str) else rates_of(records)


def run_records(job: Job) -> list[dict[str, Any]] | str:
    """Return the run.json of every interface, or one line that says why there is none."""
    with tempfile.TemporaryDirectory(dir=job.directory, prefix="compare-") as name:
        output = Path(name) / "run"
        hints = write_hints(Path(name))
        try:
            done = ended(job.command(output, Path(name)), {"ROMIO_HINTS": str(hints)}, job.seconds)
        except subprocess.TimeoutExpired:
            return f"nothing within {job.seconds:.0f} s"
        if done.returncode != 0:
            return next(iter(done.stderr.strip().splitlines()), "failed")
        return records_of(output)


def write_hints(folder: Path) -> Path:
    """Write hints that give ROMIO one aggregator per core; return their file."""
    hints = folder / "hints"
    cores = len(os.sched_getaffinity(0))
    hints.write_text(f"cb_config_list *:{cores}\ncb_nodes {cores}\n")
    return hints


def rates_of(records: Sequence[Mapping[str, Any]]) -> Rates:
    return {
        record["label"]: {
            rate["direction"]: Values(rate["values_bytes_per_second"])
            for rate in record["rates"]
            if rate["metric"] == "span"
        }
        for record in records
    }


def share(rates: Rates, api: str, other: str, direction: str) -> Values:
    """Return the ratio of one interface to another in one direction, round by round."""
    return ratios(rates[api][direction].values, rates[other][direction].values)


def lines(rates: Rates, name: str, api: str) -> list[str]:
    """Return the median rate, R and the share of R, for each direction."""
    told = []
    for direction, values in rates[api].items():
        rate, peak = (one.median / MEBIBYTE for one in (values, rates[PEAK][direction]))
        shared = share(rates, api, PEAK, direction).text(".3f")
        told.append(f"{name:<18} {direction:<6} {rate:>9.1f} {peak:>9.1f} MiB/s  {shared}")
    return told


def show_job(job: Job) -> Rates:
    """Run a job and print its rates, or one line that says why there are none, and return them."""
    rates = run_job(job)
    if isinstance(rates, str):
        print(f"{job.implementation} {','.join(job.apis)}: {rates}")
        return {}
    for api in job.apis:
        name = job.implementation if api == "mpiio" else api
        print("\n".join(lines(rates, name, api)), flush=True)
    return rates
