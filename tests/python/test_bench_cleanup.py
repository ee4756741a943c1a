"""What is removed after a broken job, and above all what is not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from weir.bench.cleanup import remove_test_files
from weir.bench.errors import BenchError


def listed(folder: Path, *paths: Path) -> Path:
    file = folder / "files.json"
    file.write_text(json.dumps([str(path) for path in paths]))
    return file


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    return path


def test_listed_test_files_go_and_absent_ones_are_no_error(tmp_path: Path) -> None:
    file = made(tmp_path / "weir-1-0")
    assert remove_test_files(listed(tmp_path, file, tmp_path / "weir-1-1")) == [file]
    assert not file.exists()


def test_a_listed_folder_of_test_files_goes_with_them(tmp_path: Path) -> None:
    folder = tmp_path / "weir-20250123"
    files = [made(folder / name) for name in ("data.0", "data.1")]
    assert remove_test_files(listed(tmp_path, folder)) == files
    assert not folder.exists()
    assert tmp_path.exists()


def test_the_folder_of_test_files_may_be_named_alone(tmp_path: Path) -> None:
    folder = tmp_path / "weir-20250123"
    files = [made(folder / name) for name in ("data.0", "data.1")]
    list_file = tmp_path / "files.json"
    list_file.write_text(json.dumps({"directory": str(folder)}))
    assert remove_test_files(list_file) == files
    assert not folder.exists()


def test_trees_of_the_workload_metadata_go_with_all_they_hold(tmp_path: Path) -> None:
    outside = made(tmp_path / "precious" / "file")
    folder = tmp_path / "weir-1"
    made(folder / "weir-tree.3" / "d.1" / "file.0.0")
    made(folder / "weir-trees" / "file")
    (folder / "weir-tree.3" / "link").symlink_to(outside.parent)
    (folder / "weir-tree.4").symlink_to(outside.parent)
    assert remove_test_files(listed(tmp_path, folder)) == [folder / "weir-tree.3"]
    assert outside.exists()
    assert (folder / "weir-trees" / "file").exists()


def test_what_another_removal_takes_away_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "weir-1"
    for tree in ("weir-tree.0", "weir-tree.1"):
        made(folder / tree / "d.1" / "file.0.0")
    remove_folder = os.rmdir

    def removed_before(path: str, **options: int) -> None:
        remove_folder(path, **options)
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr(os, "rmdir", removed_before)
    remove_test_files(listed(tmp_path, folder))
    assert not folder.exists()


def test_a_tree_that_stays_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "weir-1"
    made(folder / "weir-tree" / "file.0.0")

    def refused(*_paths: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "unlink", refused)
    with pytest.raises(BenchError, match="are left"):
        remove_test_files(listed(tmp_path, folder))


def test_files_in_a_listed_folder_of_another_name_stay(tmp_path: Path) -> None:
    file = made(tmp_path / "home" / "thesis.tex")
    assert remove_test_files(listed(tmp_path, tmp_path / "home", file)) == []
    assert file.exists()


def test_links_and_folders_inside_stay(tmp_path: Path) -> None:
    outside = made(tmp_path / "precious")
    folder = tmp_path / "weir-1"
    inner = made(folder / "sub" / "file")
    (folder / "weir-link").symlink_to(outside)
    (tmp_path / "weir-folder-link").symlink_to(tmp_path / "home")
    made(tmp_path / "home" / "file")
    assert remove_test_files(listed(tmp_path, folder, tmp_path / "weir-folder-link")) == []
    assert outside.exists()
    assert inner.exists()
    assert (tmp_path / "home" / "file").exists()


def test_without_a_list_nothing_happens(tmp_path: Path) -> None:
    made(tmp_path / "weir-1")
    assert remove_test_files(tmp_path / "files.json") == []


@pytest.mark.parametrize("text", ["", "{}", "[1]", '["relative/weir-1"]', '["/a", null]'])
def test_a_damaged_list_is_told_and_removes_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "files.json"
    file.write_text(text)
    with pytest.raises(BenchError, match="test files may be left"):
        remove_test_files(file)
