"""Runs a campaign: one run after the other, each complete on disk before the journal says so.

These steps are done for each run, in the design's order:

1. If the journal says that the run is done, skip it.
2. If it is not expected to end before the time limit, end the campaign, unfinished. Else wait
   until the pause before it has passed since the run before.
3. Write ``begin`` to the journal, and clear what an interrupted earlier attempt left.
4. Calibrate (unless there is a platform description) once per block, directory, striping,
   ranks, transfer and size of files; then expect, run, finalize and report, by the functions of
   ``weir.bench.job``.
5. Flush all files of the run to disk, then write ``done`` to the journal.

A crash, a signal or the end of a job between any two instructions thus loses at most one run.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from weir.bench.again import record_start, start_of
from weir.bench.deciding import decided
from weir.bench.errors import INTERRUPTED, BenchError
from weir.bench.job import (
    Job,
    can_be_expected,
    monitor_of,
    preparation_folder,
    run_job,
    timeout_of,
    utc_now,
)
from weir.bench.launcher import misplaced
from weir.bench.messages import Progress
from weir.campaign.arguments import name_of
from weir.campaign.estimate import Estimator
from weir.campaign.expecting import Expecting
from weir.campaign.folder import clear_unfinished, flush_tree
from weir.campaign.journal import Entry, Journal, done_runs
from weir.campaign.setup import JobOf, Prepared, Setup
from weir.model.verdict import verdict
from weir.monitor.beside import Beside
from weir.report.anomalies import examine
from weir.results.campaign import CampaignRun, run_output
from weir.results.errors import ResultError
from weir.results.finalize import FinalizedRun, finalize

MOST_FAILURES = 3
"""A campaign ends after this many consecutive failures, because all its runs seem affected."""
NO_SPACE = ("No space left on device", "ENOSPC", "Disk quota exceeded")

Outcome = Literal["complete", "time limit", "interrupted", "failures"]


@dataclass(frozen=True)
class Step:
    """Where a campaign is, for display."""

    run: CampaignRun
    name: str
    done: int
    total: int
    seconds_left: float
    within: str = ""


@dataclass(frozen=True)
class Watch:
    """Functions that are called while a campaign runs."""

    on_step: Callable[[Step], None]
    on_finished: Callable[[Step, list[FinalizedRun]], None]
    on_finalized: Callable[[Path], None]
    tell: Callable[[str], None]


@dataclass
class Result:
    """How a campaign ended, and why."""

    outcome: Outcome
    done: int
    failed: dict[int, str] = field(default_factory=dict)
    reason: str = ""


@dataclass
class Execution:
    """One session of a campaign: from its start, or where the last session ended, to its end."""

    setup: Setup
    output: Path
    journal: Journal
    entries: list[Entry]
    estimator: Estimator
    expecting: Expecting
    job_of: JobOf
    inherited: tuple[int, ...]
    run_timeout: float | None
    deadline: float | None
    """By time.monotonic(): no run begins unless it is expected to end before this time."""
    watch: Watch
    only: frozenset[int] | None = None
    monitor_seconds: float | None = None
    """The sampling interval of a monitor beside each job; None: no monitor."""

    def __post_init__(self) -> None:
        self._in_a_row = 0
        self._failed: set[int] = set()
        self._by_nodes: dict[int, Prepared] = {}
        self.done = done_runs(self.entries)
        self.learn()

    def learn(self) -> None:
        """Passes the times of all runs that are done to the estimator."""
        for run in self.setup.campaign.runs:
            if run.number in self.done:
                self.estimator.learn(run.combination, self.done[run.number].seconds)

    def grow(self, setup: Setup, planned: list[float]) -> None:
        """Takes over a campaign that begins as this one and has further combinations or runs.

        ``planned`` has the estimated seconds of all its combinations.
        """
        self.estimator.planned.extend(planned[len(self.estimator.planned) :])
        self.setup = setup

    def waiting(self) -> list[CampaignRun]:
        """Returns the runs that this session must make, in order."""
        return [
            run
            for run in self.setup.campaign.runs
            if run.number not in self.done and (self.only is None or run.number in self.only)
        ]

    def seconds_left(self) -> float:
        """Returns the estimated time of all remaining runs of this session."""
        waiting = self.waiting()
        quiet = sum(
            self.setup.campaign.pause_before(run, last)
            for last, run in itertools.pairwise([self._last(), *waiting])
            if run is not None
        )
        return quiet + sum(self.estimator.seconds(run.combination) for run in waiting)

    def _last(self) -> CampaignRun | None:
        """Returns the run that ended last, in this session or an earlier one."""
        if not self.done:
            return None
        number = max(self.done, key=lambda one: self.done[one].at)
        return next((run for run in self.setup.campaign.runs if run.number == number), None)

    def _quiet_left(self, run: CampaignRun) -> float:
        """Returns the part of the pause before a run that has not passed yet."""
        last = self._last()
        pause = self.setup.campaign.pause_before(run, last)
        if last is None or pause == 0:
            return 0.0
        ended = datetime.fromisoformat(self.done[last.number].at)
        return min(pause, max(0.0, pause - (utc_now() - ended).total_seconds()))

    def run(self) -> Result:
        """Makes every run that is not done."""
        result = Result("complete", len(self.done))
        for run in self.waiting():
            if run.number in self._failed:
                continue
            quiet = self._quiet_left(run)
            needed = quiet + self.estimator.cautious_seconds(run.combination)
            if self.deadline is not None and time.monotonic() + needed > self.deadline:
                result.outcome = "time limit"
                result.reason = f"the next run is expected to take {needed:.0f} s"
                break
            try:
                if quiet > 0:
                    self.watch.on_step(self._step(run, f"quiet for {quiet:.0f} s"))
                    time.sleep(quiet)
                self._make(run)
            except KeyboardInterrupt:
                result.outcome, result.reason = "interrupted", "it was stopped between two runs"
                break
            except BenchError as error:
                if error.exit_status == INTERRUPTED:
                    result.outcome, result.reason = "interrupted", str(error)
                    break
                self._in_a_row += 1
                self._failed.add(run.number)
                result.failed[run.number] = str(error)
                if self._ends_all(run, error):
                    result.outcome, result.reason = "failures", str(error)
                    break
                continue
            self._in_a_row = 0
        result.done = len(self.done)
        return result

    def _ends_all(self, run: CampaignRun, error: BenchError) -> bool:
        self.watch.tell(f"run {run.number} ({self._name(run)}) failed: {error}")
        return self._in_a_row >= MOST_FAILURES or any(word in str(error) for word in NO_SPACE)

    def _name(self, run: CampaignRun) -> str:
        return name_of(self.setup.campaign.combinations[run.combination])

    def _step(self, run: CampaignRun, within: str = "") -> Step:
        total = len(self.setup.campaign.runs)
        return Step(run, self._name(run), len(self.done), total, self.seconds_left(), within)

    def _make(self, run: CampaignRun) -> None:
        estimated = self.estimator.seconds(run.combination)
        started = time.monotonic()
        self.watch.on_step(self._step(run))
        self._append("begin", run, 0.0, estimated)
        try:
            finalized = self._execute(run, self._decided(run.combination))
        except (BenchError, ResultError, OSError) as error:
            status = error.exit_status if isinstance(error, BenchError) else 1
            reason = str(error) or "weir-bench ended with an error"
            if status != INTERRUPTED:
                seconds = time.monotonic() - started
                self._append("failed", run, seconds, estimated, reason)
            raise BenchError(reason, status) from None
        seconds = time.monotonic() - started
        self._append("done", run, seconds, estimated)
        self.estimator.learn(run.combination, seconds)
        self.watch.on_finished(self._step(run), finalized)

    def _append(
        self,
        event: Literal["begin", "done", "failed"],
        run: CampaignRun,
        seconds: float,
        estimated: float,
        reason: str = "",
    ) -> None:
        entry = Entry(
            event=event,
            run=run.number,
            at=utc_now().isoformat(),
            seconds=seconds,
            estimated_seconds=estimated,
            reason=reason,
        )
        self.journal.append(entry)
        if event == "done":
            self.done[run.number] = entry

    def _decided(self, combination: int) -> Prepared:
        """Returns a combination with what the nodes decide; once, so that its runs are alike."""
        prepared = self.setup.combinations[combination]
        if not prepared.planned.decided:
            return prepared
        if combination not in self._by_nodes:
            planned, arguments = decided(self._job(prepared), prepared.arguments, prepared.planned)
            self._by_nodes[combination] = dataclasses.replace(
                prepared, arguments=arguments, planned=planned
            )
        return self._by_nodes[combination]

    def _execute(self, run: CampaignRun, prepared: Prepared) -> list[FinalizedRun]:
        output = run_output(self.output, run.number)
        aside = clear_unfinished(output)
        if aside is not None:
            self.watch.tell(f"an earlier attempt at run {run.number} is kept in {aside}")
        job = self._job(prepared)
        said: list[str] = []

        def tell(text: str) -> None:
            said.append(text)

        def on_progress(step: Progress) -> None:
            within = f"{step.repetitions_done} of {step.repetitions_planned}"
            self.watch.on_step(self._step(run, within))

        with preparation_folder(output) as preparation:
            made = {}
            if can_be_expected(prepared.planned, self.expecting.platform):
                made = self.expecting.expect(job, prepared.planned, run.block, preparation)
            limit = self.run_timeout or timeout_of(prepared.planned, None)
            try:
                run_job(
                    job,
                    prepared.arguments,
                    output,
                    preparation,
                    made,
                    limit,
                    on_progress=on_progress,
                    tell=tell,
                    monitor=self._monitor(prepared, output),
                )
            except BenchError as error:
                # weir-bench's own lines were withheld here, so they go into the journal.
                reason = str(error) or "; ".join(said)
                raise BenchError(reason, error.exit_status) from None
        typed = ["weir", *sys.argv[1:]]
        platform = self.setup.campaign.platform
        record_start(output, start_of(job, prepared.arguments, typed, platform))
        purpose = self.setup.campaign.purpose_of(run)
        finalized = finalize(output, verdict, examine, purpose)
        wrong = misplaced([one.run for one in finalized], prepared.tasks_per_node)
        if wrong is not None:
            raise BenchError(wrong)
        unfinished = [one.run for one in finalized if one.run.status != "complete"]
        if unfinished:
            failure = unfinished[0].failure
            raise BenchError(failure.message if failure else "it did not complete")
        self.watch.on_finalized(output)
        flush_tree(output)
        return finalized

    def _monitor(self, prepared: Prepared, output: Path) -> Beside | None:
        if self.monitor_seconds is None:
            return None
        return monitor_of(prepared.planned, self.monitor_seconds, output, self.watch.tell)

    def _job(self, prepared: Prepared) -> Job:
        job = self.job_of(prepared.ranks, prepared.tasks_per_node)
        return dataclasses.replace(job, inherited=self.inherited)


def planned_bytes(setup: Setup) -> Mapping[str, int]:
    """Returns the bytes that all runs write and read in one repetition each."""
    totals = {"write": 0, "read": 0}
    for run in setup.campaign.runs:
        for one in setup.combinations[run.combination].planned.configurations:
            for phase in one.plan.phases:
                totals[phase.direction] += phase.bytes_total
    return totals
