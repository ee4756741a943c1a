"""Takes the most certain finding, names those that contradict it, and makes the I/O groups."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from weir.platform.discovery import cray, infiniband, lnet, pairs, pmix, slurm
from weir.platform.discovery.findings import Finding, Missing
from weir.platform.discovery.recording import Recording
from weir.platform.discovery.texts import DiscoveryError

SOURCES: tuple[Callable[[Recording], Finding | Missing], ...] = (
    lnet.from_routes,
    infiniband.from_ibnetdiscover,
    infiniband.from_ports,
    slurm.from_scontrol,
    slurm.from_variables,
    slurm.from_topology_conf,
    cray.from_names,
    pmix.from_variables,
    pairs.from_pairs,
)
"""In the order in which equally certain ones are taken."""


@dataclass(frozen=True)
class Choice:
    """What all sources say together."""

    findings: tuple[Finding, ...]
    missing: tuple[Missing, ...]
    taken: Finding | None
    reason: str
    """Why ``taken`` is taken, or why none is."""
    contradictions: tuple[str, ...]

    @property
    def divides(self) -> bool:
        return self.taken is not None and len(self.taken.groups) > 1


def look(recording: Recording, *, strict: bool = True) -> Choice:
    """Asks every source, and decides among those that know all nodes.

    A text that cannot be read raises DiscoveryError, or is a missing source if not ``strict``.
    """
    answers = [_answer(source, recording, strict=strict) for source in SOURCES]
    findings = [one for one in answers if isinstance(one, Finding)]
    missing = tuple(one for one in answers if isinstance(one, Missing))
    whole = [one for one in findings if one.places and recording.covers(one.places)]
    whole.sort(key=lambda one: -one.certainty)  # stable, so the order of SOURCES decides then
    taken = _taken(whole)
    if taken is None:
        return Choice(tuple(findings), missing, None, _reason_for_none(recording, findings), ())
    others = [one for one in findings if one is not taken and one.places]
    against = [text for one in others if (text := contradiction(taken, one)) is not None]
    return Choice(tuple(findings), missing, taken, _reason(taken, whole), tuple(against))


def _answer(
    source: Callable[[Recording], Finding | Missing], recording: Recording, *, strict: bool
) -> Finding | Missing:
    try:
        return source(recording)
    except DiscoveryError as error:
        if strict:
            raise
        return Missing("a text that cannot be read", str(error))


def _taken(whole: list[Finding]) -> Finding | None:
    """Returns the way to storage if it divides the nodes, else the most certain network."""
    ways = [one for one in whole if one.subject == "way to storage"]
    networks = [one for one in whole if one.subject == "network"]
    dividing = next((one for one in ways if len(one.groups) > 1), None)
    return dividing or next(iter([*networks, *ways]), None)


def _reason(taken: Finding, whole: list[Finding]) -> str:
    if taken.subject == "way to storage" and len(taken.groups) > 1:
        return "routers to storage are what I/O groups are about"
    rest = [one for one in whole if one is not taken and one.subject == taken.subject]
    if not rest:
        return "no other source knows all nodes"
    if rest[0].certainty < taken.certainty:
        return "it is the most certain source that knows all nodes"
    return "it comes first among equally certain sources"


def _reason_for_none(recording: Recording, findings: list[Finding]) -> str:
    partial = [one for one in findings if one.places]
    if not partial:
        return "no source says where the nodes are"
    best = max(partial, key=lambda one: len(one.places))
    unknown = next(name for name in recording.names if name not in best.places)
    return (
        f"no source knows all {len(recording.nodes)} nodes: {best.source} knows "
        f"{len(best.places)}, but not {unknown}"
    )


def contradiction(taken: Finding, other: Finding) -> str | None:
    """Returns a sentence on two nodes that one source separates and the other does not."""
    apart = _joined_by_first_only(taken, other)
    if apart is not None:
        first, second = apart
        return (
            f"{other.source} ({other.certainty.text}) is not taken: there {first} and {second} "
            f"have no {other.unit} in common, but by {taken.source} they share the {taken.unit} "
            f"{taken.places[first].group}"
        )
    together = _joined_by_first_only(other, taken)
    if together is not None:
        first, second = together
        return (
            f"{other.source} ({other.certainty.text}) is not taken: there {first} and {second} "
            f"share the {other.unit} {other.places[first].group}, but by {taken.source} they have "
            f"no {taken.unit} in common"
        )
    return None


def _joined_by_first_only(first: Finding, second: Finding) -> tuple[str, str] | None:
    for nodes in first.groups.values():
        known = [node for node in nodes if node in second.places]
        for node in known[1:]:
            if second.places[node].group != second.places[known[0]].group:
                return known[0], node
    return None


# ---- I/O groups ---------------------------------------------------------------------------------


def group_numbers(names: list[str], finding: Finding) -> list[int]:
    """Returns each node's group, numbered from 0 in the order of the groups' first nodes."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(finding.places[name].group, len(numbers)) for name in names]


def nodes_per_group(numbers: list[int]) -> int | None:
    """Returns the size of groups of equally many consecutive nodes, the last perhaps smaller."""
    sizes = [len(list(run)) for _, run in itertools.groupby(numbers)]
    is_regular = len(sizes) == max(numbers) + 1 and all(size == sizes[0] for size in sizes[:-1])
    return sizes[0] if is_regular and sizes[-1] <= sizes[0] else None


def io_groups_text(numbers: list[int]) -> str:
    """Returns the shortest text for WEIR_IO_GROUPS: ``4``, or ``0*2,1*3,0``."""
    size = nodes_per_group(numbers)
    if size is not None:
        return str(size)
    runs = [(number, len(list(run))) for number, run in itertools.groupby(numbers)]
    return ",".join(str(number) if nodes == 1 else f"{number}*{nodes}" for number, nodes in runs)
