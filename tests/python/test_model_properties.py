"""Properties that hold for every stage and flow, on drawn examples with a fixed seed."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from platforms import make_stage
from weir.model.flow import Flow, flow_on_one_host
from weir.model.path_time import path_time
from weir.model.stage import stage_time
from weir.model.uselton import exactly
from weir.results.platform import Cache, Crowding, PlatformStage, Unit

CASES = 300
SLACK = 1 + 1e-9


def drawn() -> Iterator[tuple[PlatformStage, Flow]]:
    """Stages of every shape with flows of every shape."""
    dice = random.Random(42)

    def rate() -> float:
        return 10 ** dice.uniform(6, 10)

    for _ in range(CASES):
        full = rate()
        changes: dict[str, Any] = {
            "kind": dice.choice(["rank", "node", "node link", "server", "target", "device cache"]),
            "units": dice.randint(1, 8),
            "fixed_seconds": exactly(dice.choice([0.0, 10 ** dice.uniform(-6, -2)])),
            "sharing": dice.choice(["linear", "saturating"]),
        }
        if dice.random() < 0.5:
            changes["one_user_bytes_per_second"] = exactly(full * dice.uniform(0.1, 1))
        if dice.random() < 0.4:
            changes["turn_seconds"] = exactly(10 ** dice.uniform(-6, -3))
        for name in ("cache", "small_operations"):
            if dice.random() < 0.4:
                changes[name] = Cache(
                    bytes=int(10 ** dice.uniform(4, 9)),
                    rate_bytes_per_second=exactly(full * dice.uniform(1, 20)),
                    width_bytes=dice.choice([0.0, 10 ** dice.uniform(4, 8)]),
                )
        if dice.random() < 0.4:
            changes["crowding"] = Crowding(
                users=dice.uniform(1, 16),
                width_users=dice.choice([0.0, dice.uniform(0.1, 5)]),
                rate_bytes_per_second=exactly(full * dice.uniform(0.2, 1)),
            )
        hosts = {f"host{place}": dice.randint(1, 6) for place in range(dice.randint(1, 4))}
        flow = Flow(
            "write",
            "direct",
            operations=dice.randint(1, 50),
            operation_bytes=float(int(10 ** dice.uniform(3, 8))),
            ranks_by_host=hosts,
            whole_files=dice.random() < 0.5,
        )
        yield make_stage(rate=full, **changes), flow


def with_rates(stage: PlatformStage, factor: float) -> PlatformStage:
    """The stage with all its rates times ``factor``."""

    def faster(name: str) -> Any:
        part = getattr(stage, name)
        if part is None:
            return None
        new = exactly(part.rate_bytes_per_second.value * factor)
        return part.model_copy(update={"rate_bytes_per_second": new})

    one = stage.one_user_bytes_per_second
    return stage.model_copy(
        update={
            "rate_bytes_per_second": exactly(stage.rate_bytes_per_second.value * factor),
            "one_user_bytes_per_second": None if one is None else exactly(one.value * factor),
            **{name: faster(name) for name in ("cache", "small_operations", "crowding")},
        }
    )


def test_faster_units_are_never_slower() -> None:
    for stage, flow in drawn():
        assert stage_time(with_rates(stage, 1.7), flow).seconds <= (
            stage_time(stage, flow).seconds * SLACK
        )


def test_more_units_are_never_slower() -> None:
    for stage, flow in drawn():
        more = stage.model_copy(update={"units": stage.units + 1})
        assert stage_time(more, flow).seconds <= stage_time(stage, flow).seconds * SLACK


def test_more_bytes_are_never_faster() -> None:
    for stage, flow in drawn():
        more = replace(flow, operation_bytes=flow.operation_bytes * 1.3)
        assert stage_time(stage, more).seconds * SLACK >= stage_time(stage, flow).seconds


def test_more_operations_are_never_faster() -> None:
    for stage, flow in drawn():
        more = replace(flow, operations=flow.operations + 1)
        assert stage_time(stage, more).seconds * SLACK >= stage_time(stage, flow).seconds


def test_bytes_and_rates_in_another_unit_leave_the_times() -> None:
    """A size in KiB with rates in KiB/s is the same as in bytes; sizes of caches scale too."""
    factor = 1024

    def scaled(stage: PlatformStage) -> PlatformStage:
        caches = {
            name: None
            if (cache := getattr(stage, name)) is None
            else cache.model_copy(
                update={
                    "bytes": cache.bytes * factor,
                    "width_bytes": cache.width_bytes * factor,
                }
            )
            for name in ("cache", "small_operations")
        }
        return with_rates(stage.model_copy(update=caches), factor)

    for stage, flow in drawn():
        more = replace(flow, operation_bytes=flow.operation_bytes * factor)
        assert stage_time(scaled(stage), more).seconds == pytest.approx(
            stage_time(stage, flow).seconds, rel=1e-9
        )


def test_times_do_not_depend_on_the_unit_of_time() -> None:
    for stage, flow in drawn():
        slower = with_rates(stage, 1e-3).model_copy(
            update={
                "fixed_seconds": exactly(stage.fixed_seconds.value * 1e3),
                "turn_seconds": None
                if stage.turn_seconds is None
                else exactly(stage.turn_seconds.value * 1e3),
            }
        )
        assert stage_time(slower, flow).seconds == pytest.approx(
            1e3 * stage_time(stage, flow).seconds, rel=1e-9
        )


def test_transfer_and_fixed_time_are_the_whole() -> None:
    for stage, flow in drawn():
        time = stage_time(stage, flow)
        assert time.seconds == time.transfer_seconds + time.fixed_seconds
        assert time.rate == pytest.approx(flow.total_bytes / time.seconds)


def test_one_rank_draws_what_one_user_draws() -> None:
    flow = flow_on_one_host("write", "direct", 1, 10, 1e6)
    for sharing in ("linear", "saturating"):
        stage = make_stage(
            rate=4e9, one_user_bytes_per_second=exactly(1e9), sharing=sharing, kind="node"
        )
        assert stage_time(stage, flow).rate == pytest.approx(1e9)


@pytest.mark.parametrize(
    ("ranks", "saturating", "linear"), [(1, 1e9, 1e9), (3, 3e9, 3e9), (8, 4e9, 8e9)]
)
def test_the_sharing_rules(ranks: int, saturating: float, linear: float) -> None:
    flow = flow_on_one_host("write", "direct", ranks, 10, 1e6)
    for sharing, rate in (("saturating", saturating), ("linear", linear)):
        stage = make_stage(
            rate=4e9, one_user_bytes_per_second=exactly(1e9), sharing=sharing, kind="node"
        )
        assert stage_time(stage, flow).rate == pytest.approx(rate)


def test_nothing_takes_only_the_fixed_cost() -> None:
    flow = flow_on_one_host("write", "direct", 4, 10, 0.0)
    assert stage_time(make_stage(fixed_seconds=exactly(1e-3)), flow).seconds == pytest.approx(1e-2)
    assert stage_time(make_stage(), replace(flow, operations=0)).seconds == 0


def test_an_infinite_rate_costs_nothing_and_no_rate_never_ends() -> None:
    flow = flow_on_one_host("write", "direct", 4, 10, 1e6)
    assert stage_time(make_stage(rate=math.inf), flow).seconds == 0
    assert stage_time(make_stage(rate=0.0), flow).seconds == math.inf
    assert stage_time(make_stage(rate=0.0), flow).rate == 0


def test_an_infinite_size_reaches_the_rate_and_a_small_one_the_fixed_cost() -> None:
    stage = make_stage(rate=1e9, fixed_seconds=exactly(1e-3))
    assert stage_time(stage, flow_on_one_host("write", "direct", 1, 1, 1e18)).rate == (
        pytest.approx(1e9)
    )
    assert stage_time(stage, flow_on_one_host("write", "direct", 1, 1, 1.0)).seconds == (
        pytest.approx(1e-3, rel=1e-5)
    )


def test_stages_at_the_same_time_take_the_slowest_and_in_turn_the_sum() -> None:
    stages = [make_stage("memory", 4e9, kind="node"), make_stage("disk", 1e9)]
    flow = flow_on_one_host("write", "direct", 1, 1, 1e9)
    assert path_time(stages, flow).seconds == pytest.approx(1.0)
    assert path_time(stages, flow, in_turn=True).seconds == pytest.approx(1.25)
    assert path_time(stages, flow).limit.limit_name == "disk"


def targets(*rates: float) -> PlatformStage:
    return make_stage(
        units=len(rates),
        different_units=[
            Unit(
                name=f"/mnt/t{place}",
                rate_bytes_per_second=exactly(rate),
                fixed_seconds=exactly(0.0),
            )
            for place, rate in enumerate(rates)
        ],
    )


def test_the_slowest_of_different_targets_sets_the_time_and_is_named() -> None:
    flow = replace(
        flow_on_one_host("write", "direct", 4, 10, 1e6),
        ranks_by_target={f"/mnt/t{place}/files": 1 for place in range(4)},
    )
    time = stage_time(targets(200e6, 150e6, 50e6, 100e6), flow)
    assert time.seconds == pytest.approx(10 * 1e6 / 50e6)
    assert time.limit_name == "target /mnt/t2"
    assert stage_time(targets(1e9, 1e9, 1.01e9, 1e9), flow).limit_name == "storage"


def test_a_directory_that_no_target_covers_is_refused() -> None:
    flow = replace(
        flow_on_one_host("write", "direct", 1, 1, 1e6), ranks_by_target={"/elsewhere": 1}
    )
    with pytest.raises(ValueError, match="storage has no target for /elsewhere, only /mnt/t0"):
        stage_time(targets(1e9, 1e9), flow)


def test_the_host_behind_a_slow_link_is_named() -> None:
    slow = Unit(name="host3", rate_bytes_per_second=exactly(10e6), fixed_seconds=exactly(0.0))
    stage = make_stage("node link", 100e6, kind="node link", different_units=[slow])
    flow = Flow("write", "direct", 10, 1e6, {f"host{place}": 2 for place in range(4)})
    time = stage_time(stage, flow)
    assert time.seconds == pytest.approx(2 * 10 * 1e6 / 10e6)
    assert time.limit_name == "node link of host3"


def test_a_fixed_cost_that_outweighs_the_transfer_is_named() -> None:
    stage = make_stage("storage write", 1e9, fixed_seconds=exactly(1e-2))
    flow = flow_on_one_host("write", "direct", 1, 100, 1e6)
    assert stage_time(stage, flow).limit_name == "fixed cost of storage write"


def test_turns_of_a_unit_are_taken_one_by_one() -> None:
    """100 operations per second of a unit with four users: each rank gets 25."""
    stage = make_stage(rate=math.inf, turn_seconds=exactly(1e-2))
    assert stage_time(stage, flow_on_one_host("write", "direct", 4, 25, 1e3)).seconds == (
        pytest.approx(1.0)
    )


def test_bytes_made_durable_at_the_end_pay_storage_once() -> None:
    stage = make_stage(routes=["durable"], fixed_seconds=exactly(1e-2))
    flow = flow_on_one_host("write", "durable", 1, 100, 1e6)
    assert stage_time(stage, flow).fixed_seconds == pytest.approx(1.0)
    at_the_end = replace(flow, durable_operations=1)
    assert stage_time(stage, at_the_end).fixed_seconds == pytest.approx(1e-2)
    assert stage_time(stage, at_the_end).transfer_seconds == pytest.approx(0.1)


def test_only_what_changes_hosts_passes_a_link_of_the_network_route() -> None:
    link = make_stage("node link", 100e6, kind="node link", routes=["network"])
    flow = Flow("write", "direct", 10, 1e6, {"a": 1, "b": 1}, network_fraction=0.5)
    assert stage_time(link, flow).seconds == pytest.approx(0.5 * 10 * 1e6 / 100e6)
