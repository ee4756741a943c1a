"""Jobs of weir-bench array whose interfaces are compared: run one with a deadline, read its rates.

All interfaces of a job are interleaved, repetition by repetition, with contiguous pieces of the
same bytes by the same ranks (--peak), so that every figure has an R from the same time. A job has
one implementation of MPI-IO, so ROMIO and OMPIO are compared by their shares of R.

ROMIO, and with it HDF5 and PnetCDF, gets one aggregator per core, like Weir; by default it uses one
per node and reaches half to two thirds of the rate. Datasets of HDF5 are contiguous, transfers are
collective, and nothing is filled beforehand. If transfers are durable, they are so on all sides.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import AS_ROOT

LAUNCHER = "mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1"
IMPLEMENTATIONS = {"ROMIO": "romio321", "OMPIO": "ompio"}
MEBIBYTE = 1 << 20
PEAK = "contiguous"

Rates = dict[str, dict[str, list[float]]]
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
    launcher: Sequence[str] = tuple(LAUNCHER.split())
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
        hints = Path(name) / "hints"
        cores = len(os.sched_getaffinity(0))
        hints.write_text(f"cb_config_list *:{cores}\ncb_nodes {cores}\n")
        with subprocess.Popen(
            job.command(output, Path(name)),
            env={**os.environ, **AS_ROOT, "ROMIO_HINTS": str(hints)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                _, complaint = process.communicate(timeout=job.seconds)
            except BaseException as error:
                # On SIGTERM a launcher also ends its ranks; SIGKILL would leave them running.
                process.terminate()
                process.communicate()
                if isinstance(error, subprocess.TimeoutExpired):
                    return f"nothing within {job.seconds:.0f} s"
                raise
        if process.returncode != 0:
            return complaint.strip().splitlines()[0] if complaint.strip() else "failed"
        return [json.loads(file.read_text()) for file in output.glob("*/run.json")]


def rates_of(records: Sequence[Mapping[str, Any]]) -> Rates:
    return {
        record["label"]: {
            rate["direction"]: [float(value) for value in rate["values_bytes_per_second"]]
            for rate in record["rates"]
            if rate["metric"] == "span"
        }
        for record in records
    }


def has_weir(weir_bench: Path) -> bool:
    """Return whether this weir-bench has Weir's own arrays."""
    command = [str(weir_bench), "array", "--plan", "--ranks", "1", "--api", "weir"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@dataclass(frozen=True)
class Share:
    """The ratio of one interface to another in one direction, round by round."""

    ratios: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.ratios)

    def text(self) -> str:
        return f"{self.median:.3f} [{min(self.ratios):.3f}, {max(self.ratios):.3f}]"


def share(rates: Rates, api: str, other: str, direction: str) -> Share:
    pairs = zip(rates[api][direction], rates[other][direction], strict=False)
    return Share([a / b for a, b in pairs])


def lines(rates: Rates, name: str, api: str) -> list[str]:
    """Return the median rate, R and the share of R, for each direction."""
    told = []
    for direction, values in rates[api].items():
        rate = statistics.median(values) / MEBIBYTE
        peak = statistics.median(rates[PEAK][direction]) / MEBIBYTE
        shared = share(rates, api, PEAK, direction).text()
        told.append(f"{name:<18} {direction:<6} {rate:>9.1f} {peak:>9.1f} MiB/s  {shared}")
    return told
