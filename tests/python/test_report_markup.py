"""Escaping and units: no text becomes markup, no number loses its exact value."""

from __future__ import annotations

import pytest

from report_reader import parse
from weir.report import quantities
from weir.report.chart import LinearScale, LogScale
from weir.report.markup import Markup, coordinate, element, join

HOSTILE = "</p><script>alert(1)</script>\"'&<img src=x onerror=alert(2)>"


def test_text_and_attributes_come_back_as_they_went_in() -> None:
    page = parse(element("p", HOSTILE, title=HOSTILE, class_="a"))
    paragraph = page.one("p")
    assert paragraph.text == HOSTILE
    assert paragraph.attributes == {"title": HOSTILE, "class": "a"}
    assert not page.find("script")
    assert not page.find("img")


def test_joined_parts_are_escaped_once() -> None:
    inner = element("b", "a < b")
    assert join("1 < 2 ", inner, None, ["x & y"]) == "1 &lt; 2 <b>a &lt; b</b>x &amp; y"


def test_control_characters_and_lone_surrogates_are_shown_as_replaced() -> None:
    assert element("p", "a\x00b\x1bc\ud800d\te\n") == "<p>a\ufffdb\ufffdc\ufffdd\te\n</p>"


@pytest.mark.parametrize("name", ["on click", "a>b", "", "1x", 'x"'])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name of a tag"):
        element(name, "text")
    with pytest.raises(ValueError, match="no name of a tag"):
        element("p", **{name: "text"})


def test_absent_attributes_leave_no_trace() -> None:
    assert element("p", hidden=True, title=None, lang=False) == "<p hidden></p>"
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (0.004, "0"), (-0.001, "0"), (12.345, "12.35"), (10, "10")]
)
def test_coordinates_are_short(value: float, text: str) -> None:
    assert coordinate(value) == text


@pytest.mark.parametrize(
    ("bytes_per_second", "text"),
    [
        (0.0, "0 KiB/s"),
        (1.5 * 2**20, "1.50 MiB/s"),
        (1023.9 * 2**20, "1.00 GiB/s"),
        (963 * 2**20, "963 MiB/s"),
        (1.42 * 2**30, "1.42 GiB/s"),
        (99.96 * 2**30, "100 GiB/s"),
        (3.5 * 2**40, "3.50 TiB/s"),
        (1023.9 * 2**10, "1.00 MiB/s"),
        (0.0123 * 2**20, "12.6 KiB/s"),
        (1.0, "0.000977 KiB/s"),
    ],
)
def test_rates_are_scaled(bytes_per_second: float, text: str) -> None:
    assert quantities.rate_text(bytes_per_second) == text


def test_a_rate_keeps_its_exact_value() -> None:
    exact = 1523123123.4375
    shown = parse(quantities.rate(exact)).one("data")
    assert shown.text == "1.42 GiB/s"
    assert float(shown.attributes["value"]) == exact
    assert shown.attributes["title"].replace(quantities.THIN_SPACE, "") == (
        "1523123123 bytes per second"
    )


def test_a_range_says_its_unit_once_where_it_can() -> None:
    assert quantities.rate_range_text(1.5 * 2**30, 2 * 2**30) == "1.50 to 2.00 GiB/s"
    assert quantities.rate_range_text(0.5 * 2**30, 2 * 2**30) == "512 MiB/s to 2.00 GiB/s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (3e-9, "3.00 ns"), (0.0128, "12.8 ms"), (1.0, "1.00 s"), (178.2, "178 s")],
)
def test_times_are_scaled(seconds: float, text: str) -> None:
    assert quantities.seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.944, "94 %"), (0.0031, "0.31 %"), (1e-7, "under 0.01 %"), (0.0, "0 %"), (12.0, "1200 %")],
)
def test_percentages(fraction: float, text: str) -> None:
    assert quantities.percent_text(fraction) == text


def test_consecutive_ranks_are_joined() -> None:
    assert quantities.ranks_text([3, 0, 1, 2, 7, 9, 10]) == "0\u20133, 7, 9\u201310"


@pytest.mark.parametrize("high", [0.0123, 1.0, 7.3, 4096.0, 1e9])
def test_linear_ticks_are_round_and_inside(high: float) -> None:
    ticks = LinearScale(0, high, 0, 100).ticks(5)
    assert 3 <= len(ticks) <= 7
    assert ticks[0] == 0
    assert ticks[-1] <= high * (1 + 1e-9)


@pytest.mark.parametrize("high", [1.3e6, 2e6, 1e7, 1e12])
def test_log_ticks_are_inside(high: float) -> None:
    scale = LogScale(1e6, high, 0, 100)
    ticks = scale.ticks()
    assert len(ticks) >= 2
    assert all(-1e-6 <= scale(tick) <= 100 + 1e-6 for tick in ticks)


def test_markup_is_kept_and_strings_are_not() -> None:
    assert join(Markup("<b></b>")) == "<b></b>"
    assert join("<b></b>") == "&lt;b&gt;&lt;/b&gt;"
