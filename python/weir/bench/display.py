"""Displays ``weir bench``: plan, expectation before the run, progress, verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table

from weir.bench.action_table import add_verdict_rows, show_expected_actions, show_software
from weir.bench.flagfile_table import show_flagfile
from weir.bench.messages import Progress
from weir.bench.opening_table import show_opening
from weir.bench.program import PlannedJob
from weir.results.action_expectations import ExpectedAction
from weir.results.calibration import Calibration
from weir.results.platform import Platform
from weir.results.quantities import range_text, rate_text, seconds_text, size_text
from weir.results.record import VerdictWord
from weir.results.schema import Expectation, ExpectedRate, Run, Stage
from weir.results.served_by import served_by

COLOURS: dict[VerdictWord, str] = {
    "as expected": "green",
    "not decided": "cyan",
    "below": "yellow",
    "above": "red",
    "no expectation": "dim",
}
METRIC_NAMES = {
    "span": "first start to last end",
    "slowest_rank": "by the slowest rank",
    "sum_of_ranks": "sum over ranks",
    "foreground": "EAAR, over foreground time",
}


def show_plan(console: Console, planned: PlannedJob, command: Sequence[str]) -> None:
    """Prints how much will be moved, where, and how weir-bench is started."""
    largest = max(planned.configurations, key=lambda one: one.plan.disk_bytes_total)
    plan = largest.plan
    count = len(planned.configurations)
    console.print(
        f"Plan: {count} configuration{'s' if count > 1 else ''} on {plan.ranks} ranks, each up to "
        f"{size_text(plan.disk_bytes_total)} in {plan.files} files below "
        f"{escape(planned.directory)}, {size_text(planned.transfer_bytes)} per transfer, "
        f"{size_text(plan.memory_bytes_total)} of memory",
        highlight=False,
    )
    for note in planned.notes:
        console.print(f"Note: {escape(note)}", highlight=False)
    # Print one line, so that it can be copied.
    start = f"Start: {escape(' '.join(command))}"
    console.print(start, style="dim", highlight=False, soft_wrap=True)


def show_expectations(
    console: Console,
    planned: PlannedJob,
    source: Calibration | Platform,
    made: Mapping[str, Expectation],
) -> None:
    """Prints expected rates with one line per stage, once for configurations with equal ones."""
    console.print(_describe_source(source), highlight=False)
    groups: dict[str, tuple[ExpectedRate, list[str]]] = {}
    for one in planned.configurations:
        for rate in made[one.slug].rates:
            key = rate.model_dump_json()
            groups.setdefault(key, (rate, []))[1].append(one.label)
    for rate, labels in groups.values():
        _show_rate(console, rate, labels)
    of_actions: dict[str, tuple[list[ExpectedAction], list[str]]] = {}
    for one in planned.configurations:
        actions = made[one.slug].metadata
        if actions:
            key = "".join(action.model_dump_json() for action in actions)
            of_actions.setdefault(key, (actions, []))[1].append(one.label)
    for actions, labels in of_actions.values():
        show_expected_actions(console, actions, labels)


def _describe_source(source: Calibration | Platform) -> str:
    hosts = f"{source.hosts} host{'s' if source.hosts > 1 else ''}"
    if isinstance(source, Calibration):
        return (
            f"Calibration: {source.ranks} ranks on {hosts}, {escape(source.file_system)} at "
            f"{escape(source.directory)}, took {seconds_text(source.seconds)}"
        )
    measured = f", measured {source.measured_utc}" if source.measured_utc else ""
    doubtful = [fit.stage for fit in source.fits if not fit.fits]
    doubts = f"; does not fit: {escape(', '.join(doubtful))}" if doubtful else ""
    return f"Platform: {escape(source.name)}, {hosts}{measured}{doubts}"


def _show_rate(console: Console, rate: ExpectedRate, labels: Sequence[str]) -> None:
    low, high = rate.low_bytes_per_second, rate.high_bytes_per_second
    console.print(
        f"\n[bold]Expected {rate.direction} {rate_text(rate.expected_bytes_per_second)}[/bold] "
        f"({range_text(low, high)}, {METRIC_NAMES[rate.metric]}), limited by "
        f"[bold]{escape(rate.limiting_stage)}[/bold]",
        highlight=False,
    )
    console.print(f"  for {escape(', '.join(labels))}", highlight=False)
    stages = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
    for stage in rate.stages:
        limits = stage.limiting or stage.name == rate.limiting_stage
        mark = "<- slowest" if limits and len(rate.stages) > 1 else ""
        stages.add_row(
            stage.name,
            rate_text(stage.rate_bytes_per_second),
            _describe_times(stage),
            escape(stage.how),
            mark,
        )
    console.print(stages)
    console.print(f"  how: {escape(rate.how)}", style="dim", highlight=False)


def _describe_times(stage: Stage) -> str:
    """Returns how the stage's time is divided, such as ``1.20 s + 38 ms fixed``."""
    if stage.transfer_seconds is None or stage.fixed_seconds is None:
        return ""
    moving = seconds_text(stage.transfer_seconds)
    fixed = seconds_text(stage.fixed_seconds)
    return f"{moving} + {fixed} fixed" if stage.fixed_seconds > 0 else moving


@contextmanager
def progress_display(console: Console) -> Iterator[Callable[[Progress], None]]:
    """Shows a bar on a terminal, and prints one plain line per repetition elsewhere."""
    if not console.is_terminal:
        last: list[Progress] = []

        def print_line(step: Progress) -> None:
            if last and _place(last[-1]) == _place(step):
                return
            last.append(step)
            console.print(f"  {_describe(step)}", highlight=False, markup=False)

        yield print_line
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[at]}"),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("repetitions", total=None, at="")

        def move_bar(step: Progress) -> None:
            bar.update(
                task,
                completed=step.repetitions_done,
                total=max(step.repetitions_planned, step.repetitions_done),
                at=escape(_describe_place(step)),
            )

        yield move_bar


def _place(step: Progress) -> tuple[str, int, int]:
    return (step.label, step.repetition, step.repetitions_done)


def _describe_place(step: Progress) -> str:
    kind = "warm-up" if step.warmup else "repetition"
    return step.text or f"{step.label}: {kind} {step.repetition}"


def _describe(step: Progress) -> str:
    """Returns how far the job is; the number of repetitions may be known only in bounds."""
    if step.ended:
        return f"{step.repetitions_done} of {step.repetitions_done} done"
    number = f"{step.repetitions_planned}"
    if step.repetitions_most > step.repetitions_planned:
        number += f" to {step.repetitions_most}"
    return f"{step.repetitions_done} of {number} done, now {_describe_place(step)}"


def _add_unfinished_rows(table: Table, run: Run) -> None:
    """Adds the rates of the finished repetitions, without a verdict."""
    for rate in run.rates:
        if rate.headline:
            number = len(rate.values_bytes_per_second)
            table.add_row(
                escape(run.label),
                rate.direction,
                rate_text(rate.median_bytes_per_second),
                *["", ""],
                served_by(run, rate.direction) or "unknown",
                f"not judged: of {number} finished repetition{'' if number == 1 else 's'}",
            )


def show_verdicts(console: Console, runs: Sequence[Run]) -> None:
    """Prints one line per headline rate with its verdict, and common facts of runs once."""
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    table.add_column("run", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in ("measured", "expected", "ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    # A rate of bytes names what served it; operations on names have show_software instead.
    none_served = [""] if any(run.rates for run in runs) else []
    if none_served:
        table.add_column("served by", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    remarks: dict[str, list[str]] = {}
    software: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        if run.status != "complete":
            table.add_row(escape(run.label), *[""] * 4, *none_served, f"[red]{run.status}[/]")
            reason = run.failure.message if run.failure else "no reason was recorded"
            remarks.setdefault(f"{run.status}: {reason}", []).append(run.label)
            _add_unfinished_rows(table, run)
        elif run.opening or run.flag is not None:
            pass  # These workloads have a table of their own.
        elif run.metadata:
            software[run.label] = add_verdict_rows(table, run, COLOURS, none_served)
        elif not run.rates:
            words = "complete, no rate was measured"
            table.add_row(escape(run.label), *[""] * 4, *none_served, words)
        for rate in run.verdict.rates if run.verdict else []:
            table.add_row(
                escape(run.label),
                rate.direction,
                rate_text(rate.measured_bytes_per_second),
                "none" if rate.ratio is None else rate_text(rate.expected_bytes_per_second),
                "" if rate.ratio is None else f"{rate.ratio:.2f}",
                served_by(run, rate.direction) or "unknown",
                f"[{COLOURS[rate.verdict]}]{escape(rate.text)}[/]",
            )
        if run.environment is not None and not run.environment.quiet.quiet:
            remarks.setdefault(run.environment.quiet.text, []).append(run.label)
        for warning in run.warnings:
            remarks.setdefault(f"warning: {warning}", []).append(run.label)
    if table.row_count:
        console.print(table)
    show_software(console, software)
    show_opening(console, runs)
    show_flagfile(console, runs)
    for remark, labels in remarks.items():
        whose = labels[0] if len(labels) == 1 else f"{len(labels)} runs"
        console.print(f"{whose}, {remark}", markup=False, highlight=False)
