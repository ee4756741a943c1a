"""The run without content: which arguments it has, and what follows from its results."""

from __future__ import annotations

from pathlib import Path

import pytest

from platforms import make_platform, make_stage
from synthetic import make_run
from test_planned_files import plan
from weir.bench.errors import BenchError
from weir.bench.job import Job, calibrated_for, can_be_expected, links_of, why_nothing
from weir.bench.launcher import Launcher
from weir.bench.program import PlannedConfiguration, PlannedJob, find_program, plan_job
from weir.bench.without_content import (
    arguments_of,
    has_run_without_content,
    operations_of,
    run_without_content,
)
from weir.results.platform import Operation
from weir.results.schema import Parameter, Run

FEW_BYTES = {"flash": ["--blocks=1"], "s3d": ["--nx=1"], "sink": ["--message-bytes=1"]}
"""Of the plans of these workloads."""


def job(*arguments: str, **settings: str) -> PlannedJob:
    parameters = {
        name: Parameter(value=value, origin="command line") for name, value in settings.items()
    }
    one = PlannedConfiguration(
        label="one", slug="one", asynchronous=False, parameters=parameters, plan=plan(4, 11, 4)
    )
    return PlannedJob(
        configurations=[one],
        directory="/scratch",
        striping=[],
        transfer_bytes=2**20,
        few_bytes=FEW_BYTES.get(arguments[0], []) if arguments else [],
        arguments=list(arguments),
    )


@pytest.mark.parametrize("workload", ["flash", "s3d", "sink"])
def test_its_own_arguments_come_last(workload: str) -> None:
    given = (workload, "--api", "weir-hdf5", "--work", "2", "--repetitions", "3")
    planned = job(*given)
    assert has_run_without_content(planned)
    words = arguments_of(planned, Path("/results/x"))
    assert words[: len(given)] == list(given)
    assert words[len(given)] == FEW_BYTES[workload][0]
    assert words[-1] == "--output=/results/x"
    assert "--no-verify" in words


@pytest.mark.parametrize(
    ("work", "kept"), [("2", "0.2"), ("0.2", "0.2"), ("0.1", "0.1"), ("0", "0")]
)
def test_ranks_compute_before_a_file_as_in_the_job(work: str, kept: str) -> None:
    words = arguments_of(job("s3d", staging="node", work=work), Path("/results/x"))
    assert f"--work={kept}" in words
    assert not [word for word in arguments_of(job("sink"), Path("x")) if "--work" in word]


@pytest.mark.parametrize(("workload", "most"), [("flash", 8192), ("s3d", 4096), ("sink", 200)])
def test_plans_say_what_makes_their_files_small(workload: str, most: int) -> None:
    program = find_program({})
    planned = plan_job(program, [workload, "--api", "mpiio"], 1)
    small = plan_job(program, [workload, "--api", "mpiio", *planned.few_bytes], 1)
    assert sum(one.plan.disk_bytes_total for one in small.configurations) <= most
    assert [len(one.plan.phases) for one in small.configurations] == [1]


def test_other_workloads_have_none() -> None:
    assert not has_run_without_content(job("stream", "--api", "posix"))
    assert not has_run_without_content(job())
    assert calibrated_for(job("stream", api="posix")).ways == ()


def test_only_messages_that_are_dropped_can_be_expected() -> None:
    sink = job("sink", api="weir", into="null", message_bytes="64")
    array = job("array", api="weir", engine="null")
    assert can_be_expected(sink, None)
    assert not can_be_expected(array, None)
    assert "expectations are of storage" in why_nothing(array)
    stages = [make_stage("memory copy", 8e9, kind="node", routes=["memory"])]
    described = make_platform(stages, ranks=4)
    assert not can_be_expected(sink, described)
    assert "the description has no times of messages" in why_nothing(sink)
    times = {"blocked_seconds": 1e-3, "stored_seconds": 1e-3}
    known = [Operation.model_validate({"api": "weir", **times})]
    assert can_be_expected(sink, described.model_copy(update={"operations": known}))


def test_a_campaign_calibrates_again_for_another_way_only() -> None:
    first = calibrated_for(job("flash", "--blocks=1", api="weir-hdf5", staging="node"))
    assert calibrated_for(job("flash", "--blocks=9", api="weir-hdf5", staging="node")) == first
    for other in (
        job("flash", api="weir-hdf5", staging="none"),
        job("flash", api="weir-cdf5", staging="node"),
        job("flash", api="weir-hdf5", staging="node", variables="24"),
        job("flash", api="weir-hdf5", staging="node", work="0.1"),
        job("s3d", api="weir-hdf5", staging="node"),
    ):
        assert calibrated_for(other) != first


def test_the_ways_to_stagers_are_calibrated_that_a_job_has() -> None:
    assert links_of(job("sink", api="weir", staging="none", stagers="0", receivers="0")) == []
    own = job("sink", api="weir", staging="service", stagers="2", receivers="4")
    other = job("sink", api="weir", staging="service", stagers="1", receivers="4")
    two = [*own.configurations, *other.configurations, *own.configurations]
    both = own.model_copy(update={"configurations": two})
    assert links_of(both) == ["--links", "2x4,1x4"]
    named = job("flash", api="weir-hdf5", staging="service", service="/Home/stagers")
    assert links_of(named) == ["--service", "/Home/stagers"]
    assert calibrated_for(named) != calibrated_for(
        job("flash", api="weir-hdf5", staging="service", service="/Home/others")
    )


def test_the_times_are_those_of_one_operation_of_the_slowest_rank() -> None:
    run = make_run(repetitions=3)
    settings = {
        name: Parameter(value=value, origin="command line")
        for name, value in {"api": "weir-hdf5", "staging": "node"}.items()
    }
    record = run.model_copy(update={"parameters": settings}).model_dump(mode="json")
    (write, *_) = record["plan"]["phases"]
    record["plan"]["phases"] = [write]
    for repetition in record["repetitions"]:
        repetition["phases"] = repetition["phases"][:1]
    (found,) = operations_of([Run.model_validate(record)])
    assert (found.api, found.staging, found.aggregators) == ("weir-hdf5", "node", 0)
    counted = [one["phases"][0] for one in record["repetitions"] if not one["warmup"]]
    number = write["operations_per_rank"]
    assert found.blocked_seconds.values == pytest.approx(
        [one["foreground_seconds"]["max"] / number for one in counted]
    )
    assert found.stored_seconds.values == pytest.approx(
        [one["bytes"] / one["rate_span_bytes_per_second"] / number for one in counted]
    )
    assert operations_of([]) == []


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("echo weir-bench: no room >&2; mkdir -p $OUTPUT; exit 1", "no room"),
        ("mkdir -p $OUTPUT/x; echo { > $OUTPUT/x/run.json", "wrote no usable result"),
        ("exit 0", "wrote no usable result"),
    ],
)
def test_a_failure_is_told_in_a_line_and_leaves_nothing(
    program: str, said: str, tmp_path: Path
) -> None:
    script = tmp_path / "program"
    script.write_text(f'#!/bin/sh\nfor word; do OUTPUT="${{word#--output=}}"; done\n{program}\n')
    script.chmod(0o755)
    folder = tmp_path / "preparation"
    folder.mkdir()
    told: list[str] = []
    with pytest.raises(BenchError) as failed:
        run_without_content(Job(script, Launcher((), 4, {})), job("flash"), folder, told.append)
    assert said in " ".join([str(failed.value), *told])
    assert list(folder.iterdir()) == []
