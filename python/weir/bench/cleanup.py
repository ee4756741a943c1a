"""Cleans up after an interrupted job: marks its runs as failed and removes its test files.

``weir-bench`` does both itself if it can. It cannot if a rank or the launcher is killed. Then the
result folder still says ``running``, and ``files.json``, which is written before the first test
file, lists the files to remove.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import stat
from pathlib import Path

from weir.bench.errors import BenchError
from weir.results.finalize import mark_as_interrupted, mark_unfinished_as_failed
from weir.results.folder import FILES_LIST

OWN_PREFIX = "weir-"
PROBED_FOLDERS = ("weir-probe-", "weir-calibrate-")
TREE_PREFIX = "weir-tree"


def finish_broken_job(
    output: Path, cause: str, *, interrupted: bool = False
) -> tuple[list[Path], list[Path]]:
    """Marks runs that still say ``running``, and removes leftover test files.

    ``interrupted``: the job was asked to end, so its runs were interrupted and did not fail.

    Returns the run folders that were marked and the files that were removed.
    """
    if not output.is_dir():
        return [], []
    mark = mark_as_interrupted if interrupted else mark_unfinished_as_failed
    return mark(output, cause), remove_test_files(output / FILES_LIST)


def remove_test_files(list_file: Path) -> list[Path]:
    """Removes the test files of a list: files, or the folder that was made for them.

    The list is ``{"directory": PATH}`` or ``[PATH, ...]``, with absolute paths.

    Only regular files are removed whose own name, or whose folder's name, begins with ``weir-``, so
    a damaged list cannot remove anything else. Folders with such a name are removed if they are
    then empty; folders called ``weir-tree`` in them, of the workload metadata, with everything in
    them. Without a list nothing is removed. The job's own removal may still be running: files that
    it removes meanwhile are not errors.
    """
    if not list_file.is_file():
        return []
    removed: list[Path] = []
    folders: set[Path] = set()
    for path in _listed(list_file):
        inside = path.is_dir() and not path.is_symlink() and _is_own(path)
        folders.add(path if inside else path.parent)
        for file in _entries(path) if inside else [path]:
            if (_is_own(file) or _is_own(file.parent)) and _is_regular(file):
                _remove(file)
                removed.append(file)
            elif inside and _is_tree(file):
                _remove_tree(file)
                removed.append(file)
    for folder in sorted(folders):
        if _is_own(folder) and folder.is_dir() and not _entries(folder):
            with contextlib.suppress(FileNotFoundError):
                folder.rmdir()
    return removed


def remove_unfinished(output: Path) -> list[Path]:
    """Removes what a probe or calibration that broke off left beside its result ``output``.

    That is the folder OUTPUT.unfinished, and the folders of test files that folders.json lists in
    it. Only folders with the names that probes and calibrations give are removed, so a damaged list
    cannot remove anything else. Returns the folders of test files.
    """
    unfinished = output.with_name(f"{output.name}.unfinished")
    listing = unfinished / "folders.json"
    removed: list[Path] = []
    if listing.is_file():
        for folder in _listed(listing):
            if (
                folder.is_dir()
                and not folder.is_symlink()
                and folder.name.startswith(PROBED_FOLDERS)
            ):
                shutil.rmtree(folder)
                removed.append(folder)
    if unfinished.is_dir():
        shutil.rmtree(unfinished)
    return removed


def _listed(list_file: Path) -> list[Path]:
    try:
        listed = json.loads(list_file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"{list_file} cannot be read, test files may be left: {error}") from None
    if isinstance(listed, dict):
        listed = [listed.get("directory")]
    names = listed if isinstance(listed, list) else [None]
    paths = [Path(name) for name in names if isinstance(name, str)]
    if len(paths) != len(names) or not all(path.is_absolute() for path in paths):
        raise BenchError(f"{list_file} is no list of absolute paths, test files may be left")
    return paths


def _is_own(path: Path) -> bool:
    return path.name.startswith(OWN_PREFIX)


def _is_tree(path: Path) -> bool:
    name = path.name
    called = name == TREE_PREFIX or name.startswith(TREE_PREFIX + ".")
    return called and path.is_dir() and not path.is_symlink()


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


def _remove_tree(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise BenchError(f"test files in {folder} are left, remove it")


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise BenchError(f"test file {path} is left, remove it: {error.strerror}") from None
