"""``weir bench`` and ``weir predict``: carries out and displays the steps of ``weir.bench.job``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from weir.bench import display
from weir.bench.again import enter, record_start, start_again, start_of
from weir.bench.binaries import binaries_of, other_binaries
from weir.bench.deciding import plan_decided
from weir.bench.errors import FAILED, USAGE, BenchError
from weir.bench.going_on import DEFAULT_SECONDS, more_of
from weir.bench.job import (
    Job,
    calibrate,
    can_be_expected,
    check_arguments,
    check_output,
    default_output,
    expectations,
    monitor_of,
    preparation_folder,
    run_job,
    timeout_of,
    utc_now,
    why_nothing,
)
from weir.bench.launcher import misplaced
from weir.bench.platforms import (
    find_platform,
    places_of,
    probe_of_names,
    with_operations_rate,
)
from weir.bench.program import PlannedJob, find_program, help_text
from weir.bench.progress import progress_display
from weir.bench.second_opinion import with_a_priori
from weir.campaign.lock import holder_of_machine
from weir.commands.completion import PassingCommand
from weir.commands.job_options import (
    LauncherText,
    MonitorText,
    PlatformText,
    Ranks,
    TasksPerNode,
    find_job,
    read_interval,
)
from weir.commands.purpose_options import (
    ExpectsText,
    Follows,
    GoalText,
    MotivationText,
    NoteText,
    given_purpose,
)
from weir.commands.report import write_reports
from weir.commands.terminal import message_console, output_console, warn
from weir.model.verdict import verdict
from weir.report.anomalies import examine
from weir.results.errors import ResultError
from weir.results.expectations import Expectation
from weir.results.finalize import finalize
from weir.results.folder import write_json
from weir.results.purpose import Purpose
from weir.results.schema import Run, Start

PASSING = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Passes everything that is not an option of weir unchanged to weir-bench."""

HELP = """\
weir {command} WORKLOAD [ARGUMENTS AND OPTIONS OF weir-bench] -n RANKS

{about}

Options of weir:
  -n, --ranks N        ranks to start (WEIR_RANKS, or SLURM_NTASKS inside an allocation)
  --launcher COMMAND   command that starts the ranks, instead of mpirun, mpiexec or srun,
                       for example "srun -n 4096" (WEIR_LAUNCHER)
  --tasks-per-node N   place N ranks on each node, with options of srun, Open MPI or MPICH
                       (WEIR_TASKS_PER_NODE); by default the launcher places them
  --platform FILE|NAME take the expectation from this description of the machine, as weir
                       platform probe writes it, instead of a calibration; NAME is
                       platforms/NAME.toml, or a machine of weir platform show --shipped
                       (WEIR_PLATFORM)
  --output {output}
{more}  -h, --help           print this text; after a WORKLOAD also the options of the workload
"""
ABOUT = {
    "bench": """\
Runs a benchmark and judges it. Prints the plan, calibrates the file system, prints the expected
rates with the limiting stage, runs, prints a verdict for each run, and writes results and a report.

For example, MADbench2 on 4 ranks, both interfaces, separate files and one shared file:
  weir bench madbench 2000 8 1 32 4096 1 1 --iomethod POSIX,MPI --filetype UNIQUE,SHARED -n 4""",
    "predict": """\
Prints the expectation for a run of weir bench with the same arguments. Runs only the calibration;
with --platform it runs nothing.

For example:
  weir predict madbench 2000 8 1 32 4096 1 1 -n 4""",
}
OUTPUT = {
    "bench": "FOLDER      folder for the results [weir-results/<UTC stamp>-<workload>]",
    "predict": "FILE        also write the expectations to FILE, for weir-bench --expectation FILE",
}
MORE = {
    "bench": """\
  --no-report          finalize the results but write no report.html
  --timeout SECONDS    end the job after this time [3600, or 4 times --time-limit if more]
  --go-on SECONDS      if a wide scatter leaves a verdict undecided, run the job once more with 2 to
                       4 times the repetitions, if they fit into this time; the results go to the
                       folder OUTPUT-more; 0: never; also WEIR_GO_ON [60]
  --sweep NAME=LEVELS  a run per level, in random order, and a chart over them; may be repeated:
                       alpha=1.0:1.5:0.05, ranks=1,4,9,16, transfer=64k:16m:*2
  --monitor [INTERVAL] watch targets, servers and links beside the job, every 100ms or as given; the
                       report shows them, and whether others used the file system
  --resume             continue a sweep that was interrupted; needs its --output
  --again RUN          repeat a run as it was started: arguments, launcher, MPI's variables, working
                       directory, seed; RUN is its folder, its id, or: last
  --motivation TEXT    why the run is made; it is kept with the four below in purpose of run.json,
                       which results show and the report print
  --expects TEXT       what you expect of it
  --goal GOAL          "new region", confirm, or "refined method"
  --follows RUN        the run after which it was thought of; may be repeated
  --note TEXT          anything else
""",
    "predict": "",
}

Help = Annotated[bool, typer.Option("-h", "--help")]


@dataclass(frozen=True)
class Prepared:
    """The result of steps 1 to 3: what will run, and its expectations."""

    job: Job
    planned: PlannedJob
    expected: dict[str, Expectation]


def bench_command(
    context: typer.Context,
    ranks: Ranks = None,
    launcher: LauncherText = None,
    platform: PlatformText = None,
    output: Annotated[Path | None, typer.Option("--output", envvar="WEIR_OUTPUT")] = None,
    no_report: Annotated[bool, typer.Option("--no-report")] = False,
    timeout: Annotated[float | None, typer.Option("--timeout", min=1)] = None,
    tasks_per_node: TasksPerNode = None,
    sweep: Annotated[list[str] | None, typer.Option("--sweep")] = None,
    go_on: Annotated[float, typer.Option("--go-on", min=0, envvar="WEIR_GO_ON")] = DEFAULT_SECONDS,
    resume: Annotated[bool, typer.Option("--resume")] = False,
    again: Annotated[str | None, typer.Option("--again")] = None,
    goal: GoalText = "",
    motivation: MotivationText = "",
    expects: ExpectsText = "",
    note: NoteText = "",
    follows: Follows = None,
    monitor: MonitorText = None,
    show_help: Help = False,
) -> None:
    """Run a benchmark: expectation, repetitions, verdict, result folder, report."""
    arguments = list(context.args)
    typed = ["weir", *sys.argv[1:]]
    # Runs that are named are looked for from here, and not from where --again enters.
    purpose = None
    if not show_help:
        purpose = given_purpose(goal, motivation, expects, note, follows or [])
    repeated = None
    if again is not None and not show_help:
        # Variables such as WEIR_LAUNCHER yield to the settings with which the run was started.
        others = ("ranks", "launcher", "tasks_per_node", "platform", "sweep", "resume")
        if arguments or any(_is_typed(context, name) for name in others):
            raise BenchError(
                "--again repeats a run as it was started: give only --output, --no-report, --go-on "
                "and --timeout with it, and why it is made (--motivation and the like)",
                USAGE,
            )
        output = None if output is None else output.absolute()
        repeated = _run_of(again)
        start = start_again(repeated)
        enter(start)
        typed, arguments, platform = start.command_by_user, start.arguments, start.platform
        launcher, tasks_per_node = shlex.join(start.launcher), None
    if show_help or not arguments:
        explain("bench", arguments)
        return
    check_arguments(arguments)
    interval = None if monitor is None else read_interval(monitor)
    if sweep:
        # Imported here: a single run starts without campaigns.
        from weir.commands.sweep import run_sweep  # noqa: PLC0415

        run_sweep(
            arguments,
            sweep,
            ranks,
            launcher,
            platform,
            output,
            timeout,
            resume=resume,
            tasks_per_node=tasks_per_node,
            monitor_seconds=interval,
            purpose=purpose,
        )
        return
    if resume:
        raise BenchError("--resume continues a --sweep: leave it out for a single run", USAGE)
    console = output_console()
    target = output or default_output(arguments[0], utc_now())
    check_output(target)
    other = holder_of_machine()
    if other is not None:
        warn(
            "a campaign is running on this machine, so both disturb each other's measurements: "
            f"{other}"
        )
    job = find_job(ranks, launcher, tasks_per_node=tasks_per_node)
    if repeated is not None:
        other = other_binaries(repeated.binaries, binaries_of(job.program, job.environment()))
        if other is not None:
            warn(other)
    start = start_of(job, arguments, typed, platform)
    planned, arguments = plan_decided(job, arguments)
    arguments = with_operations_rate(arguments, platform, planned)
    with preparation_folder(target) as preparation:
        prepared = prepare(
            console, job, planned, arguments, preparation, platform, results=target.parent
        )
        console.print()
        work = _Work(console, prepared, start, timeout, interval, with_report=not no_report)
        runs = work.carry_out(arguments, target, preparation, purpose)
        wrong = misplaced(runs, tasks_per_node)
        if wrong is not None:
            warn(wrong)
        if go_on > 0:
            work.go_on(runs, arguments, target, go_on)


@dataclass(frozen=True)
class _Work:
    """Steps 4 and 5 of a job, which may be done a second time with more repetitions."""

    console: Console
    prepared: Prepared
    start: Start
    timeout: float | None
    interval_seconds: float | None
    with_report: bool

    def carry_out(
        self,
        arguments: list[str],
        target: Path,
        preparation: Path,
        purpose: Purpose | None = None,
    ) -> list[Run]:
        """Runs the job, shows its results and returns its runs."""
        failure = self._failure_of(arguments, target, preparation)
        try:
            record_start(target, self.start.model_copy(update={"arguments": arguments}))
        except ResultError as error:
            warn(f"the results do not record how the job was started: {error}")
        order = [one.slug for one in self.prepared.planned.configurations]
        runs = _show_results(
            self.console, target, order, purpose, with_report=self.with_report, failure=failure
        )
        if failure is not None:
            raise failure
        return runs

    def _failure_of(
        self, arguments: list[str], target: Path, preparation: Path
    ) -> BenchError | None:
        """Runs the job; returns its failure if it has left results, and raises it otherwise."""
        planned, interval = self.prepared.planned, self.interval_seconds
        try:
            with progress_display(message_console(), display.state_of) as on_progress:
                run_job(
                    self.prepared.job,
                    arguments,
                    target,
                    preparation,
                    self.prepared.expected,
                    timeout_of(planned, self.timeout),
                    on_progress=on_progress,
                    tell=warn,
                    monitor=(
                        None if interval is None else monitor_of(planned, interval, target, warn)
                    ),
                )
        except BenchError as error:
            if not target.exists():
                raise
            return error
        return None

    def go_on(
        self, runs: Sequence[Run], arguments: list[str], target: Path, most_seconds: float
    ) -> None:
        """Runs the job once more if a wide scatter left it undecided and there is time."""
        more = more_of(runs, most_seconds)
        if more is None:
            return
        if isinstance(more, str):
            self.console.print(f"\n{more}", highlight=False, markup=False)
            return
        further = target.with_name(f"{target.name}-more")
        check_output(further)
        self.console.print(
            f"\nGoing on, {more.purpose.motivation}: {more.repetitions} repetitions with the same "
            f"expectation, about {more.seconds:.0f} s",
            highlight=False,
            markup=False,
        )
        words = more.arguments(arguments, most_seconds)
        with preparation_folder(further) as preparation:
            self.carry_out(words, further, preparation, more.purpose)


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _run_of(text: str) -> Run:
    # Imported here because making a run does not need the modules that list and compare runs.
    from weir.commands.find_runs import find_runs  # noqa: PLC0415

    _, run = find_runs(text, None)[0]
    return run


def _show_results(
    console: Console,
    target: Path,
    order: list[str],
    purpose: Purpose | None,
    *,
    with_report: bool,
    failure: BenchError | None,
) -> list[Run]:
    """Finalizes, shows and returns the runs; after a failure only what exists, and before its line.

    ``order`` is the order of the run folders' names in which the runs were planned.
    """
    try:
        finalized = sorted(
            finalize(target, verdict, examine, purpose),
            key=lambda one: order.index(one.folder.name),
        )
    except ResultError as error:
        if failure is None:
            raise
        warn(f"no results: {error}")
        return []
    display.show_verdicts(console, [one.run for one in finalized])
    display.show_others(console, [one.run for one in finalized])
    console.print(f"\nResults: {target}", soft_wrap=True, highlight=False, markup=False)
    if with_report:
        report = write_reports(target)
        console.print(f"Report: {report}", soft_wrap=True, highlight=False, markup=False)
    unfinished = [one.run.label for one in finalized if one.run.status != "complete"]
    if unfinished and failure is None:
        raise BenchError(f"{len(unfinished)} of {len(finalized)} runs did not complete", FAILED)
    return [one.run for one in finalized]


def predict_command(
    context: typer.Context,
    ranks: Ranks = None,
    launcher: LauncherText = None,
    platform: PlatformText = None,
    output: Annotated[Path | None, typer.Option("--output")] = None,
    tasks_per_node: TasksPerNode = None,
    show_help: Help = False,
) -> None:
    """Say what a run should reach, and which stage of the path limits it."""
    arguments = list(context.args)
    if show_help or not arguments:
        explain("predict", arguments)
        return
    check_arguments(arguments)
    job = find_job(ranks, launcher, tasks_per_node=tasks_per_node)
    planned, arguments = plan_decided(job, arguments)
    with preparation_folder(output or Path("prediction")) as preparation:
        prepared = prepare(
            output_console(),
            job,
            planned,
            arguments,
            preparation,
            platform,
            results=default_output(arguments[0], utc_now()).parent,
        )
    if output is not None:
        made = {slug: one.model_dump(mode="json") for slug, one in prepared.expected.items()}
        write_json(output, made)


def prepare(
    console: Console,
    job: Job,
    planned: PlannedJob,
    arguments: list[str],
    preparation: Path,
    platform: str | None = None,
    results: Path | None = None,
) -> Prepared:
    """Shows the plan, calibrates or reads a platform description, and shows the expectations.

    ``results`` is the folder in which earlier results lie side by side.
    """
    probed = probe_of_names(planned) if platform is None else None
    named = platform or probed
    described = None if named is None else find_platform(named)
    places = {} if described is None else places_of(described, planned)
    display.show_plan(console, planned, job.command(arguments))
    if not can_be_expected(planned, described):
        console.print(f"There is no expectation, because {why_nothing(planned)}")
        return Prepared(job, planned, {})
    source = described or calibrate(job, planned, preparation, warn)
    try:
        expected = expectations(planned, source, places, job.environment())
    except BenchError as error:
        if probed is None:
            raise
        console.print(f"There is no expectation: {error}", markup=False)
        return Prepared(job, planned, {})
    expected = with_a_priori(planned, source, expected, results)
    display.show_expectations(console, planned, source, expected)
    return Prepared(job, planned, expected)


def help_of(command: str) -> str:
    """Returns the help of bench or predict on weir's own options."""
    return HELP.format(
        command=command, about=ABOUT[command], output=OUTPUT[command], more=MORE[command]
    )


def explain(command: str, arguments: list[str]) -> None:
    """Prints weir's options, then weir-bench's help on its own."""
    typer.echo(help_of(command))
    workload = [word for word in arguments[:1] if not word.startswith("-")]
    typer.echo(help_text(find_program(os.environ), workload).rstrip())


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("bench", cls=PassingCommand, context_settings=PASSING)(bench_command)
    app.command("predict", cls=PassingCommand, context_settings=PASSING)(predict_command)
