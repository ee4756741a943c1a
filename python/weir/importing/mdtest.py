"""Reads the output of mdtest, the text of versions 1.9 to 4.x.

mdtest prints the largest, smallest and mean rate of its iterations, not each. Of up to three
iterations the values follow from these; of more, only the range and the mean are known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from weir.importing.recording import (
    Line,
    Lines,
    Operations,
    Recording,
    Summary,
    moment,
    plain,
    words_of,
)

START = re.compile(r"\s*mdtest-(\S+) was launched with (\d{1,9}) total task\(s\) on (\d{1,9}) node")
STARTED = re.compile(r"\s*-- started at (.*?) --")
SUMMARY = re.compile(
    r"\s*SUMMARY(?P<kind> rate| time)?\b.*\(of (?P<iterations>\d{1,9}) iterations?\)"
)
FACT = re.compile(r"\s*(Command line used|Path|FS)\s*:\s*(.*)")
COUNTED = re.compile(r"\s*\d+ tasks, (\d+) files")
READS_NOTHING = "a read test will actually just open/close"
ACTIONS = {
    "Directory creation": "mkdir",
    "Directory stat": "directory-stat",
    "Directory rename": "directory-rename",
    "Directory removal": "rmdir",
    "File creation": "create",
    "File stat": "stat",
    "File read": "read",
    "File rename": "rename",
    "File removal": "unlink",
    "Tree creation": "tree-create",
    "Tree removal": "tree-remove",
}
"""Names of mdtest's phases and of the actions of ``weir-bench metadata``."""


@dataclass
class Output:
    """What the lines of one run say."""

    facts: dict[str, str] = field(default_factory=dict)
    rates: dict[str, tuple[int, list[float]]] = field(default_factory=dict)
    """The line and the figures of each action."""
    iterations: int = 0
    has_ended: bool = False
    reads_nothing: bool = False


def parse(lines: Lines) -> Recording:
    """Returns what the output of one run says."""
    head = next((found for one in lines if (found := START.match(one.text))), None)
    if head is None:
        lines.refuse(lines.lines[0], "no line says how many tasks mdtest was launched with")
    output = _read(lines)
    if not output.has_ended:
        lines.refuse_end("the output ends before mdtest's line 'finished at'")
    facts, iterations = output.facts, output.iterations
    known = {
        # A rate of 0 is of a phase that was not asked for.
        action: figures
        for action, (_, figures) in output.rates.items()
        if figures[0] > 0
    }
    if not known:
        lines.refuse_end("the output of mdtest has no rate above 0")
    remarks = []
    if iterations > 3:
        remarks.append(
            f"mdtest printed only the range and the mean of its {iterations} iterations: the mean "
            "stands for the median."
        )
    if output.reads_nothing:
        remarks.append("The action read opened and closed the files without reading.")
    return Recording(
        program="mdtest",
        version=plain(head[1]),
        label="mdtest",
        started=moment(facts.get("started", ""), "%m/%d/%Y %H:%M:%S"),
        ranks=int(head[2]),
        command=words_of(facts.get("Command line used", "")),
        parameters={
            "nodes": int(head[3]),
            "iterations": iterations,
            **{name: plain(facts[name]) for name in ("Path", "items") if name in facts},
        },
        operations=[
            Operations(action, "barrier", _values(iterations, high, low, mean))
            for action, (high, low, mean, _) in known.items()
        ],
        doubts=[*_doubts(output)],
        remarks=remarks,
    )


def _read(lines: Lines) -> Output:
    output, within = Output(), False
    for line in lines:
        if summary := SUMMARY.match(line.text):
            within = summary["kind"] != " time"
            if within:
                output.iterations = max(1, int(summary["iterations"]))
        elif within and (action := ACTIONS.get(_name(line.text))):
            output.rates[action] = (line.number, _row(lines, line))
        elif fact := FACT.match(line.text):
            output.facts[fact[1]] = fact[2]
        elif began := STARTED.match(line.text):
            output.facts["started"] = began[1]
        elif counted := COUNTED.match(line.text):
            output.facts["items"] = counted[1]
        output.has_ended = output.has_ended or "-- finished at" in line.text
        output.reads_nothing = output.reads_nothing or READS_NOTHING in line.text
    return output


def _doubts(output: Output) -> Iterator[str]:
    """Yields where a mean is not within its range."""
    for action, (number, (high, low, mean, _)) in output.rates.items():
        if not low * 0.9999 <= mean <= high * 1.0001:
            yield (
                f"line {number}: the mean of {action}, {mean:g}, is not between {low:g} and "
                f"{high:g}"
            )


def _name(text: str) -> str:
    """Returns the two words of which the names of phases consist."""
    return " ".join(text.replace(":", " ").split()[:2])


def _row(lines: Lines, line: Line) -> list[float]:
    """Returns maximum, minimum, mean and deviation; statistics of each rank may come before."""
    words = line.text.replace(":", " ").split()[2:]
    if len(words) < 4:
        lines.refuse(line, f"the row has {len(words)} figures instead of 4")
    return [
        0.0
        if name == "Std Dev" and not math.isfinite(_float(word))
        else lines.number(line, word, name)
        for name, word in zip(("Max", "Min", "Mean", "Std Dev"), words[-4:], strict=True)
    ]


def _float(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return 0.0


def _values(iterations: int, high: float, low: float, mean: float) -> list[float] | Summary:
    if iterations == 1:
        return [mean]
    if iterations == 2:
        return [low, high]
    middle = 3 * mean - low - high
    if iterations == 3 and low * 0.999 <= middle <= high * 1.001:
        return [low, min(max(middle, low), high), high]
    return Summary(iterations, mean, low, high)
