"""``weir campaign``: runs a planned set of runs in randomized order, which can be resumed."""

from __future__ import annotations

import functools
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from weir.analysis.campaign_summary import (
    cells_of,
    combinations_listing,
    effective_of,
    growth_texts,
    replicas_of,
)
from weir.analysis.expectation_errors import expectation_errors
from weir.bench.errors import USAGE, BenchError
from weir.bench.platforms import find_platform
from weir.bench.tables import show_listing
from weir.campaign import display
from weir.campaign.curves import write_curves
from weir.campaign.estimate import Estimator, assumed_rates
from weir.campaign.execution import planned_bytes
from weir.campaign.file import CampaignFile, load_campaign_file, read_duration
from weir.campaign.folder import begin_folder, check_unchanged, existing_campaign
from weir.campaign.journal import done_runs, read_journals
from weir.campaign.levels import LevelError, read_levels
from weir.campaign.session import Session, ending_error, first_estimator, run_session
from weir.campaign.setup import Setup, design_campaign, prepare_campaign
from weir.campaign.slurm import array_jobs, write_scripts
from weir.commands.job_options import (
    LauncherText,
    MonitoringCommand,
    MonitorText,
    PlatformText,
    Ranks,
    find_job,
    read_interval,
    words_of,
)
from weir.commands.terminal import message_console, output_console, warn
from weir.results.campaign import Value, finished_runs, load_curves
from weir.results.errors import ResultError


@dataclass(frozen=True)
class Asked:
    """The options of the command line, besides the file."""

    output: Path
    command: list[str]
    """Command that repeats this call, without --resume."""
    ranks: int | None = None
    launcher: str | None = None
    scale: float | None = None
    platform: str | None = None
    time_limit: float | None = None
    resume: bool = False
    dry_run: bool = False
    slurm: bool = False
    throttle: int = 1
    chunk: int = 1
    only: frozenset[int] | None = None
    side_by_side: bool = False
    monitor_seconds: float | None = None

    def given(self) -> dict[str, Value]:
        """Returns options that change the runs themselves; a resumed campaign needs the same."""
        named: dict[str, Value | None] = {"ranks": self.ranks, "scale": self.scale}
        return {name: value for name, value in named.items() if value is not None}


def campaign_command(
    file: Annotated[
        Path, typer.Argument(help="File that describes the runs; docs/campaign.md explains it.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", help="Folder of the campaign. [weir-campaigns/NAME]")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an existing campaign.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check and show everything, but run nothing.")
    ] = False,
    slurm: Annotated[
        bool, typer.Option("--slurm", help="Write array job scripts instead of running.")
    ] = False,
    ranks: Ranks = None,
    launcher: LauncherText = None,
    scale: Annotated[
        float | None, typer.Option("--scale", min=0, help="Replaces the scale in the file.")
    ] = None,
    platform: PlatformText = None,
    time_limit: Annotated[
        str | None,
        typer.Option(
            "--time-limit", help="Begin no run that would end after this time: 3600, 90m, 2h."
        ),
    ] = None,
    throttle: Annotated[
        int,
        typer.Option(
            "--throttle", min=1, help="With --slurm: number of tasks that run at the same time."
        ),
    ] = 1,
    chunk: Annotated[
        int, typer.Option("--chunk", min=1, help="With --slurm: number of runs per task.")
    ] = 1,
    only: Annotated[
        str | None, typer.Option("--only", help="Do only these runs, such as 3,7 or 1:10.")
    ] = None,
    side_by_side: Annotated[
        bool,
        typer.Option("--side-by-side", help="Run beside other tasks that also have this option."),
    ] = False,
    monitor: MonitorText = None,
) -> None:
    """Run a campaign: every combination of its factors, in randomised order, resumable.

    Exit status: 0 all runs are done, 1 some failed, 2 a mistake in the file or the options, 75
    the time limit came first, 130 interrupted. After 1, 75 and 130, --resume makes the missing
    runs.
    """
    read = load_campaign_file(file)
    text = file.read_text(encoding="utf-8")
    target = output or Path("weir-campaigns") / read.name
    words = ["weir", "campaign", str(file), "--output", str(target)]
    words += words_of(
        ranks=ranks, launcher=launcher, scale=scale, platform=platform, monitor=monitor
    )
    asked = Asked(
        output=target,
        command=words,
        ranks=ranks,
        launcher=launcher,
        scale=scale,
        platform=platform,
        time_limit=_time_limit(time_limit, read),
        resume=resume,
        dry_run=dry_run,
        slurm=slurm,
        throttle=throttle,
        chunk=chunk,
        only=_only(only),
        side_by_side=side_by_side,
        monitor_seconds=None if monitor is None else read_interval(monitor),
    )
    run_campaign(read, text, asked)


def run_campaign(file: CampaignFile, text: str, asked: Asked) -> None:
    """Does everything that ``weir campaign`` does, for a file that is already parsed."""
    console = output_console()
    output = asked.output
    begun = existing_campaign(output, resume=asked.resume or asked.dry_run)
    if begun is not None:
        check_unchanged(output, begun, text, asked.given(), asked.platform)
    campaign, excluded = design_campaign(
        file,
        scale=asked.scale,
        platform=asked.platform,
        given=asked.given(),
        seed=begun.seed if begun else None,
    )
    campaign = begun or campaign
    job_of = functools.cache(
        lambda count, tasks: find_job(count, asked.launcher, tasks_per_node=tasks)
    )
    setup = prepare_campaign(file, campaign, excluded, job_of, asked.ranks)
    described = find_platform(campaign.platform) if campaign.platform else None
    _check_only(asked.only, setup)
    if asked.slurm and (campaign.phases or campaign.pause_seconds):
        raise BenchError(
            "--slurm cannot keep phases and pauses, because Slurm decides when a task begins: "
            "leave [[phase]] and pause out of the file",
            USAGE,
        )
    done = len(done_runs(read_journals(output, warn))) if begun else 0
    display.show_design(console, setup, planned_bytes(setup), done)
    if asked.dry_run or asked.slurm:
        estimator = _estimator(setup, file, output if begun else None)
        if asked.dry_run:
            display.show_order(console, setup, estimator.seconds)
        _say_estimate(setup, estimator, file)
        if not asked.dry_run:
            if begun is None:
                begin_folder(output, campaign, text)
            _write_slurm(setup, estimator, asked)
        return
    if begun is None:
        begin_folder(output, campaign, text)
    session = Session(
        output=output,
        job_of=job_of,
        platform=described,
        assumed_rate=file.assumed_rate,
        run_timeout=file.run_timeout,
        time_limit=asked.time_limit,
        only=asked.only,
        side_by_side=asked.side_by_side,
        console=console,
        messages=message_console(),
        tell=warn,
        on_finalized=_report_of_run,
        monitor_seconds=asked.monitor_seconds,
    )
    result = run_session(setup, session)
    again = shlex.join([*asked.command, "--resume"])
    error = ending_error(result, len(campaign.runs), again)
    if asked.only is not None and result.outcome == "complete" and not result.failed:
        error = None  # The other runs belong to other tasks.
    try:
        _show_results(setup, output)
    except ResultError as unreadable:
        if error is None:
            raise
        # The end of the campaign is reported last, even if no report can be written.
        warn(f"no report: {unreadable}")
    if error is not None:
        raise error


def _show_results(setup: Setup, output: Path) -> None:
    from weir.report import write_report  # noqa: PLC0415 (loads the report only once it is written)
    from weir.report.hiding import hiding_of  # noqa: PLC0415

    console = output_console()
    finished = finished_runs(output, setup.campaign)
    if not finished:
        return
    cells = cells_of(setup.campaign, finished)
    if cells:
        show_listing(console, combinations_listing(setup.campaign, cells))
    for text in growth_texts(setup.campaign, cells):
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    write_curves(output, setup.campaign, cells)
    for curve in load_curves(output):
        console.print(f"Fitted to {curve.direction}, {curve.text}", highlight=False, markup=False)
    found = hiding_of(setup.campaign, effective_of(setup.campaign, finished))
    for (name, direction), (hides, _) in found.items():
        console.print(f"{name}: {direction} {hides.text()}", highlight=False, markup=False)
    replicas = (found for _, found in replicas_of(setup.campaign, finished))
    errors = expectation_errors(replicas).text()
    if errors:
        console.print(errors, highlight=False, markup=False, soft_wrap=True)
    console.print(f"\nResults: {output}", soft_wrap=True, highlight=False, markup=False)
    report = write_report(output)
    console.print(f"Report: {report}", soft_wrap=True, highlight=False, markup=False)


def _report_of_run(output: Path) -> None:
    from weir.report import write_report  # noqa: PLC0415

    write_report(output)


def _estimator(setup: Setup, file: CampaignFile, begun: Path | None) -> Estimator:
    """Returns an estimator from plans at the file's assumed rate, and from runs already done."""
    calibrates = setup.campaign.platform is None
    estimator = first_estimator(setup, assumed_rates(file.assumed_rate), calibrates=calibrates)
    if begun is not None:
        done = done_runs(read_journals(begun, warn))
        for run in setup.campaign.runs:
            if run.number in done:
                estimator.learn(run.combination, done[run.number].seconds)
    return estimator


def _say_estimate(setup: Setup, estimator: Estimator, file: CampaignFile) -> None:
    total = sum(estimator.seconds(run.combination) for run in setup.campaign.runs)
    how = assumed_rates(file.assumed_rate).how
    learned = f" and {len(estimator.ratios)} finished runs" if estimator.ratios else ""
    output_console().print(
        f"Estimate: about {display.duration_text(total)} for all runs, by {how}{learned} "
        "(assumed_rate in the file)",
        highlight=False,
    )


def _write_slurm(setup: Setup, estimator: Estimator, asked: Asked) -> None:
    done = frozenset(done_runs(read_journals(asked.output, warn)))
    jobs = array_jobs(setup, estimator, asked.chunk, done)
    if not jobs:
        output_console().print("All runs have ended; there is nothing to submit")
        return
    command = [sys.executable, "-m", "weir.cli", *asked.command[1:]]
    written = write_scripts(
        jobs, setup.campaign.name, asked.output.absolute(), command, asked.throttle
    )
    console = output_console()
    for job, script in zip(jobs, written, strict=False):
        console.print(
            f"  {script}: {len(job.tasks)} tasks on {job.where}, "
            f"{display.duration_text(job.seconds)} each at most",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    console.print(f"Submit all: {written[-1]}", highlight=False, markup=False, soft_wrap=True)
    console.print("Submit one task again: sbatch --array=INDEX SCRIPT; afterwards: ", end="")
    console.print(f"weir report {asked.output}", highlight=False, markup=False, soft_wrap=True)


def _time_limit(given: str | None, file: CampaignFile) -> float | None:
    if given is None:
        return file.time_limit
    try:
        seconds = read_duration(given)
    except ValueError as error:
        raise BenchError(f"--time-limit: {error}", USAGE) from None
    assert isinstance(seconds, float)
    return seconds


def _only(given: str | None) -> frozenset[int] | None:
    if given is None:
        return None
    try:
        numbers = read_levels(given)
    except LevelError as error:
        raise BenchError(f"--only: {error}", USAGE) from None
    wrong = [number for number in numbers if not isinstance(number, int) or number < 1]
    if wrong:
        raise BenchError(f"--only: {wrong[0]} is not the number of a run", USAGE)
    return frozenset(number for number in numbers if isinstance(number, int))


def _check_only(only: frozenset[int] | None, setup: Setup) -> None:
    beyond = sorted(only - {run.number for run in setup.campaign.runs}) if only else []
    if beyond:
        raise BenchError(f"--only: unknown run {beyond[0]}", USAGE)


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("campaign", cls=MonitoringCommand)(campaign_command)
