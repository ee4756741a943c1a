"""When the units of a tail were done, and how many still moved bytes (Uselton, section 3.9.1)."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from report_reader import Element, read_report
from shared_targets import progress, transfers_of
from synthetic import make_events, make_run, write_run_folder
from synthetic_events import FUNCTION_CODES, SYNC, WRITE, Events
from test_paper_anomalies import FILE, SERVERS, TARGETS, paper_files, together
from watched_targets import SLOW, name_of, with_targets
from weir.analysis.anomalies import completions_of, longest_tail
from weir.analysis.trends import SIGNIFICANT, find_tail
from weir.report import write_report
from weir.report.anomalies import examine
from weir.report.completion import Completion, still_moving, tail_of
from weir.results.folder import load_run

RANKS, BINS = 8, 12


def values_of(figure: Element) -> list[list[str]]:
    return list(csv.reader(io.StringIO(figure.one("pre", class_="csv").text)))


def test_the_targets_of_the_paper_go_idle_class_by_class() -> None:
    """The classes of figure 13: 35, 62, 92, 124 and 156 files on 1, 5, 66, 1 and 7 targets."""
    files = paper_files()
    times, moved = progress(files, together)
    done = times[np.argmax(moved >= moved[-1], axis=0)]
    found = [
        Completion(str(one), float(seconds), files[one] * FILE * 1e6 / float(seconds))
        for one, seconds in enumerate(done)
    ]
    edges, left = still_moving(found)
    assert left.tolist() == [80, 79, 74, 8, 7]
    assert edges[0] == 0
    assert edges[-1] == times[-1]
    # Until fewer than half of them move, the targets share 4,096 MB/s; then each has 128 MB/s.
    last = (max(files) - 92) * FILE / 128
    assert tail_of(found) == pytest.approx(last / times[-1], rel=1e-6)


def test_units_of_a_tail_are_those_that_the_label_counts() -> None:
    transfers, levels = transfers_of(paper_files(), together, SERVERS)
    found = longest_tail(transfers, levels, SIGNIFICANT)
    assert found is not None
    level, tail = found
    done = [Completion(*one) for one in completions_of(transfers, level)]
    assert [one.name for one in done] == list(level.names)
    assert tail_of(done) == tail.fraction
    by_target = completions_of(transfers, levels[1])
    assert len(by_target) == TARGETS
    moved = sum(seconds * rate for _, seconds, rate in by_target)
    assert moved == pytest.approx(transfers.bytes.sum())


def test_half_of_the_units_are_not_fewer_than_half() -> None:
    pair = [Completion("a", 1.0, 1.0), Completion("b", 4.0, 1.0)]
    assert tail_of(pair) == 0.0
    assert tail_of([*pair, Completion("c", 1.0, 1.0)]) == 0.75
    assert tail_of([Completion("a", 2.0, 1.0), Completion("b", 2.0, 1.0)]) == 0.0


@pytest.mark.parametrize(
    ("busy", "fraction"),
    [
        ([1.0, 4.0], None),
        ([1.0, 1.0, 4.0], 0.75),
        ([1.0, 4.0, 4.0], None),
        ([1.0, 1.0, 4.0, 4.0], None),
        ([1.0, 1.0, 1.0, 4.0], 0.75),
        ([1.0, 1.0, 2.0, 4.0], 0.5),
        ([1.0, 1.0, 1.0, 4.0, 4.0], 0.75),
        ([1.0, 1.0, 4.0, 4.0, 4.0], None),
    ],
)
def test_a_tail_begins_when_fewer_than_half_of_the_units_are_active(
    busy: list[float], fraction: float | None
) -> None:
    deviations = np.linspace(-0.01, 0.01, 101)
    tail = find_tail(np.array(busy), deviations, 100)
    assert (tail and tail.fraction) == fraction
    assert tail_of([Completion("", one, 1.0) for one in busy]) == (fraction or 0.0)


def test_a_monitored_run_shows_how_many_targets_still_move(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    run = with_targets(folder, make_run(finalized=True), 9)
    write_run_folder(folder, run, make_events(), finalized=True)
    page = read_report(write_report(folder))
    shown = page.one("figure", data_figure="completion-still-moving")
    _, early, late = values_of(shown)
    assert (early[2], late[2]) == ("9", "1")
    assert early[1] == late[0]
    assert "in the last 50 % of the time" in shown.one("figcaption").text
    first, *_ = page.one("figure", data_figure="completion").one("tbody").find("tr")
    assert name_of(SLOW) in first.text


def without_waits(events: Events) -> Events:
    """The writes of S, of which each rank makes one after the other without waiting for others."""
    moves = np.isin(events["operation"], [WRITE, SYNC])
    chosen = moves & (events["function"] == FUNCTION_CODES["S"])
    own = {name: column[chosen].copy() for name, column in events.items()}
    own["barrier_wait_ns"][:] = 0
    for repetition in np.unique(own["repetition"]):
        begin = own["start_ns"][own["repetition"] == repetition].min()
        for rank in range(RANKS):
            place = np.flatnonzero((own["repetition"] == repetition) & (own["rank"] == rank))
            ends = begin + np.cumsum(own["end_ns"][place] - own["start_ns"][place])
            own["start_ns"][place] = np.concatenate([[begin], ends[:-1]])
            own["end_ns"][place] = ends
    return own


def test_a_run_with_a_tail_shows_its_ranks_without_a_monitor(tmp_path: Path) -> None:
    fields = {"ranks": RANKS, "ranks_per_host": RANKS, "bins": BINS, "straggler_factor": 2.0}
    events = without_waits(make_events(**fields))
    folder = write_run_folder(tmp_path / "run", make_run(**fields), events)
    found = examine(folder, load_run(folder))
    assert found is not None
    assert "tail" in [one.kind for one in found]
    run = make_run(**fields).model_copy(update={"anomalies": found})
    write_run_folder(tmp_path / "run", run, events, finalized=True)
    page = read_report(write_report(folder))
    shown = page.one("figure", data_figure="tail-S-write-still-moving")
    _, *rows = values_of(shown)
    assert [int(row[2]) for row in rows] == list(range(RANKS, 0, -1))
    assert "Ranks that still move bytes" in shown.text
    points = page.one("figure", data_figure="tail-S-write")
    slow, *_ = points.one("tbody").find("tr")
    assert slow.one("th").text == "2"
