"""Groups of nodes by times of messages between them, where nothing better is known.

``weir platform probe`` measures neighbours on a ring of hosts; pairs.txt may have all pairs. The
times fall into near and far ones if there is one clear gap between them. Nodes are in one group if
a chain of near pairs joins them.
"""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass

from pydantic import ValidationError

from weir.platform.discovery.findings import Certainty, Finding, Missing, Place, short_name
from weir.platform.discovery.recording import PAIRS, PROBE, Recording
from weir.platform.discovery.texts import DiscoveryError, Text, excerpt
from weir.results.folder import describe_validation
from weir.results.probe import Probe
from weir.results.quantities import seconds_text

Pair = tuple[str, str]
"""Two nodes, the one whose name comes first before the other."""

CLEAR_GAP = 1.3
"""A far pair's time over a near pair's, at least. Times of equal pairs differ by some percent."""
MOST_PAIRS = 1 << 22
SHOWN_PAIRS = 3


@dataclass(frozen=True)
class Clusters:
    """The groups that times form, and how well the times agree with them."""

    groups: tuple[tuple[str, ...], ...]
    gap: float
    """The shortest far time over the longest near time."""
    near_seconds: float
    far_seconds: float
    disagreeing: tuple[Pair, ...]
    """Pairs that are far, though in one group."""


def pair_of(first: str, second: str) -> Pair:
    return (first, second) if first < second else (second, first)


def from_pairs(recording: Recording) -> Finding | Missing:
    """Returns groups by pairs.txt, or by the samples of the probe."""
    source, times = _times(recording)
    if times is None:
        return Missing(
            "times between nodes",
            f"they were not measured: {PROBE} of weir platform probe on these nodes, or {PAIRS}",
        )
    nodes = recording.names
    asked = len(nodes) * (len(nodes) - 1) // 2
    if not times:
        return Missing(source, f"it has no pair of these {len(nodes)} nodes")
    made = cluster(nodes, times)
    if made is None:
        spread = max(times.values()) / min(times.values())
        return Missing(
            source,
            f"times differ by a factor of {spread:.2f} at most, without a gap of {CLEAR_GAP} that "
            "would divide the nodes",
        )
    notes = [
        f"near pairs take {seconds_text(made.near_seconds)} (median), far ones "
        f"{seconds_text(made.far_seconds)}; the gap between them is a factor of {made.gap:.2f}"
    ]
    if len(times) < asked:
        notes.append(
            f"only {len(times)} of {asked} pairs were measured: nodes of different groups may be "
            "near to each other"
        )
    if made.disagreeing:
        shown = ", ".join(f"{one} and {other}" for one, other in made.disagreeing[:SHOWN_PAIRS])
        notes.append(
            f"{len(made.disagreeing)} of {len(times)} times contradict the groups, such as {shown}"
        )
    places = {
        node: Place(f"near {group[0]}", (("cluster", f"near {group[0]}"),))
        for group in made.groups
        for node in group
    }
    places = {node: places[node] for node in nodes}
    return Finding(source, Certainty.MEASURED, "neighbourhood", places, notes=tuple(notes))


def cluster(nodes: list[str], times: dict[Pair, float]) -> Clusters | None:
    """Returns the groups of the nodes, or None if the times have no clear gap.

    The gap is the largest one between consecutive times, as a factor. Not all pairs need a time.
    """
    ordered = sorted(times.values())
    if len(ordered) < 2 or ordered[0] <= 0:
        return None
    gaps = [later / earlier for earlier, later in itertools.pairwise(ordered)]
    place = max(range(len(gaps)), key=gaps.__getitem__)
    if gaps[place] < CLEAR_GAP:
        return None
    limit = math.sqrt(ordered[place] * ordered[place + 1])
    leader = {node: node for node in nodes}

    def lead(node: str) -> str:
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    for (first, second), seconds in times.items():
        if seconds < limit:
            leader[lead(second)] = lead(first)
    groups: dict[str, list[str]] = {}
    for node in nodes:
        groups.setdefault(lead(node), []).append(node)
    return Clusters(
        tuple(tuple(group) for group in groups.values()),
        gaps[place],
        statistics.median(ordered[: place + 1]),
        statistics.median(ordered[place + 1 :]),
        tuple(
            pair
            for pair, seconds in sorted(times.items())
            if seconds > limit and lead(pair[0]) == lead(pair[1])
        ),
    )


# ---- The times ----------------------------------------------------------------------------------


def _times(recording: Recording) -> tuple[str, dict[Pair, float] | None]:
    text = recording.text(PAIRS)
    if text is not None:
        return f"times of messages ({PAIRS})", _known(recording, read_pairs(text))
    text = recording.text(PROBE)
    if text is not None:
        return "times of messages (probe)", _known(recording, probe_pairs(text))
    return "", None


def _known(recording: Recording, times: dict[Pair, float]) -> dict[Pair, float]:
    """Returns the pairs of the recording's nodes, by the names that these have there."""
    known: dict[Pair, float] = {}
    for (first, second), seconds in times.items():
        one = recording.known_as.get(short_name(first))
        other = recording.known_as.get(short_name(second))
        if one is not None and other is not None and one != other:
            known[pair_of(one, other)] = seconds
    return known


def read_pairs(text: Text) -> dict[Pair, float]:
    """Returns the times of lines ``HOST HOST SECONDS``; of both directions the mean."""
    given: dict[Pair, list[float]] = {}
    for number, line in text.lines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        seconds = _positive(words[2]) if len(words) == 3 else None
        if seconds is None:
            raise text.fault(
                number,
                f"is not HOST HOST SECONDS: '{excerpt(line.strip())}'",
                "write two hosts and a positive time",
            )
        given.setdefault(pair_of(words[0], words[1]), []).append(seconds)
        if len(given) > MOST_PAIRS:
            raise text.fault(number, f"exceeds {MOST_PAIRS} pairs", "leave some out")
    return {pair: statistics.fmean(seconds) for pair, seconds in given.items()}


def probe_pairs(text: Text) -> dict[Pair, float]:
    """Returns for each pair of hosts that was probed the time of a message of 8 bytes."""
    try:
        probe = Probe.model_validate_json(text.content)
    except ValidationError as error:
        raise DiscoveryError(
            f"{text.name} is no result of weir platform probe, {describe_validation(error)}: leave "
            "it out, or probe again"
        ) from None
    times: dict[Pair, float] = {}
    for sample in probe.samples:
        hosts = set(sample.hosts)
        if sample.operation == "latency" and len(hosts) == 2 and sample.seconds:
            seconds = statistics.median(sample.seconds) / sample.operations
            if seconds > 0:
                times[pair_of(*hosts)] = seconds
    return times


def _positive(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if 0 < number < math.inf else None
