"""A target is as fast as it was asked to be: direct, buffered, in bytes and in operations."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from testbed_calls import MakeTargets, call, call_json
from testbed_transfers import (
    MEBIBYTE,
    buffered_write_rate,
    direct_read_rate,
    direct_write_rate,
    written_bytes,
)

SECONDS = 3
WITHIN = 0.05


def test_four_targets_have_their_rates_at_once(targets: MakeTargets) -> None:
    rates = [50, 100, 150, 200]
    made = targets(",".join(map(str, rates)) + "MB/s", size="704MiB")
    assert [target.limits.write_rate for target in made] == [rate * 10**6 for rate in rates]
    sizes = [rate * SECONDS * MEBIBYTE for rate in rates]
    files = [Path(target.directory) / "file" for target in made]
    with ThreadPoolExecutor(4) as pool:
        written = list(pool.map(direct_write_rate, files, sizes))
        read = list(pool.map(direct_read_rate, files, sizes))
    assert [rate / 1e6 for rate in written] == pytest.approx(rates, rel=WITHIN)
    assert [rate / 1e6 for rate in read] == pytest.approx(rates, rel=WITHIN)


@pytest.mark.parametrize(
    ("file_system", "by_the_kernel"), [("ext4", False), ("ext4", True), ("xfs", False)]
)
def test_buffered_data_reaches_the_device_at_its_rate(
    targets: MakeTargets, file_system: str, by_the_kernel: bool
) -> None:
    (target,) = targets("40MB/s", size="320MiB", file_system=file_system)
    file = Path(target.directory) / "file"
    before = written_bytes(target.device)
    total = SECONDS * 40 * MEBIBYTE
    rate = buffered_write_rate(file, total, by_the_kernel=by_the_kernel)
    assert rate / 1e6 == pytest.approx(40, rel=WITHIN)
    assert written_bytes(target.device) - before >= total


def test_reading_and_writing_may_differ(targets: MakeTargets) -> None:
    (target,) = targets(options="--read-rates 80MB/s --write-rates 40MB/s")
    file = Path(target.directory) / "file"
    assert direct_write_rate(file, 120 * MEBIBYTE) / 1e6 == pytest.approx(40, rel=WITHIN)
    assert direct_read_rate(file, 120 * MEBIBYTE) / 1e6 == pytest.approx(80, rel=2 * WITHIN)


def test_operations_per_second_hold(targets: MakeTargets) -> None:
    (target,) = targets(options="--iops 500", size="64MiB")
    file = Path(target.directory) / "file"
    direct_write_rate(file, 4 * MEBIBYTE, 4096)  # places the blocks
    rate = direct_write_rate(file, 500 * SECONDS * 4096, 4096)
    assert rate / 4096 == pytest.approx(500, rel=WITHIN)


def test_a_target_can_be_slowed_while_it_is_up(targets: MakeTargets) -> None:
    (target,) = targets("200MB/s")
    file = Path(target.directory) / "file"
    call("targets", "set", target.name, "--rate", "30MB/s")
    assert direct_write_rate(file, 90 * MEBIBYTE) / 1e6 == pytest.approx(30, rel=WITHIN)
    call("targets", "set", target.directory, "--rate", "none")
    assert direct_write_rate(file, 90 * MEBIBYTE) / 1e6 > 200
    shown = call_json("status", "--json")["targets"]["targets"][0]
    assert shown["limits"]["write_rate"] is None


def test_other_users_may_write_on_a_target(targets: MakeTargets) -> None:
    (target,) = targets(size="64MiB")
    file = Path(target.directory) / "theirs"
    subprocess.run(["touch", str(file)], user=65534, check=True, timeout=30)
    assert file.stat().st_uid == 65534


def test_a_root_of_ones_own(targets: MakeTargets, tmp_path: Path) -> None:
    made = targets("100MB/s", size="64MiB", options=f"--count 2 --root {tmp_path}")
    assert [target.directory for target in made] == [f"{tmp_path}/target{n}" for n in range(2)]
    assert all(os.path.ismount(target.directory) for target in made)
    call("targets", "down")
    assert not list(tmp_path.iterdir())
