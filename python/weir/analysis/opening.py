"""Formats the number of operations of a step of the workload open."""

from __future__ import annotations

from weir.results.opening_records import StepOperations

VISIBLE = 5e-4
"""A smaller part of an operation is an artefact of the fit and counts as none."""


def growth_text(operations: StepOperations) -> str:
    """Returns how operations grow, such as "2 + 3 n", by nodes; or says that counts are too few."""
    nodes = operations.nodes
    if nodes is not None:
        first, further = nodes.first_node, _number(nodes.further_node)
        return f"{first} + {further} per further node of {nodes.ranks_per_node}"
    if not operations.expected:
        return "unknown below 3 ranks"
    fixed, each = operations.fixed, operations.per_rank
    if abs(each) < VISIBLE:
        return _number(max(fixed, 0.0))
    if abs(fixed) < VISIBLE:
        return f"{_number(each)} n"
    if fixed < 0:
        return f"{_number(each)} n - {_number(-fixed)}"
    return f"{_number(fixed)} + {_number(each)} n"


def _number(value: float) -> str:
    return f"{round(value)}" if abs(value - round(value)) < VISIBLE else f"{value:.2f}"
