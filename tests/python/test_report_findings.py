"""What a report says was found, was ruled out, and comes next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from report_reader import Element, read_report
from synthetic import make_events, make_run, write_run_folder
from weir.report import write_report
from weir.report.findings import found, ruled_out
from weir.results.schema import Run


def with_anomalies(*kinds: str, **fields: Any) -> Run:
    record = make_run(finalized=True, ranks=4, bins=16, **fields).model_dump(mode="json")
    record["anomalies"] = [
        {"function": "S", "direction": "write", "kind": kind, "text": f"a {kind}", "reasons": []}
        for kind in kinds
    ]
    return Run.model_validate(record)


def about(run: Run, cause: str) -> str:
    return next((text for text in ruled_out(run) if text.startswith(cause)), "")


def test_a_cause_is_ruled_out_only_where_it_was_not_found() -> None:
    nothing = with_anomalies()
    causes = ("A slow rank", "A second mode", "A change over time", "Stalls")
    for cause in causes:
        assert "(S write, W read, W write, C read)" in about(nothing, cause)
    for cause, kind in zip(causes, ("slow rank", "modes", "drop", "stalls"), strict=True):
        assert "(W read, W write, C read)" in about(with_anomalies(kind), cause)
        for other in set(causes) - {cause}:
            assert "(S write, " in about(with_anomalies(kind), other)
    assert "S write" not in about(with_anomalies("slow target"), "A slow rank")
    assert "S write" not in about(with_anomalies("uneven allocation"), "A slow rank")


def test_nothing_is_ruled_out_without_enough_transfers_or_events() -> None:
    record = with_anomalies().model_dump(mode="json")
    few = Run.model_validate({**record, "repetitions": record["repetitions"][:1]})
    assert not about(few, "A slow rank"), "a warm-up alone was not examined"
    assert not about(make_run(finalized=True), "A slow rank"), "no events were examined"
    short = make_run(finalized=True).model_dump(mode="json")
    eight = Run.model_validate({**short, "anomalies": []})
    assert about(eight, "A second mode")
    assert not about(eight, "A change over time"), "8 transfers of a rank are too few"


def test_one_host_is_not_compared_with_others() -> None:
    assert not about(with_anomalies(), "A slow host")
    assert about(with_anomalies(ranks_per_host=2), "A slow host")


def section(tmp_path: Path, run: Run) -> Element:
    write_run_folder(tmp_path, run, make_events(), finalized=True)
    page = read_report(write_report(tmp_path))
    found = [part for part in page.find("section") if part.attributes["class"] == "part"]
    return next(part for part in found if part.attributes["id"].endswith("-findings"))


def test_a_limit_is_found_only_if_the_rate_is_as_expected() -> None:
    run = with_anomalies()
    assert run.expectation is not None
    assert run.verdict is not None
    written = next(one for one in run.verdict.rates if one.direction == "write")
    others = [one for one in run.verdict.rates if one is not written]
    missed = written.model_copy(update={"verdict": "below"})
    verdict = run.verdict.model_copy(update={"rates": [missed, *others]})
    told = " ".join(str(one) for one in found(run.model_copy(update={"verdict": verdict})))
    assert told.count("is not confirmed") == 1
    assert told.count("the path's limit is") + told.count("the path&#x27;s limit is") == len(others)


def test_the_page_names_limits_and_what_is_next(tmp_path: Path) -> None:
    run = with_anomalies("stalls")
    part = section(tmp_path, run)
    assert run.expectation is not None
    for expected in run.expectation.rates:
        assert f"the path's limit is {expected.limiting_stage}" in part.text
        assert "not confirmed" not in part.text
    assert [one.text for one in part.find("li", data_anomaly="stalls")] == ["S write: a stalls."]
    proposed = [
        one.attributes["data-next"] for one in part.find("li") if "data-next" in one.attributes
    ]
    assert sorted(proposed) == ["confirm", "new region"]
    assert "ranks = 8" in part.text
    assert "It decides: " in part.text


@pytest.mark.parametrize("verified", [True, False])
def test_wrong_data_are_found_or_ruled_out(verified: bool) -> None:
    record = with_anomalies().model_dump(mode="json")
    record["verification"]["performed"] = verified
    assert bool(about(Run.model_validate(record), "Wrong data")) == verified
