"""`weir results add` and `check`: a store finds what was changed, and survives several writers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from synthetic import make_events, make_run, write_run_folder
from weir.cli import application
from weir.model.verdict import verdict
from weir.results import store as stores
from weir.results.changes import changes_of
from weir.results.errors import ResultError
from weir.results.finalize import finalize
from weir.results.folder import load_run, write_run
from weir.results.run_digest import write_with_digest

Said = Callable[..., tuple[str, str]]
WEIR = (sys.executable, "-m", "weir.cli")
NAMES = ("monday", "tuesday", "wednesday")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three finalized runs of different days."""
    root = tmp_path_factory.mktemp("made")
    for place, name in enumerate(NAMES):
        write_run_folder(root / name, make_run(seed=place + 1), make_events(seed=place + 1))
        run = load_run(root / name)
        later = {"started_utc": f"2026-11-2{place}T03:00:00Z", "id": name, "label": name}
        write_run(root / name, run.model_copy(update=later))
    finalize(root, verdict)
    return root


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Path:
    """Those runs, for a test that changes them."""
    return Path(shutil.copytree(made, tmp_path / "runs"))


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def call(*words: str) -> tuple[str, str]:
        application()(list(words), standalone_mode=False)
        return capsys.readouterr()

    return call


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()
    }


def test_adding_leaves_the_folders_as_they_are(runs: Path, tmp_path: Path, said: Said) -> None:
    before = contents(runs)
    store = str(tmp_path / "store")
    said("results", "add", str(runs), "--store", store)
    again, _ = said("results", "add", str(runs), "--store", store)
    assert again.count("added before, unchanged") == len(NAMES)
    out, _ = said("results", "check", "--store", store)
    assert out.startswith("3 runs, 0 changed")
    said("report", store)
    assert contents(runs) == before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda at: (at / "run.json").write_text((at / "run.json").read_text() + " "),
            "was changed",
        ),
        (lambda at: (at / "events.parquet").unlink(), "events.parquet is missing"),
        (lambda at: (at / "SHA256SUMS").write_text(""), "SHA256SUMS was changed"),
        (lambda at: at.rename(at.with_name("moved")), "tuesday is missing"),
    ],
    ids=["changed", "removed", "hashes", "moved"],
)
def test_what_was_changed_since_is_named(
    change: Callable[[Path], object], told: str, runs: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    store = tmp_path / "store"
    for name in NAMES:
        stores.add(store, runs / name)
    change(runs / "tuesday")
    words = ["results", "check", "--store", str(store)]
    status = application()(words, standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert status == 1
    assert told in lines[0]
    assert "tuesday" in lines[0]
    assert len(lines) == 2
    assert lines[1].startswith("3 runs, 1 changed")


def test_a_changed_run_with_new_hashes_of_its_own_is_found_too(runs: Path, tmp_path: Path) -> None:
    """Who changes run.json can also make new hashes; the store has the old hashes."""
    store = tmp_path / "store"
    entry = stores.add(store, runs / "monday").entry
    run = load_run(runs / "monday")
    write_with_digest(runs / "monday", run.model_copy(update={"label": "better"}))
    assert changes_of(runs / "monday", load_run(runs / "monday"), whole=True) == []
    changed = [*stores.changes_since(store, entry)]
    assert [Path(line.split()[0]).name for line in changed] == ["run.json", "SHA256SUMS"]
    with pytest.raises(ResultError, match="its files differ"):
        stores.add(store, runs / "monday")


def test_a_copy_is_taken_only_if_asked(runs: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    stores.add(store, runs / "monday")
    assert not (store / "runs").exists()
    stores.add(store, runs / "tuesday", copy=True)
    (runs / "tuesday" / "run.json").unlink()
    assert contents(store / "runs" / "tuesday").keys() >= {"run.json", "events.parquet"}
    assert [*stores.changes_since(store, next(
        one for one in stores.entries_of(store) if one.run_id == "tuesday"
    ))] == []  # fmt: skip


def test_what_is_not_finalized_is_refused(runs: Path, tmp_path: Path) -> None:
    (runs / "monday" / "SHA256SUMS").unlink()
    run = load_run(runs / "monday")
    write_run(runs / "monday", run.model_copy(update={"digest": None}))
    with pytest.raises(ResultError, match="not finalized: run weir report"):
        stores.add(tmp_path / "store", runs / "monday")


def test_an_id_cannot_lead_out_of_the_store(runs: Path, tmp_path: Path) -> None:
    run = load_run(runs / "monday")
    write_run(runs / "monday", run.model_copy(update={"id": "../../outside"}))
    with pytest.raises(ResultError, match="cannot be the name of a file"):
        stores.add(tmp_path / "store", runs / "monday")
    assert not (tmp_path / "store").exists()


def test_commands_take_a_store_as_root(runs: Path, tmp_path: Path, said: Said) -> None:
    store = str(tmp_path / "store")
    said("results", "add", str(runs), "--store", store)
    out, _ = said("results", "list", "--root", store)
    assert all(str(runs / name) in "".join(out.split()) for name in NAMES)
    out, _ = said("results", "query", "SELECT count(*) FROM phases", "--csv", "--root", store)
    assert int(out.split()[1]) > 0
    with pytest.raises(ResultError, match="is not a store"):
        said("results", "check", "--store", str(runs))


def test_the_page_of_a_store_lists_its_runs_by_time(runs: Path, tmp_path: Path, said: Said) -> None:
    store = tmp_path / "store"
    said("results", "add", str(runs), "--store", str(store))
    said("report", str(store))
    page = (store / "report.html").read_text()
    index = page[page.index('id="runs"') :]
    assert index.index("wednesday") < index.index("tuesday") < index.index("monday")


@pytest.mark.timeout(120)
def test_two_writers_at_once_corrupt_nothing(runs: Path, tmp_path: Path) -> None:
    """Two processes add the same runs with copies, and one more each."""
    store = tmp_path / "store"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    writers = [
        subprocess.Popen(
            [*WEIR, "results", "add", *order, "--copy", "--store", str(store)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for order in ([str(runs / n) for n in NAMES], [str(runs / n) for n in reversed(NAMES)])
    ]
    told = [writer.communicate(timeout=100) for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], told
    both = "".join(out for out, _ in told)
    assert both.count(", added\n") == len(NAMES)
    assert both.count("added before, unchanged") == len(NAMES)
    entries = [*stores.entries_of(store)]
    assert [entry.run_id for entry in entries] == sorted(NAMES)
    assert [line for entry in entries for line in stores.changes_since(store, entry)] == []
    for name in NAMES:
        assert contents(store / "runs" / name) == contents(runs / name)
    left = [file.name for file in store.rglob(".*")]
    assert left == []
    json.loads((store / "store.json").read_text())
