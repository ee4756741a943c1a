"""Takes the test bed away: first what the journal names, in reverse, then what names give away."""

from __future__ import annotations

from testbed.discovery import found_resources
from testbed.errors import TestbedError
from testbed.journal import PARTS, Journal
from testbed.removal import remove


def part_down(journal: Journal, part: str, *, end_users: bool = False) -> list[str]:
    """Takes one part away; returns what could not be removed, as lines.

    What is left stays in the journal. A folder that is not empty keeps nothing else; anything else
    that cannot be removed carries what was made before it, so the rest waits for the next call.
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
    """Takes every part away, and whatever bears a name of the test bed beyond the journal.

    Something that the journal does not know can stand in the way of what it knows, such as a mount
    in its folder. So the names are gone through even where the journal's pass left something, and
    then the journal once more.
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
    """Stops at the first that cannot be removed: it carries those that come after it."""
    for resource in found_resources():
        try:
            remove(resource, end_users=end_users)
        except TestbedError as error:
            return [str(error)]
    return []


def raise_failures(failures: list[str]) -> None:
    """One error of several lines' contents; nothing when there are none."""
    if failures:
        raise TestbedError("; ".join(failures))
