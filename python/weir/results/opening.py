"""How the operations of a step of the workload open are worded."""

from __future__ import annotations

from weir.results.opening_records import StepOperations


def growth_text(operations: StepOperations) -> str:
    """How the operations grow: "2 + 3 n", or by nodes."""
    nodes = operations.nodes
    if nodes is not None:
        first, further = nodes.first_node, nodes.further_node
        return f"{first} + {further:.3g} per further node of {nodes.ranks_per_node}"
    fixed, each = operations.fixed, operations.per_rank
    if abs(each) < 0.0005:
        return f"{max(fixed, 0.0):.3g}"
    text = f"{each:.3g} n"
    return f"{fixed:.3g} + {text}" if abs(fixed) >= 0.05 else text
