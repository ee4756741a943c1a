"""What components allow, from sources of which the content is known."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from calibrations import calibration
from platforms import make_platform, make_stage
from synthetic import make_run
from weir.bench.going_on import more_of
from weir.model.a_priori import (
    CACHED_SHARE,
    Ceiling,
    bound,
    bounds,
    of_device,
    stated_by_makers,
)
from weir.model.verdict import verdict
from weir.platform.device import Way, way_to
from weir.results.expectations import APriori, ExpectedRate, RateVerdict
from weir.results.platform import Platform
from weir.results.schema import Run
from weir.results.tables import TABLES, rows_of


def allowed(platform: Platform) -> dict[str, ExpectedRate]:
    """Returns what a platform allows a synchronous durable run of 4 ranks, by direction."""
    run = make_run(label="POSIX UNIQUE SYNC")
    found = bounds(run.plan, False, run.parameters, platform, "/scratch/weir-files", {})
    return {one.direction: one for one in found.values()}


def file(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def block_device(system: Path, directory: Path, way: str, name: str = "nvme0n1") -> Path:
    """Makes a block device below ``system`` that holds a directory; returns its folder."""
    device = system / way / name
    device.mkdir(parents=True)
    number = directory.stat().st_dev
    link = system / f"dev/block/{os.major(number)}:{os.minor(number)}"
    link.parent.mkdir(parents=True)
    link.symlink_to(device)
    return device


@pytest.mark.parametrize(
    ("speed", "lanes", "rate"),
    [
        ("5.0 GT/s PCIe", 4, 2e9),
        ("16.0 GT/s PCIe", 4, 16e9 * 4 / 8 * 128 / 130),
        ("64.0 GT/s PCIe", 2, 16e9 * 242 / 256),
    ],
)
def test_each_link_of_pci_express_on_the_way_is_a_ceiling(
    tmp_path: Path, speed: str, lanes: int, rate: float
) -> None:
    device = block_device(tmp_path, tmp_path, "devices/pci0000:00/0000:01:00.0/nvme/nvme0")
    file(tmp_path / "devices/pci0000:00/0000:01:00.0/current_link_speed", f"{speed}\n")
    file(tmp_path / "devices/pci0000:00/0000:01:00.0/current_link_width", f"{lanes}\n")
    (device / "nvme0n1p1").mkdir()
    (found,) = way_to(tmp_path / "not/there/yet", "ext4", tmp_path).ceilings
    assert (found.name, found.kind) == ("PCI Express link of nvme0n1", "device link")
    assert found.bytes_per_second == pytest.approx(rate)


def test_a_partition_behind_a_sata_link_is_as_fast_as_that_link(tmp_path: Path) -> None:
    device = block_device(tmp_path, tmp_path, "devices/ata1/host0/target0/block/sda", "sda1")
    file(device / "partition", "1\n")
    file(tmp_path / "devices/ata1/link1/ata_link/link1/sata_spd", "6.0 Gbps\n")
    (found,) = way_to(tmp_path, "xfs", tmp_path).ceilings
    assert (found.name, found.bytes_per_second) == ("SATA link of sda", 600e6)


def test_a_virtual_disk_tells_nothing(tmp_path: Path) -> None:
    block_device(tmp_path, tmp_path, "devices/pci0000:00/virtio1/block", "vda")
    assert way_to(tmp_path, "ext4", tmp_path) == Way()


def test_a_loop_device_is_as_fast_as_what_holds_its_file(tmp_path: Path) -> None:
    device = block_device(tmp_path, tmp_path, "devices/virtual/block", "loop0")
    image = Path("/dev/shm") / f"weir-test-{os.getpid()}"
    image.touch()
    try:
        file(device / "loop/backing_file", f"{image}\n")
        number = image.stat().st_dev
        where = f"1 2 {os.major(number)}:{os.minor(number)} / /dev/shm rw - tmpfs tmpfs rw\n"
        mounts = file(tmp_path / "mountinfo", where)
        assert way_to(tmp_path, "ext4", tmp_path, mounts) == Way(in_memory=True)
        assert way_to(tmp_path, "ext4", tmp_path, file(mounts, "")) == Way()
    finally:
        image.unlink()


def test_a_file_system_of_a_network_is_as_fast_as_the_fastest_card_in_use(tmp_path: Path) -> None:
    for name, speed, state in (("e0", "10000", "up"), ("e1", "100000", "down"), ("e2", "-1", "up")):
        file(tmp_path / f"class/net/{name}/speed", speed)
        file(tmp_path / f"class/net/{name}/operstate", state)
        (tmp_path / f"class/net/{name}/device").mkdir()
    file(tmp_path / "class/net/bridge/speed", "400000")
    file(tmp_path / "class/net/bridge/operstate", "up")
    (found,) = way_to(tmp_path, "nfs4", tmp_path).ceilings
    assert (found.name, found.bytes_per_second) == ("network card e0", 1.25e9)
    file(tmp_path / "class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)")
    file(tmp_path / "class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE")
    (found,) = way_to(tmp_path, "lustre", tmp_path).ceilings
    assert (found.name, found.bytes_per_second) == ("network card mlx5_0", 25e9)


def test_a_ceiling_limits_what_reaches_storage_and_nothing_is_too_slow_for_it() -> None:
    ceiling = Ceiling("PCI Express link of nvme0n1", "device link", 4e9, "test data")
    known = allowed(of_device(calibration(), [ceiling], in_memory=False))
    assert known["write"].value == pytest.approx(4e9)
    made = bound([known["write"]], "device", "the kernel")
    assert (made.low, made.limiting_stage) == (0, "PCI Express link of nvme0n1")


def test_without_a_ceiling_nothing_is_known_of_storage() -> None:
    assert allowed(of_device(calibration(), [], in_memory=False)) == {}


def test_memory_limits_a_file_system_in_memory() -> None:
    known = allowed(of_device(calibration(file_system="tmpfs"), [], in_memory=True))
    assert known["write"].value == pytest.approx(10e9)
    assert known["write"].high >= CACHED_SHARE * 10e9
    assert known["read"].limiting_stage == "memory"


def test_only_stages_of_which_a_maker_states_a_rate_are_bounds() -> None:
    stages = [
        make_stage("disks", 1e9, routes=["durable"], direction="write"),
        make_stage("controller", 3e9, routes=["durable", "dropped"]),
        make_stage("probed", 0.5e9, routes=["durable", "dropped"]),
    ]
    edge: dict[str, Any] = {"from": "a", "to": "b", "source": "a page"}
    edges = [
        edge | {"stages": ["disks"], "origin": "probe", "peak_bytes_per_second": 2e9},
        edge | {"stages": ["controller"], "origin": "data sheet"},
        edge | {"stages": ["probed"], "origin": "probe"},
    ]
    stated = stated_by_makers(make_platform(stages, edges=edges))
    assert stated is not None
    known = allowed(stated)
    assert known["write"].value == pytest.approx(2e9)
    assert known["read"].value == pytest.approx(3e9)
    assert (known["write"].limiting_stage, known["read"].limiting_stage) == ("disks", "controller")
    assert stated_by_makers(make_platform(stages)) is None


# ---- The verdict --------------------------------------------------------------------------------


def opinion(
    share: float, low: float = 0.8, high: float = 1.2, *, calibrated: float = 1.0, **fields: Any
) -> Run:
    """A run which reaches ``share`` of what its components allow.

    ``calibrated`` is what was calibrated, as a share of what was measured.
    """
    record = make_run(straggler_factor=1.0, **fields).model_dump(mode="json")
    for expected in record["expectation"]["rates"]:
        median = next(
            one["median_bytes_per_second"]
            for one in record["rates"]
            if (one["direction"], one["metric"]) == (expected["direction"], expected["metric"])
        )
        expected["expected_bytes_per_second"] = calibrated * median
        expected["low_bytes_per_second"] = 0.7 * calibrated * median
        expected["high_bytes_per_second"] = 1.3 * calibrated * median
        value = median / share
        expected["a_priori"] = APriori(
            value=value,
            low=low * value,
            high=high * value,
            limiting_stage="disk of 4",
            basis="probe",
            source="the probe vm of 2025-01-02 03:04 UTC",
        ).model_dump()
    return Run.model_validate(record)


def of_write(run: Run) -> RateVerdict:
    return next(one for one in verdict(run).rates if one.direction == "write")


def test_as_calibrated_but_far_below_the_components_is_not_as_expected() -> None:
    run = opinion(0.31)
    judged = of_write(run)
    assert verdict(run).overall == judged.verdict == "as calibrated"
    assert judged.a_priori_ratio == pytest.approx(0.31)
    assert judged.text.startswith("as calibrated, but at 0.31 of what the components allow (")
    assert "by the probe vm of 2025-01-02 03:04 UTC; the limit is disk of 4)" in judged.text
    assert judged.text.endswith("as calibrated just before, limited by storage write")


def test_as_calibrated_and_as_the_components_allow_is_as_expected() -> None:
    judged = of_write(opinion(0.95))
    assert judged.verdict == "as expected"
    assert "; at 0.95 of what the components allow (" in judged.text


def test_a_bound_that_says_too_little_takes_nothing_back() -> None:
    narrow, wide = of_write(opinion(0.25, low=0.8)), of_write(opinion(0.25, low=0.8, high=3.3))
    assert narrow.verdict == "as calibrated"
    assert wide.verdict == "as expected"
    assert "too wide to judge by: its ends are more than a factor of 4 apart" in wide.text
    assert "of what the components allow" not in wide.text


def test_a_ceiling_never_takes_a_good_verdict_back() -> None:
    judged = of_write(opinion(0.02, low=0))
    assert (judged.verdict, "at 0.02 of what" in judged.text) == ("as expected", True)


def test_a_calibration_that_contradicts_the_components_decides_nothing() -> None:
    run = opinion(1.92, calibrated=4.0)
    judged = of_write(run)
    assert judged.verdict == "not decided"
    assert judged.text.startswith("not decided: below what was calibrated just before, but at 1.92")
    assert "--platform judges by a probe alone" in judged.text
    # More repetitions would not bring the two together.
    assert more_of([run.model_copy(update={"verdict": verdict(run)})], 1e6) is None
    assert of_write(opinion(0.9, calibrated=4.0)).verdict == "below"


def test_more_than_the_components_allow_is_said() -> None:
    text = of_write(opinion(2.0)).text
    assert "at 2.00 of what the components allow" in text
    assert text.endswith("which is more than they can: memory served it, or that source is wrong")


def test_sql_has_the_bound_and_its_source() -> None:
    run = opinion(0.5)
    run = run.model_copy(update={"verdict": verdict(run)})
    names = list(TABLES["series"])
    rows = [dict(zip(names, row, strict=True)) for row in rows_of(run, "x")["series"]]
    (row,) = [one for one in rows if one["headline"] and one["direction"] == "write"]
    assert row["a_priori"] == pytest.approx(2 * row["median"])
    assert row["a_priori_ratio"] == pytest.approx(0.5)
    assert (row["a_priori_basis"], row["a_priori_limit"]) == ("probe", "disk of 4")
    assert row["verdict"] == "as calibrated"
