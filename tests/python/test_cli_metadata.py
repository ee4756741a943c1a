"""``weir bench metadata`` with the real weir-bench: its results, its report, what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from report_reader import read_report
from test_cli_real import weir
from weir.bench.platforms import with_operations_rate
from weir.bench.program import PlannedConfiguration, PlannedJob
from weir.results.folder import load_run
from weir.results.metadata_rates import MetadataRates
from weir.results.platform import Platform
from weir.results.platform_file import write_platform
from weir.results.probe import Target
from weir.results.schema import Plan

ITEMS = 50
RANKS = 2
TWICE = ("--warmups", "0", "--repetitions", "2", "--max-repetitions", "2")
READ_NOTHING = ("--bytes", "1MiB", "--read-bytes", "0")
MIX = ("--mix", "create=2,stat=5,unlink=1")


PLATFORM = """\
format = "weir-platform"
format_version = 1
name = "test data"
hosts = 1
ranks_per_host = 2
stages = []

[[metadata]]
clients = 2
device_writes_per_second = {2 = 1e9}

[metadata.operations]
create = {one_client = 1.0, all_clients = 2.0, one_directory = 2.0}
stat = {one_client = 1e12, all_clients = 2e12, one_directory = 2e12}
"""


def test_a_platform_says_what_actions_should_reach(tmp_path: Path) -> None:
    """Before the run, from rates no machine has, so that every verdict is known."""
    (tmp_path / "box.toml").write_text(PLATFORM)
    words = ("bench", "metadata", "--actions", "create,stat,unlink", "--items", "200", *TWICE)
    more = ("--platform", "box.toml", "-n", str(RANKS), "--output", "results")
    status, out, err = weir(tmp_path, *words, *more)
    assert status == 0, out + err
    assert "unlink is not probed" in out
    assert "Of the time of one operation" in out
    run = load_run(tmp_path / "results" / "posix-shared")
    assert run.expectation is not None
    assert run.verdict is not None
    verdicts = {one.action: one for one in run.verdict.metadata}
    assert {action: one.verdict for action, one in verdicts.items()} == {
        "create": "above",
        "stat": "below",
        "unlink": "no expectation",
    }
    share = verdicts["create"].software_fraction
    assert share is not None
    assert 0.9 < share < 1
    page = read_report(tmp_path / "results" / "posix-shared" / "report.html")
    table = page.one("div", aria_label="Actions against what was expected")
    assert "shared directory" in table.text or "own calls" in table.text
    assert "0 of 2 actions as expected" in page.text


def test_the_probe_of_the_directory_is_found_below_platforms(tmp_path: Path) -> None:
    """Without --platform; and one of other storage is not taken."""
    words = ("bench", "metadata", "--actions", "stat", "--items", "200", *TWICE, "-n", "2")
    folder = tmp_path / "platforms"
    folder.mkdir()
    target = '[[targets]]\ndirectory = "{}"\nfile_system = "ext4"\nmount = "{}"\ndevice = "x"\n'
    (folder / "other.toml").write_text(PLATFORM + target.format("/proc", "/proc"))
    status, out, err = weir(tmp_path, *words, "--output", "first")
    assert status == 0, out + err
    assert "platforms/ has other, of other storage" in out.replace("\n", " ")
    (folder / "box.toml").write_text(PLATFORM + target.format(tmp_path, tmp_path))
    status, out, err = weir(tmp_path, *words, "--output", "second")
    assert status == 0, out + err
    run = load_run(tmp_path / "second" / "posix-shared")
    assert run.verdict is not None
    assert [one.verdict for one in run.verdict.metadata] == ["below"]


def test_nothing_is_expected_of_files_with_content(tmp_path: Path) -> None:
    """As weir-bench names its settings; nothing runs."""
    (tmp_path / "box.toml").write_text(PLATFORM + "open_close = {all_clients = 2.0}\n")
    words = ("predict", "metadata", "--actions", "create,read", "--items", "200", "-n", "2")
    more = ("--platform", "box.toml", "--sharing", "per-rank", *READ_NOTHING)
    status, out, err = weir(tmp_path, *words, *more, "--output", "expected.json")
    assert status == 0, out + err
    (made,) = json.loads((tmp_path / "expected.json").read_text()).values()
    create, read = made["metadata"]
    assert create["expected_per_second"] is None
    assert create["how"] == "the probe measures files without content"
    assert read["expected_per_second"] == 2.0


def probed(file: Path, measured_utc: str, rates: dict[Path, float]) -> Path:
    """Writes a description of directories, in which so many files were created in a second."""
    targets = [
        Target(directory=str(one), file_system="ext4", mount=str(one), device="disk")
        for one in rates
    ]
    operations = [
        {"directory": str(one), "clients": 2, "operations": {"create": {"one_client": rate}}}
        for one, rate in rates.items()
    ]
    described = Platform(
        format="weir-platform",
        format_version=1,
        name="test data",
        hosts=1,
        ranks_per_host=2,
        measured_utc=measured_utc,
        stages=[],
        targets=targets,
        metadata=[MetadataRates.model_validate(one) for one in operations],
    )
    return write_platform(file, described)


def planned_in(directory: Path) -> PlannedJob:
    plan = Plan(
        ranks=2,
        files=1,
        memory_bytes_per_rank=1,
        memory_bytes_total=1,
        disk_bytes_total=0,
        phases=[],
    )
    one = PlannedConfiguration(label="", slug="", asynchronous=False, parameters={}, plan=plan)
    return PlannedJob(configurations=[one], directory=str(directory), striping=[], transfer_bytes=0)


def test_the_rate_of_its_own_directory_is_taken_for_open(tmp_path: Path) -> None:
    """Not that of another target, though it be slower."""
    rates = {tmp_path / "fast": 7.0, tmp_path / "slow": 1.0}
    file = probed(tmp_path / "box.toml", "2026-11-01T00:00:00Z", rates)
    planned = planned_in(tmp_path / "fast" / "run")
    given = with_operations_rate(["open"], str(file), planned)
    assert given == ["open", "--operations-per-second=7"]


def test_the_latest_probe_of_its_directory_is_taken_for_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --platform; not an older one, nor one of other storage, nor over a rate given."""
    monkeypatch.chdir(tmp_path)
    Path("platforms").mkdir()
    planned = planned_in(tmp_path / "run")
    probed(Path("platforms/other.toml"), "2026-11-03T00:00:00Z", {Path("/proc"): 9.0})
    assert with_operations_rate(["open"], None, planned) == ["open"]
    probed(Path("platforms/old.toml"), "2026-11-01T00:00:00Z", {tmp_path: 3.0})
    probed(Path("platforms/new.toml"), "2026-11-02T00:00:00Z", {tmp_path: 5.0})
    assert with_operations_rate(["open"], None, planned) == ["open", "--operations-per-second=5"]
    given = ["open", "--operations-per-second", "8"]
    assert with_operations_rate(given, None, planned) == given
    assert with_operations_rate(["metadata"], None, planned) == ["metadata"]


def test_a_mix_through_both_interfaces(tmp_path: Path) -> None:
    """Two runs of one job; the parts of the mix add up, and the report shows what is recorded."""
    words = ("bench", "metadata", "--items", str(ITEMS), *MIX, "--api", "POSIX,AT", *TWICE)
    status, out, err = weir(tmp_path, *words, "-n", str(RANKS), "--output", "results")
    assert status == 0, out + err
    assert "mix/stat" in out
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"]
    for slug in ("posix-shared", "at-shared"):
        run = load_run(tmp_path / "results" / slug)
        assert [one.action for one in run.metadata] == [
            "mix",
            "mix/create",
            "mix/stat",
            "mix/unlink",
        ]
        assert run.verification.items_verified
        for repetition in run.repetitions:
            whole, *parts = (phase.operations for phase in repetition.metadata)
            assert whole == sum(parts) == ITEMS * RANKS
    page = read_report(tmp_path / "results" / "posix-shared" / "report.html")
    table = page.one("div", aria_label="Rates of each action")
    assert "mix/unlink" in table.text
    drawn = [one.attributes.get("aria-label", "") for one in page.find("svg")]
    assert any(text.startswith("Latency of mix/stat") for text in drawn)
