"""Verdicts on runs of which the cause of a shortfall is known by construction."""

from __future__ import annotations

from typing import Any

import pytest

from synthetic import make_run
from weir.model.verdict import verdict
from weir.results.expectations import RateVerdict
from weir.results.schema import Run


def with_expectation(run: Run, factor: float, **rate_fields: Any) -> Run:
    """The run with expectations of ``factor`` times what was measured, ±15 %."""
    record = run.model_dump(mode="json")
    for expected in record["expectation"]["rates"]:
        measured = next(
            rate["median_bytes_per_second"]
            for rate in record["rates"]
            if (rate["direction"], rate["metric"]) == (expected["direction"], expected["metric"])
        )
        expected["expected_bytes_per_second"] = factor * measured
        expected["low_bytes_per_second"] = 0.85 * factor * measured
        expected["high_bytes_per_second"] = 1.15 * factor * measured
        expected.update(rate_fields)
    return Run.model_validate(record)


def changed(run: Run, **fields: Any) -> Run:
    return Run.model_validate({**run.model_dump(mode="json"), **fields})


def judged(run: Run, direction: str, *siblings: Run) -> RateVerdict:
    return next(r for r in verdict(run, siblings).rates if r.direction == direction)


def test_inside_the_interval_is_as_expected() -> None:
    run = with_expectation(make_run(), 1.1)
    result = verdict(run)
    assert result.overall == "as expected"
    assert judged(run, "write").ratio == pytest.approx(1 / 1.1)


def test_a_good_verdict_names_what_it_was_judged_by() -> None:
    run = with_expectation(make_run(), 1.1)
    assert ", as calibrated just before, limited by " in judged(run, "write").text
    record = run.model_dump(mode="json")
    record["expectation"]["calibration"] = {}
    record["expectation"]["platform"] = {"name": "vm", "measured_utc": "2025-01-22T08:00:00Z"}
    probed = judged(Run.model_validate(record), "write").text
    assert ", as platform vm was measured on 2025-01-22, limited by " in probed


@pytest.mark.parametrize(
    ("factor", "bound", "wide", "side"),
    [(2.0, "high", 2.5, "below"), (0.5, "low", 0.4, "above")],
)
def test_a_wide_scatter_that_reaches_the_expectation_decides_nothing(
    factor: float, bound: str, wide: float, side: str
) -> None:
    record = with_expectation(make_run(straggler_factor=1.0), factor).model_dump(mode="json")
    for rate in record["rates"]:
        rate[f"{bound}_bytes_per_second"] = wide * rate["median_bytes_per_second"]
    run = Run.model_validate(record)
    assert verdict(run).overall == "not decided"
    assert judged(run, "write").text.startswith(f"not decided: the median is {side} ")
    assert ": repeat more often" in judged(run, "write").text


@pytest.mark.parametrize(
    ("low", "high", "word"), [(0.5, 2.0, "as expected"), (0.4, 2.0, "not decided")]
)
def test_an_interval_that_nothing_could_miss_decides_nothing(
    low: float, high: float, word: str
) -> None:
    measured = make_run()
    median = next(
        rate.median for rate in measured.rates if rate.headline and rate.direction == "write"
    )
    ends = {"low_bytes_per_second": low * median, "high_bytes_per_second": high * median}
    found = judged(with_expectation(measured, 1.0, **ends), "write")
    assert found.verdict == word
    assert ("too wide for a verdict" in found.text) == (word == "not decided")


@pytest.mark.parametrize(
    ("share", "word"), [(1.0, "as expected"), (0.999, "not decided"), (1.001, "as expected")]
)
def test_the_median_decides_at_the_bound(share: float, word: str) -> None:
    record = with_expectation(make_run(straggler_factor=1.0), 1.0).model_dump(mode="json")
    for rate in record["expectation"]["rates"]:
        rate["high_bytes_per_second"] = rate["expected_bytes_per_second"] * 2
    run = Run.model_validate(record)
    for rate in record["rates"]:
        low = next(
            one["low_bytes_per_second"]
            for one in record["expectation"]["rates"]
            if one["direction"] == rate["direction"]
        )
        rate["median_bytes_per_second"] = share * low
        rate["low_bytes_per_second"], rate["high_bytes_per_second"] = 0.5 * low, 1.5 * low
    assert judged(run, "write").verdict == "as expected"
    assert judged(Run.model_validate(record), "write").verdict == word


def alone(run: Run) -> Run:
    """The run with one repetition, whose interval is that one value."""
    record = run.model_dump(mode="json")
    for rate in record["rates"]:
        median = rate["median_bytes_per_second"]
        rate["values_bytes_per_second"] = [median]
        rate["low_bytes_per_second"] = rate["high_bytes_per_second"] = median
    return Run.model_validate(record)


@pytest.mark.parametrize(
    ("factor", "word"),
    [
        (1.99 / 0.85, "not decided"),
        (2.01 / 0.85, "below"),
        (0.51 / 1.15, "not decided"),
        (0.49 / 1.15, "above"),
    ],
)
def test_one_repetition_is_out_only_by_more_than_a_factor_of_two(factor: float, word: str) -> None:
    run = alone(with_expectation(make_run(straggler_factor=1.0), factor))
    found = judged(run, "write")
    assert found.verdict == word
    side = "below" if factor > 1 else "above"
    told = found.text.startswith(f"not decided: the only repetition is {side} ")
    assert told == (word == "not decided")


def test_below_names_the_limiting_stage() -> None:
    run = with_expectation(make_run(straggler_factor=1.0), 2.0)
    assert verdict(run).overall == "below"
    assert judged(run, "write").text == "below: look at storage write"


def test_below_names_a_slow_rank_with_its_host() -> None:
    run = make_run(ranks=64, straggler_rank=37, straggler_factor=3.0)
    text = judged(with_expectation(run, 2.0), "read").text
    assert text.startswith("below: look at rank 37 on node02, whose I/O took 2.")


def share(name_field: str, name: str, seconds: float, ranks: list[int]) -> dict[str, Any]:
    phase = {
        "function": "write",
        "direction": "write",
        "bytes": 2**26,
        "io_seconds_max": seconds,
        "rate_bytes_per_second": 2**26 / seconds,
    }
    return {name_field: name, "ranks": ranks, "phases": [phase]}


def test_below_names_a_slow_target_by_how_much_longer_it_took() -> None:
    run = make_run(ranks=4, straggler_rank=2, straggler_factor=3.0)
    targets = [
        share("directory", f"/mnt/t{place}", 3.9 if place == 2 else 1.0, [place])
        for place in range(4)
    ]
    text = judged(changed(with_expectation(run, 2.0), targets=targets), "write").text
    assert text == ("below: look at target /mnt/t2, which took 3.9 times the mean of the others")


def test_a_target_with_more_bytes_is_not_called_slow() -> None:
    run = with_expectation(make_run(ranks=4, straggler_factor=1.0), 2.0)
    targets = [share("directory", f"/mnt/t{place}", 1.0, [place]) for place in range(4)]
    targets[1]["phases"][0].update(bytes=3 * 2**26, io_seconds_max=3.0)
    text = judged(changed(run, targets=targets), "write").text
    assert text == "below: look at storage write"


def test_below_names_a_slow_host_of_which_no_single_rank_is_slow() -> None:
    run = with_expectation(make_run(ranks=4, straggler_factor=1.0), 2.0)
    nodes = [
        share("host", f"host{place}", 3.9 if place == 1 else 1.0, [2 * place, 2 * place + 1])
        for place in range(2)
    ]
    text = judged(changed(run, nodes=nodes), "write").text
    assert text == "below: look at host host1, whose ranks took 3.9 times the mean of the others"


def test_a_slow_host_behind_an_expected_link_is_told_by_its_link() -> None:
    link = {
        "name": "node link",
        "rate_bytes_per_second": 6e9,
        "low_bytes_per_second": 5e9,
        "high_bytes_per_second": 7e9,
        "how": "test data",
    }
    run = with_expectation(
        make_run(ranks=4, straggler_factor=1.0), 2.0, limiting_stage="node link", stages=[link]
    )
    nodes = [share("host", f"host{n}", 3.9 if n == 1 else 1.0, [2 * n, 2 * n + 1]) for n in (0, 1)]
    text = judged(changed(run, nodes=nodes), "write").text
    assert text.startswith("below: look at the node link of host1, whose ranks took 3.9 times")


def test_below_in_asynchronous_runs_names_the_rank_that_was_blocked_longest() -> None:
    fields = {"straggler_rank": 1, "straggler_factor": 3.0, "compute_seconds": 0.0}
    run = with_expectation(make_run(label="POSIX UNIQUE ASYNC", **fields), 3.0)
    text = judged(run, "write").text
    assert text.startswith("below: look at rank 1 on node00, which was blocked for 2.")


def test_below_names_the_layer_in_which_a_faster_sibling_differs() -> None:
    slow = {"straggler_factor": 1.0, "write_bytes_per_second": 0.4e9}
    run = with_expectation(make_run(label="MPI UNIQUE SYNC", **slow), 2.0)
    sibling = make_run(label="POSIX UNIQUE SYNC", straggler_factor=1.0)
    text = judged(run, "write", sibling).text
    assert text.startswith("below: look at the MPI-IO layer: POSIX UNIQUE SYNC reached 1.")


def test_below_names_the_shared_file_when_separate_files_were_faster() -> None:
    slow = {"straggler_factor": 1.0, "write_bytes_per_second": 0.4e9}
    run = with_expectation(make_run(label="POSIX SHARED SYNC", **slow), 2.0)
    sibling = make_run(label="POSIX UNIQUE SYNC", straggler_factor=1.0)
    assert "the shared file (locking or layout)" in judged(run, "write", sibling).text


def test_a_sibling_as_slow_clears_the_layer() -> None:
    run = with_expectation(make_run(label="MPI UNIQUE SYNC", straggler_factor=1.0), 2.0)
    sibling = make_run(label="POSIX UNIQUE SYNC", straggler_factor=1.0, seed=7)
    assert judged(run, "write", sibling).text == "below: look at storage write"


def test_a_sibling_of_the_other_mode_says_nothing() -> None:
    run = with_expectation(make_run(label="MPI UNIQUE SYNC", straggler_factor=1.0), 2.0)
    sibling = make_run(label="POSIX UNIQUE ASYNC", straggler_factor=1.0)
    assert "which the expectation leaves out" in judged(run, "write", sibling).text


def through(run: Run, **parameters: Any) -> Run:
    """The run as one of another workload, which has these parameters in place of madbench's."""
    record = run.model_dump(mode="json")
    record["parameters"] = {
        name: {"value": value, "origin": "command line"} for name, value in parameters.items()
    }
    return Run.model_validate(record)


@pytest.mark.parametrize(
    ("parameters", "layer"),
    [
        ({"api": "MPIIO", "file_per_rank": True}, "the MPI-IO layer"),
        ({"api": "mpiio-independent", "layout": "shared"}, "the MPI-IO layer"),
        ({"api": "weir-hdf5", "layout": "shared"}, "the layer of Weir's library"),
        ({"api": "HDF5", "file_per_rank": False}, "the HDF5 layer"),
        ({"api": "POSIX", "file_per_rank": False}, "the shared file (locking or layout)"),
        ({"api": "IO_URING", "file_per_rank": True}, None),
        ({"api": "posix", "layout": "shared"}, None),
    ],
)
def test_below_names_the_layer_of_every_workload(
    parameters: dict[str, Any], layer: str | None
) -> None:
    run = with_expectation(through(make_run(straggler_factor=1.0), **parameters), 2.0)
    named = "storage write" if layer is None else f"{layer}, which the expectation leaves out"
    assert judged(run, "write").text == f"below: look at {named}"


def test_a_shared_file_is_not_suspected_where_it_was_calibrated() -> None:
    shared = through(make_run(straggler_factor=1.0), api="POSIX", file_per_rank=False)
    run = with_expectation(shared, 2.0)
    assert run.expectation is not None
    calibrated = run.expectation.model_copy(update={"calibration": {"shared_file": True}})
    run = run.model_copy(update={"expectation": calibrated})
    assert judged(run, "write").text == "below: look at storage write"


def test_a_link_that_should_be_the_limit_is_nearer_than_a_layer() -> None:
    rates = dict.fromkeys(("rate", "low", "high"), 1e8)
    link = {f"{name}_bytes_per_second": rate for name, rate in rates.items()}
    stage = {"name": "node link", "limiting": True, "how": "given", **link}
    fields = {"limiting_stage": "node link of three", "stages": [stage]}
    through_mpi = through(make_run(straggler_factor=1.0), api="MPIIO", file_per_rank=True)
    run = with_expectation(through_mpi, 2.0, **fields)
    assert judged(run, "write").text == "below: look at node link of three"


def test_a_sibling_of_another_size_of_transfers_says_nothing() -> None:
    slow = make_run(straggler_factor=1.0, write_bytes_per_second=0.4e9)
    run = with_expectation(through(slow, api="MPIIO", file_per_rank=True), 2.0)
    sibling = through(make_run(straggler_factor=1.0), api="POSIX", file_per_rank=True)
    assert "the MPI-IO layer: " in judged(run, "write", sibling).text
    record = sibling.model_dump(mode="json")
    for phase in record["plan"]["phases"]:
        phase["bytes_per_operation"] *= 2
    other = Run.model_validate(record)
    assert "which the expectation leaves out" in judged(run, "write", other).text


def test_below_in_asynchronous_runs_names_an_overlap_that_failed() -> None:
    run = make_run(label="POSIX UNIQUE ASYNC", straggler_factor=1.0, compute_seconds=0.0)
    text = judged(with_expectation(run, 4.0), "write").text
    assert text.startswith("below: look at the overlap: ranks were blocked for ")
    assert text.endswith(" of the transfers' time, of which 12 % cannot be hidden")


def test_below_in_asynchronous_runs_with_a_good_overlap_names_the_slow_transfers() -> None:
    run = make_run(label="POSIX UNIQUE ASYNC", straggler_factor=1.0, compute_seconds=0.3)
    text = judged(with_expectation(run, 4.0), "write").text
    told = "below: look at storage write: all but 12 % was hidden, but transfers took longer"
    assert text == told


def test_below_from_an_expected_page_cache_names_the_cold_pages() -> None:
    cached = {
        "name": "page cache read",
        "rate_bytes_per_second": 6e9,
        "low_bytes_per_second": 5e9,
        "high_bytes_per_second": 7e9,
        "how": "test data",
    }
    run = with_expectation(
        make_run(straggler_factor=1.0), 3.0, limiting_stage="page cache read", stages=[cached]
    )
    assert "did not hold the pages" in judged(run, "read").text


@pytest.mark.parametrize(
    ("reach", "fewer", "is_doubted"),
    [
        ("network", 1, True),
        ("unknown", 1, True),
        ("network", 0, False),
        ("local", 1, False),
        ("memory", 1, False),
    ],
)
def test_below_doubts_a_calibration_that_read_less_than_the_run_where_servers_may_keep_it(
    reach: str, fewer: int, is_doubted: bool
) -> None:
    record = with_expectation(make_run(straggler_factor=1.0), 3.0).model_dump(mode="json")
    read = record["plan"]["disk_bytes_total"] - fewer
    record["expectation"]["calibration"] |= {"storage_read_bytes_per_rank": read, "ranks": 1}
    record["environment"]["file_system"] |= {"reach": reach, "type": "fuse.ceph-fuse"}
    for rate in record["expectation"]["rates"]:
        rate["limiting_stage"] = "storage read"
    text = judged(Run.model_validate(record), "read").text
    assert text.startswith("below: look at the calibration: it read ") == is_doubted
    assert ("which fuse.ceph-fuse or its servers may have held" in text) == is_doubted


def with_doubtful_clocks(run: Run, fraction: float) -> Run:
    assert run.clocks is not None
    clocks = run.clocks.model_dump() | {"flagged": True, "error_fraction_of_span": fraction}
    return changed(run, clocks=clocks)


def test_clocks_that_explain_the_difference_come_before_every_other_cause() -> None:
    run = with_doubtful_clocks(with_expectation(make_run(straggler_factor=3.0), 1.3), 0.2)
    text = judged(run, "write").text
    assert text == "below: look at the clocks, which are uncertain by 20.0 % of the measured span"


def test_clocks_that_cannot_explain_the_difference_are_not_blamed() -> None:
    run = with_doubtful_clocks(with_expectation(make_run(straggler_factor=1.0), 2.0), 0.2)
    assert judged(run, "write").text == "below: look at storage write"


def from_memory(run: Run) -> Run:
    record = run.model_dump(mode="json")
    fact = {"kind": "page_residency", "storage_fraction": 0.0, "text": "98 % were resident"}
    for repetition in record["repetitions"]:
        for phase in repetition["phases"]:
            phase["cache"] = {"verdict": "memory", "evidence": [fact]}
    return Run.model_validate(record)


def test_above_from_memory_names_memory_and_the_evidence() -> None:
    run = from_memory(with_expectation(make_run(), 0.3))
    result = judged(run, "read")
    assert result.verdict == "above"
    assert result.text == (
        "above: the model or the measurement is wrong: bytes came from memory, "
        "storage read was expected (98 % were resident)"
    )


def test_above_without_evidence_blames_the_model_by_stage() -> None:
    text = judged(with_expectation(make_run(), 0.3), "write").text
    assert text == (
        "above: the model or the measurement is wrong; storage write is faster than calibrated"
    )


def test_above_beside_other_load_is_not_decided_unless_something_explains_it() -> None:
    def beside_load(run: Run) -> Run:
        assert run.environment is not None
        quiet = run.environment.quiet.model_copy(update={"quiet": False})
        changed = run.environment.model_copy(update={"quiet": quiet})
        return run.model_copy(update={"environment": changed})

    run = with_expectation(make_run(), 0.3)
    assert run.expectation is not None
    assert run.expectation.calibration
    result = judged(beside_load(run), "write")
    assert result.verdict == "not decided"
    assert result.text.endswith(
        "and the machine was not quiet: other programs may have slowed the calibration: repeat on "
        "a quieter machine"
    )
    assert judged(beside_load(from_memory(run)), "read").verdict == "above"
    probed = run.expectation.model_copy(update={"calibration": {}})
    assert judged(beside_load(run.model_copy(update={"expectation": probed})), "write").verdict == (
        "above"
    )


def test_above_with_a_compressible_payload_says_so() -> None:
    run = with_expectation(make_run(), 0.3)
    verification = {**run.verification.model_dump(), "compressible_percent": 80}
    assert "80 % of the payload" in judged(changed(run, verification=verification), "write").text


def test_a_run_without_an_expectation_is_told_so() -> None:
    result = verdict(changed(make_run(), expectation=None))
    assert result.overall == "no expectation"
    assert {rate.metric for rate in result.rates} == {"span"}
    assert all(rate.ratio is None for rate in result.rates)


def test_the_worst_rate_decides() -> None:
    run = with_expectation(make_run(straggler_factor=1.0), 1.0)
    record = run.model_dump(mode="json")
    record["expectation"]["rates"][0].update(
        expected_bytes_per_second=1e12, low_bytes_per_second=0.8e12, high_bytes_per_second=1.2e12
    )
    assert verdict(Run.model_validate(record)).overall == "below"
