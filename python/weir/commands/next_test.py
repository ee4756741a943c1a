"""``weir next``: proposes the next tests from results, and writes them as a campaign."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from weir.analysis.campaign_summary import level_text
from weir.bench.errors import USAGE, BenchError
from weir.bench.program import find_program, plan_job
from weir.bench.tables import plain_table
from weir.campaign.arguments import arguments_of, ranks_of, settings_of
from weir.campaign.display import duration_text
from weir.campaign.file import CampaignFile, load_campaign_file, parse_campaign_file, read_duration
from weir.campaign.folder import COPY
from weir.campaign.journal import done_runs, read_journals
from weir.campaign.levels import LevelError, read_levels
from weir.commands.constants import propose_constants
from weir.commands.find_runs import tell_changes
from weir.commands.terminal import output_console, warn
from weir.follow_up.campaign_text import campaign_text
from weir.follow_up.components import (
    ASSUMED,
    FIXED,
    Component,
    Pool,
    components_of,
    pool_commands,
)
from weir.follow_up.points import RANKS, Measured, is_number, points_of_campaign, points_of_runs
from weir.follow_up.proposal import Proposal
from weir.follow_up.propose import propose
from weir.platform.files import find_description
from weir.report.quantities import plural
from weir.results.campaign import Campaign, Value, campaign_of, finished_runs
from weir.results.errors import ResultError
from weir.results.folder import find_run_folders, load_run, write_atomically
from weir.results.platform import Platform
from weir.results.platform_file import load_platform

DEFAULT_TIME = "30min"
DEFAULT_RUNS = 3


@dataclass(frozen=True)
class Base:
    """What the new campaign takes over from the results that it follows."""

    measured: Measured
    name: str
    file: CampaignFile
    """The results' workload, arguments and fixed settings, without factors."""
    more: dict[str, Any] = field(default_factory=dict)


def next_command(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            help="Folder of a campaign, or folders with runs, which may be campaigns too.",
            show_default=False,
        ),
    ] = None,
    time: Annotated[
        str, typer.Option("--time", help="Time for all proposed tests: 90s, 30min, 2h.")
    ] = DEFAULT_TIME,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE.toml",
            help="[default: NAME-next.toml; a folder with --components]",
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", min=1, max=100, help="Runs of each test.")
    ] = DEFAULT_RUNS,
    most: Annotated[
        int, typer.Option("--most", min=1, max=40, help="Propose at most so many tests.")
    ] = 12,
    components: Annotated[
        str | None,
        typer.Option(
            "--components",
            metavar="FILE|NAME",
            help="Write campaigns of a machine's components, from its description's edges.",
        ),
    ] = None,
    constants: Annotated[
        str | None,
        typer.Option(
            "--constants",
            metavar="FILE|NAME",
            help=(
                "Propose the tests that teach most about what this machine's servers, targets "
                "and controllers do, after the results in PATH, if any."
            ),
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            "--within",
            metavar="NAME=LOW:HIGH",
            help="Propose no other levels of a factor, such as ranks=1:64; may be repeated.",
        ),
    ] = None,
) -> None:
    """Propose the next tests: each with motivation, expected result, cost, and what it decides.

    The tests have Uselton's three goals: to look for new behaviour in new regions, to confirm an
    interpolation, to test with a refined method. They are chosen by what they teach for each
    second, and written as a campaign that weir campaign runs.

    With --components, no results are needed: a folder gets one campaign for each question that
    Uselton asks about the parts of a machine (section 3.9.4). With --constants, the tests are
    those that teach most about the constants of these parts, after what PATH has of such tests.
    """
    if components is not None:
        if constants is not None:
            raise BenchError("--components is given and also --constants: give one of them", USAGE)
        if paths:
            raise BenchError("a folder is given and also --components: give one of them", USAGE)
        _write_components(components, output)
        return
    if constants is not None:
        _write_constants(paths or [], constants, time, runs, most, output)
        return
    if not paths:
        raise BenchError(
            "give a campaign's folder, a folder with runs, --components NAME or --constants NAME",
            USAGE,
        )
    budget = read_seconds("--time", time)
    limits = _limits(within or [])
    base = _base(paths)
    _check_names(limits, base.measured)
    refused: list[str] = []
    refuses = refusals(base, limits, refused)
    try:
        proposals = propose(base.measured, budget, runs=runs, refuses=refuses, most=most)
    except ValueError as error:
        raise BenchError(f"{_listed(paths)}: no test can be proposed: {error}") from None
    console = output_console()
    if not proposals:
        console.print(
            f"No test of {plural(runs, 'run')} fits into {duration_text(budget)}: give more --time "
            "or fewer --runs",
            highlight=False,
        )
        if refused:
            console.print(
                f"{plural(len(refused), 'test')} cannot be run; the first: {refused[0]}",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
        return
    target = output or Path(f"{base.name}-next.toml")
    command = f"weir next {shlex.join(str(path) for path in paths)} --time {time}"
    text = campaign_text(
        proposals,
        workload=base.file.workload,
        name=target.stem,
        description=f"Follow-up tests of {base.name}",
        runs=runs,
        fixed=base.file.fixed,
        head=f"Proposed by: {command}\nRun it with: weir campaign {target}",
        more=base.more,
    )
    _write(target, text)
    _show(console, base, proposals, runs)
    _say_written(console, target)


def _write(target: Path, text: str) -> None:
    """Writes a campaign file, after parsing it as ``weir campaign`` will."""
    if target.suffix != ".toml":
        raise BenchError(f"--output {target}: give a file that ends in .toml", USAGE)
    if target.exists():
        raise BenchError(f"{target} exists: give another file by --output", USAGE)
    parse_campaign_file(text, str(target), target.stem)
    write_atomically(target, text)


def _say_written(console: Console, target: Path) -> None:
    console.print(f"\nCampaign: {target}", soft_wrap=True, highlight=False, markup=False)
    console.print(
        f"Run it:   weir campaign {target}", soft_wrap=True, highlight=False, markup=False
    )


def _write_components(given: str, output: Path | None) -> None:
    """Writes the component campaigns of a described machine, and prints a line for each."""
    platform = load_platform(find_description(given))
    try:
        made, left_out = components_of(platform)
    except ValueError as error:
        raise BenchError(f"no component campaigns can be made: {error}", USAGE) from None
    folder = output or Path(f"components-{_file_name(Path(platform.name))}")
    if folder.exists():
        raise BenchError(f"{folder} exists: give another folder by --output", USAGE)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise BenchError(f"{folder} cannot be made: {error.strerror}", USAGE) from None
    console = output_console()
    table = plain_table("file", ">tests", ">time", "=the question that it answers")
    for number, one in enumerate(made, 1):
        target = folder / f"{number:02d}-{one.name}.toml"
        _write(target, _component_text(platform, one, target))
        table.add_row(
            target.name,
            str(len(one.tests)),
            duration_text(one.seconds),
            escape(one.sentence),
        )
    console.print(table)
    for name, reason in left_out.items():
        console.print(f"left out: {name}, because {reason}", highlight=False, markup=False)
    console.print(f"\nCampaigns: {folder}", soft_wrap=True, highlight=False, markup=False)


def _component_text(platform: Platform, one: Component, target: Path) -> str:
    names = {name for test in one.tests for name in test.settings}
    head = [
        f"A component test of {platform.name}: {one.sentence}",
        f"It is about {one.edge}.",
        f"Set directory in [fixed], then: weir campaign {target}",
    ]
    head += _pools_text(one.pools)
    return campaign_text(
        one.tests,
        workload="stream",
        name=one.name,
        description=one.sentence,
        runs=1,
        fixed={name: value for name, value in FIXED.items() if name not in names},
        head="\n".join(head),
        more={"run_timeout": "2h"},
    )


def _pools_text(pools: Sequence[Pool]) -> list[str]:
    if not pools:
        return []
    return [
        "",
        "The pools put files on targets. Make them first; FS is the file system's name.",
        *ASSUMED,
        *pool_commands(pools),
    ]


def _write_constants(
    paths: Sequence[Path], given: str, time: str, runs: int, most: int, output: Path | None
) -> None:
    """Writes the tests that teach most about a machine's constants as a campaign."""
    seconds = read_seconds("--time", time)
    platform, proposals, pools = propose_constants(paths, given, seconds, runs, most)
    console = output_console()
    if not proposals:
        raise BenchError(
            f"no test of {plural(runs, 'run')} fits into {duration_text(seconds)}: give more "
            "--time or fewer --runs",
            USAGE,
        )
    target = output or Path(f"{_file_name(Path(platform.name))}-constants-next.toml")
    words = ["weir", "next", *map(str, paths), "--constants", given, "--time", time]
    head = [
        f"Proposed by: {shlex.join(words)}",
        f"Set directory in [fixed], then: weir campaign {target}",
        *_pools_text(pools),
    ]
    text = campaign_text(
        proposals,
        workload="stream",
        name=target.stem,
        description=f"What the parts of {platform.name} do",
        runs=runs,
        fixed=FIXED,
        head="\n".join(head),
        more={"run_timeout": "2h"},
    )
    _write(target, text)
    console.print()
    _show_proposals(console, proposals, runs)
    _say_written(console, target)


def read_seconds(option: str, text: str) -> float:
    """Returns the seconds of an option; raises ``BenchError`` for no time above 0."""
    try:
        seconds = read_duration(text)
    except ValueError as error:
        raise BenchError(f"{option}: {error}", USAGE) from None
    assert isinstance(seconds, float)
    if seconds <= 0:
        raise BenchError(f"{option} {text}: give a time above 0", USAGE)
    return seconds


def _limits(given: list[str]) -> dict[str, tuple[float, float]]:
    limits = {}
    for text in given:
        name, _, span = text.partition("=")
        ends = span.split(":")
        try:
            numbers = [value for end in ends for value in read_levels(end)]
        except LevelError as error:
            raise BenchError(f"--within {text}: {error}", USAGE) from None
        if len(ends) != 2 or len(numbers) != 2 or not all(is_number(one) for one in numbers):
            raise BenchError(f"--within {text}: write NAME=LOW:HIGH, such as ranks=1:64", USAGE)
        limits[name.strip().replace("_", "-")] = (float(numbers[0]), float(numbers[1]))
    return limits


def _check_names(limits: Mapping[str, object], measured: Measured) -> None:
    names = [name for factor in measured.factors for name in factor.names]
    unknown = sorted(set(limits) - set(names))
    if unknown:
        raise BenchError(
            f"--within {unknown[0]}: the results have no such factor, only {', '.join(names)}",
            USAGE,
        )


def _base(paths: Sequence[Path]) -> Base:
    """Returns the points of a campaign or of run folders, and what stays as it was."""
    if len(paths) == 1:
        campaign = campaign_of(paths[0])
        if campaign is not None:
            tell_changes(itertools.chain(*finished_runs(paths[0], campaign).values()))
            return base_of_campaign(paths[0], campaign)
    loaded = []
    for folder in (folder for path in paths for folder in find_run_folders(path)):
        try:
            loaded.append((folder, load_run(folder)))
        except ResultError as error:
            warn(f"left out: {error}")
    tell_changes(loaded)
    if not loaded:
        raise BenchError(
            f"{_listed(paths)} has no run: give a campaign's folder or one with runs", USAGE
        )
    try:
        measured = points_of_runs([run for _, run in loaded])
    except ValueError as error:
        raise BenchError(f"{_listed(paths)}: {error}", USAGE) from None
    file = CampaignFile(workload=measured.workload, fixed=dict(measured.fixed))
    return Base(measured, _file_name(paths[0]), file)


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(str(path) for path in paths)


def base_of_campaign(path: Path, campaign: Campaign, only: Collection[int] | None = None) -> Base:
    """Returns what a campaign measured, in all runs that are done or in some of them."""
    read = load_campaign_file(path / COPY)
    fixed = settings_of(read, {}, campaign.scale)
    ranks = campaign.given.get(RANKS)
    names = {name for factor in campaign.factors for name in factor.names}
    if ranks is not None and RANKS not in names:
        fixed.setdefault(RANKS, ranks)
    took = {number: one.seconds for number, one in done_runs(read_journals(path, warn)).items()}
    finished = {
        number: runs
        for number, runs in finished_runs(path, campaign).items()
        if only is None or number in only
    }
    measured = points_of_campaign(campaign, finished, fixed, took)
    more: dict[str, Any] = {"assumed_rate": read.assumed_rate}
    if read.arguments:
        more["arguments"] = read.arguments
    if read.run_timeout is not None:
        more["run_timeout"] = read.run_timeout
    if campaign.platform is not None:
        more["platform"] = {"file": campaign.platform}
    file = CampaignFile(workload=read.workload, arguments=read.arguments, fixed=fixed)
    return Base(measured, campaign.name, file, more)


def _file_name(path: Path) -> str:
    name = path.resolve().name
    return "".join(one if one.isalnum() or one in "._-" else "-" for one in name) or "results"


def refusals(
    base: Base, limits: Mapping[str, tuple[float, float]], told: list[str]
) -> Callable[[Mapping[str, Value]], str | None]:
    """Returns a function that says why a test cannot be run here: its limits, or its plan.

    Each test is planned once; what is wrong with it is added to ``told``.
    """
    given = dict(limits)
    if RANKS not in given and not any(
        os.environ.get(one) for one in ("WEIR_LAUNCHER", "SLURM_JOB_ID")
    ):
        ranks = [
            float(value)
            for one in base.measured.points
            if is_number(value := one.settings.get(RANKS, 1))
        ]
        given[RANKS] = (1, max([len(os.sched_getaffinity(0)), *ranks]))
    try:
        program: Path | None = find_program(os.environ)
    except BenchError as error:
        warn(f"the tests are not checked by planning them: {error}")
        program = None

    def reason(place: Mapping[str, Value]) -> str | None:
        for name, (low, high) in given.items():
            value = place.get(name)
            if value is not None and is_number(value) and not low <= float(value) <= high:
                return f"{name} = {value} is not within {low:g} to {high:g}"
        if program is None:
            return None
        settings = {**base.file.fixed, **place}
        try:
            plan_job(program, arguments_of(base.file, settings), ranks_of(settings, 1) or 1)
        except BenchError as error:
            return str(error)
        return None

    known: dict[tuple[tuple[str, Value], ...], str | None] = {}

    def refuses(place: Mapping[str, Value]) -> str | None:
        key = tuple(sorted(place.items()))
        if key not in known:
            known[key] = reason(place)
            told.extend([text] if (text := known[key]) is not None else [])
        return known[key]

    return refuses


def _show(console: Console, base: Base, proposals: list[Proposal], runs: int) -> None:
    """Prints what was read, a table of the tests, and the sentences of each."""
    measured = base.measured
    left_out = f", {measured.left_out} left out" if measured.left_out else ""
    console.print(
        f"{escape(base.name)}: {measured.workload}, {len(measured.points)} rates of "
        f"{sum(len(one.runs) for one in measured.points)} runs{left_out}; one run scatters by "
        f"{100 * measured.noise:.1f} %",
        highlight=False,
    )
    _show_proposals(console, proposals, runs)


def _show_proposals(console: Console, proposals: Sequence[Proposal], runs: int) -> None:
    table = plain_table("", "test", "goal", ">cost", ">bits", "=expects")
    for number, one in enumerate(proposals, 1):
        place = ", ".join(
            f"{name}={level_text(name, value)}" for name, value in one.settings.items()
        )
        table.add_row(
            str(number),
            escape(place),
            one.goal,
            duration_text(one.seconds),
            f"{one.bits:.2f}",
            escape(one.expects),
        )
    console.print(table)
    for number, one in enumerate(proposals, 1):
        console.print()
        for head, text in (("motivation", one.motivation), ("decides", one.decides)):
            console.print(f"{number} {head}: {text}", highlight=False, markup=False, soft_wrap=True)
    seconds = sum(one.seconds for one in proposals)
    console.print(
        f"\n{plural(len(proposals), 'test')} of {plural(runs, 'run')} each: about "
        f"{duration_text(seconds)}",
        highlight=False,
    )


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("next")(next_command)
