"""Writes proposed tests as the TOML text of a campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tomli_w

from weir.follow_up.proposal import Proposal
from weir.results.campaign import Value

LONGEST_NAME = 60


def campaign_text(
    proposals: Sequence[Proposal],
    *,
    workload: str,
    name: str,
    description: str,
    runs: int,
    fixed: Mapping[str, Value],
    head: str = "",
    more: Mapping[str, Any] | None = None,
) -> str:
    """Returns the text: one linked factor with a level per test, and each test's purpose.

    ``more`` are further keys of the file; ``head`` are lines for a comment at its top.
    """
    names = list(proposals[0].settings)
    record: dict[str, Any] = {
        "workload": workload,
        "name": name[:LONGEST_NAME],
        "description": description,
        "replication": runs,
        **(more or {}),
        "fixed": dict(fixed),
        "factor": [_factor(names, proposals)],
        "purpose": [_purpose(one) for one in proposals],
    }
    comment = "".join(f"# {line}\n" if line else "#\n" for line in head.splitlines())
    return comment + ("\n" if comment else "") + tomli_w.dumps(record)


def _factor(names: list[str], proposals: Sequence[Proposal]) -> dict[str, Any]:
    if len(names) == 1:
        return {"name": names[0], "levels": [one.settings[names[0]] for one in proposals]}
    return {
        "names": names,
        "levels": [[one.settings[name] for name in names] for one in proposals],
    }


def _purpose(one: Proposal) -> dict[str, Any]:
    return {
        "goal": one.goal,
        "motivation": one.motivation,
        "expects": one.expects,
        "decides": one.decides,
        "follows": list(one.follows),
        "expected": [expected.model_dump(mode="json") for expected in one.expected],
        "when": dict(one.settings),
    }
