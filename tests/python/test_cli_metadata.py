"""``weir bench metadata`` with the real weir-bench: its results, its report, what it prints."""

from __future__ import annotations

from pathlib import Path

from report_reader import read_report
from test_cli_real import weir
from weir.results.folder import load_run

ITEMS = 50
RANKS = 2
TWICE = ("--warmups", "0", "--repetitions", "2", "--max-repetitions", "2")
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
    table = page.one("div", aria_label="Rates and latencies of each action")
    assert "mix/unlink" in table.text
    drawn = [one.attributes.get("aria-label", "") for one in page.find("svg")]
    assert any(text.startswith("Latency of mix/stat") for text in drawn)
