"""Metadata rates over ranks: the figures are those of the runs, and a wall is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from report_reader import parse
from test_report_metadata import metadata_run
from weir.analysis.campaign_summary import (
    Line,
    cells_of,
    combinations_listing,
    constants_text,
    growth_over_ranks,
    growth_texts,
    lines_over,
)
from weir.analysis.saturation import Saturation
from weir.report.factor_charts import render_factor
from weir.results.campaign import Campaign, CampaignFactor, CampaignRun, Value
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
        factors=[CampaignFactor(names=["ranks"], levels=[[ranks] for ranks in levels])],
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


def line_of(levels: tuple[int, ...]) -> Line:
    design = campaign(levels)
    (line,) = lines_over(design, design.factors[0], cells_of(design, finished(levels)))
    return line


def text_of(levels: tuple[int, ...]) -> str:
    design = campaign(levels)
    (text,) = growth_texts(design, cells_of(design, finished(levels)))
    return text


def test_a_curve_goes_through_the_measured_rates() -> None:
    line = line_of(LEVELS)
    assert (line.name, line.full_name) == ("create", "create")
    assert line.levels == list(LEVELS)
    fit = growth_over_ranks(line)
    assert fit is not None
    assert fit.exchange == pytest.approx(0.02)
    said = fit.text()
    assert "a metadata wall" in said
    assert "with 7.00 ranks" in said
    assert text_of(LEVELS).endswith(said)
    assert "create over ranks: 1,000/s with 1, " in text_of(LEVELS)


def test_the_table_names_a_level_once() -> None:
    """Two configurations in one job, whose labels name the level of the factor too."""
    design = campaign((1, 2))
    runs = {
        number: [
            (Path(label), run.model_copy(update={"label": f"{label} shared {run.plan.ranks}m"}))
            for label in ("POSIX", "MPIIO")
            for _, run in of_one
        ]
        for number, of_one in finished((1, 2)).items()
    }
    listing = combinations_listing(design, cells_of(design, runs))
    assert listing.head[:2] == ["ranks", "configuration"]
    named = [["1", "MPIIO"], ["1", "POSIX"], ["2", "MPIIO"], ["2", "POSIX"]]
    assert [row[:2] for row in listing.rows] == named
    # A combination with one configuration has no word that tells it from another one.
    del runs[2][1]
    listing = combinations_listing(design, cells_of(design, runs))
    assert [row[1] for row in listing.rows] == ["MPIIO", "POSIX", "POSIX shared 2m"]


def test_a_level_that_all_runs_have_is_said_once() -> None:
    alone = campaign((4,))
    assert combinations_listing(alone, cells_of(alone, finished((4,)))).head[0] == "configuration"
    assert constants_text(alone) == "ranks 4"
    both = campaign((1, 4))
    assert combinations_listing(both, cells_of(both, finished((1, 4)))).head[0] == "ranks"
    assert constants_text(both) == ""


def test_the_page_shows_points_and_fit() -> None:
    design = campaign(LEVELS)
    cells = cells_of(design, finished(LEVELS))
    page = parse(str(render_factor(design, design.factors[0], cells)))
    points = page.find("path", class_="point write")
    shown = {float(p.attributes["data-value"]) for p in points if "data-value" in p.attributes}
    assert shown == {LAW.rate(ranks) for ranks in LEVELS}
    assert "over ranks, create" in page.text
    assert "a metadata wall" in page.text
    assert "create, fitted" in page.text


def test_two_levels_have_points_and_no_curve_and_one_has_nothing() -> None:
    assert growth_over_ranks(line_of((1, 2))) is None
    assert "1,000/s with 1, " in text_of((1, 2))
    design = campaign((4,))
    assert list(growth_texts(design, cells_of(design, finished((4,))))) == []
    assert "each rank up to 8 adds its own" in Saturation(10, 0, 0, 0, 8).text()
    assert "no curve fits" in Saturation(10, 0, 0, 0.5, 8).text()
    assert "rises towards 100 per second" in Saturation(10, 0.1, 0, 0, 8).text()
