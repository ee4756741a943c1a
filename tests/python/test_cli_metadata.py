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
