"""Which look-ups this node's memory answered, by latency class."""

from __future__ import annotations

import pytest

from test_report_metadata import metadata_run
from weir.analysis.lookup_verdict import judge_look_ups, judge_look_ups_of, server_calls_of
from weir.results.record import Latencies
from weir.results.schema import Run


def latencies(*buckets: tuple[int, int, int]) -> Latencies:
    return Latencies(
        count=sum(number for *_, number in buckets),
        min_ns=buckets[0][0],
        p50_ns=0,
        p90_ns=0,
        p99_ns=0,
        p999_ns=0,
        p9999_ns=0,
        max_ns=buckets[-1][1],
        buckets=list(buckets),
    )


FAST, SLOW = (1000, 1100, 95), (300_000, 310_000, 95)
SOME = (600, 700, 5)


@pytest.mark.parametrize(
    ("reach", "buckets", "answer"),
    [
        ("memory", (SLOW,), "memory"),
        ("local", (FAST, (40_000, 41_000, 5)), "memory"),
        ("local", (SOME, SLOW), "storage"),
        ("network", (SOME, SLOW), "server"),
        ("network", (FAST, SLOW), "mixed"),
        ("network", ((12_000, 12_100, 10),), "server"),
        ("local", ((12_000, 12_100, 10),), "memory"),
        ("unknown", (FAST,), "unknown"),
    ],
)
def test_the_class_of_the_latencies_tells_what_answered(
    reach: str, buckets: tuple[tuple[int, int, int], ...], answer: str
) -> None:
    verdict = judge_look_ups("mix/stat", reach, "ext4", latencies(*buckets))
    assert verdict is not None
    assert verdict.answer == answer


def test_what_changes_something_is_not_judged() -> None:
    assert judge_look_ups("unlink", "local", "ext4", latencies(FAST)) is None


def test_the_share_is_said() -> None:
    verdict = judge_look_ups("stat", "network", "nfs4", latencies(FAST, (20_000, 21_000, 105)))
    assert verdict is not None
    assert verdict.text == "47.5 % took less than 10 µs, faster than any server"


@pytest.mark.parametrize(
    ("calls", "answer", "said"),
    [
        ({}, "memory", "0.00 times for each (none)"),
        ({"ACCESS": 400, "GETATTR": 4000}, "server", "1.10 times for each (GETATTR "),
        ({"GETATTR": 2000}, "mixed", "0.50 times for each"),
    ],
)
def test_the_clients_own_counters_decide(calls: dict[str, int], answer: str, said: str) -> None:
    """4,000 look-ups in each repetition; warm-ups are not counted."""
    run = look_ups(calls)
    judged = judge_look_ups_of(run, run.metadata[0])
    assert judged is not None
    assert judged.answer == answer
    assert said in judged.text
    found = server_calls_of(run, "stat")
    assert found is not None
    assert found[1] == 4000 * sum(not one.warmup for one in run.repetitions)


def test_without_counters_latencies_decide() -> None:
    run = look_ups(None)
    assert server_calls_of(run, "stat") is None
    judged = judge_look_ups_of(run, run.metadata[0])
    assert judged is not None
    assert "asked servers" not in judged.text


def look_ups(calls: dict[str, int] | None) -> Run:
    record = metadata_run(1.0).model_dump(mode="json")
    record["metadata"][0]["action"] = "stat"
    for repetition in record["repetitions"]:
        for phase in repetition["metadata"]:
            counted = {"GETATTR": 10**6} if repetition["warmup"] and calls is not None else calls
            phase |= {"action": "stat", "server_calls": counted}
    return Run.model_validate(record)
