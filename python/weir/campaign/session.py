"""One session of a campaign: lock, journal, estimate, runs, and its end."""

from __future__ import annotations

import dataclasses
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from rich.console import Console

from weir.bench.errors import FAILED, INTERRUPTED, BenchError
from weir.bench.job import calibrated_for, moves_bytes, preparation_folder
from weir.bench.progress import progress_display
from weir.campaign import display
from weir.campaign.estimate import (
    CALIBRATION_SECONDS,
    Estimator,
    Rates,
    assumed_rates,
    expected_rates,
    planned_seconds,
)
from weir.campaign.execution import Execution, Result, Step, Watch
from weir.campaign.expecting import Expecting
from weir.campaign.folder import clear_preparations
from weir.campaign.journal import JOURNAL_FILE, Journal, read_journals
from weir.campaign.lock import machine_lock
from weir.campaign.setup import JobOf, Prepared, Setup
from weir.results.campaign import RUNS_FOLDER
from weir.results.figures import NOTICE, headlines_of
from weir.results.finalize import FinalizedRun
from weir.results.platform import Platform
from weir.results.quantities import value_text
from weir.results.schema import Run

SHOWN_STEPS = ("create", "open")
"""Steps of the workload open that the line about a run shows."""
UNFINISHED = 75
"""Exit status of an unfinished campaign, which can be resumed (EX_TEMPFAIL of sysexits.h)."""


@dataclass(frozen=True)
class Session:
    """The options of a session, besides the campaign itself."""

    output: Path
    job_of: JobOf
    platform: Platform | None
    assumed_rate: float
    run_timeout: float | None
    time_limit: float | None
    only: frozenset[int] | None
    side_by_side: bool
    console: Console
    messages: Console
    tell: Callable[[str], None]
    on_finalized: Callable[[Path], None]
    monitor_seconds: float | None = None


def first_estimator(setup: Setup, rates: Rates, *, calibrates: bool) -> Estimator:
    """Returns an estimator that uses only the plans."""
    keys = {
        (one.ranks, one.tasks_per_node, calibrated_for(one.planned)) for one in setup.combinations
    }
    share = CALIBRATION_SECONDS * len(keys) / len(setup.combinations) if calibrates else 0.0
    return Estimator([share + _planned(one, rates) for one in setup.combinations])


Follow = Callable[[Result, float], Setup | None]
"""Returns a campaign with further runs, given how those before ended and the seconds that are left;
None if it is at its end."""


def run_session(setup: Setup, session: Session, follow: Follow | None = None) -> Result:
    """Makes the remaining runs and returns how it ended; the campaign's folder exists.

    With ``follow`` the campaign grows: it is asked for further runs when all are done.
    """
    started = time.monotonic()
    with ExitStack() as held:
        held.enter_context(_ended_by_signals())
        descriptor = held.enter_context(
            machine_lock(
                f"{setup.campaign.name} in {session.output.absolute()}",
                session.tell,
                side_by_side=session.side_by_side,
            )
        )
        journal = held.enter_context(Journal(_journal_file(session)))
        entries = read_journals(session.output, session.tell)
        if not session.side_by_side:
            clear_preparations(session.output)
        expecting = Expecting(session.tell, session.platform, session.output.absolute().parent)
        calibrates = session.platform is None
        rates = assumed_rates(session.assumed_rate)
        execution = Execution(
            setup=setup,
            output=session.output,
            journal=journal,
            entries=entries,
            estimator=first_estimator(setup, rates, calibrates=calibrates),
            expecting=expecting,
            job_of=session.job_of,
            inherited=(descriptor,),
            run_timeout=session.run_timeout,
            deadline=None if session.time_limit is None else started + session.time_limit,
            watch=_silent(session),
            only=session.only,
            monitor_seconds=session.monitor_seconds,
        )
        if execution.waiting():
            rates = _first_rates(setup, execution, session, rates)
            execution.estimator = first_estimator(setup, rates, calibrates=calibrates)
            execution.learn()
            _say_estimate(session, execution, rates)
        on_step = held.enter_context(progress_display(session.messages, display.state_of))
        execution.watch = _watch(session, on_step)
        result = execution.run()
        while follow is not None and result.outcome == "complete":
            left = math.inf if execution.deadline is None else execution.deadline - time.monotonic()
            try:
                grown = follow(result, left)
            except KeyboardInterrupt:
                result.outcome, result.reason = "interrupted", "it was stopped between two runs"
                break
            if grown is None:
                break
            execution.grow(grown, [_planned(one, rates) for one in grown.combinations])
            before, result = result, execution.run()
            result.failed = {**before.failed, **result.failed}
        return result


def _planned(one: Prepared, rates: Rates) -> float:
    return planned_seconds(one.planned, one.ranks, rates)


def _first_rates(setup: Setup, execution: Execution, session: Session, assumed: Rates) -> Rates:
    """Returns rates for the estimate from the first run's expectation, which is needed anyway."""
    run = execution.waiting()[0]
    prepared = setup.combinations[run.combination]
    if not moves_bytes(prepared.planned):
        return dataclasses.replace(
            assumed, how="the time to start a run, because no run moves bytes"
        )
    job = session.job_of(prepared.ranks, prepared.tasks_per_node)
    with preparation_folder(session.output / RUNS_FOLDER / "estimate") as folder:
        made = execution.expecting.expect(job, prepared.planned, run.block, folder)
    work = execution.expecting.work_per_second() or assumed.work_per_second
    return expected_rates(made, work, assumed, "the expectation of the first run")


def _say_estimate(session: Session, execution: Execution, rates: Rates) -> None:
    learned = f" and {len(execution.done)} finished runs" if execution.done else ""
    waiting = len(execution.waiting())
    limit = ""
    if session.time_limit is not None:
        limit = f"; time limit {display.duration_text(session.time_limit)}"
    session.console.print(
        f"Estimate: about {display.duration_text(execution.seconds_left())} for {waiting} runs, "
        f"by {rates.how}{learned}{limit}",
        highlight=False,
    )


def _journal_file(session: Session) -> Path:
    if session.only is None:
        return session.output / JOURNAL_FILE
    # This is a task of a job array: no two machines append to one file.
    first = min(session.only)
    return session.output / f"journal-from-{first:04d}.jsonl"


def _silent(session: Session) -> Watch:
    return Watch(lambda _: None, lambda _step, _runs: None, session.on_finalized, session.tell)


def _figures_text(run: Run) -> Iterator[str]:
    """Yields what a run measured, and how that compares with its expectation."""
    for figure in headlines_of(run):
        if figure.unit == "s" and figure.function not in (*SHOWN_STEPS, NOTICE):
            continue
        text = f"{run.label} {figure.name} {value_text(figure.series.median, figure.unit)}"
        judged = figure.verdict
        if judged is not None and judged.ratio is not None and figure.direction is None:
            text += f", {judged.ratio:.2f} of the expected rate, {judged.verdict}"
        elif judged is not None:
            text += f" {judged.verdict}"
        yield text


def _watch(session: Session, on_step: Callable[[Step], None]) -> Watch:
    def on_finished(step: Step, finalized: list[FinalizedRun]) -> None:
        on_step(step)
        rates = [text for one in finalized for text in _figures_text(one.run)]
        display.show_finished(session.messages, step, rates)

    return Watch(on_step, on_finished, session.on_finalized, session.tell)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP between runs end a campaign in order, as Ctrl-C does.

    During a run ``weir.bench.process`` handles the signals and ends the run's job first.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ending_error(result: Result, total: int, again: str) -> BenchError | None:
    """Returns the line and exit status with which a session ends; None if all runs are done."""
    state = f"{result.done} of {total} runs are done"
    if result.outcome == "interrupted":
        text = f"interrupted, {state} ({result.reason}); continue with: {again}"
        return BenchError(text, INTERRUPTED)
    if result.outcome == "time limit":
        text = f"unfinished, {state}: the time limit is near and {result.reason}"
        return BenchError(f"{text}; continue with: {again}", UNFINISHED)
    if result.outcome == "failures":
        text = (
            f"ended early, {state}: {result.reason}; remove the cause, then continue with: {again}"
        )
        return BenchError(text, FAILED)
    if result.failed:
        text = f"{len(result.failed)} runs failed, {state}; repeat them with: {again}"
        return BenchError(text, FAILED)
    return None
