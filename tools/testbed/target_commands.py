"""The commands ``targets up``, ``targets set`` and ``targets down``."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from testbed import targets
from testbed.errors import USAGE, TestbedError
from testbed.journal import FOLDER, Journal
from testbed.output import print_json
from testbed.quantities import (
    Value,
    parse_bytes,
    parse_count,
    parse_list,
    parse_rate,
    show_count,
    show_rate,
)
from testbed.targets import Limits, Target
from testbed.undo import making

LISTS = {
    "rates": ("read_rate", "write_rate"),
    "read_rates": ("read_rate",),
    "write_rates": ("write_rate",),
    "iops": ("read_iops", "write_iops"),
    "read_iops": ("read_iops",),
    "write_iops": ("write_iops",),
}
"""Limits that an option of ``targets up`` sets; later options override earlier ones."""


def add(parsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declares the commands."""
    up = parsers.add_parser("up", help="make targets")
    for option in LISTS:
        unit = "200,400 or one for all" if "iops" in option else "50,100MB/s or one for all"
        up.add_argument(f"--{option.replace('_', '-')}", metavar="LIST", help=unit)
    up.add_argument("--count", type=int, help="how many; otherwise as many as the longest list")
    up.add_argument("--size", default="512MiB", help="of each target; it takes that much memory")
    up.add_argument("--file-system", choices=sorted(targets.FILE_SYSTEMS), default="ext4")
    up.add_argument("--root", type=Path, default=FOLDER, help="folder for the mount points")
    up.add_argument("--json", action="store_true")
    up.set_defaults(act=_up)

    change = parsers.add_parser("set", help="change the limits of a target that is up")
    change.add_argument("target", help="target0, or its mount point")
    for option in ("rate", "read-rate", "write-rate"):
        change.add_argument(f"--{option}", metavar="RATE", help="such as 25MB/s, or none")
    for option in ("iops", "read-iops", "write-iops"):
        change.add_argument(f"--{option}", metavar="COUNT", help="such as 200, or none")
    change.add_argument("--json", action="store_true")
    change.set_defaults(act=_set)


def _up(arguments: argparse.Namespace) -> None:
    limits = limits_of(arguments)
    size = parse_bytes(arguments.size)
    journal = Journal()
    with making(journal, targets.PART):
        made = targets.up(journal, limits, size, arguments.file_system, arguments.root.absolute())
    show(made, arguments.json)


def _set(arguments: argparse.Namespace) -> None:
    changes: dict[str, int | None] = {}
    for option, names in (
        ("rate", ("read_rate", "write_rate")),
        ("read_rate", ("read_rate",)),
        ("write_rate", ("write_rate",)),
        ("iops", ("read_iops", "write_iops")),
        ("read_iops", ("read_iops",)),
        ("write_iops", ("write_iops",)),
    ):
        text = getattr(arguments, option)
        if text is not None:
            value = parse_count(text) if "iops" in option else parse_rate(text)
            changes |= dict.fromkeys(names, value)
    if not changes:
        raise TestbedError("targets set: nothing to set; give --rate or --iops", USAGE)
    changed = targets.set_limits(Journal(), arguments.target, changes)
    show([changed], arguments.json)


def limits_of(arguments: argparse.Namespace) -> list[Limits]:
    """Returns the limits of each target that ``targets up`` must make."""
    values: dict[str, list[int | None]] = {}
    for option, names in LISTS.items():
        text = getattr(arguments, option)
        if text is not None:
            parsed = parse_list(text, parse_count if "iops" in option else parse_rate)
            values |= dict.fromkeys(names, parsed)
    longest = max((len(column) for column in values.values()), default=1)
    count: int = longest if arguments.count is None else arguments.count
    if not 1 <= count <= targets.MOST_TARGETS:
        raise TestbedError(f"{count} targets asked for; 1 to {targets.MOST_TARGETS} can be", USAGE)
    columns = {name: _spread(column, count) for name, column in values.items()}
    return [Limits(**{name: columns[name][i] for name in columns}) for i in range(count)]


def _spread(column: list[Value], count: int) -> list[Value]:
    if len(column) == 1:
        return column * count
    if len(column) != count:
        raise TestbedError(f"a list has {len(column)} values for {count} targets", USAGE)
    return column


def show(made: list[Target], as_json: bool) -> None:
    """Prints the targets for a person, mount point first, or as JSON."""
    if as_json:
        print_json({"targets": [asdict(target) for target in made]})
        return
    for target in made:
        print(described(target))


def described(target: Target) -> str:
    """Returns one line: mount point, device, size, limits."""
    limits = target.limits
    line = (
        f"{target.directory}  {target.file_system} on {target.device}, "
        f"{target.size_bytes >> 20} MiB, read {show_rate(limits.read_rate)}, "
        f"write {show_rate(limits.write_rate)}"
    )
    if limits.read_iops is not None or limits.write_iops is not None:
        read, write = show_count(limits.read_iops), show_count(limits.write_iops)
        line += f", operations read {read}, write {write}"
    return line
