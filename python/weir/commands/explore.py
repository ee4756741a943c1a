"""``weir explore``: tests one after the other, each chosen by the results of those before."""

from __future__ import annotations

import functools
import itertools
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from weir.bench.errors import USAGE, BenchError
from weir.bench.job import check_arguments, default_output, utc_now, utc_text
from weir.bench.platforms import find_platform
from weir.campaign import display
from weir.campaign.design import RANKS
from weir.campaign.execution import Result, planned_bytes
from weir.campaign.exploring import (
    first_design,
    grown_setup,
    refusal,
    size_of_first,
    with_test,
)
from weir.campaign.file import CampaignFile, parse_campaign_file
from weir.campaign.folder import begin_folder, check_unchanged, existing_campaign
from weir.campaign.journal import done_runs, read_journals
from weir.campaign.session import Session, ending_error, run_session
from weir.campaign.setup import JobOf, Setup, design_campaign, prepare_campaign
from weir.campaign.sweep import read_sweep, sweep_file
from weir.commands.bench import PASSING
from weir.commands.completion import PassingCommand
from weir.commands.constants import RUNS, SCATTER, UNTIL, Asked, explore_constants
from weir.commands.find_runs import tell_changes
from weir.commands.job_options import (
    LauncherText,
    MonitorText,
    PlatformText,
    Ranks,
    find_job,
    read_interval,
    words_of,
)
from weir.commands.next_test import base_of_campaign, read_seconds
from weir.commands.sweep import words_without_swept
from weir.commands.terminal import message_console, output_console, warn
from weir.follow_up.exploration import (
    Known,
    all_places,
    expected_at,
    known_of,
    next_step,
    place_text,
)
from weir.follow_up.points import Measured
from weir.follow_up.proposal import Proposal
from weir.report.quantities import plural
from weir.results.campaign import CAMPAIGN_FILE, Campaign, Value, finished_runs
from weir.results.exploration import (
    LEDGER_FILE,
    ExplorationStep,
    Knowledge,
    Outcome,
    append_step,
    load_steps,
)
from weir.results.folder import write_atomically
from weir.results.purpose import Purpose
from weir.results.quantities import percent_text, range_text, rate_text
from weir.results.record import Quantity

DEFAULT_BUDGET = "30min"
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


@dataclass
class Exploration:
    """An exploration while it goes on: what it was asked, and how far it is."""

    output: Path
    file: CampaignFile
    setup: Setup
    job_of: JobOf
    runs: int
    until: float | None
    most: int | None = None
    """Number of runs after which the exploration ends."""
    step: int = 0
    ended: str = ""
    """Why there is no further test; empty as long as there may be one."""
    known: list[Known] = field(default_factory=list)
    pending: tuple[ExplorationStep, dict[str, Quantity]] | None = None
    refused: dict[tuple[tuple[str, Value], ...], str | None] = field(default_factory=dict)

    @property
    def campaign(self) -> Campaign:
        return self.setup.campaign

    def follow(self, result: Result, left: float) -> Setup | None:
        """Takes the results of the last test, and returns the campaign with the next one."""
        for number in result.failed:
            run = self.campaign.runs[number - 1]
            place = self.campaign.combinations[run.combination]
            self.refused[_key(place)] = result.failed[number]
        measured = base_of_campaign(self.output, self.campaign).measured
        console = output_console()
        if not measured.points:
            self.ended = "no run was complete"
            return None
        self.learn(console, measured)
        if self.until is not None and all(one.within(self.until) for one in self.known):
            self.ended = (
                f"every rate is known to {percent_text(self.until)}, and so were held-out points"
            )
            return None
        if self.most is not None and len(self.campaign.runs) + self.runs > self.most:
            self.ended = f"{plural(len(self.campaign.runs), 'run')} were to be made at most"
            return None
        proposal = self._next(measured, left)
        if proposal is None:
            return None
        self.step += 1
        return self._take(console, measured, proposal)

    def learn(self, console: Console, measured: Measured) -> None:
        """Says how the last test ended and what is known now, and writes that to the ledger."""
        places = [one for one in all_places(self.campaign.factors) if self._refuses(one) is None]
        self.known = known_of(measured, places)
        outcomes = []
        if self.pending is not None:
            made, expected = self.pending
            got = base_of_campaign(self.output, self.campaign, made.runs).measured
            outcomes = [
                Outcome(
                    rate=point.line,
                    expected=expected[point.line],
                    bytes_per_second=point.median,
                    inside=expected[point.line].low <= point.median <= expected[point.line].high,
                )
                for point in got.points
                if point.line in expected
            ]
            for one in outcomes:
                where = "inside" if one.inside else "outside"
                _say(
                    console,
                    f"  got: {one.rate} {rate_text(one.bytes_per_second)}, {where} what was "
                    "expected",
                )
            if not outcomes:
                _say(console, "  got: no rate, because no run of the test was complete")
        elif not load_steps(self.output):
            made = ExplorationStep(
                step=0,
                made_utc=utc_text(utc_now()),
                runs=[run.number for run in self.campaign.runs],
                settings={},
                motivation="the first design",
                outcomes=[],
                known=[],
            )
        else:
            return  # Resumed: what is known stands in the ledger already.
        for known in self.known:
            _say(console, f"  now: {_known_text(known)}")
        knowledge = [
            Knowledge(
                rate=one.line,
                held_out_error=one.held_out,
                widest=one.widest,
                widest_at=dict(one.at),
            )
            for one in self.known
        ]
        update = {"outcomes": outcomes, "known": knowledge, "made_utc": utc_text(utc_now())}
        append_step(self.output, made.model_copy(update=update))
        self.pending = None

    def _next(self, measured: Measured, left: float) -> Proposal | None:
        try:
            found = next_step(measured, left, runs=self.runs, refuses=self._refuses)
            if found is None:
                more = next_step(measured, float("inf"), runs=self.runs, refuses=self._refuses)
                self.ended = "no test teaches more"
                if more is not None:
                    self.ended = (
                        f"the budget ends: {display.duration_text(max(0.0, left))} are left, and "
                        "no test that teaches more fits into them"
                    )
        except ValueError as error:
            self.ended = str(error)
            return None
        return found

    def _take(self, console: Console, measured: Measured, proposal: Proposal) -> Setup:
        place = proposal.settings
        _say(
            console,
            f"Step {self.step}: {place_text(place)} ({proposal.goal}, about "
            f"{display.duration_text(proposal.seconds)}, {proposal.bits:.2f} bits)",
        )
        _say(console, f"  motivation: {proposal.motivation}")
        expected = expected_at(measured, place, self.runs)
        for name, one in expected.items():
            _say(
                console,
                f"  expected: {name} {rate_text(one.value)} ({range_text(one.low, one.high)})",
            )
        purpose = Purpose(
            goal=proposal.goal,
            motivation=proposal.motivation,
            expects=proposal.expects,
            expected=list(proposal.expected),
            decides=proposal.decides,
            follows=list(proposal.follows),
        )
        grown = with_test(self.campaign, place, purpose, self.runs)
        made = ExplorationStep(
            step=self.step,
            made_utc=utc_text(utc_now()),
            runs=[run.number for run in grown.runs[-self.runs :]],
            settings=dict(place),
            goal=proposal.goal,
            motivation=proposal.motivation,
            outcomes=[],
            known=[],
        )
        self.setup = grown_setup(self.setup, grown, self.file, self.job_of, None)
        write_campaign(self.output, grown)
        self.pending = (made, expected)
        return self.setup

    def _refuses(self, place: Mapping[str, Value]) -> str | None:
        key = _key(place)
        if key not in self.refused:
            self.refused[key] = refusal(self.file, place, self.job_of)
        return self.refused[key]


def explore_command(
    context: typer.Context,
    factor: Annotated[
        list[str] | None,
        typer.Option(
            "--factor",
            metavar="NAME=LEVELS",
            help="Factor and its levels: ranks=1,2,4 or transfer=4k:4m:*4; may be repeated.",
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option("--budget", help="Begin no test that would end later: 90s, 30min, 2h.")
    ] = DEFAULT_BUDGET,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="SHARE",
            help="End when every rate is known to this share, such as '10 %'.",
        ),
    ] = None,
    most: Annotated[
        int | None, typer.Option("--most", min=2, help="End after so many runs.")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs", min=1, max=100, help=f"Runs of each test [1; with --constants {RUNS}]."
        ),
    ] = None,
    first: Annotated[
        int | None,
        typer.Option("--first", min=2, max=2000, help="Tests before the first one is chosen."),
    ] = None,
    ranks: Ranks = None,
    launcher: LauncherText = None,
    platform: PlatformText = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", help="Folder of the campaign. [weir-results/<UTC stamp>-WORKLOAD-explore]"
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an exploration stood.")
    ] = False,
    monitor: MonitorText = None,
    constants: Annotated[
        str | None,
        typer.Option(
            "--constants",
            metavar="FILE|NAME",
            help=(
                "Instead of a workload: find what the servers, targets and controllers of this "
                "described machine do. Needs --simulated; weir next --constants is for real ones."
            ),
        ),
    ] = None,
    simulated: Annotated[
        str | None,
        typer.Option(
            "--simulated",
            metavar="FILE|NAME",
            help="With --constants: the constants of the simulated machine, as franklin-after.",
        ),
    ] = None,
    scatter: Annotated[
        str, typer.Option("--scatter", metavar="SHARE", help="Of one simulated run.")
    ] = percent_text(SCATTER),
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Of the simulated scatter and of the belief.")
    ] = 1,
) -> None:
    """Explore a workload's factors: run a few tests, then each time the one that teaches most.

    WORKLOAD and its options are given as for weir bench. The levels of the factors are a grid, of
    which a small part is run. The tests are a campaign, which weir report and weir next take.
    With --constants and --simulated, the loop finds the constants of a simulated machine instead.
    """
    arguments = list(context.args)
    if constants is not None or simulated is not None:
        if constants is None or simulated is None or arguments or factor:
            raise BenchError(
                "give --constants NAME and --simulated NAME together, without a workload", USAGE
            )
        asked = Asked(
            constants=constants,
            simulated=simulated,
            budget=read_seconds("--budget", budget),
            until=UNTIL if until is None else _share("--until", until),
            most=most,
            runs=runs or RUNS,
            scatter=_share("--scatter", scatter),
            seed=seed,
            output=output,
        )
        explore_constants(asked)
        return
    runs = runs or 1
    if not arguments or arguments[0].startswith("-"):
        raise BenchError("give a workload, such as: weir explore stream --factor ranks=1,2", USAGE)
    check_arguments(arguments)
    if not factor:
        raise BenchError("give at least one --factor NAME=LEVELS", USAGE)
    if resume and output is None:
        raise BenchError("--resume needs the exploration's folder: --output FOLDER", USAGE)
    seconds = read_seconds("--budget", budget)
    share = None if until is None else _share("--until", until)
    text, file, ranks = _file_of(arguments, factor, ranks, first)
    target = output or default_output(f"{arguments[0]}-explore", utc_now())
    begun = existing_campaign(target, resume=resume)
    if begun is not None:
        check_unchanged(target, begun, text, {}, platform)
    job_of = functools.cache(lambda count, tasks: find_job(count, launcher, tasks_per_node=tasks))
    campaign = begun
    if campaign is None:
        designed, _ = design_campaign(file, scale=None, platform=platform, given={})
        campaign = first_design(designed, file, job_of, runs)
    setup = prepare_campaign(file, campaign, 0, job_of, None)
    described = find_platform(campaign.platform) if campaign.platform else None
    if begun is None:
        begin_folder(target, campaign, text)
    console = output_console()
    done = len(done_runs(read_journals(target, warn)))
    display.show_design(console, setup, planned_bytes(setup), done)
    exploration = Exploration(target, file, setup, job_of, runs, share, most)
    if begun is not None:
        tell_changes(itertools.chain(*finished_runs(target, campaign).values()))
    _go_on(exploration)
    session = Session(
        output=target,
        job_of=job_of,
        platform=described,
        assumed_rate=file.assumed_rate,
        run_timeout=None,
        time_limit=seconds,
        only=None,
        side_by_side=False,
        console=console,
        messages=message_console(),
        tell=warn,
        on_finalized=_report_of_run,
        monitor_seconds=None if monitor is None else read_interval(monitor),
    )
    began = time.monotonic()
    result = run_session(setup, session, exploration.follow)
    words = ["weir", "explore", *arguments, *(f"--factor={one}" for one in factor)]
    words += [f"--runs={runs}"] if runs != 1 else []
    words += words_of(ranks=ranks, first=first, launcher=launcher, platform=platform)
    words += words_of(most=most, until=until, monitor=monitor)
    words += [f"--budget={budget}", f"--output={target}", "--resume"]
    _end(exploration, result, time.monotonic() - began, shlex.join(words))


def _file_of(
    arguments: Sequence[str], factors: Sequence[str], ranks: int | None, first: int | None
) -> tuple[str, CampaignFile, int | None]:
    """Returns the campaign's file, as text and parsed, and the ranks if they are no factor."""
    workload = arguments[0]
    varied = dict(read_sweep(workload, one, "--factor") for one in factors)
    if len(varied) < len(factors):
        raise BenchError("--factor is given twice for one setting", USAGE)
    if RANKS in varied:
        ranks = None
    words = words_without_swept(arguments, varied, ranks)
    tests = 1
    for _ in range(2):
        text = sweep_file(
            words,
            factors,
            ranks,
            kind="explore",
            more={"design": "latin-hypercube", "tests": tests},
        )
        file = parse_campaign_file(text, "--factor", "explore")
        tests = size_of_first(file, first)
    return text, file, ranks


def _go_on(exploration: Exploration) -> None:
    """Takes up a resumed exploration: the number of its steps, and a test that was not finished."""
    steps = load_steps(exploration.output)
    if not steps:
        return
    exploration.step = steps[-1].step
    made = {number for step in steps for number in step.runs}
    open_runs = [run for run in exploration.campaign.runs if run.number not in made]
    if not open_runs:
        return
    # The test was proposed and its runs are planned; what was expected of it follows from the
    # results before it.
    exploration.step += 1
    run = open_runs[0]
    place = exploration.campaign.combinations[run.combination]
    before = base_of_campaign(exploration.output, exploration.campaign, made).measured
    purpose = run.purpose or Purpose()
    pending = ExplorationStep(
        step=exploration.step,
        made_utc=utc_text(utc_now()),
        runs=[one.number for one in open_runs],
        settings=place,
        goal=purpose.goal,
        motivation=purpose.motivation,
        outcomes=[],
        known=[],
    )
    exploration.pending = (pending, expected_at(before, place, exploration.runs))


def _end(exploration: Exploration, result: Result, seconds: float, again: str) -> None:
    """Prints what was found and why there is no further test; raises the error of a bad end."""
    console = output_console()
    error = None
    if result.outcome == "time limit":
        exploration.ended = f"the budget ends: {result.reason}"
    elif result.outcome != "complete":
        error = ending_error(result, len(exploration.campaign.runs), again)
    if exploration.ended:
        console.print()
        _say(console, f"Ended: {exploration.ended}")
    combinations = len(all_places(exploration.campaign.factors))
    made = done_runs(read_journals(exploration.output, warn))
    used = {run.combination for run in exploration.campaign.runs if run.number in made}
    _say(
        console,
        f"{plural(result.done, 'run')} at {len(used)} of {plural(combinations, 'combination')}, "
        f"in {display.duration_text(seconds)}",
    )
    if not exploration.known:
        measured = base_of_campaign(exploration.output, exploration.campaign).measured
        if measured.points:
            exploration.known = known_of(measured, all_places(measured.factors))
    for known in exploration.known:
        _say(console, _known_text(known))
        for word, (place, rate) in (("fastest", known.fastest), ("slowest", known.slowest)):
            _say(
                console,
                f"  {word}: {rate_text(rate.value)} ({range_text(rate.low, rate.high)}) at "
                f"{place_text(place)}",
            )
    outcomes = [one for step in load_steps(exploration.output) for one in step.outcomes]
    if outcomes:
        inside = sum(one.inside for one in outcomes)
        _say(
            console,
            f"{inside} of {plural(len(outcomes), 'result')} lay in the interval that was expected "
            "(95 %)",
        )
    console.print()
    _say(console, f"Results: {exploration.output}")
    if (exploration.output / LEDGER_FILE).is_file():
        _say(console, f"Ledger: {exploration.output / LEDGER_FILE}")
    if result.done:
        _say(console, f"Report: {_report(exploration.output)}")
    if error is not None:
        raise error
    _say(console, f"Go on: {again}")


def _report_of_run(output: Path) -> None:
    _report(output)


def _report(output: Path) -> Path:
    from weir.report import write_report  # noqa: PLC0415 (loads the report only once it is written)

    return write_report(output)


def write_campaign(output: Path, campaign: Campaign) -> None:
    """Writes the design anew, with the runs of a further test."""
    write_atomically(output / CAMPAIGN_FILE, campaign.model_dump_json(indent=1) + "\n")


def _known_text(one: Known) -> str:
    off = "too few points to hold one out"
    if one.held_out is not None:
        off = f"held-out points are off by {percent_text(one.held_out)}"
    return (
        f"{one.line}: {off}; the widest interval is up to {percent_text(one.widest)} above, at "
        f"{place_text(one.at)}"
    )


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _key(place: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted(place.items()))


def _share(option: str, text: str) -> float:
    found = _SHARE.fullmatch(text.strip())
    if found is None or not 0 < float(found.group(1)) <= 1000:
        raise BenchError(f"{option} {text}: give a share above 0, such as '10 %'", USAGE)
    return float(found.group(1)) / 100


def add_to(app: typer.Typer) -> None:
    """Adds the command of this module."""
    app.command(
        "explore",
        cls=PassingCommand,
        context_settings={**PASSING, "help_option_names": ["-h", "--help"]},
        options_metavar="WORKLOAD [OPTIONS OF weir-bench] --factor NAME=LEVELS [OPTIONS]",
    )(explore_command)
