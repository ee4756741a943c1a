"""Turns signals into errors, and removes a part if making it fails."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from testbed.down import part_down
from testbed.errors import TestbedError
from testbed.journal import Journal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal requested the end of the command."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _interrupt(number: int, _frame: FrameType | None) -> None:
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)  # Cleaning up must not be interrupted.
    raise Interrupted(number)


def raise_signals() -> None:
    """Makes signals that end a command raise ``Interrupted`` from now on."""
    for each in SIGNALS:
        signal.signal(each, _interrupt)


@contextmanager
def making(journal: Journal, part: str) -> Iterator[None]:
    """Removes the part if making it fails or is interrupted."""
    was_there = part in journal.parts()
    try:
        yield
    except (Exception, Interrupted) as error:
        if not was_there and part in journal.parts():
            failures = part_down(journal, part, end_users=True)
            if failures:
                raise TestbedError(
                    f"{error}; and what was made could not be removed: {'; '.join(failures)}"
                ) from error
        raise
