"""The report in a browser: quiet, offline, readable, reachable by keyboard, true to its data."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synthetic import make_events, make_run, write_run_folder
from test_history import dated, with_parameters
from watched_targets import with_targets
from weir.analysis.campaign_summary import cells_of, combinations_listing
from weir.report import write_report
from weir.report.listing import render
from weir.report.sources import MOST_WITHIN_A_PAGE
from weir.results.campaign import Campaign
from weir.results.folder import write_run
from weir.results.schema import Run

Open = Callable[..., Any]
"""The fixture ``open_report`` of ``conftest.py``."""

LABELS = ("POSIX UNIQUE SYNC", "POSIX UNIQUE ASYNC", "MPI SHARED SYNC")
LEVELS = {"ranks": 1024, "transfer": 2**26}
HOSTILE = "<script>window.harmed=1</script><img src=x onerror='window.harmed=2'>"

CONTRAST = """selectors => {
  const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const parse = c => c.match(/[0-9.]+/g).map(Number);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = node => {
    for (; node; node = node.parentElement) {
      const colour = parse(getComputedStyle(node).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = {};
  for (const selector of selectors) for (const node of document.querySelectorAll(selector)) {
    const style = getComputedStyle(node);
    const ink = luminance(parse(node.closest('svg') ? style.fill : style.color));
    const page = luminance(ground(node));
    const ratio = (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05);
    found[selector] = Math.min(found[selector] ?? 99, ratio);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {label: make_run(label=label, finalized=True) for label in LABELS}


@pytest.fixture(scope="module")
def reports(runs: dict[str, Run], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One report per label, and ``all`` over them."""
    root = tmp_path_factory.mktemp("runs")
    for label, run in runs.items():
        write_run_folder(root / label.lower(), run, make_events(label=label), finalized=True)
    written = {label: write_report(root / label.lower()) for label in LABELS}
    return {**written, "all": write_report(root)}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["all", *LABELS])
def test_loads_without_a_word_or_a_request(
    open_report: Open, reports: dict[str, Path], name: str, dark: bool
) -> None:
    opened = open_report(reports[name], dark=dark)
    opened.page.mouse.wheel(0, 4000)
    opened.page.wait_for_load_state("load")
    assert opened.complaints == []
    assert opened.requests == [reports[name].as_uri()]


def test_headline_and_verdict_are_seen(
    open_report: Open, reports: dict[str, Path], runs: dict[str, Run]
) -> None:
    page = open_report(reports[LABELS[0]]).page
    assert page.title().startswith("POSIX UNIQUE SYNC")
    for direction in ("write", "read"):
        sentence = page.locator(f"[data-headline={direction}]")
        assert sentence.is_visible()
        rate = next(r for r in runs[LABELS[0]].rates if r.direction == direction and r.headline)
        shown = float(sentence.locator("data").first.get_attribute("value"))
        assert shown == rate.median
        assert page.locator(f".tile-{direction} [data-verdict='as expected']").is_visible()


def test_points_stand_where_their_values_are(
    open_report: Open, reports: dict[str, Path], runs: dict[str, Run]
) -> None:
    """On the screen, distances between points are in the ratio of their values' differences."""
    page = open_report(reports[LABELS[0]]).page
    for direction in ("write", "read"):
        points = page.evaluate(
            """name => [...document.querySelectorAll(
                 `[data-figure="${name}"] [data-row=all] [data-repetition]`)].map(point => {
                 const box = point.getBoundingClientRect();
                 return [Number(point.dataset.value), box.x + box.width / 2];
               })""",
            f"rates-{direction}",
        )
        rate = next(r for r in runs[LABELS[0]].rates if r.direction == direction and r.headline)
        assert [value for value, _ in points] == rate.values
        points.sort()
        (low, low_x), (high, high_x) = points[0], points[-1]
        for value, x in points:
            expected = low_x + (value - low) / (high - low) * (high_x - low_x)
            assert x == pytest.approx(expected, abs=0.5)


def test_bars_are_as_long_as_their_times(open_report: Open, reports: dict[str, Path]) -> None:
    page = open_report(reports[LABELS[0]]).page
    bars = page.evaluate(
        """() => [...document.querySelectorAll('[data-figure=ranks] rect[data-value]')].map(
             bar => [Number(bar.dataset.value), bar.getBoundingClientRect().width])"""
    )
    assert len(bars) == 4 * 4
    longest_value, longest_width = max(bars)
    for value, width in bars:
        assert width == pytest.approx(longest_width * value / longest_value, abs=0.5)


def test_the_trace_draws_every_operation_of_every_rank(
    open_report: Open, reports: dict[str, Path]
) -> None:
    page = open_report(reports[LABELS[0]]).page
    events = make_events(label=LABELS[0])
    name = page.locator("[data-figure^=trace]").first.get_attribute("data-figure")
    mine = events["repetition"] == int(name.removeprefix("trace-"))
    waits = int((events["barrier_wait_ns"][mine] > 0).sum())
    marks = page.locator(f"[data-figure={name}] [data-intervals] rect")
    assert marks.count() == int(mine.sum()) + waits
    reads = page.locator(f"[data-figure={name}] [data-intervals] rect.read")
    assert reads.count() == int((events["operation"][mine] == 0).sum())
    assert not page.evaluate(
        "() => [...document.querySelectorAll('svg[role=img]')].some(s => !s.ariaLabel)"
    )


def test_a_mark_tells_what_it_is_under_the_pointer(
    open_report: Open, reports: dict[str, Path]
) -> None:
    page = open_report(reports[LABELS[0]]).page
    tip = page.locator("[role=tooltip]")
    assert tip.is_hidden()
    mark = page.locator("[data-intervals] rect.read").first
    mark.hover()
    assert tip.is_visible()
    assert tip.inner_text() == mark.get_attribute("data-tip")


def focus_order(page: Any) -> list[str]:
    """Press Tab until the page is left; what had the focus, in order."""
    reached: list[str] = []
    for _ in range(400):
        page.keyboard.press("Tab")
        name = page.evaluate(
            """() => { const e = document.activeElement;
                 return e === document.body ? '' :
                   e.getAttribute('href') || e.getAttribute('aria-label') ||
                   `${e.tagName} ${e.parentElement.id}`.trim(); }"""
        )
        if not name:
            return reached
        reached.append(name)
    pytest.fail("the focus never left the page")


def test_all_is_reached_by_keyboard(open_report: Open, reports: dict[str, Path]) -> None:
    page = open_report(reports[LABELS[0]]).page
    order = focus_order(page)
    assert order[0] == "#result"
    links = [link.get_attribute("href") for link in page.locator("nav a").element_handles()]
    assert order[1 : 1 + len(links)] == links
    assert len(links) == 10
    summaries = page.locator("summary").count()
    assert summaries >= 10
    assert sum(name.startswith("SUMMARY") for name in order) == summaries
    assert sum(name.startswith("Drawing") for name in order) == 5
    zooming = page.locator("figure:has(.time-axis)").count()
    assert order.count("Show all of the time") == zooming == 2


def test_skip_link_and_sections_by_keyboard(open_report: Open, reports: dict[str, Path]) -> None:
    page = open_report(reports[LABELS[0]]).page
    page.keyboard.press("Tab")
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "result"
    link = page.locator("nav a", has_text="Latency")
    link.focus()
    page.keyboard.press("Enter")
    box = page.locator("#posix-unique-sync-latency").bounding_box()
    assert 0 <= box["y"] < 300
    summary = page.locator("#posix-unique-sync-latency summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("#posix-unique-sync-latency table").first.is_visible()


def test_a_link_opens_its_run(open_report: Open, reports: dict[str, Path]) -> None:
    page = open_report(reports["all"]).page
    run = page.locator("details#mpi-shared-sync")
    assert run.get_attribute("open") is None
    page.locator("table.comparison a", has_text="MPI SHARED SYNC").click()
    assert run.get_attribute("open") is not None
    assert page.locator("#mpi-shared-sync .tile").first.is_visible()
    direct = open_report(reports["all"], fragment="#posix-unique-async-latency").page
    assert direct.locator("details#posix-unique-async").get_attribute("open") is not None
    assert 0 <= direct.locator("#posix-unique-async-latency").bounding_box()["y"] < 300


@pytest.mark.parametrize("dark", [False, True])
def test_words_stand_out_in_both_colour_schemes(
    open_report: Open, reports: dict[str, Path], dark: bool
) -> None:
    page = open_report(reports["all"], dark=dark, fragment="#posix-unique-async").page
    ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(17, 22, 27)" if dark else "rgb(255, 255, 255)")
    fill = page.evaluate("() => getComputedStyle(document.querySelector('rect.read')).fill")
    assert fill == ("rgb(86, 180, 233)" if dark else "rgb(31, 111, 178)")
    selectors = ["body", ".note", ".badge", ".facts", "figcaption", "nav a", "a", ".none",
                 "thead th", "svg text", "summary", ".tag"]  # fmt: skip
    ratios = page.evaluate(CONTRAST, selectors)
    assert {"body", ".badge", "svg text"} <= set(ratios)
    assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}


def test_print_shows_every_run_on_white(open_report: Open, reports: dict[str, Path]) -> None:
    page = open_report(reports["all"], dark=True, width=700).page
    page.emulate_media(media="print", color_scheme="dark")
    white = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert white == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    for anchor in ("posix-unique-sync", "posix-unique-async", "mpi-shared-sync"):
        figures = page.locator(f"#{anchor} figure > .drawing svg[role=img]")
        assert figures.count() >= 8
        boxes = [figures.nth(i).bounding_box() for i in range(figures.count())]
        assert all(box["height"] > 20 and box["x"] + box["width"] <= 701 for box in boxes)
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF-")


@pytest.mark.parametrize("name", ["all", LABELS[1]])
def test_narrow_screens_scroll_down_only(
    open_report: Open, reports: dict[str, Path], name: str
) -> None:
    page = open_report(reports[name], width=360).page
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_the_verdict_of_a_campaign_is_not_cut(
    open_report: Open, reports: dict[str, Path], runs: dict[str, Run]
) -> None:
    """A row has two factors, the configuration and seven figures besides."""
    factors = [{"names": [name], "levels": [[level]]} for name, level in LEVELS.items()]
    campaign = Campaign.model_validate(
        {
            "format": "weir-campaign",
            "format_version": 1,
            "name": "sweep",
            "seed": 1,
            "workload": "madbench",
            "created_utc": "2026-11-22T00:00:00Z",
            "scale": 1,
            "replication": 1,
            "given": {},
            "factors": factors,
            "combinations": [LEVELS],
            "runs": [{"number": 1, "block": 1, "combination": 0}],
        }
    )
    finished = {1: [(Path(label), run) for label, run in runs.items()]}
    table = render(combinations_listing(campaign, cells_of(campaign, finished)))
    page = open_report(reports["all"], width=1300).page
    page.evaluate("table => { document.querySelector('main').innerHTML = table; }", str(table))
    assert "as expected" in page.locator("main table").inner_text()
    hidden = page.evaluate(
        "() => { const box = document.querySelector('main .scroll');"
        " return box.scrollWidth - box.clientWidth; }"
    )
    assert hidden <= 0


def test_a_hostile_result_runs_nothing(open_report: Open, tmp_path: Path) -> None:
    record = json.loads(make_run(failed=True).model_dump_json())
    record["label"] += HOSTILE
    record["failure"]["file"] += HOSTILE
    record["warnings"] = [HOSTILE]
    for node in record["nodes"]:
        node["host"] += HOSTILE
    run = Run.model_validate(record)
    write_run_folder(tmp_path, run, make_events(failed=True), finalized=True)
    opened = open_report(write_report(tmp_path))
    assert opened.page.evaluate("() => window.harmed") is None
    assert opened.complaints == []
    assert opened.page.locator("[data-failure=file]").inner_text() == record["failure"]["file"]
    assert opened.page.locator("[role=alert]").is_visible()


@pytest.mark.parametrize("ranks", [64, 1024])
def test_many_ranks_stay_legible(open_report: Open, tmp_path: Path, ranks: int) -> None:
    fields: dict[str, Any] = {"ranks": ranks, "straggler_rank": 37, "repetitions": 3,
                              "ranks_per_host": 128, "label": "MPI SHARED SYNC"}  # fmt: skip
    write_run_folder(tmp_path, make_run(**fields), make_events(**fields), finalized=True)
    report = write_report(tmp_path)
    assert report.stat().st_size < 1_000_000
    page = open_report(report).page
    rows = page.locator("[data-figure^=trace] text.tick", has_text="rank ").element_handles()
    tops = [row.bounding_box()["y"] for row in rows]
    assert len(tops) >= 20
    assert min(b - a for a, b in itertools.pairwise(tops)) >= 10
    assert page.locator("[data-figure=ranks] text", has_text="slowest: rank 37").is_visible()
    assert page.locator("[data-figure=activity] path").count() == 5


TICKS = """() => [...document.querySelectorAll('[data-figure^=trace] .time-axis .mark')]
                 .map(mark => Number(mark.textContent)).sort((a, b) => a - b)"""
SHOWN = "svg => svg.getAttribute('viewBox').split(' ').map(Number)"


def test_a_part_of_the_time_is_enlarged_and_moved(
    open_report: Open, reports: dict[str, Path]
) -> None:
    opened = open_report(reports[LABELS[0]])
    page = opened.page
    figure = page.locator("[data-figure^=trace]").first
    plot, whole = figure.locator("svg.plot"), page.evaluate(TICKS)
    x, _, width, _ = plot.evaluate(SHOWN)
    button = figure.locator(".zoom button")
    button.first.focus()
    page.keyboard.press("Enter")
    assert plot.evaluate(SHOWN)[::2] == pytest.approx([x + width / 4, width / 2])
    ticks = page.evaluate(TICKS)
    assert whole[0] < ticks[0]
    assert ticks[-1] < whole[-1]
    button.nth(2).click()
    assert plot.evaluate(SHOWN)[::2] == pytest.approx([x, width / 2])
    assert page.evaluate(TICKS)[0] == 0
    names = figure.locator("text.at:visible").all_text_contents()
    assert names[0] == "S"
    assert "C" not in names
    mark = figure.locator("[data-intervals] rect").nth(3)
    mark.hover()
    assert page.locator("[role=tooltip]").inner_text() == mark.get_attribute("data-tip")
    button.last.click()
    assert page.evaluate(TICKS) == whole
    assert plot.evaluate(SHOWN)[::2] == pytest.approx([x, width])
    assert opened.complaints == []


def test_dragging_enlarges_all_drawings_of_a_clock(open_report: Open, tmp_path: Path) -> None:
    run = with_targets(tmp_path, make_run(finalized=True), 20)
    write_run_folder(tmp_path, run, make_events(), finalized=True)
    opened = open_report(write_report(tmp_path))
    page = opened.page
    heat = page.locator("[data-figure=targets-over-time] svg[role=img]")
    heat.scroll_into_view_if_needed()
    box = heat.bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    assert "MiB/s" in page.locator("[role=tooltip]").inner_text()
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 60)
    page.mouse.up()
    for name in ("targets", "targets-over-time", "ranks-over-time"):
        plot = page.locator(f"[data-figure={name}] svg.plot").first
        *_, width, _ = plot.evaluate(SHOWN)
        assert width < 0.3 * float(plot.get_attribute("width"))
    heat.dblclick(position={"x": 300, "y": 60})
    *_, width, _ = plot.evaluate(SHOWN)
    assert width == pytest.approx(float(plot.get_attribute("width")))
    assert opened.complaints == []


def test_the_data_of_a_figure_are_saved(open_report: Open, reports: dict[str, Path]) -> None:
    opened = open_report(reports[LABELS[0]])
    page = opened.page
    saved = {}
    for name in ("ranks", "ranks-over-time"):
        data = page.locator(f"[data-figure={name}] > details.data")
        data.locator("summary").click()
        with page.expect_download() as download:
            data.locator("button").click()
        assert download.value.suggested_filename == f"{name}.csv"
        saved[name] = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    head, *rows = saved["ranks"]
    assert head.startswith("Rank,Host,I/O,read")
    shown = page.locator("[data-figure=ranks] tbody tr").first.locator("data").first
    assert rows[0].split(",")[2] == shown.get_attribute("value")
    assert saved["ranks-over-time"][0].startswith("write by rank from second,MiB/s,0,")
    assert opened.complaints == []


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page over runs of three configurations, of which two are one campaign's."""
    root = tmp_path_factory.mktemp("index")
    for number in range(MOST_WITHIN_A_PAGE + 1):
        block = max(0, number - MOST_WITHIN_A_PAGE + 2)
        run = with_parameters(make_run(finalized=True), "command line", block=block)
        rate = 1e9 * (1 + number)
        folder = root / ("sweep" if block else f"night-{number}") / f"run-{number}"
        folder.mkdir(parents=True)
        write_run(folder, dated(run, 0 if block else number, rate))
    return write_report(root)


def test_the_index_of_runs_is_filtered_sorted_and_printed_whole(
    index: Path, open_report: Open
) -> None:
    opened = open_report(index)
    page, rows = opened.page, "document.querySelectorAll('.index tbody tr:not([hidden])').length"
    total = page.evaluate(rows)
    assert total == MOST_WITHIN_A_PAGE + 1
    for words, found in (
        ("NIGHT-7", 1),
        ("2026-10-05 06:00", 1),
        ("nonsense", 0),
        ("ext4 block=1", 1),
    ):
        page.fill(".filter input", words)
        page.get_by_text(f"{found} of {total} runs", exact=True).wait_for()
        assert page.evaluate(rows) == found
    page.fill(".filter input", "")
    page.get_by_text(f"{total} runs", exact=True).wait_for()
    assert page.evaluate(rows) == total
    first = "document.querySelector('.index > details strong').textContent"
    page.click(".index-head button:has-text('Write')")
    assert page.evaluate(first) == "sweep"
    page.click(".index-head button:has-text('Write')")
    assert page.evaluate(first) == "POSIX UNIQUE SYNC"
    assert page.evaluate("document.querySelectorAll('.index details[open]').length") == 0
    page.emulate_media(media="print")
    seen = "[...document.querySelectorAll('.index tbody tr')].every(one => one.offsetHeight > 0)"
    assert page.evaluate(seen), "rows that are folded are printed"
    assert opened.complaints == []
    assert len(opened.requests) == 1


@pytest.mark.parametrize("dark", [False, True])
def test_the_index_of_runs_fits_narrow_and_wide_windows(
    index: Path, open_report: Open, dark: bool
) -> None:
    for width in (400, 800, 1280):
        page = open_report(index, width=width, dark=dark).page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        top = page.evaluate("document.querySelector('.index').getBoundingClientRect().top")
        assert top < 900, "the list begins within the first screen"
