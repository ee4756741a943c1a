"""Follows the files of a job while it runs, and notes where each of them lies.

A thread looks into the job's folders after each line of progress, with which a repetition begins,
until it has found as many files as were planned; then not before the next line. Files are removed
at the end of a repetition, and those of the next one may lie elsewhere, so that a file is known by
its path and inode. A repetition that ends before it was looked at leaves nothing.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weir.placement.finding import Finder, finder_for
from weir.placement.layouts import Layout
from weir.results.folder import FILES_LIST
from weir.results.placements import Placement

LOOK_SECONDS = 0.05
MOST_FILES = 200_000
"""The placement of further files is not noted."""
END_SECONDS = 30.0
_OF_RANK = re.compile(r"(?:\.(\d{8})(?:\.\d+)?|-(\d{1,7}))$")
_FOLDER_OF_RANK = re.compile(r"weir-rank-(\d{8})$")


@dataclass(frozen=True)
class Expected:
    """How many files a repetition of a configuration has, and their mean size."""

    files: int
    file_bytes: int


Moment = tuple[str, int]
"""Label of a configuration, and a repetition."""
Known = tuple[Path, int]
"""Path and inode."""


@dataclass
class Following:
    """See the top of this file.

    ``output`` is the folder of the job's results, in which it lists the folders of its files;
    ``folders`` are further ones, in which files of other jobs may lie too.
    """

    output: Path
    folders: Sequence[str]
    expected: Mapping[str, Expected]
    layouts: dict[Known, Layout | None] = field(default_factory=dict)
    seen: dict[Moment, dict[Path, Known]] = field(default_factory=dict)
    sources: dict[Path, str] = field(default_factory=dict)
    """The file system of each folder."""
    _servers: dict[str, str] = field(default_factory=dict)
    _finders: dict[Path, Finder | None] = field(default_factory=dict)
    _now: Moment | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _ended: bool = False
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def begins(self, label: str, repetition: int) -> None:
        """A repetition begins."""
        with self._changed:
            self._now = (label, repetition)
            self._changed.notify()

    def end(self) -> None:
        """Ends following; the files are gone."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(END_SECONDS)

    def placements(self, label: str) -> list[Placement]:
        """Returns where the files of a configuration lay, a row for each stripe."""
        rows = []
        for (whose, repetition), files in sorted(self.seen.items()):
            if whose != label:
                continue
            for path, known in sorted(files.items()):
                if layout := self.layouts.get(known):
                    rows += _rows_of(path, repetition, layout, self._servers)
        return rows

    def _follow(self) -> None:
        done: Moment | None = None
        while True:
            with self._changed:
                if self._now == done and not self._ended:
                    self._changed.wait()
                else:
                    self._changed.wait(LOOK_SECONDS)
                now, ended = self._now, self._ended
            if ended:
                break
            if now is not None and self._look(now):
                done = now
        self._ask_for_servers()

    def _look(self, now: Moment) -> bool:
        """Notes what is there; returns whether all that was expected is known."""
        expected = self.expected.get(now[0])
        if expected is None:
            return True
        files = self.seen.setdefault(now, {})
        whole = True
        asked = 0
        for folder, path, inode in self._files():
            known = (path, inode)
            layout = self.layouts.get(known)
            if known not in self.layouts or (layout is not None and not layout.is_whole):
                if len(self.layouts) >= MOST_FILES:
                    return True
                finder = self._finder(folder, expected.file_bytes)
                if finder is None:
                    continue
                asked += 1
                if asked > finder.at_a_time:
                    return False
                try:
                    layout = self.layouts[known] = finder.layout(path)
                except FileNotFoundError:
                    continue
                except (OSError, ValueError, KeyError):
                    layout = self.layouts[known] = None
            whole = whole and (layout is None or layout.is_whole)
            files[path] = known
        return whole and len(files) >= expected.files

    def _finder(self, folder: Path, file_bytes: int) -> Finder | None:
        if folder not in self._finders:
            try:
                found = finder_for(folder, file_bytes)
            except OSError:
                found = None
            self._finders[folder] = found
            if found is not None:
                self.sources[folder] = found.source
        return self._finders[folder]

    def _ask_for_servers(self) -> None:
        for finder in self._finders.values():
            if finder is not None:
                try:
                    self._servers.update(finder.servers())
                except (OSError, ValueError):
                    continue

    def _files(self) -> list[tuple[Path, Path, int]]:
        """Returns folder, path and inode of each file of the job, one folder deep."""
        found: list[tuple[Path, Path, int]] = []
        own = self._listed()
        for folder in own:
            found += _files_in(folder, "")
            for inner in _folders_in(folder):
                found += _files_in(inner, "")
        ids = [one.name for one in own]
        for name in self.folders:
            for one in ids:
                found += _files_in(Path(name), one)
        return found

    def _listed(self) -> list[Path]:
        try:
            listed = json.loads((self.output / FILES_LIST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        names = [listed.get("directory")] if isinstance(listed, dict) else listed
        return [Path(name) for name in names if isinstance(name, str)]


def _files_in(folder: Path, beginning: str) -> list[tuple[Path, Path, int]]:
    try:
        return [
            (folder, folder / entry.name, entry.stat().st_ino)
            for entry in folder.iterdir()
            if entry.name.startswith(beginning) and entry.is_file()
        ]
    except OSError:
        return []


def _folders_in(folder: Path) -> list[Path]:
    try:
        return [entry for entry in folder.iterdir() if _FOLDER_OF_RANK.search(entry.name)]
    except OSError:
        return []


def rank_of(path: Path) -> int | None:
    """Returns the rank that wrote a file; None for a file of all ranks, or by another name."""
    if words := _FOLDER_OF_RANK.search(path.parent.name):
        return int(words.group(1))
    words = _OF_RANK.search(path.name)
    return int(words.group(1) or words.group(2)) if words else None


def _rows_of(
    path: Path, repetition: int, layout: Layout, servers: Mapping[str, str]
) -> list[Placement]:
    return [
        Placement(
            repetition,
            str(path),
            rank_of(path),
            piece.from_byte,
            piece.to_byte,
            piece.stripe_bytes,
            stripe,
            target,
            servers.get(target) or (target.partition(":")[0] if ":" in target else None),
            piece.copies,
        )
        for piece in layout.pieces
        for stripe, target in enumerate(piece.targets)
    ]
