"""``weir bench sink`` end to end: every route counted and verified, its capacities, its chart."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from own_stager import STAGER

from output_runs import run_workload
from report_reader import read_report
from test_cli_real import weir
from weir.results.folder import find_run_folders, load_run
from weir.results.statistics import median_interval

SIZES = (1000, 65536)
FEW = ("--iterations", "20", "--message-bytes", "1000,64k")
ROUTES = (
    "weir",
    "weir 1 aggregator",
    "weir staged",
    "weir staged 1 aggregator",
    "posix",
    "mpiio",
    "mpiio 1 aggregator",
)


@pytest.mark.parametrize("ranks", [1, 3])
def test_every_route_takes_all_messages(ranks: int, tmp_path: Path, stager: dict[str, str]) -> None:
    words = ("--api", "weir,posix,mpiio", "--staging", "none,node", "--aggregators", "0,1")
    runs = run_workload(tmp_path, "sink", *words, *FEW, variables=stager, ranks=ranks)
    assert {run.sink.route for run in runs.values() if run.sink} == set(ROUTES)
    assert len(runs) == len(ROUTES) * len(SIZES)
    for run in runs.values():
        sink = run.sink
        assert sink is not None
        assert sink.into == "null"
        assert sink.messages == 20
        assert (sink.stager_wait is None) == ("staged" not in sink.route)
        (phase,) = run.plan.phases
        assert phase.bytes_total == 20 * ranks * sink.message_bytes
        for repetition in run.repetitions:
            assert repetition.phases[0].bytes == phase.bytes_total
        # One more message of each rank and repetition was compared.
        assert run.verification.bytes_verified == 2 * ranks * sink.message_bytes
        # The engine null counts what it drops; others do not say what they took.
        assert sink.accounted == (sink.route in ("weir", "weir 1 aggregator"))
        source = sink.source_capacity.values
        measured = next(rate for rate in run.rates if rate.headline).values
        least = source
        if sink.receiving_capacity is not None:
            assert sink.receivers in (1, ranks)
            both = zip(source, sink.receiving_capacity.values, strict=True)
            least = [min(pair) for pair in both]
        ratios = [a / b for a, b in zip(measured, least, strict=True)]
        assert sink.efficiency == pytest.approx(median_interval(ratios)[0])
        times = [ranks * sink.message_bytes / rate for rate in measured]
        assert sink.message.values == pytest.approx(times)
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"]
    # The stagers that dropped and those that kept the messages have ended.
    left = [entry.name for entry in Path(stager["WEIR_STAGER_SOCKET"]).parent.iterdir()]
    assert left == []


def test_several_stagers_are_reached_over_tcp(tmp_path: Path, stager: dict[str, str]) -> None:
    words = ("--staging", "none,service", "--stagers", "1,2", "--receivers", "1,4")
    runs = run_workload(tmp_path, "sink", *words, *FEW, variables=stager, ranks=3)
    routes = [f"weir {k} stager{'s' * (k > 1)} {n} receiver{'s' * (n > 1)}" for k, n in
              ((1, 1), (1, 4), (2, 1), (2, 4))]  # fmt: skip
    assert {run.sink.route for run in runs.values() if run.sink} == {"weir", *routes}
    assert len(runs) == len(SIZES) * (1 + len(routes))
    for run in runs.values():
        assert run.sink is not None
        assert run.verification.bytes_verified == 2 * 3 * run.sink.message_bytes
        if run.sink.route in routes:
            stagers, receivers = (run.parameters[key].value for key in ("stagers", "receivers"))
            assert run.sink.receivers == min(3, int(stagers) * int(receivers))
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"]
    left = [entry.name for entry in Path(stager["WEIR_STAGER_SOCKET"]).parent.iterdir()]
    assert left == []


def test_a_file_is_overwritten_in_place_and_read_back(tmp_path: Path) -> None:
    words = ("--api", "weir,posix,mpiio", "--into", "file")
    runs = run_workload(tmp_path, "sink", *words, *FEW, variables={}, ranks=2)
    assert len(runs) == 3 * len(SIZES)
    for run in runs.values():
        assert run.sink is not None
        assert run.sink.into == "file"
        assert run.sink.accounted == (run.sink.route == "weir")
        assert run.verification.bytes_verified == 2 * 2 * run.sink.message_bytes
        assert "overwritten" in (run.verification.how or "")
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"]


def test_weir_bench_draws_the_rates_over_the_size(tmp_path: Path) -> None:
    words = ("-n", "2", "--api", "weir,posix", "--message-bytes", "2k:32k:*4", "--iterations", "9")
    places = ("--warmups", "0", "--output", "results")
    status, out, err = weir(tmp_path, "bench", "sink", *words, *places)
    assert status == 0, out + err
    runs = [load_run(folder) for folder in find_run_folders(tmp_path / "results")]
    assert sorted({run.parameters["message_bytes"].value for run in runs}) == [2048, 8192, 32768]
    for run in runs:
        assert run.expectation is not None
        assert [one.key for one in run.expectation.rates] == [("write", "span")]
        assert run.expectation.calibration["operations"]
        assert run.verdict is not None
        assert [one.key for one in run.verdict.rates] == [("write", "span")]
    assert "calls on messages" in out
    assert "efficiency" in out
    page = read_report(tmp_path / "results" / "report.html")
    assert "Rate of all ranks over the size of a rank's message" in page.text
    points = [one for one in page.find("path") if "data-tip" in one.attributes]
    tips = [str(one.attributes["data-tip"]) for one in points]
    for series in ("weir", "posix", "source capacity"):
        assert len([tip for tip in tips if tip.startswith(f"{series}, ")]) == 3


def test_a_service_has_an_expectation_with_its_own_way_to_the_stagers(tmp_path: Path) -> None:
    words = ("-n", "2", "--staging", "service", "--stagers", "1,2", "--message-bytes", "2k,64k")
    places = ("--iterations", "9", "--warmups", "0", "--output", "results")
    status, out, err = weir(tmp_path, "bench", "sink", *words, *places)
    assert status == 0, out + err
    runs = [load_run(folder) for folder in find_run_folders(tmp_path / "results")]
    assert len(runs) == 4
    for run in runs:
        assert run.expectation is not None
        (rate,) = run.expectation.rates
        names = [stage.name for stage in rate.stages]
        assert names == ["memory copy", "TCP to the stagers", "calls on messages"]
        measured = run.expectation.calibration["links"]
        assert [(one["stagers"], one["receivers"]) for one in measured] == [(1, 4), (2, 4)]
        assert run.verdict is not None
    page = read_report(tmp_path / "results" / "report.html")
    assert "Rate of all ranks over the number of stagers: weir service 4 receivers" in page.text
    assert "over the number of receiving threads" not in page.text
    points = [one for one in page.find("path") if "data-tip" in one.attributes]
    tips = [str(one.attributes["data-tip"]) for one in points]
    for size in ("2.00 KiB", "64.0 KiB"):
        assert len([tip for tip in tips if tip.startswith(f"{size}, ")]) == 2


def dropping(*words: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    return subprocess.run(
        [STAGER, *words], env=own | variables, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip


def test_no_program_finds_a_stager_that_drops_by_itself(stager: dict[str, str]) -> None:
    socket = stager["WEIR_STAGER_SOCKET"]
    for words, variables in (
        ((), {}),
        ((), {"WEIR_STAGER_SOCKET": socket}),
        (("--stager-socket", socket), {"WEIR_STAGER_SOCKET": socket}),
    ):
        refused = dropping("--drop", *words, variables=variables)
        assert refused.returncode == 2
        (line,) = refused.stderr.splitlines()
        assert "--drop loses all data: give it with --stager-socket" in line


def test_no_variable_makes_a_stager_drop(stager: dict[str, str], tmp_path: Path) -> None:
    """What a job script left in the environment loses no data."""
    words = ("--api", "weir-hdf5", "--staging", "node", "--blocks", "2", "--checkpoints", "1",
             "--plots", "0", "--nxb", "4", "--nyb", "4", "--nzb", "4")  # fmt: skip
    variables = {**stager, "WEIR_DROP": "true"}
    (run,) = run_workload(tmp_path, "flash", *words, variables=variables, ranks=2).values()
    assert run.verification.bytes_verified == 2 * run.plan.disk_bytes_total
