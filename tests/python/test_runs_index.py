"""The index of runs of several jobs: what is a row, what stands in it, and how large it may be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from report_reader import Element, read_report
from synthetic import make_run
from test_conditions import run_with
from test_history import dated, months, with_parameters
from weir.analysis.configurations import configurations_of
from weir.analysis.history import History, histories_of
from weir.report import history_chart, write_report
from weir.report.history_chart import LEAST_DRAWN, date_ticks
from weir.report.page import MOST_COMPARED, render_page
from weir.report.runs_index import MOST_CHANGES, collected, rows_of
from weir.report.sources import MOST_WITHIN_A_PAGE, Source
from weir.results.campaign import Campaign, CampaignRun
from weir.results.folder import write_json, write_run
from weir.results.schema import Run

DAY, YEAR = 86400.0, 365 * 86400.0


def source(run: Run, number: int, campaign: str = "", place: str = "") -> Source:
    return Source(
        run,
        None,
        f"run-{number}",
        place=place or f"night/{number}",
        is_within=False,
        campaign=campaign,
    )


def page_of(sources: list[Source], tmp_path: Path) -> Element:
    (tmp_path / "report.html").write_text(render_page(sources))
    return read_report(tmp_path / "report.html")


def names(page: Element, kind: str) -> list[str]:
    found = page.find("details", class_=f"fold {kind}")
    return [one.find("span", data_column="name")[0].find("strong")[0].text for one in found]


def test_a_configuration_that_ran_again_is_a_row_and_a_campaign_with_several_is_one() -> None:
    """Of a campaign, two configurations are a collection; a third one ran again elsewhere."""
    blocks = {
        block: with_parameters(make_run(), "command line", block=block) for block in (1, 2, 3)
    }
    sources = [
        source(dated(blocks[1], 1, 1e9), 1, "sweep"),
        source(dated(blocks[2], 2, 1e9), 2, "sweep"),
        source(dated(blocks[3], 3, 1e9), 3, "sweep"),
        source(dated(blocks[3], 4, 1e9), 4),
    ]
    rows = collected(rows_of(sources))
    assert [len(getattr(row, "rows", ())) for row in rows] == [0, 2]
    assert [len(row.sources) for row in rows] == [2, 2], "the newest run's row is the first"
    alone = collected(rows_of(sources[1:2]))
    assert [len(getattr(row, "rows", ())) for row in alone] == [0], "one configuration is a row"


def test_a_job_with_several_configurations_is_one_row() -> None:
    blocks = [with_parameters(make_run(), "command line", block=block) for block in (1, 2)]
    of_one_job = [source(dated(run, 1, 1e9), n, place=f"job/{n}") for n, run in enumerate(blocks)]
    (job,) = collected(rows_of(of_one_job))
    assert (job.kind, job.place, len(job.rows)) == ("job", "job", 2)  # type: ignore[union-attr]
    elsewhere = [source(dated(run, 1, 1e9), n, place=f"{n}/a") for n, run in enumerate(blocks)]
    assert len(collected(rows_of(elsewhere))) == 2


def test_the_rows_have_count_median_spread_verdicts_and_date(tmp_path: Path) -> None:
    values = (1e9, 1.1e9, 0.9e9)
    runs = [dated(make_run(finalized=True), day, value) for day, value in enumerate(values)]
    failed = dated(make_run(failed=True), 3, 5e9)
    runs.append(failed.model_copy(update={"label": runs[0].label}))
    page = page_of([source(run, n) for n, run in enumerate(runs)], tmp_path)
    (row,) = page.find("details", class_="fold configuration")
    cells = {one.attributes["data-column"]: one for one in row.find("summary")[0].find("span")[1:]
             if "data-column" in one.attributes}  # fmt: skip
    assert cells["runs"].text == "4"
    assert float(cells["write"].attributes["data-key"]) == 1e9, "a run that failed has no rate"
    assert cells["write-spread"].text == "6.7 %"
    assert {
        one.attributes["data-verdict"] for one in cells["verdicts"].find("span", class_="badge")
    }
    assert any(one.attributes.get("data-verdict") == "failed" for one in cells["verdicts"].walk())
    assert cells["latest"].one("time").attributes["datetime"].startswith("2026-10-04")
    started = [one.one("time").attributes["datetime"][:10] for one in row.one("tbody").find("tr")]
    assert started == ["2026-10-04", "2026-10-03", "2026-10-02", "2026-10-01"]
    assert failed.failure is not None
    assert failed.failure.message in row.one("tbody").text


def test_the_list_is_before_all_else_and_no_script_is_needed(tmp_path: Path) -> None:
    runs = [dated(make_run(finalized=True), day, 1e9) for day in range(MOST_WITHIN_A_PAGE + 1)]
    page = page_of([source(run, n) for n, run in enumerate(runs)], tmp_path)
    order = [one.attributes.get("id") for one in page.walk()]
    assert order.index("runs") < order.index("compared")
    assert len(page.one("div", id="runs").find("tbody")[0].find("tr")) == len(runs)
    assert "hidden" in page.one("div", class_="filter").attributes, "only the script shows it"
    assert page.find("details", id="compared")[0].attributes.get("open") is None


def test_a_run_links_to_its_page_or_to_its_part_of_the_page_of_its_job(tmp_path: Path) -> None:
    for number in range(MOST_WITHIN_A_PAGE + 1):
        run = dated(make_run(), number, 1e9)
        folder = tmp_path / f"job {number}" / "a"
        folder.mkdir(parents=True)
        write_run(folder, run)
    (tmp_path / "job 3" / "report.html").write_text("of the job")
    (tmp_path / "job 4" / "a" / "report.html").write_text("its own")
    page = read_report(write_report(tmp_path))
    links = [one.attributes["href"] for one in page.one("div", id="runs").find("a")]
    assert links == ["job%204/a/report.html", "job%203/report.html#posix-unique-sync"]


def test_a_campaign_is_found_from_the_folders_of_its_runs(tmp_path: Path) -> None:
    blocks = [with_parameters(make_run(), "command line", block=block) for block in (1, 2)]
    campaign = Campaign(
        format="weir-campaign",
        format_version=1,
        name="sweep",
        workload="madbench",
        created_utc="2026-10-01T00:00:00Z",
        seed=1,
        scale=1,
        replication=1,
        given={},
        factors=[],
        combinations=[{}],
        runs=[CampaignRun(number=number, block=1, combination=0) for number in (1, 2)],
    )
    for number, run in enumerate(blocks, 1):
        folder = tmp_path / "all" / "sweep" / "runs" / f"{number:04}" / "a"
        folder.mkdir(parents=True)
        write_run(folder, dated(run, number, 1e9))
    file = tmp_path / "all" / "sweep" / "campaign.json"
    write_json(file, campaign.model_dump(mode="json"))
    (file.parent / "report.html").write_text("the campaign's")
    page = read_report(write_report(tmp_path / "all"))
    assert names(page, "collection") == ["sweep"]
    assert "sweep/report.html" in [one.attributes["href"] for one in page.find("a")]
    file.write_text("{")
    page = read_report(write_report(tmp_path / "all"))
    assert names(page, "collection") == [], "a campaign that cannot be read hides no run"
    assert len(names(page, "configuration")) == 2


def test_what_can_be_written_into_results_stays_text(tmp_path: Path) -> None:
    hostile = "<script>x</script>"
    runs = [dated(make_run(), day, 1e9) for day in (1, 2)]
    sources = [
        source(run.model_copy(update={"label": hostile}), n, hostile, f"{hostile}/{n}")
        for n, run in enumerate(runs)
    ]
    page = page_of(sources, tmp_path)
    assert len(page.find("script")) == 1
    assert hostile in page.one("div", id="runs").text


def test_a_change_is_drawn_and_told_where_the_list_begins(tmp_path: Path) -> None:
    runs = months(run_with(kernel="6.1.1"), run_with(kernel="6.1.4"))
    page = page_of([source(run, n) for n, run in enumerate(runs)], tmp_path)
    (write,) = page.find("figure", data_figure="history-write")
    assert len(write.values()) == len(runs)
    assert len(write.find("line", class_="changed")) == 1
    assert len(write.find("line", class_="level")) == 2
    assert "what changed with it: kernel 6.1.1 -> 6.1.4" in write.one("figcaption").text
    (read,) = page.find("figure", data_figure="history-read")
    assert read.find("line", class_="changed") == []
    (told,) = page.one("section", id="changes").find("li")
    assert "kernel 6.1.1 -> 6.1.4" in told.text
    row = page.one("details", class_="fold configuration")
    assert told.one("a").attributes["href"] == f"#{row.attributes['id']}"
    assert page.one("svg", width="104").find("line", class_="changed")


def test_of_many_changes_the_newest_stand_above_the_list(tmp_path: Path) -> None:
    sources = []
    for place in range(MOST_CHANGES + 1):
        runs = months(run_with(), run_with(), at=8 + place)
        label = f"configuration {place}"
        sources += [
            source(run.model_copy(update={"label": label, "id": f"{label} {n}"}), n)
            for n, run in enumerate(runs)
        ]
    changes = page_of(sources, tmp_path).one("section", id="changes")
    told = [one.text for one in changes.find("li")]
    assert len(told) == MOST_CHANGES
    assert f"configuration {MOST_CHANGES} " in told[0]
    assert "1 earlier change is told in the rows" in changes.text


def test_a_drift_is_drawn_as_a_line_from_end_to_end() -> None:
    noise = np.exp(0.01 * np.random.default_rng(2).standard_normal(20))
    history = of_write([dated(run_with(), day, 1e9 * noise[day] * 0.98**day) for day in range(20)])
    drawn = str(history_chart.render(history))
    assert drawn.count('class="level"') == 1
    assert 'class="changed"' not in drawn


def of_write(runs: list[Run]) -> History:
    (history,) = [one for one in histories_of(runs) if one.figure == "write"]
    return history


def test_few_runs_are_not_drawn() -> None:
    for count, is_drawn in ((LEAST_DRAWN - 1, False), (LEAST_DRAWN, True)):
        history = of_write([dated(make_run(), day, 1e9) for day in range(count)])
        assert (history_chart.render(history) is not None) == is_drawn
        assert (history_chart.sparkline(history) is not None) == is_drawn


@pytest.mark.parametrize(
    ("span", "title", "some"),
    [
        (0.0, "UTC", "2026-11-03 10:20:30"),
        (1800.0, "3 November 2026, UTC", "10:25"),
        (30 * DAY, "2026, UTC", "12 Nov"),
        (70 * DAY, "UTC", "31 Dec"),
        (YEAR, "UTC", "Jan 2027"),
        (30 * YEAR, "UTC", "Jan 2036"),
    ],
)
def test_an_axis_of_dates_names_what_its_span_needs(span: float, title: str, some: str) -> None:
    begin = float(np.datetime64("2026-11-03T10:20:30").astype("datetime64[s]").astype(float))
    said, labels = date_ticks(begin, begin + span)
    assert said == title
    assert some in [label for _, label in labels]
    assert 1 <= len(labels) <= 7
    assert all(begin <= place <= begin + span for place, _ in labels)


def test_a_page_of_two_thousand_runs_would_have_at_most_five_megabytes() -> None:
    """The runs are of one configuration each, and of as many campaigns: the largest pages."""
    few, many = MOST_COMPARED + 10, MOST_COMPARED + 110
    sizes, some = [], make_run(finalized=True)
    for number in (few, many):
        runs = [
            dated(with_parameters(some, "command line", block=n), n % 90, 1e9)
            for n in range(number)
        ]
        sources = [source(run, n, f"campaign {n // 9}") for n, run in enumerate(runs)]
        sizes.append(len(render_page(sources)))
    each = (sizes[1] - sizes[0]) / (many - few)
    assert sizes[0] + each * (2000 - few) < 5_000_000


def test_configurations_are_in_the_order_of_their_first_runs() -> None:
    blocks = [with_parameters(make_run(), "command line", block=block) for block in (1, 2)]
    runs = [dated(blocks[0], 2, 1e9), dated(blocks[1], 1, 1e9), dated(blocks[0], 3, 1e9)]
    found = configurations_of(runs)
    assert [one.distinction for one in found] == [("block=2",), ("block=1",)]
    assert [len(one.runs) for one in found] == [1, 2]
