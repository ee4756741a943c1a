"""``weir bench open`` end to end: what was counted, timed and checked, and what is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from report_reader import read_report
from test_cli_real import weir
from weir.results.folder import find_run_folders, load_run
from weir.results.opening import growth_text
from weir.results.opening_records import ExpectedOperations, StepOperations
from weir.results.schema import Run

RANKS = 4
ONCE = ("--warmups", "0", "--repetitions", "1", "--max-repetitions", "1")


@pytest.mark.parametrize(
    ("fixed", "per_rank", "told"),
    [(0, 9, "9 n"), (7, 0, "7"), (2, 13_500, "2 + 13500 n"), (-3, 1.5, "1.50 n - 3")],
)
def test_how_operations_grow_is_worded_in_whole_numbers(
    fixed: float, per_rank: float, told: str
) -> None:
    expected = ExpectedOperations(ranks=1000, operations=1, seconds=None)
    counted = StepOperations.model_construct(
        fixed=fixed, per_rank=per_rank, nodes=None, expected=[expected]
    )
    assert growth_text(counted) == told
    assert growth_text(counted.model_copy(update={"expected": []})) == "unknown"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict[str, Run]]:
    """A folder in which a job ran, what it printed, and its runs by their labels."""
    folder = tmp_path_factory.mktemp("open")
    words = ("--api", "POSIX,MPIIO,WEIR", "--layout", "shared,per-rank", *ONCE)
    rate = ("--operations-per-second", "1000")
    status, out, err = weir(
        folder, "bench", "open", *words, *rate, "-n", str(RANKS), "--output", "results"
    )
    assert status == 0, out + err
    runs = [load_run(one) for one in find_run_folders(folder / "results")]
    return folder, out, {run.label: run for run in runs}


def counted(run: Run, step: str) -> StepOperations:
    (found,) = [one for one in run.opening if one.step == step]
    assert found.operations is not None
    assert found.times.median_seconds > 0
    return found.operations


def test_every_rank_opens_with_posix(finished: tuple[Path, str, dict[str, Run]]) -> None:
    run = finished[2]["POSIX shared"]
    for step, call in {"create": "open", "open": "open", "close-read": "close"}.items():
        operations = counted(run, step)
        assert operations.calls == {call: RANKS}
        assert [(one.ranks, one.operations) for one in operations.counts] == [
            (1, 1),
            (2, 2),
            (4, 4),
        ]
        million = operations.expected[-1]
        assert (million.ranks, round(million.operations)) == (1_000_000, 1_000_000)
        assert million.seconds == pytest.approx(1000)
    assert counted(run, "read").transfers == RANKS
    assert counted(run, "remove").calls == {"unlink": 1}
    assert counted(finished[2]["POSIX per-rank"], "remove").calls == {"unlink": RANKS}


def test_the_library_opens_once_for_all(finished: tuple[Path, str, dict[str, Run]]) -> None:
    run = finished[2]["WEIR shared"]
    for step in ("create", "open"):
        operations = counted(run, step)
        on_two, on_four = (one.operations for one in operations.counts[1:])
        assert 0 < on_two == on_four
        nodes = operations.nodes
        assert nodes is not None
        assert (nodes.ranks_per_node, nodes.first_node) == (2, on_two)
        thousand = operations.expected[0].operations
        assert thousand == nodes.first_node + 499 * nodes.further_node


def test_what_was_opened_was_checked_and_removed(
    finished: tuple[Path, str, dict[str, Run]],
) -> None:
    folder, out, runs = finished
    assert [entry.name for entry in folder.iterdir()] == ["results"]
    assert set(runs) == {
        f"{api} {layout}" for api in ("POSIX", "MPIIO", "WEIR") for layout in ("shared", "per-rank")
    }
    for run in runs.values():
        assert run.verification.bytes_verified == RANKS * 64
        assert run.verification.items_verified
        assert run.warnings == []
        assert run.label in out
    page = read_report(folder / "results" / "report.html")
    assert page.one("div", aria_label="What each interface took, and asked the file system for")
    assert len(page.find("figure", data_figure="opening-operations")) == len(runs)
