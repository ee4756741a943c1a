"""Judges what answered a look-up: this node's memory, or the storage or servers behind it.

If the client of a network file system counts its requests to servers, these counters decide.
Otherwise the kind of file system and the latencies decide: no disk and no server answers as fast as
the kernel's cache of names. The share of look-ups below that bound is exact. That the slower ones
went further is only likely, because a rank that waits for a processor is slow too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from weir.results.action_records import ActionResult
from weir.results.quantities import MIX_PART, percent_text
from weir.results.record import Latencies
from weir.results.schema import Run

BEYOND_THE_CALL = ("io_uring", "mpiio")
"""Interfaces whose latencies include more than the system call."""
LOOK_UPS = ("stat", "lstat", "directory-stat", "open", "readlink", "getxattr")

Answer = Literal["memory", "storage", "server", "mixed", "unknown"]

FASTEST_NS = {"local": 20_000, "network": 10_000}
"""By the reach of a file system: only memory answers in less than this many ns. A flash disk takes
20 µs or more; a round trip through a network and the server's work take 10 µs or more."""
FURTHER: dict[str, Answer] = {"local": "storage", "network": "server"}
MOSTLY = 0.9
MOST_NAMED = 3


@dataclass(frozen=True)
class LookUpVerdict:
    """What answered, and the evidence for it."""

    answer: Answer
    text: str


def judge_look_ups(
    action: str, reach: str, file_system: str, latencies: Latencies
) -> LookUpVerdict | None:
    """Judges one action by its latencies; returns None if it is not a look-up.

    ``reach`` is memory, local or network, as recorded.
    """
    if action.removeprefix(MIX_PART) not in LOOK_UPS:
        return None
    if reach == "memory":
        return LookUpVerdict("memory", f"{file_system} keeps its names in memory")
    bound = FASTEST_NS.get(reach)
    if bound is None or latencies.count == 0:
        return LookUpVerdict(
            "unknown", ("it is unknown how far away the servers of this file system are")
        )
    fast = sum(number for _, high, number in latencies.buckets if high <= bound)
    share = fast / latencies.count
    said = (
        f"{percent_text(share, 1)} took less than {bound // 1000} µs, "
        f"faster than any {FURTHER[reach]}"
    )
    if share >= MOSTLY:
        return LookUpVerdict("memory", said)
    return LookUpVerdict(FURTHER[reach] if share <= 1 - MOSTLY else "mixed", said)


def judge_look_ups_of(run: Run, result: ActionResult) -> LookUpVerdict | None:
    """Judges one action of a recorded run; None if not a look-up or without an environment."""
    if run.environment is None or result.action.removeprefix(MIX_PART) not in LOOK_UPS:
        return None
    asked = server_calls_of(run, result.action)
    if asked is not None:
        return _by_counters(*asked)
    interface = run.parameters.get("api")
    if interface is not None and str(interface.value).lower() in BEYOND_THE_CALL:
        why = "latencies include more than the call: the wait in a queue, or the MPI library"
        return LookUpVerdict("unknown", why)
    where = run.environment.file_system
    return judge_look_ups(
        result.action,
        str(where.get("reach", "unknown")),
        str(where.get("type", "")),
        result.latencies,
    )


def server_calls_of(run: Run, action: str) -> tuple[dict[str, int], int] | None:
    """Returns the clients' requests to servers by name, and the operations that caused them.

    They are those of an action's measured repetitions. None if a phase has no counters.
    """
    phases = [
        phase
        for repetition in run.repetitions
        if not repetition.warmup
        for phase in repetition.metadata
        if phase.action == action
    ]
    calls: Counter[str] = Counter()
    for phase in phases:
        if phase.server_calls is None:
            return None
        calls.update(phase.server_calls)
    operations = sum(phase.operations for phase in phases)
    return (dict(calls), operations) if operations else None


def _by_counters(calls: dict[str, int], operations: int) -> LookUpVerdict:
    each = sum(calls.values()) / operations
    most = sorted(calls, key=lambda name: -calls[name])[:MOST_NAMED]
    named = ", ".join(f"{name} {calls[name]}" for name in most) or "none"
    said = f"the file system's clients asked servers {each:.2f} times for each ({named})"
    if each <= 1 - MOSTLY:
        return LookUpVerdict("memory", said)
    return LookUpVerdict("server" if each >= MOSTLY else "mixed", said)
