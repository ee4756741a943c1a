"""``weir sim`` of what was measured: machines that were probed, copies in memory, and calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from platforms import make_platform, make_stage
from test_sim import glean, intrepid, needs_simulator
from weir.bench.errors import BenchError
from weir.results.platform import Platform
from weir.sim.description import describe
from weir.sim.job import Asked
from weir.sim.program import simulate


def probed(**more: Any) -> Platform:
    """A platform as a probe describes it: no edges, and nothing about simulation."""
    stages = [
        make_stage("memory copy", 8e9, kind="node", routes=["memory"]),
        make_stage("page cache", 4e9, kind="node", direction="write", routes=["cached", "durable"]),
        make_stage("storage write", 1e9, direction="write", routes=["durable"]),
        make_stage("storage read", 2e9, direction="read", routes=["dropped"]),
    ]
    when = "2026-01-01T00:00:00Z"
    return make_platform(stages, **{"measured_utc": when, "ranks_per_host": 2, **more})


def test_a_probed_machine_is_simulated_by_its_stages_of_storage() -> None:
    asked = Asked("array", 2, strategy="direct", shape="1kx1k")
    made = describe(probed(), asked)
    assert [(one["name"], one["users"]) for one in made["parts"]] == [
        ("page cache", "node"),
        ("storage write", "stripe"),
    ]
    read = describe(probed(), replace(asked, read=True))
    assert [one["name"] for one in read["parts"]] == ["storage read"]
    with pytest.raises(BenchError, match="test data has neither a table"):
        describe(probed(measured_utc=None), asked)
    with pytest.raises(BenchError, match="has 1 nodes of 2 ranks"):
        describe(probed(), replace(asked, ranks=4))


@needs_simulator
@pytest.mark.parametrize(("read", "rate"), [(False, 1e9), (True, 2e9)])
def test_a_probed_machine_has_the_rate_of_its_storage(read: bool, rate: float) -> None:
    asked = Asked("array", 2, strategy="direct", shape="4kx4k", read=read)
    assert simulate(probed(), asked).bytes_per_second == pytest.approx(rate, rel=0.3)


def test_discovered_links_between_switches_are_passed_by_messages_alone() -> None:
    stages = [
        make_stage("node link", 1e9, kind="node link", units=4, routes=["network"]),
        make_stage("storage write", 1e9, direction="write", routes=["durable"]),
    ]
    edge = {"from": "leaf switch", "to": "switch above", "source": "here", "origin": "discovered"}
    given = {
        "hosts": 4,
        "ranks_per_host": 1,
        "network_shape": "fat-tree:2x2",
        "edges": [{**edge, "rate_bytes_per_second": 25e9}],
        "measured_utc": "2026-01-01T00:00:00Z",
    }
    asked = Asked("array", 4, strategy="two-phase", shape="1kx1k")
    made = describe(make_platform(stages, **given), asked)
    assert made["network"] == {"shape": "fat-tree:2x2", "bytes_per_second": 25e9}
    without = make_platform(stages, **{**given, "edges": []})
    assert "network" not in describe(without, asked)


def with_simulation(platform: Platform, **more: Any) -> Platform:
    """Returns the description with more in its simulation, checked."""
    given = platform.model_dump(mode="json", by_alias=True)
    given["simulation"] |= more
    return Platform.model_validate(given)


def copying(all_ranks: float, one_rank: float | None = None) -> Platform:
    """One node of two ranks that drops bytes, with a rate of copies in its memory."""
    given: dict[str, Any] = {
        "format": "weir-platform",
        "format_version": 1,
        "name": "here",
        "hosts": 1,
        "ranks_per_host": 2,
        "stages": [
            {
                "name": "memory copy",
                "kind": "node",
                "routes": ["memory"],
                "units": 1,
                "rate_bytes_per_second": all_ranks,
                "one_user_bytes_per_second": one_rank,
                "how": "assumed",
            }
        ],
        "edges": [
            {
                "from": "compute node",
                "to": "nothing",
                "units": 1,
                "rate_bytes_per_second": 1e15,
                "origin": "assumed",
                "source": "nothing touches the bytes",
            }
        ],
        "simulation": {
            "copies": "memory copy",
            "calls": [
                {"strategy": "two-phase", "ranks": 2, "seconds": 1e-3, "how": "assumed"},
                {"strategy": "direct", "ranks": 4, "seconds": 1.0, "how": "assumed"},
            ],
            "routes": [{"to": "io-nodes", "edges": ["compute node -> nothing"]}],
        },
    }
    return Platform.model_validate(given)


def cached(up_to: int, rate: float) -> dict[str, Any]:
    """Copies of up to so many bytes by both ranks of ``copying``."""
    return {
        "up_to_bytes": up_to,
        "rate_bytes_per_second": rate,
        "one_user_bytes_per_second": rate / 2,
        "how": "assumed",
    }


def test_copies_and_calls_are_those_of_the_plan_and_the_job() -> None:
    machine = copying(10e9, 6e9)
    two_phase = describe(machine, Asked("messages", 2, "two-phase"))
    large = {"bytes_per_second": 10e9, "one_rank_bytes_per_second": 6e9}
    assert two_phase["copies"] == [large]
    assert two_phase["exchange"] == {"aggregators_on_first_nodes": 0, "seconds": 1e-3}
    # The calls of direct are known for another number of ranks only.
    assert "exchange" not in describe(machine, Asked("messages", 2, "direct"))
    alone = describe(copying(10e9), Asked("messages", 2, "two-phase"))
    assert alone["copies"][0]["one_rank_bytes_per_second"] == 10e9
    with_caches = with_simulation(machine, cached_copies=[cached(1 << 20, 40e9)])
    small = {"up_to_bytes": 1 << 20, "bytes_per_second": 40e9, "one_rank_bytes_per_second": 20e9}
    assert describe(with_caches, Asked("messages", 2, "two-phase"))["copies"] == [small, large]
    # The library that is simulated makes calls and copies of its own, which take no time.
    library = describe(machine, Asked("messages", 2, "two-phase", level="library"))
    assert "copies" not in library
    assert "exchange" not in library
    assert "copies" not in describe(intrepid(), glean())


def test_copies_of_an_unknown_stage_are_no_platform() -> None:
    with pytest.raises(ValidationError, match="simulation has the copies of stage memory"):
        with_simulation(intrepid(), copies="memory")
    with pytest.raises(ValidationError, match="no stage of kind node"):
        with_simulation(intrepid(), copies="analysis node")
    with pytest.raises(ValidationError, match="cached_copies of the simulation"):
        with_simulation(intrepid(), cached_copies=[cached(1000, 1e9)])
    with pytest.raises(ValidationError, match="are of ever more bytes"):
        with_simulation(copying(1e9), cached_copies=[cached(1000, 2e9), cached(1000, 1e9)])


@needs_simulator
def test_copies_share_the_memory_of_a_node() -> None:
    """Each of two ranks copies 1 MiB for one of two aggregators, after the calls."""

    size = 1 << 20

    def seconds(platform: Platform, aggregators: int = 2, **more: Any) -> float:
        sizes = {"bytes": size, "buffer": size, "aggregators": aggregators}
        job = Asked("messages", 2, "two-phase", **sizes, **more)
        return simulate(platform, job).seconds

    calls = 1e-3
    assert seconds(copying(10e9, 6e9)) == pytest.approx(calls + size / 5e9, rel=1e-3)
    assert seconds(copying(20e9, 6e9)) == pytest.approx(calls + size / 6e9, rel=1e-3)
    # One aggregator has the same copies, into two buffers at a time.
    assert seconds(copying(10e9, 6e9), 1) == pytest.approx(calls + size / 5e9, rel=1e-3)
    in_caches = with_simulation(copying(10e9, 6e9), cached_copies=[cached(size, 40e9)])
    assert seconds(in_caches) == pytest.approx(calls + size / 20e9, rel=1e-3)
    beyond = with_simulation(copying(10e9, 6e9), cached_copies=[cached(size - 1, 40e9)])
    assert seconds(beyond) == pytest.approx(calls + size / 5e9, rel=1e-3)
    two_steps = seconds(copying(10e9, 6e9), steps=2)
    assert two_steps == pytest.approx(2 * (calls + size / 5e9), rel=1e-3)
    read = seconds(copying(10e9, 6e9), read=True, meeting=True)
    assert read == pytest.approx(calls + size / 5e9, rel=1e-3)


@needs_simulator
def test_the_load_of_memory_is_told() -> None:
    job = Asked("messages", 2, "two-phase", bytes=1 << 20, aggregators=2, buffer=1 << 20)
    parts = {part.name: part for part in simulate(copying(10e9, 6e9), job).parts}
    assert parts["copies in memory"].bytes == 2 << 20
    assert parts["calls"].busy_share == pytest.approx(1e-3 / (1e-3 + (1 << 20) / 5e9), rel=1e-3)
