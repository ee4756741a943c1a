"""The chart of effective rates over the busy-work exponent: what it marks on its axis."""

from __future__ import annotations

import pytest

from report_reader import parse
from weir.analysis.campaign_summary import Effective
from weir.report.hiding import EXPONENT, render
from weir.results.campaign import Campaign, CampaignFactor


def chart(exponents: tuple[float, ...]) -> str:
    campaign = Campaign(
        format="weir-campaign",
        format_version=1,
        name="x",
        workload="madbench",
        created_utc="2026-11-28T00:00:00Z",
        seed=1,
        scale=1,
        replication=1,
        given={},
        factors=[CampaignFactor(names=[EXPONENT], levels=[[one] for one in exponents])],
        combinations=[{EXPONENT: one} for one in exponents],
        runs=[],
    )
    effective = [
        Effective(
            combination=place,
            label="POSIX UNIQUE ASYNC",
            direction="read",
            metric="foreground",
            median=1e9,
            low=0.9e9,
            high=1.1e9,
            confidence=0.95,
            runs=6,
            expected=None,
            verdict="none",
            synchronous=0.5e9,
            ceiling=4e9,
        )
        for place in range(len(exponents))
    ]
    return str(render(campaign, effective))


@pytest.mark.parametrize(
    ("exponents", "marked"),
    [
        ((1.0, 1.25, 1.5), ["BLAS 2", "BLAS 3"]),
        ((1.01, 1.25, 1.49), []),
        ((0.9, 1.2), ["BLAS 2"]),
        ((1.2, 1.6), ["BLAS 3"]),
    ],
)
def test_the_work_of_blas_is_marked_where_the_axis_has_it(
    exponents: tuple[float, ...], marked: list[str]
) -> None:
    page = parse(chart(exponents))
    labels = [one.text for one in page.find("text") if one.text.startswith("BLAS")]
    assert labels == marked
    assert len(page.find("path", class_="rule note-line")) == len(marked)
