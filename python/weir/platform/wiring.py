"""Returns how the parts of a machine are connected, as a tree of one-line texts."""

from __future__ import annotations

from weir.platform.summary import units
from weir.platform.topology import Branch
from weir.results.platform import Edge, Platform, PlatformStage
from weir.results.quantities import rate_text
from weir.results.record import Quantity


def wiring_tree(platform: Platform) -> Branch | None:
    """Returns a tree from the nodes to the devices; None if the description has no edges.

    Each line below the first is an edge: the part that it leads to, how many connections there are
    with which rate each, and where that is from. A part that is reached twice has its own edges
    below the first line only.
    """
    if not platform.edges:
        return None
    tree = Branch("wiring, with the rate of each connection and where it is from")
    reached = {edge.to for edge in platform.edges}
    starts = [edge.from_ for edge in platform.edges if edge.from_ not in reached]
    shown: set[str] = set()
    for start in dict.fromkeys(starts or [platform.edges[0].from_]):
        tree.children.append(_part(platform, start, start, shown))
    return tree


def io_group_texts(platform: Platform) -> list[str]:
    """Returns one line for each number of nodes that share I/O nodes, with the stages concerned."""
    groups: dict[tuple[int, int], list[str]] = {}
    for stage in platform.stages:
        if stage.kind == "I/O node" and stage.nodes_per_unit is not None:
            groups.setdefault((stage.nodes_per_unit, stage.units), []).append(stage.name)
    return [
        f"I/O groups: {nodes} nodes share one of {count} ({', '.join(names)}); a job of n nodes "
        f"uses n/{nodes}, rounded up"
        for (nodes, count), names in groups.items()
    ]


def _part(platform: Platform, name: str, text: str, shown: set[str]) -> Branch:
    branch = Branch(text)
    if name in shown:
        return branch
    shown.add(name)
    for edge in platform.edges:
        if edge.from_ == name:
            branch.children.append(_part(platform, edge.to, _text(platform, edge), shown))
    return branch


def _text(platform: Platform, edge: Edge) -> str:
    stages = [stage for stage in platform.stages if stage.name in edge.stages]
    rates = [_of_stage(platform, stage) for stage in stages] or [_own(edge)]
    peak = edge.peak_bytes_per_second
    most = f" (at most {rate_text(peak)})" if peak is not None else ""
    return f"{edge.to}: {', '.join(rates)}{most}, {edge.origin}"


def _of_stage(platform: Platform, stage: PlatformStage) -> str:
    way = f" {stage.direction}" if stage.direction else ""
    if stage.kind == "fabric" and stage.one_user_bytes_per_second is not None:
        one = rate_text(stage.one_user_bytes_per_second.value)
        return f"{one} of each user, {rate_text(stage.rate_bytes_per_second.value)} together"
    return _times(units(platform, stage), stage.rate_bytes_per_second) + way


def _own(edge: Edge) -> str:
    return _times(edge.units or 1, edge.rate_bytes_per_second)


def _times(count: int, rate: Quantity | None) -> str:
    many = f"{count} x " if count > 1 else ""
    if rate is None:
        return f"{count}, rate not known"
    return f"{many}{rate_text(rate.value)}"


def sources(platform: Platform) -> list[str]:
    """Returns one line for each edge with its source, in the order of the file."""
    by_name = {stage.name: stage for stage in platform.stages}
    return [
        f"{edge.name}: {edge.source or '; '.join(by_name[one].how for one in edge.stages)}"
        for edge in platform.edges
    ]
