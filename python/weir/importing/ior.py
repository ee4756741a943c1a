"""Reads the output of IOR, versions 3.0 to 4.x: its text, and its JSON (summaryFormat=JSON).

``weir-bench stream`` writes both as well. Its text has the options of a test only with ``-v``, and
names each test at its results; what it leaves out is in the summary.

IOR's own rate is bytes over the time from the first opening to the last closing: ``total``. Where
the time of the transfers alone is printed finely enough, their rate is ``span``, as of
``weir-bench``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from weir.importing.recording import (
    MIB,
    MOST_VALUES,
    Line,
    Lines,
    Node,
    Rate,
    Recording,
    differs,
    moment,
    plain,
    setting,
    words_of,
)
from weir.results.expectations import Direction
from weir.results.imported_records import OWN_PROGRAM

START = re.compile(
    r"\s*(?:IOR-(\S+): MPI Coordinated Test of Parallel I/O"
    r"|weir-bench stream (\S+): output as IOR's)"
)
NAME = re.compile(r"[A-Za-z][\w /#-]*")
DATES = ("%a %b %d %H:%M:%S %Y", "%Y-%m-%dT%H:%M:%S%z")
NO_SETTINGS = ("TestID", "StartTime", "Options", "Results")
WORST_RESOLUTION = 0.01
"""Times are not used if the last digit is more than this share of them."""
DIRECTIONS: dict[str, Direction] = {"write": "write", "read": "read"}
OF_SUMMARY = {
    "api": "api",
    "#tasks": "tasks",
    "reps": "repetitions",
    "segcnt": "segments",
    "blksiz": "blocksize",
    "xsize": "xfersize",
}
"""Settings in the summary, by its column."""
ACCESS = {"0": "single-shared-file", "1": "file-per-process"}
"""What the summary's column ``fPP`` says."""

Settings = Mapping[str, str | int | float]


@dataclass(frozen=True)
class Row:
    """One access of one repetition. Decimals are those of the times."""

    where: str
    mib_per_second: float
    transfer_seconds: float
    total_seconds: float
    decimals: int


@dataclass
class Test:
    """One test of IOR while its output is read."""

    settings: dict[str, str | int | float] = field(default_factory=dict)
    rows: dict[Direction, list[Row]] = field(default_factory=lambda: defaultdict(list))
    label: str = ""
    """Name of the test, if the output has one."""
    means: dict[Direction, float] = field(default_factory=dict)
    """What the summary states, in MiB/s."""


@dataclass(frozen=True)
class Header:
    """What the output states once for all tests."""

    program: str
    version: str
    started: datetime | None
    command: str
    machine: str


def parse_text(lines: Lines) -> list[Recording]:
    """Returns a recording for each test of a text that starts with IOR's first line."""
    first = START.match(lines.lines[0].text)
    facts: dict[str, str] = {}
    tests: list[Test] = []
    columns: list[str] = []
    summary: list[str] = []
    finished = False
    for line in lines:
        words = line.text.split()
        if "bw(MiB/s)" in words and words[0] == "access":
            columns, summary = words, []
        elif "Max(MiB)" in words and "Mean(MiB)" in words:
            columns, summary = [], [word.lower() for word in words]
        elif words and words[0] in DIRECTIONS and (columns or summary):
            _read_row(lines, line, tests, columns, summary)
        elif pair := _pair(line.text):
            name, value = pair
            fact = name.lower().removeprefix("run ").removesuffix(" used")
            if fact in ("began", "command line", "machine"):
                facts.setdefault(fact, value)
            finished = finished or name.lower() in ("finished", "run finished")
            if name == "Results" and value:
                if not tests or tests[-1].rows:
                    tests.append(Test())
                tests[-1].label = plain(value)
            if name in ("TestID", "api") and (
                not tests or tests[-1].rows or name in tests[-1].settings
            ):
                tests.append(Test())
            if tests and not tests[-1].rows and name not in NO_SETTINGS:
                tests[-1].settings[plain(name)] = setting(value)
    if not finished:
        lines.refuse_end("the output ends before IOR's line 'Finished'")
    ours = first is not None and first[2] is not None
    header = Header(
        OWN_PROGRAM if ours else "ior",
        plain(first[1] or first[2]) if first else "",
        moment(facts.get("began", ""), *DATES),
        facts.get("command line", ""),
        plain(facts.get("machine", "")),
    )
    found = [_recording(header, test) for test in tests if test.rows]
    if not found:
        lines.refuse_end("the output of IOR has no row with a rate")
    return found


def _pair(text: str) -> tuple[str, str] | None:
    """Returns a setting and its value; older versions have ``=`` instead of ``:``."""
    separator = re.search("[:=]", text)
    if separator is None:
        return None
    name = text[: separator.start()].strip()
    return (name, text[separator.end() :].strip()) if NAME.fullmatch(name) else None


def _read_row(
    lines: Lines, line: Line, tests: list[Test], columns: Sequence[str], summary: Sequence[str]
) -> None:
    words = line.text.split()
    direction = DIRECTIONS[words[0]]
    if columns:
        if len(words) != len(columns):
            lines.refuse(line, f"the row has {len(words)} columns, and its header {len(columns)}")
        if not tests:
            lines.refuse(line, "the row comes before the options of its test")
        by_name = dict(zip(columns, words, strict=True))

        def seconds(name: str) -> float:
            if name not in by_name:
                lines.refuse(line, f"the table has no column {name}")
            return lines.number(line, by_name[name], name)

        rows = tests[-1].rows[direction]
        if len(rows) >= MOST_VALUES:
            lines.refuse(line, f"there are more than {MOST_VALUES} repetitions")
        total = by_name.get("total(s)", "")
        rows.append(
            Row(
                f"line {line.number}",
                seconds("bw(MiB/s)"),
                seconds("wr/rd(s)"),
                seconds("total(s)"),
                len(total.partition(".")[2]),
            )
        )
        return
    if len(words) < 4:
        lines.refuse(line, "the row of the summary is not complete")
    mean = lines.number(line, words[summary.index("mean(mib)")], "Mean(MiB)")
    for test in tests:
        if test.rows.get(direction) and direction not in test.means:
            test.means[direction] = mean
            test.settings = _of_summary(words, summary) | test.settings
            break


def _of_summary(words: Sequence[str], columns: Sequence[str]) -> dict[str, str | int | float]:
    """Returns the settings in a row of the summary; none if it has not all columns."""
    if len(words) != len(columns):
        return {}
    row = dict(zip(columns, words, strict=True))
    found: dict[str, str | int | float] = {
        named: setting(row[column]) for column, named in OF_SUMMARY.items() if column in row
    }
    if row.get("stonewall(s)", "NA") != "NA":
        found["stonewallingTime"] = setting(row["stonewall(s)"])
    access = ACCESS.get(row.get("fpp", ""))
    return found if access is None else found | {"access": access}


def parse_json(node: Node) -> list[Recording]:
    """Returns a recording for each test of IOR's JSON."""
    began, command, machine = (node.find(n) for n in ("Began", "Command line", "Machine"))
    version = node["Version"].text() if node.find("Version") else ""
    header = Header(
        OWN_PROGRAM if version.startswith(OWN_PROGRAM) else "ior",
        version.removeprefix(OWN_PROGRAM).strip(),
        moment(began.text(), *DATES) if began else None,
        command.text() if command else "",
        machine.text() if machine else "",
    )
    if node.find("Finished") is None:
        node.refuse("has no Finished; give the whole output of a run that has ended")
    found = []
    for one in node["tests"].items():
        test = Test(dict(one["Options"].settings()))
        for name in ("blockSize", "segmentCount", "transferSize", "deadlineForStonewall"):
            parameters = one.find("Parameters")
            stated = parameters.find(name) if parameters else None
            if stated is None:
                continue
            number = int(stated.number())
            if name != "deadlineForStonewall":
                test.settings[name] = number
            elif number > 0:
                test.settings["stonewallingTime"] = number
        for row in _rows(one["Results"]):
            direction = DIRECTIONS.get(row["access"].text())
            if direction is not None:
                rate, moving, total = (
                    row[name].number() for name in ("bwMiB", "wrRdTime", "totalTime")
                )
                decimals = 9 if header.program == OWN_PROGRAM else 4
                test.rows[direction].append(Row(row.place, rate, moving, total, decimals))
        identity = one.find("TestID")
        for entry in node["summary"].items() if node.find("summary") else []:
            direction = DIRECTIONS.get(entry["operation"].text())
            of_test = identity is None or entry["TestID"].value == identity.value
            if direction is not None and of_test:
                test.means[direction] = entry["bwMeanMIB"].number()
        if test.rows:
            found.append(_recording(header, test))
    if not found:
        node.refuse("has no result with a rate")
    return found


def _rows(results: Node) -> Iterator[Node]:
    """Yields the accesses; some versions put those of a repetition into an array."""
    for one in results.items():
        if isinstance(one.value, list):
            yield from one.items()
        else:
            yield one


def _recording(header: Header, test: Test) -> Recording:
    settings = test.settings
    rates: list[Rate] = []
    remarks: list[str] = []
    for direction, rows in test.rows.items():
        rates.append(Rate(direction, "total", [row.mib_per_second * MIB for row in rows]))
        if all(_fine(row.transfer_seconds, row) for row in rows):
            # The bytes are what IOR's own rate and time come to.
            moved = [row.mib_per_second * MIB * row.total_seconds for row in rows]
            spans = [b / row.transfer_seconds for b, row in zip(moved, rows, strict=True)]
            rates.append(Rate(direction, "span", spans, headline=False))
        else:
            remarks.append(
                f"The times of {direction} are printed too coarsely for a rate without opening and "
                "closing."
            )
    if any("stonewall" in name.lower() for name in settings):
        remarks.append("The run had a stonewall, so repetitions may have moved different bytes.")
    names = (str(settings.get("api", "")), str(settings.get("access", "")))
    return Recording(
        program=header.program,
        version=header.version,
        label=test.label or " ".join(name for name in names if name) or header.program,
        started=header.started,
        ranks=_count(settings, "tasks", "clients"),
        command=words_of(header.command),
        parameters=settings | ({"Machine": header.machine} if header.machine else {}),
        rates=rates,
        doubts=[*_doubts(test)],
        remarks=remarks,
    )


def _fine(seconds: float, row: Row) -> bool:
    return seconds > 0 and 0.5 * 10.0**-row.decimals <= WORST_RESOLUTION * seconds


def _doubts(test: Test) -> Iterator[str]:
    """Yields where rates, times, bytes, means and the number of repetitions do not agree."""
    moved = _bytes(test.settings)
    for direction, rows in test.rows.items():
        for row in rows if moved else []:
            if not _fine(row.total_seconds, row):
                continue
            rate = moved / row.total_seconds / MIB
            if differs(row.mib_per_second, rate, 0.002 + WORST_RESOLUTION):
                yield (
                    f"{row.where}: {direction} is {row.mib_per_second:.6g} MiB/s, but the bytes "
                    f"over the time come to {rate:.6g} MiB/s"
                )
        mean = sum(row.mib_per_second for row in rows) / len(rows)
        stated = test.means.get(direction)
        if stated is not None and differs(stated, mean, 0.002) and abs(stated - mean) > 0.01:
            yield (
                f"the summary states a mean of {stated:.6g} MiB/s for {direction}, and the "
                f"repetitions come to {mean:.6g} MiB/s"
            )
        announced = _count(test.settings, "repetitions")
        if announced and announced != len(rows):
            yield f"{announced} repetitions were asked for, and {direction} has {len(rows)}"


def _bytes(settings: Settings) -> float:
    """Returns the bytes of one repetition; 0 if they are not known or a stonewall may cut them."""
    if any("stonewall" in name.lower() for name in settings):
        return 0
    block = settings.get("blockSize", settings.get("blocksize", ""))
    segments = _count(settings, "segments", "segmentCount") or 1
    return _size(str(block)) * segments * _count(settings, "tasks", "clients")


def _size(text: str) -> float:
    """Returns a size as IOR prints it, ``1 MiB``; 0 if it is rounded or none."""
    units = {"": 1, "bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
    found = re.fullmatch(r"(\d{1,15})\s*(\w*)", text)
    return int(found[1]) * units.get(found[2], 0) if found else 0


def _count(settings: Settings, *names: str) -> int:
    """Returns the first of the settings that is a number; older versions name some differently."""
    for name in names:
        found = re.match(r"\d{1,9}\b", str(settings.get(name, "")))
        if found:
            return int(found[0])
    return 0
