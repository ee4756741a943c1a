"""Latin hypercubes, replication by level, and phases with pauses of a campaign."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from cli_with_doubles import Cli
from weir.bench.errors import BenchError
from weir.bench.job import utc_now
from weir.campaign.file import CampaignFile, parse_campaign_file
from weir.campaign.journal import Entry, Journal
from weir.campaign.setup import design_campaign
from weir.results.campaign import Campaign

MANY = """
workload = "stream"
[[factor]]
name = "ranks"
levels = "1:8"
[[factor]]
name = "transfer"
levels = "4k:512k:*2"
[[factor]]
name = "api"
levels = ["POSIX", "MPIIO"]
"""
PAPER = """
workload = "stream"
pause = "4s"
[[factor]]
name = "ranks"
levels = "1:16:*2"
[[repeat]]
times = 3
when = { ranks = "<= 4" }
[[phase]]
name = "small"
when = { ranks = "<= 4" }
[[phase]]
name = "large"
pause = "10m"
"""


def parsed(text: str) -> CampaignFile:
    return parse_campaign_file(text, "test.toml", "test")


def designed(text: str, seed: int = 1) -> Campaign:
    return design_campaign(parsed(text), scale=None, platform=None, given={}, seed=seed)[0]


@pytest.mark.parametrize("tests", [4, 8, 12, 16])
def test_a_latin_hypercube_uses_every_level_equally_often(tests: int) -> None:
    campaign = designed(f'design = "latin-hypercube"\ntests = {tests}\n{MANY}')
    assert len({tuple(one.values()) for one in campaign.combinations}) == tests
    for factor in campaign.factors:
        used = Counter(one[factor.names[0]] for one in campaign.combinations)
        assert max(used.values()) - min(used.values()) <= 1
        assert len(used) == min(tests, len(factor.levels))


def test_a_latin_hypercube_fills_the_space_better_than_its_diagonal() -> None:
    two = MANY.rpartition("[[factor]]")[0]
    campaign = designed(f'design = "latin-hypercube"\ntests = 8\n{two}')
    places = [
        (campaign.factors[0].levels.index([one["ranks"]]),
         campaign.factors[1].levels.index([one["transfer"]]))
        for one in campaign.combinations
    ]  # fmt: skip
    apart = min(
        (a - c) ** 2 + (b - d) ** 2 for a, b in places for c, d in places if (a, b) != (c, d)
    )
    assert apart > 2, "neighbours on a diagonal are the square root of 2 apart"


def test_a_seed_gives_the_same_hypercube() -> None:
    text = f'design = "latin-hypercube"\ntests = 6\n{MANY}'
    assert designed(text, 3).combinations == designed(text, 3).combinations
    assert designed(text, 3).combinations != designed(text, 4).combinations


def test_a_hypercube_has_no_excluded_combination() -> None:
    text = f'design = "latin-hypercube"\ntests = 8\n{MANY}[[exclude]]\nranks = 8\napi = "MPIIO"\n'
    left_out = {"ranks": 8, "api": "MPIIO"}
    for seed in range(10):
        assert all(not left_out.items() <= one.items() for one in designed(text, seed).combinations)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"tests = 4\n{MANY}", "need each other"),
        (f'design = "latin-hypercube"\n{MANY}', "need each other"),
        (f'design = "latin-hypercube"\ntests = 129\n{MANY}', "no Latin hypercube of 129 tests"),
        (PAPER.replace('"10m"', '"10m"\nwhen = { ranks = 8 }'), "ranks=16 belongs to no phase"),
        (PAPER.replace('"large"', '"small"'), "two phases have the same name"),
        (PAPER.replace("<= 4", "<= four"), "compares values that are not numbers"),
        (PAPER.replace('"4s"', '"-4s"'), "'-4s' is not a time"),
        (PAPER.replace("times = 3", "times = 0"), "repeat[0].times"),
    ],
)
def test_mistakes_are_one_clear_line(text: str, told: str) -> None:
    with pytest.raises(BenchError) as raised:
        designed(text)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_small_counts_are_run_three_times_and_before_the_large_ones() -> None:
    campaign = designed(PAPER)
    ranks = [campaign.combinations[run.combination]["ranks"] for run in campaign.runs]
    assert Counter(ranks) == {1: 3, 2: 3, 4: 3, 8: 1, 16: 1}
    assert set(ranks[:9]) == {1, 2, 4}
    assert [run.block for run in campaign.runs] == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 2
    first, *_, last = campaign.runs
    assert campaign.pause_before(first, None) == 0
    assert campaign.pause_before(campaign.runs[1], first) == 4
    assert campaign.pause_before(last, first) == 600


FILE = """
workload = "madbench"
seed = 7
[fixed]
ranks = 4
[[factor]]
name = "transfer"
levels = ["1m", "2m"]
[[phase]]
name = "one"
when = { transfer = "1m" }
[[phase]]
name = "two"
pause = "1h"
"""


def test_a_pause_counts_from_the_end_of_the_last_run(tmp_path: Path, double_answers: Path) -> None:
    cli = Cli(tmp_path, double_answers)
    (tmp_path / "locks").mkdir()
    cli.environment["WEIR_LOCK_DIRECTORY"] = str(tmp_path / "locks")
    (tmp_path / "file.toml").write_text(FILE)
    words = ("campaign", "file.toml", "--output", "out")
    status, out, err = cli.run(*words, "--time-limit", "10m")
    assert status == 75, err
    assert "phase two: 1 runs, 60 min of quiet before it" in out
    assert "1 of 2 runs are done" in err
    assert "the next run is expected to take 36" in err, "an hour and the run"
    status, out, err = cli.run(*words, "--slurm", "--resume")
    assert (status, err.count("\n")) == (2, 1)
    assert "cannot keep phases and pauses" in err
    journal = tmp_path / "out" / "journal.jsonl"
    last = Entry.model_validate_json(journal.read_text().splitlines()[-1])
    earlier = (utc_now() - timedelta(hours=2)).isoformat()
    journal.unlink()
    with Journal(journal) as anew:
        anew.append(last.model_copy(update={"at": earlier}))
    status, out, err = cli.run(*words, "--time-limit", "10m", "--resume")
    assert status == 0, err
