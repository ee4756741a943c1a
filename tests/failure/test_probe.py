"""``weir platform probe`` as one command, with the real weir-bench: its files, and how it fails."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import get_args

import pytest
from weir_process import WeirProcess

from weir.model.metadata_fit import LEAST_OPERATIONS
from weir.results.folder import load_record
from weir.results.metadata_rates import ItemOperation
from weir.results.platform_file import load_platform
from weir.results.probe import Probe

DEADLINE_SECONDS = 120
INTERRUPTED = 130
USAGE = 2
FAILED = 1


def start(folder: Path, *words: str) -> WeirProcess:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    return WeirProcess(("platform", *words), cwd=folder, env=kept)


def weir_platform(folder: Path, *words: str) -> tuple[int, str, str]:
    with start(folder, *words) as child:
        out, err = child.communicate(timeout=DEADLINE_SECONDS)
        return child.wait(0), out, err


def probe_of(folder: Path, directory: Path | str) -> tuple[int, str, str]:
    words = ("--directory", str(directory), "-n", "2", "--seconds", "1", "--output", "box.toml")
    return weir_platform(folder, "probe", *words)


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_two_probes_leave_two_descriptions_with_their_samples(tmp_path: Path) -> None:
    for _ in range(2):
        status, out, err = probe_of(tmp_path, ".")
        assert status == 0, out + err
    assert "Older description: box.1.toml" in out
    of_both = ["box.1.probe.json", "box.1.toml", "box.probe.json", "box.toml"]
    assert names_in(tmp_path) == sorted([*of_both, "box.revisions.jsonl"])
    first, second = load_platform(tmp_path / "box.1.toml"), load_platform(tmp_path / "box.toml")
    assert first.measured_utc < second.measured_utc
    for name, platform in (("box.1", first), ("box", second)):
        probe = load_record(tmp_path / f"{name}.probe.json", Probe)
        assert probe.measured_utc == platform.measured_utc
        assert probe.ranks == 2
        assert {target.directory for target in probe.targets} == {str(tmp_path.resolve())}
        assert {"memory copy", "storage write", "storage read"} <= {
            stage.name for stage in platform.stages
        }
        on_names = [one for one in probe.samples if one.operation in get_args(ItemOperation)]
        assert {one.operation for one in on_names} == set(get_args(ItemOperation))
        assert any(one.operation == "rename" and one.shared_directory for one in on_names)
        # In so short a time a slow disk does too few of them to be described.
        enough = {one.operation for one in on_names if one.operations >= LEAST_OPERATIONS}
        for names in platform.metadata:
            assert (names.clients, names.directory) == (2, str(tmp_path.resolve()))
        assert {one for names in platform.metadata for one in names.operations} == enough
        left_out = any("are left out" in one for one in platform.conditions["warnings"])
        assert left_out == any(one.operations < LEAST_OPERATIONS for one in on_names)
    status, out, err = weir_platform(tmp_path, "show", "box.toml")
    assert status == 0, err
    assert "storage write" in out
    assert f"target {tmp_path.resolve()}" in out.replace("\n", "")


def refused(folder: Path, directory: Path | str, told: str, expected_status: int = USAGE) -> None:
    """One line says why; nothing is left."""
    before = names_in(folder)
    status, out, err = probe_of(folder, directory)
    assert status == expected_status, out + err
    lines = [line for line in err.splitlines() if line.startswith("weir")]
    assert len(lines) == 1, err
    assert told in lines[0]
    assert "Traceback" not in err
    assert names_in(folder) == before


def test_a_directory_that_is_missing_or_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused(tmp_path, "missing", "--directory 'missing' is not a directory: create it first")
    refused(tmp_path, "file", "--directory 'file' is not a directory: create it first")


def test_a_directory_where_nothing_may_be_written_is_named(
    tmp_path: Path, read_only_folder: Path
) -> None:
    refused(tmp_path, read_only_folder, str(read_only_folder))


def test_too_little_disk_is_said_before_anything_is_measured(
    tmp_path: Path, small_file_system: Path
) -> None:
    told = f"too little disk is free in {small_file_system}"
    refused(tmp_path, small_file_system, told, expected_status=FAILED)
    assert names_in(small_file_system) == []


@pytest.mark.parametrize("seconds_at_work", [0.0, 1.0])
def test_an_interrupted_probe_leaves_nothing(tmp_path: Path, seconds_at_work: float) -> None:
    words = ("probe", "--directory", ".", "-n", "2", "--seconds", "30", "--output", "box.toml")
    with start(tmp_path, *words) as child:
        end = time.monotonic() + DEADLINE_SECONDS
        while not list(tmp_path.glob("weir-probe-*/rank-*")):
            assert child.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
        time.sleep(seconds_at_work)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=DEADLINE_SECONDS)
    assert child.returncode == INTERRUPTED, out + err
    assert "the probe was interrupted: stopped by SIGINT" in err
    assert "Traceback" not in err
    assert names_in(tmp_path) == []
