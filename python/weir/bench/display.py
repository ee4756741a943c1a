"""Displays ``weir bench``: plan, expectation before the run, progress, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from weir.analysis.flagfile import polled_listing
from weir.analysis.imported import imported_listing
from weir.analysis.listing import names_by_text
from weir.analysis.messages import messages_listing
from weir.analysis.opening import opening_listing
from weir.analysis.outputs import outputs_listing
from weir.analysis.sink import sink_listing
from weir.analysis.yardstick import NOT_KNOWN, a_priori_text, extrapolation_text
from weir.bench.job import Calibrated
from weir.bench.messages import Progress
from weir.bench.program import PlannedJob
from weir.bench.progress import State
from weir.bench.tables import COLOURS, plain_table, show_listing
from weir.results.calibration import Calibration
from weir.results.expectations import Expectation, ExpectedRate, Metric, RateVerdict, Stage
from weir.results.figures import Figure, judged_of
from weir.results.platform import Platform
from weir.results.quantities import (
    percent_text,
    range_text,
    seconds_text,
    size_text,
    value_text,
)
from weir.results.schema import Run
from weir.results.series import Expected
from weir.results.served_by import served_by

METRIC_NAMES = {
    "span": "first start to last end",
    "slowest_rank": "by the slowest rank",
    "sum_of_ranks": "sum over ranks",
    "foreground": "EAAR, over foreground time",
    "total": "with opening and closing",
}
OBSERVED = "observed, over the time blocked"
"""The metric ``foreground`` of a run that is not asynchronous."""
MOST_TOLD = 4
"""If there are more figures, sentences name only those that are not as expected."""


def show_plan(console: Console, planned: PlannedJob, command: Sequence[str]) -> None:
    """Prints how much will be moved, where, and how weir-bench is started."""
    largest = max(planned.configurations, key=lambda one: one.plan.disk_bytes_total)
    plan = largest.plan
    configurations = _number(len(planned.configurations), "configuration")
    console.print(
        f"Plan: {configurations} on {_number(plan.ranks, 'rank')}, each up to "
        f"{size_text(plan.disk_bytes_total)} in {_number(plan.files, 'file')} below "
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
    source: Calibrated | Platform,
    made: Mapping[str, Expectation],
) -> None:
    """Prints expected rates with one line per stage, once for configurations with equal ones."""
    for one_source in source.each if isinstance(source, Calibrated) else [source]:
        console.print(_describe_source(one_source), highlight=False)
    blocks: dict[str, _Block] = {}
    names = dict(METRIC_NAMES)
    if not any(one.asynchronous for one in planned.configurations):
        names["foreground"] = OBSERVED
    for one in planned.configurations:
        expected = made[one.slug]
        for block in _blocks_of(expected):
            key = "".join(figure.model_dump_json() for figure in block.figures)
            blocks.setdefault(f"{block.metrics} {key}", block).labels.append(one.label)
    for block in blocks.values():
        first = block.figures[0]
        if isinstance(first, ExpectedRate):
            metric_name = ", and ".join(names[metric] for metric in block.metrics)
            _show_rate(console, first, block.labels, metric_name)
        else:
            _show_actions(console, block.figures, block.labels)
    unknown = dict.fromkeys(
        a_priori_text(one.a_priori)
        for expected in made.values()
        for one in expected.rates
        if one.a_priori is not None and one.a_priori.value is None
    )
    for text in unknown:
        console.print(f"\nComponents: {escape(text)}", highlight=False)


class _Block(NamedTuple):
    """What is shown together: a rate by one or several metrics, or all actions."""

    figures: Sequence[Expected]
    metrics: list[Metric]
    """By which the rate is expected, with the same stages; empty for actions."""
    labels: list[str]
    """The configurations of which it is expected."""


def _blocks_of(expected: Expectation) -> list[_Block]:
    blocks: list[_Block] = []
    for rate in expected.rates:
        same = {"metric": rate.metric, "how": rate.how, "a_priori": rate.a_priori}
        if blocks and blocks[-1].figures[0].model_copy(update=same) == rate:
            blocks[-1].metrics.append(rate.metric)
        else:
            blocks.append(_Block([rate], [rate.metric], []))
    return [*blocks, _Block(expected.metadata, [], [])] if expected.metadata else blocks


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _describe_source(source: Calibration | Platform) -> str:
    hosts = _number(source.hosts, "host")
    if isinstance(source, Calibration):
        moved = "a file each" if not source.shared_file else "one file"
        if source.cached_bytes_per_rank is not None:
            moved = f"{size_text(source.cached_bytes_per_rank)} of each in {moved}"
        return (
            f"Calibration: {_number(source.ranks, 'rank')} on {hosts}, {moved}, "
            f"{escape(source.file_system)} at {escape(source.directory)}, "
            f"took {seconds_text(source.seconds)}"
        )
    measured = f", measured {source.measured_utc}" if source.measured_utc else ""
    doubtful = [fit.stage for fit in source.fits if not fit.fits]
    doubts = f"; does not fit: {escape(', '.join(doubtful))}" if doubtful else ""
    return f"Platform: {escape(source.name)}, {hosts}{measured}{doubts}"


def _show_rate(
    console: Console, rate: ExpectedRate, labels: Sequence[str], metric_name: str
) -> None:
    console.print(
        f"\n[bold]Expected {rate.direction} {value_text(rate.value)}[/bold] "
        f"({range_text(rate.low, rate.high)}, {metric_name}), limited by "
        f"[bold]{escape(rate.limiting_stage)}[/bold]{extrapolation_text(rate)}",
        highlight=False,
    )
    if rate.a_priori is not None and rate.a_priori.value is not None:
        console.print(f"  components: {escape(a_priori_text(rate.a_priori))}", highlight=False)
    console.print(f"  for {escape(', '.join(labels))}", highlight=False)
    stages = Table(box=None, show_header=False, padding=(0, 2), pad_edge=True)
    for stage in rate.stages:
        limits = stage.limiting or stage.name == rate.limiting_stage
        mark = "<- slowest" if limits and len(rate.stages) > 1 else ""
        times = _describe_times(stage)
        stages.add_row(stage.name, value_text(stage.rate), times, escape(stage.how), mark)
    console.print(stages)
    console.print(f"  how: {escape(rate.how)}", style="dim", highlight=False)


def _show_actions(console: Console, expected: Sequence[Expected], labels: Sequence[str]) -> None:
    """Prints a line per action; for an action without an expectation it says why."""
    console.print(
        f"\n[bold]Expected operations per second[/bold] for {escape(', '.join(labels))}",
        highlight=False,
    )
    table = plain_table("action", ">expected", "interval", "limited by")
    for one in expected:
        cells = ["none", "", ""]
        if (made := one.quantity) is not None:
            interval = range_text(made.low, made.high, one.unit)
            cells = [value_text(made.value, one.unit), interval, escape(one.limiting_stage)]
        table.add_row(one.key[0], *cells)
    console.print(table)
    for how, actions in names_by_text((one.how, one.key[0]) for one in expected).items():
        console.print(f"  {', '.join(actions)}: {escape(how)}", style="dim", highlight=False)


def _describe_times(stage: Stage) -> str:
    """Returns how the stage's time is divided, such as ``1.20 s + 38 ms fixed``."""
    if stage.transfer_seconds is None or stage.fixed_seconds is None:
        return ""
    moving = seconds_text(stage.transfer_seconds)
    fixed = seconds_text(stage.fixed_seconds)
    return f"{moving} + {fixed} fixed" if stage.fixed_seconds > 0 else moving


def state_of(step: Progress) -> State:
    """Returns what is shown of a job's repetition."""
    return State(
        place=(step.label, step.repetition, step.repetitions_done),
        line=_describe(step),
        done=step.repetitions_done,
        planned=step.repetitions_planned,
        at=_describe_place(step),
    )


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


def show_verdicts(console: Console, runs: Sequence[Run]) -> None:
    """Prints a line per headline figure, its verdict in sentences, and common facts of runs once.

    Of more than ``MOST_TOLD`` figures, those as expected are in the table alone.
    """
    figures = {run.id: [] if _has_own_table(run) else judged_of(run) for run in runs}
    every = [(run, figure) for run in runs for figure in figures[run.id]]
    # A rate of bytes names what served it; operations on names have their software's share instead.
    has_bytes = any(run.rates for run in runs)
    allowed = any(_share_of_components(figure) for _, figure in every)
    head = ["run", "", ">measured", ">expected", ">ratio"]
    head += [">of components"] if allowed else []
    head += ["served by"] if has_bytes else []
    table = plain_table(*head, "verdict")
    remarks: list[tuple[str, str]] = []
    for run in runs:
        for place, row in enumerate(_verdict_rows(run, figures[run.id])):
            # What has a verdict of its own is read by itself.
            label = escape(run.label) if figures[run.id] or not place else ""
            shown = [row.share] if allowed else []
            shown += [row.served_by] if has_bytes else []
            table.add_row(label, *row.rates, *shown, row.verdict)
        if run.status != "complete":
            reason = run.failure.message if run.failure else "no reason was recorded"
            remarks.append((f"{run.status}: {reason}", run.label))
        if run.environment is not None and not run.environment.quiet.quiet:
            remarks.append((run.environment.quiet.text, run.label))
        remarks += [(f"warning: {warning}", run.label) for warning in run.warnings]
        if any(_without_bound(figure) for figure in figures[run.id]):
            remarks.append((NOT_KNOWN, run.label))
    if table.row_count:
        console.print(table, "")
    for run, figure in every:
        judged = figure.verdict
        if run.status != "complete" or judged is None:
            continue
        if len(every) <= MOST_TOLD or judged.verdict != "as expected":
            whose = f"{run.label}, {figure.judged_name}"
            console.print(f"{whose}: {judged.text}", markup=False, highlight=False)
    for run in runs:
        _show_software(console, run)
    show_listing(console, opening_listing([run for run in runs if run.status == "complete"]))
    show_listing(console, polled_listing(runs))
    show_listing(console, outputs_listing(runs))
    show_listing(console, sink_listing(runs))
    show_listing(console, messages_listing(runs))
    show_listing(console, imported_listing(runs))
    for remark, labels in names_by_text(remarks).items():
        whose = labels[0] if len(labels) == 1 else f"{len(labels)} runs"
        console.print(f"{whose}, {remark}", markup=False, highlight=False)


def show_others(console: Console, runs: Sequence[Run]) -> None:
    """Prints what others moved on the targets, once for all runs that share a monitor."""
    told = dict.fromkeys(
        (one.others.verdict, one.others.text) for run in runs if (one := run.monitor) is not None
    )
    for verdict, text in told:
        word = {"not known": "not known whether quiet"}.get(verdict, verdict)
        console.print(f"\nFile system {word}: {text}", markup=False, highlight=False)


def _has_own_table(run: Run) -> bool:
    return bool(run.opening or run.flag or run.imported)


class _Row(NamedTuple):
    """Cells of a row of the table of verdicts."""

    rates: Sequence[str]
    """The figure's name, what was measured and expected, and their ratio."""
    share: str
    """What was measured over what the components allow."""
    served_by: str
    verdict: str


def _verdict_rows(run: Run, figures: Sequence[Figure]) -> Iterator[_Row]:
    if run.status != "complete":
        yield _Row(["", "", "", ""], "", "", f"[red]{run.status}[/]")
    elif not figures and not _has_own_table(run):
        yield _Row(["", "", "", ""], "", "", "complete, no rate was measured")
    for figure in figures:
        measured, judged = figure.series, figure.verdict
        rates = [figure.judged_name, value_text(measured.median, figure.unit), "", ""]
        word = ""
        if run.status != "complete":
            # Only the finished repetitions are known.
            number = len(measured.values)
            several = "" if number == 1 else "s"
            word = f"not judged: of {number} finished repetition{several}"
        elif judged is not None:
            rates[2] = "none"
            if judged.ratio is not None:
                rates[2:4] = [value_text(judged.expected, figure.unit), f"{judged.ratio:.2f}"]
            word = f"[{COLOURS[judged.verdict]}]{judged.verdict}[/]"
        served = (served_by(run, figure.direction) or "unknown") if figure.direction else ""
        yield _Row(rates, _share_of_components(figure), served, word)


def _share_of_components(figure: Figure) -> str:
    ratio = figure.verdict.a_priori_ratio if isinstance(figure.verdict, RateVerdict) else None
    return "" if ratio is None else f"{ratio:.2f}"


def _without_bound(figure: Figure) -> bool:
    """Returns whether a judged figure has no second opinion, for want of a source."""
    expected = figure.expected if isinstance(figure.expected, ExpectedRate) else None
    bound = expected.a_priori if expected is not None else None
    return figure.verdict is not None and bound is not None and bound.value is None


def _show_software(console: Console, run: Run) -> None:
    """Prints the share of each action's time that is software."""
    told = []
    for one in run.verdict.metadata if run.verdict else []:
        if one.expected is not None:
            share = "software's share not known"
            if one.software_fraction is not None:
                share = f"{percent_text(one.software_fraction)} software"
            told.append((f"{share}: {one.software}", one.action))
    if told:
        console.print(f"\nOf the time of one operation, {escape(run.label)}:", highlight=False)
    for text, names in names_by_text(told).items():
        console.print(f"  {', '.join(names)}: {escape(text)}", highlight=False)
