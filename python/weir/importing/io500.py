"""Reads the output of io500: ``result_summary.txt`` or what it prints, and ``result.txt``.

Each of its benchmarks (ior-easy, mdtest-hard, find and so on) is a recording, with the phases as
rates. The score is stated with each of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from weir.importing.recording import (
    GIB,
    Line,
    Lines,
    Operations,
    Rate,
    Recording,
    differs,
    moment,
    plain,
    setting,
)
from weir.results.expectations import Direction

START = re.compile(r"\s*(IO500 version |\[(RESULT|SCORE ?)\]\s)")
VERSION = re.compile(r"\s*IO500 version (\S+)(?: \((\w+)\))?")
RESULT = re.compile(
    r"\s*\[(?P<kind>RESULT| +)\]\s+(?:(?:BW|IOPS)\s+phase\s+\d+\s+)?(?P<name>[\w-]+)\s+"
    r"(?P<value>\S+)\s+(?P<unit>GiB/s|GB/s|kIOPS|kiops)\s*:\s*time\s+(?P<seconds>\S+)\s+s\w*"
    r"(?P<invalid>\s*\[INVALID\])?\s*$"
)
SCORE = re.compile(
    r"\s*\[SCORE ?\]\s+Bandwidth\s+(\S+)\s+(?:GiB/s|GB/s)\s*:\s*IOPS\s+(\S+)\s+kiops\s*:\s*"
    r"TOTAL\s+(\S+)(\s*\[INVALID\])?\s*$",
    re.IGNORECASE,
)
INI_START = re.compile(r"\[run\]\s*$")
INVALID = re.compile(r"\s*;\s*(ERROR )?INVALID")
SECTION = re.compile(r"\[([\w-]+)\]\s*$")
PAIR = re.compile(r"([\w-]+)\s*=\s*(.*?)\s*$")
UNITS = {"GiB/s": float(GIB), "GB/s": 1e9, "kIOPS": 1e3, "kiops": 1e3}
OF_PHASE = "command of "
ACTIONS = {"write": "create", "stat": "stat", "read": "read", "delete": "unlink", "find": "find"}
"""Names of io500's phases and of the actions of ``weir-bench metadata``."""
SCORED = {
    *(f"ior-{size}-{phase}" for size in ("easy", "hard") for phase in ("write", "read")),
    *(
        f"mdtest-{size}-{phase}"
        for size in ("easy", "hard")
        for phase in ("write", "stat", "delete")
    ),
    *("mdtest-hard-read", "find"),
}
"""Phases of the score in all versions."""


@dataclass(frozen=True)
class Phase:
    """One phase with its figure in bytes per second or operations per second."""

    name: str
    value: float
    moves_bytes: bool
    invalid: bool
    where: str


@dataclass(frozen=True)
class Score:
    """The score in GiB/s, thousands of operations per second, and their geometric mean."""

    bandwidth: float
    operations: float
    total: float
    where: str


def parse_summary(lines: Lines) -> list[Recording]:
    """Returns what ``result_summary.txt`` says, or what io500 printed."""
    phases: list[Phase] = []
    version, score = "", None
    settings: dict[str, str | int | float] = {}
    remarks: list[str] = []
    for line in lines:
        if found := VERSION.match(line.text):
            version = plain(found[1])
            settings |= {"mode": plain(found[2])} if found[2] else {}
        elif found := RESULT.match(line.text):
            phases += _phase(lines, line, found)
            if found["unit"] == "GB/s" and not remarks:
                remarks.append("GB/s of this old version are taken as 10^9 bytes per second.")
        elif found := SCORE.match(line.text):
            bandwidth, operations, total = (
                lines.number(line, found[place], "the score") for place in (1, 2, 3)
            )
            score = Score(bandwidth, operations, total, f"line {line.number}")
        elif re.match(r"\s*\[(RESULT|SCORE ?)\]", line.text):
            lines.refuse(line, "the result is not complete")
    if score is None:
        lines.refuse_end("the output ends before io500's line [SCORE]")
    return _recordings(lines, phases, score, version, settings, remarks, "")


def _phase(lines: Lines, line: Line, found: re.Match[str]) -> Iterator[Phase]:
    value = lines.number(line, found["value"], found["name"]) * UNITS[found["unit"]]
    lines.number(line, found["seconds"], "the time")
    if found["kind"] != "RESULT" and value == 0:
        return  # The phase only prepares others, or was left out.
    name = plain(found["name"].replace("_", "-"))
    moves = found["unit"] in ("GiB/s", "GB/s")
    yield Phase(name, value, moves, bool(found["invalid"]), f"line {line.number}")


def parse_result(lines: Lines) -> list[Recording]:
    """Returns what ``result.txt`` says, whose sections are the phases."""
    section, facts = "", dict[str, str]()
    phases: list[Phase] = []
    score: dict[str, float] = {}
    settings: dict[str, str | int | float] = {}
    invalid: set[str] = set()
    started = ""
    for line in lines:
        if found := SECTION.match(line.text):
            section = found[1]
        elif INVALID.match(line.text):
            invalid.add(plain(section))
        elif found := PAIR.match(line.text):
            name, text = found[1], found[2]
            if section == "run":
                facts[name] = text
            elif section == "SCORE" and name in ("SCORE", "MD", "BW"):
                score[name] = lines.number(line, text.removesuffix("[INVALID]").strip(), name)
            elif name == "exe":
                settings[OF_PHASE + plain(section)] = plain(text)
            elif name == "t_start":
                started = started or text
            elif name == "score" and section != "SCOREX":
                moves = section.startswith("ior")
                value = lines.number(line, text, f"score of {section}")
                scale = UNITS["GiB/s" if moves else "kIOPS"]
                phases.append(
                    Phase(plain(section), value * scale, moves, False, f"line {line.number}")
                )
    if "SCORE" not in score:
        lines.refuse_end("the output ends before io500's section [SCORE]")
    whole = Score(score.get("BW", 0.0), score.get("MD", 0.0), score["SCORE"], "the section [SCORE]")
    settings |= {plain(name): setting(text) for name, text in facts.items() if name != "version"}
    phases = [replace(one, invalid=one.name in invalid) for one in phases]
    version = plain(facts.get("version", ""))
    return _recordings(lines, phases, whole, version, settings, [], started)


def _recordings(
    lines: Lines,
    phases: Sequence[Phase],
    score: Score,
    version: str,
    settings: Mapping[str, str | int | float],
    remarks: Sequence[str],
    started: str,
) -> list[Recording]:
    """Returns a recording for each benchmark: phases whose names differ only in their last word."""
    groups: dict[str, list[Phase]] = {}
    for phase in phases:
        groups.setdefault(_split(phase.name)[0], []).append(phase)
    if not groups:
        lines.refuse_end("the output of io500 has no result")
    whole = [*_doubts(phases, score)]
    procs = settings.get("procs")
    stated = {"score": score.total, "score of bandwidth, GiB/s": score.bandwidth}
    stated["score of operations, 1000/s"] = score.operations
    return [
        Recording(
            program="io500",
            version=version,
            label=name,
            started=moment(started, "%Y-%m-%d %H:%M:%S"),
            ranks=procs if isinstance(procs, int) else 0,
            parameters={
                key: value
                for key, value in settings.items()
                if not key.startswith(OF_PHASE) or key.removeprefix(OF_PHASE) in _names(members)
            },
            rates=[
                Rate(_direction(one.name), "total", [one.value])
                for one in members
                if one.moves_bytes
            ],
            operations=[
                Operations(_split(one.name)[1], "barrier", [one.value])
                for one in members
                if not one.moves_bytes
            ],
            stated=stated,
            doubts=[
                *(f"io500 calls {one.name} invalid" for one in members if one.invalid),
                *whole,
            ],
            remarks=remarks,
        )
        for name, members in groups.items()
    ]


def _names(phases: Sequence[Phase]) -> set[str]:
    return {one.name for one in phases}


def _split(name: str) -> tuple[str, str]:
    """Returns the benchmark of a phase, and the action."""
    benchmark, _, last = name.rpartition("-")
    if not benchmark or last not in ACTIONS:
        return name, ACTIONS.get(name, name)
    return benchmark, ACTIONS[last]


def _direction(name: str) -> Direction:
    return "write" if name.endswith("-write") else "read"


def _doubts(phases: Sequence[Phase], score: Score) -> Iterator[str]:
    """Yields where the score is not the geometric mean of the phases' figures."""
    by_name = {one.name: one for one in phases}
    if score.bandwidth and score.operations:
        total = math.sqrt(score.bandwidth) * math.sqrt(score.operations)
        if differs(score.total, total, 0.002):
            yield (
                f"{score.where}: the score is {score.total:g}, and its two parts come to {total:g}"
            )
    if not by_name.keys() >= SCORED:
        return
    for stated, moves, scale, unit in (
        (score.bandwidth, True, UNITS["GiB/s"], "GiB/s"),
        (score.operations, False, UNITS["kIOPS"], "thousand operations/s"),
    ):
        values = [
            by_name[n].value / scale for n in sorted(SCORED) if by_name[n].moves_bytes == moves
        ]
        if not values or min(values) <= 0 or not stated:
            continue
        mean = math.exp(sum(math.log(value) for value in values) / len(values))
        if differs(stated, mean, 0.005):
            yield (
                f"{score.where}: the score states {stated:g} {unit}, and its phases come to "
                f"{mean:g}"
            )
