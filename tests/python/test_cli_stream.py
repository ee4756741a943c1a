"""``weir bench stream`` and ``weir predict stream`` end to end, at a small size."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from test_cli_real import weir
from weir.results.folder import find_run_folders, load_run

STREAM = ("stream", "-t", "64k", "-b", "256k", "-s", "2", "-e")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which one job with two configurations ran; its results are in ``results``."""
    folder = tmp_path_factory.mktemp("stream")
    words = ("-i", "2", "-a", "POSIX,MPIIO", "-n", "2", "--output", "results")
    status, out, err = weir(folder, "bench", *STREAM, *words)
    assert status == 0, out + err
    (folder / "out.txt").write_text(out)
    return folder


def test_every_configuration_has_expectation_verdict_and_report(finished: Path) -> None:
    folders = find_run_folders(finished / "results")
    assert {folder.name for folder in folders} == {
        "posix-shared-segmented-64k",
        "mpiio-shared-segmented-64k",
    }
    for folder in folders:
        run = load_run(folder)
        assert run.workload == "stream"
        assert run.expectation is not None
        assert {rate.direction for rate in run.expectation.rates} == {"read", "write"}
        assert run.verdict is not None
        page = (folder / "report.html").read_text()
        # The phases are called by their direction alone, and the trace speaks of transfers.
        assert "write write" not in page
        assert "write in write, transfer" in page


def test_events_name_their_function(finished: Path) -> None:
    (folder, *_) = find_run_folders(finished / "results")
    rows = duckdb.sql(
        f"""SELECT function, operation, count(*), sum(bytes) FROM '{folder}/events.parquet'
            GROUP BY ALL ORDER BY ALL"""
    ).fetchall()
    half = 2 * 2 * 512 * 1024
    assert rows == [
        ("read", "read", 32, half),
        ("write", "sync", 4, 0),
        ("write", "write", 32, half),
    ]


def test_the_expectation_alone(tmp_path: Path) -> None:
    status, out, err = weir(tmp_path, "predict", *STREAM, "-n", "2")
    assert status == 0, err
    assert "Expected write" in out
    assert "Expected read" in out
    plan, calibration = out.index("Plan: 1 configuration on 2 ranks, "), out.index("Calibration: ")
    assert " in 1 file below" in out[plan:calibration]
    assert "2 ranks on 1 host, " in out[calibration:]


def test_a_wrong_option_is_one_line(tmp_path: Path) -> None:
    status, _, err = weir(tmp_path, "bench", "stream", "-f", "script", "-n", "2")
    assert status == 2
    assert "-f (scriptFile in IOR) is not supported" in err
