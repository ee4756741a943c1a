"""Prints what was discovered: sources with their certainty, groups, and what was not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from weir.bench.tables import plain_table
from weir.platform.discovery.choice import Choice, group_numbers, io_groups_text
from weir.platform.discovery.description import Overridden
from weir.platform.discovery.findings import Finding
from weir.platform.discovery.hardware import Hardware
from weir.platform.discovery.recording import Recording
from weir.platform.discovery.shape import Tree, tree_of
from weir.results.host_list import fold_hosts
from weir.results.quantities import rate_text, size_text

SHOWN_GROUPS = 16
LONGEST_LIST = 100
SHOWN_SIZES = 3
LONGEST_VARIABLE = 100_000
"""Characters of WEIR_IO_GROUPS; Linux takes 131,071 for a variable with its name."""


def show(
    console: Console,
    recording: Recording,
    choice: Choice,
    hardware: Sequence[tuple[str, Hardware]],
    overridden: Overridden | None,
) -> None:
    """Prints everything but the description itself."""
    nodes = len(recording.nodes)
    _say(console, f"{nodes} node{'s' if nodes > 1 else ''}: {_listed(recording.names)}")
    for text in _same_kernel(recording):
        _say(console, f"  {text}")
    console.print()
    _show_found(console, choice, hardware)
    _show_missing(console, choice)
    console.print()
    _show_groups(console, recording, choice, overridden)
    _show_network(console, tree_of(recording.names, choice), len(recording.nodes))
    for text in choice.contradictions:
        _say(console, f"Contradiction: {text}")
    if overridden is not None:
        for text in overridden.differences:
            _say(console, f"Overridden: {text}")


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _show_found(console: Console, choice: Choice, hardware: Sequence[tuple[str, Hardware]]) -> None:
    table = plain_table("=found by", "=what", "=certainty")
    for names, one in _alike(hardware):
        _add(table, f"{one.source}, {names}", _hardware_text(one), one.certainty.text)
        for more in _more_of_hardware(one):
            _add(table, "", more, "")
    for finding in choice.findings:
        lines = [*_finding_lines(finding), *finding.notes]
        _add(table, finding.source, lines[0], finding.certainty.text)
        for line in lines[1:]:
            _add(table, "", line, "")
    if table.row_count:
        console.print(table)


def _add(table: Table, *cells: str) -> None:
    table.add_row(*(escape(cell) for cell in cells))


def _show_missing(console: Console, choice: Choice) -> None:
    table = plain_table("=not found", "=why")
    for missing in choice.missing:
        _add(table, missing.source, missing.why)
    if table.row_count:
        console.print()
        console.print(table)


def _show_groups(
    console: Console, recording: Recording, choice: Choice, overridden: Overridden | None
) -> None:
    taken = choice.taken
    if taken is None or not choice.divides:
        _say(console, f"I/O groups: {why_no_groups(recording, choice)}")
    else:
        groups = taken.groups
        _say(
            console,
            f"I/O groups: {len(groups)}, the nodes of each {taken.unit} by {taken.source}, "
            f"{taken.certainty.text}; {choice.reason}",
        )
        for number, (name, nodes) in enumerate(list(groups.items())[:SHOWN_GROUPS]):
            _say(console, f"  {number}: {_listed(nodes)} ({_named(taken, nodes[0], name)})")
        if len(groups) > SHOWN_GROUPS:
            _say(console, f"  and {len(groups) - SHOWN_GROUPS} more")
    text = io_groups_of(recording, choice, overridden)
    if len(text) > LONGEST_VARIABLE:
        _say(
            console,
            f"WEIR_IO_GROUPS would have {len(text)} characters, too many for a variable: pass "
            "topology.io_groups of the description as the session's option io_groups",
        )
    elif text:
        by_given = overridden is not None and overridden.given_groups is not None
        by = "   (nodes_per_io_group of the given description)" if by_given else ""
        _say(console, f"WEIR_IO_GROUPS={text}{by}")


def _show_network(console: Console, tree: Tree | str, nodes: int) -> None:
    if isinstance(tree, Tree):
        _say(
            console,
            f"Network: {tree.text}, {rate_text(tree.bytes_per_second)} from a {tree.source.unit} "
            f"to a switch above it, by {tree.source.source}; weir sim lets messages pass its links",
        )
    elif nodes > 1:
        _say(console, f"Network: weir sim has no links between switches, since {tree}")


def why_no_groups(recording: Recording, choice: Choice) -> str:
    """Returns a clause that says why no groups follow from a choice that does not divide nodes."""
    taken = choice.taken
    if len(recording.nodes) == 1:
        return "none are needed for one node"
    if taken is None:
        return f"not known, {choice.reason}"
    return (
        f"none are needed, all nodes share one {taken.unit} by {taken.source}, "
        f"{taken.certainty.text}"
    )


def io_groups_of(recording: Recording, choice: Choice, overridden: Overridden | None) -> str:
    """Returns the value of WEIR_IO_GROUPS; empty if there are no groups."""
    if overridden is not None and overridden.given_groups is not None:
        return str(overridden.given_groups)
    if choice.taken is None or not choice.divides:
        return ""
    return io_groups_text(group_numbers(recording.names, choice.taken))


def _named(finding: Finding, node: str, group: str) -> str:
    coordinates = finding.places[node].coordinates
    return " / ".join(name for _, name in coordinates) if coordinates else group


def _listed(names: Sequence[str]) -> str:
    """Returns a list such as ``n[1-4]``; a long one is cut."""
    text = fold_hosts(list(names))
    return text if len(text) <= LONGEST_LIST else f"{text[:LONGEST_LIST]}…"


def _alike(hardware: Sequence[tuple[str, Hardware]]) -> list[tuple[str, Hardware]]:
    """Returns each kind of node once, with the names of its nodes.

    Their memory is not compared, because systems keep different parts of it for themselves.
    """
    kinds: dict[tuple[int, ...], tuple[list[str], Hardware]] = {}
    for name, one in hardware:
        key = (one.packages, one.numa_nodes, one.cores, one.threads, len(one.devices))
        kinds.setdefault(key, ([], one))[0].append(name)
    return [
        (names[0] if len(names) == 1 else f"{len(names)} nodes such as {names[0]}", one)
        for names, one in kinds.values()
    ]


def _hardware_text(one: Hardware) -> str:
    counts = (
        (one.packages, "package"),
        (one.numa_nodes, "NUMA node"),
        (one.cores, "core"),
        (one.threads, "hardware thread"),
    )
    parts = [f"{count} {what}{'s' if count > 1 else ''}" for count, what in counts if count]
    if one.memory_bytes:
        parts.append(f"{size_text(one.memory_bytes)} of memory")
    return ", ".join(parts)


def _more_of_hardware(one: Hardware) -> list[str]:
    lines = [one.model] if one.model else []
    caches = [
        f"{count} x L{level} {kind} {size_text(size)}"
        for (level, kind, size), count in sorted(one.caches.items())
    ]
    if caches:
        lines.append(f"caches: {', '.join(caches)}")
    by_kind: dict[str, list[str]] = {}
    for device in one.devices:
        near = "" if device.numa_node is None or one.numa_nodes < 2 else f" at {device.numa_node}"
        by_kind.setdefault(device.kind, []).append(device.name + near)
    if by_kind:
        lines.append("; ".join(f"{kind}: {', '.join(names)}" for kind, names in by_kind.items()))
    return lines


def _finding_lines(finding: Finding) -> list[str]:
    lines = []
    if finding.places:
        lines.append(_groups_text(finding))
    rates = Counter[float | None]()
    for link in finding.links:
        if link.from_ == "node":
            rates[link.bytes_per_second] += link.count
    if rates:
        lines.append(
            "links of nodes: "
            + ", ".join(
                f"{count} x {rate_text(rate) if rate is not None else 'of unknown rate'}"
                for rate, count in rates.items()
            )
        )
    return lines or [finding.unit]


def _groups_text(finding: Finding) -> str:
    """Returns the number of groups with their sizes: ``3 leaf switches: 1 with 2 nodes, ...``."""
    sizes = Counter(len(nodes) for nodes in finding.groups.values())
    count = sum(sizes.values())
    what = finding.unit if count == 1 else _plural(finding.unit)
    if len(sizes) == 1:
        nodes = next(iter(sizes))
        each = " each" if count > 1 else ""
        return f"{count} {what}: {nodes} node{'s' if nodes > 1 else ''}{each}"
    largest = sorted(sizes.items(), reverse=True)
    shown = [f"{many} with {nodes}" for nodes, many in largest[:SHOWN_SIZES]]
    if len(largest) > SHOWN_SIZES:
        shown.append(f"{sum(many for _, many in largest[SHOWN_SIZES:])} with fewer")
    return f"{count} {what}: {', '.join(shown)} nodes"


def _plural(unit: str) -> str:
    if unit.startswith("set "):
        return unit.replace("set", "sets", 1)
    if unit.endswith("ch"):
        return unit + "es"
    return unit if unit == "chassis" else unit + "s"


def _same_kernel(recording: Recording) -> list[str]:
    """Returns a note if several hosts are one booted kernel, such as containers of one node."""
    kernels = Counter(node.boot for node in recording.nodes if node.boot)
    several = sum(count for count in kernels.values() if count > 1)
    if not several:
        return []
    return [
        f"{several} of these hosts run on the same kernel as another one: they may be containers "
        "of one node, which the library counts once if they share memory"
    ]
