"""What ``environment`` of ``run.json`` says of nodes that differ from rank 0's."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from weir.results.record import Count, Record


class NodeKind(Record):
    """Nodes that differ from rank 0's in the same way."""

    nodes: int = Field(ge=1)
    places: list[tuple[Count, Count]] = Field(
        description=(
            "ranges of their places in `nodes` of run.json, the first and the last; at most 128 "
            "ranges, so that later nodes may be missing"
        )
    )
    differences: dict[str, Any] = Field(
        description=(
            "what replaces parts of hardware, system_software and file_system, as a merge patch "
            "(RFC 7396): null stands for what these nodes lack"
        )
    )
    left_out: list[str] = Field(
        description="parts that differ, too, but are too long, such as hardware.network"
    )


class DescribedNodes(Record):
    """How the nodes of a job differ. One process of each described its node."""

    described: Count
    alike: Count = Field(description="nodes that do not differ from rank 0's, which is one of them")
    kinds: list[NodeKind] = Field(description="at most 32, those with the most nodes")
    unlisted: Count = Field(description="nodes of further kinds, of which only the number is kept")

    @property
    def unlike(self) -> int:
        """The number of nodes that differ from rank 0's."""
        return self.described - self.alike
