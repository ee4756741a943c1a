"""Expectation of a program's output that stagers take over: the observed and the storage rate.

The stages of the path are divided: a copy into the stagers' memory, and links if these are on other
nodes, are the hand-over; all others are storing. In each of the two parts the slowest stage counts,
because its stages work on different bytes at the same time (Uselton, section 3.3). When both take
place, and for how long the program is blocked, is in ``weir.model.staging``.

What a stager does beside storing has no stage, because no probe measures it, nor have the calls
that open a file and agree on its plan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from weir.model.flow_of_plan import Planned
from weir.model.path_time import slowest, stages_told, summed
from weir.model.stage import Case, StageTime
from weir.model.staging import StagedFile, StagedTime, staged_time
from weir.results.expectations import ExpectedRate, Metric
from weir.results.quantities import percent_text, seconds_text, size_text

Times = Mapping[Case, Sequence[Sequence[StageTime]]]
"""For each case and phase, the time of each stage of the path for all files of the phase."""

LEFT_OUT = (
    "not measured and left out: opening a file, agreeing on its plan, and what a stager does "
    "beside storing"
)


def staged_rates(
    times: Times, phases: Sequence[Planned], computing_seconds: float, room_bytes: float
) -> list[ExpectedRate]:
    """Returns the storage rate (``span``) and the observed one (``foreground``).

    ``low`` and ``high`` are the rates with all stages at their slow and fast ends. Each phase is a
    kind of files, of which each output step writes one as long as there are any; computing follows
    each step. ``room_bytes`` is the memory of all stagers. A platform without a stage of the
    hand-over has no observed rate.
    """
    taken = {
        case: _taken(of_case, phases, computing_seconds, room_bytes)
        for case, of_case in times.items()
    }
    moved = sum(planned.phase.bytes_total for planned in phases)
    totals = {case: _totals(of_case) for case, of_case in times.items()}
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
            named = f"{limit.limit_name} behind the full memory of the stagers"
            if not waits:
                named = f"hand-over by {limit.limit_name}"
                shown = {
                    case: [time for time in of_case if _is_hand_over(time)]
                    for case, of_case in totals.items()
                }
        seconds = {case: _seconds(one, metric) for case, one in taken.items()}
        found.append(
            ExpectedRate(
                direction="write",
                metric=metric,
                value=moved / seconds["expected"],
                low=moved / seconds["slow"],
                high=moved / seconds["fast"],
                limiting_stage=named,
                stages=stages_told(shown, limit.stage.name),
                how="; ".join(
                    [
                        *told,
                        f"interval of {limit.stage.name}: "
                        f"{limit.stage.interval_how or 'as described'}",
                        LEFT_OUT,
                    ]
                ),
            )
        )
    return found


def _taken(
    times: Sequence[Sequence[StageTime]],
    phases: Sequence[Planned],
    computing_seconds: float,
    room_bytes: float,
) -> StagedTime:
    if all(math.isfinite(time.seconds) for of_phase in times for time in of_phase):
        return staged_time(_steps(times, phases), computing_seconds, room_bytes)
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


def _steps(
    times: Sequence[Sequence[StageTime]], phases: Sequence[Planned]
) -> list[list[StagedFile]]:
    """Returns the files of each output step, in the order in which they are written."""
    of_phase = [_file(planned, of_stage) for planned, of_stage in zip(phases, times, strict=True)]
    numbers = [planned.phase.operations_per_rank for planned in phases]
    return [
        [file for file, number in zip(of_phase, numbers, strict=True) if step < number]
        for step in range(max(numbers, default=0))
    ]


def _file(planned: Planned, times: Sequence[StageTime]) -> StagedFile:
    files = planned.phase.operations_per_rank

    def longest(hand_over: bool) -> float:
        of_part = [time.seconds for time in times if _is_hand_over(time) == hand_over]
        return max(of_part, default=0.0) / files

    return StagedFile(
        kind=planned.phase.function,
        bytes=planned.phase.bytes_total / files,
        hand_over_seconds=longest(True),
        storing_seconds=longest(False),
    )


def _told(
    taken: StagedTime, phases: Sequence[Planned], computing_seconds: float, room_bytes: float
) -> list[str]:
    """Returns how the times came about, clause by clause."""
    files = sum(planned.phase.operations_per_rank for planned in phases)
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
