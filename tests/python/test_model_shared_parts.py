"""Parts that nodes share: I/O nodes that grow with the job, fabrics, stripes of files."""

from __future__ import annotations

import pytest

from platforms import make_platform, make_stage
from weir.model.flow import Flow
from weir.model.laws import shared_rate
from weir.model.stage import stage_time
from weir.model.uselton import exactly
from weir.results.platform import PlatformStage


def on_hosts(hosts: int, ranks: int = 1, **changes: object) -> Flow:
    by_host = {f"host{place}": ranks for place in range(hosts)}
    return Flow("write", "direct", 4, 1e6, by_host, **changes)  # type: ignore[arg-type]


def io_nodes(rate: float = 3e8) -> PlatformStage:
    return make_stage("ION", rate, kind="I/O node", units=128, nodes_per_unit=64)


@pytest.mark.parametrize(("hosts", "units"), [(1, 1), (16, 1), (64, 1), (128, 2), (8192, 128)])
def test_a_job_gets_an_io_node_for_every_64_nodes(hosts: int, units: int) -> None:
    assert stage_time(io_nodes(), on_hosts(hosts)).rate == pytest.approx(units * 3e8)


def test_a_last_group_of_few_nodes_does_not_slow_the_others() -> None:
    # 65 nodes: the full group takes 64 nodes' bytes over one unit, whatever the other one does.
    assert stage_time(io_nodes(), on_hosts(65)).rate == pytest.approx(65 / 64 * 3e8)
    assert stage_time(io_nodes(), on_hosts(96)).rate == pytest.approx(96 / 64 * 3e8)


def test_saturation_comes_where_io_nodes_reach_the_file_system() -> None:
    servers = make_stage("servers", 8e9, kind="server")
    for groups, limit in ((26, "ION"), (27, "servers")):
        flow = on_hosts(64 * groups)
        slowest = max((io_nodes(), servers), key=lambda one: stage_time(one, flow).seconds)
        assert slowest.name == limit


def test_operations_of_a_group_wait_for_each_other() -> None:
    stage = io_nodes().model_copy(update={"turn_seconds": exactly(1e-3)})
    assert stage_time(stage, on_hosts(128, 2)).fixed_seconds == pytest.approx(4 * 64 * 2 * 1e-3)


def torus(**changes: object) -> PlatformStage:
    record = {"kind": "fabric", "one_user_bytes_per_second": exactly(1e9), "sharing": "contended"}
    return make_stage("torus", 1e11, **{**record, **changes})


def test_a_torus_carries_one_node_in_full_and_less_and_less_of_each_further_one() -> None:
    rates = [stage_time(torus(), on_hosts(hosts)).rate for hosts in (1, 2, 10, 100, 10000)]
    assert rates[0] == pytest.approx(1e9)
    assert rates[1] == pytest.approx(2e9 / 1.01)
    assert rates[3] == pytest.approx(1e11 / 1.99)
    assert rates == sorted(rates)
    each = [rate / hosts for rate, hosts in zip(rates, (1, 2, 10, 100, 10000), strict=True)]
    assert each == sorted(each, reverse=True)
    assert 0.98e11 < rates[-1] < 1e11


def test_the_users_of_a_fabric_are_nodes_and_not_ranks() -> None:
    one, four = (stage_time(torus(), on_hosts(10, ranks)).rate for ranks in (1, 4))
    assert one == pytest.approx(four)


def test_a_switch_carries_all_up_to_its_limit() -> None:
    switch = torus(sharing="saturating")
    assert stage_time(switch, on_hosts(99)).rate == pytest.approx(99e9)
    assert stage_time(switch, on_hosts(101)).rate == pytest.approx(100e9)


def test_io_nodes_in_front_of_a_fabric_are_its_users() -> None:
    switch = torus(sharing="saturating", nodes_per_unit=64)
    assert stage_time(switch, on_hosts(65)).rate == pytest.approx(2e9)


def test_contention_has_no_effect_without_a_limit() -> None:
    assert float(shared_rate(7, float("inf"), 3.0, "contended")) == pytest.approx(21)
    assert float(shared_rate(1, 5.0, 3.0, "contended")) == pytest.approx(3)


@pytest.mark.parametrize(
    ("files", "stripes", "whole", "used"),
    [
        (1, None, False, 4),
        (1, 8, False, 8),
        (1, 2**31, False, 80),
        (3, None, False, 12),
        (16, None, True, 64),
        (64, None, True, 80),
        (40, 1, True, 40),
    ],
)
def test_files_use_the_targets_of_their_stripes(
    files: int, stripes: int | None, whole: bool, used: int
) -> None:
    stage = make_stage("OST", 1e8, units=80, units_per_file=4)
    ranks = files if whole else 256
    flow = on_hosts(ranks, whole_files=whole, files=files, units_per_file=stripes)
    assert stage_time(stage, flow).rate == pytest.approx(used * 1e8)


@pytest.mark.parametrize(
    ("ranks", "chosen", "busiest"), [(16, 4, 4), (5, 4, 2), (4, 4, 1), (16, 16, 1), (16, 100, 1)]
)
def test_whole_files_use_the_targets_that_the_run_names(
    ranks: int, chosen: int, busiest: int
) -> None:
    stage = make_stage("OST", 1e8, units=80)
    flow = on_hosts(ranks, whole_files=True, files=ranks, units_per_file=1, targets=chosen)
    assert stage_time(stage, flow).rate == pytest.approx(ranks / busiest * 1e8)
    server = make_stage("OSS", 1e8, kind="server", units=80)
    assert stage_time(server, flow).rate == pytest.approx(ranks * 1e8)


@pytest.mark.parametrize(("shared", "text", "used"), [(True, "0,4-7", 5), (False, "3,1", 2)])
def test_named_targets_are_those_of_the_expectation(*, shared: bool, text: str, used: int) -> None:
    from test_model_platform_expectation import expected_write, write_plan  # noqa: PLC0415

    stage = make_stage("OST", 1e8, routes=["durable", "dropped"], units=80, units_per_file=4)
    plan = write_plan(ranks=16).model_copy(update={"files": 1 if shared else 16})
    rate = expected_write(make_platform([stage]), plan, sync="none", targets=text)
    assert rate.value == pytest.approx(used * 1e8)


def test_a_stage_without_stripes_is_used_evenly() -> None:
    stage = make_stage("NSD", 1e8, units=16)
    flow = on_hosts(256, files=1, units_per_file=2)
    assert stage_time(stage, flow).rate == pytest.approx(16e8)


def test_a_platform_of_storage_alone_has_no_page_cache() -> None:
    from test_model_platform_expectation import expected_write, write_plan  # noqa: PLC0415

    platform = make_platform([make_stage("disk", 1e9, routes=["durable", "dropped"])])
    rate = expected_write(platform, write_plan(), sync="none")
    assert rate.value == pytest.approx(1e9)
    assert "the platform has no page cache" in rate.how
