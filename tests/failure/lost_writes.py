"""The states of a folder that a crash of the system may leave, made from a record of recorded_io.c.

What had been made durable when the system crashed is there. Of everything else, any part may be:

- a name that was made, changed or taken away: whole or not at all, in any order, also without what
  came before it in the same folder, as file systems without a journal have it;
- a write, page by page; a page that was written twice has the bytes of the first write or of both,
  never of the second alone;
- the length of a file: what was written before it changed, or zeros in the place of that.

A file is durable after fsync or fdatasync of it, its name only after fsync of the folder. Which
parts are tried: all and none of them, each beginning of their order, all but one, one alone, and
some at random.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PAGE = 4096
ROOT = 1


@dataclass
class Change:
    """A call that changed something, by its place in the record."""

    at: int
    durable_at: int | None = None


@dataclass
class NameChange(Change):
    """What names mean from here on: by folder and name the file or folder, None: nothing."""

    names: list[tuple[int, str, int | None]] = field(default_factory=list)


@dataclass
class Write(Change):
    file: int = 0
    offset: int = 0
    data: bytes = b""

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


@dataclass
class Truncation(Change):
    file: int = 0
    length: int = 0


# A part of a change that a crash keeps or loses: the change, and "name", "length" or of a write the
# first half of its pages (0) or the second (1).
Unit = tuple[Change, str | int]


def pages_of(write: Write) -> range:
    return range(write.offset // PAGE, (write.end - 1) // PAGE + 1)


def halves_of(write: Write) -> tuple[range, range]:
    pages = pages_of(write)
    middle = pages.start + (len(pages) + 1) // 2
    return range(pages.start, middle), range(middle, pages.stop)


# A folder's files and folders by their path in it: inode, and content or None.
Snapshot = dict[str, tuple[int, bytes | None]]


def snapshot_of(folder: Path) -> Snapshot:
    return {
        str(one.relative_to(folder)): (
            one.stat().st_ino,
            None if one.is_dir() else one.read_bytes(),
        )
        for one in folder.rglob("*")
    }


class Record:
    """What happened in a folder, and where a crash may be looked at."""

    def __init__(self, record: Path, folder: Path, before: Snapshot) -> None:
        self.folder = str(folder)
        self.record = record
        self.changes: list[Change] = []
        self.ended: list[tuple[int, int]] = []  # lines that tell of it, and how many steps had
        self.crashes: list[int] = []
        self.folders: set[int] = {ROOT}
        self._names: dict[tuple[int, str], int] = {}  # as they are when the line is written
        self._by_inode: dict[int, int] = {folder.stat().st_ino: ROOT}
        self._next = ROOT + 1
        self._syncing: dict[str, list[Change]] = {}
        self._payloads: dict[str, bytes] = {}
        lines = self.lines = record.read_text().splitlines()
        self._take_over(before)
        self.end = len(lines)
        for at, line in enumerate(lines):
            fields = line.split("\t")
            if fields[0] == "io":
                self._read(at, fields[1], fields[2:])
            elif line.startswith("ended "):
                self.ended.append((at, int(line.split()[1])))
                self.crashes.append(at + 1)
        self.crashes.append(self.end)

    def state_at_end(self) -> State:
        """Where the system did not crash."""
        return state_of(self, self.end, Choice(frozenset()), [], [])

    def _new(self) -> int:
        self._next += 1
        return self._next - 1

    def _take_over(self, before: Snapshot) -> None:
        """What was there before the record is durable."""
        for path, (inode, content) in sorted(before.items()):
            number = self._new()
            self._by_inode[inode] = number
            self._add_names(-1, [(*self._place(f"{self.folder}/{path}"), number)])
            if content is None:
                self.folders.add(number)
            else:
                self.changes.append(Write(-1, -1, number, 0, content))

    def _add_names(self, at: int, names: list[tuple[int, str, int | None]]) -> None:
        self.changes.append(NameChange(at, -1 if at < 0 else None, names))
        for folder, name, number in names:
            if number is None:
                self._names.pop((folder, name), None)
            else:
                self._names[folder, name] = number

    def _place(self, path: str) -> tuple[int, str]:
        parts = Path(os.path.relpath(path, self.folder)).parts
        number = ROOT
        for part in parts[:-1]:
            number = self._names[number, part]
        return number, parts[-1]

    def _data(self, process: str, place: int, count: int) -> bytes:
        if process not in self._payloads:
            self._payloads[process] = Path(f"{self.record}.{process}").read_bytes()
        return self._payloads[process][place : place + count]

    def _read(self, at: int, kind: str, fields: list[str]) -> None:
        if kind in ("make", "mkdir"):
            number = self._new()
            self._by_inode[int(fields[0])] = number
            if kind == "mkdir":
                self.folders.add(number)
            self._add_names(at, [(*self._place(fields[1]), number)])
        elif kind == "rename":
            source = self._place(fields[0])
            self._add_names(at, [(*source, None), (*self._place(fields[1]), self._names[source])])
        elif kind == "link":
            self._add_names(at, [(*self._place(fields[1]), self._names[self._place(fields[0])])])
        elif kind == "unlink":
            self._add_names(at, [(*self._place(fields[0]), None)])
        elif kind == "write":
            inode, offset, count, place = (int(fields[i]) for i in (0, 1, 2, 4))
            data = self._data(fields[3], place, count)
            self.changes.append(Write(at, None, self._by_inode[inode], offset, data))
        elif kind == "truncate":
            number = self._by_inode[int(fields[0])]
            self.changes.append(Truncation(at, None, number, int(fields[1])))
        elif kind == "syncing":
            whole = fields[1] == "0"
            number = ROOT if whole else self._by_inode[int(fields[1])]
            self._syncing[fields[0]] = [
                one
                for one in self.changes
                if one.durable_at is None and (whole or number in touched(one))
            ]
        elif kind == "synced":
            made_durable = self._syncing.pop(fields[0])
            for one in made_durable:
                one.durable_at = at if one.durable_at is None else one.durable_at
            if made_durable:
                self.crashes.append(at)
        else:
            raise ValueError(kind)


def touched(change: Change) -> set[int]:
    """The files and folders of which a sync makes the change durable."""
    if isinstance(change, NameChange):
        return {folder for folder, _, _ in change.names}
    assert isinstance(change, Write | Truncation)
    return {change.file}


def changing_length(changes: list[Change]) -> set[int]:
    """Which of the changes of one file change its length, by their place in the list."""
    found: set[int] = set()
    length = -1
    for number, one in enumerate(changes):
        if isinstance(one, Truncation):
            found.add(number)
            length = one.length
        elif isinstance(one, Write) and one.end > length:
            found.add(number)
            length = one.end
    return found


def units_of(changes: list[Change]) -> list[Unit]:
    of_files: dict[int, list[Change]] = {}
    for one in changes:
        if isinstance(one, Write | Truncation):
            of_files.setdefault(one.file, []).append(one)
    lengths = {id(some[i]) for some in of_files.values() for i in changing_length(some)}
    units: list[Unit] = []
    for one in changes:
        if isinstance(one, NameChange):
            units.append((one, "name"))
        if isinstance(one, Write):
            units.append((one, 0))
            if len(pages_of(one)) > 1:
                units.append((one, 1))
        if id(one) in lengths:
            units.append((one, "length"))
    return units


@dataclass(frozen=True)
class Choice:
    """What a crash kept. `with_earlier`: each page and length has what was written before, too."""

    kept: frozenset[int]  # of units, by their number
    with_earlier: bool = False


def choices(count: int, most: int, chance: random.Random) -> Iterator[Choice]:
    everything = range(count)
    yield Choice(frozenset(everything))
    yield Choice(frozenset())
    if count <= 4:
        for bits in range(1 << count):
            yield Choice(frozenset(i for i in everything if bits >> i & 1))
        return
    some = list(everything)
    if count > most:
        some = sorted(chance.sample(some, most))
    for one in some:
        yield Choice(frozenset(range(one)))
    for one in some:
        yield Choice(frozenset(everything) - {one})
        yield Choice(frozenset({one}), with_earlier=True)
    for _ in range(most // 2):
        yield Choice(frozenset(i for i in everything if chance.random() < 0.5))


def content_of(
    durable: bytes, changes: list[Change], kept: set[tuple[int, str | int]], *, with_earlier: bool
) -> bytes:
    """A file's bytes. `changes`: those of it that are not durable, in order; `kept`: units of them,
    by the change's place in the list."""

    def known(units: list[tuple[int, str | int]]) -> list[tuple[int, str | int]]:
        if with_earlier:
            return units[: max((i + 1 for i, unit in enumerate(units) if unit in kept), default=0)]
        return units[: next((i for i, unit in enumerate(units) if unit not in kept), len(units))]

    length = len(durable)
    shown = -1  # the last change of the length that the file knows of
    for number, _ in known([(number, "length") for number in sorted(changing_length(changes))]):
        one = changes[number]
        shown = number
        if isinstance(one, Truncation):
            length = one.length
        elif isinstance(one, Write):
            length = max(length, one.end)
    writes: dict[int, list[tuple[int, str | int]]] = {}  # to each page, in order
    longest = max(length, len(durable))
    for number, one in enumerate(changes):
        if isinstance(one, Write):
            longest = max(longest, one.end)
            for half in (0, 1):
                for page in halves_of(one)[half]:
                    writes.setdefault(page, []).append((number, half))
    content = bytearray(durable.ljust(longest, b"\0"))
    for page in range((longest + PAGE - 1) // PAGE):
        shown_writes = {number for number, _ in known(writes.get(page, []))}
        last = max([shown, *shown_writes])
        begin, end = page * PAGE, min(longest, (page + 1) * PAGE)
        for number, one in enumerate(changes):
            if isinstance(one, Truncation) and number <= last:
                low = min(end, max(begin, one.length))
                content[low:end] = bytes(end - low)
            elif isinstance(one, Write) and number in shown_writes:
                low, high = max(begin, one.offset), min(end, one.end)
                content[low:high] = one.data[low - one.offset : high - one.offset]
    return bytes(content[:length])


State = dict[str, bytes | None]  # by path in the folder; None: a folder


def state_of(record: Record, crash: int, choice: Choice, pending: list[Change],
             units: list[Unit]) -> State:  # fmt: skip
    kept = {(id(units[number][0]), units[number][1]) for number in choice.kept}
    waiting = {id(one) for one in pending}
    names: dict[int, dict[str, int]] = {}
    files: dict[int, list[Change]] = {}
    for one in record.changes:
        if one.at >= crash:
            break
        if isinstance(one, NameChange):
            if id(one) in waiting and (id(one), "name") not in kept:
                continue
            for folder, name, number in one.names:
                if number is None:
                    names.setdefault(folder, {}).pop(name, None)
                else:
                    names.setdefault(folder, {})[name] = number
        else:
            assert isinstance(one, Write | Truncation)
            files.setdefault(one.file, []).append(one)
    state: State = {}

    def walk(folder: int, path: str) -> None:
        for name, number in names.get(folder, {}).items():
            if number in record.folders:
                state[path + name] = None
                walk(number, path + name + "/")
            else:
                state[path + name] = file_of(files.get(number, []))

    def file_of(changes: list[Change]) -> bytes:
        durable = b""
        lost: list[Change] = []
        for one in changes:
            if id(one) in waiting:
                lost.append(one)
            elif lost:
                raise ValueError("a change is durable that follows one that is not")
            else:
                durable = applied(durable, one)
        if not lost:
            return durable
        mine = {(i, what) for i, one in enumerate(lost)
                for what in ("length", 0, 1) if (id(one), what) in kept}  # fmt: skip
        return content_of(durable, lost, mine, with_earlier=choice.with_earlier)

    walk(ROOT, "")
    return state


def applied(content: bytes, change: Change) -> bytes:
    if isinstance(change, Truncation):
        return content[: change.length].ljust(change.length, b"\0")
    assert isinstance(change, Write)
    content = content.ljust(change.offset, b"\0")
    return content[: change.offset] + change.data + content[change.end :]


def states_of(record: Record, *, most: int, seed: int) -> Iterator[tuple[int, str, State]]:
    """The steps that had ended, where the crash was and what it kept, and the state,
    each once. `most`: how many units are looked at one by one."""
    chance = random.Random(seed)
    known: set[bytes] = set()
    for crash in sorted(set(record.crashes)):
        ended = max((steps for at, steps in record.ended if at < crash), default=0)
        pending = [
            one
            for one in record.changes
            if one.at < crash and (one.durable_at is None or one.durable_at >= crash)
        ]
        units = units_of(pending)
        for choice in choices(len(units), most, chance):
            state = state_of(record, crash, choice, pending, units)
            digest = hashlib.sha256(str(ended).encode())
            for path, content in sorted(state.items()):
                digest.update(path.encode() + b"\0" + hashlib.sha256(content or b"").digest())
            if digest.digest() in known:
                continue
            known.add(digest.digest())
            yield ended, told(crash, choice, units, record), state


def told(crash: int, choice: Choice, units: list[Unit], record: Record) -> str:
    """The crash in words: what was kept, or what was lost where that is less."""
    lost = set(range(len(units))) - choice.kept
    some, word = (lost, "lost") if len(lost) <= len(choice.kept) else (set(choice.kept), "kept")
    return f"crash at line {crash + 1} of the record, {len(units)} parts not durable, {word}: " + (
        "; ".join(described(units[number], record) for number in sorted(some)) or "none"
    )


def described(unit: Unit, record: Record) -> str:
    change, part = unit
    where = f"line {change.at + 1}"
    if isinstance(change, NameChange):
        return f"{where} {record.lines[change.at]}"
    if isinstance(change, Truncation):
        return f"{where} length {change.length} of file {change.file}"
    assert isinstance(change, Write)
    what = "length by" if part == "length" else f"half {part} of"
    return f"{where} {what} {len(change.data)} bytes at {change.offset} of file {change.file}"


class Folder:
    """A folder that has one state after the other; only what differs is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._has: State = {}

    def show(self, state: State) -> None:
        for name in sorted(self._has, reverse=True):
            place = self.path / name
            if name not in state:
                place.rmdir() if self._has[name] is None else place.unlink()
            elif (self._has[name] is None) != (state[name] is None):
                shutil.rmtree(place) if place.is_dir() else place.unlink()
        for name, content in sorted(state.items()):
            place = self.path / name
            if content is None:
                place.mkdir(exist_ok=True)
            elif self._has.get(name) != content:
                place.write_bytes(content)
        self._has = dict(state)

    def look(self) -> None:
        """What it has, after somebody else has changed it."""
        self._has = {name: content for name, (_, content) in snapshot_of(self.path).items()}
