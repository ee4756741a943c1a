"""On which machine a run was made."""

from __future__ import annotations

from weir.results.schema import Run


def machine_of(run: Run) -> str:
    """Returns the host of rank 0, with the number of hosts; for an imported run what it states."""
    if run.imported is not None:
        stated = run.parameters.get("Machine")
        return "" if stated is None else str(stated.value)
    hosts = [node.host for node in run.nodes]
    first = (run.environment.hardware.get("described_host") if run.environment else None) or (
        hosts[0] if hosts else ""
    )
    return f"{first} and {len(hosts) - 1} more" if len(hosts) > 1 else str(first)
