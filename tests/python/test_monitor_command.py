"""``weir monitor`` from the outside, and what a terminal shows meanwhile."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from weir_process import WeirProcess

from weir.commands.monitor import monitor_command
from weir.errors import Error
from weir.monitor.counters import Key, Values
from weir.monitor.live import LiveLine, line_of
from weir.monitor.recording import Reader, Writer
from weir.monitor.sampler import SECOND, Sample
from weir.monitor.samples import write_samples
from weir.results.errors import ResultError
from weir.results.request_sizes import sizes_of

DISK = Key("target", "diskstats", "vda")
CARD = Key("link", "network", "eth0")
MIB = 1 << 20
DEADLINE_SECONDS = 60


def recorded(path: Path, *, ended: bool = True) -> Path:
    """Ten samples a second apart, of which the fifth and sixth were missed."""
    header = {"host": "here", "interval_ns": SECOND, "sources": ["diskstats"], "resolution": "so"}
    writer = Writer(path, header)
    for number in (0, 1, 2, 3, 6, 7):
        grown = {DISK: Values(MIB, number * MIB, 2, SECOND // 2)} if number else {}
        if number == 7:
            grown[CARD] = Values(5, 0, 1)
        writer.add(Sample((100 + number) * SECOND, 10, grown, number * SECOND // 1000))
    if ended:
        writer.close({"missed": 2})
    else:
        writer.flush()
        writer._stream.close()
    return path


def test_sizes_of_requests_are_put_together_over_targets() -> None:
    found = sizes_of(
        [
            ("brw_stats", "fs-OST0000 write RPCs of 1K pages", 8),
            ("brw_stats", "fs-OST0001 write RPCs of 32 pages", 1),
            ("brw_stats", "fs-OST0001 write RPCs of 1K pages", 1),
            ("brw_stats", "fs-OST0001 read disk I/Os of 1M", 3),
            ("brw_stats", "fs-OST0001 read disk I/Os of 4K", 0),
        ]
    )
    told = [(one.what, len(one.targets), one.total, one.text) for one in found]
    assert told == [
        ("read disk I/Os", 1, 3, "100 % of 1M"),
        ("write RPCs", 2, 10, "10 % of 32 pages, 90 % of 1K pages"),
    ]


@pytest.mark.parametrize("in_memory", [0, 1 << 20])
def test_a_recording_becomes_a_table_on_another_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr("weir.monitor.samples.LARGEST_IN_MEMORY", in_memory)
    target = tmp_path / "it's.parquet"
    summary = write_samples(recorded(tmp_path / "r"), target, 100 * SECOND)
    rows = duckdb.execute("SELECT * FROM read_parquet(?) ORDER BY time_ns, name", [str(target)])
    found = rows.fetchall()
    assert found[0] == (
        *(0, SECOND, "here", "target", "diskstats", "vda"),
        *(MIB, MIB, 2, SECOND // 2),
    )
    assert [(row[0] // SECOND, row[1] // SECOND) for row in found] == [
        *((0, 1), (1, 2), (2, 3), (3, 6), (6, 7), (6, 7))
    ]
    assert (summary.samples, summary.missed, summary.is_whole) == (6, 2, True)
    total = summary.totals[DISK]
    assert (total.bytes_read, total.bytes_written) == (5 * MIB, 19 * MIB)
    assert total.largest_rate == 8 * MIB
    assert summary.cost_fraction == pytest.approx(0.001)
    about = duckdb.execute("SELECT value FROM parquet_kv_metadata(?)", [str(target)]).fetchall()
    assert json.loads(about[0][0])["origin_ns"] == 100 * SECOND
    assert sorted(file.name for file in tmp_path.iterdir()) == ["it's.parquet", "r"]


def test_a_late_sample_is_not_a_missed_one(tmp_path: Path) -> None:
    """The samples due at 1 and 2 s come at 1.9 and 2 s; those of 4 and 5 s in one at 5.5 s."""
    header = {"host": "here", "interval_ns": SECOND, "sources": [], "resolution": "so"}
    writer = Writer(tmp_path / "r", header)
    for at in (0.0, 1.9, 2.0, 3.0, 5.5, 6.0, 6.4):
        writer.add(Sample(100 * SECOND + round(at * SECOND), 10, {}, 1))
    writer.close({})
    summary = write_samples(tmp_path / "r", tmp_path / "table.parquet")
    assert (summary.samples, summary.missed) == (7, 1)


def test_a_table_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="cannot be written"):
        write_samples(recorded(tmp_path / "r"), tmp_path / "missing" / "table.parquet")


def test_a_killed_monitor_is_known_by_its_end(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "r", ended=False)
    assert not write_samples(recording, tmp_path / "table.parquet").is_whole


def test_the_line_shows_what_moves_and_targets_first() -> None:
    moved = {CARD: [3 * MIB, 0], DISK: [0, 2 * MIB], Key("target", "diskstats", "idle"): [9, 0]}
    assert line_of(moved, 2.0) == "vda written 1.00 MiB/s  |  eth0 in 1.50 MiB/s"
    assert line_of({}, 1.0) == "nothing moves"


def test_the_line_is_replaced_once_a_second_and_fits_the_terminal() -> None:
    shown = io.StringIO()
    live = LiveLine(shown, 20)
    for number in range(21):
        live.add(Sample(number * SECOND // 10, 1, {DISK: Values(MIB)}, 1))
    live.clear()
    lines = shown.getvalue().split("\r\x1b[K")
    assert lines == ["", "vda read 10.0 MiB/s", "vda read 10.0 MiB/s", ""]


def monitor(folder: Path, *words: str) -> WeirProcess:
    return WeirProcess(("monitor", *words), cwd=folder, env=dict(os.environ))


def test_it_watches_for_a_time(tmp_path: Path) -> None:
    with monitor(
        tmp_path, "--interval", "50ms", "--for", "600ms", "--output", "m.parquet"
    ) as child:
        out, err = child.communicate(timeout=DEADLINE_SECONDS)
        assert child.wait(0) == 0, err
    assert "two intervals, can neither be seen nor be excluded" in " ".join(out.split())
    assert "of a core" in " ".join(out.split())
    assert [file.name for file in tmp_path.iterdir()] == ["m.parquet"]


def test_it_watches_a_command_and_returns_its_status(tmp_path: Path) -> None:
    command = ("--", "sh", "-c", "dd if=/dev/zero of=data bs=1M count=4 conv=fsync; exit 3")
    with monitor(tmp_path, "--output", "m.parquet", *command) as child:
        _, err = child.communicate(timeout=DEADLINE_SECONDS)
        assert child.wait(0) == 3, err
    assert (tmp_path / "data").stat().st_size == 4 * MIB
    assert (tmp_path / "m.parquet").is_file()


def recording_begun(path: Path) -> bool:
    """Whether the recording has a first block."""
    if not path.exists():
        return False
    try:
        with Reader(path) as reader:
            return next(reader.blocks(), None) is not None
    except Error:  # It has only just begun.
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_was_recorded_outlives_the_monitor(tmp_path: Path, number: signal.Signals) -> None:
    recording = tmp_path / "m.parquet.recording"
    with monitor(tmp_path, "--interval", "50ms", "--output", "m.parquet") as child:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not recording_begun(recording) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(child.pid, number)
        out, _ = child.communicate(timeout=DEADLINE_SECONDS)
        status = child.wait(0)
    if number == signal.SIGINT:
        assert status == 0
        assert "missed" in out
    else:
        assert status == -signal.SIGKILL
        assert not (tmp_path / "m.parquet").exists()
        with monitor(tmp_path, "--finish", recording.name) as child:
            out, _ = child.communicate(timeout=DEADLINE_SECONDS)
        assert "the monitor was killed, up to a second is lost" in " ".join(out.split())
    assert (tmp_path / "m.parquet").is_file()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"interval": "10ms"}, "out of range: give 50ms to 60s"),
        ({"interval": "soon"}, "the interval is wrong: 'soon' is not a time"),
        ({"duration": "soon"}, "--for: 'soon' is not a time"),
        ({"output": Path("taken")}, "taken exists: give a new --output"),
        ({"finish": Path("taken"), "output": Path("m")}, "is not a recording of weir monitor"),
        ({"output": Path("m"), "command": ["/no/such"]}, "/no/such cannot be run: No such file"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("other")
    options = dict.fromkeys(("command", "output", "duration", "finish")) | {"interval": "100ms"}
    with pytest.raises(Error, match=re.escape(said)):
        monitor_command(**(options | given))
    assert not Path("m").exists()
