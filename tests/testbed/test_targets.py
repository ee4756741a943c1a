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
    expect_limits,
    written_bytes,
)

SECONDS = 3


@pytest.mark.alone
def test_four_targets_have_their_rates_at_once(targets: MakeTargets) -> None:
    rates = [50e6, 100e6, 150e6, 200e6]
    made = targets(",".join(f"{rate / 1e6:.0f}" for rate in rates) + "MB/s", size="704MiB")
    assert [target.limits.write_rate for target in made] == rates
    sizes = [int(rate / 1e6) * SECONDS * MEBIBYTE for rate in rates]
    files = [Path(target.directory) / "file" for target in made]
    with ThreadPoolExecutor(4) as pool:
        expect_limits(lambda: list(pool.map(direct_write_rate, files, sizes)), rates)
        expect_limits(lambda: list(pool.map(direct_read_rate, files, sizes)), rates)


@pytest.mark.alone
@pytest.mark.parametrize(
    ("file_system", "by_the_kernel"), [("ext4", False), ("ext4", True), ("xfs", False)]
)
def test_buffered_data_reaches_the_device_at_its_rate(
    targets: MakeTargets, file_system: str, by_the_kernel: bool
) -> None:
    (target,) = targets("40MB/s", size="320MiB", file_system=file_system)
    file = Path(target.directory) / "file"
    total = SECONDS * 40 * MEBIBYTE

    def measure() -> list[float]:
        before = written_bytes(target.device)
        rate = buffered_write_rate(file, total, by_the_kernel=by_the_kernel)
        assert written_bytes(target.device) - before >= total
        return [rate]

    expect_limits(measure, [40e6])


@pytest.mark.alone
def test_reading_and_writing_may_differ(targets: MakeTargets) -> None:
    (target,) = targets(options="--read-rates 80MB/s --write-rates 40MB/s")
    file = Path(target.directory) / "file"
    expect_limits(lambda: [direct_write_rate(file, 120 * MEBIBYTE)], [40e6])
    expect_limits(lambda: [direct_read_rate(file, 120 * MEBIBYTE)], [80e6], within=0.1)


@pytest.mark.alone
def test_operations_per_second_hold(targets: MakeTargets) -> None:
    (target,) = targets(options="--iops 500", size="64MiB")
    file = Path(target.directory) / "file"
    direct_write_rate(file, 4 * MEBIBYTE, 4096)  # places the blocks
    total = 500 * SECONDS * 4096
    expect_limits(lambda: [direct_write_rate(file, total, 4096) / 4096], [500])


@pytest.mark.alone
def test_a_target_can_be_slowed_while_it_is_up(targets: MakeTargets) -> None:
    (target,) = targets("200MB/s")
    file = Path(target.directory) / "file"
    call("targets", "set", target.name, "--rate", "30MB/s")
    expect_limits(lambda: [direct_write_rate(file, 90 * MEBIBYTE)], [30e6])
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
