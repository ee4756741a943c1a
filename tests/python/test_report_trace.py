"""The trace: every interval is there, none is made up, whatever the size."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from synthetic import make_events, make_run, write_run_folder
from weir.report import trace_layout
from weir.report.event_store import Events, EventStore
from weir.report.trace_layout import (
    BARRIER_WAIT,
    BLOCKED,
    KINDS,
    TOKEN_WAIT,
    TRANSFER_CODES,
    barrier_start,
    blocked_start,
    choose_ranks,
    choose_repetitions,
    coverage,
    in_columns,
    intervals_of,
)
from weir.results.events import OPERATION_NAMES

READ, WRITE, SYNC, COMPUTE = (
    OPERATION_NAMES.index(name) for name in ("read", "write", "sync", "compute")
)


def events_of(rows: list[dict[str, int]]) -> Events:
    def column(name: str) -> np.ndarray:  # type: ignore[type-arg]
        return np.array([row.get(name, 0) for row in rows], dtype=np.int64)

    return Events(
        rank=column("rank").astype(np.int32),
        function=column("function").astype(np.int8),
        operation=column("operation").astype(np.int8),
        bin=column("bin").astype(np.int32),
        start_ns=column("start_ns"),
        end_ns=column("end_ns"),
        foreground_ns=column("foreground_ns"),
        bytes=column("bytes"),
        barrier_wait_ns=column("barrier_wait_ns"),
        token_wait_ns=column("token_wait_ns"),
    )


@pytest.mark.parametrize("finalized", [False, True])
def test_a_repetition_is_read_alike_before_and_after_finalizing(
    tmp_path: Path, finalized: bool
) -> None:
    written = make_events()
    folder = write_run_folder(tmp_path / "it's a run", make_run(), written, finalized=finalized)
    store = EventStore.open(folder)
    assert store is not None
    assert sum(store.repetitions().values()) == len(written["rank"])
    loaded = store.load(3)
    mine = written["repetition"] == 3
    order = np.lexsort((written["end_ns"][mine], written["start_ns"][mine], written["rank"][mine]))
    for name in ("rank", "function", "operation", "bin", "start_ns", "end_ns", "bytes"):
        np.testing.assert_array_equal(getattr(loaded, name), written[name][mine][order])


def test_times_by_rank_are_medians_over_the_repetitions(tmp_path: Path) -> None:
    written = make_events(repetitions=3)
    store = EventStore.open(write_run_folder(tmp_path, make_run(repetitions=3), written))
    assert store is not None
    times = store.rank_times([1, 2, 3])
    took = (written["end_ns"] - written["start_ns"]) * 1e-9
    for rank in range(4):
        sums = [
            took[
                (written["rank"] == rank)
                & (written["repetition"] == repetition)
                & (written["operation"] == READ)
            ].sum()
            for repetition in (1, 2, 3)
        ]
        assert times.read[rank] == pytest.approx(np.median(sums), rel=1e-12)
    assert int(times.rank[times.io.argmax()]) == 2


def test_waits_stand_before_and_after_their_operation() -> None:
    events = events_of(
        [{"operation": READ, "start_ns": 50, "end_ns": 80, "barrier_wait_ns": 7,
          "token_wait_ns": 20}]
    )  # fmt: skip
    found = intervals_of(events)
    spans = {
        KINDS[int(kind)]: (int(start), int(end))
        for kind, start, end in zip(found.kind, found.start_ns, found.end_ns, strict=True)
    }
    assert spans == {"read": (50, 80), "barrier wait": (80, 87), "token wait": (30, 50)}


def test_the_barrier_of_a_durable_write_follows_its_sync() -> None:
    write = {"operation": WRITE, "start_ns": 0, "end_ns": 10, "barrier_wait_ns": 5}
    within = {"operation": SYNC, "start_ns": 10, "end_ns": 30}
    assert list(barrier_start(events_of([write, within]))) == [30, 30]
    after = {"operation": SYNC, "start_ns": 15, "end_ns": 30}
    assert list(barrier_start(events_of([write, after]))) == [10, 30]


def test_a_rank_is_not_blocked_while_it_computes() -> None:
    transfer = {"operation": WRITE, "start_ns": 0, "end_ns": 100, "foreground_ns": 30}
    early = {"operation": COMPUTE, "start_ns": 0, "end_ns": 70}
    late = {"operation": COMPUTE, "start_ns": 30, "end_ns": 100}
    assert blocked_start(events_of([early, transfer]))[1] == 70
    assert blocked_start(events_of([transfer, late]))[0] == 0


def test_asynchronous_ranks_have_their_blocked_time_in_full(tmp_path: Path) -> None:
    fields = {"label": "POSIX UNIQUE ASYNC"}
    store = EventStore.open(write_run_folder(tmp_path, make_run(**fields), make_events(**fields)))
    assert store is not None
    events = store.load(2)
    found = intervals_of(events, asynchronous=True)
    blocked = found.kind == BLOCKED
    transfers = np.isin(events.operation, TRANSFER_CODES)
    assert (found.end_ns - found.start_ns)[blocked].sum() == events.foreground_ns[transfers].sum()


def test_coverage_keeps_all_time() -> None:
    random = np.random.default_rng(7)
    start = np.sort(random.uniform(0, 90, 500))
    end = start + random.uniform(0, 10, 500)
    edges = np.linspace(0, 100, 37)
    columns = coverage(start, end, edges)
    assert columns.sum() == pytest.approx((end - start).sum())
    by_hand = [
        np.clip(np.minimum(end, high) - np.maximum(start, low), 0, None).sum()
        for low, high in itertools.pairwise(edges)
    ]
    np.testing.assert_allclose(columns, by_hand, atol=1e-9)


def test_columns_show_what_filled_most_of_them() -> None:
    rows = [
        {"operation": COMPUTE, "start_ns": 0, "end_ns": 4_000},
        {"operation": READ, "start_ns": 4_000, "end_ns": 10_000},
        {"rank": 1, "operation": READ, "start_ns": 0, "end_ns": 9_000},
        {"rank": 1, "operation": COMPUTE, "start_ns": 9_000, "end_ns": 9_005},
    ]
    found = in_columns(intervals_of(events_of(rows)), [set(range(len(KINDS)))])
    first = [
        (int(kind), int(start), int(end))
        for rank, kind, start, end in zip(
            found.rank, found.kind, found.start_ns, found.end_ns, strict=True
        )
        if rank == 0
    ]
    assert [kind for kind, _, _ in first] == [COMPUTE, READ]
    assert first[0][1] == 0
    assert abs(first[0][2] - 4_000) <= 10_000 / trace_layout.MOST_COLUMNS
    assert first[1][2] == 10_000
    assert set(found.kind[found.rank == 1].tolist()) == {READ}


def test_of_many_ranks_the_extremes_are_among_the_chosen() -> None:
    ranks = np.arange(1024)
    took = np.random.default_rng(5).uniform(1, 2, 1024)
    took[517], took[3] = 9.0, 0.1
    chosen = choose_ranks(ranks, took)
    assert len(chosen) == trace_layout.ROWS_LIMIT
    assert {0, 3, 517, 1023} <= set(chosen)
    assert chosen == sorted(set(chosen))
    assert choose_ranks(ranks[:64], took[:64]) == list(range(64))


def test_the_typical_repetition_is_drawn_and_the_slowest_when_it_differs() -> None:
    run = make_run()
    measured = run.repetitions[1:]
    slowed = measured[2].model_copy(update={"seconds": 3 * measured[2].seconds})
    changed = run.model_copy(
        update={"repetitions": [run.repetitions[0], *measured[:2], slowed, *measured[3:]]}
    )
    available = {repetition.index: 1 for repetition in run.repetitions}
    choices = [choice.repetition for choice in choose_repetitions(changed, available)]
    assert choices[1] == slowed.index
    middle = sorted(r.seconds for r in changed.repetitions[1:])[2]
    drawn = next(r for r in changed.repetitions if r.index == choices[0])
    assert drawn.seconds == middle


def test_a_failed_run_shows_its_last_repetition() -> None:
    run = make_run(failed=True)
    assert [c.repetition for c in choose_repetitions(run, {0: 5, 1: 5, 2: 3})] == [2]


def test_kinds_have_names() -> None:
    assert (KINDS[BARRIER_WAIT], KINDS[TOKEN_WAIT]) == ("barrier wait", "token wait")
