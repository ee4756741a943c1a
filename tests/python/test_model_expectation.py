"""Expectations from plans and calibrations whose answer is known by arithmetic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from calibrations import MIB, calibration, trials
from weir.model.calibration_platform import platform_of_calibration
from weir.model.expectation import expect
from weir.model.flow import flow_on_one_host
from weir.model.overlap import LEAST_WAIT, PhaseTime, hidden_seconds, mean_hidden_seconds
from weir.model.stage import Case, stage_time
from weir.results.expectations import Direction, ExpectedRate
from weir.results.quantities import percent_text
from weir.results.schema import Parameter, Plan

BINS = 8
MADBENCH = (("S", "write"), ("W", "read"), ("W", "write"), ("C", "read"))
ALONE = (("S", "write"), ("C", "read"))
"""Functions in which reads and writes are not in flight together."""


def make_plan(
    computations: float = 0.0, transfer_bytes: int = 8 * MIB, phases: Any = MADBENCH
) -> Plan:
    return Plan(
        ranks=4,
        files=4,
        memory_bytes_per_rank=5 * transfer_bytes,
        memory_bytes_total=20 * transfer_bytes,
        disk_bytes_total=4 * BINS * transfer_bytes,
        phases=[
            {
                "function": function,
                "direction": direction,
                "operations_per_rank": BINS,
                "bytes_per_operation": transfer_bytes,
                "bytes_total": 4 * BINS * transfer_bytes,
                "computations_per_operation": computations,
                "exposed_operations_per_rank": 1,
            }
            for function, direction in phases
        ],
    )


def rates(plan: Plan, asynchronous: bool = False, **settings: Any) -> dict[str, ExpectedRate]:
    chosen = settings.pop("calibration", calibration())
    parameters = {
        name: Parameter(value=value, origin="default") for name, value in settings.items()
    }
    platform = platform_of_calibration(chosen)
    made = expect(plan, asynchronous, parameters, platform, "2025-01-23T10:14:50Z")
    return {rate.direction: rate for rate in made.rates}


def test_the_slowest_stage_is_the_limit() -> None:
    made = rates(make_plan())
    assert made["write"].limiting_stage == "storage write"
    assert made["write"].value == pytest.approx(1e9)
    assert made["read"].limiting_stage == "storage read"
    assert made["read"].value == pytest.approx(2e9)
    assert [rate.metric for rate in made.values()] == ["span", "span"]


def test_a_slow_memory_limits_a_fast_storage() -> None:
    caches = ("write_cache_bytes_per_second", "read_cache_bytes_per_second")
    slow = calibration(
        memory_copy_bytes_per_second=trials(0.5e9), **{name: trials(0.5e9) for name in caches}
    )
    made = rates(make_plan(), calibration=slow)
    assert made["write"].limiting_stage == "page cache write"
    assert made["read"].limiting_stage == "memory copy"
    assert made["read"].value == pytest.approx(0.5e9)


@pytest.mark.parametrize("sync", ["fsync", "fdatasync"])
def test_a_durable_sync_makes_storage_the_limit(sync: str) -> None:
    assert rates(make_plan(), sync=sync)["write"].limiting_stage == "storage write"


def test_without_sync_writes_are_expected_at_cache_rate() -> None:
    write = rates(make_plan(), sync="none")["write"]
    assert write.limiting_stage == "page cache write"
    assert write.value == pytest.approx(4e9)


def test_direct_io_has_storage_as_its_only_stage() -> None:
    made = rates(make_plan(), direct=True, sync="none", drop_cache=False)
    assert [stage.name for stage in made["write"].stages] == ["storage write"]
    assert [stage.name for stage in made["read"].stages] == ["storage read"]


def test_resident_pages_are_read_from_the_page_cache() -> None:
    read = rates(make_plan(), drop_cache=False)["read"]
    assert read.limiting_stage == "page cache read"
    assert read.value == pytest.approx(6e9)


def test_resident_pages_that_do_not_fit_are_read_from_storage() -> None:
    small = calibration(memory_available_bytes=100 * MIB)
    assert rates(make_plan(), calibration=small, drop_cache=False)["read"].limiting_stage == (
        "storage read"
    )


@pytest.mark.parametrize(("hosts", "limit"), [(1, "page cache read"), (2, "storage read")])
def test_a_rank_shift_leaves_the_page_cache_only_between_hosts(hosts: int, limit: str) -> None:
    made = rates(make_plan(), calibration=calibration(hosts=hosts), drop_cache=False, rank_shift=1)
    assert made["read"].limiting_stage == limit


def test_parameter_names_may_be_written_with_dashes() -> None:
    plan = make_plan()
    parameters = {"drop-cache": Parameter(value=False, origin="command line")}
    platform = platform_of_calibration(calibration())
    made = expect(plan, False, parameters, platform, "2025-01-23T10:14:50Z")
    assert made.rates[0].limiting_stage == "page cache read"


def test_interface_and_file_type_do_not_change_the_expectation() -> None:
    plain = rates(make_plan(), iomethod="POSIX", filetype="UNIQUE")
    other = rates(make_plan(), iomethod="MPI", filetype="SHARED")
    for direction, rate in plain.items():
        assert other[direction].value == rate.value


def test_a_modulus_makes_turns_that_each_pay_the_fixed_cost() -> None:
    fixed = 2e-3
    bytes_of_all = 4 * 8 * MIB
    write = rates(make_plan(), wmod=2)["write"]
    seconds = bytes_of_all / 1e9 + fixed
    assert write.value == pytest.approx(bytes_of_all / seconds)
    assert "one rank in 2 moves data at a time, in 2 turns" in write.how
    assert "moves data at a time" not in rates(make_plan())["write"].how


def test_fixed_costs_weigh_more_on_smaller_transfers() -> None:
    """Uselton's equation 3: 32 MiB by all ranks took t0; a quarter takes (t0 - f) / 4 + f."""
    fixed = 2e-3
    calibrated_seconds = 4 * 8 * MIB / 1e9
    seconds = (calibrated_seconds - fixed) / 4 + fixed
    write = rates(make_plan(transfer_bytes=2 * MIB))["write"]
    assert write.value == pytest.approx(4 * 2 * MIB / seconds)


def test_enough_work_hides_all_but_the_exposed_transfers() -> None:
    """The effective aggregate asynchronous rate approaches NBIN times the synchronous rate."""
    free = calibration(call_seconds=trials(1e-12))
    made = rates(make_plan(computations=1e12), asynchronous=True, calibration=free)
    assert made["write"].metric == "foreground"
    assert made["write"].value == pytest.approx(BINS * 1e9)
    assert made["read"].value == pytest.approx(BINS * 2e9)


def test_the_first_read_of_a_file_waits_while_the_system_reads_ahead() -> None:
    """Only the exposed reads take longer, and only those from storage by the page cache."""
    transfer = 4 * 8 * MIB / 2e9
    calls = {"call_seconds": trials(1e-12)}
    ahead = calibration(first_read_seconds=trials(3 * transfer, (1.0, 1.0, 1.0)), **calls)
    plan = make_plan(computations=1e12)
    made = rates(plan, asynchronous=True, calibration=ahead, **{"drop-cache": True})
    assert made["read"].value == pytest.approx(BINS * 2e9 / 3)
    assert made["write"].value == pytest.approx(BINS * 1e9)
    synchronous = rates(plan, calibration=ahead, **{"drop-cache": True})
    assert synchronous["read"].value == pytest.approx(2e9)
    cached = rates(plan, asynchronous=True, calibration=ahead, **{"drop-cache": False})
    plain = calibration(**calls)
    known = rates(plan, asynchronous=True, calibration=plain, **{"drop-cache": False})
    assert cached["read"].value == known["read"].value
    faster = calibration(first_read_seconds=trials(transfer / 2, (1.0, 1.0, 1.0)), **calls)
    usual = rates(plan, asynchronous=True, calibration=faster, **{"drop-cache": True})
    assert usual["read"].value == pytest.approx(BINS * 2e9)


@pytest.mark.parametrize("work", [0.0, 0.5, 1.0])
def test_reads_after_the_first_of_a_file_take_less_than_the_mean(work: float) -> None:
    """Of eight reads in 8 s the first takes 3 s, so that each later one takes 5/7 s."""
    transfer = 4 * 8 * MIB / 2e9
    ahead = calibration(
        first_read_seconds=trials(3 * transfer, (1.0, 1.0, 1.0)),
        storage_read_bytes_per_rank=BINS * 8 * MIB,
        **{f"{name}_seconds": trials(1e-12) for name in ("call", "barrier")},
    )
    plan = make_plan(computations=work * transfer * 1e9, phases=(("C", "read"),))
    steady = ahead.model_copy(update={"busy_work_operations_per_second": trials(1e9, (1.0,) * 3)})
    steady = steady.model_copy(
        update={"read_storage_bytes_per_second": trials(2e9, (1.0, 1.0, 1.0))}
    )
    made = rates(plan, asynchronous=True, calibration=steady)["read"]
    blocked = transfer * (3 + (BINS - 1) * max(0.0, 5 / 7 - work))
    assert made.value == pytest.approx(4 * BINS * 8 * MIB / blocked)
    synchronous = rates(plan, calibration=steady)["read"]
    assert synchronous.value == pytest.approx(2e9)


@pytest.mark.parametrize(("reads", "later"), [(1, 1.0), (2, 1 / 3), (3, 0.5)])
def test_later_reads_are_not_faster_than_the_page_cache(reads: int, later: float) -> None:
    """The first of ``reads`` reads takes twice the mean; pages are read at 6e9 bytes per second."""
    transfer = 4 * 8 * MIB / 2e9
    ahead = calibration(
        first_read_seconds=trials(2 * transfer, (1.0, 1.0, 1.0)),
        storage_read_bytes_per_rank=reads * 8 * MIB,
        read_storage_bytes_per_second=trials(2e9, (1.0, 1.0, 1.0)),
        **{f"{name}_seconds": trials(1e-12) for name in ("call", "barrier")},
    )
    plan = make_plan(computations=0.0, phases=(("C", "read"),))
    made = rates(plan, asynchronous=True, calibration=ahead)["read"]
    blocked = transfer * (2 + (BINS - 1) * later)
    assert made.value == pytest.approx(4 * BINS * 8 * MIB / blocked)


def test_a_direct_run_is_expected_by_a_calibration_of_its_own_kind() -> None:
    """It has no sync, so that its fixed cost is that of a call."""
    own = calibration(direct=True, call_seconds=trials(1e-12))
    made = rates(make_plan(transfer_bytes=2 * MIB), calibration=own, direct=True)
    assert made["write"].value == pytest.approx(1e9)
    assert made["read"].value == pytest.approx(2e9)
    other = rates(make_plan(), direct=True)
    assert "O_DIRECT was not measured" in other["write"].how
    assert not any("O_DIRECT was not measured" in rate.how for rate in made.values())


def test_without_work_asynchronous_equals_synchronous() -> None:
    plan = make_plan(computations=0.0, phases=ALONE)
    free = calibration(barrier_seconds=trials(1e-12))
    made = rates(plan, asynchronous=True, calibration=free)
    assert made["write"].value == pytest.approx(1e9)
    assert made["read"].value == pytest.approx(2e9)


def test_work_hides_its_own_length_of_every_hidden_transfer() -> None:
    transfer = 4 * 8 * MIB / 1e9
    compute = transfer / 4
    plan = make_plan(computations=compute * 1e9, phases=(("S", "write"),))
    free = calibration(barrier_seconds=trials(1e-12))
    write = rates(plan, asynchronous=True, calibration=free)["write"]
    blocked = transfer + (BINS - 1) * (transfer - compute)
    assert write.value == pytest.approx(4 * BINS * 8 * MIB / blocked)


def test_reads_and_writes_through_one_component_share_what_work_hides() -> None:
    """Read takes t, write 2 t, work t: half of the read is added to the write, which hides it."""
    read_seconds = 4 * 8 * MIB / 2e9
    free = calibration(call_seconds=trials(1e-12), barrier_seconds=trials(1e-12))
    plan = make_plan(computations=read_seconds * 1e9, phases=(("W", "read"), ("W", "write")))
    made = rates(plan, asynchronous=True, calibration=free)
    moved = 4 * BINS * 8 * MIB
    assert made["read"].value == pytest.approx(moved / read_seconds)
    blocked = 2 * read_seconds + (BINS - 1) * (2.5 - 1) * read_seconds
    assert made["write"].value == pytest.approx(moved / blocked)


def test_a_read_from_memory_does_not_share_with_a_write_to_storage() -> None:
    read_seconds = 4 * 8 * MIB / 6e9
    free = calibration(call_seconds=trials(1e-12))
    plan = make_plan(computations=2 * read_seconds * 1e9, phases=(("W", "read"), ("W", "write")))
    made = rates(plan, asynchronous=True, drop_cache=False, calibration=free)
    assert made["read"].value == pytest.approx(BINS * 6e9)


UNEVEN = (0.2, 0.9, 1.0, 1.1, 1.2)


def test_uneven_transfers_without_work_are_expected_as_synchronous_ones_are() -> None:
    uneven = calibration(
        write_storage_bytes_per_second=trials(1e9, UNEVEN), barrier_seconds=trials(1e-12)
    )
    plan = make_plan(computations=0.0, phases=ALONE)
    plain = rates(plan, calibration=uneven)
    made = rates(plan, asynchronous=True, calibration=uneven)
    for direction, rate in plain.items():
        assert made[direction].value == pytest.approx(rate.value)


def test_slow_transfers_stick_out_of_work_that_hides_the_usual_ones() -> None:
    """Work hides twice the median transfer, but not those that take five times as long."""
    transfer = 4 * 8 * MIB / 1e9
    plan = make_plan(computations=2 * transfer * 1e9, phases=(("S", "write"),))
    even, uneven = (
        rates(
            plan,
            asynchronous=True,
            calibration=calibration(
                write_storage_bytes_per_second=trials(1e9, factors),
                call_seconds=trials(1e-12),
                fsync_seconds=trials(0.0),
            ),
        )["write"].value
        for factors in ((1.0, 1.0, 1.0), UNEVEN)
    )
    assert even == pytest.approx(BINS * 1e9)
    assert 1e9 < uneven < 0.6 * even


def case_times(slow: float, expected: float, fast: float, work: float) -> dict[Case, PhaseTime]:
    usual = PhaseTime("S", "write", 8, 1, "storage", expected, work, 0.0, 0.0)
    return {
        "slow": replace(usual, transfer_seconds=slow),
        "expected": usual,
        "fast": replace(usual, transfer_seconds=fast),
    }


def test_hidden_transfers_block_by_the_mean_of_what_sticks_out() -> None:
    """The mean of 7 s, 1 s and 1 s, weighed 1, 4, 1, is 2 s; scaled to 1 s: 3.5, 0.5, 0.5.

    Behind 1 s of work 2.5 s of the slow one stick out, a sixth of the time, in each of seven.
    """
    assert mean_hidden_seconds(case_times(7, 1, 1, work=1), [], 0.0) == pytest.approx(7 * 2.5 / 6)
    assert mean_hidden_seconds(case_times(7, 1, 1, work=0), [], 0.0) == pytest.approx(7 * 1)
    assert mean_hidden_seconds(case_times(7, 1, 1, work=4), [], 0.0) == 0


def test_the_meeting_after_the_work_hides_transfers_too() -> None:
    transfer = 4 * 8 * MIB / 1e9
    meeting = calibration(barrier_seconds=trials(transfer / 4))
    plan = make_plan(computations=transfer / 4 * 1e9, phases=(("S", "write"),))
    write = rates(plan, asynchronous=True, calibration=meeting)["write"]
    blocked = transfer + (BINS - 1) * transfer / 2
    assert write.value == pytest.approx(4 * BINS * 8 * MIB / blocked)


@pytest.mark.parametrize("processors", [1, 2, 3])
@pytest.mark.parametrize(("sync", "copied"), [("fsync", 0.25), ("none", 1.0)])
def test_ranks_that_share_processors_take_turns_in_copying(
    processors: int, sync: str, copied: float
) -> None:
    """Four ranks copy at 4e9 bytes per second and store at 1e9.

    Without work, a hidden write blocks its rank for the storage's time and for its own copies.
    """
    shared = calibration(barrier_seconds=trials(1e-12), processors=processors)
    transfer = 8 * MIB / 1e9 * (4 if sync == "fsync" else 1)
    own = 1 - copied * (1 - processors / 4)
    plan = make_plan(computations=0.0, phases=(("S", "write"),))
    write = rates(plan, asynchronous=True, calibration=shared, sync=sync)["write"]
    blocked = transfer + (BINS - 1) * transfer * own
    assert f"{percent_text(own)} of it for a rank on its own" in write.how
    assert write.value == pytest.approx(4 * BINS * 8 * MIB / blocked)
    # With much work it still has to wait for a processor on which others compute.
    plan = make_plan(computations=100 * transfer * 1e9, phases=(("S", "write"),))
    write = rates(plan, asynchronous=True, calibration=shared, sync=sync)["write"]
    blocked = transfer + (BINS - 1) * transfer * LEAST_WAIT
    assert write.value == pytest.approx(4 * BINS * 8 * MIB / blocked)


def test_ranks_that_share_processors_copy_nothing_for_direct_writes() -> None:
    direct = calibration(barrier_seconds=trials(1e-12), processors=1, direct=True)
    plan = make_plan(computations=0.0, phases=(("S", "write"),))
    write = rates(plan, asynchronous=True, calibration=direct, direct=True)["write"]
    assert "100 % of it for a rank on its own" in write.how
    assert write.value == pytest.approx(1e9)


@pytest.mark.parametrize("processors", [None, 4, 5])
@pytest.mark.parametrize("work", [0.0, 0.5, 100.0])
def test_ranks_with_a_processor_each_share_none(processors: int | None, work: float) -> None:
    plan = make_plan(computations=work * 4 * 8 * MIB)
    known = rates(plan, asynchronous=True, calibration=calibration(processors=processors))
    assert known == rates(plan, asynchronous=True)


def test_reads_and_synchronous_runs_are_as_calibrated_whatever_the_processors() -> None:
    shared = calibration(processors=1)
    for asynchronous, phases in ((False, MADBENCH), (True, (("C", "read"),))):
        plan = make_plan(computations=1e6, phases=phases)
        assert rates(plan, asynchronous, calibration=shared) == rates(plan, asynchronous)


def in_flight(direction: Direction, seconds: float) -> PhaseTime:
    return PhaseTime("W", direction, 8, 1, "storage", seconds, 1.0, 0.5, 0.0)


@pytest.mark.parametrize(("shared", "write", "read"), [(0.0, 4.5, 0.0), (1.0, 6.5, 0.0)])
def test_a_read_hides_behind_the_wait_for_a_longer_write(
    shared: float, write: float, read: float
) -> None:
    """The write takes 6 s alone, and 8 s beside a read of 2 s through the same component."""
    both = in_flight("write", 6.0), in_flight("read", 2.0)
    assert hidden_seconds(both[0], both[1:], shared) == pytest.approx(7 * write)
    assert hidden_seconds(both[1], both[:1], shared) == pytest.approx(7 * read)


def test_a_read_that_outlasts_the_write_blocks_for_the_rest() -> None:
    """The write ends after 2 s, and the read after 6 s; between them is a meeting of 0.5 s."""
    both = in_flight("write", 2.0), in_flight("read", 6.0)
    assert hidden_seconds(both[1], both[:1], 0.0) == pytest.approx(7 * (6 - 2 - 0.5))


@pytest.mark.parametrize("work", [0.0, 1e12])
def test_far_from_the_transition_an_asynchronous_interval_is_as_wide_as_the_calibrated_one(
    work: float,
) -> None:
    """Whether nothing or all is hidden, only the transfers' own interval counts."""
    scattered = calibration(
        write_storage_bytes_per_second=trials(1e9, (0.7, 1.0, 1.3)),
        call_seconds=trials(1e-12),
        barrier_seconds=trials(1e-12),
        fsync_seconds=trials(0.0),
    )
    plan = make_plan(computations=work, phases=(("S", "write"),))
    plain = rates(plan, calibration=scattered)["write"]
    behind = rates(plan, asynchronous=True, calibration=scattered)["write"]
    assert behind.low / behind.value == pytest.approx(plain.low / plain.value, rel=0.02)
    assert behind.high / behind.value == pytest.approx(plain.high / plain.value, rel=0.02)


def test_trials_that_agree_give_the_floor_of_the_interval() -> None:
    alike = calibration(write_storage_bytes_per_second=trials(1e9, (1.0, 1.0, 1.0)))
    write = rates(make_plan(), calibration=alike)["write"]
    assert write.low == pytest.approx(0.85e9)
    assert write.high == pytest.approx(1.15e9)
    assert "the range of 3 trials, 1.00 to 1.00 of their median (covers it with 75 %)" in write.how


def test_trials_that_differ_widen_the_interval_by_their_range() -> None:
    scattered = calibration(write_storage_bytes_per_second=trials(1e9, (0.7, 1.0, 1.3, 0.9, 1.1)))
    write = rates(make_plan(), calibration=scattered)["write"]
    assert write.low == pytest.approx(0.7 * 0.85e9)
    assert write.high == pytest.approx(1.3 * 1.15e9)


def test_a_single_trial_is_taken_to_be_wrong_by_up_to_a_factor_of_two() -> None:
    single = calibration(write_storage_bytes_per_second=trials(1e9, (1.0,)))
    write = rates(make_plan(), calibration=single)["write"]
    assert write.low == pytest.approx(0.5e9)
    assert write.high == pytest.approx(2e9)


def test_a_copy_is_at_least_as_fast_as_the_page_cache_that_contains_it() -> None:
    """Small transfers stay in the processor's caches, and calibrated copies do not."""
    small = calibration(memory_copy_bytes_per_second=trials(2e9))
    read = rates(make_plan(), calibration=small, drop_cache=False)["read"]
    assert read.limiting_stage == "page cache read"
    assert read.value == pytest.approx(6e9)
    (memory,) = [stage for stage in read.stages if stage.name == "memory copy"]
    assert memory.rate == pytest.approx(6e9)
    assert "1.86 GiB/s between large buffers" in memory.how


def test_a_plan_that_moves_nothing_expects_nothing() -> None:
    assert rates(make_plan(phases=())) == {}


def test_another_number_of_ranks_is_refused() -> None:
    with pytest.raises(ValueError, match="16 ranks, but the run has 4"):
        rates(make_plan(), calibration=calibration(ranks=16))


def test_a_switch_that_is_no_switch_is_refused() -> None:
    with pytest.raises(ValueError, match="direct is 'perhaps'"):
        rates(make_plan(), direct="perhaps")


def test_a_sync_at_the_end_is_not_charged_to_every_small_transfer() -> None:
    """4 KiB with a sync take 10 ms, 16 MiB with one sync 66 ms, of which 2 ms are the sync."""
    measured = calibration(
        transfer_bytes=4096,
        fsync_seconds=trials(2e-3),
        write_storage_bytes_per_second=trials(4 * 4096 / 10e-3),
        synced_once_bytes=16 * MIB,
        write_synced_once_bytes_per_second=trials(4 * 16 * MIB / 66e-3),
    )
    (stage,) = [
        one for one in platform_of_calibration(measured).stages if one.name == "storage write"
    ]
    assert stage.rate_bytes_per_second.value == pytest.approx(4 * 16 * MIB / 64e-3)

    def seconds(transfers: int, syncs: int | None) -> float:
        flow = replace(
            flow_on_one_host("write", "durable", 4, transfers, 4096), durable_operations=syncs
        )
        return stage_time(stage, flow).seconds

    assert seconds(1, None) == pytest.approx(10e-3)
    assert seconds(100, None) == pytest.approx(1.0)
    assert seconds(4096, 1) == pytest.approx(64e-3 + 10e-3, rel=1e-3)


def test_a_transfer_with_a_sync_faster_than_the_stream_has_no_fixed_cost() -> None:
    measured = calibration(
        synced_once_bytes=16 * MIB, write_synced_once_bytes_per_second=trials(0.5e9)
    )
    (stage,) = [
        one for one in platform_of_calibration(measured).stages if one.name == "storage write"
    ]
    assert stage.fixed_seconds.value == 0.0


@pytest.mark.parametrize("drop_cache", [True, False])
def test_a_file_system_in_memory_has_no_storage_and_reads_pages_faster_again(
    drop_cache: bool,
) -> None:
    """The calibration reads what was written just before, as a run does that writes and reads."""
    memory = calibration(file_system="tmpfs")
    made = rates(make_plan(), calibration=memory, drop_cache=drop_cache)
    assert made["write"].limiting_stage == "page cache write"
    assert made["write"].value == pytest.approx(4e9)
    assert made["read"].limiting_stage == "page cache read"
    assert made["read"].value == pytest.approx(6e9, rel=1e-3)
    assert 0.8 * 6e9 < made["read"].low < 6e9
    assert 2 * 6e9 < made["read"].high < 2.5 * 6e9
    assert "pages read again up to 2 times as fast" in made["read"].how
