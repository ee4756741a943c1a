"""A monitor beside a job: what others moved, on which clock, and what lies in the run folder."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from cli_with_doubles import Cli
from report_reader import parse
from synthetic import make_events, make_run, write_run_folder
from weir.analysis.others import Own, Watched, judge_others
from weir.bench.messages import Progress
from weir.commands.job_options import with_interval
from weir.monitor.beside import RECORDING, Beside, deliver
from weir.monitor.counters import Key, Values
from weir.monitor.holding import counters_holding
from weir.monitor.origin import Line, origin_of
from weir.monitor.recording import Writer
from weir.monitor.sampler import SECOND, Sample
from weir.report import write_report
from weir.report.sample_store import Rates
from weir.report.targets import completions, render_jobs
from weir.results.finalize import finalize
from weir.results.folder import load_run
from weir.results.index import query
from weir.results.monitor_records import MonitoredCounter, Others, named
from weir.results.schema import CacheVerdict, Repetition

MIB = 1 << 20
MS = 1_000_000
DISK = Key("target", "diskstats", "vda")
WORDS = ("madbench", "2000", "8", "1", "32", "4096", "1", "1")


def judged(
    during: tuple[int, int],
    accounted: tuple[int, int] = (0, 0),
    transferred: tuple[int, int] | None = (100, 100),
    served: CacheVerdict = "storage",
    before: int = 0,
    verified: int = 0,
) -> Others:
    """Judges bytes of (write, read) in MiB; the targets were watched 1 s before, and 10 s."""

    def by_direction(pair: tuple[int, int]) -> dict[Any, int]:
        return {"write": pair[0] * MIB, "read": pair[1] * MIB}

    own = Own(
        by_direction(accounted),
        None if transferred is None else by_direction(transferred),
        verified * MIB,
    )
    watched = Watched(1.0, {"write": before * MIB, "read": 0}, 10.0, by_direction(during))
    return judge_others(["vda"], watched, own, {"write": served, "read": served})


def test_what_the_kernel_accounts_for_is_the_jobs_own() -> None:
    found = judged((103, 205), accounted=(100, 200))
    assert (found.verdict, found.own_from) == ("quiet", "accounting")
    assert [one.others_high_bytes // MIB for one in found.directions] == [3, 5]
    # Reads to verify are in the accounts but in no event.
    assert judged((103, 205), transferred=(100, 100), verified=100).verdict == "not known"


def test_others_are_seen_during_and_before_the_job() -> None:
    busy = judged((140, 200), accounted=(100, 200))
    assert busy.verdict == "not quiet"
    assert busy.directions[0].others_low_bytes == 40 * MIB
    early = judged((100, 200), accounted=(100, 200), before=5)
    assert (early.verdict, early.before_bytes) == ("not quiet", 5 * MIB)
    assert "vda moved 5.00 MiB/s in 1.00 s; over the job's time that would be 16.7 %" in early.text


def test_what_storage_served_is_certainly_the_jobs_own() -> None:
    """The job also wrote 9 MiB of results, which are in the page cache."""
    found = judged((103, 0), accounted=(109, 0), transferred=(100, 0))
    written = found.directions[0]
    assert (written.own_low_bytes // MIB, written.own_high_bytes // MIB) == (100, 109)
    assert (written.others_low_bytes, written.others_high_bytes) == (0, 3 * MIB)
    assert found.verdict == "quiet"


def test_others_may_hide_behind_what_the_page_cache_kept() -> None:
    found = judged((60, 0), accounted=(100, 0), transferred=(100, 0), served="memory")
    assert found.verdict == "not known"
    assert found.directions[0].others_low_bytes == 0
    assert found.directions[0].others_high_bytes == 60 * MIB
    assert "others may hide" in found.text
    # The targets moved so little that it does not matter whose bytes they were.
    assert judged((2, 0), accounted=(100, 0), served="memory").verdict == "quiet"


def test_ranks_that_are_not_below_the_launcher_are_counted_by_their_events() -> None:
    found = judged((100, 100), accounted=(1, 1))
    assert (found.verdict, found.own_from) == ("quiet", "transfers")


def test_without_own_bytes_or_targets_nothing_is_claimed() -> None:
    assert judged((100, 100), transferred=None).verdict == "not known"
    own = Own({"write": MIB, "read": 0}, None, 0)
    found = judge_others([], Watched(1, {}, 1, {}), own, {})
    assert (found.verdict, found.own_from, found.directions) == ("not known", None, [])


def repetitions(*times: tuple[float, float]) -> dict[tuple[str, int], Repetition]:
    return {
        ("A", index): Repetition(
            index=index,
            warmup=False,
            outlier=False,
            started_seconds=began,
            seconds=seconds,
            order=index,
            phases=[],
            functions=[],
        )
        for index, (began, seconds) in enumerate(times)
    }


START = 1000 * SECOND


def lines(*at_ms: float) -> list[Line]:
    """Lines of progress at these times after the start of the run; the last one is the end."""
    return [
        Line(START + round(at * MS), "A", number, number == len(at_ms) - 1)
        for number, at in enumerate(at_ms)
    ]


def test_the_runs_start_is_estimated_between_proven_bounds() -> None:
    times = repetitions((0.0, 0.1), (0.2, 0.1), (0.4, 0.1))
    found = origin_of(
        START - SECOND, lines(7, 203, 403, 506), times, ranks_error_ns=10, stated_ns=None
    )
    assert found.at_ns == START + 3 * MS  # The median of 7, 3 and 3 ms.
    assert found.likely_error_ns == 4 * MS + 10
    # Not before the launcher, and not after 506 - 500 ms.
    assert found.error_bound_ns == SECOND + 3 * MS + 10


def test_an_estimate_after_the_latest_possible_start_is_moved() -> None:
    late = origin_of(START - SECOND, lines(50, 101), repetitions((0.0, 0.1)), ranks_error_ns=0)
    assert late.at_ns == START + MS


def test_a_stated_start_is_exact_where_it_is_possible() -> None:
    times = repetitions((0.0, 0.1))
    same = origin_of(START - SECOND, lines(9, 120), times, ranks_error_ns=500, stated_ns=START)
    assert (same.at_ns, same.error_bound_ns, same.likely_error_ns) == (START, 500, None)
    other_clock = origin_of(
        START - SECOND, lines(9, 120), times, ranks_error_ns=500, stated_ns=START + SECOND
    )
    assert other_clock.at_ns == START + 9 * MS


def test_without_lines_there_is_no_bound() -> None:
    found = origin_of(START, [], {}, ranks_error_ns=0)
    assert (found.at_ns, found.error_bound_ns, found.likely_error_ns) == (START, None, None)


def test_a_partition_stands_for_its_device_and_nfs_for_its_mount(tmp_path: Path) -> None:
    number = tmp_path.stat().st_dev
    name = f"{number >> 8 & 0xFFF}:{number & 0xFF | number >> 12 & 0xFFF00}"
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"30 1 {name} / /mnt/my\\040data rw - nfs4 server:/x rw\n")
    devices = tmp_path / "devices"
    devices.mkdir()
    below = [str(tmp_path / "not" / "yet" / "there"), str(tmp_path)]
    assert counters_holding(below, devices, mounts) == [Key("client", "nfs", "/mnt/my data")]
    mounts.write_text(f"30 1 {name} / / rw - overlay none rw\n")
    assert counters_holding(below, devices, mounts) == []
    part = tmp_path / "block" / "sda" / "sda1"
    part.mkdir(parents=True)
    (part / "partition").write_text("1\n")
    (devices / name).symlink_to(part)
    assert counters_holding(below, devices, mounts) == [Key("target", "diskstats", "sda")]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["stream", "--monitor"], ["stream", "--monitor=100ms"]),
        (["--monitor", "stream"], ["--monitor=100ms", "stream"]),
        (["--monitor", "madbench", "2000"], ["--monitor=100ms", "madbench", "2000"]),
        (["--monitor", "50ms", "-n", "4"], ["--monitor", "50ms", "-n", "4"]),
        (["--monitor=2s"], ["--monitor=2s"]),
        ([], []),
    ],
)
def test_the_interval_may_be_left_out(given: list[str], read: list[str]) -> None:
    assert with_interval(given) == read


def monitored_folder(folder: Path, started_ns: int | None = None) -> Path:
    """A run folder with a monitor's samples: the device moves 10 MiB each 100 ms."""
    output = folder / "job"
    run = make_run()
    assert run.clocks is not None
    clocks = run.clocks.model_copy(update={"started_ns": started_ns})
    run = run.model_copy(update={"clocks": clocks})
    place = write_run_folder(output / "run", run, make_events())
    header = {"host": "node1", "interval_ns": 100 * MS, "sources": ["diskstats"]}
    header |= {"resolution": "sampled every 0.1 s", "monotonic_ns": START, "utc_ns": 0}
    writer = Writer(output / RECORDING, header)
    for number in range(61):
        grown = {DISK: Values(0, 10 * MIB, 1, 50 * MS)} if number > 10 else {}
        writer.add(Sample(START + (number - 20) * 100 * MS, MS, grown, number * MS))
    writer.close({})
    told: list[str] = []
    beside = Beside(0.1, ["/"], told.append, launched_ns=START - SECOND, holding=[DISK])
    beside.accounted = {"write": 400 * MIB, "read": 0}
    beside.lines = [Line(START, run.label, 0, ended=False)]
    deliver(beside, output)
    assert told == []
    return place


def test_the_samples_lie_in_the_run_folder_on_the_runs_clock(tmp_path: Path) -> None:
    place = monitored_folder(tmp_path)
    monitor = load_run(place).monitor
    assert monitor is not None
    assert (monitor.samples, monitor.missed, monitor.interval_seconds) == (61, 0, 0.1)
    (counter,) = monitor.counters
    assert (counter.name, counter.holds_files, counter.bytes_written) == ("vda", True, 500 * MIB)
    assert counter.largest_bytes_per_second == pytest.approx(100 * MIB)
    # The run started 1 s after the launcher, which the first five samples with bytes precede.
    assert monitor.others.before_bytes == 0
    assert monitor.others.directions[0].target_bytes == 500 * MIB
    rows = query(tmp_path, "SELECT min(since_ns), max(time_ns), count(*) FROM monitor", print).rows
    began = round(load_run(place).repetitions[0].started_seconds * SECOND)
    assert rows == [(began - 10 * 100 * MS, began + 40 * 100 * MS, 50)]
    assert not (tmp_path / "job" / RECORDING).exists()
    finalize(tmp_path / "job", lambda _run, _siblings: None)
    assert "  monitor.parquet\n" in (place / "SHA256SUMS").read_text()


@pytest.mark.parametrize("host", ["node00", "elsewhere"])
def test_a_start_on_the_same_hosts_clock_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: host)
    place = monitored_folder(tmp_path, START - 50 * MS)
    run = load_run(place)
    assert run.monitor is not None
    assert run.clocks is not None
    clock = run.monitor.clock
    rows = query(tmp_path, "SELECT max(time_ns) FROM monitor", print).rows
    if host == "node00":
        assert (clock.error_bound_ns, clock.likely_error_ns) == (run.clocks.error_bound_ns, None)
        assert rows == [(4050 * MS,)]
    else:
        assert clock.likely_error_ns is not None
        assert rows == [(4000 * MS,)]


def test_a_recording_that_cannot_be_used_stays_and_is_told(tmp_path: Path) -> None:
    output = tmp_path / "job"
    write_run_folder(output / "run", make_run(), make_events())
    (output / RECORDING).write_text("no recording")
    told: list[str] = []
    deliver(Beside(0.1, ["/"], told.append), output)
    assert len(told) == 1
    assert "the samples of the monitor stay in" in told[0]
    assert load_run(output / "run").monitor is None


def test_the_report_draws_the_targets_and_says_whether_they_were_quiet(tmp_path: Path) -> None:
    place = monitored_folder(tmp_path)
    page = parse(write_report(place).read_text())
    drawn = page.one("figure", data_figure="targets")
    lines_drawn = [one for one in drawn.find("path") if "class" in one.attributes]
    classes = {one.attributes["class"] for one in lines_drawn}
    assert classes == {"monitored write-line", "phase-rate write-line", "phase-rate read-line"}
    small = page.one("figure", data_figure="each-target")
    assert "target vda (diskstats)" in small.text
    checks = {one.text for one in page.walk() if "data-check" in one.attributes}
    assert any("The file system was" in text for text in checks)
    assert "What moved while the monitor ran" in page.text


def test_of_many_targets_a_text_names_the_first() -> None:
    assert named(["a", "b"]) == "a, b"
    assert named([f"OST{n}" for n in range(80)]).endswith("OST4, OST5 and 74 more")


def test_a_campaign_has_the_targets_over_all_its_jobs(tmp_path: Path) -> None:
    jobs = []
    for number in (1, 2):
        place = monitored_folder(tmp_path / str(number))
        jobs.append([(place, load_run(place))])
    drawn = render_jobs(jobs)
    assert drawn is not None
    page = parse(drawn)
    assert "All targets of the files over 2 jobs" in page.text
    classes = {one.attributes.get("class") for one in page.find("path")}
    assert classes == {"monitored write-line", "phase-rate write-line", "phase-rate read-line"}
    assert render_jobs([[(place, make_run())]]) is None


def counter(name: str) -> MonitoredCounter:
    return MonitoredCounter(
        kind="target",
        source="diskstats",
        name=name,
        holds_files=True,
        bytes_read=0,
        bytes_written=1,
        operations=1,
        busy_seconds=0,
        largest_bytes_per_second=0,
    )


def test_targets_are_done_when_they_moved_nearly_all() -> None:
    edges = np.arange(0.0, 11.0)
    none = np.zeros(10)
    early, late = none.copy(), none.copy()
    early[2:6], late[2:10] = 100.0, 50.0
    early[9] = 1.0  # A journal, much later.
    rates = [Rates(edges, none, moved) for moved in (early, late, none)]
    done = completions([counter("early"), counter("late"), counter("idle")], rates)
    assert [(one.name, one.seconds) for one in done] == [("early", 4.0), ("late", 8.0)]
    assert [one.rate for one in done] == pytest.approx([100.25, 50.0])


def test_bench_starts_and_ends_the_monitor(tmp_path: Path, double_answers: Path) -> None:
    cli = Cli(tmp_path, double_answers)
    began = time.monotonic_ns()
    status, out, err = cli.run(
        "bench", *WORDS, "--output", "results", "--no-report", "--monitor", "50ms"
    )
    assert (status, err.count("weir:")) == (0, 0), err
    assert "File system " in out
    for name in ("posix-unique-sync", "mpi-shared-sync"):
        folder = cli.folder / "results" / name
        monitor = load_run(folder).monitor
        assert monitor is not None
        assert monitor.interval_seconds == 0.05
        # The monitor runs from a second before the job to a second after it.
        assert monitor.seconds > 2.0
        about = duckdb.execute(
            "SELECT value FROM parquet_kv_metadata(?)", [str(folder / "monitor.parquet")]
        ).fetchall()
        assert json.loads(about[0][0])["monotonic_ns"] > began
    assert not list((cli.folder / "results").glob("*.recording"))


def test_bench_refuses_an_interval_before_it_runs(tmp_path: Path, double_answers: Path) -> None:
    cli = Cli(tmp_path, double_answers)
    status, _, err = cli.run("bench", *WORDS, "--output", "results", "--monitor=1ms")
    assert status == 2
    assert "the interval 1ms is out of range: give 50ms to 60s" in err
    assert not (cli.folder / "results").exists()


def test_lines_of_progress_are_noted_as_they_arrive() -> None:
    beside = Beside(0.1, [], lambda _: None)
    step = {"label": "A", "repetition": 3, "warmup": False, "repetitions_done": 0}
    before = time.monotonic_ns()
    beside.seen(Progress(**step, repetitions_planned=1, ended=True, text=""))
    (line,) = beside.lines
    assert (line.label, line.repetition, line.ended) == ("A", 3, True)
    assert before <= line.at_ns <= time.monotonic_ns()
