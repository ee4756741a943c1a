"""Errors of running weir-bench, each one line for the person at the terminal."""

from __future__ import annotations

USAGE = 2
FAILED = 1
INTERRUPTED = 130


class BenchError(Exception):
    """What was wrong, where, and what to do; ``exit_status`` is weir's own exit status.

    The message is empty where weir-bench has told the person already.
    """

    def __init__(self, message: str, exit_status: int = FAILED) -> None:
        super().__init__(message)
        self.exit_status = exit_status
