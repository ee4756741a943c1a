"""What ``weir bench``, ``predict`` and ``report`` expect of runs: descriptions, earlier figures.

weir-bench and the launcher are doubles.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli_with_doubles import WORDS, Cli
from platforms import make_platform, make_stage
from weir.analysis.yardstick import yardstick_text
from weir.results.checksums import SUMS_FILE
from weir.results.folder import find_run_folders, load_run, write_run
from weir.results.platform_file import write_platform


def write_description(cli: Cli, write: float = 2e9, read: float = 3e9, **changes: object) -> None:
    stages = [
        make_stage("storage write", write, direction="write", routes=["durable"]),
        make_stage("storage read", read, direction="read", routes=["dropped"]),
    ]
    write_platform(cli.folder / "platforms/here.toml", make_platform(stages, **changes))


def test_a_platform_description_takes_the_calibrations_place(cli: Cli) -> None:
    write_description(cli)
    status, out, err = cli.run("predict", *WORDS, "--platform", "here", "--output", "made.json")
    assert (status, err) == (0, "")
    assert "Platform: test data, 1 host" in out
    assert "Calibration" not in out
    assert "Expected write 1.86 GiB/s" in out
    made = json.loads((cli.folder / "made.json").read_text())["posix-unique-sync"]
    assert made["platform"]["name"] == "test data"
    assert made["calibration"] == {}
    (stage,) = made["rates"][1]["stages"]
    assert (stage["limiting"], stage["fixed_seconds"]) == (True, 0)


def a_priori(cli: Cli) -> dict[str, dict[str, Any]]:
    """Returns the a-priori bounds that weir predict writes, by direction."""
    status, _, err = cli.run("predict", *WORDS, "--output", "made.json")
    assert (status, err) == (0, "")
    made = json.loads((cli.folder / "made.json").read_text())["posix-unique-sync"]
    return {rate["direction"]: rate["a_priori"] for rate in made["rates"]}


def test_a_calibration_is_shown_beside_the_probe_of_another_day(cli: Cli) -> None:
    write_description(cli, write=14e9, read=2e9, measured_utc="2025-01-22T10:15:00Z")
    status, out, _ = cli.run("bench", *WORDS, "--output", "results")
    said = " ".join(out.split())
    assert status == 0
    assert "components: 13.0 GiB/s (11.1 GiB/s to 15.0 GiB/s), limited by storage write" in said
    assert "the probe here of 2025-01-22 10:15 UTC" in said
    run = json.loads((cli.folder / "results/posix-unique-sync/run.json").read_text())
    judged = {one["direction"]: one for one in run["verdict"]["rates"]}
    measured = judged["write"]["measured_bytes_per_second"]
    assert judged["write"]["a_priori_ratio"] == pytest.approx(measured / 14e9)
    assert judged["write"]["verdict"] == run["verdict"]["overall"] == "as calibrated"
    assert judged["read"]["verdict"] == "as expected"


def test_a_data_sheet_comes_before_the_probe_that_has_it(cli: Cli) -> None:
    edge = {
        "from": "host",
        "to": "disk",
        "stages": ["storage write"],
        "peak_bytes_per_second": 4e9,
        "origin": "data sheet",
        "source": "the maker's page 2",
    }
    write_description(cli, measured_utc="2025-01-22T10:15:00Z", edges=[edge])
    bounds = a_priori(cli)
    assert bounds["write"]["basis"] == "data sheet"
    assert bounds["write"]["expected_bytes_per_second"] == pytest.approx(4e9)
    assert bounds["write"]["low_bytes_per_second"] == pytest.approx(2e9)
    assert bounds["read"]["basis"] == "probe"


def test_earlier_calibrations_of_the_directory_tell_what_it_gave_then(cli: Cli) -> None:
    answers = Path(cli.environment["DOUBLE_ANSWERS"])
    now = json.loads((answers / "calibration.json").read_text())
    (planned, _) = json.loads((answers / "plan-4.json").read_text())["configurations"]
    now["bytes_per_rank"] = max(one["bytes_total"] for one in planned["plan"]["phases"]) // 4
    of_campaign = ("study/runs/0001", "study/runs/0002")
    for day, factor, folders in ((20, 1.5, ["20"]), (21, 2, of_campaign), (22, 2.5, ["22"])):
        rates = {
            name: {key: scaled(value, factor) for key, value in now[name].items()}
            for name in now
            if name.endswith("storage_bytes_per_second")
        }
        then = now | rates | {"measured_utc": f"2025-01-{day}T10:00:00Z"}
        for folder in folders:
            write_calibration(cli, f"weir-results/{folder}", then)
    write_calibration(cli, "weir-results/other", now | {"ranks": 2, "measured_utc": "2025-01-01"})
    write_calibration(cli, "weir-results/small", now | {"bytes_per_rank": 8})
    write_calibration(cli, "weir-results/broken", {})
    bound = a_priori(cli)["write"]
    assert bound["basis"] == "earlier calibration"
    assert bound["source"] == (
        "the median of 3 calibrations from 2025-01-20 10:00 UTC to 2025-01-22 10:00 UTC"
    )
    assert bound["expected_bytes_per_second"] == pytest.approx(2 * 1.43e9, rel=0.02)


def scaled(value: Any, factor: float) -> Any:
    return [factor * one for one in value] if isinstance(value, list) else factor * value


def write_calibration(cli: Cli, folder: str, record: dict[str, Any]) -> None:
    (cli.folder / folder).mkdir(parents=True)
    (cli.folder / folder / "calibration.json").write_text(json.dumps(record))


def test_more_ranks_than_were_probed_are_marked_as_an_extrapolation(cli: Cli) -> None:
    write_description(cli, ranks_per_host=2, measured_utc="2025-01-22T10:15:00Z")
    status, out, _ = cli.run("predict", *WORDS, "--platform", "here")
    said = " ".join(out.split())
    assert status == 0
    assert "limited by storage write, extrapolated from 2 ranks" in said
    assert a_priori(cli)["write"]["source"] == (
        "the probe here of 2025-01-22 10:15 UTC, extrapolated from 2 ranks"
    )


def test_where_nothing_is_known_of_the_components_it_says_how_to_give_it(cli: Cli) -> None:
    write_description(cli, ranks=9)
    status, out, _ = cli.run("predict", *WORDS)
    said = " ".join(out.split())
    assert status == 0
    assert "Components: not known; measure the path for later runs with weir platform probe" in said


def test_a_run_by_a_platform_description_is_judged_and_reported(cli: Cli) -> None:
    write_description(cli)
    cli.environment["WEIR_PLATFORM"] = "platforms/here.toml"
    status, out, _ = cli.run("bench", *WORDS, "--output", "results")
    assert status == 0
    assert "look at storage write" in out
    assert not (cli.folder / "results/calibration.json").exists()
    report = (cli.folder / "results/posix-unique-sync/report.html").read_text()
    assert "Platform it was made from" in report


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ranks": 9}, "holds for 9 ranks, but the run has 4"),
        (
            {
                "targets": [
                    {
                        "directory": "/dev/shm/x",
                        "file_system": "a",
                        "mount": "/dev/shm",
                        "device": "",
                    }
                ]
            },
            "platform test data describes /dev/shm/x (on /dev/shm), and ",
        ),
    ],
)
def test_a_description_of_something_else_is_refused(
    cli: Cli, changes: dict[str, object], told: str
) -> None:
    write_description(cli, **changes)
    status, _, err = cli.run("predict", *WORDS, "--platform", "here")
    assert status == 2
    assert told in err
    assert err.count("\n") == 1


def test_an_unknown_platform_is_named_with_those_that_there_are(cli: Cli) -> None:
    write_description(cli)
    status, _, err = cli.run("predict", *WORDS, "--platform", "there")
    assert status == 2
    assert "--platform there: there is neither a file nor a platform: platforms/ has here," in err
    assert "weir describes bassi, columbia, franklin, intrepid" in err
    assert err.count("\n") == 1


def test_folders_of_another_launcher_are_finalized_by_report(cli: Cli) -> None:
    cli.run("bench", *WORDS, "--output", "results", "--no-report")
    status, out, _ = cli.run("report", "results")
    assert (status, out) == (0, "Report: results/report.html\n")
    assert (cli.folder / "results/mpi-shared-sync/report.html").is_file()


def started_by_another_launcher(cli: Cli) -> Path:
    """Returns the folder of runs that began without an expectation, at 2025-01-23T10:15:00Z."""
    status, _, err = cli.run("bench", *WORDS, "--output", "results", "--no-report")
    assert status == 0, err
    output = cli.folder / "results"
    for folder in find_run_folders(output):
        (folder / SUMS_FILE).unlink()
        record = load_run(folder).model_copy(
            update={"expectation": None, "verdict": None, "digest": None}
        )
        write_run(folder, record)
    return output


@pytest.mark.parametrize(
    ("measured", "words", "text"),
    [
        ("2025-01-01T00:00:00Z", (), "as platform test data was measured on 2025-01-01, computed"),
        ("2025-02-01T00:00:00Z", (), None),
        ("2025-02-01T00:00:00Z", ("--platform", "here"), "measured on 2025-02-01, computed after"),
    ],
    ids=["measured before the run", "measured after it", "named"],
)
def test_report_expects_of_another_launchers_runs_what_a_description_says(
    cli: Cli, measured: str, words: tuple[str, ...], text: str | None
) -> None:
    output = started_by_another_launcher(cli)
    write_description(cli, measured_utc=measured)
    status, _, err = cli.run("report", "results", *words)
    assert (status, err) == (0, "")
    run = load_run(output / "posix-unique-sync")
    if text is None:
        assert run.expectation is None
        return
    assert run.expectation is not None
    assert (run.expectation.after_run, run.expectation.platform["name"]) == (True, "test data")
    assert [rate.direction for rate in run.expectation.rates] == ["read", "write"]
    assert yardstick_text(run.expectation).startswith("as platform test data")
    assert text in yardstick_text(run.expectation)
    assert run.verdict is not None
    assert all(one.expected for one in run.verdict.rates)
    assert run.warnings == []


def test_report_never_replaces_an_expectation_that_was_made_before_the_run(cli: Cli) -> None:
    cli.run("bench", *WORDS, "--output", "results", "--no-report")
    write_description(cli)
    before = load_run(cli.folder / "results/posix-unique-sync").expectation
    status, _, _ = cli.run("report", "results", "--platform", "here")
    assert status == 0
    assert load_run(cli.folder / "results/posix-unique-sync").expectation == before
