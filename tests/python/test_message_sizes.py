"""bench/compare/message_sizes.py: what it reads of results, simulates, and calls within 15 %."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from test_sim import needs_simulator
from test_sim_measured import copying

COMPARE = Path(__file__).parents[2] / "bench" / "compare"
sys.path.insert(0, str(COMPARE))

import message_simulation  # noqa: E402
import message_sizes  # noqa: E402
from message_ways import (  # noqa: E402
    PAGE_BYTES,
    ROUTES,
    ROWS,
    WAYS,
    Measured,
    Place,
    Row,
    Way,
    summary,
)
from values import Values  # noqa: E402

POSIX, MPI_IO, DIRECT, TWO_PHASE, _ = ROUTES


def place(ranks: int = 2, hosts: int = 1, cores: int = 2) -> Place:
    return Place("cores" if hosts == 1 else "hosts", ranks, hosts, ["mpirun"], 2, Path(), cores)


def record(api: str, size: int, seconds: list[float], copied: list[float]) -> dict[str, Any]:
    return {
        "parameters": {"api": {"value": api}},
        "sink": {
            "message_bytes": size,
            "message": {"values_seconds": seconds},
            "source_capacity": {"values_bytes_per_second": copied},
        },
    }


def row(simulated: float, measured: float = 100.0, size: int = 2048) -> Row:
    return Row("cores", 2, Way("sink", TWO_PHASE), size, Values([measured]), simulated)


def test_results_of_several_jobs_are_put_together_by_route_and_size() -> None:
    measured = Measured()
    measured.add_sink([record("posix", 2048, [1e-6, 2e-6], [5e9])], (POSIX, MPI_IO))
    measured.add_sink([record("mpiio", 2048, [3e-6], [6e9])], (POSIX, MPI_IO))
    measured.add_sink([record("weir", 2048, [4e-6], [7e9])], (TWO_PHASE,))
    measured.add_sink([record("weir", 2048, [5e-6], [8e9])], (TWO_PHASE,))
    assert measured.seconds == {
        (Way("sink", POSIX), 2048): [1e-6, 2e-6],
        (Way("sink", MPI_IO), 2048): [3e-6],
        (Way("sink", TWO_PHASE), 2048): [4e-6, 5e-6],
    }
    assert measured.copies == {2048: [5e9, 6e9, 7e9, 8e9]}


@pytest.mark.parametrize(
    ("simulated", "agrees"), [(115.0, True), (115.1, False), (85.0, True), (84.9, False)]
)
def test_rows_agree_within_15_percent(simulated: float, agrees: bool) -> None:
    assert row(simulated).agrees is agrees
    assert row(simulated).line.endswith(" |" if agrees else " * |")


def test_a_row_has_median_and_spread() -> None:
    spread = Row("cores", 2, Way("sink", POSIX), 4 << 20, Values([4 << 20, 1 << 20, 2 << 20]), 1e6)
    told = "| cores | 2 | sink | POSIX | 4.00 MiB | 2 [1, 4] | 0.9537 | 0.48 * |"
    assert spread.line == told


def test_the_summary_names_rows_that_do_not_agree() -> None:
    told = summary([row(100.0), row(200.0, size=4096), row(101.0, size=8192)])
    assert told == [
        "within 15 %: 2 of 3 rows",
        "sink two-phase: 2 of 3; not 2 ranks 4.00 KiB",
    ]


def test_a_rank_copies_at_most_its_share_of_the_cores() -> None:
    measured = Measured(copies={4096: [30e9, 40e9, 50e9], 64: [80e9]})

    def rates(where: Place) -> list[tuple[int, float, float]]:
        found = message_simulation.cached_copies(where, measured)
        names = ("up_to_bytes", "rate_bytes_per_second", "one_user_bytes_per_second")
        return [tuple(one[name] for name in names) for one in found]

    assert rates(place(2)) == [(64, 80e9, 40e9), (4096, 40e9, 20e9)]
    assert rates(place(16)) == [(64, 80e9, 40e9), (4096, 40e9, 20e9)]
    # Hosts of the test bed share the machine's cores.
    assert rates(place(4, hosts=4)) == [(64, 20e9, 20e9), (4096, 10e9, 10e9)]


def test_calls_are_known_by_messages_of_which_every_aggregator_has_a_part() -> None:
    sink, array = Way("sink", TWO_PHASE), Way("array", TWO_PHASE)
    for where, pages in ((place(2), 4096), (place(16), 512), (place(8, hosts=4), 4096)):
        assert sink.least(where) == pages * PAGE_BYTES // 4096
        assert array.least(where) == pages * PAGE_BYTES // 4096
    assert array.least(place(500)) == ROWS
    assert Way("sink", DIRECT).least(place()) == Way("sink", MPI_IO).least(place()) == 1
    assert Way("array", DIRECT).least(place()) == ROWS


def test_a_row_that_gives_the_time_of_calls_is_not_counted() -> None:
    given = replace(row(100.0), gives_calls=True)
    assert given.line.endswith("| 1.00 (calls) |")
    assert summary([given, row(100.0, size=4096)])[0] == "within 15 %: 1 of 1 rows"


@needs_simulator
def test_what_is_simulated_is_the_smallest_message_and_the_bytes() -> None:
    """Messages that take their calls and their copies, and nothing besides, have a ratio of 1."""
    calls, rate = 2e-5, 8e9
    size, large = 65536, 1 << 20
    measured = Measured(copies={1: [rate], 64: [rate], size: [rate]})
    for way in WAYS:
        for one in {way.least(place()), size, large}:
            # Both ranks copy at once, messages that caches do not hold at the probed rate.
            of_bytes = 2 * one / (4e9 if one == large else rate) if way.route.copies else 0.0
            measured.add(way, one, [calls + of_bytes])
    rows = message_simulation.rows_of(measured, copying(4e9, 3e9), place(), [size, large])
    assert len(rows) == 2 * len(WAYS)
    assert [one.ratio for one in rows] == pytest.approx([1.0] * len(rows), rel=2e-3)


@needs_simulator
def test_a_row_that_gives_calls_agrees_also_with_an_even_number_of_repetitions() -> None:
    measured = Measured(copies={1: [8e9], 64: [8e9]})
    for way in WAYS:
        measured.add(way, way.least(place()), [1e-4, 9e-4])
    size = Way("sink", TWO_PHASE).least(place())
    for way in WAYS:
        if way.least(place()) != size:
            measured.add(way, size, [1e-4, 9e-4])
    rows = message_simulation.rows_of(measured, copying(8e9), place(), [size])
    ratios = [one.ratio for one in rows if one.gives_calls]
    assert ratios == pytest.approx([1.0] * 4, rel=1e-4)


@needs_simulator
def test_a_message_below_the_time_of_its_bytes_has_calls_of_no_time() -> None:
    measured = Measured(copies={1: [1.0], 64: [1.0]})
    for way in WAYS:
        measured.add(way, way.least(place()), [1e-6])
    described = message_simulation.with_simulation(copying(1e9), place(), measured)
    made = message_simulation.with_calls(described, place(), measured, "sink").simulation
    assert made is not None
    seconds = {one.strategy: one.seconds for one in made.calls}
    expected = {"posix": 1e-6, "direct": 1e-6, "two-phase": 0.0, "server-directed": 0.0}
    assert seconds == pytest.approx(expected, abs=1e-9)
    assert made.global_exchange is not None
    assert made.global_exchange.seconds == 1e-6


def test_what_the_simulation_was_told_stands_above_the_table() -> None:
    measured = Measured(copies={65536: [60e9], 2048: [90e9, 100e9, 120e9]})
    told = message_simulation.conditions(copying(1e9), place(), measured)
    assert told == [
        "cores, 2 ranks; not known whether quiet",
        "copies of all ranks, GB/s: 2.00 KiB 100, 64.0 KiB 60",
    ]


def test_more_ranks_and_hosts_send_fewer_messages() -> None:
    numbers = [message_sizes.iterations_of(4000, place(n)) for n in (2, 4, 16, 256)]
    assert numbers == [4000, 2000, 500, 100]
    assert message_sizes.iterations_of(4000, place(8, hosts=4)) == 250


def test_sizes_divide_into_the_rows_of_the_array() -> None:
    assert message_sizes.sizes_in("2k:16k:*2") == [2048, 4096, 8192, 16384]
    assert message_sizes.sizes_in("128") == [128]
    for wrong in ("64", "100", "129", "many"):
        with pytest.raises(argparse.ArgumentTypeError):
            message_sizes.sizes_in(wrong)


def test_jobs_have_at_least_two_ranks() -> None:
    assert message_sizes.ranks_in("2,16") == [2, 16]
    for wrong in ("1", "2,x", ""):
        with pytest.raises(argparse.ArgumentTypeError):
            message_sizes.ranks_in(wrong)
