"""Finished runs of a machine whose law tests choose, and what is fitted to them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from platforms import make_platform, make_stage
from synthetic import make_run
from weir.model.flow import flow_on_one_host
from weir.model.measured_flows import Measured, repeatability, samples_of_runs
from weir.model.results_fit import ResultsFit, fit_results, refined
from weir.model.stage import stage_time
from weir.results.schema import Parameter, Run

SIZES = (2**16, 2**18, 2**20, 2**22, 2**24)
FIXED = 1e-3
WRITE, READ = 1e9, 2e9


def rate_at(ranks: int, size: int, rate: float, fixed: float) -> float:
    return ranks * size / (fixed + ranks * size / rate)


@lru_cache
def finished() -> tuple[tuple[Path, Run], ...]:
    """Runs of one and four ranks: durable writes of 1 GB/s and 1 ms, reads of 2 GB/s."""
    made = []
    for number, (ranks, size) in enumerate((n, s) for n in (1, 4) for s in SIZES):
        run = make_run(
            ranks=ranks,
            bytes_per_operation=size,
            write_bytes_per_second=rate_at(ranks, size, WRITE, FIXED),
            read_bytes_per_second=rate_at(ranks, size, READ, 0.0),
            straggler_factor=1.0,
            straggler_rank=0,
            noise=0.01,
            repetitions=2,
            bins=4,
            seed=number,
        )
        made.append((Path(f"/results/job{number}/posix-unique-sync"), run))
    return tuple(made)


@lru_cache
def fitted() -> ResultsFit:
    return fit_results(samples_of_runs(finished()).measured)


def test_every_phase_of_every_run_is_a_sample() -> None:
    samples = samples_of_runs(finished())
    assert len(samples.measured) == 4 * len(finished())
    assert samples.left_out == {}
    assert {(one.flow.direction, one.flow.route) for one in samples.measured} == {
        ("write", "durable"),
        ("read", "dropped"),
    }


def test_the_stages_of_the_machine_are_found_again() -> None:
    stages = {stage.name: stage for stage in fitted().stages}
    assert set(stages) == {"storage write", "storage read"}
    write, read = stages["storage write"], stages["storage read"]
    assert write.rate_bytes_per_second.value == pytest.approx(WRITE, rel=0.1)
    assert write.fixed_seconds.value == pytest.approx(FIXED, rel=0.1)
    assert read.rate_bytes_per_second.value == pytest.approx(READ, rel=0.1)
    assert read.fixed_seconds.value == 0


def test_the_error_is_that_on_configurations_which_the_fit_has_not_seen() -> None:
    fit = fitted()
    assert len(fit.predictions) == 4 * len(finished())
    assert fit.median_error < 0.05
    assert fit.p90_error < 0.15
    seen = fit.stages[0]
    differences = [
        one.predicted_seconds / (stage_time(seen, one.measured.flow).seconds) - 1
        for one in fit.predictions
        if one.stage == seen.name
    ]
    assert any(abs(difference) > 1e-6 for difference in differences)


def test_what_is_no_sample_is_counted_with_the_reason() -> None:
    asynchronous = make_run(label="POSIX UNIQUE ASYNC")
    failed = make_run(failed=True)
    record = make_run().model_dump(mode="json")
    for repetition in record["repetitions"]:
        for phase in repetition["phases"]:
            phase["cache"]["verdict"] = "memory"
    from_memory = Run.model_validate(record)
    runs = [
        (Path(f"/results/{n}/x"), run) for n, run in enumerate((asynchronous, failed, from_memory))
    ]
    assert samples_of_runs(runs).left_out == {
        "asynchronous": 4,
        "run did not complete": 4,
        "read did not go the way of dropped": 2,
        "write did not go the way of durable": 2,
    }


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("staging", "node", "stagers stored the files"),
        ("staging", "service:/home/me/stagers", "stagers stored the files"),
        ("staging", "none", None),
        ("into", "null", "the bytes were dropped"),
        ("engine", "null", "the bytes were dropped"),
        ("into", "file", None),
    ],
)
def test_only_what_the_ranks_wrote_to_files_is_a_sample(
    name: str, value: str, reason: str | None
) -> None:
    run = make_run()
    own = {name: Parameter(value=value, origin="command line")}
    run = run.model_copy(update={"parameters": {**run.parameters, **own}})
    samples = samples_of_runs([(Path("/results/1/x"), run)])
    assert samples.left_out == ({reason: 4} if reason else {})
    assert len(samples.measured) == (0 if reason else 4)


def test_too_few_configurations_are_told() -> None:
    with pytest.raises(ValueError, match="storage write: a fit needs at least two groups"):
        fit_results(samples_of_runs(finished()[:1]).measured)


def test_refining_replaces_stages_of_the_same_name_and_keeps_the_others() -> None:
    before = make_platform(
        [
            make_stage("memory copy", 8e9, kind="node", routes=["memory"]),
            make_stage("storage write", 5e9, direction="write", routes=["durable", "direct"]),
            make_stage("storage read", 5e9, direction="read", routes=["dropped"]),
        ],
        ranks=4,
    )
    after = refined(before, fitted())
    assert [stage.name for stage in after.stages] == [
        "memory copy",
        "storage write",
        "storage read",
    ]
    assert after.stages[0] == before.stages[0]
    assert after.stages[1].rate_bytes_per_second.value == pytest.approx(WRITE, rel=0.1)
    assert after.stages[1].routes == ["durable"]
    assert after.ranks is None
    assert {fit.stage for fit in after.fits} == {"storage write", "storage read"}


def test_repeatability_predicts_each_repetition_by_the_others() -> None:
    flow = flow_on_one_host("write", "durable", 1, 1, 2**20)
    times = (1.0, 1.0, 2.0)
    same = [
        Measured("job", "run", "S", "a", flow, 1, 1.0, times[:1]),
        Measured("job", "run", "S", "a", flow, 1, 1.5, times[1:]),
    ]
    alone = Measured("job", "run", "S", "b", flow, 1, 1.0, (1.0,))
    assert repeatability([*same, alone]) == pytest.approx([0.5, 0.5, 0.5])
    assert repeatability([alone]) == []
