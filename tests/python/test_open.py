"""``weir bench open`` end to end: what was counted, timed and checked, and what is left."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from report_reader import parse, read_report
from synthetic import make_run
from test_cli_real import weir
from weir.analysis.opening import growth_text
from weir.bench.display import show_verdicts
from weir.report import comparison, opening
from weir.report.sources import Source
from weir.results.folder import find_run_folders, load_run
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
    assert growth_text(counted.model_copy(update={"expected": []})) == "unknown below 3 ranks"


def opened(label: str, low: float, median: float, high: float, served: float | None = None) -> Run:
    """A run whose open took so long, and would keep a server busy for ``served`` seconds."""
    record = make_run(label="POSIX SHARED SYNC").model_dump(mode="json")
    record["label"] = label
    record["rates"] = []
    record["opening"] = [
        {
            "step": "open",
            "times": {
                "values_seconds": [low, median, high],
                "median_seconds": median,
                "low_seconds": low,
                "high_seconds": high,
                "confidence": 0.75,
                "converged": True,
            },
            "operations": {
                "total": 4,
                "first_rank": 1,
                "most": 1,
                "transfers": 0,
                "elsewhere": 0,
                "calls": {"open": 4},
                "counts": [],
                "fixed": 0,
                "per_rank": 1,
                "largest_deviation": 0,
                "nodes": None,
                "expected": [{"ranks": 1000, "operations": 1000, "seconds": served}],
            },
        }
    ]
    return Run.model_validate(record)


def test_the_page_draws_the_times_of_each_interface() -> None:
    runs = [opened("POSIX shared", 0.9, 1.0, 1.2), opened("HDF5 shared", 3.5, 4.0, 9.0)]
    sources = [Source(run, None, "") for run in runs]
    page = parse(str(opening.compare(sources)))
    drawn = page.one("figure", data_figure="opening-times")
    (panel,) = drawn.find("svg")
    assert panel.attributes["aria-label"] == "open: POSIX shared 1.00 s; HDF5 shared 4.00 s"
    widths = {
        float(bar.attributes["data-value"]): float(bar.attributes["width"])
        for bar in panel.find("rect")
    }
    assert widths[4.0] == pytest.approx(4 * widths[1.0], rel=0.01)
    # The longest interval is cut off at 1.5 times the longest median.
    assert len(list(panel.find("path"))) == 1


@pytest.mark.parametrize(
    ("high", "told"),
    [(2e-3, "slowest with HDF5, 3.00 ms. "), (4e-3, "3.00 ms; their intervals overlap")],
)
def test_the_fastest_interface_is_named(high: float, told: str) -> None:
    runs = [
        opened("HDF5", 2.5e-3, 3e-3, 3.5e-3),
        opened("POSIX", 0.5e-3, 1e-3, high),
    ]
    page = opening.compare([Source(run, None, "") for run in runs])
    assert page is not None
    said = parse(f"<div>{page}</div>").text
    assert "open was fastest with POSIX, 1.00 ms, and " in said
    assert told in said
    assert "create was fastest" not in said


def test_a_page_of_several_runs_says_that_the_machine_was_not_quiet() -> None:
    record = opened("POSIX", 1e-3, 1e-3, 1e-3).model_dump(mode="json")
    record |= {"expectation": None, "verdict": None, "rates": []}
    record["environment"]["quiet"] |= {"quiet": False, "text": "not quiet: others used 77 %"}
    sources = [
        Source(Run.model_validate({**record, "label": label}), None, "")
        for label in ("POSIX", "HDF5")
    ]
    said = parse(str(comparison.render(sources))).text
    assert said == "All runs: not quiet: others used 77 %."


@pytest.mark.parametrize("served", [None, 0.5])
def test_times_of_the_server_are_called_so(served: float | None) -> None:
    """Beside measured times they would be read as what an open takes."""
    run = opened("POSIX", 1e-3, 1e-3, 1e-3, served)
    console = Console(record=True, width=140, file=io.StringIO())
    show_verdicts(console, [run])
    said = console.export_text()
    assert ("on 1,000 (server)" in said) == (served is not None)
    assert ("server: how long the file system is busy" in said) == (served is not None)
    page = str(opening.render(Source(run, None, "")))
    assert ("on 1,000 (server)" in page) == (served is not None)


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
    assert found.times.median > 0
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
