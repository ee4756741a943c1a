"""``weir platform discover`` finds the nodes of a job on several hosts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from testbed_calls import MakeHosts, call
from weir.results.host_list import fold_hosts
from weir.results.platform_file import load_platform


def test_nodes_of_a_job_are_found_in_the_order_of_their_ranks(
    hosts: MakeHosts, tmp_path: Path
) -> None:
    made = hosts(3)
    names = [host.name for host in made]
    launcher = call("hosts", "launcher", "-n", "6").stdout.strip()
    (tmp_path / "kept").mkdir()
    switches = f"SwitchName=a Nodes={names[0]},{names[2]}\nSwitchName=b Nodes={names[1]}\n"
    (tmp_path / "kept" / "topology.conf").write_text(switches)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    words = ("--launcher", launcher, "--record", "kept", "--output", "found.toml")
    done = subprocess.run(
        [sys.executable, "-m", "weir.cli", "platform", "discover", *words],
        capture_output=True, text=True, timeout=120, check=False, env=kept, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"3 nodes: {fold_hosts(names)}\n")
    assert "3 of these hosts run on the same kernel as another one" in done.stdout
    assert "WEIR_IO_GROUPS=0,1,0\n" in done.stdout
    platform = load_platform(tmp_path / "found.toml")
    assert (platform.hosts, platform.ranks_per_host) == (3, 2)
    assert platform.topology["ranks_by_host"] == dict.fromkeys(names, 2)
