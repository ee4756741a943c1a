"""Reads the output of elbencho: its table of results (versions 1.x to 3.x), and its CSV file.

The figures are those of the column "last done": until the slowest thread has finished, with opening
and closing of files. A phase that occurs again is a further repetition.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from weir.importing.recording import (
    MIB,
    MOST_VALUES,
    Line,
    Lines,
    Operations,
    Rate,
    Recording,
    moment,
    plain,
    setting,
    words_of,
)
from weir.results.expectations import Direction

START = re.compile(r"\s*OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE\s*$")
PHASE = re.compile(r"[A-Z]\w*")
ENTRY = re.compile(r"(Files|Dirs|Objects|Buckets)/s( write| read)?$")
COMMAND = re.compile(r"\s*COMMAND LINE:\s*(.*)")
STARTED = re.compile(r"\s*ISO DATE:\s*(\S+)")
TIME = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")
CSV_START = re.compile("ISO date,label,path type,")
SETTINGS = (
    *("path type", "paths", "hosts", "threads", "dirs", "files", "file size", "block size"),
    *("direct IO", "random", "random aligned", "IO depth", "shared paths", "truncate"),
)
ACTIONS = {
    "MKDIRS": "mkdir",
    "RMDIRS": "rmdir",
    "WRITE": "create",
    "READ": "read",
    "STAT": "stat",
    "STATFILES": "stat",
    "RMFILES": "unlink",
}
"""Names of elbencho's phases and of the actions of ``weir-bench metadata``."""


@dataclass
class Phase:
    """Figures of one phase by elbencho's names."""

    name: str
    where: str
    figures: dict[str, float] = field(default_factory=dict)


def parse_text(lines: Lines) -> list[Recording]:
    """Returns what the table of one run says; its head is among the first lines."""
    phases: list[Phase] = []
    closed = True
    command, started = "", ""
    within = False
    for line in lines:
        if START.match(line.text):
            within = True
        elif not within:
            command = found[1] if (found := COMMAND.match(line.text)) else command
            started = found[1] if (found := STARTED.match(line.text)) else started
        elif line.text.strip() == "---":
            closed = True
        elif row := _row(line.text):
            phase, name, values = row
            if phase:
                phases.append(Phase(phase, f"line {line.number}"))
                closed = False
            if phases and not closed:
                _read_row(lines, line, phases[-1], name, values)
    if not closed:
        lines.refuse_end("the table of elbencho ends within a phase, without its line '---'")
    found_one = _recording(
        phases,
        started=started,
        command=words_of(command),
        settings={},
        version="",
        label="",
    )
    if found_one is None:
        lines.refuse_end("the table of elbencho has no rate")
    return [found_one]


def _row(text: str) -> tuple[str, str, str] | None:
    """Returns the phase, which only its first row has, the name of the figures, and these."""
    left, separator, values = text.partition(":")
    words = left.split()
    if not separator or not words or not values.strip():
        return None
    phase = "" if text[0].isspace() else words.pop(0)
    if phase and not (PHASE.fullmatch(phase) and words[:1] == ["Elapsed"]):
        return None
    return phase, " ".join(words), values.strip()


def _read_row(lines: Lines, line: Line, phase: Phase, name: str, text: str) -> None:
    if text.startswith("["):
        return  # Latencies, and times of threads.
    words = text.split()
    if len(words) != 2:
        lines.refuse(line, f"{name} has {len(words)} figures instead of 2")
    if name == "Elapsed time":
        seconds = _seconds(words[1])
        if seconds is None:
            lines.refuse(line, f"{name} is {plain(words[1])!r}, which is not a time")
        phase.figures["seconds"] = seconds
        return
    value = lines.number(line, words[1], name)
    if name == "Elapsed ms":
        phase.figures["seconds"] = value / 1000
    else:
        phase.figures[name] = value


def _seconds(text: str) -> float | None:
    found = TIME.fullmatch(text)
    if found is None or not text:
        return None
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in found.groups())
    return 3600 * hours + 60 * minutes + seconds + milliseconds / 1000


def parse_csv(lines: Lines) -> list[Recording]:
    """Returns a recording for each run; consecutive rows with the same settings are one run."""
    head = _cells(lines, lines.lines[0])
    for name in ("operation", "time ms [last]"):
        if name not in head:
            lines.refuse(lines.lines[0], f"the head has no column {name}")
    groups: list[tuple[dict[str, str], list[Phase]]] = []
    for line in lines.lines[1:]:
        if not line.text.strip():
            continue
        cells = _cells(lines, line)
        if len(cells) != len(head):
            lines.refuse(line, f"the row has {len(cells)} cells, and the head {len(head)}")
        row = dict(zip(head, cells, strict=True))
        about = {name: row.get(name, "") for name in ("label", "version", "command", *SETTINGS)}
        if not groups or {**groups[-1][0], "ISO date": ""} != {**about, "ISO date": ""}:
            groups.append((about | {"ISO date": row.get("ISO date", "")}, []))
        groups[-1][1].append(_csv_phase(lines, line, row))
    found = [
        _recording(
            phases,
            started=about["ISO date"],
            command=words_of(about["command"]),
            settings={name: about[name] for name in SETTINGS if about[name]},
            version=about["version"],
            label=about["label"],
        )
        for about, phases in groups
    ]
    known = [one for one in found if one is not None]
    if not known:
        lines.refuse_end("the CSV of elbencho has no row with a rate")
    return known


def _cells(lines: Lines, line: Line) -> list[str]:
    try:
        return next(csv.reader([line.text]))
    except csv.Error as error:
        lines.refuse(line, f"the row is not CSV: {error}")


def _csv_phase(lines: Lines, line: Line, row: Mapping[str, str]) -> Phase:
    """Returns the phase of a row with the names that the table has."""
    phase = Phase(row["operation"], f"line {line.number}")
    mixed = bool(row.get("rwmix read MiB/s [last]"))
    names = {
        "time ms [last]": "ms",
        "entries/s [last]": "Files/s write" if mixed else "Files/s",
        "IOPS [last]": "IOPS write" if mixed else "IOPS",
        "MiB/s [last]": "MiB/s write" if mixed else "Throughput MiB/s",
        "MiB [last]": "MiB write" if mixed else "Total MiB",
        "rwmix read entries/s [last]": "Files/s read",
        "rwmix read IOPS [last]": "IOPS read",
        "rwmix read MiB/s [last]": "MiB/s read",
        "rwmix read MiB [last]": "MiB read",
    }
    for column, name in names.items():
        if row.get(column):
            phase.figures[name] = lines.number(line, row[column], column)
    phase.figures["seconds"] = phase.figures.pop("ms", 0.0) / 1000
    return phase


def _recording(
    phases: Sequence[Phase],
    *,
    started: str,
    command: Sequence[str],
    settings: Mapping[str, str],
    version: str,
    label: str,
) -> Recording | None:
    rates: dict[Direction, list[float]] = {}
    operations: dict[tuple[str, Direction | None], list[float]] = {}
    doubts: list[str] = []
    for phase in phases:
        for name, value in phase.figures.items():
            direction = _direction(phase.name, name)
            scale = {"MiB/s": MIB, "MB/s": 10**6}.get(_unit(name))
            if scale is not None and direction is not None:
                _append(rates.setdefault(direction, []), value * scale)
                doubts += _doubts(phase, name, value * scale)
            elif name.startswith("IOPS") and direction is not None:
                _append(operations.setdefault(("operations", direction), []), value)
            elif ENTRY.match(name) and phase.name in ACTIONS:
                action = ACTIONS[phase.name]
                _append(operations.setdefault((action, None), []), value)
    if not rates and not operations:
        return None
    names = dict.fromkeys(one.name for one in phases if one.name not in ("DROPCACHE", "SYNC"))
    threads = [setting(settings.get(name, "")) for name in ("threads", "hosts")]
    known = [one for one in threads if isinstance(one, int)]
    return Recording(
        program="elbencho",
        version=plain(version),
        label=plain(label or " ".join(names)),
        started=moment(started[:19], "%Y-%m-%dT%H:%M:%S"),
        ranks=known[0] * known[1] if len(known) == 2 else _threads(command),
        command=command,
        parameters={name: setting(value) for name, value in settings.items()},
        rates=[Rate(direction, "total", values) for direction, values in rates.items()],
        operations=[
            Operations(action, "span", values, direction)
            for (action, direction), values in operations.items()
        ],
        doubts=doubts,
        remarks=["Figures are of the column 'last done'; elbencho cuts them to whole numbers."],
    )


def _append(values: list[float], value: float) -> None:
    if len(values) < MOST_VALUES:
        values.append(value)


def _unit(name: str) -> str:
    """Returns the unit of a rate of bytes: MiB/s, or MB/s with --base10."""
    found = re.fullmatch(r"(?:Throughput )?(MiB/s|MB/s)(?: write| read)?", name)
    return found[1] if found else ""


def _direction(phase: str, name: str) -> Direction | None:
    """Returns the direction that a figure names, or else its phase."""
    for direction in _DIRECTIONS:
        if name.endswith(f" {direction}"):
            return direction
    if phase.startswith("RWMIX") or name.endswith(" total"):
        return None
    return {"WRITE": "write", "READ": "read"}.get(phase)  # type: ignore[return-value]


_DIRECTIONS: tuple[Direction, ...] = ("write", "read")


def _doubts(phase: Phase, name: str, rate: float) -> Iterator[str]:
    """Yields where a rate is not the bytes over the time; all were cut to whole numbers."""
    total = "Total MiB"
    for direction in _DIRECTIONS:
        total = f"MiB {direction}" if name.endswith(f" {direction}") else total
    moved, seconds = phase.figures.get(total), phase.figures.get("seconds", 0.0)
    if moved is None or seconds <= 0.001:
        return
    low, high = moved * MIB / (seconds + 0.001), (moved + 1) * MIB / (seconds - 0.001)
    cut = 10**6 if "MB/s" in name else MIB
    if not low - cut <= rate * 1.001 or not rate <= high * 1.001:
        yield (
            f"{phase.where}: {name} is {rate / MIB:.6g} MiB/s, but {moved:.6g} MiB in "
            f"{seconds:.6g} s are {moved / seconds:.6g} MiB/s"
        )


def _threads(command: Sequence[str]) -> int:
    """Returns the number of threads of a command without several hosts; 0 if it has none."""
    if any(word.startswith("--hosts") for word in command):
        return 0
    for place, word in enumerate(command):
        found = re.fullmatch(r"(?:-t|--threads)=?(\d{1,6})?", word)
        text = found[1] or (command[place + 1] if place + 1 < len(command) else "") if found else ""
        if text.isascii() and text.isdigit():
            return int(text[:6])
    return 0
