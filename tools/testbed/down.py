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
    """Takes every part away, and whatever bears a name of the test bed beyond the journal."""
    journal = Journal()
    failures = []
    for part in reversed(PARTS):
        if part in journal.parts():
            failures += part_down(journal, part, end_users=end_users)
    if not failures:
        for resource in found_resources():
            try:
                remove(resource, end_users=end_users)
            except TestbedError as error:
                failures.append(str(error))
    raise_failures(failures)


def raise_failures(failures: list[str]) -> None:
    """One error of several lines' contents; nothing when there are none."""
    if failures:
        raise TestbedError("; ".join(failures))
