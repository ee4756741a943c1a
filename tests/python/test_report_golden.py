"""Whole reports against transcripts: what a reader sees, line by line.

A change of wording, of a figure's rounding or of the order of a page shows here as a difference of
text files, to be read and, if it is meant, taken over with:

    WRITE_GOLDEN=1 .venv/bin/python -m pytest tests/python/test_report_golden.py
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from report_reader import Element, read_report
from synthetic import make_events, make_run, write_run_folder
from weir.report import write_report

GOLDEN = Path(__file__).parents[1] / "reference" / "reports"
BLOCKS = {"h1", "h2", "h3", "h4", "p", "li", "figcaption", "summary", "caption", "dt", "dd"}
HIDDEN = {"style", "script", "title"}


def transcript(element: Element) -> Iterator[str]:
    """A line per paragraph and table row; of a drawing, how many marks of each kind it has."""
    if element.tag in HIDDEN:
        return
    if element.tag == "svg":
        marks = Counter(mark.tag for mark in element.walk() if mark is not element)
        yield "drawing: " + ", ".join(f"{count} {tag}" for tag, count in sorted(marks.items()))
    elif element.tag in BLOCKS:
        yield f"{element.tag}: {' '.join(element.text.split())}"
    elif element.tag == "tr":
        cells = [cell for cell in element.children if isinstance(cell, Element)]
        yield "row: " + " | ".join(" ".join(cell.text.split()) for cell in cells)
    else:
        for child in element.children:
            if isinstance(child, Element):
                yield from transcript(child)


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("one-run", [{"finalized": True}]),
        ("failed-run", [{"failed": True, "finalized": True}]),
        (
            "two-modes",
            [
                {"finalized": True, "label": "POSIX UNIQUE SYNC"},
                {"finalized": True, "label": "POSIX UNIQUE ASYNC"},
            ],
        ),
    ],
)
def test_reports_read_as_they_did(tmp_path: Path, name: str, runs: list[dict[str, Any]]) -> None:
    for number, fields in enumerate(runs):
        folder = tmp_path if len(runs) == 1 else tmp_path / str(number)
        drawn = {key: value for key, value in fields.items() if key != "finalized"}
        write_run_folder(folder, make_run(**fields), make_events(**drawn), finalized=True)
    page = read_report(write_report(tmp_path))
    told = "".join(f"{line}\n" for line in transcript(page)).replace(str(tmp_path), "FOLDER")
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("WRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(told, encoding="utf-8")
    assert told.splitlines() == golden.read_text(encoding="utf-8").splitlines()
