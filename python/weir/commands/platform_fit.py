"""``weir platform fit``: makes or refines a platform description from finished runs."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from pydantic import ValidationError
from rich.console import Console

from weir.bench.errors import FAILED, USAGE, BenchError
from weir.bench.job import utc_now, utc_text
from weir.bench.platforms import find_platform
from weir.bench.tables import plain_table
from weir.commands.find_runs import tell_changes
from weir.commands.terminal import output_console, warn
from weir.model.calibration_platform import platform_of_calibration
from weir.model.measured_flows import Measured, Samples, repeatability, samples_of_runs
from weir.model.results_fit import Prediction, ResultsFit, fit_results, refined
from weir.report.quantities import plural
from weir.results.calibration import Calibration
from weir.results.errors import ResultError
from weir.results.folder import find_run_folders, load_run
from weir.results.platform import Platform
from weir.results.platform_file import load_platform, write_platform
from weir.results.quantities import percent_text, rate_text, seconds_text
from weir.results.revisions import append_revision, changes_of
from weir.results.schema import Run

AIM = "aim: median under 10 %, 90th percentile under 25 %"


def fit_command(
    results: Annotated[list[Path], typer.Argument(help="run folders, or folders with run folders")],
    platform: Annotated[
        str | None, typer.Option("--platform", help="description to refine (a file or a name)")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="file for the new description")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="name of the description [the host of the first run]"),
    ] = None,
) -> None:
    """Fit the path model's stages to finished runs, and say how well it predicts others.

    Errors are by cross-validation: every configuration is predicted by a fit that has not seen it.
    """
    runs = _runs(results)
    samples = samples_of_runs(runs)
    _tell_left_out(samples)
    try:
        fit = fit_results(samples.measured)
    except ValueError as error:
        raise BenchError(f"no stage can be fitted: {error}", FAILED) from None
    for stage, reason in fit.too_few.items():
        warn(f"{stage} is not fitted: {reason}")
    base = find_platform(platform) if platform is not None else _without_description(runs, name)
    made = refined(base, fit)
    if name is not None:
        made = made.model_copy(update={"name": name})
    console = output_console()
    _show_stages(console, fit)
    _show_configurations(console, fit)
    _show_factors(console, fit)
    console.print(
        f"\nHeld-out error over all {len(fit.predictions)} phases: "
        f"median {percent_text(fit.median_error, 1)}, "
        f"90th percentile {percent_text(fit.p90_error, 1)} ({AIM})\n"
        f"{_repeatability_text(samples.measured)}",
        highlight=False,
    )
    if output is not None:
        before = load_platform(output) if output.is_file() else None
        if before is None and platform is not None:
            before = base
        write_platform(output, made)
        console.print(f"Platform: {output}", soft_wrap=True, highlight=False, markup=False)
        changes = changes_of(before, made, _runs_by_stage(fit, runs))
        revision = append_revision(output, changes, "weir platform fit", utc_text(utc_now()))
        if revision is not None:
            console.print(
                f"Revision {revision.revision}: {plural(len(changes), 'constant')} changed, "
                f"weir platform history {output} shows them",
                soft_wrap=True,
                highlight=False,
                markup=False,
            )


def _repeatability_text(samples: Sequence[Measured]) -> str:
    """Returns the machine's own repeatability, which stands beside the held-out error."""
    errors = repeatability(samples)
    if not errors:
        return "The machine's own repeatability is not known: no phase was repeated"
    return (
        f"The machine's own repeatability, each of {len(errors)} repetitions predicted by the "
        f"others of its configuration: median {percent_text(float(np.median(errors)), 1)}, "
        f"90th percentile {percent_text(float(np.percentile(errors, 90)), 1)}"
    )


def _runs_by_stage(fit: ResultsFit, runs: Sequence[tuple[Path, Run]]) -> dict[str, list[str]]:
    """Returns the ids of the runs to whose phases each stage was fitted."""
    ids: dict[tuple[str, str], list[str]] = {}
    for folder, run in runs:
        ids.setdefault((folder.parent.name, run.label), []).append(run.id)
    found: dict[str, list[str]] = {}
    for one in fit.predictions:
        known = found.setdefault(one.stage, [])
        for run_id in ids.get((one.measured.job, one.measured.label), []):
            if run_id not in known:
                known.append(run_id)
    return found


def _runs(paths: Sequence[Path]) -> list[tuple[Path, Run]]:
    found = []
    for path in paths:
        if not path.is_dir():
            raise BenchError(f"{path} is not a folder: give folders with run folders", USAGE)
        for folder in find_run_folders(path):
            try:
                found.append((folder.resolve(), load_run(folder)))
            except ResultError as error:
                warn(f"left out: {error}")
    if not found:
        told = ", ".join(str(path) for path in paths)
        raise BenchError(f"there are no runs below {told}", USAGE)
    tell_changes(found)
    return found


def _tell_left_out(samples: Samples) -> None:
    for reason, count in sorted(samples.left_out.items()):
        warn(f"{count} phase{'s' if count > 1 else ''} left out: {reason}")


def _without_description(runs: Sequence[tuple[Path, Run]], name: str | None) -> Platform:
    """Returns a description without stages: hosts, and latencies of the runs' last calibration."""
    hosts: dict[str, int] = {}
    for _, run in runs:
        for node in run.nodes:
            hosts[node.host] = max(hosts.get(node.host, 0), len(node.ranks))
    calibration = next(filter(None, (_calibration(run) for _, run in reversed(runs))), None)
    latencies, busy_work, memory = {}, None, None
    if calibration is not None:
        measured = platform_of_calibration(calibration)
        latencies = measured.latencies_seconds
        busy_work = measured.busy_work_operations_per_second
        memory = measured.memory_available_bytes
    return Platform(
        format="weir-platform",
        format_version=1,
        name=name or next(iter(hosts), "fitted to runs"),
        measured_utc=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        hosts=max(1, len(hosts)),
        ranks_per_host=max(hosts.values(), default=1),
        topology={"ranks_by_host": hosts},
        memory_available_bytes=memory,
        stages=[],
        latencies_seconds=latencies,
        busy_work_operations_per_second=busy_work,
    )


def _calibration(run: Run) -> Calibration | None:
    if run.expectation is None or not run.expectation.calibration:
        return None
    try:
        return Calibration.model_validate(run.expectation.calibration)
    except ValidationError:
        return None


def _show_stages(console: Console, fit: ResultsFit) -> None:
    names = ("=rate", "=95 %", "=fixed", "=held-out median", "=90th", "=form")
    table = plain_table("=stage", *names)
    for stage, one in zip(fit.stages, fit.fits, strict=True):
        rate = stage.rate_bytes_per_second
        cost = stage.fixed_seconds.value + (stage.turn_seconds.value if stage.turn_seconds else 0)
        table.add_row(
            stage.name,
            rate_text(rate.value),
            f"{rate_text(rate.low)} to {rate_text(rate.high)}",
            seconds_text(cost),
            percent_text(one.held_out_median_error, 1),
            percent_text(one.held_out_p90_error, 1),
            one.form if one.fits else f"does not fit: {one.form}",
        )
    console.print(table, markup=False)


def _show_configurations(console: Console, fit: ResultsFit) -> None:
    """Prints each configuration's held-out prediction beside its measurement, stage by stage."""
    by_configuration: dict[tuple[str, str, str], list[Prediction]] = {}
    for one in fit.predictions:
        key = (one.measured.job, one.measured.label, one.stage)
        by_configuration.setdefault(key, []).append(one)
    table = plain_table("=job", "=run", "=stage", "=measured", "=predicted", "=ratio")
    for (job, label, stage), predictions in by_configuration.items():
        moved = sum(one.measured.total_bytes for one in predictions)
        measured = sum(one.measured.seconds for one in predictions)
        predicted = sum(one.predicted_seconds for one in predictions)
        ratio = statistics.median(
            one.predicted_seconds / one.measured.seconds for one in predictions
        )
        table.add_row(
            job,
            label,
            stage,
            rate_text(moved / measured),
            rate_text(moved / predicted),
            f"{ratio:.2f}",
        )
    console.print()
    console.print(table, markup=False)
    console.print("ratio: predicted over measured time, of a fit without that configuration")


def _show_factors(console: Console, fit: ResultsFit) -> None:
    """Prints median ratios by quantities that are no factors of the model, in case they matter."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for one in fit.predictions:
        ratio = one.predicted_seconds / one.measured.seconds
        words = [*one.measured.label.split(), f"function {one.measured.function}"]
        for word in dict.fromkeys(words):
            ratios.setdefault((one.stage, word), []).append(ratio)
    told: dict[str, list[str]] = {}
    for (stage, word), values in ratios.items():
        if len(values) < sum(one.stage == stage for one in fit.predictions):
            told.setdefault(stage, []).append(f"{word} {statistics.median(values):.2f}")
    console.print()
    for stage, parts in told.items():
        console.print(f"{stage}, median ratio of {', '.join(parts)}", highlight=False, markup=False)
