"""Reading, writing and finalizing run folders."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from synthetic import make_events, make_run, write_run_folder
from weir.model.verdict import verdict
from weir.results.changes import changes_of
from weir.results.errors import ResultError
from weir.results.finalize import finalize, mark_as_interrupted, mark_unfinished_as_failed
from weir.results.folder import find_run_folders, load_run, write_atomically, write_run
from weir.results.recomputed import contradictions
from weir.results.schema import Run


def written(folder: Path, **fields: Any) -> Path:
    return write_run_folder(folder, make_run(**fields), make_events(**fields))


def rewrite(folder: Path, **changes: Any) -> None:
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, **changes}))


def test_a_run_is_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    run = make_run(ranks=64, label="MPI SHARED ASYNC")
    write_run(tmp_path, run)
    assert load_run(tmp_path) == run
    assert load_run(tmp_path / "run.json") == run
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"status": "done"}, "status: Input should be"),
        ({"surprise": 1}, "surprise: Extra inputs are not permitted"),
        ({"format_version": 2}, "was written by a newer Weir .format version 2, this one knows 1"),
        (
            {"rates": [{"direction": "read"}]},
            r"rates\[0\].values_bytes_per_second: Field required \(and \d more\)",
        ),
    ],
)
def test_an_invalid_run_is_refused_with_the_place_on_one_line(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    rewrite(written(tmp_path), **changes)
    with pytest.raises(ResultError, match=told) as caught:
        load_run(tmp_path)
    assert str(tmp_path / "run.json") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "weir-run"'])
def test_what_is_no_run_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(ResultError, match=r"run\.json"):
        load_run(tmp_path)


def test_a_failed_write_leaves_the_old_text(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(file, "new \ud800")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_run_folders_are_found_at_any_depth(tmp_path: Path) -> None:
    for name in ("b", "a/deep/er", "c/run"):
        written(tmp_path / name, repetitions=1)
    written(tmp_path / ".hidden", repetitions=1)
    found = [str(folder.relative_to(tmp_path)) for folder in find_run_folders(tmp_path)]
    assert found == ["a/deep/er", "b", "c/run"]


def test_finalizing_adds_events_and_verdict_and_is_repeatable(tmp_path: Path) -> None:
    written(tmp_path / "one")
    written(tmp_path / "two", label="POSIX SHARED SYNC", seed=5)
    finalized = finalize(tmp_path, verdict)
    assert [one.folder.name for one in finalized] == ["one", "two"]
    for one in finalized:
        assert one.run.verdict is not None
        assert load_run(one.folder) == one.run
        names = sorted(file.name for file in one.folder.iterdir())
        assert names == ["SHA256SUMS", "events.parquet", "run.json"]
        command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
        subprocess.run(command, cwd=one.folder, check=True, capture_output=True)
        assert changes_of(one.folder, one.run, whole=True) == one.changes == []
    assert finalize(tmp_path, verdict) == finalized


@pytest.mark.parametrize("name", ["run.json", "events.parquet"])
def test_a_file_that_was_changed_after_finalizing_is_told(tmp_path: Path, name: str) -> None:
    folder = written(tmp_path / "run")
    finalize(folder, verdict)
    if name == "run.json":
        rewrite(folder, label="SuperFS 9000")
    else:
        with (folder / name).open("ab") as file:
            file.write(b" ")
    told = f"{name} was changed after the run was finalized{': label' * (name == 'run.json')}"
    before = (folder / "run.json").read_bytes()
    for _ in range(2):  # It is told once, and finalizing again does not hide it.
        (finalized,) = finalize(folder, verdict)
        assert finalized.run.warnings == finalized.changes == [told]
        assert changes_of(folder, load_run(folder)) == [told]
        assert (folder / "run.json").read_bytes() == before


def test_a_file_that_is_gone_after_finalizing_is_told(tmp_path: Path) -> None:
    folder = written(tmp_path / "run")
    (one,) = finalize(folder, verdict)
    (folder / "events.parquet").rename(folder / "monitor.parquet")
    told = [
        "events.parquet is missing, and was there when the run was finalized",
        "monitor.parquet was not there when the run was finalized",
    ]
    assert changes_of(folder, one.run) == told
    (folder / "SHA256SUMS").unlink()
    assert changes_of(folder, one.run) == told


def test_a_rate_that_its_repetitions_do_not_come_to_is_told(tmp_path: Path) -> None:
    folder = written(tmp_path / "run")
    (finalized,) = finalize(folder, verdict)
    assert finalized.run.warnings == []
    record = json.loads((folder / "run.json").read_text())
    for rate in record["rates"]:
        if rate["headline"] and rate["direction"] == "write":
            rate["values_bytes_per_second"] = [3 * one for one in rate["values_bytes_per_second"]]
            rate["median_bytes_per_second"] *= 3
    rewrite(folder, rates=record["rates"])
    (folder / "SHA256SUMS").unlink()
    before = (folder / "run.json").read_bytes()
    for _ in range(2):  # It is told once, however often the folder is finalized.
        (finalized,) = finalize(folder, verdict)
        (told,) = finalized.run.warnings
        assert told.startswith("run.json was changed: its write rate (")
        assert ", and its repetitions come to " in told
        assert (folder / "run.json").read_bytes() == before


@pytest.mark.parametrize("metric", ["span", "slowest_rank", "sum_of_ranks", "foreground"])
def test_a_changed_rate_of_any_metric_is_found(metric: str) -> None:
    record = make_run(label="POSIX SHARED ASYNC", straggler_factor=3.0).model_dump(mode="json")
    assert list(contradictions(Run.model_validate(record))) == []
    for rate in record["rates"]:
        if rate["metric"] == metric and rate["direction"] == "read":
            rate["median_bytes_per_second"] *= 1.01
    (told,) = contradictions(Run.model_validate(record))
    assert f"its read rate ({metric}) is " in told


def test_siblings_of_the_same_job_are_handed_to_the_judge(tmp_path: Path) -> None:
    for name in ("job/a", "job/b", "other/c"):
        written(tmp_path / name, repetitions=1, seed=len(name))
    seen: list[int] = []

    def judge(_run: Run, siblings: object) -> None:
        assert isinstance(siblings, list)
        seen.append(len(siblings))

    finalize(tmp_path, judge)
    assert seen == [1, 1, 0]


def test_a_failed_run_is_finalized_without_a_verdict(tmp_path: Path) -> None:
    written(tmp_path, failed=True)
    (one,) = finalize(tmp_path, verdict)
    assert one.run.status == "failed"
    assert one.run.verdict is None
    assert (tmp_path / "events.parquet").is_file()


@pytest.mark.parametrize("damage", ["absent", "cut"])
def test_a_failed_run_may_have_lost_its_events(tmp_path: Path, damage: str) -> None:
    written(tmp_path, failed=True)
    for file in (tmp_path / "events").iterdir():
        if damage == "absent" or file.name == "bytes.npy":
            file.unlink()
    if damage == "absent":
        (tmp_path / "events").rmdir()
    (one,) = finalize(tmp_path, verdict)
    assert len(one.run.warnings) == 1
    assert finalize(tmp_path, verdict)[0].run == one.run


def test_a_complete_run_may_not(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "events/rank.npy").unlink()
    with pytest.raises(ResultError, match=r"rank\.npy is missing"):
        finalize(tmp_path, verdict)


def test_a_running_run_is_left_alone_until_its_job_is_known_to_be_over(tmp_path: Path) -> None:
    written(tmp_path)
    rewrite(tmp_path, status="running", finished_utc=None)
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(ResultError, match="still running"):
        finalize(tmp_path, verdict)
    assert (tmp_path / "run.json").read_bytes() == before
    assert mark_unfinished_as_failed(tmp_path, "exit status 137") == [tmp_path]
    (one,) = finalize(tmp_path, verdict)
    assert one.run.failure is not None
    assert one.run.failure.cause == "exit status 137"
    assert mark_unfinished_as_failed(tmp_path, "again") == []


def test_a_run_that_was_asked_to_end_is_interrupted_whatever_its_ranks_saw(tmp_path: Path) -> None:
    lost = {"message": "rank 2: was lost", "cause": "lost_rank", "operation": "job"}
    full = {"message": "rank 2: disk full", "cause": "ENOSPC", "operation": "write"}
    sent = {"message": "SIGTERM ended this process", "cause": "interrupted", "operation": ""}
    states: dict[str, tuple[str, dict[str, Any] | None]] = {
        "running": ("running", None),
        "lost": ("failed", lost),
        "sent": ("interrupted", sent),
        "full": ("failed", full),
        "complete": ("complete", None),
    }
    for name, (status, failure) in states.items():
        written(tmp_path / name)
        rewrite(tmp_path / name, status=status, failure=failure)
    changed = mark_as_interrupted(tmp_path, "it was stopped by SIGINT")
    assert sorted(folder.name for folder in changed) == ["lost", "running", "sent"]
    now = {name: load_run(tmp_path / name) for name in states}
    assert [now[name].status for name in states] == [
        "interrupted", "interrupted", "interrupted", "failed", "complete"]  # fmt: skip
    assert now["sent"].failure is not None
    assert now["sent"].failure.message == "it was stopped by SIGINT"
    assert now["lost"].failure is not None
    assert now["lost"].failure.message == "it was stopped by SIGINT; then: rank 2: was lost"
    assert now["full"].failure is not None
    assert now["full"].failure.cause == "ENOSPC"
