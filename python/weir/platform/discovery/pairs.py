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
from weir.results.quantities import rate_text, seconds_text

Pair = tuple[str, str]
"""Two nodes, the one whose name comes first before the other."""

CLEAR_GAP = 1.3
"""A far pair's time over a near pair's, at least. Times of equal pairs differ by some percent."""
MOST_DISAGREEING = 0.25
"""Share of the pairs that may contradict the groups, before these are none."""
MOST_PAIRS = 1 << 22
SHOWN_PAIRS = 3


@dataclass(frozen=True)
class Clusters:
    """The groups that times form, and how well the times agree with them."""

    groups: tuple[tuple[str, ...], ...]
    gap: float
    """The shortest far time over the longest near time."""
    near: float
    far: float
    """Medians of the near times and of the far ones."""
    disagreeing: tuple[Pair, ...]
    """Pairs that are far, though in one group."""


def pair_of(first: str, second: str) -> Pair:
    return (first, second) if first < second else (second, first)


def from_pairs(recording: Recording) -> Finding | Missing:
    """Returns groups by pairs.txt, or by the samples of the probe.

    Latencies are asked first, and bandwidths if latencies do not divide the nodes.
    """
    measured = _measured(recording)
    if measured is None:
        return Missing(
            "times between nodes",
            f"they were not measured: {PROBE} of weir platform probe on these nodes, or {PAIRS}",
        )
    nodes = recording.names
    if not measured.latencies and not measured.per_byte:
        return Missing(measured.source, f"it has no pair of these {len(nodes)} nodes")
    by_latency, by_bandwidth = cluster(nodes, measured.latencies), cluster(nodes, measured.per_byte)
    made = by_latency or by_bandwidth
    if made is None:
        return Missing(measured.source, _why_none(measured))
    what, times = (
        ("latency", measured.latencies) if by_latency else ("bandwidth", measured.per_byte)
    )
    if len(made.disagreeing) > MOST_DISAGREEING * len(times):
        return Missing(
            measured.source,
            f"{len(made.disagreeing)} of {len(times)} pairs contradict the groups that the gap in "
            f"their {what} would make",
        )
    notes = [_gap_text(what, made), *_doubts(nodes, times, made)]
    if by_latency is not None and measured.per_byte:
        notes.append(_bandwidth_text(by_latency, by_bandwidth))
    near = {node: f"near {group[0]}" for group in made.groups for node in group}
    places = {node: Place(near[node], (("cluster", near[node]),)) for node in nodes}
    return Finding(
        f"{measured.source}, {what}",
        Certainty.MEASURED,
        "neighbourhood",
        places,
        notes=tuple(notes),
    )


def _why_none(measured: Measured) -> str:
    spreads = [
        f"{what} by a factor of {max(times.values()) / min(times.values()):.2f}"
        for what, times in (("latency", measured.latencies), ("bandwidth", measured.per_byte))
        if times
    ]
    return (
        f"pairs differ in {' and in '.join(spreads)} at most, without a gap of a factor of "
        f"{CLEAR_GAP} that would divide the nodes"
    )


def _gap_text(what: str, made: Clusters) -> str:
    text = seconds_text if what == "latency" else _rate_of
    return (
        f"near pairs have a {what} of {text(made.near)} (median), far ones of {text(made.far)}; "
        f"the gap between them is a factor of {made.gap:.2f}"
    )


def _rate_of(seconds_per_byte: float) -> str:
    return rate_text(1 / seconds_per_byte)


def _doubts(nodes: list[str], times: dict[Pair, float], made: Clusters) -> list[str]:
    doubts = []
    asked = len(nodes) * (len(nodes) - 1) // 2
    if len(times) < asked:
        doubts.append(
            f"only {len(times)} of {asked} pairs were measured: nodes of different groups may be "
            "near to each other"
        )
    if made.disagreeing:
        shown = ", ".join(f"{one} and {other}" for one, other in made.disagreeing[:SHOWN_PAIRS])
        doubts.append(
            f"{len(made.disagreeing)} of {len(times)} pairs contradict the groups, such as {shown}"
        )
    return doubts


def _bandwidth_text(by_latency: Clusters, by_bandwidth: Clusters | None) -> str:
    if by_bandwidth is None:
        return "bandwidths have no gap, so they do not confirm the groups"
    alike = set(map(frozenset, by_latency.groups)) == set(map(frozenset, by_bandwidth.groups))
    return f"bandwidths divide the nodes {'alike' if alike else 'otherwise'}"


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


@dataclass(frozen=True)
class Measured:
    """Times of pairs of the recording's nodes."""

    source: str
    latencies: dict[Pair, float]
    per_byte: dict[Pair, float]
    """Seconds per byte: 1 over the bandwidth."""


def _measured(recording: Recording) -> Measured | None:
    text = recording.text(PAIRS)
    if text is not None:
        latencies = _known(recording, read_pairs(text))
        return Measured(f"times of messages ({PAIRS})", latencies, {})
    text = recording.text(PROBE)
    if text is None:
        return None
    latencies, per_byte = probe_pairs(text)
    return Measured(
        "times of messages (probe)", _known(recording, latencies), _known(recording, per_byte)
    )


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


def probe_pairs(text: Text) -> tuple[dict[Pair, float], dict[Pair, float]]:
    """Returns the latency of each pair of hosts that was probed, and its seconds per byte.

    Of a pair that was measured in both directions the slower one counts, with one sender each.
    """
    try:
        probe = Probe.model_validate_json(text.content)
    except ValidationError as error:
        raise DiscoveryError(
            f"{text.name} is no result of weir platform probe, {describe_validation(error)}: leave "
            "it out, or probe again"
        ) from None
    found: dict[str, dict[Pair, float]] = {"latency": {}, "bandwidth": {}}
    for sample in probe.samples:
        hosts = set(sample.hosts)
        times = found.get(sample.operation)
        if times is None or len(hosts) != 2 or sample.ranks != 1 or not sample.seconds:
            continue
        parts = sample.operations * (sample.operation_bytes if times is found["bandwidth"] else 1)
        seconds = statistics.median(sample.seconds) / max(1, parts)
        if seconds > 0:
            pair = pair_of(*hosts)
            times[pair] = max(times.get(pair, 0), seconds)
    return found["latency"], found["bandwidth"]


def _positive(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if 0 < number < math.inf else None
