"""Whole reports: what they must say, whatever the run; and that nothing in them can do harm."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from report_reader import Element, read_report
from synthetic import make_events, make_run, write_run_folder
from weir.commands.report import write_reports
from weir.report import write_report
from weir.report.sources import MOST_WITHIN_A_PAGE
from weir.results.errors import ResultError
from weir.results.opening_records import StepTimes
from weir.results.schema import Run

HOSTILE = "\"'></td></script><script>window.harmed=1</script><img src=x onerror=alert(1)>"


def report_of(folder: Path, run: Run, **fields: Any) -> Element:
    write_run_folder(folder, run, make_events(**fields), finalized=True)
    return read_report(write_report(folder))


def section(page: Element, name: str) -> Element:
    found = [part for part in page.find("section") if part.attributes.get("id", "").endswith(name)]
    assert len(found) == 1, name
    return found[0]


def test_headline_gives_measured_expected_and_verdict(tmp_path: Path) -> None:
    run = make_run(finalized=True)
    page = report_of(tmp_path, run)
    for direction in ("write", "read"):
        rate = next(r for r in run.rates if r.direction == direction and r.headline)
        sentence = page.one("p", data_headline=direction)
        values = [float(data.attributes["value"]) for data in sentence.find("data")]
        assert values[0] == rate.median
        assert run.expectation is not None
        expected = next(r for r in run.expectation.rates if r.direction == direction)
        assert values[1] == expected.value
        assert sentence.text.endswith("expected: as expected.")
        tile = page.one("section", data_direction=direction)
        assert tile.find("span", data_verdict="as expected")


def test_every_section_is_in_the_navigation(tmp_path: Path) -> None:
    page = report_of(tmp_path, make_run(finalized=True))
    ids = {element.attributes["id"] for element in page.walk() if "id" in element.attributes}
    links = [link.attributes["href"] for link in page.one("nav").find("a")]
    assert all(link.removeprefix("#") in ids for link in links)
    parts = [part.attributes["id"] for part in page.find("section", class_="part")]
    assert [f"#{part}" for part in parts] == links[1:]
    names = "findings trace rates latency ranks nodes expectation trust environment"
    assert [part.rsplit("-", 1)[1] for part in parts] == names.split()


def test_ids_are_unique_in_a_report_of_several_runs(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_run_folder(tmp_path / name, make_run(finalized=True), make_events(), finalized=True)
    page = read_report(write_report(tmp_path))
    ids = [element.attributes["id"] for element in page.walk() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    assert {d.attributes["id"] for d in page.find("details", class_="run")} == {
        "posix-unique-sync",
        "posix-unique-sync-2",
    }


def test_several_runs_have_one_line_and_one_verdict_each(tmp_path: Path) -> None:
    labels = [
        f"{method} UNIQUE {mode}" for method in ("MPI", "POSIX") for mode in ("SYNC", "ASYNC")
    ]
    runs = {label: make_run(label=label, finalized=True) for label in labels}
    for label, run in runs.items():
        write_run_folder(tmp_path / label, run, make_events(label=label), finalized=True)
    page = read_report(write_report(tmp_path))
    for label, run in runs.items():
        anchor = label.lower().replace(" ", "-")
        row = page.one("tr", data_run=anchor)
        assert row.one("a").attributes["href"] == f"#{anchor}"
        assert run.verdict is not None
        assert len(row.find("span", data_verdict=run.verdict.overall)) == 1
        for direction in ("write", "read"):
            rate = next(r for r in run.rates if r.direction == direction and r.headline)
            cell = row.one("td", data_direction=direction)
            assert rate.median in cell.values()
    tables = page.find("table", class_="comparison")
    sizes = [len(table.one("tbody").find("tr")) for table in tables]
    assert sizes == [2, 2], "synchronous and effective rates do not share a scale"


def test_a_cause_that_ended_all_runs_is_said_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        run = make_run(failed=True)
        write_run_folder(tmp_path / name, run, make_events(failed=True), finalized=True)
    page = read_report(write_report(tmp_path))
    lead = page.find("div", class_="lead")[0].text
    assert run.failure is not None
    assert lead.count(run.failure.message) == 1
    assert "All runs" in lead


def changed_rates(run: Run, factor: float, width: float, **fields: Any) -> Run:
    """The run at ``factor`` times its rates, each with an interval of ``width`` either way."""
    record = run.model_dump(mode="json")
    for rate in record["rates"]:
        median = rate["median_bytes_per_second"] * factor
        rate["median_bytes_per_second"] = median
        rate["low_bytes_per_second"] = median * (1 - width)
        rate["high_bytes_per_second"] = median * (1 + width)
    return Run.model_validate({**record, **fields})


@pytest.mark.parametrize(("width", "chance"), [(0.01, False), (0.3, True)])
def test_the_fastest_is_named_with_whether_it_may_be_chance(
    tmp_path: Path, width: float, chance: bool
) -> None:
    for name, factor in (("a", 1.0), ("b", 1.2)):
        run = changed_rates(make_run(finalized=True), factor, width, label=name)
        write_run_folder(tmp_path / name, run, make_events(), finalized=True)
    text = read_report(write_report(tmp_path)).one("section", id="comparison").text
    assert "Writing was fastest with b" in text
    assert ("their intervals overlap, so this may be chance" in text) == chance


def test_the_fastest_for_the_program_is_named_before_the_fastest_to_storage(
    tmp_path: Path,
) -> None:
    times = StepTimes.of([1.0, 1.0]).model_dump(mode="json")
    outputs = {"staged": True, "work_requested_seconds": 1.0, "work": times, "streams": []}
    for name, to_storage, for_the_program in (("a", 1.2, 0.5), ("b", 1.0, 2.0)):
        run = changed_rates(make_run(finalized=True), to_storage, 0.01, label=name)
        record = run.model_dump(mode="json") | {"outputs": outputs}
        written = next(one for one in record["rates"] if one["direction"] == "write")
        seen = {"metric": "foreground", "headline": False}
        seen |= {
            f"{end}_bytes_per_second": written["median_bytes_per_second"] * for_the_program
            for end in ("median", "low", "high")
        }
        record["rates"].append(written | seen)
        run = Run.model_validate(record)
        write_run_folder(tmp_path / name, run, make_events(), finalized=True)
    text = read_report(write_report(tmp_path)).one("section", id="comparison").text
    program = text.index("For the program, writing was fastest with b")
    assert program < text.index("To storage, writing was fastest with a")


def test_several_runs_say_first_what_was_typed_and_that_the_machine_was_not_quiet(
    tmp_path: Path,
) -> None:
    record = make_run(finalized=True).model_dump(mode="json")
    busy = "not quiet: other processes used 77 % of the processor time"
    record["environment"]["quiet"].update(quiet=False, text=busy)
    record["environment"]["test_application"]["command"] = "weir-bench --expectation /gone"
    record["start"] = {
        "command_by_user": ["weir", "bench", "madbench"],
        "arguments": ["madbench"],
        "launcher": ["mpirun"],
        "ranks": 4,
        "directory": "/home/me",
        "platform": None,
        "environment": {},
    }
    for name in ("a", "b"):
        run = Run.model_validate({**record, "label": name})
        write_run_folder(tmp_path / name, run, make_events(), finalized=True)
    page = read_report(write_report(tmp_path))
    assert f"All runs: {busy}." in page.find("div", class_="lead")[0].text
    machine = page.one("section", id="machine").text
    assert machine.count("Typed weir bench madbench") == 1
    assert "/gone" not in machine


def test_a_failed_run_says_first_where_and_why(tmp_path: Path) -> None:
    run = make_run(failed=True)
    page = report_of(tmp_path, run, failed=True)
    main = page.one("main")
    kinds = [c.attributes.get("class") for c in main.children if isinstance(c, Element)]
    assert kinds.index("failure") < kinds.index("lead")
    assert run.failure is not None
    banner = page.one("div", role="alert")
    for name, value in (
        ("rank", str(run.failure.rank)),
        ("file", run.failure.file),
        ("cause", run.failure.cause),
        ("host", run.failure.host),
    ):
        assert banner.one("dd", data_failure=name).text == value
    offset = banner.one("dd", data_failure="offset").one("data")
    assert int(offset.attributes["value"]) == run.failure.offset_bytes
    assert page.one("h1").find("span", data_verdict="failed")


def test_a_run_that_failed_before_any_repetition_still_has_a_report(tmp_path: Path) -> None:
    whole = make_run(failed=True)
    assert whole.failure is not None
    run = whole.model_copy(
        update={"repetitions": [], "rates": [], "histograms": [], "nodes": [], "clocks": None,
                "environment": None,
                "failure": whole.failure.model_copy(update={"operation": "", "file": None}),
                "verification": whole.verification.model_copy(update={"bytes_verified": 0})}
    )  # fmt: skip
    tmp_path.joinpath("run.json").write_text(run.model_dump_json(), encoding="utf-8")
    page = read_report(write_report(tmp_path))
    banner = page.one("div", role="alert")
    assert "No measured repetition was complete" in banner.text
    assert [name.text for name in banner.find("dt")] == ["Cause", "Rank", "Host", "Offset"]
    assert "Nothing had been read back" in section(page, "-trust").text
    assert "not measured" in page.one("section", data_direction="write").text
    assert "No events are recorded" in section(page, "-trace").text
    assert "not recorded" in section(page, "-environment").text


def test_no_expectation_is_said_plainly(tmp_path: Path) -> None:
    run = make_run().model_copy(update={"expectation": None})
    page = report_of(tmp_path, run)
    assert "A number without an expectation is not a result" in page.one("div", class_="lead").text
    assert "No expectation was made before this run" in section(page, "-expectation").text
    assert page.one("h1").find("span", data_verdict="no expectation")


@pytest.mark.parametrize("outside", [False, True])
def test_the_verdict_is_explained_where_the_median_is_outside(
    tmp_path: Path, outside: bool
) -> None:
    record = json.loads(make_run(finalized=True).model_dump_json())
    for judged in record["verdict"]["rates"]:
        judged["text"] = "as expected: its interval reaches into what was expected"
    for expected in record["expectation"]["rates"]:
        if outside:
            expected["low_bytes_per_second"] *= 1.5
    page = report_of(tmp_path, Run.model_validate(record))
    tile = page.one("section", data_direction="read").text
    assert ("As expected: its interval reaches into" in tile) == outside
    assert ("Expected limit: storage read" in tile) != outside


@pytest.mark.parametrize("calibrated", [True, False])
def test_a_good_verdict_by_a_calibration_says_what_it_cannot_tell(
    tmp_path: Path, calibrated: bool
) -> None:
    record = json.loads(make_run(finalized=True).model_dump_json())
    record["verdict"]["overall"] = "as expected"
    if not calibrated:
        record["expectation"]["calibration"] = {}
        record["expectation"]["platform"] = {"name": "vm"}
    page = report_of(tmp_path, Run.model_validate(record))
    lead = page.one("div", class_="lead").text
    assert ("calibrated on the same storage just before" in lead) == calibrated


def test_an_unfinalized_run_is_not_judged(tmp_path: Path) -> None:
    write_run_folder(tmp_path, make_run(), make_events())
    page = read_report(write_report(tmp_path))
    assert page.one("h1").find("span", data_verdict="not judged")
    assert page.find("g", data_row="all")


def test_without_events_the_spread_names_the_slowest_rank(tmp_path: Path) -> None:
    run = make_run(finalized=True)
    tmp_path.joinpath("run.json").write_text(run.model_dump_json(), encoding="utf-8")
    page = read_report(write_report(tmp_path))
    assert "No events are recorded" in section(page, "-trace").text
    slowest = run.repetitions[-1].phases[0].io_seconds
    assert f"rank {slowest.max_rank} on {slowest.max_host}" in section(page, "-ranks").text


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("memory", "the figure says nothing about the storage"),
        ("mixed", "memory served the rest"),
        ("unknown", "is not known"),
    ],
)
def test_a_rate_that_memory_served_is_not_left_unsaid(
    tmp_path: Path, verdict: str, words: str
) -> None:
    record = json.loads(make_run(finalized=True).model_dump_json())
    for repetition in record["repetitions"]:
        for phase in repetition["phases"]:
            if phase["direction"] == "read":
                phase["cache"]["verdict"] = verdict
    page = report_of(tmp_path, Run.model_validate(record))
    assert words in page.one("p", data_headline="read").text
    assert words not in page.one("p", data_headline="write").text


def test_wrong_payload_and_uncertain_clocks_are_marked_bad(tmp_path: Path) -> None:
    record = json.loads(make_run(finalized=True).model_dump_json())
    record["clocks"]["flagged"] = True
    record["verification"]["errors"] = [
        {"kind": "flipped_bit", "file": "/scratch/f", "offset_bytes": 4096, "rank": 3,
         "repetition": 2, "function": "W", "bytes_wrong": 8, "text": "one bit differs"}
    ]  # fmt: skip
    record["warnings"] = ["the clock error exceeds 1 % of the span"]
    page = report_of(tmp_path, Run.model_validate(record))
    trust = section(page, "-trust")
    said = [line.text for line in trust.find("li", data_check="bad")]
    assert any("Payload wrong: 1 error" in line for line in said)
    assert any("Clocks too uncertain" in line for line in said)
    assert "4096" in [data.attributes["value"] for data in trust.find("data")]
    assert "exceeds 1 %" in page.one("div", class_="warnings").text


def poisoned(value: Any, key: str = "") -> Any:
    """Every free text of a record with markup at its end; words of the schema stay."""
    if isinstance(value, dict):
        return {
            (f"{name}{HOSTILE}" if key in ("parameters", "hardware") else name): poisoned(v, name)
            for name, v in value.items()
        }
    if isinstance(value, list):
        return [poisoned(item, key) for item in value]
    fixed = {"format", "status", "direction", "metric", "kind", "verdict", "overall", "origin"}
    return f"{value}{HOSTILE}" if isinstance(value, str) and key not in fixed else value


@pytest.mark.parametrize("failed", [False, True])
def test_no_text_of_a_run_becomes_markup(tmp_path: Path, failed: bool) -> None:
    clean = make_run(failed=failed, finalized=not failed)
    hostile = Run.model_validate(poisoned(json.loads(clean.model_dump_json())))
    one = report_of(tmp_path / "one", hostile, failed=failed)
    write_run_folder(tmp_path / "two", hostile, make_events(failed=failed), finalized=True)
    for page in (one, read_report(write_report(tmp_path))):
        assert len(page.find("script")) == 1
        assert not page.find("img")
        assert not [n for e in page.walk() for n in e.attributes if n.startswith("on")]
        links = [e.attributes["href"] for e in page.walk() if "href" in e.attributes]
        assert all(re.fullmatch(r"#[a-z0-9-]+", link) for link in links)
        assert HOSTILE in page.text


def test_nothing_is_fetched(tmp_path: Path) -> None:
    page = report_of(tmp_path, make_run(finalized=True))
    policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    assert "default-src 'none'" in policy
    assert not [e for e in page.walk() if "src" in e.attributes or e.tag == "link"]
    text = tmp_path.joinpath("report.html").read_text(encoding="utf-8")
    assert "http://" not in text
    assert "https://" not in text
    assert set(re.findall(r"url\(([^)]*)\)", text)) == {"#hatch"}


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    first = tmp_path / "first"
    write_run_folder(first / "a", make_run(finalized=True), make_events(), finalized=True)
    write_run_folder(
        tmp_path / "second" / "a", make_run(finalized=True), make_events(), finalized=True
    )
    pages = [write_report(path).read_bytes() for path in (first, first, tmp_path / "second")]
    assert pages[0] == pages[1] == pages[2]


def test_a_page_over_many_runs_leads_to_their_own_pages(tmp_path: Path) -> None:
    """At most so many runs are within the page; one more, and all have a line and a link."""
    run, events = make_run(finalized=True), make_events()
    for number in range(MOST_WITHIN_A_PAGE):
        write_run_folder(
            tmp_path / f"job{number % 2}" / f"{number:02}", run, events, finalized=True
        )
    page = read_report(write_reports(tmp_path))
    assert len(page.find("details", class_="run")) == MOST_WITHIN_A_PAGE
    own = tmp_path / "job0" / "00" / "report.html"
    own.write_text("as it is")
    write_run_folder(tmp_path / "job 2" / "last", run, events, finalized=True)
    page = read_report(write_reports(tmp_path))
    assert page.find("details", class_="run") == []
    assert (tmp_path / "report.html").stat().st_size < 30_000 * MOST_WITHIN_A_PAGE
    links = [row.one("a").attributes["href"] for row in page.find("tr") if row.find("a")]
    assert len(links) == MOST_WITHIN_A_PAGE + 1
    assert all((tmp_path / unquote(link)).is_file() for link in links)
    assert "job%202/last/report.html" in links
    assert own.read_text() == "as it is", "a page that is newer than its run was written again"
    os.utime(own, ns=(0, 0))
    write_reports(tmp_path)
    assert own.read_text() != "as it is"


def test_a_run_without_a_page_of_its_own_has_no_link(tmp_path: Path) -> None:
    run, events = make_run(finalized=True), make_events()
    for number in range(MOST_WITHIN_A_PAGE + 1):
        write_run_folder(tmp_path / f"{number:02}", run, events, finalized=True)
    page = read_report(write_report(tmp_path))
    assert not [row for row in page.find("tr") if row.find("a")]
    assert "weir report FOLDER" in page.text


def test_a_large_run_stays_light(tmp_path: Path) -> None:
    fields: dict[str, Any] = {
        "ranks": 256,
        "bins": 128,
        "repetitions": 3,
        "ranks_per_host": 256,
        "label": "MPI SHARED SYNC",
    }
    events = make_events(**fields)
    assert len(events["rank"]) > 750_000
    write_run_folder(tmp_path, make_run(**fields), events, finalized=True)
    report = write_report(tmp_path)
    assert report.stat().st_size < 1_500_000
    page = read_report(report)
    caption = next(
        f for f in page.find("figure") if f.attributes["data-figure"].startswith("trace")
    )
    assert "64 of 256 ranks are drawn" in caption.text
    assert "every column shows what filled most of it" in caption.text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no run.json here nor in the folders in it"),
        ("{", "run.json"),
        ('{"format": "weir-run"}', "run.json"),
    ],
)
def test_what_is_no_run_is_one_line(tmp_path: Path, content: str | None, words: str) -> None:
    if content is not None:
        tmp_path.joinpath("run.json").write_text(content, encoding="utf-8")
    with pytest.raises(ResultError, match=re.escape(words)) as raised:
        write_report(tmp_path)
    assert "\n" not in str(raised.value)


def test_broken_events_are_one_line(tmp_path: Path) -> None:
    write_run_folder(tmp_path, make_run(), make_events(), finalized=True)
    tmp_path.joinpath("events.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ResultError, match=r"events\.parquet") as raised:
        write_report(tmp_path)
    assert "\n" not in str(raised.value)
