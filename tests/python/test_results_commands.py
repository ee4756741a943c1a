"""What `weir results` shows at a terminal and writes into a pipe."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

import weir
from synthetic import make_events, make_run, write_run_folder
from weir.bench.display import show_verdicts
from weir.cli import application
from weir.commands import results as commands
from weir.commands import terminal
from weir.model.verdict import verdict
from weir.results.errors import ResultError
from weir.results.finalize import finalize
from weir.results.folder import load_run, write_run
from weir.results.node_records import DescribedNodes
from weir.results.schema import OpenedHints, Run

Said = Callable[..., tuple[str, str]]
CLONE = Path(__file__).resolve().parents[2]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for place, name in enumerate(("old/posix", "new/posix", "new/mpi")):
        hour = "03" if name == "old/posix" else "04"
        later = {"started_utc": f"2026-11-22T{hour}:00:00Z", "id": f"id-{name}", "label": name}
        run = make_run(seed=place + 1).model_copy(update=later)
        write_run_folder(tmp_path / name, run, make_events(seed=place + 1))
    finalize(tmp_path, verdict)
    return tmp_path


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def call(*words: str) -> tuple[str, str]:
        application()(list(words), standalone_mode=False)
        return capsys.readouterr()

    return call


def test_list_has_a_line_for_each_run_the_newest_last(root: Path, said: Said) -> None:
    out, err = said("results", "list", "--root", str(root))
    lines = out.splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["old/posix", "new/mpi", "new/posix"]
    assert all("as expected" in line for line in lines[1:])
    assert all(re.search(r"iB/s storage .*iB/s storage ", line) for line in lines[1:])
    assert "3 runs below" in err


def test_a_run_or_a_statement_needs_no_command(root: Path, said: Said) -> None:
    """People type `weir results last` and `weir results 'select * from runs'`."""
    below = ("--root", str(root))
    assert said("results", "last", *below) == said("results", "show", "last", *below)
    folder = str(root / "old" / "posix")
    assert said("results", folder, *below) == said("results", "show", folder, *below)
    statement = "select label from runs order by label"
    assert said("results", statement, *below) == said("results", "query", statement, *below)


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_export_writes_every_figure_or_a_selection(
    ending: str, root: Path, tmp_path: Path, said: Said
) -> None:
    file = tmp_path / f"it's all.{ending}"
    said("results", "export", str(file), "--root", str(root))
    quoted = str(file).replace("'", "''")
    with duckdb.connect() as connection:
        runs = f"SELECT DISTINCT label FROM '{quoted}' ORDER BY ALL"
        found = connection.execute(runs).fetchall()
        assert found == [("new/mpi",), ("new/posix",), ("old/posix",)]
        said("results", "export", str(file), "SELECT label FROM runs", "--root", str(root))
        assert connection.execute(f"SELECT count(*) FROM '{quoted}'").fetchone() == (3,)
    assert not [*tmp_path.glob(".*")]


def test_export_refuses_in_one_line_and_keeps_the_file(
    root: Path, tmp_path: Path, said: Said
) -> None:
    file = tmp_path / "out.csv"
    file.write_text("old")
    for name, sql, told in (
        ("out.xml", "", "must end in one of .csv, .json, .parquet"),
        ("out.csv", "SELECT nothing FROM runs", "the query failed"),
        ("none/out.csv", "", "cannot be written"),
    ):
        with pytest.raises(ResultError, match=told) as error:
            said("results", "export", str(tmp_path / name), sql, "--root", str(root))
        assert "\n" not in str(error.value)
    assert file.read_text() == "old"


def test_list_shows_the_newest_of_many(
    root: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "MOST_LISTED", 1)
    out, err = said("results", "list", "--root", str(root))
    assert "new/posix" in out
    assert "old/posix" not in out
    assert "3 runs below" in err
    assert "the newest 1 shown (--all)" in err
    assert "old/posix" in said("results", "list", "--all", "--root", str(root))[0]


def test_last_means_every_run_of_the_newest_job(root: Path, said: Said) -> None:
    out, _ = said("results", "show", "last", "--root", str(root))
    assert "new/posix" in out
    assert "new/mpi" in out
    assert "old/posix" not in out


def test_a_run_says_which_hints_and_nodes_it_had(root: Path, said: Said) -> None:
    run = load_run(root / "new/mpi")
    assert run.environment is not None
    nodes = DescribedNodes(described=2, alike=2, kinds=[], unlisted=0)
    asked, taken = {"cb_nodes": "4", "striping_unit": "7"}, {"cb_nodes": "1", "secret": "s3cret"}
    hints = OpenedHints(opened_for="reading", given=asked, effective=taken)
    environment = run.environment.model_copy(update={"nodes": nodes})
    told = {"environment": environment, "opened_hints": [hints]}
    write_run(root / "new/mpi", run.model_copy(update=told))
    lines = said("results", "show", str(root / "new/mpi"))[0].splitlines()
    assert "nodes: all 2 nodes are described alike" in lines
    assert "hints for reading, in effect: cb_nodes 1" in lines
    unlike = "cb_nodes 4 (in effect: 1), striping_unit 7 (in effect: not told)"
    assert f"hints for reading, given otherwise: {unlike}" in lines


def test_a_star_leaves_out_pages_of_text_and_says_so(root: Path, said: Said) -> None:
    out, err = said("results", "query", "SELECT * FROM runs", "--root", str(root))
    header = out.splitlines()[0].split()
    assert "overall_verdict" in header
    assert not {"parameters", "environment", "command"} & set(header)
    assert "left out of *: parameters, command, environment; select them" in err
    out, err = said("results", "query", "SELECT command, * FROM runs", "--root", str(root))
    assert "command" in out.splitlines()[0].split()
    out, _ = said("results", "query", "SELECT * FROM runs", "--json", "--root", str(root))
    assert '"environment"' in out


def test_a_row_wider_than_the_terminal_stands_upright(
    root: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    narrow = Console(file=stream, width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr(commands, "output_console", lambda: narrow)
    said("results", "query", "SELECT * FROM runs", "--root", str(root))
    lines = stream.getvalue().splitlines()
    assert lines.count("-- row 1") == 1
    assert any(line.split() == ["status", "complete"] for line in lines)


def test_sql_and_table_say_what_served_a_rate(root: Path, said: Said) -> None:
    sql = "SELECT DISTINCT served_by FROM rates"
    assert said("results", "query", sql, "--csv", "--root", str(root))[0] == "served_by\nstorage\n"
    stream = io.StringIO()
    run = load_run(root / "old/posix")
    show_verdicts(Console(file=stream, width=200), [run])
    heads, *rows = stream.getvalue().splitlines()
    place = heads.index("served by")
    assert [row[place:].split()[0] for row in rows[:2]] == ["storage", "storage"]


def test_a_pipe_wraps_text_as_people_read_it_and_no_table(
    capsys: pytest.CaptureFixture[str], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    console = terminal.output_console()
    console.print("word " * 60)
    assert 80 < max(map(len, capsys.readouterr().out.splitlines())) <= terminal.WIDTH_OF_TEXT
    sql = f"SELECT '{'x' * 300}' AS long"
    application()(["results", "query", sql, "--root", str(root)], standalone_mode=False)
    assert "x" * 300 in capsys.readouterr().out.splitlines()
    monkeypatch.setenv("COLUMNS", "60")
    terminal.output_console().print("word " * 60)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60


def test_the_package_names_what_it_has() -> None:
    assert {"Session", "open", "__version__"} <= set(dir(weir))
    assert f'version = "{weir.__version__}"' in (CLONE / "pyproject.toml").read_text()


def test_rates_of_finished_repetitions_are_shown_and_not_judged(root: Path) -> None:
    run = load_run(root / "old/posix")
    stopped = run.model_copy(update={"status": "interrupted", "verdict": None})
    stream = io.StringIO()
    show_verdicts(Console(file=stream, width=200), [stopped])
    number = len(run.rates[0].values)
    shown = [line for line in stream.getvalue().splitlines() if "not judged" in line]
    assert len(shown) == 2
    assert all(f"of {number} finished repetitions" in line and "iB/s" in line for line in shown)


def test_one_repetition_shows_no_difference(root: Path, said: Said) -> None:
    """A single value has no interval: two of them lie apart whatever they say."""
    for name in ("old/posix", "new/posix"):
        record = load_run(root / name).model_dump(mode="json")
        for rate in record["rates"]:
            median = rate["median_bytes_per_second"]
            rate["low_bytes_per_second"] = rate["high_bytes_per_second"] = median
            rate["confidence"] = 0.0
        record["repetitions"] = [one for one in record["repetitions"] if not one["warmup"]][:1]
        write_run(root / name, Run.model_validate(record))
    out, _ = said("results", "compare", str(root / "old/posix"), str(root / "new/posix"))
    assert "served by" in out.splitlines()[2]
    assert all(
        "  storage " in line for line in out.splitlines() if re.search(" (write|read) ", line)
    )
    assert " apart" not in out
    assert "none of A and B, with one repetition" in out
    out, _ = said("results", "show", str(root / "old/posix"))
    assert "1 measured repetition, 0 warm-ups" in out
