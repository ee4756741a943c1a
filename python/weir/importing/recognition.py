"""Reads a file and finds out by its content which programs wrote it.

A text may have the outputs of several runs, of several programs, and other lines before, between
and after them, as the log of a batch job has.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from weir.importing import elbencho, fio, io500, ior, mdtest
from weir.importing.recording import Line, Lines, Node, Recording
from weir.results.errors import ResultError

MOST_BYTES = 16 * 2**20
"""Larger files are refused."""
MOST_LINES = 500_000
LONGEST_LINE = 10_000
"""Longer lines are cut."""
MOST_RECORDINGS = 1000
"""Runs of one file."""

Parser = Callable[[Lines], Sequence[Recording]]


@dataclass(frozen=True)
class Form:
    """A kind of text by its first line."""

    start: re.Pattern[str]
    parse: Parser
    before: re.Pattern[str] | None = None
    """Lines that belong to the output although they come up to 3 lines before the first."""
    again: re.Pattern[str] | None = None
    """Starts another output of the same kind, if not every line like the first does."""


FORMS = (
    Form(ior.START, ior.parse_text),
    Form(mdtest.START, lambda lines: [mdtest.parse(lines)], mdtest.STARTED),
    Form(elbencho.START, elbencho.parse_text, re.compile(r"\s*(ISO DATE|COMMAND LINE): ")),
    Form(elbencho.CSV_START, elbencho.parse_csv),
    Form(io500.START, io500.parse_summary, again=io500.VERSION),
    Form(io500.INI_START, io500.parse_result),
)

ANY_START = re.compile("|".join(f"(?:{form.start.pattern})" for form in FORMS))


@dataclass(frozen=True)
class ReadFile:
    """What a file comes to, with its SHA-256."""

    file: Path
    sha256: str
    recordings: Sequence[Recording]


def read(file: Path) -> ReadFile:
    """Reads the outputs in a file; raises ``ResultError`` with the line that cannot be read."""
    content = _content(file)
    text = content.decode("utf-8", errors="replace")
    recordings = _recordings(str(file), text)
    if len(recordings) > MOST_RECORDINGS:
        raise ResultError(f"{file} has more than {MOST_RECORDINGS} runs: split it")
    return ReadFile(file, hashlib.sha256(content).hexdigest(), recordings)


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise ResultError(f"{file} cannot be read: {error.strerror}") from None
    if len(content) > MOST_BYTES:
        raise ResultError(f"{file} has more than {MOST_BYTES // 2**20} MiB: split it")
    return content


def _recordings(file: str, text: str) -> list[Recording]:
    if text.count("\n") > MOST_LINES:
        raise ResultError(f"{file} has more than {MOST_LINES} lines: split it")
    lines = [
        Line(number, one[:LONGEST_LINE].rstrip("\r"))
        for number, one in enumerate(text.removesuffix("\n").split("\n"), 1)
    ]
    parts = [*_parts(lines)]
    if parts:
        return [one for form, part in parts for one in form.parse(Lines(file, part))]
    node = _json(file, text)
    if node is None:
        raise ResultError(
            f"{file} is not recognized: give the output of IOR, mdtest, fio "
            "(--output-format=json), elbencho or io500"
        )
    if node.find("fio version") is not None:
        return fio.parse(node)
    if node.find("tests") is None:
        node.refuse("is JSON neither of fio nor of IOR")
    return ior.parse_json(node)


def _parts(lines: Sequence[Line]) -> Iterator[tuple[Form, Sequence[Line]]]:
    """Yields each output with all lines up to the next."""
    starts: list[tuple[int, Form]] = []
    for place, line in enumerate(lines):
        if not ANY_START.match(line.text):
            continue
        form = next(one for one in FORMS if one.start.match(line.text))
        within = starts and starts[-1][1] is form
        if within and form.again is not None and not form.again.match(line.text):
            continue
        earlier = range(max(0, place - 3), place)
        first = next(
            (n for n in earlier if form.before and form.before.match(lines[n].text)), place
        )
        starts.append((first, form))
    ends = [first for first, _ in starts[1:]] + [len(lines)] * bool(starts)
    for (first, form), end in zip(starts, ends, strict=True):
        yield form, lines[first:end]


def _json(file: str, text: str) -> Node | None:
    """Returns the first object of a text that begins a line with a brace; None without one."""
    found = re.search(r"^[ \t]*\{", text, re.MULTILINE)
    if found is None:
        return None
    try:
        value, _ = json.JSONDecoder(parse_constant=_refused).raw_decode(text, found.end() - 1)
    except json.JSONDecodeError as error:
        raise ResultError(
            f"{file}:{error.lineno}: the JSON ends or is wrong here: {error.msg}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{file}: the JSON cannot be read: {_first_words(error)}") from None
    return Node(file, "", value)


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _first_words(error: Exception) -> Any:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
