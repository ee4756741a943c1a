"""``weir campaign`` from the outside, with doubles for weir-bench and the launcher.

Interrupted and killed campaigns must make the same set of runs as one that is left alone.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
import time
from pathlib import Path

import pytest

from cli_with_doubles import DEADLINE_SECONDS, Cli
from report_reader import read_report
from weir.results.campaign import load_campaign
from weir.results.folder import load_run

FILE = """
workload = "madbench"
replication = 2
seed = 7
[fixed]
ranks = 4
[[factor]]
name = "transfer"
levels = "1m:2m:*2"
"""
RUNS = [1, 2, 3, 4]


class Campaign(Cli):
    """Runs ``weir campaign`` in a folder of its own, with the doubles in place."""

    def __init__(self, folder: Path, answers: Path) -> None:
        super().__init__(folder, answers)
        self.output = folder / "out"
        (folder / "locks").mkdir()
        (folder / "file.toml").write_text(FILE)
        self.environment |= {
            "WEIR_LOCK_DIRECTORY": str(folder / "locks"),
            "DOUBLE_CALLS": str(folder / "calls.txt"),
        }

    def run(self, *words: str, ending: str = "complete") -> tuple[int, str, str]:
        return super().run("campaign", "file.toml", "--output", "out", *words, ending=ending)

    def transfers(self) -> list[str]:
        """What each start of the workload was given, in order."""
        calls = (self.folder / "calls.txt").read_text().splitlines()
        words = [json.loads(call) for call in calls]
        return [next(w for w in call if w.startswith("--transfer")) for call in words]

    def journal(self) -> list[tuple[str, int]]:
        lines = (self.output / "journal.jsonl").read_text().splitlines()
        return [(entry["event"], entry["run"]) for entry in map(json.loads, lines)]

    def done(self) -> list[int]:
        return [run for event, run in self.journal() if event == "done"]

    def assert_whole(self) -> None:
        """Every run of the design is there once, complete, finalized and reported."""
        assert sorted(set(self.done())) == RUNS
        folders = sorted(entry.name for entry in (self.output / "runs").iterdir())
        assert folders == [f"{run:04d}" for run in RUNS]
        for run in RUNS:
            for name in ("posix-unique-sync", "mpi-shared-sync"):
                folder = self.output / "runs" / f"{run:04d}" / name
                assert load_run(folder).status == "complete"
                assert (folder / "events.parquet").is_file()
        assert not list(self.folder.glob("weir-double-*"))


@pytest.fixture
def campaign(tmp_path: Path, double_answers: Path) -> Campaign:
    return Campaign(tmp_path, double_answers)


@pytest.fixture(scope="module")
def left_alone(
    tmp_path_factory: pytest.TempPathFactory, double_answers: Path
) -> tuple[Campaign, tuple[int, str, str]]:
    """A campaign that was made to its end, and what the command said."""
    campaign = Campaign(tmp_path_factory.mktemp("left-alone"), double_answers)
    earlier = json.loads((double_answers / "calibration.json").read_text())
    (planned, _) = json.loads((double_answers / "plan-4.json").read_text())["configurations"]
    most = max(one["bytes_total"] for one in planned["plan"]["phases"]) // 4
    earlier |= {"measured_utc": "2025-01-20T10:00:00Z", "bytes_per_rank": most}
    (campaign.folder / "earlier").mkdir()
    (campaign.folder / "earlier" / "calibration.json").write_text(json.dumps(earlier))
    return campaign, campaign.run()


@pytest.fixture
def finished(campaign: Campaign, left_alone: tuple[Campaign, tuple[int, str, str]]) -> Campaign:
    """A copy of it, which a test may change."""
    shutil.copytree(left_alone[0].output, campaign.output)
    shutil.copy(left_alone[0].folder / "calls.txt", campaign.folder)
    return campaign


def test_every_run_says_how_it_was_started_and_what_an_earlier_calibration_allows(
    finished: Campaign,
) -> None:
    for run in RUNS:
        made = load_run(finished.output / "runs" / f"{run:04d}" / "posix-unique-sync")
        assert made.start is not None
        assert made.start.arguments[0] == "madbench"
        assert made.start.command_by_user[:2] == ["weir", "campaign"]
        assert made.expectation is not None
        allowed = [rate.a_priori for rate in made.expectation.rates]
        assert {one.source for one in allowed if one is not None} == {
            "the calibration of 2025-01-20 10:00 UTC"
        }


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not file.exists():
        assert time.monotonic() < deadline, f"{file} never came"
        time.sleep(0.05)


def test_a_campaign_makes_every_run_in_the_order_of_its_seed(
    left_alone: tuple[Campaign, tuple[int, str, str]],
) -> None:
    campaign, (status, out, err) = left_alone
    assert status == 0, err
    design = load_campaign(campaign.output)
    wanted = [
        f"--transfer={design.combinations[run.combination]['transfer']}" for run in design.runs
    ]
    assert campaign.transfers() == wanted
    assert campaign.done() == RUNS
    assert "2 combinations, 2 times each, 4 runs in 2 blocks, order by seed 7" in out
    assert "Estimate: about" in out
    assert "run 4 (block 2), 3 of 4 done" in err
    assert out.count("as expected") == 2 * 2 * 2
    assert (campaign.output / "campaign.toml").read_text() == FILE
    campaign.assert_whole()


def test_the_report_has_every_run_and_combination(finished: Campaign) -> None:
    (finished.output / "report.html").unlink()
    status, _, err = finished.run("--resume")
    assert status == 0, err
    page = read_report(finished.output / "report.html")
    rows = page.one("section", id="runs").one("tbody").find("tr")
    links = [row.one("a").attributes["href"] for row in rows]
    assert links == [f"runs/{run:04d}/report.html" for run in RUNS]
    assert all((finished.output / link).is_file() for link in links)
    cells = page.one("section", id="combinations").one("tbody").find("tr")
    assert len(cells) == 2 * 2 * 2
    assert page.one("section", id="over-transfer").find("figure")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_campaign_that_was_cut_off_makes_the_same_runs(
    campaign: Campaign, number: signal.Signals
) -> None:
    child = campaign.start("campaign", "file.toml", "--output", "out", ending="3:hangs")
    wait_for(campaign.output / "runs/0003/hanging")
    child.send_signal(number)
    _, err = child.communicate(timeout=DEADLINE_SECONDS)
    if number == signal.SIGKILL:
        assert child.returncode == -signal.SIGKILL
    else:
        assert child.returncode == 130, err
        assert "interrupted, 2 of 4 runs are done" in err.splitlines()[-1]
        assert "--resume" in err.splitlines()[-1]
    assert campaign.done() == [1, 2]
    status, out, err = campaign.run("--resume")
    assert status == 0, err
    assert "2 runs have already ended" in out
    assert campaign.done() == RUNS
    campaign.assert_whole()


def test_a_killed_campaign_leaves_no_job_behind(campaign: Campaign) -> None:
    child = campaign.start("campaign", "file.toml", "--output", "out", ending="1:hangs")
    wait_for(campaign.output / "runs/0001/hanging")
    child.kill()
    child.communicate(timeout=DEADLINE_SECONDS)
    deadline = time.monotonic() + DEADLINE_SECONDS
    with (campaign.folder / "locks/weir-campaign.lock").open() as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                assert time.monotonic() < deadline, "its job still holds the lock"
                time.sleep(0.05)


def test_a_failed_run_is_told_of_kept_and_made_again(campaign: Campaign) -> None:
    (campaign.folder / "file.toml").write_text(FILE.replace("replication = 2", "replication = 1"))
    status, _, err = campaign.run(ending="2:killed")
    assert status == 1
    assert "run 2 (transfer=" in err
    assert "1 runs failed, 1 of 2 runs are done; repeat them with:" in err.splitlines()[-1]
    assert campaign.journal()[3][0] == "failed"
    status, _, err = campaign.run("--resume")
    assert status == 0, err
    assert sorted(campaign.done()) == [1, 2]


def test_a_full_disk_ends_it_with_one_line_and_loses_nothing(campaign: Campaign) -> None:
    status, _, err = campaign.run(ending="3:fails")
    assert status == 1
    last = err.splitlines()[-1]
    assert "ended early, 2 of 4 runs are done" in last
    assert "No space left on device" in last
    assert campaign.done() == [1, 2]
    status, _, err = campaign.run("--resume")
    assert status == 0, err
    assert sorted(campaign.done()) == RUNS


def test_many_failures_in_a_row_end_it(campaign: Campaign) -> None:
    status, _, err = campaign.run(ending="killed")
    assert status == 1
    assert [event for event, _ in campaign.journal()].count("failed") == 3
    assert "ended early, 0 of 4 runs are done" in err.splitlines()[-1]


def test_no_run_is_begun_that_the_time_limit_leaves_no_room_for(campaign: Campaign) -> None:
    status, _, err = campaign.run("--time-limit", "0.01")
    assert status == 75
    assert "unfinished, 0 of 4 runs are done: the time limit is near" in err.splitlines()[-1]
    assert not (campaign.folder / "calls.txt").exists()
    status, _, _ = campaign.run("--resume", "--time-limit", "1h")
    assert status == 0
    assert campaign.done() == RUNS


def test_dry_run_shows_everything_and_makes_nothing(campaign: Campaign) -> None:
    status, out, err = campaign.run("--dry-run")
    assert (status, err) == (0, "")
    assert "transfer: 2 levels: 1048576, 2097152" in out
    assert "Estimate: about" in out
    names = sorted(entry.name for entry in campaign.folder.iterdir())
    assert names == ["file.toml", "locks"]


def test_two_campaigns_on_one_machine_do_not_run_at_once(campaign: Campaign) -> None:
    child = campaign.start("campaign", "file.toml", "--output", "out", ending="1:hangs")
    try:
        wait_for(campaign.output / "runs/0001/hanging")
        second = campaign.start("campaign", "file.toml", "--output", "second")
        _, err = second.communicate(timeout=DEADLINE_SECONDS)
        assert second.returncode == 1
        last = err.splitlines()[-1]
        assert "another campaign is running on this machine: file in" in last
        assert f"process {child.pid}" in last
        third = campaign.start("bench", "madbench", "--output", "single", "--no-report")
        _, err = third.communicate(timeout=DEADLINE_SECONDS)
        assert third.returncode == 0, err
        assert "both disturb each other's measurements: file in" in err
    finally:
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=DEADLINE_SECONDS)


def test_going_on_under_another_file_is_refused(campaign: Campaign) -> None:
    campaign.run("--time-limit", "0.01")
    (campaign.folder / "file.toml").write_text(FILE.replace("1m:2m:*2", "1m:8m:*2"))
    status, out, err = campaign.run("--resume")
    assert (status, out) == (2, "")
    assert "factor[0].levels was '1m:2m:*2' and is '1m:8m:*2'" in err
    (campaign.folder / "file.toml").write_text(FILE)
    status, _, err = campaign.run("--resume", "--scale", "0.5")
    assert status == 2
    assert "--scale was None and is 0.5" in err


def test_a_campaign_that_is_there_is_not_begun_again(campaign: Campaign) -> None:
    campaign.run("--time-limit", "0.01")
    before = (campaign.output / "campaign.json").read_bytes()
    status, _, err = campaign.run()
    assert status == 2
    assert err == "weir: out already has a campaign: continue it with --resume\n"
    assert (campaign.output / "campaign.json").read_bytes() == before


def test_damaged_lines_of_the_journal_cost_one_run_each(finished: Campaign) -> None:
    journal = finished.output / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if '"done", "run": 4,' in line)
    lines[place] = lines[place][:30] + "\x00\x00\n"
    journal.write_text("".join(lines) + '{"event": "do')
    status, _, err = finished.run("--resume")
    assert status == 0, err
    assert f"journal.jsonl line {place + 1} is damaged and ignored" in err
    assert "an earlier attempt at run 4 is kept in" in err
    assert len(finished.transfers()) == 5
    entries = journal.read_text().splitlines()
    assert json.loads(entries[-1])["run"] == 4


def test_results_of_a_newer_weir_are_left_alone(finished: Campaign) -> None:
    record = finished.output / "runs/0002/mpi-shared-sync/run.json"
    record.write_text(record.read_text().replace('"format_version": 1', '"format_version": 2'))
    before = record.read_bytes()
    status, out, err = finished.run("--resume")
    assert status == 1
    assert err.count("\n") == 1
    assert "was written by a newer Weir (format version 2, this one knows 1)" in err
    assert record.read_bytes() == before
    design = finished.output / "campaign.json"
    design.write_text(design.read_text().replace('"format_version": 1', '"format_version": 2'))
    status, out, err = finished.run("--resume")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "campaign.json was written by a newer Weir" in err


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('name = "transfer"', 'name = "unknown"', "unknown=1048576: madbench: there is no option"),
        ('"1m:2m:*2"', "[]", "factor transfer: it has no levels"),
        ("ranks = 4", "ranks = 0", "ranks must be whole numbers from 1; given: 0"),
        ("ranks = 4", "ranks = 9", "--launcher starts 4 ranks but --ranks is 9"),
        ("ranks = 4", "output = 'x'\nranks = 4", "--output is set by weir"),
        ("seed = 7", "seeds = 7", "file.toml: seeds: Extra inputs are not permitted"),
    ],
)
def test_mistakes_come_before_the_first_run_in_one_line(
    campaign: Campaign, before: str, after: str, told: str
) -> None:
    (campaign.folder / "file.toml").write_text(FILE.replace(before, after))
    status, out, err = campaign.run()
    assert (status, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert not campaign.output.exists()
