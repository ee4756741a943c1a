"""Runs a monitor in a process of its own beside a job, and puts its samples into the run folders.

The monitor begins before the launcher and ends after it, so that what others do is seen while the
job moves nothing, and late writes of the page cache are seen at all.
"""

from __future__ import annotations

import os
import resource
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from weir.analysis.others import DIRECTIONS, Own, Watched, judge_others
from weir.bench.messages import Progress
from weir.errors import Error
from weir.monitor.__main__ import READY
from weir.monitor.counters import Key
from weir.monitor.elsewhere import Elsewhere, Recorded, hosts_of
from weir.monitor.holding import counters_holding
from weir.monitor.origin import Line, Origin, origin_of
from weir.monitor.recording import Reader
from weir.monitor.sampler import SECOND
from weir.monitor.samples import Part, Summary, rows_of, write_together
from weir.placement import gluster
from weir.placement.following import Following
from weir.results.errors import ResultError
from weir.results.events import OPERATION_NAMES, SAMPLES_FILE, map_event_columns
from weir.results.expectations import Direction
from weir.results.folder import find_run_folders, load_run, write_run
from weir.results.monitor_records import (
    Monitor,
    MonitorClock,
    MonitoredCounter,
    MonitoredHost,
)
from weir.results.placements import Placement, write_placements
from weir.results.schema import CacheVerdict, Run
from weir.results.served_by import served_by

RECORDING = "monitor.recording"
START_SECONDS = 20.0
END_SECONDS = 30.0
LEAST_AROUND_SECONDS = 1.0
ACCOUNTED_BYTES = 512
"""Unit in which the kernel counts input and output of ended processes (getrusage(2))."""


@dataclass
class Beside:
    """A monitor beside a job; ``directories`` are where the job's files will lie."""

    interval_seconds: float
    directories: Sequence[str]
    tell: Callable[[str], None]
    launched_ns: int = 0
    lines: list[Line] = field(default_factory=list)
    holding: list[Key] = field(default_factory=list)
    accounted: dict[Direction, int] = field(default_factory=dict)
    """What the kernel moved between storage and the processes below the launcher."""
    following: Following | None = None
    """Follows the job's files, to know on which targets they lie."""
    elsewhere: list[Recorded] = field(default_factory=list)
    """What monitors of other hosts have recorded."""

    @property
    def around_seconds(self) -> float:
        """How long the monitor runs before the job and after it."""
        return max(LEAST_AROUND_SECONDS, 2 * self.interval_seconds)

    def seen(self, step: Progress) -> None:
        """Notes when a line of progress arrived."""
        now = time.monotonic_ns()
        self.lines.append(Line(now, step.label, step.repetition, step.ended))
        if self.following is not None and not step.ended:
            self.following.begins(step.label, step.repetition)

    @contextmanager
    def running(self, folder: Path) -> Iterator[None]:
        """Runs the monitor, which records into ``folder``; a failure of it never ends the job."""
        self.holding = counters_holding(self.directories)
        command = [sys.executable, "-m", "weir.monitor", str(self.interval_seconds)]
        child = subprocess.Popen(
            [*command, str(folder / RECORDING)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        others: list[Elsewhere] = []
        try:
            others = self._begun_elsewhere()
            self._wait_for_first_sample(child)
            time.sleep(self.around_seconds)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.launched_ns = time.monotonic_ns()
            if self.following is not None:
                self.following.start()
            yield
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.accounted = {
                "read": (after.ru_inblock - before.ru_inblock) * ACCOUNTED_BYTES,
                "write": (after.ru_oublock - before.ru_oublock) * ACCOUNTED_BYTES,
            }
            time.sleep(self.around_seconds)
        finally:
            if self.following is not None:
                self.following.end()
            self._end(child)
            self._end_elsewhere(others, folder)

    def _begun_elsewhere(self) -> list[Elsewhere]:
        """Starts the monitors of other hosts all at once, and returns those that answer."""
        started = []
        for host in hosts_of(os.environ):
            try:
                started.append(Elsewhere(host, self.interval_seconds, os.environ))
            except Error as error:
                self.tell(f"the monitor of {host} did not start: {error}")
        begun = []
        for one in started:
            try:
                one.begin()
                begun.append(one)
            except Error as error:
                said = one.close()
                self.tell(f"the monitor of {one.host} did not start: {said or error}")
        return begun

    def _end_elsewhere(self, others: Sequence[Elsewhere], folder: Path) -> None:
        for one in others:
            reason = ""
            try:
                self.elsewhere.append(one.finish(folder))
            except (Error, OSError) as error:
                reason = str(error)
            said = one.close()
            if reason:
                self.tell(f"the monitor of {one.host} failed: {said or reason}")

    def _wait_for_first_sample(self, child: subprocess.Popen[str]) -> None:
        assert child.stdout is not None
        ready, _, _ = select.select([child.stdout], [], [], START_SECONDS)
        if not ready or child.stdout.readline().strip() != READY:
            self.tell("the monitor did not start: the job runs without it")

    def _end(self, child: subprocess.Popen[str]) -> None:
        try:
            _, said = child.communicate("", timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            _, said = child.communicate(timeout=END_SECONDS)
            said = "it did not end and was killed"
        if child.returncode != 0:
            lines = said.strip().splitlines() or [f"exit status {child.returncode}"]
            self.tell(f"the monitor failed: {lines[-1]}")


def deliver(beside: Beside, output: Path) -> None:
    """Puts the samples into every run folder below ``output``, with what they say in run.json.

    What is wrong is told: the job's results are complete without a monitor.
    """
    recording = output / RECORDING
    if not recording.exists():
        return
    try:
        folders = find_run_folders(output)
        runs = {folder: load_run(folder) for folder in folders}
        if not runs:
            return
        origin = _origin(beside, list(runs.values()))
        first = folders[0] / SAMPLES_FILE
        parts = [Part(recording, origin.at_ns)]
        for one in beside.elsewhere:
            began_ns = origin.at_ns + one.apart.middle_ns
            parts.append(Part(output / one.file, began_ns, one.host))
        summaries = write_together(parts, first)
        for folder in folders[1:]:
            shutil.copyfile(first, folder / SAMPLES_FILE)
        placed = _placements(beside, runs, summaries)
        places = _places(beside, [row for rows in placed.values() for row in rows])
        monitor = _record(beside, recording, summaries, runs, origin, places)
        for folder, run in runs.items():
            write_run(folder, run.model_copy(update={"monitor": monitor}))
            if rows := placed[folder]:
                write_placements(folder, rows)
        for part in parts:
            part.recording.unlink()
    except (Error, OSError) as error:
        beside.tell(f"the samples of the monitor stay in {recording}: {error}")


def _origin(beside: Beside, runs: Sequence[Run]) -> Origin:
    repetitions = {(run.label, one.index): one for run in runs for one in run.repetitions}
    clocks = [run.clocks for run in runs if run.clocks is not None]
    return origin_of(
        beside.launched_ns,
        beside.lines,
        repetitions,
        ranks_error_ns=max((one.error_bound_ns for one in clocks), default=0),
        stated_ns=_stated_start(runs),
    )


def _stated_start(runs: Sequence[Run]) -> int | None:
    """Returns the start of the runs on rank 0's clock, if rank 0 is on this host."""
    here = socket.gethostname()
    for run in runs:
        first = next((node.host for node in run.nodes if 0 in node.ranks), None)
        if run.clocks is not None and first == here:
            return run.clocks.started_ns
    return None


def _record(
    beside: Beside,
    recording: Path,
    summaries: Sequence[Summary],
    runs: Mapping[Path, Run],
    origin: Origin,
    places: _Places,
) -> Monitor:
    summary = summaries[0]
    holding = [key for key in beside.holding if key in summary.totals]
    recorded = [recording, *(recording.with_name(one.file) for one in beside.elsewhere)]
    shifts = [0, *(one.apart.middle_ns for one in beside.elsewhere)]
    held: list[set[Key]] = [set(holding), *(set[Key]() for _ in beside.elsewhere)]
    served = {one: _served(list(runs.values()), one) for one in DIRECTIONS}
    verified = sum(run.verification.bytes_verified for run in runs.values())
    if holding or not places.targets:
        own = Own(beside.accounted, _transferred(runs), verified)
        missing: list[str] = []
    else:
        # The kernel accounts for block devices alone: what servers moved has all ranks' events.
        moved = _transferred(runs, all_hosts=True)
        own = Own({}, moved if places.copies == 1 else None, verified)
        held = [{key for key in one.totals if places.has(key)} for one in summaries]
        known = {key.name for keys in held for key in keys}
        missing = sorted(places.targets - known)
    names = sorted({key.name for keys in held for key in keys})
    watched = _watched(beside, list(zip(recorded, shifts, held, strict=True)))
    others = judge_others(names, watched, own, served, missing)
    return Monitor(
        file=SAMPLES_FILE,
        host=summary.header["host"],
        sources=summary.header["sources"],
        interval_seconds=summary.header["interval_ns"] / SECOND,
        resolution=summary.header["resolution"],
        seconds=summary.seconds,
        samples=summary.samples,
        missed=summary.missed,
        longest_reading_seconds=summary.longest_reading_ns / SECOND,
        processor_seconds=summary.cost_ns / SECOND,
        clock=MonitorClock(
            how=origin.how,
            error_bound_ns=origin.error_bound_ns,
            likely_error_ns=origin.likely_error_ns,
        ),
        hosts=[
            _host_of(one, its, origin)
            for one, its in zip(beside.elsewhere, summaries[1:], strict=True)
        ],
        counters=[
            counter
            for one, host, keys in zip(
                summaries, [None, *(one.host for one in beside.elsewhere)], held, strict=True
            )
            for counter in _counters_of(one, host, keys)
        ],
        others=others,
    )


def _host_of(one: Recorded, summary: Summary, origin: Origin) -> MonitoredHost:
    """Returns what is known of the monitor of another host; errors of two clocks add up."""
    apart = one.apart.error_bound_ns
    bound = None if origin.error_bound_ns is None else origin.error_bound_ns + apart
    likely = None if origin.likely_error_ns is None else origin.likely_error_ns + apart
    return MonitoredHost(
        host=one.host,
        sources=summary.header["sources"],
        samples=summary.samples,
        missed=summary.missed,
        longest_reading_seconds=summary.longest_reading_ns / SECOND,
        processor_seconds=summary.cost_ns / SECOND,
        clock=MonitorClock(
            how="the host was asked for its clock before the job and after it; " + origin.how,
            error_bound_ns=bound,
            likely_error_ns=likely,
        ),
    )


def _counters_of(
    summary: Summary, host: str | None, holding: Collection[Key]
) -> list[MonitoredCounter]:
    return [
        MonitoredCounter(
            host=host,
            kind=key.kind,
            source=key.source,
            name=key.name,
            holds_files=key in holding,
            bytes_read=total.bytes_read,
            bytes_written=total.bytes_written,
            operations=total.operations,
            busy_seconds=total.busy_ns / SECOND,
            largest_bytes_per_second=total.largest_rate,
        )
        for key, total in sorted(summary.totals.items())
    ]


COUNTED_BY = {"lustre": "obdfilter", "ceph": "ceph", "gluster": "gluster", "beegfs": "beegfs"}
"""Which source counts the targets of a file system."""


@dataclass(frozen=True)
class _Places:
    """The targets on which the job's files lay, as counters call them, and by which sources."""

    targets: frozenset[str]
    sources: frozenset[str]
    copies: int
    """Most copies of a byte; of several, only one has its target named."""

    def has(self, key: Key) -> bool:
        return key.kind == "target" and key.source in self.sources and key.name in self.targets


def _placements(
    beside: Beside, runs: Mapping[Path, Run], summaries: Sequence[Summary]
) -> dict[Path, list[Placement]]:
    """Returns where the files of each run lay, with the names by which targets are counted."""
    following = beside.following
    if following is None:
        return {folder: [] for folder in runs}
    found = {folder: list(following.placements(run.label)) for folder, run in runs.items()}
    if "gluster" not in following.sources.values():
        return found
    counted = {
        key.name for one in summaries for key in one.totals if key.source == COUNTED_BY["gluster"]
    }
    names = gluster.names_in_profile(
        {row.target for rows in found.values() for row in rows}, counted
    )
    return {
        folder: [row._replace(target=names.get(row.target, row.target)) for row in rows]
        for folder, rows in found.items()
    }


def _places(beside: Beside, rows: Sequence[Placement]) -> _Places:
    following = beside.following
    if following is None:
        return _Places(frozenset(), frozenset(), 1)
    kinds = {COUNTED_BY[one] for one in following.sources.values() if one in COUNTED_BY}
    if kinds == {"beegfs"}:  # It counts servers, not their targets.
        names = frozenset(row.server for row in rows if row.server)
    else:
        names = frozenset(row.target for row in rows) if kinds else frozenset()
    return _Places(names, frozenset(kinds), max((row.copies for row in rows), default=1))


def _watched(beside: Beside, parts: Sequence[tuple[Path, int, set[Key]]]) -> Watched:
    """Sums up the targets before the launcher's start and after it.

    Each part is a recording, by how much its clock is ahead, and the counters of the targets. The
    times are those of the first.
    """
    sums: list[dict[Direction, int]] = [dict.fromkeys(DIRECTIONS, 0) for _ in range(2)]
    spans = []
    for recording, ahead_ns, holding in parts:
        with Reader(recording) as reader:
            summary = Summary(reader.header)
            for _, time_ns, key, values in rows_of(reader, summary):
                if key in holding:
                    part = sums[time_ns - ahead_ns > beside.launched_ns]
                    part["read"] += values.bytes_read
                    part["write"] += values.bytes_written
        spans.append((summary.first_ns, summary.last_ns))
    first_ns, last_ns = spans[0]
    return Watched(
        before_seconds=max(0.0, (beside.launched_ns - first_ns) / SECOND),
        before=sums[0],
        during_seconds=max(0.0, (last_ns - beside.launched_ns) / SECOND),
        during=sums[1],
    )


def _transferred(
    runs: Mapping[Path, Run], *, all_hosts: bool = False
) -> dict[Direction, int] | None:
    """Returns the bytes of all transfers of the ranks on this host, warm-ups included.

    None if the events of a run are not complete.
    """
    own: dict[Direction, int] = dict.fromkeys(DIRECTIONS, 0)
    here = socket.gethostname()
    for folder, run in runs.items():
        if run.status != "complete":
            return None
        hosts = {node.host for node in run.nodes}
        ranks = [rank for node in run.nodes if node.host == here for rank in node.ranks]
        try:
            columns = map_event_columns(folder)
        except ResultError:
            return None
        elsewhere = bool(hosts - {here}) and not all_hosts
        of_here = np.isin(columns["rank"], ranks) if elsewhere else True
        for direction in DIRECTIONS:
            chosen = (columns["operation"] == OPERATION_NAMES.index(direction)) & of_here
            own[direction] += int(columns["bytes"][chosen].sum())
    return own


def _served(runs: Sequence[Run], direction: Direction) -> CacheVerdict | None:
    """Returns the verdict of all runs of the job together."""
    found = {served_by(run, direction) for run in runs} - {None}
    return found.pop() if len(found) == 1 else ("mixed" if found else None)
