"""Errors of running weir-bench, each one line for the user."""

from __future__ import annotations

from weir.errors import Error

USAGE = 2
FAILED = 1
INTERRUPTED = 130


class BenchError(Error):
    """Says what was wrong, where, and what to do; ``exit_status`` is weir's own exit status.

    The message is empty if weir-bench has already informed the user.
    """

    def __init__(self, message: str, exit_status: int = FAILED) -> None:
        super().__init__(message)
        self.exit_status = exit_status
