"""Monitors on other hosts beside a job: their clocks, their samples, and what fails."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from report_reader import parse
from synthetic import make_events
from synthetic_events import WRITE
from test_monitor_beside import DISK, MIB, MS, START, monitored_folder
from weir.errors import Error
from weir.monitor import beside
from weir.monitor.counters import Key, Values
from weir.monitor.elsewhere import Apart, Elsewhere, Recorded, command_for, hosts_of
from weir.monitor.recording import Reader, Writer
from weir.monitor.sampler import SECOND, Sample
from weir.report import write_report
from weir.report.sample_store import SampleStore
from weir.results.folder import load_run
from weir.results.index import query
from weir.results.placements import Placement

AHEAD_SECONDS = 5000
"""By how much the clock of the other host is ahead, where the kernel can make such a one."""


def other_clock() -> list[str]:
    """Returns the words that run a command with another CLOCK_MONOTONIC, or none."""
    tool = shutil.which("unshare")
    words = [tool or "", "--time", "--monotonic", str(AHEAD_SECONDS), "--fork"]
    works = (
        tool and not subprocess.run([*words, "true"], capture_output=True, check=False).returncode
    )
    return words if works else []


def test_the_clock_of_another_host_is_known_within_a_bound(tmp_path: Path) -> None:
    words = other_clock()
    reach = shlex.join([*words, sys.executable, "-m", "weir.cli"])
    environment = {**os.environ, "WEIR_MONITOR_REACH": reach}
    one = Elsewhere("oss1", 0.05, environment)
    try:
        one.begin()
        recorded = one.finish(tmp_path)
    finally:
        said = one.close()
    assert said == ""
    ahead = AHEAD_SECONDS * SECOND if words else 0
    assert recorded.apart.least_ns <= ahead <= recorded.apart.most_ns
    assert recorded.apart.error_bound_ns < SECOND
    with Reader(tmp_path / recorded.file) as reader:
        assert sum(len(block.times_ns) for block in reader.blocks()) >= 2
        assert reader.end is not None


@pytest.mark.parametrize(
    ("reach", "reason", "said"),
    [
        ("sh -c 'echo no route to {host} >&2; exit 3' x", "it has ended", "no route to oss1"),
        ("sh -c 'echo hello'", "no monitor of this version", ""),
    ],
)
def test_a_host_without_a_monitor_is_an_error(reach: str, reason: str, said: str) -> None:
    one = Elsewhere("oss1", 0.1, {**os.environ, "WEIR_MONITOR_REACH": reach})
    with pytest.raises(Error, match=reason):
        one.begin()
    assert one.close() == said


def test_hosts_and_the_way_to_them_are_in_the_environment() -> None:
    assert hosts_of({}) == []
    assert hosts_of({"WEIR_MONITOR_ON": "oss1,oss2 oss1"}) == ["oss1", "oss2"]
    words = ["ssh", "-o", "BatchMode=yes", "oss1", "weir", "monitor", "--serve", "--interval", "1s"]
    assert command_for("oss1", 1, {}) == words
    given = command_for("oss1", 0.1, {"WEIR_MONITOR_REACH": "srun -w {host} weir"})
    assert given == ["srun", "-w", "oss1", "weir", "monitor", "--serve", "--interval", "0.1s"]


def test_samples_of_another_host_lie_on_the_runs_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other host's clock is 7 s ahead, give or take 2 ms; its device has the same name."""
    output = tmp_path / "job"
    output.mkdir()
    writer = Writer(
        output / "monitor-oss1.recording",
        {"host": "x", "interval_ns": 100 * MS, "sources": ["diskstats"]},
    )
    for number in range(4):
        grown = {DISK: Values(0, 3 * MIB, 1)} if number else {}
        writer.add(Sample(START + 7 * SECOND + number * 100 * MS, MS, grown, 0))
    writer.close({})
    recorded = Recorded("oss1", "monitor-oss1.recording", Apart(6998 * MS, 7002 * MS))
    made = beside.Beside
    monkeypatch.setattr(
        "test_monitor_beside.Beside", lambda *a, **k: made(*a, **k, elsewhere=[recorded])
    )
    place = monitored_folder(tmp_path)
    monitor = load_run(place).monitor
    assert monitor is not None
    (host,) = monitor.hosts
    assert (host.host, host.samples) == ("oss1", 4)
    assert host.clock.likely_error_ns == (monitor.clock.likely_error_ns or 0) + 2 * MS
    assert [(one.host, one.bytes_written // MIB) for one in monitor.counters] == [
        (None, 500),
        ("oss1", 9),
    ]
    sql = "SELECT host, sum(bytes_written) FROM monitor GROUP BY ALL ORDER BY host"
    assert query(tmp_path, sql, print).rows == [("node1", 500 * MIB), ("oss1", 9 * MIB)]
    began = round(load_run(place).repetitions[0].started_seconds * SECOND)
    rows = query(tmp_path, "SELECT min(since_ns) FROM monitor WHERE host = 'oss1'", print).rows
    assert rows == [(began,)]
    samples = SampleStore.open(place)
    assert samples is not None
    edges = np.array([-100.0, 100.0])
    moved = [float(one.write[0]) * 200 / MIB for one in samples.rates(monitor.counters, edges)]
    assert moved == pytest.approx([500, 9])
    assert not list(output.glob("*.recording"))


class Followed:
    """The files of ranks lie on two targets of Lustre, or on three."""

    def __init__(self, targets: int) -> None:
        self.sources = {Path("/lustre"): "lustre"}
        self._targets = targets

    def placements(self, _label: str) -> list[Placement]:
        return [
            Placement(0, f"/lustre/{n}", n, 0, -1, MIB, 0, f"fs-OST000{n}", None, 1)
            for n in range(self._targets)
        ]


def watched_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, targets: int, others: int
) -> tuple[Path, int]:
    """A run whose writes go to targets on two servers, with so many bytes of others."""
    output = tmp_path / "job"
    output.mkdir()
    events = make_events()
    own = int(events["bytes"][events["operation"] == WRITE].sum())
    recorded = []
    for number, host in enumerate(("oss1", "oss2")):
        key = Key("target", "obdfilter", f"fs-OST000{number}")
        header = {"host": host, "interval_ns": 100 * MS, "sources": ["obdfilter"]}
        writer = Writer(output / f"monitor-{host}.recording", header)
        for sample in range(-20, 11):
            moved = (own + others) // 20 if sample > 0 else 0
            grown = {key: Values(0, moved, 1)} if moved else {}
            writer.add(Sample(START + sample * 100 * MS, MS, grown, 0))
        writer.close({})
        recorded.append(Recorded(host, f"monitor-{host}.recording", Apart(0, 0)))
    made = beside.Beside

    def with_servers(*words: Any, **fields: Any) -> beside.Beside:
        fields |= {"holding": [], "elsewhere": recorded, "following": Followed(targets)}
        return made(*words, **fields)

    monkeypatch.setattr("test_monitor_beside.Beside", with_servers)
    return monitored_folder(tmp_path), own


def test_others_are_what_servers_moved_minus_the_jobs_transfers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, own = watched_servers(tmp_path, monkeypatch, 2, 2000 * MIB)
    monitor = load_run(place).monitor
    assert monitor is not None
    assert [one.name for one in monitor.counters if one.holds_files] == [
        "fs-OST0000",
        "fs-OST0001",
    ]
    assert (monitor.others.verdict, monitor.others.own_from) == ("not quiet", "transfers")
    written = monitor.others.directions[0]
    assert written.own_high_bytes == own
    assert written.others_low_bytes == pytest.approx(2000 * MIB, abs=MIB)
    page = parse(write_report(place).read_text())
    drawn = page.one("figure", data_figure="each-server")
    assert "oss1: 1 target" in drawn.text
    assert "oss2: 1 target" in drawn.text


def test_a_target_that_is_not_watched_leaves_others_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes on the third target would seem to be missing on the others."""
    place, _ = watched_servers(tmp_path, monkeypatch, 3, 0)
    monitor = load_run(place).monitor
    assert monitor is not None
    assert (monitor.others.verdict, monitor.others.directions) == ("not known", [])
    assert "no counters were found of fs-OST0002" in monitor.others.text
