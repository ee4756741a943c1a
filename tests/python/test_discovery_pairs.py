"""Groups of nodes by the times that pairs of them took, of ``weir platform discover``."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from discovery_recordings import found, made, recorded, text, why
from probes import make_probe
from weir.platform.discovery import pairs
from weir.platform.discovery.findings import Certainty
from weir.platform.discovery.texts import DiscoveryError


def times(groups: list[list[str]], near: float, far: float, noise: float) -> dict[Any, float]:
    group = {node: number for number, nodes in enumerate(groups) for node in nodes}
    luck = random.Random(3)
    return {
        pairs.pair_of(one, other): (near if group[one] == group[other] else far)
        * luck.uniform(1 - noise, 1 + noise)
        for one, other in itertools.combinations(group, 2)
    }


@pytest.mark.parametrize(
    "groups",
    [
        [["a", "b"], ["c", "d"]],
        [["a", "d", "e"], ["b"], ["c", "f"]],
        [[f"n{n}" for n in range(0, 40, 2)], [f"n{n}" for n in range(1, 40, 2)]],
    ],
)
def test_times_with_a_gap_are_groups(groups: list[list[str]]) -> None:
    nodes = sorted(node for group in groups for node in group)
    made_ = pairs.cluster(nodes, times(groups, 2e-6, 3e-6, 0.05))
    assert made_ is not None
    assert sorted(sorted(group) for group in made_.groups) == sorted(sorted(one) for one in groups)
    assert made_.gap > 1.3
    assert made_.disagreeing == ()


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_times_without_a_gap_are_no_groups(noise: float) -> None:
    groups = [[f"n{n}" for n in range(12)]]
    assert pairs.cluster(groups[0], times(groups, 2e-6, 2e-6, noise)) is None
    assert pairs.cluster(["a"], {}) is None


def test_times_that_contradict_the_groups_are_named(tmp_path: Path) -> None:
    lines = "a b 1e-6\nb c 1e-6\na c 3e-6\na d 3e-6\nb d 3e-6\nc d 3e-6\n"
    recording = made(tmp_path, {"nodes.txt": "a,b,c,d", "pairs.txt": lines})
    finding = found(pairs.from_pairs(recording))
    assert finding.groups == {"near a": ["a", "b", "c"], "near d": ["d"]}
    assert "1 of 6 pairs contradict the groups, such as a and c" in finding.notes[-1]


def test_times_that_mostly_contradict_groups_make_none(tmp_path: Path) -> None:
    ring = "a b 1e-6\nb c 1e-6\nc d 1e-6\na d 1e-6\na c 3e-6\nb d 3e-6\n"
    recording = made(tmp_path, {"nodes.txt": "a,b,c,d", "pairs.txt": ring})
    assert "2 of 6 pairs contradict" in why(pairs.from_pairs(recording))


def test_recorded_times_are_groups_in_the_order_of_the_nodes() -> None:
    finding = found(pairs.from_pairs(recorded("pairs")))
    assert finding.groups == {"near h1": ["h1", "h2", "h5"], "near h3": ["h3", "h4"]}
    assert list(finding.places) == ["h1", "h2", "h3", "h4", "h5"]
    assert finding.certainty == Certainty.MEASURED


def probe_of(seconds: Mapping[tuple[str, str], float], per_mebibyte: float | None = None) -> str:
    """Returns a probe of these latencies; 1 MiB takes this time, or 100 times the latency."""
    samples = [
        {
            "operation": operation,
            "ranks": 1,
            "operation_bytes": size,
            "operations": 100,
            "hosts": list(hosts),
            "seconds": [100 * one, 90 * one, 500 * one],
        }
        for hosts, time in seconds.items()
        for operation, size, one in (
            ("latency", 8, time),
            ("bandwidth", 1 << 20, per_mebibyte or 100 * time),
        )
    ]
    return make_probe(samples).model_dump_json()


RING = {("a", "b"): 1e-6, ("b", "c"): 2e-6, ("c", "d"): 1e-6, ("a", "d"): 2e-6, ("a", "a"): 1e-8}


def test_the_probes_ring_is_said_to_be_only_a_ring(tmp_path: Path) -> None:
    recording = made(tmp_path, {"nodes.txt": "a,b,c,d", "probe.json": probe_of(RING)})
    finding = found(pairs.from_pairs(recording))
    assert finding.groups == {"near a": ["a", "b"], "near c": ["c", "d"]}
    assert finding.notes[1].startswith("only 4 of 6 pairs were measured")
    assert finding.notes[2] == "bandwidths divide the nodes alike"


def test_bandwidths_divide_nodes_where_latencies_do_not(tmp_path: Path) -> None:
    latencies, per_byte = pairs.probe_pairs(text(probe_of(RING, 1e-3)))
    assert latencies["a", "b"] == pytest.approx(1e-6)
    assert per_byte["b", "c"] == pytest.approx(1e-3 / (1 << 20))
    flat = dict.fromkeys(RING, 1e-6)
    recording = made(tmp_path, {"nodes.txt": "a,b,c,d", "probe.json": probe_of(flat, 1e-3)})
    assert "latency by a factor of 1.00 and in bandwidth by" in why(pairs.from_pairs(recording))
    swapped = json.loads(probe_of(flat))
    for sample in swapped["samples"]:
        if sample["operation"] == "bandwidth" and set(sample["hosts"]) in ({"a", "b"}, {"c", "d"}):
            sample["seconds"] = [one / 3 for one in sample["seconds"]]
    recording = made(
        tmp_path / "other", {"nodes.txt": "a,b,c,d", "probe.json": json.dumps(swapped)}
    )
    finding = found(pairs.from_pairs(recording))
    assert finding.groups == {"near a": ["a", "b"], "near c": ["c", "d"]}
    assert "bandwidth" in finding.source


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("a b", "line 1 is not HOST HOST SECONDS"),
        ("a b 1e-6\na c nan", "line 2 is not"),
        ("a b -1", "line 1 is not"),
        ("a b 0", "line 1 is not"),
        ("a b 1e-6 7", "line 1 is not"),
    ],
)
def test_wrong_times_are_refused(lines: str, reason: str) -> None:
    with pytest.raises(DiscoveryError, match=reason):
        pairs.read_pairs(text(lines))


def test_a_damaged_probe_is_one_line() -> None:
    with pytest.raises(DiscoveryError, match="no result of weir platform probe") as error:
        pairs.probe_pairs(text('{"format": "weir-probe"'))
    assert "\n" not in str(error.value)
