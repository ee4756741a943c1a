"""The one exception of the test bed: a line for the person, and the exit status."""

from __future__ import annotations

FAILED = 1
USAGE = 2


class TestbedError(Exception):
    """What was wrong, where, and what to do, in one line."""

    __test__ = False  # pytest: not a test class

    def __init__(self, line: str, status: int = FAILED) -> None:
        super().__init__(" ".join(line.split()))
        self.status = status
