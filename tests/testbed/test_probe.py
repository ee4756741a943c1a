"""``weir platform probe`` finds what is known: rates of targets and of links, and the slow one.

What is compared with a target's limit are the description's rates for O_DIRECT. Buffered ones hold
the page cache's copy and reading ahead besides (docs/platform.md).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.hosts import HOSTS_FILES
from testbed_calls import WEIR_BENCH, MakeHosts, MakeTargets, launcher
from testbed_transfers import expect_limits
from weir.results.folder import load_record
from weir.results.node_differences import node_differences, nodes_of_probe
from weir.results.platform import Platform, PlatformStage
from weir.results.platform_file import load_platform
from weir.results.probe import Probe

TCP_PAYLOAD = 1448 / 1514
"""Share of a full frame beside the headers of Ethernet, IP and TCP with time stamps."""

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not WEIR_BENCH.exists(), reason=f"{WEIR_BENCH} is not built"),
]


def described(folder: Path, *words: str) -> Platform:
    """The description that the command writes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    command = [sys.executable, "-m", "weir.cli", "platform", "probe", "--output", "found.toml"]
    done = subprocess.run(
        [*command, *words],
        capture_output=True, text=True, timeout=200, check=False, env=kept, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return load_platform(folder / "found.toml")


def rates_of(platform: Platform, name: str) -> dict[str, float]:
    """Bytes per second of each unit of a stage."""
    stage: PlatformStage = next(stage for stage in platform.stages if stage.name == name)
    return {unit.name: unit.rate_bytes_per_second.value for unit in stage.different_units}


def test_each_of_four_targets_has_its_rate(targets: MakeTargets, tmp_path: Path) -> None:
    made = targets("50,100,150,200MB/s", size="512MiB")
    places = [target.directory for target in made]

    def direct_rates() -> list[float]:
        words = ("--directory", ",".join(places), "-n", "2", "--seconds", "50")
        platform = described(tmp_path, *words)
        assert [target.directory for target in platform.targets] == places
        assert [target.file_system for target in platform.targets] == ["ext4"] * 4
        for way in ("write", "read"):
            assert list(rates_of(platform, f"storage {way}")) == places
            assert list(rates_of(platform, f"direct {way}")) == places
        return [
            rates_of(platform, f"direct {way}")[place]
            for way in ("write", "read") for place in places
        ]  # fmt: skip

    # A probe's samples are short, and a limit lets what was not used for a moment pass later: rates
    # up to 14 % above a limit were seen. The limits differ by a quarter at least.
    expect_limits(direct_rates, [50e6, 100e6, 150e6, 200e6] * 2, within=0.15, attempts=2)
    assert not [left for place in places for left in Path(place).glob("weir-*")]


def test_one_slow_link_of_four_is_seen(hosts: MakeHosts, tmp_path: Path) -> None:
    made = hosts(4, "1gbit,1gbit,100mbit,1gbit")
    # The kernel shows a host this file in place of /etc/os-release.
    release = HOSTS_FILES / made[3].name / "os-release"
    release.write_text('PRETTY_NAME="Made up 99"\n')
    words = ("--directory", str(tmp_path), "--launcher", shlex.join(launcher(4)))
    words += ("--seconds", "20")
    bits = {host.name: 1e9 for host in made} | {made[2].name: 1e8}

    def link_rates() -> list[float]:
        platform = described(tmp_path, *words)
        assert platform.hosts == 4
        rates = rates_of(platform, "node link")
        assert rates.keys() == bits.keys()
        return [rates[host] for host in bits]

    try:
        expect_limits(link_rates, [rate / 8 * TCP_PAYLOAD for rate in bits.values()], attempts=2)
    finally:
        release.unlink()  # The test bed takes no host away whose folder has a file of others.
    probe = load_record(tmp_path / "found.probe.json", Probe)
    assert list(probe.ranks_by_host) == [host.name for host in made]
    (one,) = node_differences(nodes_of_probe(probe))
    assert (one.hosts, one.path, one.value) == (
        made[3].name, ("system_software", "distribution"), "Made up 99"
    )  # fmt: skip
