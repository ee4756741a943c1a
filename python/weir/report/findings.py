"""Says in sentences what was found about a run, what was ruled out, and which test comes next.

All are derived from the run alone: its limits and verdicts, the labels of its events
(``weir.analysis.anomalies``), its monitor, and the tests that ``weir.follow_up`` proposes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from weir.analysis import modes, stragglers, trends
from weir.analysis.anomalies import FEW, LEAST_STALLED, STALL
from weir.analysis.campaign_summary import level_text
from weir.report.anomalies import LEAST_TRANSFERS, is_short, seconds_of_phases
from weir.report.markup import Child, Markup, element, join
from weir.report.quantities import percent_text, plural, rate_text, seconds_text, size_text
from weir.report.sources import Source, measured
from weir.results.expectations import ExpectedRate
from weir.results.quantities import phase_name
from weir.results.schema import Run

CHANGES = frozenset({"decreasing", "increasing", "drop", "rise", "warm-up"})
MET = frozenset({"as expected", "as calibrated"})
"""Verdicts with which the expectation holds, and so its limit."""
MOST_TESTS = 2
MOST_RUNS = 64
"""A page over more runs proposes no test: weir next does, which may take longer than a report."""
RUNS_OF_A_TEST = 3
SMALLER = (
    "Ruled out means that the tests of the run's events did not find it. Smaller effects, and any "
    "in few transfers or strong noise, are not excluded."
)

HOW: tuple[Child, ...] = (
    "Chosen by what they teach for their time. ",
    element("code", "weir next FOLDER"),
    " writes such tests as a campaign, from one run or from several.",
)

PhaseKey = tuple[str, str]


def render(source: Source) -> Markup | None:
    """Returns the three parts, without those that have no sentence; None if none has one."""
    run = source.run
    excluded, tests = ruled_out(run), next_tests([run])
    parts = [
        _part("Found", found(run)),
        _part("Ruled out", [element("li", one) for one in excluded]),
        element("p", SMALLER, class_="note") if _of_events(run) else None,
        join(element("p", "Next test", class_="strong"), tests) if tests else None,
    ]
    return join(*parts) if any(parts) else None


def _part(title: str, items: Sequence[Markup]) -> Markup | None:
    if not items:
        return None
    return join(element("p", title, class_="strong"), element("ul", *items, class_="findings"))


def _limit(expected: ExpectedRate, *, is_met: bool) -> tuple[Child, ...]:
    """Returns the end of a sentence on the limit: it is found only if the rate is as expected."""
    stage, rate = element("bdi", expected.limiting_stage), rate_text(expected.value)
    if is_met:
        return ": the path's limit is ", stage, f", expected at {rate}."
    return ": the expected limit, ", stage, f" at {rate}, is not confirmed."


def found(run: Run) -> list[Markup]:
    """Returns the limit of each direction, what is unusual, and what others did, one by one."""
    rates = run.expectation.rates if run.expectation else []
    judged = {one.key: one.verdict for one in (run.verdict.all if run.verdict else [])}
    items = [
        element(
            "li",
            element("strong", "Writing" if expected.direction == "write" else "Reading"),
            ", as observed" if run.outputs and expected.metric == "foreground" else None,
            *_limit(expected, is_met=judged.get(expected.key) in MET),
        )
        for expected in sorted(rates, key=lambda expected: expected.direction != "write")
        if expected.limiting_stage
    ]
    for one in run.anomalies or []:
        reasons = [element("li", reason) for reason in one.reasons]
        items.append(
            element(
                "li",
                element("strong", phase_name(one.function, one.direction)),
                f": {one.text}.",
                element("ul", *reasons) if reasons else None,
                data_anomaly=one.kind,
            )
        )
    if run.monitor is not None and run.monitor.others.verdict == "not quiet":
        items.append(_named("Others on the file system", f"{run.monitor.others.text}."))
    if run.verification.errors:
        wrong = sum(one.bytes_wrong for one in run.verification.errors)
        items.append(_named("Wrong data", f"{size_text(wrong)} differ from what was written."))
    return items


def _named(name: str, said: Child) -> Markup:
    return element("li", element("strong", name), ": ", said)


def ruled_out(run: Run) -> list[str]:
    """Returns a sentence for each cause that was tested for and not found, with its least size."""
    said = _of_events(run)
    if run.monitor is not None and run.monitor.others.verdict == "quiet":
        said.append(f"Others on the file system: {run.monitor.others.text}.")
    checks = run.verification
    # The workload metadata checks items instead of bytes.
    if checks.performed and checks.bytes_verified and not checks.errors:
        checked = size_text(checks.bytes_verified)
        said.append(f"Wrong data: {checked} were read back and are what was written.")
    return said


def _of_events(run: Run) -> list[str]:
    return [] if run.anomalies is None else _of_units(run) + _of_rates(run)


def _of_units(run: Run) -> list[str]:
    """A phase with another slow or overloaded unit counts for no level: one may hide another."""
    units = {
        "rank": run.plan.ranks,
        "host": len(run.nodes),
        "target": len({one.directory for one in run.targets}),
    }
    clear = _without(run, lambda kind: kind.startswith("slow ") or kind == "uneven allocation")
    if not clear:
        return []
    return [
        f"A slow {level}: none of {number} was found to take {stragglers.STRAGGLER_FACTOR} times "
        f"as long for a byte as the others and to cost {percent_text(stragglers.LEAST_COST - 1)} "
        f"of the time ({_listed(clear)})."
        for level, number in units.items()
        if number > 1
    ]


def _of_rates(run: Run) -> list[str]:
    said = []
    clear = _without(run, lambda kind: kind == "modes")
    if clear:
        said.append(
            f"A second mode: no mode with {percent_text(modes.LEAST_SHARE)} of the transfers was "
            f"found a factor of {modes.LEAST_RATIO} from another ({_listed(clear)})."
        )
    clear = [
        key
        for key in _without(run, lambda kind: kind in CHANGES)
        if _operations_of_a_rank(run, key) >= trends.LEAST_WINDOWS
    ]
    if clear:
        said.append(
            f"A change over time: none by {percent_text(trends.LEAST_CHANGE)} or more within a "
            f"repetition was found ({_listed(clear)})."
        )
    clear = _without(run, lambda kind: kind == "stalls")
    if clear:
        said.append(
            f"Stalls: no {percent_text(FEW)} of the transfers or fewer were found that take "
            f"{percent_text(LEAST_STALLED)} of the time, each {STALL:g} times as long as the one "
            f"in the middle ({_listed(clear)})."
        )
    return said


def _without(run: Run, is_meant: Callable[[str], bool]) -> list[PhaseKey]:
    """Returns the phases with enough transfers and time to be examined that have no such label."""
    labelled = {(one.function, one.direction) for one in run.anomalies or [] if is_meant(one.kind)}
    number: dict[PhaseKey, int] = {}
    for phase in (phase for repetition in measured(run) for phase in repetition.phases):
        key = (phase.function, phase.direction)
        number[key] = number.get(key, 0) + phase.operations
    seconds = seconds_of_phases(run)
    return [
        key
        for key, many in number.items()
        if many >= LEAST_TRANSFERS and key not in labelled and not is_short(seconds[key])
    ]


def _operations_of_a_rank(run: Run, key: PhaseKey) -> int:
    planned = [one for one in run.plan.phases if (one.function, one.direction) == key]
    return max((one.operations_per_rank for one in planned), default=0)


def _listed(phases: Sequence[PhaseKey]) -> str:
    return ", ".join(phase_name(function, direction) for function, direction in phases)


def next_tests(runs: Sequence[Run]) -> Markup | None:
    """Returns the tests that teach most for their time, with what they would decide."""
    if len(runs) > MOST_RUNS:
        return None
    from weir.follow_up.points import points_of_runs  # noqa: PLC0415 (scipy takes long to import)
    from weir.follow_up.propose import propose  # noqa: PLC0415

    usable = [run for run in runs if run.imported is None and run.status == "complete"]
    try:
        tests = propose(points_of_runs(usable), math.inf, runs=RUNS_OF_A_TEST, most=MOST_TESTS)
    except ValueError:  # Runs of several workloads, or none with a rate of bytes.
        return None
    items = [
        element(
            "li",
            element(
                "strong",
                ", ".join(
                    f"{name} = {level_text(name, value)}" for name, value in one.settings.items()
                ),
            ),
            f" ({one.goal}; {plural(RUNS_OF_A_TEST, 'run')}, about {seconds_text(one.seconds)}): "
            f"{one.motivation}. Expected: {one.expects}. It decides: {one.decides}.",
            data_next=one.goal,
        )
        for one in tests
    ]
    if not items:
        return None
    return join(element("ul", *items, class_="findings"), element("p", *HOW, class_="note"))
