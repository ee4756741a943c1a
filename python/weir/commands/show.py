"""Prints one run, or a comparison of two, at the terminal."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape

from weir.analysis.compare import Comparison
from weir.analysis.description import node_texts
from weir.analysis.purpose import purpose_texts
from weir.bench.display import show_others, show_verdicts
from weir.bench.tables import plain_table
from weir.report import anomalies
from weir.report.quantities import plural
from weir.results.expectations import Direction
from weir.results.figures import headlines_of
from weir.results.imported_records import Imported
from weir.results.monitor_records import Monitor
from weir.results.node_differences import nodes_of_run
from weir.results.quantities import (
    percent_text,
    phase_name,
    rate_text,
    seconds_text,
    size_text,
    value_text,
)
from weir.results.schema import Phase, Rate, Run
from weir.results.secrets import may_be_secret
from weir.results.served_by import served_by


def show_run(console: Console, run: Run, changed: Sequence[str]) -> None:
    """Prints what determines whether to trust a run, the most important first.

    ``changed`` has a line for each figure or file that was changed.
    """

    def line(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    console.print(
        f"[bold]{escape(run.label)}[/bold]  {run.workload}  {run.status}", highlight=False
    )
    line(f"id {run.id}, started {run.started_utc}, {_repetitions_text(run)}")
    if run.imported is not None:
        line(run.imported.note)
    for text in purpose_texts(run):
        line(text)
    show_verdicts(console, [run])
    for text in changed:
        if text not in run.warnings:
            line(f"warning: {text}")
    console.print()
    _show_phases(console, run)
    for text in [*_spread_texts(run), *_unusual_texts(run), *_effective_texts(run)]:
        line(text)
    for text in [_plan_text(run)] if run.imported is None else _imported_texts(run, run.imported):
        line(text)
    for text in [_given_text(run), _payload_text(run), *_clock_texts(run), *_system_texts(run)]:
        line(text)
    if run.monitor:
        line(_monitor_text(run.monitor))
        show_others(console, [run])
    if run.expectation:
        for expected in run.expectation.all:
            line(f"expected {expected.key[0]}: {expected.how}")
    for binary in run.binaries:
        line(f"binary: {binary.name}, SHA-256 {binary.sha256}")
    if run.command:
        line(f"command: {' '.join(run.command)}")
    line("")


def _spread_texts(run: Run) -> Iterator[str]:
    for figure in headlines_of(run):
        mean, deviation = figure.series.mean, figure.series.deviation
        if mean is not None and deviation is not None:
            yield (
                f"{figure.name}: mean {value_text(mean, figure.unit)}, standard deviation "
                f"{value_text(deviation, figure.unit)} over "
                f"{plural(len(figure.series.values), 'repetition')}"
            )


def _unusual_texts(run: Run) -> Iterator[str]:
    for text in anomalies.sentences(run):
        yield f"unusual: {text}"


def _effective_texts(run: Run) -> Iterator[str]:
    for effective in run.effective:
        yield (
            f"EAAR {effective.direction}: {rate_text(effective.eaar_bytes_per_second)}, "
            f"synchronous {rate_text(effective.synchronous_bytes_per_second)}, "
            f"times {effective.bins} bins {rate_text(effective.nbin_multiple_bytes_per_second)}"
        )


def _given_text(run: Run) -> str:
    given = [
        f"{name} = {parameter.value} ({parameter.origin})"
        for name, parameter in run.parameters.items()
        if parameter.origin != "default"
    ]
    nothing = "nothing, all settings have defaults"
    if run.imported is not None:
        nothing = "the output states no settings"
    return f"given: {', '.join(given) or nothing}"


def _clock_texts(run: Run) -> Iterator[str]:
    if run.clocks:
        doubt = ", FLAGGED: over 1 %" if run.clocks.flagged else ""
        yield (
            f"clocks: error at most {seconds_text(run.clocks.error_bound_ns * 1e-9)}, "
            f"{percent_text(run.clocks.error_fraction_of_span, 2)} of the span{doubt}"
        )


def _system_texts(run: Run) -> Iterator[str]:
    if run.environment:
        yield f"system: {run.environment.quiet.text}"
    for text in node_texts(nodes_of_run(run)):
        yield f"nodes: {text}"
    yield from _hint_texts(run)


def _hint_texts(run: Run) -> Iterator[str]:
    for opened in run.opened_hints:
        known = [name for name in opened.effective if not may_be_secret(name)]
        told = ", ".join(f"{name} {opened.effective[name]}" for name in known)
        yield f"hints for {opened.opened_for}, in effect: {told or 'none'}"
        unlike = [
            f"{name} {value} (in effect: {opened.effective.get(name, 'not told')})"
            for name, value in opened.given.items()
            if opened.effective.get(name) != value and not may_be_secret(name)
        ]
        if unlike:
            yield f"hints for {opened.opened_for}, given otherwise: {', '.join(unlike)}"


def _monitor_text(seen: Monitor) -> str:
    missed = f", {seen.missed} missed" if seen.missed else ""
    return (
        f"monitor: {seen.samples} samples{missed}, {seen.resolution}; it took "
        f"{percent_text(seen.processor_seconds / max(seen.seconds, 1e-9), 2)} of a core"
    )


def show_list(console: Console, runs: Sequence[tuple[str, Run]]) -> None:
    """Prints one line per run: when, where, what, its headline rates with what served them, end."""
    table = plain_table("started", "=folder", ">ranks", ">write", ">read", "=verdict")
    for folder, run in runs:
        headline = {rate.direction: rate for rate in run.rates if rate.headline}
        rates = [headline.get(direction) for direction in ("write", "read")]
        table.add_row(
            run.started_utc.replace("T", " ").removesuffix("Z"),
            escape(folder),
            str(run.plan.ranks or "?"),
            *("" if rate is None else _served_rate(run, rate) for rate in rates),
            _outcome(run),
        )
    console.print(table, highlight=False)


def _served_rate(run: Run, rate: Rate) -> str:
    return f"{rate_text(rate.median)} {served_by(run, rate.direction) or 'unknown'}"


def _outcome(run: Run) -> str:
    if run.status != "complete":
        return run.status
    if run.imported is not None:
        return "imported"
    return run.verdict.overall if run.verdict else run.status


def _repetitions_text(run: Run) -> str:
    if run.imported is not None:
        return plural(run.imported.repetitions, "repetition")
    warmups = sum(repetition.warmup for repetition in run.repetitions)
    measured = len(run.repetitions) - warmups
    return f"{plural(measured, 'measured repetition')}, {plural(warmups, 'warm-up')}"


def _plan_text(run: Run) -> str:
    plan = run.plan
    return (
        f"\nplan: {plural(plan.ranks, 'rank')} on {plural(len(run.nodes), 'host')}, "
        f"{plural(plan.files, 'file')}, "
        f"{size_text(plan.disk_bytes_total)} on disk, {size_text(plan.memory_bytes_total)} memory"
    )


def _imported_texts(run: Run, imported: Imported) -> Iterator[str]:
    """Yields what the other program states besides figures, and how these are to be read."""
    yield f"{run.plan.ranks or 'unknown number of'} processes"
    for name, value in imported.stated.items():
        yield f"{imported.program} states: {name} {value}"
    yield from imported.remarks


def _payload_text(run: Run) -> str:
    checked = run.verification
    if run.imported is not None:
        return f"payload: {checked.how}"
    if not checked.performed:
        return "payload: NOT verified"
    errors = (
        f"{len(checked.errors)} ERRORS, first: {checked.errors[0].text}"
        if checked.errors
        else ("no error")
    )
    return f"payload: {size_text(checked.bytes_verified)} verified, {errors}"


def _show_phases(console: Console, run: Run) -> None:
    by_phase: dict[tuple[str, str], list[Phase]] = defaultdict(list)
    for repetition in run.repetitions:
        for phase in [] if repetition.warmup else repetition.phases:
            by_phase[phase.function, phase.direction].append(phase)
    if not by_phase:
        return
    names = (">span", ">slowest rank", ">sum of ranks", ">EAAR", ">waiting")
    table = plain_table("medians by function", *names, "=slowest", "=served from")
    for (function, direction), phases in by_phase.items():
        slowest = max(phases, key=lambda phase: phase.io_seconds.max).io_seconds
        table.add_row(
            phase_name(function, direction),
            *(
                rate_text(_median([phase.rate(name) for phase in phases]))
                for name in ("span", "slowest_rank", "sum_of_ranks", "foreground")
            ),
            seconds_text(_median([phase.barrier_wait_seconds.mean for phase in phases]) or 0.0),
            f"rank {slowest.max_rank} on {slowest.max_host}, {seconds_text(slowest.max)}",
            ", ".join(sorted({phase.cache.verdict for phase in phases})),
        )
    console.print(table, markup=False, highlight=False)


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _served_text(comparison: Comparison, direction: Direction | None) -> str:
    """Returns what served both runs' bytes, once if the same; nothing for operations."""
    if direction is None:
        return ""
    both = (served_by(run, direction) for run in (comparison.first, comparison.second))
    return ", ".join(dict.fromkeys(word or "unknown" for word in both))


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Prints medians side by side; a difference counts if the intervals do not overlap."""
    first, second = comparison.first, comparison.second
    for name, run in (("A", first), ("B", second)):
        text = f"[bold]{name}: {escape(run.label)}[/bold]  {run.id}, started {run.started_utc}"
        console.print(text, highlight=False)
    table = plain_table(
        "function", "", "metric", ">A", ">B", ">B / A", "served by", "=intervals", "=spreads"
    )
    for one in comparison.figures:
        figure = one.figure
        ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
        single = [name for name, of in (("A", one.first), ("B", one.second)) if of.confidence == 0]
        shown = "overlap, no difference shown" if one.intervals_overlap else "apart"
        if single:
            shown = f"none of {' and '.join(single)}, with one repetition: no difference shown"
        table.add_row(
            figure.function,
            figure.direction or "",
            one.formed,
            value_text(one.first.median, figure.unit),
            value_text(one.second.median, figure.unit),
            ratio,
            _served_text(comparison, figure.direction),
            shown,
            one.spreads.text if one.spreads else "too few repetitions",
        )
    console.print(table, markup=False, highlight=False)
    text = ", ".join(one.text for one in comparison.differences) or "nothing"
    console.print(f"differs: {text}\n", markup=False, highlight=False)
