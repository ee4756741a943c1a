"""Finds the runs that a user names: by folder, by id, or as the last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from weir.commands.terminal import warn
from weir.results.changes import changes_of
from weir.results.errors import ResultError
from weir.results.folder import RUN_FILE, load_run
from weir.results.schema import Run
from weir.results.store import run_folders_at

DEFAULT_ROOT = Path("weir-results")
LAST = "last"
"""Stands for a run's id: the job that was started last."""

Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        envvar="WEIR_RESULTS",
        help="Folder with run folders at any depth [weir-results if it exists, else .]",
        show_default=False,
    ),
]


def root_of(root: Path | None) -> Path:
    """Returns the folder below which runs are looked for."""
    if root is not None:
        return root
    return DEFAULT_ROOT if DEFAULT_ROOT.is_dir() else Path()


def find_runs(text: str, root: Path | None) -> list[tuple[Path, Run]]:
    """Returns the runs that a user's word names, with their folders.

    They are those of a folder, or that with this id.
    """
    path = Path(text)
    if path.is_file() and path.name == RUN_FILE:
        return [(path.parent, load_run(path))]
    if path.is_dir():
        folders = run_folders_at(path)
        if not folders:
            raise ResultError(f"{path} has no run.json")
        return [(folder, load_run(folder)) for folder in folders]
    below = root_of(root)
    if text == LAST:
        return _newest_job(below)
    runs = [(folder, load_run(folder)) for folder in run_folders_at(below)]
    found = [one for one in runs if one[1].id == text] or [
        one for one in runs if one[1].id.startswith(text)
    ]
    if len(found) != 1:
        what = (
            f"{len(found)} runs have an id with this beginning" if found else "no run has that id"
        )
        raise ResultError(f"{text} is not a folder, and below {below} {what}")
    return found


def runs_below(root: Path) -> Iterator[tuple[Path, Run]]:
    """Yields readable run folders, the newest last, and reports the others."""
    readable = []
    for folder in run_folders_at(root):
        try:
            readable.append((folder, load_run(folder)))
        except ResultError as error:
            warn(f"left out: {error}")
    yield from sorted(readable, key=lambda one: (one[1].started_utc, str(one[0])))


def tell_changes(runs: Iterable[tuple[Path, Run]]) -> None:
    """Prints a line for each figure or file of these runs that was changed."""
    for folder, run in runs:
        for text in changes_of(folder, run):
            warn(f"{folder}: {text}")


def _newest_job(root: Path) -> list[tuple[Path, Run]]:
    """Returns the runs of the job that was started last."""
    runs = list(runs_below(root))
    if not runs:
        raise ResultError(f"no run below {root} can be read: give another --root")
    newest, last = runs[-1]
    return [(at, run) for at, run in runs if at == newest or _is_of_one_job(at, run, newest, last)]


def _is_of_one_job(folder: Path, run: Run, other_folder: Path, other: Run) -> bool:
    return folder.parent == other_folder.parent and run.started_utc == other.started_utc
