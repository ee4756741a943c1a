"""What was changed in a finalized run is told by every command that shows figures of it."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synthetic import make_events, make_run, write_run_folder
from weir.cli import application
from weir.errors import Error
from weir.model.verdict import verdict
from weir.results import changes, checksums
from weir.results.changes import changes_of
from weir.results.checksums import HASHED_END, MEASURED, sum_of_ends, write_sums
from weir.results.digest_records import Digest
from weir.results.finalize import finalize
from weir.results.folder import load_run
from weir.results.index import query
from weir.results.run_digest import hashes_of_parts, is_as_written
from weir.results.schema import Parameter

AFTER = "after the run was finalized"
SETTINGS = {"pixels": 2000, "read-modulus": 1, "write-modulus": 1}


@pytest.fixture(scope="module")
def finalized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("finalized")
    for place, name in enumerate(("edited", "other")):
        run = make_run(seed=place + 1, label=f"POSIX {('UNIQUE', 'SHARED')[place]} SYNC")
        settings = run.parameters | {
            name: Parameter(value=value, origin="command line") for name, value in SETTINGS.items()
        }
        run = run.model_copy(update={"parameters": settings})
        write_run_folder(root / name, run, make_events(seed=place + 1))
    finalize(root, verdict)
    return root


@pytest.fixture
def root(finalized: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finalized, tmp_path / "root"))


def edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    record = json.loads((folder / "run.json").read_text())
    change(record)
    (folder / "run.json").write_text(json.dumps(record, indent=1) + "\n")


def edit_median(root: Path) -> None:
    def change(record: dict[str, Any]) -> None:
        chosen = [r for r in record["rates"] if r["headline"] and r["direction"] == "write"]
        chosen[0]["median_bytes_per_second"] *= 3

    edit(root / "edited", change)


def edit_repetitions_too(root: Path) -> None:
    """Puts in figures of another run, which agree with each other."""

    def change(record: dict[str, Any]) -> None:
        other = json.loads((root / "other/run.json").read_text())
        record.update({name: other[name] for name in ("rates", "repetitions")})

    edit(root / "edited", change)


def edit_verdict(root: Path) -> None:
    edit(root / "edited", lambda record: record["verdict"].update(overall="above"))


def edit_load(root: Path) -> None:
    def change(record: dict[str, Any]) -> None:
        record["environment"]["quiet"]["other_processes_busy_fraction"] = 0.9

    edit(root / "edited", change)


def swap_events(root: Path) -> None:
    shutil.copyfile(root / "other/events.parquet", root / "edited/events.parquet")


def remove_events(root: Path) -> None:
    (root / "edited/events.parquet").unlink()


CHANGES = {
    edit_median: "run.json was changed: its write rate (span) is ",
    edit_repetitions_too: f"run.json was changed {AFTER}: repetitions, rates",
    edit_verdict: f"run.json was changed {AFTER}: verdict",
    edit_load: f"run.json was changed {AFTER}: environment",
    swap_events: f"events.parquet was changed {AFTER}",
    remove_events: "events.parquet is missing, and was there when the run was finalized",
}
CHANGE = pytest.mark.parametrize(
    ("change", "told"), CHANGES.items(), ids=[change.__name__ for change in CHANGES]
)
RENEWED = pytest.mark.parametrize("renewed", [False, True], ids=["old sums", "renewed sums"])


def told_by(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Returns what a command prints, each warning on its line."""
    application()(list(words), standalone_mode=False)
    return "".join(capsys.readouterr())


def commands(root: Path) -> dict[str, list[str]]:
    edited, other, below = str(root / "edited"), str(root / "other"), ("--root", str(root))
    store = ("--store", str(root.parent / "store"))
    return {
        "list": ["results", "list", *below],
        "query": ["results", "query", "SELECT 1", *below],
        "export": ["results", "export", str(root.parent / "all.csv"), *below],
        "compare": ["results", "compare", edited, edited],
        "machines": ["results", "machines", f"here={edited}", f"there={other}"],
        "findings": ["results", "findings", edited, other],
        "add": ["results", "add", edited, other, *store],
        "add again": ["results", "add", edited, other, *store],
        "the store's list": ["results", "list", "--root", store[1]],
        "the store's report": ["report", store[1]],
    }


def assert_all_tell(root: Path, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command names folder and change on one line, and says nothing about the other run."""
    line, other = f"weir: {root / 'edited'}: {told}", f"weir: {root / 'other'}: "
    for name, words in commands(root).items():
        said = told_by(capsys, *words)
        assert said.count(line) == 1, (name, said)
        assert other not in said, (name, said)
    assert f"warning: {told}" in told_by(capsys, "results", "show", str(root / "edited"))


@RENEWED
@CHANGE
def test_every_command_tells_before_and_after_a_report(
    change: Callable[[Path], None],
    told: str,
    root: Path,
    *,
    renewed: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change(root)
    if renewed:
        write_sums(root / "edited", {})
    before = {name: (root / "edited" / name) for name in (*MEASURED, "SHA256SUMS")}
    contents = {name: file.read_bytes() for name, file in before.items() if file.is_file()}
    assert_all_tell(root, told, capsys)
    said = told_by(capsys, "report", str(root))
    assert f"weir: {root / 'edited'}: {told}" in said
    assert told in (root / "report.html").read_text()
    assert {name: (root / "edited" / name).read_bytes() for name in contents} == contents
    shutil.rmtree(root.parent / "store")
    assert_all_tell(root, told, capsys)


@pytest.mark.parametrize("words", [("next",), ("platform", "fit")])
def test_commands_that_only_compute_with_runs_tell(
    words: tuple[str, ...], root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit_median(root)
    with contextlib.suppress(Error):  # Two runs are few for what these commands do.
        application()([*words, str(root)], standalone_mode=False)
    said = "".join(capsys.readouterr())
    assert said.count(f"weir: {root / 'edited'}: {CHANGES[edit_median]}") == 1
    assert f"weir: {root / 'other'}: " not in said


def test_the_others_of_a_job_are_not_judged_by_an_edited_run(root: Path) -> None:
    edit_median(root)
    judged: list[str] = []
    finalize(root, lambda run, _: judged.append(run.label))
    assert judged == []
    assert load_run(root / "other").verdict is not None


def test_a_run_that_was_edited_before_it_was_finalized_is_not_judged(tmp_path: Path) -> None:
    write_run_folder(tmp_path / "edited", make_run(), make_events())
    edit_median(tmp_path)
    (first,) = finalize(tmp_path, verdict)
    (again,) = finalize(tmp_path, verdict)
    assert first.run.verdict is None
    assert (tmp_path / "edited/events.parquet").is_file()
    assert len(first.changes) == 1
    assert first.changes == again.changes == again.run.warnings


def test_another_layout_of_the_same_values_is_no_changed_figure(root: Path) -> None:
    folder = root / "edited"
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(dict(sorted(record.items()))))
    told = f"run.json was changed {AFTER}: its SHA-256 is not the one in SHA256SUMS"
    assert changes_of(folder, load_run(folder)) == [told]
    (folder / "SHA256SUMS").unlink()
    assert changes_of(folder, load_run(folder)) == []


def test_a_field_after_the_digest_is_found(root: Path) -> None:
    """Of two fields with one name the later counts."""
    folder = root / "edited"
    text = (folder / "run.json").read_text()
    assert is_as_written(text, load_digest(folder))
    (folder / "run.json").write_text(text.removesuffix("\n}\n") + ',\n "verdict": null\n}\n')
    (told,) = changes_of(folder, load_run(folder))
    assert told == f"run.json was changed {AFTER}: verdict"


def load_digest(folder: Path) -> Digest:
    digest = load_run(folder).digest
    assert digest is not None
    return digest


def without_digest(folder: Path) -> None:
    """Makes the results those of an earlier Weir."""
    edit(folder, lambda record: record.pop("digest"))
    write_sums(folder, {})


def test_results_without_digest_are_read_and_left_as_they_are(root: Path) -> None:
    folder = root / "edited"
    without_digest(folder)
    before = (folder / "run.json").read_bytes()
    assert [one.changes for one in finalize(root, verdict)] == [[], []]
    assert (folder / "run.json").read_bytes() == before
    edit_verdict(root)
    swap_events(root)
    assert changes_of(folder, load_run(folder)) == [
        f"run.json was changed {AFTER}: its SHA-256 is not the one in SHA256SUMS",
        f"events.parquet was changed {AFTER}",
    ]
    (folder / "SHA256SUMS").unlink()
    assert changes_of(folder, load_run(folder), whole=True) == []


def test_hints_and_differing_nodes_have_hashes_and_earlier_runs_lack_them(root: Path) -> None:
    edited, other = root / "edited", root / "other"
    hint = {"opened_for": "reading", "given": {}, "effective": {"cb_nodes": "1"}}
    nodes = {"described": 2, "alike": 1, "kinds": [], "unlisted": 1}

    def change(record: dict[str, Any]) -> None:
        record["opened_hints"] = [hint]
        record["environment"]["nodes"] = nodes

    edit(edited, change)
    fields = "environment, opened_hints"
    assert changes_of(edited, load_run(edited)) == [f"run.json was changed {AFTER}: {fields}"]

    def as_earlier(record: dict[str, Any]) -> None:
        parts = record["digest"]["parts"]
        del record["opened_hints"], record["environment"]["nodes"], parts["opened_hints"]
        parts |= hashes_of_parts({"environment": record["environment"]})

    edit(other, as_earlier)
    (other / "SHA256SUMS").unlink()
    assert changes_of(other, load_run(other)) == []


@pytest.mark.parametrize("beyond", [0, 1], ids=["all bytes are in the ends", "one byte is not"])
def test_ends_have_every_byte_of_a_small_file(tmp_path: Path, beyond: int) -> None:
    file = tmp_path / "events.parquet"
    file.write_bytes(bytes(2 * HASHED_END + beyond))
    whole = sum_of_ends(file)
    found = []
    for place in (0, HASHED_END - 1, HASHED_END, file.stat().st_size - 1):
        with file.open("r+b") as stream:
            stream.seek(place)
            stream.write(b"x")
        found.append(sum_of_ends(file) != whole)
        file.write_bytes(bytes(2 * HASHED_END + beyond))
    assert found == [True, True, not beyond, True]
    file.write_bytes(bytes(2 * HASHED_END + beyond + 1))
    assert sum_of_ends(file) != whole


@pytest.mark.parametrize("is_old", [False, True], ids=["with digest", "without digest"])
def test_all_bytes_of_large_files_are_hashed_where_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_old: bool
) -> None:
    for module in (changes, checksums):
        monkeypatch.setattr(module, "HASHED_END", 100)
    write_run_folder(tmp_path, make_run(), make_events())
    finalize(tmp_path, verdict)
    if is_old:
        without_digest(tmp_path)
    with (tmp_path / "events.parquet").open("r+b") as stream:
        stream.seek(200)
        byte = stream.read(1)
        stream.seek(200)
        stream.write(bytes([byte[0] ^ 1]))
    told: list[str] = []
    query(tmp_path, "SELECT label FROM runs", told.append)
    assert told == []
    query(
        tmp_path, "SELECT label FROM runs WHERE run_id IN (SELECT run_id FROM Events)", told.append
    )
    assert told == [f"{tmp_path}: events.parquet was changed {AFTER}"]
