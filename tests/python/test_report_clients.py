"""Metadata rates over ranks: the figures are those of the runs, and a wall is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from report_reader import parse
from test_report_metadata import metadata_run
from weir.analysis.saturation import Saturation
from weir.report.clients import curves_of, render, sentence_of, text_of
from weir.results.campaign import Campaign, CampaignRun, Value
from weir.results.schema import Run

LEVELS = (1, 2, 4, 8, 16)
LAW = Saturation(1000, 0.02, 0.02, 0, 16)


def campaign(levels: tuple[int, ...]) -> Campaign:
    runs = [CampaignRun(number=i + 1, block=1, combination=i) for i in range(len(levels))]
    combinations: list[dict[str, Value]] = [{"ranks": ranks} for ranks in levels]
    return Campaign(
        format="weir-campaign",
        format_version=1,
        name="sweep-ranks",
        workload="metadata",
        created_utc="2026-11-22T00:00:00Z",
        seed=1,
        scale=1,
        replication=1,
        given={},
        factors=[],
        combinations=combinations,
        runs=runs,
    )


def run_at(ranks: int) -> Run:
    run = metadata_run(1.1)
    own: dict[str, Any] = {"median": LAW.rate(ranks)}
    own |= {"low": 0.9 * LAW.rate(ranks), "high": 1.1 * LAW.rate(ranks)}
    rates = [
        rate.model_copy(update=own) if rate.metric == "span" else rate
        for rate in run.metadata[0].rates
    ]
    return run.model_copy(
        update={
            "plan": run.plan.model_copy(update={"ranks": ranks}),
            "metadata": [run.metadata[0].model_copy(update={"rates": rates})],
        }
    )


def finished(levels: tuple[int, ...]) -> dict[int, list[tuple[Path, Run]]]:
    return {i + 1: [(Path("runs/posix-shared"), run_at(ranks))] for i, ranks in enumerate(levels)}


def test_a_curve_goes_through_the_measured_rates() -> None:
    (curve,) = curves_of(campaign(LEVELS), finished(LEVELS))
    assert (curve.action, curve.configuration) == ("create", "posix-shared")
    assert [point.level for point in curve.points] == list(LEVELS)
    assert curve.fit is not None
    assert curve.fit.exchange == pytest.approx(0.02)
    said = sentence_of(curve.fit)
    assert "a metadata wall" in said
    assert "with 7.00 ranks" in said
    assert text_of(curve).endswith(said)
    assert "create over ranks, posix-shared: 1\u202f000/s with 1, " in text_of(curve)


def test_the_page_shows_points_and_fit() -> None:
    page = parse(str(render(campaign(LEVELS), finished(LEVELS))))
    points = page.find("path", class_="point write")
    shown = {float(p.attributes["data-value"]) for p in points if "data-value" in p.attributes}
    assert shown == {LAW.rate(ranks) for ranks in LEVELS}
    assert "create over ranks" in page.text


def test_two_levels_have_points_and_no_curve_and_one_has_nothing() -> None:
    (curve,) = curves_of(campaign((1, 2)), finished((1, 2)))
    assert curve.fit is None
    assert render(campaign((4,)), finished((4,))) is None
    assert "each rank up to 8 adds its own" in sentence_of(Saturation(10, 0, 0, 0, 8))
    assert "no curve fits" in sentence_of(Saturation(10, 0, 0, 0.5, 8))
    assert "rises towards 100 per second" in sentence_of(Saturation(10, 0.1, 0, 0, 8))
