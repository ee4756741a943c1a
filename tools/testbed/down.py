"""Removes the test bed: first the journal's resources in reverse, then those found by name."""

from __future__ import annotations

from testbed.discovery import found_resources
from testbed.errors import TestbedError
from testbed.journal import PARTS, Journal
from testbed.removal import remove


def part_down(journal: Journal, part: str, *, end_users: bool = False) -> list[str]:
    """Removes one part; returns one line for each resource that could not be removed.

    These resources remain in the journal. A directory that is not empty does not stop the removal.
    Any other failure does, because the resource depends on those made before it; they wait for the
    next call.
    """
    failures = []
    for resource in reversed(journal.resources(part)):
        try:
            remove(resource, of_this_boot=journal.is_of_this_boot, end_users=end_users)
        except TestbedError as error:
            failures.append(str(error))
            if resource.kind != "directory":
                break
        else:
            journal.strike(part, resource)
    if not failures:
        journal.end(part)
    return failures


def everything_down(*, end_users: bool = False) -> None:
    """Removes every part, and everything with a name of the test bed that the journal lacks.

    Resources that the journal lacks can block the removal of those that it has, such as a mount in
    one of its folders. Therefore the names are searched even if the first pass over the journal
    left something, and then the journal is processed again.
    """
    journal = Journal()
    left = _journal_down(journal, end_users=end_users)
    found = _names_down(end_users=end_users)
    if left:
        left = _journal_down(journal, end_users=end_users)
    raise_failures(list(dict.fromkeys(left + found)))


def _journal_down(journal: Journal, *, end_users: bool) -> list[str]:
    failures = []
    for part in reversed(PARTS):
        if part in journal.parts():
            failures += part_down(journal, part, end_users=end_users)
    return failures


def _names_down(*, end_users: bool) -> list[str]:
    """Stops at the first resource that cannot be removed, because it depends on those after it."""
    for resource in found_resources():
        try:
            remove(resource, end_users=end_users)
        except TestbedError as error:
            return [str(error)]
    return []


def raise_failures(failures: list[str]) -> None:
    """Raises one error that contains all lines; does nothing without lines."""
    if failures:
        raise TestbedError("; ".join(failures))
