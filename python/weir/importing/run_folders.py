"""Writes imported recordings as run folders, as ``weir-bench`` leaves them for its own runs."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from weir.importing.recognition import ReadFile
from weir.importing.recording import Operations, Rate, Recording, Summary
from weir.results.errors import ResultError
from weir.results.folder import RUN_FILE
from weir.results.imported_records import Imported, ImportedOperations
from weir.results.run_digest import write_with_digest
from weir.results.schema import Failure, Parameter, Plan, Run, Verification
from weir.results.schema import Rate as StoredRate

ZONE_UNKNOWN = "The output names its start without a time zone; it is stored as if it were UTC."
START_UNKNOWN = "The output does not name its start; it is the time at which the file was changed."
RANKS_UNKNOWN = "The output does not state the number of processes."
SHORT = 12
"""Digits of the SHA-256 in the names of folders and in ids."""


@dataclass(frozen=True)
class Written:
    """Run folders of one file."""

    folders: Sequence[Path]
    is_new: bool
    """False if the same file was imported into this folder before."""


def write(read: ReadFile, root: Path, label: str = "") -> Written:
    """Writes the run folders of one file below ``root``; all of them appear at once.

    Their name is that of the content, so the same file is imported once, also by several processes
    at a time.
    """
    programs = "-".join(dict.fromkeys(one.program for one in read.recordings))
    folder = root / f"{programs}-{read.sha256[:SHORT]}"
    single = len(read.recordings) == 1
    places = [
        Path() if single else Path(f"{number:02}-{_slug(one.label)}")
        for number, one in enumerate(read.recordings, 1)
    ]
    unfinished = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
    try:
        if not folder.exists():
            unfinished.mkdir(parents=True)
            for number, (place, one) in enumerate(zip(places, read.recordings, strict=True), 1):
                (unfinished / place).mkdir(exist_ok=True)
                run = run_of(read, one, number, _label(label, one, single))
                write_with_digest(unfinished / place, run)
            unfinished.rename(folder)
            return Written([folder / place for place in places], True)
    except OSError as error:
        if not folder.exists():  # Otherwise another process was faster.
            raise ResultError(f"{folder} cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    there = [folder / place for place in places if (folder / place / RUN_FILE).is_file()]
    return Written(there, False)


def _label(given: str, recording: Recording, single: bool) -> str:
    """Returns the label of a run, which names the program beside runs of others."""
    if not given:
        return " ".join(dict.fromkeys((recording.program, recording.label)))
    return given if single else f"{given}: {recording.label}"


def _slug(label: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:40] or "run"


def run_of(read: ReadFile, recording: Recording, number: int, label: str) -> Run:
    """Returns the run of one recording of a file."""
    remarks = list(recording.remarks)
    started = recording.started
    if started is None:
        remarks.append(START_UNKNOWN)
        started = datetime.fromtimestamp(read.file.stat().st_mtime, UTC)
    elif started.tzinfo is None:
        remarks.append(ZONE_UNKNOWN)
    if recording.ranks == 0:
        remarks.append(RANKS_UNKNOWN)
    stamp = started.strftime("%Y-%m-%dT%H:%M:%SZ")
    failure = recording.failure
    return Run(
        format="weir-run",
        format_version=1,
        id="-".join(
            (
                stamp.replace("-", "").replace(":", ""),
                *(recording.program, read.sha256[:SHORT], str(number)),
            )
        ),
        workload=recording.program,
        label=label,
        status="failed" if failure else "complete",
        failure=Failure(message=failure, cause="as reported", operation=recording.program)
        if failure
        else None,
        started_utc=stamp,
        finished_utc=None,
        command=list(recording.command),
        parameters={
            name: Parameter(value=value, origin="file")
            for name, value in recording.parameters.items()
        },
        plan=Plan(
            ranks=recording.ranks,
            files=0,
            memory_bytes_per_rank=0,
            memory_bytes_total=0,
            disk_bytes_total=0,
            phases=[],
        ),
        expectation=None,
        verdict=None,
        repetitions=[],
        rates=[_rate(one) for one in recording.rates],
        histograms=[],
        nodes=[],
        verification=Verification(
            performed=False,
            how="it is not known whether the program checked what it read",
            seed="",
            compressible_percent=0,
            bytes_verified=0,
            errors=[],
        ),
        clocks=None,
        environment=None,
        warnings=list(recording.doubts),
        imported=Imported(
            program=recording.program,
            version=recording.version,
            file=str(read.file),
            sha256=read.sha256,
            imported_utc=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            repetitions=max(
                [_number(one.values) for one in recording.rates]
                + [_number(one.values) for one in recording.operations]
            ),
            operations=[_operations(one) for one in recording.operations],
            stated=dict(recording.stated),
            remarks=remarks,
        ),
    )


def _number(values: Sequence[float] | Summary) -> int:
    return values.number if isinstance(values, Summary) else len(values)


def _rate(rate: Rate) -> StoredRate:
    return StoredRate.of(
        rate.values, direction=rate.direction, metric=rate.metric, headline=rate.headline
    )


def _operations(one: Operations) -> ImportedOperations:
    about = {
        "action": one.action,
        "direction": one.direction,
        "metric": one.metric,
        "latencies": one.latencies,
    }
    if not isinstance(one.values, Summary):
        return ImportedOperations.of(one.values, **about)
    known = one.values
    return ImportedOperations(
        values=[],
        median=known.mean,
        low=known.low,
        high=known.high,
        # The range of n repetitions covers the median unless all are on one side of it.
        confidence=1 - 2.0 ** (1 - known.number),
        converged=False,
        **about,
    )
