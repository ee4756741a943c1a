"""``weir bench flagfile`` end to end: others' rates with and without pollers, and what is left."""

from __future__ import annotations

from pathlib import Path

from report_reader import read_report
from test_cli_real import weir
from weir.results.folder import find_run_folders, load_run

SHORT = ("--seconds", "0.05", "--warmups", "0", "--repetitions", "2", "--max-repetitions", "2")


def test_pollers_see_the_flag_and_others_are_compared(tmp_path: Path) -> None:
    words = ("-n", "3", "--others", "1", "--poll", "read", "--interval", "0.001", "--files", "5")
    status, out, err = weir(tmp_path, "bench", "flagfile", *words, *SHORT, "--output", "results")
    assert status == 0, out + err
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"]
    runs = [load_run(folder) for folder in find_run_folders(tmp_path / "results")]
    assert sorted(run.label for run in runs) == [
        "0 pollers by read",
        "1 poller by read",
        "2 pollers by read",
    ]
    for run in runs:
        assert run.flag is not None
        assert run.flag.others == 1
        assert run.verification.items_verified
        actions = {result.action: result for result in run.metadata}
        assert set(actions) == ({"stat", "poll"} if run.flag.pollers else {"stat"})
        assert (run.flag.notice is None) == (run.flag.pollers == 0)
        for repetition in run.repetitions:
            for phase in repetition.metadata:
                # Each rank polls at least once, and looks at each of its files in turn.
                assert phase.operations >= (run.flag.pollers if phase.action == "poll" else 1)
        assert run.label in out
    page = read_report(tmp_path / "results" / "report.html")
    part = page.one("div", aria_label="How pollers slow down other ranks")
    assert "100 %" in part.text


def test_what_cannot_be_is_one_line(tmp_path: Path) -> None:
    status, _, err = weir(tmp_path, "bench", "flagfile", "-n", "1")
    assert status == 2
    assert "at least 2 ranks" in err
