"""Consoles of commands: results to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDTH_OF_TEXT = 100
WIDEST = 100_000


def output_console() -> Console:
    """Returns the console for standard output."""
    return _console(sys.stdout)


def message_console() -> Console:
    """Returns the console for standard error: progress and notices."""
    return _console(sys.stderr)


def warn(text: str) -> None:
    """Prints one line on standard error."""
    message_console().print(f"weir: {text}", markup=False, highlight=False, soft_wrap=True)


def _console(stream: TextIO) -> Console:
    # Without emoji=False, Rich would draw a picture in place of what a path has between colons.
    console = Console(file=stream, emoji=False)
    return console if console.is_terminal else _Pipe(stream)


def natural_width(console: Console, shown: object) -> int:
    """Returns the width of a table without folded cells; 0 for anything else."""
    if not isinstance(shown, Table):
        return 0
    return Measurement.get(console, console.options.update(width=WIDEST), shown).maximum


class _Pipe(Console):
    """A console for a pipe or a file, which has no width, with text of a readable width.

    Text is wrapped at ``COLUMNS``, or at ``WIDTH_OF_TEXT`` if that is not set. A table is as wide
    as its cells, so that programs find each row on one line.
    """

    def __init__(self, stream: TextIO) -> None:
        asked = os.environ.get("COLUMNS", "")
        is_asked = asked.isdigit() and int(asked) > 0
        super().__init__(file=stream, emoji=False, width=int(asked) if is_asked else WIDTH_OF_TEXT)

    def print(self, *objects: Any, **options: Any) -> None:
        usual = self.width
        self.width = max([usual, *(natural_width(self, one) for one in objects)])
        try:
            super().print(*objects, **options)
        finally:
            self.width = usual
