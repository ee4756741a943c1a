"""When the monitor samples, what it records, and what a killed one leaves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from weir.errors import Error
from weir.monitor.counters import Key, Values
from weir.monitor.recording import MOST_ROWS, Block, Reader, Writer
from weir.monitor.sampler import SECOND, Sample, Sampler, resolution_text
from weir.monitor.samples import Summary, rows_of

DISK = Key("target", "diskstats", "vda")
IDLE = Key("target", "diskstats", "vdb")
OSD = Key("target", "ceph", "osd.0")
MS = 1_000_000


@dataclass
class FakeClock:
    """Time passes only by waiting, and by what `delays` adds to the waits, by their number."""

    delays: Mapping[int, int] = field(default_factory=dict)
    waits: int = 10**9
    time: int = 5 * SECOND
    waited: list[int] = field(default_factory=list)

    def now_ns(self) -> int:
        return self.time

    def wait_until(self, at_ns: int) -> bool:
        self.waited.append(at_ns)
        self.time = max(self.time, at_ns) + self.delays.get(len(self.waited), 0)
        return len(self.waited) < self.waits

    def cost_ns(self) -> int:
        return self.time // 100


class Counting:
    """Moves 1000 bytes at each sample; a second target does not move."""

    source = "diskstats"

    def __init__(self) -> None:
        self.total = 7000

    def now(self) -> dict[Key, Values]:
        self.total += 1000
        return {DISK: Values(self.total, 0, 1), IDLE: Values(3, 4, 5, 6)}

    def close(self) -> None:
        pass


def sampled(clock: FakeClock, longest_ns: int | None = None) -> tuple[Sampler, list[Sample]]:
    samples: list[Sample] = []
    sampler = Sampler([Counting()], 50 * MS, clock, samples.append)
    sampler.run(longest_ns)
    return sampler, samples


def test_samples_are_due_at_fixed_times_and_no_delay_adds_up() -> None:
    start = 5 * SECOND
    clock = FakeClock(delays={2: 20 * MS, 3: 30 * MS})
    sampler, samples = sampled(clock, 250 * MS)
    assert clock.waited == [start + n * 50 * MS for n in (1, 2, 3, 4, 5)]
    late = [sample.at_ns - start for sample in samples]
    assert late == [0, 50 * MS, 120 * MS, 180 * MS, 200 * MS, 250 * MS]
    assert (sampler.samples, sampler.missed) == (6, 0)


def test_samples_that_were_missed_are_counted_and_not_made_up() -> None:
    clock = FakeClock(delays={2: 170 * MS})
    sampler, samples = sampled(clock, 400 * MS)
    assert sampler.missed == 3
    at = [(sample.at_ns - 5 * SECOND) // MS for sample in samples]
    assert at == [0, 50, 270, 300, 350, 400]
    # What was moved meanwhile is in the sample after.
    assert sum(sample.grown[DISK].bytes_read for sample in samples[1:]) == 5000


def test_only_growth_is_passed_on_and_the_first_sample_has_none() -> None:
    _, samples = sampled(FakeClock(), 100 * MS)
    assert [dict(sample.grown) for sample in samples] == [
        {},
        {DISK: Values(1000)},
        {DISK: Values(1000)},
    ]


class Delayed:
    """Was read 30 ms before each second sample, and has nothing at the others."""

    source = "ceph"

    def __init__(self, clock: FakeClock) -> None:
        self.span_ns = (0, 0)
        self._clock = clock
        self._asked = 0

    def now(self) -> dict[Key, Values]:
        self._asked += 1
        if self._asked % 2:
            return {}
        self.span_ns = (self.span_ns[1], self._clock.time - 30 * MS)
        return {OSD: Values(self._asked * 10)}

    def close(self) -> None:
        pass


def test_growth_of_a_delayed_driver_is_between_its_readings(tmp_path: Path) -> None:
    """Not between two samples, in which all of it would seem to have been moved."""
    clock = FakeClock()
    path = tmp_path / "recording"
    writer = Writer(path, {"host": "here", "interval_ns": 50 * MS})
    Sampler([Delayed(clock), Counting()], 50 * MS, clock, writer.add).run(200 * MS)
    writer.close({})
    with Reader(path) as reader:
        rows = list(rows_of(reader, Summary(reader.header)))
    start = 5 * SECOND
    of_delayed = [(since - start, time - start) for since, time, key, _ in rows if key == OSD]
    assert of_delayed == [(20 * MS, 120 * MS)]
    of_disk = [(since - start, time - start) for since, time, key, _ in rows if key == DISK]
    assert of_disk == [(n * 50 * MS, (n + 1) * 50 * MS) for n in range(4)]


def test_a_sampler_that_is_to_end_samples_once_more() -> None:
    _, samples = sampled(FakeClock(waits=3))
    assert len(samples) == 4


def test_a_lost_source_does_not_end_the_sampler() -> None:
    class Lost(Counting):
        def now(self) -> dict[Key, Values]:
            raise OSError("gone")

    sampler = Sampler([Lost(), Counting()], 50 * MS, FakeClock(), lambda _: None)
    sampler.run(100 * MS)
    assert sampler.samples == 3


def test_the_resolution_says_what_it_cannot_show() -> None:
    assert "shorter than 0.2 s, two intervals, can neither be seen nor be excluded" in (
        resolution_text(0.1)
    )


def record(path: Path, samples: int) -> Writer:
    writer = Writer(path, {"host": "here"})
    for number in range(samples):
        grown = {DISK: Values(number, 2, 3, 4)}
        if number == samples - 1:
            grown[IDLE] = Values(1 << 40, 0, 0, 0)
        writer.add(Sample(number * 100 * MS, 50, grown, number))
    return writer


def blocks_of(path: Path) -> tuple[list[Block], Reader]:
    with Reader(path) as reader:
        return list(reader.blocks()), reader


def test_a_recording_has_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    record(path, 25).close({"missed": 3})
    blocks, reader = blocks_of(path)
    assert (reader.header, reader.end) == ({"host": "here"}, {"missed": 3})
    assert [time for block in blocks for time in block.times_ns] == [
        n * 100 * MS for n in range(25)
    ]
    rows = [row for block in blocks for row in block.rows]
    assert [values.bytes_read for _, key, _, values in rows if key == DISK] == list(range(25))
    assert rows[-1] == (len(blocks[-1].times_ns) - 1, IDLE, (0, 0), Values(1 << 40))


def test_a_killed_monitor_leaves_all_but_its_last_second(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    alive = record(path, 25)  # As a killed monitor, it has neither flushed nor closed.
    blocks, reader = blocks_of(path)
    times = [time for block in blocks for time in block.times_ns]
    assert times == [n * 100 * MS for n in range(len(times))]
    assert 24 * 100 * MS - times[-1] < SECOND
    assert reader.end is None
    alive.close({})


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.95])
def test_a_torn_or_damaged_frame_ends_a_recording(tmp_path: Path, kept: float) -> None:
    path = tmp_path / "recording"
    record(path, 100).close({})
    whole, _ = blocks_of(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    torn, reader = blocks_of(path)
    assert reader.end is None
    assert 0 < len(torn) < len(whole)
    assert torn == whole[: len(torn)]
    damaged = bytearray(content)
    damaged[int(len(content) * kept)] ^= 0xFF
    path.write_bytes(damaged)
    readable, reader = blocks_of(path)
    assert reader.end is None
    assert len(readable) < len(whole)
    assert readable == whole[: len(readable)]


def test_a_block_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    writer = Writer(path, {})
    many = {Key("target", "test", str(n)): Values(1) for n in range(MOST_ROWS)}
    writer.add(Sample(0, 1, many, 0))
    size = path.stat().st_size
    assert size > MOST_ROWS  # It was written before the second was over.
    writer.close({})


def test_another_file_is_no_recording(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    path.write_bytes(os.urandom(1000))
    with pytest.raises(Error, match="is not a recording of weir monitor"):
        Reader(path)
    path.write_bytes(b"weir monitor 1\nabc")
    with pytest.raises(Error, match="was cut off before its first sample"):
        Reader(path)
