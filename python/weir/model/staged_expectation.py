"""Expectation of a program's output: the observed and the storage rate, with stagers and without.

Each file takes a constant time beside its bytes, in the calls that open it, agree on its plan, hand
it over or make it durable, and close it. A run without content measures it (``Operation``), and it
is added to the times of the bytes. It replaces the fixed costs of the stages, which it contains.

With stagers the stages of the path are divided: a copy into the stagers' memory, and links if these
are on other nodes, are the hand-over; all others are storing. In each of the two parts the slowest
stage counts, because its stages work on different bytes at the same time (Uselton, section 3.3).
When both take place, and for how long the program is blocked, is in ``weir.model.staging``.

The time from the end of a hand-over until a file without content is durable is storing: the sync,
and what a stager does beside. Without such a run all of this is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from weir.model.flow_of_plan import Messages, Planned
from weir.model.path_time import slowest, stages_told, summed
from weir.model.stage import Case, StageTime, cost_in
from weir.model.staging import StagedFile, StagedTime, staged_time
from weir.results.expectations import ExpectedRate, Metric, Stage
from weir.results.platform import Operation
from weir.results.quantities import percent_text, seconds_text, size_text

Times = Mapping[Case, Sequence[Sequence[StageTime]]]
"""For each case and phase, the time of each stage of the path for all files of the phase."""

LEFT_OUT = (
    "not measured and left out: opening a file, agreeing on its plan, and what a stager does "
    "beside storing"
)
BEHIND = " behind the full memory of the stagers"
CALLS_ON_FILES = "calls on files"
CALLS_ON_MESSAGES = "calls on messages"
"""What expectations call the time of files, or of messages, beside their bytes."""
TO_STAGERS = "TCP to the stagers"
"""What they call the way over the network to stagers, if it was calibrated."""


def written_rates(
    times: Times, phases: Sequence[Planned], operation: Operation
) -> list[ExpectedRate]:
    """Returns the storage and the observed rate of files that the ranks write themselves."""
    moved = sum(planned.phase.bytes_total for planned in phases)
    files = _files(phases)
    totals = {case: _bytes_alone(_totals(of_case)) for case, of_case in times.items()}
    limit = slowest(totals["expected"])
    found = []
    metrics: tuple[Metric, ...] = ("span", "foreground")
    for metric in metrics:
        beside = {case: files * _beside(operation, metric, case) for case in totals}
        seconds = {case: slowest(one).seconds + beside[case] for case, one in totals.items()}
        calls = beside["expected"] > limit.seconds
        found.append(
            ExpectedRate(
                direction="write",
                metric=metric,
                value=moved / seconds["expected"],
                low=moved / seconds["slow"],
                high=moved / seconds["fast"],
                limiting_stage=CALLS_ON_FILES if calls else limit.limit_name,
                stages=[
                    *stages_told(totals, "" if calls else limit.stage.name),
                    _calls_told(beside, moved, limiting=calls),
                ],
                how="; ".join(
                    [
                        "without stagers the program is blocked as long as writing takes",
                        f"interval of {limit.stage.name}: "
                        f"{limit.stage.interval_how or 'as described'}",
                        _told_beside(beside["expected"] / files),
                    ]
                ),
            )
        )
    return found


def message_rate(
    times: Times, phases: Sequence[Planned], messages: Messages, operation: Operation
) -> ExpectedRate:
    """Returns the rate of messages: their calls, and their bytes through the slowest stage.

    What is dropped passes the stages of a hand-over only, and none where nobody copies it. Where
    that is not known, the rate reaches up to that of the calls alone.
    """
    moved = sum(planned.phase.bytes_total for planned in phases)
    number = _files(phases)
    totals = {
        case: [
            time
            for time in _bytes_alone(_totals(of_case))
            if messages.copied and (not messages.dropped or _is_hand_over(time))
        ]
        for case, of_case in times.items()
    }
    bytes_seconds = {
        case: max((time.seconds for time in one), default=0.0) for case, one in totals.items()
    }
    beside = {case: number * _beside(operation, "span", case) for case in totals}
    told = [_told_beside(beside["expected"] / number, "message")]
    if messages.maybe:
        bytes_seconds["fast"] = 0.0
        told.append("at the upper end the library drops the bytes where they are")
    elif not messages.copied:
        told.append("/dev/null takes the bytes without touching them")
    calls = beside["expected"] > bytes_seconds["expected"] or not totals["expected"]
    named, limit = CALLS_ON_MESSAGES, ""
    if not calls:
        slow = slowest(totals["expected"])
        limit = slow.stage.name
        named = f"hand-over by {slow.limit_name}" if messages.dropped else slow.limit_name
        told.append(f"interval of {limit}: {slow.stage.interval_how or 'as described'}")
    rates = {case: moved / (bytes_seconds[case] + beside[case]) for case in totals}
    return ExpectedRate(
        direction="write",
        metric="span",
        value=rates["expected"],
        low=rates["slow"],
        high=rates["fast"],
        limiting_stage=named,
        stages=[
            *stages_told(totals, limit),
            _calls_told(beside, moved, limiting=calls, of=CALLS_ON_MESSAGES),
        ],
        how="; ".join(told),
    )


def staged_rates(
    times: Times,
    phases: Sequence[Planned],
    computing_seconds: float,
    room_bytes: float,
    operation: Operation | None = None,
) -> list[ExpectedRate]:
    """Returns the storage rate (``span``) and the observed one (``foreground``).

    ``low`` and ``high`` are the rates with all stages at their slow and fast ends. Each phase is a
    kind of files, of which each output step writes one as long as there are any; computing follows
    each step. ``room_bytes`` is the memory of all stagers. A platform without a stage of the
    hand-over has no observed rate.
    """
    taken = {
        case: _taken(_steps(of_case, phases, operation, case), computing_seconds, room_bytes)
        for case, of_case in times.items()
    }
    moved = sum(planned.phase.bytes_total for planned in phases)
    totals = {case: _totals(of_case) for case, of_case in times.items()}
    if operation is not None:
        totals = {case: _bytes_alone(of_case) for case, of_case in totals.items()}
    expected = totals["expected"]
    handing = [time for time in expected if _is_hand_over(time)]
    told = _told(taken["expected"], phases, computing_seconds, room_bytes)
    storing = slowest([time for time in expected if not _is_hand_over(time)] or expected)
    found = []
    for metric in _metrics(handing):
        limit = slowest(expected)
        named = limit.limit_name
        shown = totals
        if metric == "foreground":
            one = taken["expected"]
            waits = one.waiting_seconds > one.blocked_seconds - one.waiting_seconds
            limit = storing if waits else slowest(handing)
            named = limit.limit_name + BEHIND
            if not waits:
                named = f"hand-over by {limit.limit_name}"
                shown = {
                    case: [time for time in of_case if _is_hand_over(time)]
                    for case, of_case in totals.items()
                }
        seconds = {case: _seconds(one, metric) for case, one in taken.items()}
        beside = {
            case: 0.0 if operation is None else _files(phases) * _beside(operation, metric, case)
            for case in taken
        }
        calls = beside["expected"] > limit.seconds and not named.endswith(BEHIND)
        if calls:
            named = CALLS_ON_FILES
        told_stages = stages_told(shown, "" if calls else limit.stage.name)
        if operation is not None:
            told_stages.append(_calls_told(beside, moved, limiting=calls))
        found.append(
            ExpectedRate(
                direction="write",
                metric=metric,
                value=moved / seconds["expected"],
                low=moved / seconds["slow"],
                high=moved / seconds["fast"],
                limiting_stage=named,
                stages=told_stages,
                how="; ".join(
                    [
                        *told,
                        f"interval of {limit.stage.name}: "
                        f"{limit.stage.interval_how or 'as described'}",
                        LEFT_OUT
                        if operation is None
                        else _told_beside(beside["expected"] / _files(phases)),
                    ]
                ),
            )
        )
    return found


def _taken(
    steps: Sequence[Sequence[StagedFile]], computing_seconds: float, room_bytes: float
) -> StagedTime:
    if all(
        math.isfinite(file.hand_over_seconds + file.storing_seconds)
        for step in steps
        for file in step
    ):
        return staged_time(steps, computing_seconds, room_bytes)
    # A stage of rate 0 never ends.
    return StagedTime(math.inf, 0.0, math.inf)


def _metrics(handing: Sequence[StageTime]) -> list[Metric]:
    return ["span", "foreground"] if handing else ["span"]


def _seconds(taken: StagedTime, metric: Metric) -> float:
    return taken.blocked_seconds if metric == "foreground" else taken.until_stored_seconds


def _is_hand_over(time: StageTime) -> bool:
    """Returns whether a stage lies between the program and a stager's memory."""
    return not {"durable", "cached", "direct"} & set(time.stage.routes)


def _totals(times: Sequence[Sequence[StageTime]]) -> list[StageTime]:
    return [summed(of_stage) for of_stage in zip(*times, strict=True)]


def _files(phases: Sequence[Planned]) -> int:
    return sum(planned.phase.operations_per_rank for planned in phases)


def _beside(operation: Operation, metric: Metric, case: Case) -> float:
    """Returns the seconds of a file beside its bytes."""
    blocked = metric == "foreground"
    return cost_in(case, operation.blocked_seconds if blocked else operation.stored_seconds)


def _bytes_alone(times: Sequence[StageTime]) -> list[StageTime]:
    """Returns the times without the stages' fixed costs, which a run without content has too."""
    return [replace(time, fixed_seconds=0.0) for time in times]


def _calls_told(
    beside: Mapping[Case, float], moved: float, *, limiting: bool, of: str = CALLS_ON_FILES
) -> Stage:
    rates = {case: moved / seconds for case, seconds in beside.items()}
    return Stage(
        name=of,
        rate=rates["expected"],
        low=rates["slow"],
        high=rates["fast"],
        transfer_seconds=0.0,
        fixed_seconds=beside["expected"],
        limiting=limiting,
        how=f"{of.removeprefix('calls on ')} without content, by the same interface and ranks",
    )


def _told_beside(seconds: float, of: str = "file") -> str:
    return (
        f"a {of} takes {seconds_text(seconds)} beside its bytes, as one without content did, "
        "which is added"
    )


def _steps(
    times: Sequence[Sequence[StageTime]],
    phases: Sequence[Planned],
    operation: Operation | None,
    case: Case,
) -> list[list[StagedFile]]:
    """Returns the files of each output step, in the order in which they are written."""
    of_phase = [
        _file(planned, of_stage, operation, case)
        for planned, of_stage in zip(phases, times, strict=True)
    ]
    numbers = [planned.phase.operations_per_rank for planned in phases]
    return [
        [file for file, number in zip(of_phase, numbers, strict=True) if step < number]
        for step in range(max(numbers, default=0))
    ]


def _file(
    planned: Planned, times: Sequence[StageTime], operation: Operation | None, case: Case
) -> StagedFile:
    files = planned.phase.operations_per_rank
    blocked = stored = 0.0
    if operation is not None:
        times = _bytes_alone(times)
        blocked = _beside(operation, "foreground", case)
        stored = max(0.0, _beside(operation, "span", case) - blocked)

    def longest(hand_over: bool) -> float:
        of_part = [time.seconds for time in times if _is_hand_over(time) == hand_over]
        return max(of_part, default=0.0) / files

    return StagedFile(
        kind=planned.phase.function,
        bytes=planned.phase.bytes_total / files,
        hand_over_seconds=longest(True) + blocked,
        storing_seconds=longest(False) + stored,
    )


def _told(
    taken: StagedTime, phases: Sequence[Planned], computing_seconds: float, room_bytes: float
) -> list[str]:
    """Returns how the times came about, clause by clause."""
    files = _files(phases)
    room = "is not known, so it is taken to hold everything"
    if math.isfinite(room_bytes):
        room = f"holds {size_text(room_bytes)}"
    waits = "never full"
    if taken.waiting_seconds > 0:
        waits = f"full for {seconds_text(taken.waiting_seconds)}"
    return [
        f"stagers take over {files} files, with {seconds_text(computing_seconds)} of computing "
        "after each output step",
        f"their memory {room}, and is {waits}",
        f"blocked for {seconds_text(taken.blocked_seconds)} of "
        f"{seconds_text(taken.until_stored_seconds)} until all is stored, so "
        f"{percent_text(taken.hidden_fraction)} is hidden",
    ]
