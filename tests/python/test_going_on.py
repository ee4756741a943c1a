"""A job goes on by itself where a wide scatter leaves it undecided, and there is time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli_with_doubles import Cli
from synthetic import make_run
from weir.bench.going_on import More, more_of
from weir.model.verdict import verdict
from weir.results.schema import Run

WORDS = ("madbench", "2000", "8", "1", "32", "4096", "1", "1")


def scattered(expected: float, reach: float, seconds: float = 2.0) -> Run:
    """A run whose rates are 1 and whose intervals reach up to ``reach`` of what was measured.

    It was expected to reach ``expected`` times what was measured, within 15 %.
    """
    record = make_run(straggler_factor=1.0).model_dump(mode="json")
    for rate in record["rates"]:
        rate["high_bytes_per_second"] = reach * rate["median_bytes_per_second"]
    for one in record["expectation"]["rates"]:
        median = next(
            rate["median_bytes_per_second"]
            for rate in record["rates"]
            if (rate["direction"], rate["metric"]) == (one["direction"], one["metric"])
        )
        one["expected_bytes_per_second"] = expected * median
        one["low_bytes_per_second"] = 0.85 * expected * median
        one["high_bytes_per_second"] = 1.15 * expected * median
    for repetition in record["repetitions"]:
        repetition["seconds"] = seconds
    run = Run.model_validate(record)
    return run.model_copy(update={"verdict": verdict(run)})


def measured_repetitions(run: Run) -> int:
    return sum(not one.warmup for one in run.repetitions)


def test_it_goes_on_with_as_many_repetitions_as_the_time_allows() -> None:
    run = scattered(2.0, reach=2.5)
    before, warmups = measured_repetitions(run), len(run.repetitions) - measured_repetitions(run)
    more = more_of([run], 2.0 * (3 * before + warmups))
    assert isinstance(more, More)
    assert more.repetitions == 3 * before
    assert more.purpose.follows == [run.id]
    assert more.purpose.motivation.startswith(f"not decided after {before} repetitions: ")
    words = more.arguments(["stream", "--repetitions", "5"], 90)
    assert words[3:] == [
        *("--repetitions", str(3 * before), "--max-repetitions", str(3 * before)),
        *("--time-limit", "90"),
    ]


def test_it_never_makes_more_than_four_times_the_repetitions() -> None:
    run = scattered(2.0, reach=2.5)
    more = more_of([run], 1e6)
    assert isinstance(more, More)
    assert more.repetitions == 4 * measured_repetitions(run)


def test_without_time_it_says_how_much_would_be_needed() -> None:
    run = scattered(2.0, reach=2.5, seconds=40.0)
    told = more_of([run], 60)
    assert isinstance(told, str)
    number = 2 * measured_repetitions(run)
    assert f"{number} repetitions would take about " in told
    assert told.endswith("(given: 60 s)")


def test_one_repetition_beside_the_expectation_is_run_again() -> None:
    record = scattered(2.0, reach=1.0).model_dump(mode="json")
    for rate in record["rates"]:
        rate["values_bytes_per_second"] = [rate["median_bytes_per_second"]]
    run = Run.model_validate(record)
    more = more_of([run.model_copy(update={"verdict": verdict(run)})], 1e6)
    assert isinstance(more, More)


@pytest.mark.parametrize(
    ("expected", "reach"), [(1.0, 1.0), (2.0, 1.0)], ids=["as expected", "below"]
)
def test_what_is_decided_is_not_run_again(expected: float, reach: float) -> None:
    assert more_of([scattered(expected, reach)], 1e6) is None


def test_an_expectation_that_is_too_wide_is_not_helped_by_repetitions() -> None:
    record = scattered(1.0, 1.0).model_dump(mode="json")
    for one in record["expectation"]["rates"]:
        one["low_bytes_per_second"] = 0.1 * one["expected_bytes_per_second"]
    run = Run.model_validate(record)
    judged = run.model_copy(update={"verdict": verdict(run)})
    assert judged.verdict is not None
    assert judged.verdict.overall == "not decided"
    assert more_of([judged], 1e6) is None


@pytest.fixture
def undecided(tmp_path: Path, double_answers: Path) -> Cli:
    """A double whose rates scatter far above a median that is below what is expected."""
    answers = tmp_path / "answers"
    shutil.copytree(double_answers, answers)
    for file in answers.glob("runs/*/run.json"):
        record = json.loads(file.read_text())
        for rate in record["rates"]:
            if rate["headline"]:
                rate["median_bytes_per_second"] /= 2
                rate["high_bytes_per_second"] *= 1.1
        for repetition in record["repetitions"]:
            repetition["seconds"] = 1.0
            for phase in repetition["phases"]:
                phase["rate_span_bytes_per_second"] /= 2
        file.write_text(json.dumps(record))
    folder = tmp_path / "work"
    folder.mkdir()
    cli = Cli(folder, answers)
    cli.environment["DOUBLE_CALLS"] = str(tmp_path / "calls")
    return cli


def calls(cli: Cli) -> list[list[str]]:
    lines = Path(cli.environment["DOUBLE_CALLS"]).read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_the_further_runs_name_the_first_and_have_their_expectation(undecided: Cli) -> None:
    status, out, _ = undecided.run("bench", *WORDS, "--output", "results", "--no-report")
    assert status == 0
    assert out.count("Going on, not decided after ") == 1
    first, second = calls(undecided)
    assert "--max-repetitions" not in first
    assert "--max-repetitions" in second
    runs = [
        json.loads((undecided.folder / name / "posix-unique-sync/run.json").read_text())
        for name in ("results", "results-more")
    ]
    assert runs[0]["expectation"] == runs[1]["expectation"]
    assert runs[0]["purpose"] is None
    assert runs[0]["id"] in runs[1]["purpose"]["follows"]
    assert "--max-repetitions" in runs[1]["start"]["arguments"]


def test_with_no_time_for_it_nothing_is_run_again(undecided: Cli) -> None:
    words = ("bench", *WORDS, "--output", "results", "--no-report", "--go-on", "0")
    assert undecided.run(*words)[0] == 0
    assert len(calls(undecided)) == 1
    assert not (undecided.folder / "results-more").exists()
