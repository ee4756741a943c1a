"""Campaigns and sweeps with the real weir-bench and MPI launcher, at a tiny size."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from mpi_launcher import configured, is_open_mpi
from weir_process import WeirProcess

from report_reader import read_report
from weir.analysis.campaign_summary import cells_of, effective_of
from weir.results.campaign import finished_runs, load_campaign

DEADLINE_SECONDS = 150
FILE = """
workload = "madbench"
arguments = "256 4 1 32 4096 1 1 --repetitions 1 --max-repetitions 1 --alpha-is-not-an-option"
seed = 3
[fixed]
alpha = 0.5
[[factor]]
name = "ranks"
levels = [1, 2, 4]
[[factor]]
name = "filetype"
levels = ["UNIQUE", "SHARED"]
[[exclude]]
ranks = 2
"""


def weir(folder: Path, *words: str) -> tuple[int, str, str]:
    names = ("IOMETHOD", "IOMODE", "FILETYPE", "REMAP", "BWEXP")
    kept = {k: v for k, v in os.environ.items() if k not in names and not k.startswith("WEIR_")}
    locks = folder / "locks"
    locks.mkdir(exist_ok=True)
    environment = {
        **kept,
        "WEIR_LOCK_DIRECTORY": str(locks),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    with WeirProcess(words, cwd=folder, env=environment) as child:
        out, err = child.communicate(timeout=DEADLINE_SECONDS)
        return child.wait(0), out, err


def test_a_campaign_over_ranks_and_file_types(tmp_path: Path) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text(FILE)
    status, out, err = weir(tmp_path, "campaign", "tiny.toml", "--output", "out")
    assert (status, out, err.count("\n")) == (2, "", 1), err
    assert "ranks=1, filetype=UNIQUE: The following argument was not expected" in err
    file.write_text(FILE.replace(" --alpha-is-not-an-option", "").replace("ranks = 2", "ranks = 9"))
    status, _, err = weir(tmp_path, "campaign", "tiny.toml", "--output", "out")
    assert "ranks=2, filetype=UNIQUE: madbench: the number of ranks must be a square" in err
    file.write_text(FILE.replace(" --alpha-is-not-an-option", ""))
    status, out, err = weir(tmp_path, "campaign", "tiny.toml", "--output", "out")
    assert status == 0, out + err
    campaign = load_campaign(tmp_path / "out")
    finished = finished_runs(tmp_path / "out", campaign)
    assert sorted(finished) == [1, 2, 3, 4]
    for planned in campaign.runs:
        ((_, run),) = finished[planned.number]
        combination = campaign.combinations[planned.combination]
        assert run.status == "complete"
        assert run.plan.ranks == combination["ranks"]
        assert run.label == f"POSIX {combination['filetype']} SYNC"
        assert run.expectation is not None
    cells = cells_of(campaign, finished)
    assert len(cells) == 4 * 2
    assert all(cell.expected is not None for cell in cells)
    page = read_report(tmp_path / "out/report.html")
    shown = {value for table in page.find("section", id="over-ranks") for value in table.values()}
    assert {cell.median for cell in cells} <= shown
    status, out, _ = weir(
        tmp_path, "results", "query", "--root", "out", "--json", "SELECT count(*) AS n FROM runs"
    )
    assert json.loads(out) == [{"n": 4}]


def test_a_sweep_over_alpha_gives_eaar_beside_its_bounds(tmp_path: Path) -> None:
    size = ("256", "4", "1", "32", "4096", "1", "1", "--repetitions=1", "--max-repetitions=1")
    words = ("bench", "madbench", *size, "-n", "4", "--sweep", "alpha=1.0:1.5:0.25")
    status, out, err = weir(tmp_path, *words, "--output", "out")
    assert status == 0, out + err
    assert out.count("POSIX UNIQUE ASYNC: read ") == 1
    campaign = load_campaign(tmp_path / "out")
    assert [one["busy-work-exponent"] for one in campaign.combinations] == [1.0, 1.25, 1.5]
    finished = finished_runs(tmp_path / "out", campaign)
    effective = effective_of(campaign, finished)
    assert [(e.combination, e.direction) for e in effective] == [
        (c, d) for c in range(3) for d in ("read", "write")
    ]
    page = read_report(tmp_path / "out/report.html")
    hiding = page.one("section", id="hiding")
    assert {e.median for e in effective} <= set(hiding.values()), "the points"
    shown = {float(data.attributes["value"]) for data in hiding.find("data")}
    for e in effective:
        assert e.synchronous is not None
        assert e.ceiling == pytest.approx(4 * e.synchronous)
        assert e.expected is not None
        assert {e.median, e.synchronous, e.ceiling, e.expected.value} <= shown


def test_what_is_swept_replaces_what_was_given_by_position(tmp_path: Path) -> None:
    size = ("256", "4", "1", "32", "4096", "1", "1", "--repetitions=1", "--max-repetitions=1")
    words = ("bench", "madbench", *size, "-n", "1", "--sweep", "no_pix=128,256", "--output", "out")
    status, out, err = weir(tmp_path, *words)
    assert status == 0, out + err
    campaign = load_campaign(tmp_path / "out")
    for planned in campaign.runs:
        ((_, run),) = finished_runs(tmp_path / "out", campaign)[planned.number]
        pixels = campaign.combinations[planned.combination]["pixels"]
        assert run.parameters["pixels"].value == pixels
        assert run.parameters["bins"].value == 4
    status, out, _ = weir(tmp_path, *words, "--resume")
    assert status == 0
    assert "2 runs have already ended" in out


AGENT = """#!/bin/sh
host=$1
shift
exec unshare --uts sh -c 'hostname "$0" && exec sh -c "$1"' "$host" "$*"
"""
LAUNCHER = """#!/bin/sh
exec {mpirun} --mca plm_rsh_agent {agent} --mca plm_rsh_no_tree_spawn 1 \\
  --mca mpi_yield_when_idle 1 --bind-to none --host a:2,b:2 "$@"
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or not is_open_mpi(), reason="needs names of hosts, and Open MPI's agent"
)
def test_ranks_are_placed_on_each_node_as_the_factor_says(tmp_path: Path) -> None:
    """Two hosts by name: Open MPI starts a daemon under each name on this machine."""
    agent, launcher = tmp_path / "agent", tmp_path / "mpirun"
    agent.write_text(AGENT)
    launcher.write_text(LAUNCHER.format(mpirun=configured("MPIEXEC_EXECUTABLE"), agent=agent))
    for one in (agent, launcher):
        one.chmod(0o755)
    words = ("metadata", "--actions", "create,unlink", "--items", "4", "--repetitions", "1")
    sweep = ("-n", "2", "--sweep", "tasks-per-node=1,2", "--launcher", str(launcher))
    status, out, err = weir(tmp_path, "bench", *words, *sweep, "--output", "out")
    assert status == 0, out + err
    campaign = load_campaign(tmp_path / "out")
    hosts = {}
    for planned in campaign.runs:
        ((_, run),) = finished_runs(tmp_path / "out", campaign)[planned.number]
        tasks = campaign.combinations[planned.combination]["tasks-per-node"]
        hosts[tasks] = [(node.host, node.ranks) for node in run.nodes]
    assert hosts == {1: [("a", [0]), ("b", [1])], 2: [("a", [0, 1])]}
