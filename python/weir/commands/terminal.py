"""Where commands write: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console

WIDTH_WITHOUT_TERMINAL = 160


def output_console() -> Console:
    """Standard output."""
    return _console(sys.stdout)


def message_console() -> Console:
    """Standard error: progress and notices."""
    return _console(sys.stderr)


def warn(text: str) -> None:
    """One line on standard error."""
    message_console().print(f"weir: {text}", markup=False, highlight=False, soft_wrap=True)


def _console(stream: TextIO) -> Console:
    # A pipe or a file has no width of its own; 80 columns would fold every table.
    console = Console(file=stream)
    if not console.is_terminal:
        console.width = max(console.width, WIDTH_WITHOUT_TERMINAL)
    return console
