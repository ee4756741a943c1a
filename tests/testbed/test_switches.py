"""I/O groups keep an array's data on their switch, and hosts describe themselves to weir sim."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from testbed_calls import WEIR_BENCH, MakeHosts, call, launcher, switch_traffic
from weir.results.platform import Platform
from weir.sim.description import describe
from weir.sim.job import Asked

MEBIBYTE = 1 << 20
SHAPE = "64x16384"
BYTES = 8 * MEBIBYTE


def crossed(folder: Path, *settings: str) -> int:
    """Bytes that the two switches send each other while an array is written and read once."""
    before = switch_traffic()
    done = subprocess.run(
        [*launcher(8), str(WEIR_BENCH), "array", "--api", "weir", "--shape", SHAPE,
         "--distribution", "*,BLOCK", "--strategy", "two-phase", "--aggregators", "1",
         "--warmups", "0", "--repetitions", "1", "--max-repetitions", "1", "--sync", "none",
         "--directory", str(folder), "--output", str(folder / "results"), *settings],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    after = switch_traffic()
    return sum(after.values()) - sum(before.values())


@pytest.mark.skipif(not WEIR_BENCH.exists(), reason=f"{WEIR_BENCH} is not built")
@pytest.mark.parametrize(("settings", "share"), [((), 1), (("--io-groups", "2"), 0)])
def test_data_cross_the_switches_only_without_groups(
    hosts: MakeHosts, tmp_path: Path, settings: tuple[str, ...], share: int
) -> None:
    hosts(4, "400mbit", options="--switches 2 --between 100mbit")
    # Half of what each switch's hosts hold belongs to the other's aggregators, there and back.
    expected = 2 * BYTES // 2 * share
    assert expected <= crossed(tmp_path, *settings) < expected + 2 * MEBIBYTE


def test_hosts_describe_themselves_to_weir_sim(hosts: MakeHosts) -> None:
    hosts(4, "100mbit", options="--switches 2 --between 25mbit")
    text = call("hosts", "platform", "--ranks-per-host", "2").stdout
    machine = Platform.model_validate(tomllib.loads(text))
    asked = Asked("array", 8, "two-phase", shape=SHAPE, io_groups=2)
    made = describe(machine, asked)
    assert made["nodes_per_group"] == 2
    assert made["network"]["shape"] == "switches:2"
    assert made["network"]["bytes_per_second"] == pytest.approx(25e6 / 8 * 1448 / 1514)
    assert made["messages"]["bytes_per_second"] == pytest.approx(100e6 / 8 * 1448 / 1514)
    assert "first_end" not in made["network"]
    call("hosts", "set", "weir-host1", "--link", "50mbit")
    refused = call("hosts", "platform", "--ranks-per-host", "2", status=2).stderr
    assert "weir sim needs links of one rate" in refused
