"""The only exception of the test bed: one line for the user, and the exit status."""

from __future__ import annotations

FAILED = 1
USAGE = 2


class TestbedError(Exception):
    """Says in one line what was wrong, where, and what to do."""

    __test__ = False  # pytest: not a test class

    def __init__(self, line: str, status: int = FAILED) -> None:
        super().__init__(" ".join(line.split()))
        self.status = status
