"""A store: which runs there are, where they lie, and the hashes that their files had when added.

    STORE/store.json            says that the folder is a store
    STORE/entries/ID.json       one run: its folder, and the SHA-256 of its files
    STORE/runs/ID/              the run itself, only if it was copied

Run folders stay as they are, wherever they are. Each run has a file of its own, which gets its name
only when it is complete and is never replaced. So any number of processes add runs at the same time
without a lock, also on a parallel file system. The database for SQL is built from the run folders
that the entries name, as it is from those below any other folder.

Whoever can change the store as well as the runs can hide a change. ``digest_of`` is one hash of all
entries: kept or signed elsewhere, it shows that too.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from weir.results.changes import changes_of, was_finalized
from weir.results.checksums import MEASURED, SUMS_FILE, sum_of
from weir.results.errors import ResultError
from weir.results.folder import RUN_FILE, find_run_folders, load_record, load_run
from weir.results.record import Record
from weir.results.schema import Run

STORE_FILE = "store.json"
ENTRIES_FOLDER = "entries"
RUNS_FOLDER = "runs"
RECORDED = (*MEASURED, SUMS_FILE)
"""The files of a run whose hashes are recorded."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")


class StoreEntry(Record):
    """``entries/ID.json``: a run in a store."""

    format: Literal["weir-store-entry"] = "weir-store-entry"
    format_version: Literal[1] = 1
    run_id: str
    folder: str = Field(description="absolute, or relative to the store if the run was copied")
    added_utc: str
    sha256: dict[str, str] = Field(description="of the files run.json, events.parquet, SHA256SUMS")
    changed_before: list[str] = Field(
        default_factory=list,
        description="what had been changed already when the run was added",
    )


@dataclass(frozen=True)
class Added:
    """A run in the store."""

    entry: StoreEntry
    is_new: bool
    """False if the same run, with the same hashes, was in the store already."""
    changes: list[str]
    """What of the run was changed after it was finalized."""


def is_store(folder: Path) -> bool:
    return (folder / STORE_FILE).is_file()


def entries_of(store: Path) -> Iterator[StoreEntry]:
    """Yields the entries in the order of their ids."""
    for file in sorted((store / ENTRIES_FOLDER).glob("*.json")):
        yield load_record(file, StoreEntry)


def folder_of(store: Path, entry: StoreEntry) -> Path:
    return store / entry.folder


def add(store: Path, folder: Path, *, copy: bool = False) -> Added:
    """Adds a finalized run; raises ``ResultError`` if another one with its id is in the store."""
    run = load_run(folder)
    _check_complete(folder, run)
    _make(store)
    entry = StoreEntry(
        run_id=run.id,
        folder=f"{RUNS_FOLDER}/{run.id}" if copy else str(folder.resolve()),
        added_utc=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        sha256=_sums(folder),
        changed_before=changes_of(folder, run, whole=True),
    )
    file = store / ENTRIES_FOLDER / f"{run.id}.json"
    if not file.exists():
        if copy:
            _copy(folder, store / entry.folder, entry)
        if _create(file, entry.model_dump_json(indent=1) + "\n"):
            return Added(entry, True, entry.changed_before)
    there = load_record(file, StoreEntry)
    if there.sha256 != entry.sha256:
        raise ResultError(
            f"{folder} is not the run {run.id} that was added from {folder_of(store, there)}: "
            "its files differ; weir results check says which one was changed"
        )
    return Added(there, False, entry.changed_before)


def _check_complete(folder: Path, run: Run) -> None:
    if not NAME.fullmatch(run.id):
        raise ResultError(
            f"{folder / RUN_FILE}: the id cannot be the name of a file: {run.id!r:.80}"
        )
    if run.status == "running" or not was_finalized(folder, run):
        raise ResultError(f"{folder} is not finalized: run weir report {folder} first")


def _make(store: Path) -> None:
    try:
        (store / ENTRIES_FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{store} cannot be made: {error.strerror}") from None
    if not is_store(store):
        _create(store / STORE_FILE, '{"format": "weir-store", "format_version": 1}\n')


def _sums(folder: Path) -> dict[str, str]:
    return {name: sum_of(folder / name) for name in RECORDED if (folder / name).is_file()}


def _create(file: Path, text: str) -> bool:
    """Creates a file with its whole content; returns whether it did not exist."""
    unfinished = _unfinished(file)
    try:
        with unfinished.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(unfinished, file)  # Unlike renaming, this never replaces a file.
    except FileExistsError:
        return False
    except OSError as error:
        raise ResultError(f"{file} cannot be written: {error.strerror}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return True


def _copy(folder: Path, to: Path, entry: StoreEntry) -> None:
    """Copies a run folder, which appears as a whole; checks that the copy has the same hashes."""
    unfinished = _unfinished(to)
    try:
        shutil.copytree(folder, unfinished, symlinks=True)
        if _sums(unfinished) != entry.sha256:
            raise ResultError(f"{folder} was changed while it was copied: add it again")
        unfinished.rename(to)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # Another process was faster.
            raise ResultError(f"{to} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    if _sums(to) != entry.sha256:
        raise ResultError(f"{to} has other files than {folder}: remove it, and add the run again")


def _unfinished(path: Path) -> Path:
    """Returns a name beside ``path`` that no other process uses, on this node or another."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def run_folders_at(root: Path) -> list[Path]:
    """Returns the run folders of a store that are there, or those at or below any other folder."""
    if not is_store(root):
        return find_run_folders(root)
    folders = [folder_of(root, entry) for entry in entries_of(root)]
    return [folder for folder in folders if (folder / RUN_FILE).is_file()]


def place_at(root: Path, folder: Path) -> str:
    """Returns the path of a run folder relative to ``root``; absolute if it lies elsewhere."""
    return (folder.relative_to(root) if folder.is_relative_to(root) else folder).as_posix()


def changes_since(store: Path, entry: StoreEntry) -> Iterator[str]:
    """Yields a line for each file that is not as it was when the run was added."""
    folder = folder_of(store, entry)
    if not folder.is_dir():
        yield f"{folder} is missing"
        return
    for name in RECORDED:
        file, known = folder / name, entry.sha256.get(name)
        if not file.is_file():
            if known is not None:
                yield f"{file} is missing"
        elif known is None:
            yield f"{file} was not there on {entry.added_utc}"
        elif sum_of(file) != known:
            yield f"{file} was changed after {entry.added_utc}"


def digest_of(store: Path) -> str:
    """Returns the SHA-256 of all entries: of their ids and of the hashes of their files."""
    whole = hashlib.sha256()
    for entry in entries_of(store):
        for name, digest in sorted(entry.sha256.items()):
            whole.update(f"{entry.run_id} {digest} {name}\n".encode())
    return whole.hexdigest()
