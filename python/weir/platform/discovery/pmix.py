"""PMIx: what its variables say. Places in the network are not among them.

A PMIx client can ask its server for coordinates of the fabric (PMIX_FABRIC_COORDINATES), if the
server has them; Weir makes no such call.
"""

from __future__ import annotations

from weir.platform.discovery.findings import Missing
from weir.platform.discovery.recording import Recording
from weir.platform.discovery.texts import excerpt


def from_variables(recording: Recording) -> Missing:
    """Returns what PMIx adds: the ranks at most, which ``recording`` has already taken."""
    versions = sorted(
        {node.variables[name] for node in recording.nodes for name in ("PMIX_VERSION",)
         if name in node.variables}
    )  # fmt: skip
    ranked = sum("PMIX_RANK" in node.variables for node in recording.nodes)
    if not ranked:
        return Missing("PMIx", "no node has its variables")
    named = f" {excerpt(versions[0])}" if versions else ""
    return Missing(
        "PMIx",
        f"PMIx{named} numbered the ranks on {ranked} of the nodes; its variables have no switches, "
        "which only calls of its library could ask for",
    )
