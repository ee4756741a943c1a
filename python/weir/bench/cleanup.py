"""After a job that broke off: its runs are marked failed and its test files removed.

``weir-bench`` does both itself when it can. It cannot when a rank or the launcher is killed; then
the result folder still says ``running``, and ``files.json``, written before the first test file
was made, tells which files to remove.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path

from weir.bench.errors import BenchError
from weir.results.seal import mark_unfinished_as_failed

FILES_LIST = "files.json"
OWN_PREFIX = "weir-"


def finish_broken_job(output: Path, cause: str) -> tuple[list[Path], list[Path]]:
    """Mark what still says ``running`` as failed and remove leftover test files.

    Returns the run folders that were marked and the files that were removed.
    """
    if not output.is_dir():
        return [], []
    return mark_unfinished_as_failed(output, cause), remove_test_files(output / FILES_LIST)


def remove_test_files(list_file: Path) -> list[Path]:
    """Remove the test files of a list, and their folders when they are Weir's own and empty.

    Only regular files whose name, or whose folder's name, begins with ``weir-`` are touched: a
    damaged list must not remove anything else. Without a list nothing is removed.
    """
    if not list_file.is_file():
        return []
    try:
        listed = json.loads(list_file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"{list_file} cannot be read, test files may be left: {error}") from None
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise BenchError(f"{list_file} is no list of file names, test files may be left")
    removed = []
    for path in map(Path, listed):
        own = path.name.startswith(OWN_PREFIX) or path.parent.name.startswith(OWN_PREFIX)
        if path.is_absolute() and own and _is_regular(path):
            _remove(path)
            removed.append(path)
    for folder in sorted({path.parent for path in map(Path, listed)}):
        if folder.name.startswith(OWN_PREFIX) and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return removed


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError as error:
        raise BenchError(f"test file {path} is left, remove it: {error.strerror}") from None
