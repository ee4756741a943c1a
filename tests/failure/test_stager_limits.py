"""The limits of a stager: memory, what is spilled to a disk, connections and files."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_stager import STAGER, Stager, start, start_service
from staged_files import run, steps_in
from staged_values import LARGE_ROWS, large_value

import weir


def report_of_large_step(stager: Stager, folder: Path, ending: str) -> dict[str, Any]:
    """Writes a step of 48 MiB; returns the report of the stager from before the step's end."""
    ended = run(stager, "large", folder, "cdf5", ending)
    assert ending in ended.stdout, ended.stdout + ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout.splitlines()[0])
    assert told["memory_bytes"] == 16 << 20
    return told


def large_steps_in(path: Path) -> int:
    with weir.open(path) as file:
        for step in range(file.steps):
            for rank in range(3):
                part = file["a"][step, LARGE_ROWS * rank : LARGE_ROWS * (rank + 1)]
                assert np.all(part == large_value(step, rank))
        return file.steps


@pytest.mark.parametrize("quota", ["none", "20m", "128m"])
def test_a_step_larger_than_the_memory_is_written(tmp_path: Path, quota: str) -> None:
    """What the memory cannot hold is spilled, and what is beyond the quota goes to the file."""
    spill = tmp_path / "spill"
    words = ["--stager-spill", str(spill), "--stager-spill-quota", quota] if quota != "none" else []
    one = start("--stager-memory", "16m", *words)
    try:
        told = report_of_large_step(one, tmp_path, "stored")
        first_step, memory = 48 << 20, 16 << 20
        written = told["sessions"][0]["written_bytes"] - first_step
        spilled = told["spilled_bytes"]
        if quota == "128m":
            assert written == 0, "the step had not ended, and all of it had room"
            assert spilled >= first_step - memory
        else:
            assert written >= first_step - memory - (20 << 20)
            assert spilled <= told["spill_bytes"] <= (20 << 20 if quota == "20m" else 0)
            assert (spilled > 0) == (quota == "20m")
        left = one.report()
        assert left["spilled_bytes"] == 0
        assert left["spill_failure"] == ""
        one.wait_until_stored()
        assert large_steps_in(tmp_path / "out.nc") == 2
        assert not spill.exists() or not list(spill.iterdir())
    finally:
        one.kill()


def test_a_stager_killed_with_spilled_data_leaves_whole_steps_and_no_file(tmp_path: Path) -> None:
    spill = tmp_path / "spill"
    one = start("--stager-memory", "16m", "--stager-spill", str(spill),
                "--stager-spill-quota", "128m")  # fmt: skip
    try:
        assert report_of_large_step(one, tmp_path, "refused")["spilled_bytes"] > 0
        assert large_steps_in(tmp_path / "out.nc") == 1
        assert not list(spill.iterdir())
    finally:
        one.kill()


def test_a_full_disk_for_spilled_data_fails_no_step(
    tmp_path: Path, small_file_system: Path
) -> None:
    one = start("--stager-memory", "16m", "--stager-spill", str(small_file_system / "spill"),
                "--stager-spill-quota", "128m")  # fmt: skip
    try:
        told = report_of_large_step(one, tmp_path, "stored")
        assert told["spilled_bytes"] <= 4 << 20
        assert told["spill_failure"] == ""  # it is tried again
        one.wait_until_stored()
        assert large_steps_in(tmp_path / "out.nc") == 2
    finally:
        one.kill()


@pytest.mark.parametrize(("option", "what"), [("--stager-spill", "spilled data"),
                                              ("--stager-journal", "the journal")])  # fmt: skip
def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path, option: str, what: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o755)
    place = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
    refused = subprocess.run([STAGER, "--stager-socket", place, option, folder],
                             capture_output=True, text=True, timeout=30, check=False)  # fmt: skip
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert f"the folder for {what} must belong to you alone" in refused.stderr


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--stager-connections", "3", "3 ranks are connected, which is the limit of the stager"),
        ("--stager-client-connections", "3", "3 ranks of the program are connected, which is the"),
        ("--stager-client-memory", "3m", "the memory for one program has 3 blocks"),
    ],
)
def test_a_rank_beyond_a_limit_is_refused_and_other_programs_go_on(
    tmp_path: Path, option: str, value: str, said: str
) -> None:
    one = start("--stager-memory", "32m", option, value)
    try:
        for ranks, is_refused in ((3, False), (4, True), (3, False)):
            ended = run(one, "many", tmp_path, "cdf5", "2", ranks=ranks)
            assert (ended.returncode != 0) == is_refused, ended.stdout + ended.stderr
            named = f"(weir stage start {option.replace('stager-', '')})"
            lines = [line for line in ended.stderr.splitlines() if named in line]
            assert bool(lines) == is_refused, ended.stderr
            assert all(said in line for line in lines)
            one.wait_until_idle()
            assert steps_in(tmp_path / "out.nc") == 2
    finally:
        one.kill()


def test_a_file_beyond_the_limit_is_refused_by_name(tmp_path: Path) -> None:
    one = start("--stager-memory", "32m", "--stager-client-files", "2")
    try:
        for count, is_refused in ((2, False), (3, True), (2, False)):
            ended = run(one, "open_together", tmp_path, "cdf5", str(count))
            assert (ended.returncode != 0) == is_refused, ended.stdout + ended.stderr
            said = "would be file 3 that the program has open, and the limit of the stager is 2"
            assert (said in ended.stderr) == is_refused, ended.stderr
        one.wait_until_idle()
        assert [steps_in(tmp_path / f"out{number}.nc") for number in range(2)] == [1, 1]
    finally:
        one.kill()


def test_a_file_outside_the_root_is_refused_by_name(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for folder in (root, tmp_path / "out"):
        folder.mkdir()
    (root / "link").symlink_to(tmp_path / "out")
    for one in (
        start("--stager-memory", "32m", "--stager-root", str(root)),
        start_service(1, "--stager-memory", "32m", "--stager-root", str(root)),
    ):
        try:
            for folder in (tmp_path / "out", root / "link"):
                refused = run(one, "many", folder, "raw", "1", ranks=2)
                assert refused.returncode != 0
                lines = [line for line in refused.stderr.splitlines() if "--root" in line]
                assert lines, refused.stderr
                assert all(f"it does not lie below {root}" in line for line in lines)
            assert run(one, "many", root, "raw", "1", ranks=2).returncode == 0
            one.wait_until_idle()
            assert steps_in(root / "out.raw") == 1
        finally:
            one.kill()


@pytest.mark.parametrize("root", ["file", "none", "folder"])
def test_a_root_that_is_no_folder_is_refused(tmp_path: Path, root: str) -> None:
    (tmp_path / "file").touch()
    place = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
    given = root if root == "folder" else tmp_path / root
    refused = subprocess.run([STAGER, "--stager-socket", place, "--stager-root", given],
                             capture_output=True, text=True, timeout=30, check=False)  # fmt: skip
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "must exist, and its path begins with /" in refused.stderr


def test_a_program_waits_where_it_has_its_share_of_the_memory(tmp_path: Path) -> None:
    one = start("--stager-memory", "16m", "--stager-client-memory", "5m")
    try:
        told = report_of_large_step(one, tmp_path, "stored")
        assert 0 < told["sessions"][0]["memory_bytes"] <= told["client_memory_bytes"] == 5 << 20
        one.wait_until_stored()
        assert large_steps_in(tmp_path / "out.nc") == 2
    finally:
        one.kill()


def test_memory_for_a_program_that_holds_no_block_is_refused() -> None:
    place = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
    for given, is_refused in (("1048575", True), ("1048576", False)):
        words = [STAGER, "--stager-socket", place, "--stager-memory", "16m",
                 "--stager-client-memory", given]  # fmt: skip
        if not is_refused:
            words.append("--detach")
        ended = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
        assert (ended.returncode == 2) == is_refused, ended.stderr
        assert ended.stderr.count("\n") == (1 if is_refused else 0)
    Stager(place).ask("--stop")
