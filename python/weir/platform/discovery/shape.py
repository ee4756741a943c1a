"""The network between nodes as one of the shapes of which the library and ``weir sim`` know routes.

Trees alone are found: equally many consecutive nodes on each leaf switch, and links of one rate
from every leaf switch to each of the switches above.
"""

from __future__ import annotations

from dataclasses import dataclass

from weir.platform.discovery.choice import Choice, group_numbers, nodes_per_group
from weir.platform.discovery.findings import Finding


@dataclass(frozen=True)
class Tree:
    """A tree of two levels of switches."""

    source: Finding
    nodes_per_leaf: int
    leaves: int
    above: int
    """Switches above the leaf switches."""
    bytes_per_second: float
    """What all connections of a leaf switch to one switch above it carry."""

    @property
    def text(self) -> str:
        """The value of ``network_shape``."""
        if self.above == 1:
            return f"switches:{self.nodes_per_leaf}"
        return f"fat-tree:{self.nodes_per_leaf}x{self.above}"


def tree_of(names: list[str], choice: Choice) -> Tree | str:
    """Returns the tree that connects the nodes, or a clause that says why none is known."""
    cabled = next((one for one in choice.findings if one.links and one.places), None)
    if cabled is None:
        return "no source says which cables are between switches"
    size = _nodes_per_leaf(names, cabled)
    if isinstance(size, str):
        return size
    above = _rates_above(cabled)
    if isinstance(above, str):
        return above
    leaf, rates = next(iter(above.items()))
    other = next((name for name, its in above.items() if its != rates), None)
    if other is not None:
        return f"{other} and {leaf} have different connections to switches above"
    if len(set(rates.values())) > 1:
        return f"{leaf} reaches the switches above at different rates"
    return Tree(cabled, size, len(above), len(rates), next(iter(rates.values())))


def _nodes_per_leaf(names: list[str], cabled: Finding) -> int | str:
    unknown = next((name for name in names if name not in cabled.places), None)
    if unknown is not None:
        return f"{cabled.source} does not know {unknown}"
    if len(cabled.groups) == 1:
        return f"all nodes are on one {cabled.unit}"
    size = nodes_per_group(group_numbers(names, cabled))
    if size is None:
        return f"not every {cabled.unit} has equally many consecutive nodes"
    return size


def _rates_above(cabled: Finding) -> dict[str, dict[str, float]] | str:
    """Returns how fast each leaf switch reaches each switch above, or why that is not known."""
    found: dict[str, dict[str, float]] = {leaf: {} for leaf in cabled.groups}
    for link in cabled.links:
        if link.from_ not in found:
            continue
        if link.to in found:
            return f"{link.from_} and {link.to} are connected without a switch above"
        if link.bytes_per_second is None:
            return f"{cabled.source} does not say how fast {link.from_} reaches {link.to}"
        known = found[link.from_]
        known[link.to] = known.get(link.to, 0) + link.count * link.bytes_per_second
    alone = next((leaf for leaf, above in found.items() if not above), None)
    if alone is not None:
        return f"no switch above {alone} is known"
    return found
