"""Expectations from platform descriptions: which stage, which unit, transfer or fixed cost."""

from __future__ import annotations

from typing import Any

import pytest

from platforms import make_platform, make_stage
from weir.model.expectation import expect
from weir.model.uselton import exactly
from weir.results.expectations import ExpectedRate
from weir.results.platform import Fit, Platform, Unit
from weir.results.schema import Parameter, Plan

MIB = 2**20


def write_plan(operations: int = 8, size: int = 8 * MIB, ranks: int = 4, **changes: Any) -> Plan:
    record: dict[str, Any] = {
        "ranks": ranks,
        "files": ranks,
        "memory_bytes_per_rank": size,
        "memory_bytes_total": ranks * size,
        "disk_bytes_total": ranks * operations * size,
        "phases": [
            {
                "function": "write",
                "direction": "write",
                "operations_per_rank": operations,
                "bytes_per_operation": size,
                "bytes_total": ranks * operations * size,
                "computations_per_operation": 0,
                "exposed_operations_per_rank": operations,
            }
        ],
    }
    return Plan.model_validate({**record, **changes})


def expected_write(
    platform: Platform, plan: Plan, *, places: dict[str, str] | None = None, **settings: Any
) -> ExpectedRate:
    parameters = {
        name: Parameter(value=value, origin="default") for name, value in settings.items()
    }
    made = expect(plan, False, parameters, platform, "2025-01-23T10:14:50Z", places=places)
    (rate,) = made.rates
    return rate


def storage(**changes: Any) -> Platform:
    return make_platform([make_stage("storage write", 1e9, routes=["durable"], **changes)])


def test_a_rate_of_one_stage_is_that_of_its_unit() -> None:
    rate = expected_write(storage(), write_plan())
    assert rate.value == pytest.approx(1e9)
    assert rate.low == pytest.approx(0.85e9)
    assert rate.high == pytest.approx(1.15e9)
    (stage,) = rate.stages
    assert stage.transfer_seconds == pytest.approx(4 * 8 * 8 * MIB / 1e9)
    assert stage.fixed_seconds == 0


def test_a_fixed_cost_above_the_transfer_is_the_limit() -> None:
    rate = expected_write(storage(fixed_seconds=exactly(1.0)), write_plan())
    assert rate.limiting_stage == "fixed cost of storage write"
    assert rate.stages[0].limiting
    assert rate.stages[0].fixed_seconds == pytest.approx(8.0)


def test_a_sync_at_the_end_pays_the_fixed_cost_once() -> None:
    platform = storage(fixed_seconds=exactly(1e-2))
    each = expected_write(platform, write_plan(), sync_each=True)
    once = expected_write(platform, write_plan(), **{"sync-each": False})
    assert each.stages[0].fixed_seconds == pytest.approx(8e-2)
    assert once.stages[0].fixed_seconds == pytest.approx(1e-2)
    assert "fsync in the timed part, once at the end" in once.how


def test_operations_in_flight_share_their_fixed_costs() -> None:
    platform = make_platform([make_stage("direct write", 1e9, fixed_seconds=exactly(1e-3))])
    one = expected_write(platform, write_plan(), direct=True, api="POSIX", queue_depth=8)
    many = expected_write(platform, write_plan(), direct=True, api="IO_URING", queue_depth=8)
    assert one.stages[0].fixed_seconds == pytest.approx(8e-3)
    assert many.stages[0].fixed_seconds == pytest.approx(1e-3)


def units(rates: dict[str, float]) -> list[Unit]:
    return [Unit(name=name, rate_bytes_per_second=exactly(rate)) for name, rate in rates.items()]


def in_targets(directories: list[str]) -> dict[str, Any]:
    return {
        "targets": [
            {"directory": directory, "ranks": [place], "files": 1, "bytes_total": 64 * MIB}
            for place, directory in enumerate(directories)
        ]
    }


def test_the_slow_one_of_four_targets_is_named_and_sets_the_rate() -> None:
    rates = {"/mnt/t0": 200e6, "/mnt/t1": 200e6, "/mnt/t2": 50e6, "/mnt/t3": 200e6}
    platform = storage(units=4, different_units=units(rates))
    plan = write_plan(**in_targets([f"/mnt/t{place}/files" for place in range(4)]))
    rate = expected_write(platform, plan)
    assert rate.limiting_stage == "target /mnt/t2"
    assert rate.value == pytest.approx(4 * 50e6)


def test_a_directory_elsewhere_on_a_target_is_found_by_its_place() -> None:
    platform = storage(units=2, different_units=units({"/a/probe": 200e6, "/b/probe": 50e6}))
    plan = write_plan(**in_targets(["/a/run", "/b/run"]), ranks=4)
    rate = expected_write(platform, plan, places={"/a/run": "/a/probe", "/b/run": "/b/probe"})
    assert rate.limiting_stage == "target /b/probe"
    with pytest.raises(ValueError, match="has no target for /a/run"):
        expected_write(platform, plan)


def test_collective_writes_over_hosts_pass_their_links() -> None:
    hosts = {f"host{place}": 2 for place in range(4)}
    links = make_stage(
        "node link",
        100e6,
        kind="node link",
        routes=["network"],
        different_units=units({"host3": 10e6}),
    )
    target = make_stage("storage write", 1e9, routes=["durable"])
    platform = make_platform(
        [links, target], hosts=4, ranks_per_host=2, topology={"ranks_by_host": hosts}
    )
    plan = write_plan(ranks=8)
    alone = expected_write(platform, plan, api="POSIX")
    together = expected_write(platform, plan, api="MPIIO", collective=True)
    assert [stage.name for stage in alone.stages] == ["storage write"]
    assert together.limiting_stage == "node link of host3"
    moved_by_host3 = 2 * 8 * 8 * MIB * 3 / 4
    assert together.stages[0].transfer_seconds == pytest.approx(moved_by_host3 / 10e6)


def test_more_ranks_than_the_platform_has_are_a_marked_extrapolation() -> None:
    within, beyond = (expected_write(storage(), write_plan(ranks=n)) for n in (8, 32))
    assert within.extrapolated_from_ranks is None
    assert beyond.extrapolated_from_ranks == 8
    assert "describes up to 8 ranks, the run has 32" in beyond.how
    assert beyond.value == pytest.approx(within.value)
    # Twice as many ranks, twice.
    assert beyond.low == pytest.approx(within.low * 0.85**2)
    assert beyond.high == pytest.approx(within.high * 1.15**2)


def test_a_route_without_a_stage_is_refused() -> None:
    with pytest.raises(ValueError, match="no stage for a write by the route direct"):
        expected_write(storage(), write_plan(), direct=True)


def test_the_interval_is_as_wide_as_the_held_out_error_and_a_bad_fit_is_told() -> None:
    fit = Fit(
        stage="storage write",
        form="one rate",
        samples=20,
        held_out_median_error=0.3,
        held_out_p90_error=1.0,
        fits=False,
        text="does not fit, do not rely on it: one rate",
    )
    rate = expected_write(storage().model_copy(update={"fits": [fit]}), write_plan())
    assert rate.low == pytest.approx(0.5e9)
    assert rate.high == pytest.approx(2e9)
    assert "storage write does not fit, so it is unreliable" in rate.how
