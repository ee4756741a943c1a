"""Lists of hosts as Slurm writes them: ``n1,n[3-5,8],r[0-1]n[01-10]``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

from weir.errors import Error

MOST_HOSTS = 1 << 20
MOST_BRACKETS = 8
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
MOST_DIGITS = 12


class HostListError(Error, ValueError):
    """Says what is wrong with a list; the caller knows where the list is from."""


def expand_hosts(text: str) -> list[str]:
    """Returns the hosts of a list, in its order. Numbers keep their leading zeros."""
    hosts: list[str] = []
    for part in _split(text):
        hosts += _expand_part(part, MOST_HOSTS - len(hosts))
    return hosts


def _split(text: str) -> Iterator[str]:
    """Yields the parts between the commas that are outside brackets."""
    depth, begin = 0, 0
    for place, letter in enumerate(text):
        if letter == "[":
            depth += 1
        elif letter == "]":
            depth -= 1
        if depth not in (0, 1):
            raise HostListError("brackets do not match")
        if letter == "," and depth == 0:
            yield text[begin:place]
            begin = place + 1
    if depth:
        raise HostListError("brackets do not match")
    yield text[begin:]


def _expand_part(part: str, most: int) -> list[str]:
    pieces = re.split(r"\[([^\]]*)\]", part)
    if len(pieces) // 2 > MOST_BRACKETS:
        raise HostListError(f"a name has more than {MOST_BRACKETS} brackets")
    names = [piece for piece in pieces[::2] if piece]
    if not part or not all(_NAME.fullmatch(name) for name in names):
        raise HostListError("a name is empty or has other characters than letters, digits, . _ -")
    count = 1
    choices: list[Callable[[], Iterator[str]]] = []
    for place, piece in enumerate(pieces):
        if place % 2 == 0:
            choices.append(lambda piece=piece: iter([piece]))  # type: ignore[misc]
            continue
        numbers, expand = _numbers(piece)
        count *= numbers
        if count > most:
            raise HostListError(f"it has more than {MOST_HOSTS} hosts")
        choices.append(expand)
    return ["".join(words) for words in itertools.product(*(choice() for choice in choices))]


def _numbers(text: str) -> tuple[int, Callable[[], Iterator[str]]]:
    """Returns how many numbers a bracket has, and a function that makes them."""
    ranges: list[tuple[int, int, int]] = []
    for one in text.split(","):
        found = _RANGE.fullmatch(one)
        if found is None or len(one) > 2 * MOST_DIGITS + 1:
            raise HostListError("a bracket has something else than numbers and ranges such as 0-3")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise HostListError("a range ends before it begins")
        ranges.append((first, last, len(found[1])))

    def expand() -> Iterator[str]:
        for first, last, width in ranges:
            yield from (f"{number:0{width}}" for number in range(first, last + 1))

    return sum(last - first + 1 for first, last, _ in ranges), expand


_NUMBERED = re.compile(r"(.*?)([0-9]+)([^0-9]*)")


def fold_hosts(hosts: list[str]) -> str:
    """Returns a list that expands to these hosts in this order, short if they are numbered."""
    parts: list[str] = []
    for (before, after), run in itertools.groupby(hosts, key=_beside_number):
        names = list(run)
        if len(names) == 1 or before is None:
            parts += names
        else:
            numbers = [name[len(before) : len(name) - len(after)] for name in names]
            parts.append(f"{before}[{_ranges(numbers)}]{after}")
    return ",".join(parts)


def _beside_number(name: str) -> tuple[str | None, str]:
    """Returns what is before and after the last number of a name without its domain."""
    host, dot, domain = name.partition(".")
    found = _NUMBERED.fullmatch(host)
    if found is None or len(found[2]) > MOST_DIGITS:
        return None, name
    return found[1], found[3] + dot + domain


def _ranges(numbers: list[str]) -> str:
    """Returns consecutive numbers of one width as ranges: ``1-3,7``."""
    ranges: list[list[str]] = []
    for number in numbers:
        follows = ranges and f"{int(ranges[-1][-1]) + 1:0{len(ranges[-1][0])}}" == number
        if follows:
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    return ",".join("-".join(one) for one in ranges)
