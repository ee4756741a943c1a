"""Staged output in the path model: times that follow by arithmetic, and expected rates."""

from __future__ import annotations

import json
import math
import random
import subprocess
from typing import Any

import pytest

from calibrations import MIB, calibration, trials
from platforms import make_platform, make_stage
from synthetic import make_run
from weir.bench.job import stager_memory
from weir.bench.program import find_program
from weir.model.a_priori import bounds, of_device
from weir.model.calibration_platform import platform_of_calibration
from weir.model.expectation import expect
from weir.model.flow_of_plan import output_of
from weir.model.overlap import PhaseTime, hidden_seconds
from weir.model.staging import StagedFile, StagedTime, staged_time
from weir.model.verdict import verdict
from weir.results.expectations import ExpectedRate, Metric
from weir.results.opening_records import StepTimes
from weir.results.platform import Platform
from weir.results.record import Quantity
from weir.results.schema import Parameter, Plan, Run

FILE = StagedFile("checkpoint", bytes=100.0, hand_over_seconds=1.0, storing_seconds=4.0)
PLOT = StagedFile("plot", bytes=20.0, hand_over_seconds=0.2, storing_seconds=1.0)


def staged(
    *files: StagedFile, steps: int = 3, computing: float = 0.0, room: float = math.inf
) -> StagedTime:
    return staged_time([files] * steps, computing, room)


def test_with_room_the_program_is_blocked_by_the_hand_over_alone() -> None:
    taken = staged(FILE)
    assert taken.blocked_seconds == pytest.approx(3.0)
    assert taken.waiting_seconds == 0.0
    # The stager stores one file after the other, from the end of the first hand-over on.
    assert taken.until_stored_seconds == pytest.approx(1.0 + 3 * 4.0)


@pytest.mark.parametrize(("computing", "hidden"), [(4.0, 4.0), (100.0, 4.0)])
def test_computing_hides_at_most_the_storing(computing: float, hidden: float) -> None:
    taken = staged(FILE, computing=computing)
    assert taken.until_stored_seconds == pytest.approx(3 * (1.0 + 4.0))
    assert taken.until_stored_seconds - taken.blocked_seconds == pytest.approx(3 * hidden)
    assert taken.hidden_fraction == pytest.approx(4.0 / 5.0)


@pytest.mark.parametrize("computing", [0.0, 1.0, 2.5, 3.0, 3.1, 10.0])
def test_with_room_for_one_step_a_rank_waits_as_behind_computation(computing: float) -> None:
    steps = 4
    behind = PhaseTime(
        function="checkpoint",
        direction="write",
        operations=steps,
        exposed=1,
        component="storage",
        transfer_seconds=FILE.storing_seconds,
        compute_seconds=computing + FILE.hand_over_seconds,
        meeting_seconds=0.0,
        posting_seconds=0.0,
    )
    taken = staged(FILE, steps=steps, computing=computing, room=FILE.bytes)
    assert taken.waiting_seconds == pytest.approx(hidden_seconds(behind, [], 0.0))
    assert taken.blocked_seconds == pytest.approx(steps * 1.0 + taken.waiting_seconds)


@pytest.mark.parametrize(
    ("room", "blocked"), [(100.0, 1.0), (99.0, 0.99 + 0.04), (25.0, 0.25 + 3.0), (0.0, 4.0)]
)
def test_a_file_larger_than_the_memory_is_taken_at_the_rate_of_storing(
    room: float, blocked: float
) -> None:
    taken = staged(FILE, steps=1, room=room)
    assert taken.blocked_seconds == pytest.approx(blocked)
    assert taken.until_stored_seconds == pytest.approx(min(1.0, 0.01 * room) + 4.0)


def test_a_hand_over_that_is_slower_than_storing_is_the_limit() -> None:
    slow = StagedFile("checkpoint", bytes=100.0, hand_over_seconds=8.0, storing_seconds=1.0)
    taken = staged(slow, room=10.0)
    assert taken.blocked_seconds == pytest.approx(3 * 8.0)
    assert taken.waiting_seconds == 0.0
    assert taken.until_stored_seconds == pytest.approx(3 * 8.0)


def test_files_of_two_kinds_wait_for_each_other_in_storage() -> None:
    taken = staged(FILE, PLOT, steps=1)
    assert taken.blocked_seconds == pytest.approx(1.2)
    # The checkpoint is stored after 5 s. The plot file is begun after 1 s and stored after 6 s.
    assert taken.until_stored_seconds == pytest.approx(5.0 + 5.0)


def test_steps_without_a_file_and_files_without_bytes_take_nothing() -> None:
    empty = StagedFile("plot", bytes=0.0, hand_over_seconds=0.0, storing_seconds=0.0)
    assert staged_time([[], [empty]], 1.0, 0.0) == StagedTime(0.0, 0.0, 0.0)
    assert staged_time([], 1.0, 0.0).hidden_fraction == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_any_output_is_blocked_between_copying_and_all_in_turn(seed: int) -> None:
    chance = random.Random(seed)
    steps = [
        [
            StagedFile(
                kind=kind,
                bytes=chance.uniform(1, 100),
                hand_over_seconds=chance.uniform(0, 2),
                storing_seconds=chance.uniform(0, 4),
            )
            for kind in ("checkpoint", "plot")[: chance.randint(1, 2)]
        ]
        for _ in range(chance.randint(1, 8))
    ]
    files = [file for step in steps for file in step]
    copying = sum(file.hand_over_seconds for file in files)
    storing = sum(file.storing_seconds for file in files)
    computing = chance.uniform(0, 3)
    for room in (0.0, 10.0, 50.0, 150.0, 1000.0, math.inf):
        taken = staged_time(steps, computing, room)
        assert copying * (1 - 1e-9) <= taken.blocked_seconds <= (copying + storing) * (1 + 1e-9)
        assert taken.blocked_seconds == pytest.approx(copying + taken.waiting_seconds)
        assert taken.until_stored_seconds >= storing * (1 - 1e-9)
        assert taken.waiting_seconds == 0.0 or room < sum(file.bytes for file in files)


# ---- expectations ----

CHECKPOINTS, PLOTS = 3, 4
CHECKPOINT_BYTES, PLOT_BYTES = 400 * MIB, 40 * MIB
MOVED = CHECKPOINTS * CHECKPOINT_BYTES + PLOTS * PLOT_BYTES


def plan(ranks: int = 4) -> Plan:
    kinds = (("checkpoint", CHECKPOINTS, CHECKPOINT_BYTES), ("plot", PLOTS, PLOT_BYTES))
    return Plan(
        ranks=ranks,
        files=CHECKPOINTS + PLOTS,
        ranks_per_file=ranks,
        memory_bytes_per_rank=MIB,
        memory_bytes_total=ranks * MIB,
        disk_bytes_total=MOVED,
        phases=[
            {
                "function": function,
                "direction": "write",
                "operations_per_rank": files,
                "bytes_per_operation": each // ranks,
                "bytes_total": files * each,
                "computations_per_operation": 0.0,
                "exposed_operations_per_rank": files,
            }
            for function, files, each in kinds
        ],
    )


def parameters(**settings: Any) -> dict[str, Parameter]:
    chosen = {"api": "weir-hdf5", "staging": "node", "work": 0.0, "collective": True, **settings}
    return {name: Parameter(value=value, origin="default") for name, value in chosen.items()}


def platform(**changes: Any) -> Platform:
    return platform_of_calibration(calibration(fsync_seconds=trials(1e-9), **changes))


def rates(
    described: Platform | None = None, memory: float | None = None, **settings: Any
) -> dict[Metric, ExpectedRate]:
    made = expect(
        plan(),
        asynchronous=False,
        parameters=parameters(**settings),
        platform=described or platform(),
        made_utc="2025-01-23T10:14:50Z",
        stager_memory_bytes=memory,
    )
    return {rate.metric: rate for rate in made.rates}


def test_the_hand_over_is_observed_and_storage_limits_what_is_stored() -> None:
    made = rates(work=100.0)
    observed, storage = made["foreground"], made["span"]
    assert observed.value == pytest.approx(10e9)
    assert observed.limiting_stage == "hand-over by memory copy"
    assert [stage.name for stage in observed.stages] == ["memory copy"]
    # A checkpoint is handed over and then stored. A plot file is handed over while its checkpoint
    # is stored, and stored after it; the last plot file is alone.
    checkpoint, plot = CHECKPOINT_BYTES / 1e9, PLOT_BYTES / 1e9
    seconds = CHECKPOINTS * (0.1 * checkpoint + 2 * checkpoint + plot) + 1.1 * plot
    assert storage.value == pytest.approx(MOVED / seconds, rel=1e-6)
    assert storage.limiting_stage == "storage write"
    for rate in made.values():
        assert rate.low < rate.value < rate.high
        assert "left out" in rate.how
        assert sum(stage.limiting for stage in rate.stages) == 1


def operation(blocked: float, stored: float, staging: str = "node") -> dict[str, Any]:
    times = {"blocked_seconds": trials(blocked), "stored_seconds": trials(stored)}
    return {"api": "weir-hdf5", "staging": staging, **times}


def test_a_file_takes_its_calls_beside_its_bytes() -> None:
    known = platform(operations=[operation(0.5, 2.0)])
    made = rates(known, work=100.0)
    checkpoint, plot = CHECKPOINT_BYTES / 1e9, PLOT_BYTES / 1e9
    files = CHECKPOINTS + PLOTS
    observed = made["foreground"]
    assert MOVED / observed.value == pytest.approx(MOVED / 10e9 + files * 0.5)
    assert observed.limiting_stage == "calls on files"
    # A file is stored for 1.5 s beside its bytes, after its hand-over, and a plot file waits for
    # its checkpoint.
    handed = 0.1 * checkpoint + 0.5
    seconds = CHECKPOINTS * (handed + 2 * (checkpoint + 1.5) + plot + 1.5)
    seconds += 0.1 * plot + 0.5 + plot + 1.5
    assert MOVED / made["span"].value == pytest.approx(seconds, rel=1e-6)
    for rate in made.values():
        assert rate.low < rate.value < rate.high
        assert "left out" not in rate.how
        assert [stage.name for stage in rate.stages if stage.limiting] == ["calls on files"]


def test_short_calls_leave_the_limit_to_the_bytes() -> None:
    made = rates(platform(operations=[operation(1e-3, 2e-3)]), work=100.0)
    assert made["foreground"].limiting_stage == "hand-over by memory copy"
    assert made["span"].limiting_stage == "storage write"
    calls = made["foreground"].stages[-1]
    assert calls.fixed_seconds == pytest.approx((CHECKPOINTS + PLOTS) * 1e-3)
    assert not calls.limiting


@pytest.mark.parametrize("blocked", [0.1, 1.0])
def test_files_of_the_ranks_take_their_calls_too(blocked: float) -> None:
    known = platform(operations=[operation(blocked, blocked + 0.1, staging="none")])
    made = rates(known, staging="none")
    files = CHECKPOINTS + PLOTS
    assert MOVED / made["foreground"].value == pytest.approx(MOVED / 1e9 + files * blocked)
    assert MOVED / made["span"].value == pytest.approx(MOVED / 1e9 + files * (blocked + 0.1))
    long = files * blocked > MOVED / 1e9
    limit = "calls on files" if long else "storage write"
    assert made["foreground"].limiting_stage == limit
    assert [stage.name for stage in made["foreground"].stages if stage.limiting] == [limit]


def test_only_the_run_s_own_way_tells_what_its_files_take() -> None:
    known = platform(operations=[operation(0.5, 2.0, staging="none")])
    assert rates(known, work=100.0)["foreground"].value == pytest.approx(10e9)
    other = rates(known, work=100.0, staging="none", api="hdf5")
    assert other["foreground"].value == pytest.approx(1e9)


def test_a_full_memory_makes_storage_the_limit_of_what_is_observed() -> None:
    made = rates(memory=1.0)
    observed = made["foreground"]
    assert observed.limiting_stage == "storage write behind the full memory of the stagers"
    assert observed.value == pytest.approx(1e9, rel=0.02)
    assert [stage.name for stage in observed.stages if stage.limiting] == ["storage write"]


def test_a_quarter_of_the_free_memory_is_the_stagers() -> None:
    free = 4 * MOVED
    just_enough = rates(platform(memory_available_bytes=free))["foreground"]
    too_little = rates(platform(memory_available_bytes=free // 2))["foreground"]
    assert "never full" in just_enough.how
    assert "is full for" in too_little.how
    assert too_little.value < just_enough.value
    assert "is not known" in rates()["foreground"].how


def test_without_stagers_writing_is_what_is_observed() -> None:
    made = rates(staging="none", work=100.0)
    assert list(made) == ["span", "foreground"]
    assert made["foreground"].value == made["span"].value == pytest.approx(1e9)
    assert made["foreground"].limiting_stage == "storage write"


def test_a_platform_without_memory_has_no_observed_rate() -> None:
    whole = platform()
    storage = [stage for stage in whole.stages if stage.routes != ["memory"]]
    made = rates(whole.model_copy(update={"stages": storage}))
    assert list(made) == ["span"]
    assert made["span"].limiting_stage == "storage write"


def test_a_link_to_stagers_on_other_nodes_is_a_stage_of_the_hand_over() -> None:
    whole = platform()
    link = whole.stages[0].model_copy(
        update={
            "name": "node link",
            "kind": "node link",
            "routes": ["network"],
            "rate_bytes_per_second": Quantity(value=2e9, low=1e9, high=3e9),
        }
    )
    linked = whole.model_copy(update={"stages": [*whole.stages, link]})
    away = rates(linked, staging="service:/home/me/stagers", work=100.0)["foreground"]
    assert away.value == pytest.approx(2e9)
    assert away.limiting_stage == "hand-over by node link"
    assert rates(linked, work=100.0)["foreground"].limiting_stage == "hand-over by memory copy"


def link(stagers: int, receivers: int, rate: float) -> dict[str, Any]:
    return {"stagers": stagers, "receivers": receivers, "bytes_per_second": trials(rate)}


def test_the_calibrated_way_to_a_user_s_own_service_is_a_stage_of_the_hand_over() -> None:
    links = [link(1, 4, 9e9), link(1, 0, 2e9)]
    known = platform(operations=[operation(1e-3, 2e-3, staging="service")], links=links)
    made = rates(known, staging="service", service="/home/me/stagers", work=100.0)
    observed = made["foreground"]
    files = CHECKPOINTS + PLOTS
    assert MOVED / observed.value == pytest.approx(MOVED / 2e9 + files * 1e-3)
    assert observed.limiting_stage == "hand-over by TCP to the stagers"
    assert [one.name for one in observed.stages] == [
        "memory copy", "TCP to the stagers", "calls on files"
    ]  # fmt: skip
    assert made["span"].limiting_stage == "storage write"
    assert observed.low < observed.value < observed.high
    # Nothing is known of stagers that a calibration does not reach.
    unknown = platform(operations=[operation(1e-3, 2e-3, staging="service")])
    assert rates(unknown, staging="service", service="/home/me/stagers") == {}


def test_the_way_to_stagers_of_several_nodes_is_shared_by_these() -> None:
    known = platform(
        operations=[operation(1e-3, 2e-3, staging="service")],
        links=[link(2, 0, 2e9)],
        hosts=2,
    )
    observed = rates(known, staging="service", work=100.0)["foreground"]
    assert MOVED / observed.value == pytest.approx(MOVED / 2e9 + (CHECKPOINTS + PLOTS) * 1e-3)


def test_only_workloads_that_compute_between_output_steps_are_output() -> None:
    assert output_of(parameters()) is not None
    without_work = {name: one for name, one in parameters().items() if name != "work"}
    assert output_of(without_work) is None
    with pytest.raises(ValueError, match="parameter work is '-1', expected seconds"):
        output_of(parameters(work=-1))


PLANNED_BYTES = 32 * MIB * 8
PLANNED = ("--array-shape", "32m", "--distribution", "BLOCK", "--targets", "1", "--stripe", "0")


@pytest.mark.parametrize("where", [("node",), ("service", "--stagers", "1")])
def test_the_library_prices_the_same_stages(where: tuple[str, ...]) -> None:
    """The rates are those that the library has without a description of the platform."""
    words = ("plan", "--nodes", "1", "--ranks-per-node", "2", "--json", "--staging", *where)
    ended = subprocess.run(
        [find_program({}), *words, *PLANNED], capture_output=True, text=True, timeout=60, check=True
    )
    priced = json.loads(ended.stdout)["staging"]
    stages = [
        make_stage("memory copy", 9e9, kind="node", routes=["memory"]),
        make_stage("node link", 1.2e9, kind="node link", routes=["network"]),
        make_stage("page cache write", 3.5e9, kind="node", direction="write", routes=["cached"]),
        make_stage("storage write", 1e9, direction="write", routes=["durable"]),
    ]
    (kind, *_) = plan(2).phases
    one_file = {
        "operations_per_rank": 1,
        "bytes_per_operation": PLANNED_BYTES // 2,
        "bytes_total": PLANNED_BYTES,
    }
    made = expect(
        plan(2).model_copy(update={"files": 1, "phases": [kind.model_copy(update=one_file)]}),
        asynchronous=False,
        parameters=parameters(staging=where[0], sync="none"),
        platform=make_platform(stages, hosts=1, ranks_per_host=2),
        made_utc="2025-01-23T10:14:50Z",
    )
    seconds = {rate.metric: PLANNED_BYTES / rate.value for rate in made.rates}
    # The library also counts calls.
    assert priced["blocked_seconds"] == pytest.approx(seconds["foreground"], rel=0.01)
    assert priced["until_stored_seconds"] == pytest.approx(seconds["span"], rel=0.03)


# ---- messages ----

MESSAGES, MESSAGE_BYTES = 1000, 64 * 1024
SENT = 4 * MESSAGES * MESSAGE_BYTES


def message_rates(known: Platform, **settings: Any) -> list[ExpectedRate]:
    """The workload sink on four ranks."""
    given = {"api": "weir", "staging": "none", "into": "null", "sync": "none", **settings}
    chosen = {**given, "message_bytes": MESSAGE_BYTES}
    (kind, *_) = plan().phases
    moves = {
        "function": "write",
        "operations_per_rank": MESSAGES,
        "bytes_per_operation": MESSAGE_BYTES,
        "bytes_total": SENT,
    }
    return expect(
        plan().model_copy(update={"files": 1, "phases": [kind.model_copy(update=moves)]}),
        asynchronous=False,
        parameters={name: Parameter(value=one, origin="default") for name, one in chosen.items()},
        platform=known,
        made_utc="2025-01-23T10:14:50Z",
    ).rates


def known_messages(seconds: float, **way: str) -> Platform:
    times = {"blocked_seconds": trials(seconds), "stored_seconds": trials(seconds)}
    return platform(operations=[{"api": "weir", "staging": "none", **times, **way}])


@pytest.mark.parametrize(
    ("seconds", "limit"), [(1e-3, "calls on messages"), (1e-6, "hand-over by memory copy")]
)
def test_a_message_takes_its_call_and_its_copy(seconds: float, limit: str) -> None:
    (rate,) = message_rates(known_messages(seconds, staging="node"), staging="node")
    assert rate.metric == "span"
    assert SENT / rate.value == pytest.approx(MESSAGES * seconds + SENT / 10e9)
    assert rate.limiting_stage == limit
    assert rate.low < rate.value < rate.high
    assert sum(stage.limiting for stage in rate.stages) == 1


@pytest.mark.parametrize(
    ("ends", "rate", "limit"),
    [
        ((1, 1), 1e9, "hand-over by TCP to the stagers"),
        ((2, 4), 3e9, "hand-over by TCP to the stagers"),
        ((1, 4), 20e9, "hand-over by memory copy"),
    ],
)
def test_messages_go_to_their_own_stagers(ends: tuple[int, int], rate: float, limit: str) -> None:
    way = f"service:{ends[0]}:{ends[1]}"
    times = {"blocked_seconds": trials(1e-6), "stored_seconds": trials(1e-6)}
    links = [link(1, 1, 1e9), link(2, 4, 3e9), link(1, 4, 20e9)]
    known = platform(
        operations=[{"api": "weir", "staging": way, **times}],
        links=links,
    )
    settings = {"staging": "service", "stagers": ends[0], "receivers": ends[1]}
    (made,) = message_rates(known, **settings)
    assert SENT / made.value == pytest.approx(MESSAGES * 1e-6 + SENT / min(rate, 10e9))
    assert made.limiting_stage == limit
    # Another number of stagers or threads is another way.
    assert message_rates(known, **{**settings, "stagers": 3}) == []


def test_the_library_may_drop_bytes_where_they_are() -> None:
    (rate,) = message_rates(known_messages(1e-6))
    assert SENT / rate.value == pytest.approx(MESSAGES * 1e-6 + SENT / 10e9)
    assert SENT / rate.high < 1.1 * MESSAGES * 1e-6


def test_what_is_written_to_dev_null_is_not_touched() -> None:
    (rate,) = message_rates(known_messages(1e-6, api="posix"), api="posix")
    assert SENT / rate.value == pytest.approx(MESSAGES * 1e-6)
    assert rate.limiting_stage == "calls on messages"
    assert [stage.name for stage in rate.stages] == ["calls on messages"]


def test_messages_into_a_file_pass_the_page_cache() -> None:
    (rate,) = message_rates(known_messages(1e-6), into="file")
    assert SENT / rate.value == pytest.approx(MESSAGES * 1e-6 + SENT / 4e9, rel=0.01)
    assert rate.limiting_stage == "page cache write"


def test_dropped_messages_by_an_unknown_way_have_no_expectation() -> None:
    assert message_rates(known_messages(1e-3, api="mpiio")) == []
    assert message_rates(platform()) == []
    assert len(message_rates(platform(), into="file")) == 1


def test_the_device_has_no_calls_but_earlier_calibrations_do() -> None:
    times = {"blocked_seconds": trials(0.5), "stored_seconds": trials(2.0)}
    own = {"api": "weir-hdf5", "staging": "none", **times}
    calibrated = calibration(fsync_seconds=trials(1e-9), operations=[own])
    assert of_device(calibrated, [], in_memory=False).operations == []
    earlier = platform_of_calibration(calibrated)
    (known,) = earlier.operations
    assert known.blocked_seconds.value == pytest.approx(0.5)
    allowed = bounds(plan(), False, parameters(staging="none"), earlier, "/scratch", {})
    assert (
        allowed["write", "foreground"].value == rates(earlier, staging="none")["foreground"].value
    )


# ---- verdicts ----


def observed_run(factor: float, staged: bool) -> Run:
    """A run of which ``factor`` times the observed rate was expected."""
    record = make_run().model_dump(mode="json")
    same = {"values": [1.0], "median": 1.0, "low": 1.0, "high": 1.0, "confidence": 0.0}
    work = StepTimes(**same, converged=False).model_dump(mode="json")
    record["outputs"] = {
        "staged": staged,
        "work_requested_seconds": 0.0,
        "work": work,
        "streams": [],
    }
    (rate,) = (one for one in record["rates"] if key_of(one) == ("write", "foreground"))
    (made,) = (one for one in record["expectation"]["rates"] if one["direction"] == "write")
    value = factor * rate["median_bytes_per_second"]
    ends = {"low_bytes_per_second": 0.5 * value, "high_bytes_per_second": 2.0 * value}
    made.update({"metric": "foreground", "expected_bytes_per_second": value, **ends})
    record["expectation"]["rates"] = [made]
    return Run.model_validate(record)


def key_of(rate: dict[str, Any]) -> tuple[str, str]:
    return rate["direction"], rate["metric"]


def text_of(run: Run) -> str:
    (judged,) = (one for one in verdict(run).rates if one.metric == "foreground")
    return judged.text


def test_files_that_block_for_longer_than_their_hand_over_are_said_to() -> None:
    text = text_of(observed_run(100.0, staged=True))
    assert text.startswith("below: look at opening each file and agreeing on its plan")
    assert "opening each file" not in text_of(observed_run(100.0, staged=False))
    assert "the overlap" not in text_of(observed_run(100.0, staged=False))


def with_calls(run: Run, name: str) -> Run:
    """Returns the same run with an expectation of calls."""
    record = run.model_dump(mode="json")
    (made,) = record["expectation"]["rates"]
    made["stages"].append({**made["stages"][0], "name": name, "limiting": False})
    return Run.model_validate(record)


def test_calls_that_were_expected_are_not_said_to_be_left_out() -> None:
    below = with_calls(observed_run(100.0, staged=True), "calls on files")
    assert text_of(below).startswith("below: look at the calls on files: each file blocked")
    other = with_calls(observed_run(100.0, staged=False), "calls on messages")
    assert "which the expectation leaves out" not in text_of(other)


def test_an_observed_rate_within_what_was_expected_says_nothing_of_the_storage() -> None:
    text = text_of(observed_run(1.0, staged=True))
    assert text.startswith("as expected")
    assert "storage was reached" not in text


@pytest.mark.parametrize(
    ("given", "memory"), [("64m", 64 * MIB), ("1000", 1000.0), ("0", None), ("much", None)]
)
def test_the_job_s_environment_says_how_much_a_stager_holds(
    given: str, memory: float | None
) -> None:
    assert stager_memory({"WEIR_STAGER_MEMORY": given}) == memory
    assert stager_memory({}) is None
