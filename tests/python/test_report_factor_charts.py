"""Charts over a factor: each series is told from all others, however many there are."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from report_reader import Element, parse
from weir.analysis.campaign_summary import Cell, level_text
from weir.report.campaign import render_combinations
from weir.report.factor_charts import render_factor
from weir.report.line_chart import MOST_SERIES
from weir.results.campaign import Campaign, CampaignFactor, CampaignRun, Value
from weir.results.expectations import Direction
from weir.results.record import Quantity

RANKS = (1, 2, 4)
TRANSFERS = (262144, 65536, 1048576)


def campaign(factors: dict[str, tuple[Value, ...]]) -> Campaign:
    names = list(factors)
    combinations = [
        dict(zip(names, values, strict=True)) for values in itertools.product(*factors.values())
    ]
    return Campaign(
        format="weir-campaign",
        format_version=1,
        name="rates",
        workload="stream",
        created_utc="2026-11-22T00:00:00Z",
        seed=1,
        scale=1,
        replication=1,
        given={},
        factors=[
            CampaignFactor(names=[name], levels=[[level] for level in levels])
            for name, levels in factors.items()
        ],
        combinations=combinations,
        runs=[CampaignRun(number=i + 1, block=1, combination=i) for i in range(len(combinations))],
    )


def cells(design: Campaign, directions: tuple[Direction, ...]) -> list[Cell]:
    found = []
    for place, values in enumerate(design.combinations):
        for direction in directions:
            rate = 1e8 * (1 + place % 7 + int(values["ranks"]))
            expected = Quantity(value=1.1 * rate, low=0.9 * rate, high=1.2 * rate)
            found.append(
                Cell(
                    combination=place,
                    label=str(values.get("api", "POSIX")),
                    direction=direction,
                    metric="span",
                    median=rate,
                    low=0.95 * rate,
                    high=1.05 * rate,
                    confidence=0.95,
                    runs=3,
                    expected=expected,
                    verdict="as expected",
                )
            )
    return found


def drawn(factors: dict[str, tuple[Value, ...]], *directions: Direction) -> Element:
    design = campaign({"ranks": RANKS, **factors})
    return parse(str(render_factor(design, design.factors[0], cells(design, directions))))


def looks(svg: Element) -> list[tuple[str, str]]:
    """Colour and shape of each series: the class and the outline's form of its first point."""
    found = {}
    for point in svg.find("path"):
        if "data-tip" in point.attributes:
            name = point.attributes["data-tip"].rpartition(", ")[0]
            shape = "".join(c for c in point.attributes["d"] if c.isalpha())
            found.setdefault(name, (point.attributes["class"], shape))
    return list(found.values())


def names(svg: Element) -> list[str]:
    return [t.text for t in svg.find("text") if t.attributes["class"].startswith("label")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stripe-size", "4.00 MiB"),
        ("file-block", "4.00 MiB"),
        ("stripe-count", "4194304"),
        ("scalapack-block", "4194304"),
        ("ranks", "4194304"),
    ],
)
def test_only_levels_that_are_sizes_have_a_unit(name: str, text: str) -> None:
    assert level_text(name, 1 << 22) == text


@pytest.mark.parametrize("count", [2, MOST_SERIES])
def test_up_to_four_series_have_a_colour_a_shape_and_a_label_each(count: int) -> None:
    page = drawn({"transfer": tuple(65536 * 4**i for i in range(count))}, "write")
    (svg,) = page.find("svg", role="img")
    found = looks(svg)
    assert len(found) == count
    assert len({colour for colour, _ in found}) == count
    assert len({shape for _, shape in found}) == count
    assert len(names(svg)) == count
    assert not [item for item in page.find("li") if "transfer" in item.text]


def test_more_than_four_series_have_a_drawing_each_to_one_scale() -> None:
    page = drawn({"transfer": TRANSFERS, "api": ("POSIX", "MPIIO")}, "write")
    drawings = page.find("svg", role="img")
    assert len(drawings) == 6
    assert all(len(looks(svg)) == 1 for svg in drawings)
    headings = [name for svg in drawings for name in names(svg)]
    assert len(set(headings)) == 6
    # By the levels of the design, as they were asked for.
    assert ["256 KiB" in one for one in headings] == [True, True, False, False, False, False]
    ticks = [
        tuple(t.text for t in svg.find("text", class_="tick") if t.attributes.get("x") == "54")
        for svg in drawings
    ]
    assert len(set(ticks)) == 1, "not to one scale"


def test_two_directions_of_few_series_share_a_drawing_by_the_directions_colours() -> None:
    page = drawn({"api": ("POSIX", "MPIIO")}, "write", "read")
    (svg,) = page.find("svg", role="img")
    found = looks(svg)
    assert len(found) == len(set(found)) == 4


def test_two_directions_of_many_series_part() -> None:
    page = drawn({"transfer": TRANSFERS}, "write", "read")
    assert len(page.find("figure")) == 2
    assert all(len(set(looks(svg))) == 3 for svg in page.find("svg", role="img"))


def test_the_table_repeats_no_configuration_that_the_factors_tell() -> None:
    design = campaign({"ranks": RANKS, "api": ("POSIX", "MPIIO")})
    single = cells(design, ("write",))
    several = [*single, *(replace(cell, label="MPI SHARED") for cell in single)]
    for listed, said in ((single, False), (several, True)):
        page = parse(str(render_combinations(design, listed)))
        heads = [head.text for head in page.one("thead").find("th")]
        assert ("configuration" in heads) == said
        assert len(page.one("tbody").find("tr")) == len(listed)
        rows = page.one("tbody").find("tr")
        assert {len(row.find("td")) + len(row.find("th")) for row in rows} == {len(heads)}
