"""``--targets``: every file is on its target, or the run ends.

There is no Lustre here. lustre_like.c makes a folder look like it, and a command ``lfs`` writes
down which targets it is asked for; what Lustre does with the requests is not tested.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from failing_runs import BRIEF, FAULTY_IO, SMALL, WEIR_BENCH
from mpi_launcher import environment, launcher, preload

LUSTRE_LIKE = FAULTY_IO.with_name("lustre_like.so")
STREAM = ("stream", "-t", "64k", "-b", "128k", "-w", "-r", *BRIEF)
MADBENCH = ("madbench", *SMALL, *BRIEF, "--sync", "none")
CALIBRATE = ("calibrate", "--transfer-bytes", "64k", "--bytes-per-rank", "256k", "--seconds", "0.2")


@dataclass(frozen=True)
class Placed:
    """A run, and the targets of each folder that `lfs` was asked to set, by the end of its name."""

    status: int
    errors: list[str]
    folders: dict[str, str]
    left: list[str]
    results: Path


def on_lustre(tmp_path: Path, *words: str, ranks: int = 3, moved: str = "") -> Placed:
    lustre, asked, programs = (tmp_path / name for name in ("lustre", "asked", "programs"))
    for folder in (lustre, asked, programs):
        folder.mkdir()
    lfs = programs / "lfs"
    lfs.write_text(
        "#!/bin/bash\n"
        '[ "$1 $2" = "setstripe -o" ] || { echo "not expected: $*"; exit 1; }\n'
        f'printf %s "$3" > {asked}/"$(basename "${{@: -1}}")"\n'
    )
    lfs.chmod(0o755)
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "27 1 254:0 / / rw - ext4 /dev/root rw\n"
        f"40 27 0:40 / {lustre} rw - lustre 10.0.0.1@tcp:/lfs rw\n"
    )
    own = environment({"WEIR_LUSTRE_MOUNTS": str(mounts), "WEIR_LUSTRE_ASKED": str(asked)})
    if moved:
        own["WEIR_LUSTRE_MOVED"] = moved
    own["PATH"] = f"{programs}:{own['PATH']}"
    results = tmp_path / "results"
    done = subprocess.run(
        [
            *(*launcher(), "-n", str(ranks), "env", f"LD_PRELOAD={preload(LUSTRE_LIKE)}"),
            *(str(WEIR_BENCH), *words, "--directory", str(lustre), "--output", str(results)),
        ],
        cwd=tmp_path,
        env=own,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    return Placed(
        done.returncode,
        [
            line
            for line in done.stderr.splitlines()
            if line.startswith("weir-bench: ") and "results in" not in line
        ],
        {
            "-".join(one.name.split("-")[-1:]) if "-target" in one.name else "all": one.read_text()
            for one in asked.iterdir()
        },
        [one.name for one in lustre.iterdir()],
        results,
    )


@pytest.mark.parametrize("words", [(*STREAM, "-F"), (*MADBENCH, "--filetype", "UNIQUE"), CALIBRATE])
def test_each_rank_s_file_is_on_its_target(tmp_path: Path, words: tuple[str, ...]) -> None:
    ranks = 4 if "madbench" in words else 3
    placed = on_lustre(tmp_path, *words, "--targets", "4,2", ranks=ranks)
    assert (placed.status, placed.errors, placed.left) == (0, [], [])
    assert placed.folders == {"target4": "4", "target2": "2"}


@pytest.mark.parametrize(
    "words", [STREAM, (*MADBENCH, "--filetype", "SHARED"), (*CALIBRATE, "--shared-file")]
)
def test_a_shared_file_is_striped_over_all(tmp_path: Path, words: tuple[str, ...]) -> None:
    ranks = 4 if "madbench" in words else 3
    placed = on_lustre(tmp_path, *words, "--targets", "4,0-2", ranks=ranks)
    assert (placed.status, placed.errors, placed.left) == (0, [], [])
    assert placed.folders == {"all": "4,0,1,2"}


@pytest.mark.parametrize(
    ("words", "moved", "found"),
    [
        ((*STREAM, "-F"), "target2", "is on 3, and should be on targets 2"),
        (STREAM, "weir-", "is on 5,3, and should be on targets 4,2"),
        ((*MADBENCH, "--filetype", "UNIQUE"), "target2", "is on 3, and should be on targets 2"),
        (CALIBRATE, "target2", "is on 3, and should be on targets 2"),
    ],
)
def test_a_file_elsewhere_ends_the_run(
    tmp_path: Path, words: tuple[str, ...], moved: str, found: str
) -> None:
    ranks = 4 if "madbench" in words else 3
    placed = on_lustre(tmp_path, *words, "--targets", "4,2", ranks=ranks, moved=moved)
    assert placed.status != 0
    assert any(f"the file {found}" in line for line in placed.errors), placed.errors
    assert placed.left == []


def test_the_targets_are_recorded(tmp_path: Path) -> None:
    placed = on_lustre(tmp_path, *MADBENCH, "--filetype", "UNIQUE", "--targets", "4,2", ranks=4)
    (file,) = placed.results.glob("*/run.json")
    run = json.loads(file.read_text())
    assert run["parameters"]["targets"] == {"value": "4,2", "origin": "command line"}
    names = [Path(one["directory"]).name.rpartition("-")[2] for one in run["targets"]]
    assert names == ["target4", "target2"]
    assert [one["ranks"] for one in run["targets"]] == [[0, 2], [1, 3]]


def test_the_kinds_of_files_are_not_mixed(tmp_path: Path) -> None:
    words = (*MADBENCH, "--filetype", "UNIQUE,SHARED", "--targets", "4,2")
    placed = on_lustre(tmp_path, *words, ranks=4)
    assert placed.status == 2
    (line,) = placed.errors
    assert "measure one of the two kinds in a job" in line
    assert placed.left == []
