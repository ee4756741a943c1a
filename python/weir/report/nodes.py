"""Rates and I/O times by node, with the slowest node of each phase marked."""

from __future__ import annotations

from collections.abc import Sequence

from weir.report.chart import table
from weir.report.markup import Child, Markup, element, join
from weir.report.quantities import plural, ranks_text, rate, seconds, size
from weir.results.quantities import phase_name
from weir.results.schema import Node, NodePhase, Run

SHOWN = 16
LISTED = 512
PhaseName = tuple[str, str]


def render(run: Run) -> Markup | None:
    """Returns one row per node; if there are very many, only of the slowest nodes."""
    if not any(node.phases for node in run.nodes):
        return None
    names = list(dict.fromkeys((p.function, p.direction) for n in run.nodes for p in n.phases))
    slowest = slowest_nodes(run.nodes, names) if len(run.nodes) > 1 else {}
    said = "Median rate; below it the longest I/O time of a repetition."
    if slowest:
        said += " \u25c2 marks the slowest node of a phase."
    if len(run.nodes) <= SHOWN:
        return join(element("p", said, class_="note"), _table(run.nodes, names, slowest))
    ordered = sorted(run.nodes, key=_longest, reverse=True)
    said += f" The {SHOWN} slowest of {plural(len(run.nodes), 'node')}, slowest first."
    listed = run.nodes if len(run.nodes) <= LISTED else ordered[:LISTED]
    title = f"All {len(listed)} nodes" if listed is run.nodes else f"The {LISTED} slowest nodes"
    return join(
        element("p", said, class_="note"),
        _table(ordered[:SHOWN], names, slowest),
        element(
            "details",
            element("summary", title),
            _table(listed, names, slowest),
            class_="data",
        ),
    )


def _table(nodes: list[Node], names: Sequence[PhaseName], slowest: dict[PhaseName, str]) -> Markup:
    head = ["Node", "Ranks", *(phase_name(function, direction) for function, direction in names)]
    rows = [_row(node, names, slowest) for node in nodes]
    return table([*head, "bytes moved"], rows, caption="Rates and I/O times by node")


def slowest_nodes(nodes: list[Node], names: Sequence[PhaseName]) -> dict[PhaseName, str]:
    """Returns the host with the longest I/O time, by phase."""
    found: dict[PhaseName, str] = {}
    for name in names:
        timed = [(p.io_seconds_max, n.host) for n in nodes if (p := _phase(n, name)) is not None]
        if timed:
            found[name] = max(timed, key=lambda pair: pair[0])[1]
    return found


def _longest(node: Node) -> float:
    return max((phase.io_seconds_max for phase in node.phases), default=0.0)


def _row(node: Node, names: Sequence[PhaseName], slowest: dict[PhaseName, str]) -> list[Child]:
    cells = [_cell(_phase(node, name), slowest.get(name) == node.host) for name in names]
    moved = sum(phase.bytes for phase in node.phases)
    return [element("bdi", node.host), ranks_text(node.ranks), *cells, size(moved)]


def _phase(node: Node, name: PhaseName) -> NodePhase | None:
    return next((p for p in node.phases if (p.function, p.direction) == name), None)


def _cell(phase: NodePhase | None, slowest: bool) -> Markup:
    if phase is None:
        return rate(None)
    longest = element("span", seconds(phase.io_seconds_max), class_="note")
    mark = element("strong", "\u25c2 slowest ", class_="note") if slowest else None
    return join(rate(phase.rate_bytes_per_second), element("br"), mark, longest)
