"""How test files are striped: options of every workload, refused by name where it cannot be."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from mpi_launcher import environment, launcher

from test_cli_real import SIZE, weir
from weir.bench.program import find_program

REFUSED = "programs cannot choose how a file is striped"
WORKLOADS = {
    "array": ["--shape", "64x64"],
    "flagfile": [],
    "flash": [],
    "madbench": SIZE[1:],
    "madcap": SIZE[1:],
    "metadata": ["--items", "4"],
    "open": [],
    "s3d": [],
    "sink": [],
    "stream": ["-t", "64k", "-b", "1m"],
}
LAYOUT = ["--stripe-count", "2", "--stripe-size", "1m", "--first-target", "0", "--pool", "flash"]


def bench(folder: Path, *words: str, ranks: int = 0) -> subprocess.CompletedProcess[str]:
    on_ranks = [*launcher(), "-n", str(ranks)] if ranks > 0 else []
    return subprocess.run(
        [*on_ranks, str(find_program(os.environ)), *words],
        cwd=folder,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_workload_refuses_it_by_name_when_it_is_planned(
    workload: str, tmp_path: Path
) -> None:
    words = [workload, *WORKLOADS[workload], "--plan", "--ranks", "4"]
    assert bench(tmp_path, *words).returncode == 0
    for option, value in zip(LAYOUT[::2], LAYOUT[1::2], strict=True):
        refused = bench(tmp_path, *words, option, value)
        assert refused.returncode == 2
        (line,) = refused.stderr.splitlines()
        assert f"weir-bench: {option} " in line
        assert REFUSED in line


def test_all_ranks_end_with_one_line_and_leave_nothing(tmp_path: Path) -> None:
    for words in (["stream", *WORKLOADS["stream"]], ["calibrate"]):
        refused = bench(tmp_path, *words, *LAYOUT, ranks=2)
        assert refused.returncode != 0
        lines = [line for line in refused.stderr.splitlines() if line.startswith("weir-bench: ")]
        (line,) = lines
        assert " ".join(LAYOUT).replace("1m", "1048576") in line
        assert REFUSED in line
        assert list(tmp_path.iterdir()) == []


def test_files_in_places_of_the_users_own_are_not_striped(tmp_path: Path) -> None:
    words = ["stream", *WORKLOADS["stream"], "-o", str(tmp_path / "file")]
    refused = bench(tmp_path, *words, *LAYOUT, "--plan", "--ranks", "2")
    assert "can set the layout only for files in the job's own folder, but -o" in refused.stderr
    kept = ["metadata", "--items", "4", "--keep", "--warmups", "0", "--repetitions", "1"]
    words = [*kept, "--max-repetitions", "1", *LAYOUT, "--plan", "--ranks", "2"]
    assert "but --keep" in bench(tmp_path, *words).stderr


def test_it_is_a_factor_of_campaigns(tmp_path: Path) -> None:
    words = ["bench", *SIZE, "-n", "1", "--sweep", "stripe-count=1,all", "--output", "out"]
    status, _, err = weir(tmp_path, *words)
    assert status == 2
    assert "--stripe-count 1: on " in err
    assert REFUSED in err
    assert not (tmp_path / "out" / "runs").exists()


@pytest.mark.parametrize("workload", ["madbench", "madcap", "stream"])
def test_given_targets_are_refused_by_name_where_they_cannot_be(
    workload: str, tmp_path: Path
) -> None:
    words = [workload, *WORKLOADS[workload], "--plan", "--ranks", "4", "--targets", "0,1"]
    refused = bench(tmp_path, *words)
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert "weir-bench: --targets 0,1: on " in line
    assert "programs cannot choose the targets of a file" in line
    for more in (["--stripe-count", "2"], ["--first-target", "0"], ["--pool", "flash"]):
        (line,) = bench(tmp_path, *words, *more).stderr.splitlines()
        assert "the targets are chosen already" in line


def test_given_targets_and_places_of_the_user_s_own_are_refused(tmp_path: Path) -> None:
    plan = ["--targets", "0,1", "--plan", "--ranks", "2"]
    refused = bench(tmp_path, "stream", "-t", "64k", "-b", "1m", "-o", str(tmp_path / "f"), *plan)
    assert "-o (--test-file) and --targets both choose where files lie" in refused.stderr
    for name in "ab":
        (tmp_path / name).mkdir()
    words = [*SIZE[1:], "--filetype", "UNIQUE", "--directory", "a,b"]
    refused = bench(tmp_path, "madbench", *words, *plan[:-1], "4")
    assert "--directory with several directories and --targets" in refused.stderr
    refused = bench(tmp_path, "stream", "-F", "-t", "64k", "-b", "1m", *plan[:-1], "1")
    assert "2 targets for the files of 1 ranks" in refused.stderr


def test_given_targets_are_a_factor_of_campaigns(tmp_path: Path) -> None:
    file = tmp_path / "targets.toml"
    file.write_text(
        'workload = "stream"\nname = "targets"\nreplication = 1\n'
        '[fixed]\nranks = 2\nblock = "64k"\ntransfer = "64k"\n'
        '[[factor]]\nname = "targets"\nlevels = ["0,1", "0-3"]\n'
    )
    status, _, err = weir(tmp_path, "campaign", str(file), "--output", "out")
    assert status == 2
    assert "--targets 0,1: on " in err
    assert "programs cannot choose the targets of a file" in err
