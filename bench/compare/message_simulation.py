"""Simulates messages that are dropped, on a description of the ranks that was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from message_ways import WAYS, Measured, Place, Row, Way, array_shape
from programs import MEBIBYTE
from values import Values

from weir.results.platform import Platform
from weir.results.quantities import size_text
from weir.sim.job import Asked
from weir.sim.probed import exchange_of
from weir.sim.program import simulate

BUFFER_BYTES = MEBIBYTE
NOTHING = "compute node -> nothing"
UNTOUCHED_BYTES_PER_SECOND = 1e15


def with_simulation(probed: Platform, place: Place, measured: Measured) -> Platform:
    """Returns the description with what `weir sim` needs besides the times of calls."""
    document = probed.model_dump(mode="json", by_alias=True)
    untouched = "the engine null and /dev/null drop bytes without touching them"
    edges: list[dict[str, Any]] = [
        {"from": "compute node", "to": "nothing", "units": 1, "origin": "assumed",
         "rate_bytes_per_second": UNTOUCHED_BYTES_PER_SECOND, "source": untouched}
    ]  # fmt: skip
    between_nodes, simulation = exchange_of(probed)
    edges += between_nodes
    simulation["cached_copies"] = cached_copies(place, measured)
    simulation["routes"] = [{"to": "io-nodes", "edges": [NOTHING], "how": untouched}]
    changed = {"hosts": place.hosts, "ranks_per_host": place.ranks // place.hosts}
    return Platform.model_validate(
        {**document, **changed, "edges": edges, "simulation": simulation}
    )


def cached_copies(place: Place, measured: Measured) -> list[dict[str, Any]]:
    """Returns the rates of copies by size, of the ranks of a host and of one of them."""
    at_once = min(place.ranks // place.hosts, place.cores)
    rates = {size: Values(found).median / place.hosts for size, found in measured.copies.items()}
    return [
        {
            "up_to_bytes": size,
            "rate_bytes_per_second": rates[size],
            "one_user_bytes_per_second": rates[size] / at_once,
            "how": "the source capacity of weir-bench sink",
        }
        for size in sorted(rates)
    ]


def with_calls(platform: Platform, place: Place, measured: Measured, workload: str) -> Platform:
    """Returns the description with the times of a workload's calls, by messages of few bytes."""
    assert platform.simulation is not None
    simulation = platform.simulation.model_dump(mode="json")
    how = f"{workload} with messages of hardly any bytes"
    for way in WAYS:
        if way.workload != workload:
            continue
        least = way.least(place)
        taken = place.ranks * least / measured.rates(way, least, place.ranks).median
        if way.route.strategy == "mpi-io":
            # Messages do not interleave, so that ranks send them by themselves after they have
            # agreed on it.
            simulation["global_exchange"] = {
                "aggregators_on_first_nodes": place.hosts,
                "seconds": taken,
                "at_ranks": place.ranks,
                "power": 0,
                "how": how,
            }
            continue
        of_bytes = simulate(platform, job_of(place, way, least)).seconds
        simulation["calls"].append(
            {
                "strategy": way.route.strategy,
                "ranks": place.ranks,
                "seconds": max(0.0, taken - of_bytes),
                "how": how,
            }
        )
    document = platform.model_dump(mode="json", by_alias=True)
    return Platform.model_validate({**document, "simulation": simulation})


def job_of(place: Place, way: Way, size: int) -> Asked:
    """Returns the simulation of a message."""
    of_array = way.workload == "array"
    return Asked(
        workload="array" if of_array else "messages",
        ranks=place.ranks,
        strategy=way.route.strategy,
        to="io-nodes",
        bytes=size,
        shape=array_shape(place, size) if of_array else "",
        type="uint8",
        distribution="*,BLOCK" if of_array else "BLOCK",
        aggregators=place.aggregators * place.hosts,
        buffer=BUFFER_BYTES,
        meeting=way.route.api != "posix",
    )


def rows_of(measured: Measured, probed: Platform, place: Place, sizes: Sequence[int]) -> list[Row]:
    """Returns the lines of one place, in the order of the ways and sizes."""
    without_calls = with_simulation(probed, place, measured)
    platforms = {
        workload: with_calls(without_calls, place, measured, workload)
        for workload in dict.fromkeys(way.workload for way in WAYS)
    }
    rows = []
    for way in WAYS:
        for size in sizes:
            rates = measured.rates(way, size, place.ranks)
            outcome = simulate(platforms[way.workload], job_of(place, way, size))
            rate = outcome.bytes_per_second
            given = size == way.least(place)
            rows.append(Row(place.name, place.ranks, way, size, rates, rate, gives_calls=given))
    return rows


def conditions(probed: Platform, place: Place, measured: Measured) -> list[str]:
    """Returns lines about what the simulation was told."""
    rates = sorted((size, Values(found).median) for size, found in measured.copies.items())
    copied = ", ".join(f"{size_text(size)} {rate / 1e9:.3g}" for size, rate in rates)
    quiet = probed.conditions.get("quiet", "not known whether quiet")
    told = [
        f"{place.name}, {place.ranks} ranks; {quiet}",
        f"copies of all ranks, GB/s: {copied}",
    ]
    if place.hosts > 1:
        link = next(stage for stage in probed.stages if stage.name == "node link")
        told.append(
            f"a link {link.rate_bytes_per_second.value / 1e6:.4g} MB/s, a message "
            f"{probed.latencies_seconds['message'].value * 1e6:.3g} us"
        )
    return told
