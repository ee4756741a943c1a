"""``weir bench flagfile`` end to end: others' rates with and without pollers, and what is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from report_reader import read_report
from test_cli_real import weir
from test_striping import bench
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


def planned(folder: Path, *words: str, ranks: int) -> list[str]:
    """Returns the labels of the configurations."""
    answer = bench(folder, "flagfile", *words, "--plan", "--ranks", str(ranks))
    assert answer.returncode == 0, answer.stderr
    return [one["label"] for one in json.loads(answer.stdout)["configurations"]]


def test_half_of_the_ranks_poll_at_most(tmp_path: Path) -> None:
    pollers = [label.split()[0] for label in planned(tmp_path, ranks=8)]
    assert pollers == ["0", "1", "2", "4"]
    assert planned(tmp_path, ranks=2) == ["0 pollers by stat", "1 poller by stat"]


def test_numbers_of_pollers_are_configurations(tmp_path: Path) -> None:
    words = ("--others=2", "--pollers=0,6", "--poll=read", "--interval=0.01")
    assert planned(tmp_path, *words, ranks=8) == ["0 pollers by read", "6 pollers by read"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--others=4", "--others must be between 1 and 3 on 4 ranks; given: 4"),
        ("--pollers=3", "2 can poll"),
        ("--pollers=1,1", "twice"),
        ("--seconds=0", "--seconds must be above 0 and at most 86400; given: 0"),
        ("--seconds=600", "shorter than --deadline"),
        ("--files=0", "--files must be between 1 and 1000000; given: 0"),
        ("--files=1000001", "--files must be between 1 and 1000000; given: 1000001"),
        ("--drop-cache", "apply to data only"),
    ],
)
def test_what_cannot_be_is_one_line(word: str, said: str, tmp_path: Path) -> None:
    refused = bench(tmp_path, "flagfile", word, "--plan", "--ranks", "4")
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert said in line


def test_one_rank_is_too_few(tmp_path: Path) -> None:
    status, _, err = weir(tmp_path, "bench", "flagfile", "-n", "1")
    assert status == 2
    assert "at least 2 ranks" in err
