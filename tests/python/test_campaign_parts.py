"""Parts of campaigns: job arrays, estimates, where I/O hides, sweeps as files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from weir.analysis.hiding import AtExponent, hidden_share, where_it_hides
from weir.bench.errors import BenchError
from weir.campaign.arguments import arguments_of, settings_of, tasks_of
from weir.campaign.design import setting_name
from weir.campaign.estimate import Estimator
from weir.campaign.file import parse_campaign_file
from weir.campaign.slurm import ArrayJob, slurm_time, write_scripts
from weir.campaign.sweep import sweep_file

JOBS = [ArrayJob(4, [[1, 3], [4]], 600.0), ArrayJob(16, [[2]], 300.0)]


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Scripts whose command writes its words to a file, one per line."""
    record = tmp_path / "record"
    record.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > words.txt\n')
    record.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return write_scripts(JOBS, "test", tmp_path / "a folder", [str(record)], 1)


def test_each_number_of_ranks_has_an_array(scripts: list[Path]) -> None:
    assert [script.name for script in scripts] == ["ranks-00004.sh", "ranks-00016.sh", "submit.sh"]
    text = scripts[0].read_text()
    assert "#SBATCH --ntasks=4\n" in text
    assert "#SBATCH --array=0-1%1\n" in text
    assert "#SBATCH --time=00:10:00\n" in text
    assert "#SBATCH --dependency=singleton\n" in text
    assert scripts[2].read_text().count("sbatch '") == 2


def test_scripts_hold_to_the_shell(scripts: list[Path]) -> None:
    for script in scripts:
        subprocess.run(["bash", "-n", str(script)], check=True, timeout=30)
        if shutil.which("shellcheck"):
            subprocess.run(["shellcheck", str(script)], check=True, timeout=60)


@pytest.mark.parametrize(("index", "runs"), [("0", "1,3"), ("1", "4")])
def test_a_task_makes_its_runs(scripts: list[Path], index: str, runs: str) -> None:
    environment = {**os.environ, "SLURM_ARRAY_TASK_ID": index}
    subprocess.run([str(scripts[0])], env=environment, check=True, timeout=30)
    words = (scripts[0].parents[2] / "words.txt").read_text().splitlines()
    assert words == ["--resume", "--time-limit=540", "--only", runs]


def test_a_task_that_is_none_fails(scripts: list[Path]) -> None:
    without = {name: value for name, value in os.environ.items() if "SLURM" not in name}
    for environment in (without, {**without, "SLURM_ARRAY_TASK_ID": "2"}):
        ended = subprocess.run(
            [str(scripts[0])], env=environment, check=False, capture_output=True, timeout=30
        )
        assert ended.returncode != 0
    assert not (scripts[0].parents[2] / "words.txt").exists()


@pytest.mark.parametrize(
    ("seconds", "text"), [(1, "00:01:00"), (600, "00:10:00"), (601, "00:11:00"), (7260, "02:01:00")]
)
def test_slurm_times_are_rounded_up(seconds: float, text: str) -> None:
    assert slurm_time(seconds) == text


def test_estimates_follow_what_finished_runs_took() -> None:
    estimator = Estimator([10.0, 20.0, 40.0])
    assert estimator.seconds(1) == 20.0
    estimator.learn(0, 5.0)
    assert estimator.seconds(0) == 5.0
    assert estimator.seconds(1) == 10.0, "others are corrected by the ratio"
    estimator.learn(0, 9.0)
    assert estimator.seconds(0) == 7.0
    assert estimator.cautious_seconds(0) == 9.0, "no less than the longest such run took"
    assert estimator.cautious_seconds(2) == 1.25 * estimator.seconds(2)


def at(
    exponent: float, rate: float, low: float | None = None, high: float | None = None
) -> AtExponent:
    return AtExponent(exponent, rate, low or rate, high or rate, 100.0, 800.0)


def test_nothing_is_hidden_at_the_synchronous_rate_and_all_at_the_ceiling() -> None:
    assert hidden_share(100.0, 100.0, 800.0) == 0.0
    assert hidden_share(800.0, 100.0, 800.0) == pytest.approx(1.0)
    assert hidden_share(50.0, 100.0, 800.0) < 0


def test_where_io_hides_lies_between_the_exponents() -> None:
    # 80 % of 7/8 hidden leaves 0.3 of the time: EAAR 333.3; at 400, 85.7 % are hidden.
    hides = where_it_hides([at(1.0, 100.0), at(1.4, 400.0, 200.0, 500.0), at(1.2, 100.0)])
    assert hides.exponent == pytest.approx(1.2 + 0.2 * 0.8 / (0.75 / 0.875))
    assert hides.low is not None
    assert hides.low < hides.exponent
    assert hides.high is None, "by the lower ends it does not hide"
    assert "hides from 1.39 on" in hides.text()


def test_io_that_hides_nowhere_or_everywhere_is_said_so() -> None:
    never = where_it_hides([at(1.0, 100.0), at(1.5, 200.0)])
    assert never.exponent is None
    assert never.text() == "does not hide up to 1.5: 57 % at most"
    always = where_it_hides([at(1.0, 700.0), at(1.5, 750.0)])
    assert always.text() == "hides from 1 on, the smallest exponent that was run"
    lost = where_it_hides([at(1.0, 700.0), at(1.25, 100.0), at(1.5, 700.0)])
    assert lost.exponent is not None
    assert lost.exponent > 1.25, "it must stay hidden"


def test_a_sweep_is_a_campaign_file() -> None:
    words = ["madbench", "256", "4", "1", "32", "4096", "1", "1", "--directory", "/a b"]
    file = parse_campaign_file(sweep_file(words, ["alpha=1.0:1.5:0.25"], 4), "sweep", "sweep")
    assert file.arguments == words[1:]
    assert file.fixed == {"iomode": "SYNC,ASYNC", "ranks": 4}
    assert file.factor[0].rows() == [[1.0], [1.25], [1.5]]
    given = parse_campaign_file(
        sweep_file([*words, "--iomode", "ASYNC"], ["BWEXP=1.0,1.5"], 4), "sweep", "sweep"
    )
    assert given.fixed == {"ranks": 4}
    ranks = parse_campaign_file(sweep_file(words, ["ranks=1,4"], None), "sweep", "sweep")
    assert ranks.fixed == {"filetype": "UNIQUE,SHARED"}


@pytest.mark.parametrize("text", ["alpha", "=1:2", "alpha=", "alpha=5:1"])
def test_a_sweep_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BenchError, match="--sweep") as raised:
        sweep_file(["madbench"], [text], 4)
    assert raised.value.exit_status == 2


def test_arrays_of_a_placement_have_their_own_script(tmp_path: Path) -> None:
    jobs = [ArrayJob(16, [[1]], 300.0, 4), ArrayJob(16, [[2]], 300.0, 8)]
    scripts = write_scripts(jobs, "test", tmp_path, ["weir"], 1)
    assert [one.name for one in scripts[:2]] == [
        "ranks-00016-per-node-004.sh",
        "ranks-00016-per-node-008.sh",
    ]
    assert "#SBATCH --ntasks=16\n#SBATCH --ntasks-per-node=4\n" in scripts[0].read_text()
    assert jobs[0].where == "16 ranks, 4 on a node"
    subprocess.run(["bash", "-n", str(scripts[0])], check=True)


def test_ranks_on_a_node_are_no_setting_of_the_workload() -> None:
    text = 'workload = "stream"\n[[factor]]\nname = "tasks_per_node"\nlevels = [2, 4]\n'
    file = parse_campaign_file(text, "file", "stem")
    settings = settings_of(file, {setting_name("stream", "tasks_per_node"): 2}, 1)
    assert tasks_of(settings) == 2
    assert arguments_of(file, settings) == ["stream"]
    with pytest.raises(BenchError, match="tasks-per-node must be whole numbers from 1"):
        tasks_of({"tasks-per-node": 0})
