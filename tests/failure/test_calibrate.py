"""``weir-bench calibrate``: a record that validates, or one line and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from failing_runs import (
    PATIENT_LAUNCHER,
    Ended,
    assert_nothing_left,
    assert_says,
    ranks_under_way,
    run,
)
from mpi_marks import needs_survivors
from network_frames import VERSION

from weir.results.calibration import Calibration, Trials
from weir.results.schema import Failure

TRANSFER_BYTES = 64 << 10
WORKLOAD = ("calibrate", "--transfer-bytes", str(TRANSFER_BYTES))
SHORT = ("--seconds", "0.5")
LONG = ("--seconds", "3000")


def calibration_of(ended: Ended) -> Calibration:
    assert ended.status == 0, ended.stderr
    assert ended.messages == []
    assert list(ended.directory.iterdir()) == []
    assert not unfinished(ended).exists()
    return Calibration.model_validate(json.loads(ended.results.read_text()))


def unfinished(ended: Ended) -> Path:
    return ended.results.with_name(ended.results.name + ".unfinished")


def failure_of(ended: Ended, status: str = "failed") -> Failure:
    """The record of a calibration that broke off, and no calibration beside it."""
    assert_nothing_left(ended)
    assert not ended.results.exists()
    record = json.loads((unfinished(ended) / "failure.json").read_text())
    assert record.pop("status") == status
    failure = Failure.model_validate(record)
    assert_says(ended, f"{status}: {failure.message}")
    return failure


@pytest.mark.parametrize("ranks", [1, 2, 4, 9])
def test_every_figure_is_measured_at_least_three_times(tmp_path: Path, ranks: int) -> None:
    calibration = calibration_of(run(tmp_path, *SHORT, workload=WORKLOAD, ranks=ranks))
    assert calibration.ranks == ranks
    assert calibration.hosts == 1
    assert calibration.processors is not None
    assert 1 <= calibration.processors <= len(os.sched_getaffinity(0))
    assert calibration.transfer_bytes == TRANSFER_BYTES
    assert calibration.memory_available_bytes is not None
    figures = [value for _, value in calibration if isinstance(value, Trials)]
    assert len(figures) == 12
    for figure in figures:
        assert len(figure.values) >= 3
        assert 0 < figure.low <= figure.median <= figure.high
        assert (figure.low, figure.high) == (min(figure.values), max(figure.values))


def test_the_ways_to_stagers_are_measured_that_are_asked_for(tmp_path: Path) -> None:
    links = ("--links", "1x1,2x4,5x2")
    calibration = calibration_of(run(tmp_path, *SHORT, *links, workload=WORKLOAD, ranks=3))
    ends = [(link.stagers, link.receivers) for link in calibration.links]
    assert ends == [(1, 1), (2, 4), (5, 2)]
    for link in calibration.links:
        assert len(link.bytes_per_second.values) >= 3
        assert 0 < link.bytes_per_second.low <= link.bytes_per_second.median


@pytest.mark.parametrize(
    ("address", "stagers"), [("127.0.0.1:4711", 2), ("[::1]:4711", 2), ("198.51.100.7:4711", 0)]
)
def test_the_way_to_a_user_s_stagers_is_measured_if_they_are_here(
    tmp_path: Path, address: str, stagers: int
) -> None:
    named = tmp_path / "stagers"
    here = f"weir-stager {VERSION} 127.0.0.1:4712 cookie 00112233445566778899aabbccddeeff"
    named.write_text(f"{here}\n{here.replace('127.0.0.1:4712', address)}\n")
    named.chmod(0o600)
    folder = tmp_path / "run"
    folder.mkdir()
    words = ("--service", str(named))
    calibration = calibration_of(run(folder, *SHORT, *words, workload=WORKLOAD, ranks=2))
    assert [(link.stagers, link.receivers) for link in calibration.links] == (
        [(stagers, 0)] if stagers else []
    )


@pytest.mark.parametrize("links", ["1", "1x", "x4", "0x4", "1x65", "65x1", "1x4,", ",1x4", "1x4x2"])
def test_ways_to_stagers_that_are_none_are_refused(tmp_path: Path, links: str) -> None:
    ended = run(tmp_path, *SHORT, "--links", links, workload=WORKLOAD, ranks=1)
    assert ended.status == 2
    (line,) = ended.messages
    assert f"--links '{links}': give stagers times receivers, each 1 to 64" in line


def test_a_service_that_nobody_has_started_is_one_line(tmp_path: Path) -> None:
    missing = str(tmp_path / "nothing")
    failure = failure_of(run(tmp_path, *SHORT, "--service", missing, workload=WORKLOAD, ranks=2))
    assert failure.file == missing


@pytest.mark.parametrize("shared", [False, True])
def test_files_are_as_large_and_as_shared_as_asked(tmp_path: Path, shared: bool) -> None:
    asked = 2 * TRANSFER_BYTES
    files = ("--bytes-per-rank", str(asked), *(["--shared-file"] if shared else []))
    calibration = calibration_of(run(tmp_path, *SHORT, *files, workload=WORKLOAD, ranks=3))
    assert calibration.shared_file is shared
    assert calibration.bytes_per_rank == asked
    assert calibration.cached_bytes_per_rank in (TRANSFER_BYTES, asked)
    assert calibration.storage_read_bytes_per_rank in (TRANSFER_BYTES, asked)
    assert calibration.synced_once_bytes == asked


@pytest.mark.parametrize("shared", [False, True])
def test_storage_is_measured_by_o_direct_for_runs_that_use_it(tmp_path: Path, shared: bool) -> None:
    words = ("--direct", *(["--shared-file"] if shared else []))
    whole = ("calibrate", "--transfer-bytes", "1m")
    calibration = calibration_of(run(tmp_path, *SHORT, *words, workload=whole, ranks=3))
    assert calibration.direct
    assert calibration.transfer_bytes == 1 << 20
    assert calibration.read_storage_bytes_per_second.low > 0
    assert calibration.first_read_seconds is None
    assert calibration.write_synced_once_bytes_per_second is None


def test_the_ranks_of_a_shared_file_have_their_own_parts_of_it(tmp_path: Path) -> None:
    fault = "rank=2,call=pwrite,nth=1,error=EIO"
    for number, words in ((2, ()), (0, ("--shared-file",))):
        folder = tmp_path / str(number)
        folder.mkdir()
        failure = failure_of(run(folder, *SHORT, *words, workload=WORKLOAD, fault=fault))
        assert failure.file is not None
        assert Path(failure.file).name == f"weir-{number}"
        assert failure.offset_bytes == (2 * TRANSFER_BYTES if words else 0)


def test_pieces_that_the_time_does_not_allow_are_made_smaller_and_said_so(tmp_path: Path) -> None:
    """1 TiB for each rank does not fit the memory of the machine, nor the time."""
    huge = ("calibrate", "--transfer-bytes", "1t")
    ended = run(tmp_path, *SHORT, workload=huge)
    assert ended.status == 0, ended.stderr
    (message,) = ended.messages
    calibration = Calibration.model_validate(json.loads(ended.results.read_text()))
    assert calibration.transfer_bytes < 1 << 40
    told = re.search(r"moves ([\d.e+]+) (KiB|MiB|GiB) at once and not 1 TiB as the run", message)
    assert told is not None, message
    unit = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[told[2]]
    assert float(told[1]) * unit == pytest.approx(calibration.transfer_bytes, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "cause", "operation"),
    [
        ("open", "EACCES", "open"),
        ("pwrite", "EIO", "write"),
        ("pread", "EIO", "read"),
        ("fsync", "EIO", "fsync"),
    ],
)
def test_an_error_of_a_call_is_named(tmp_path: Path, call: str, cause: str, operation: str) -> None:
    fault = f"rank=2,call={call},nth=1,error={cause}"
    failure = failure_of(run(tmp_path, *SHORT, workload=WORKLOAD, fault=fault))
    assert (failure.rank, failure.cause, failure.operation) == (2, cause, operation)
    assert failure.file is not None


def test_a_failed_calibration_can_be_repeated(tmp_path: Path) -> None:
    directory = tmp_path / "directory"
    directory.mkdir()
    fault = "rank=0,call=pwrite,nth=1,error=EIO"
    failure_of(run(tmp_path, *SHORT, workload=WORKLOAD, directory=directory, fault=fault))
    calibration_of(run(tmp_path, *SHORT, workload=WORKLOAD, directory=directory))


@needs_survivors
def test_a_killed_rank(tmp_path: Path) -> None:
    def kill(_: subprocess.Popen[str]) -> None:
        os.kill(ranks_under_way(tmp_path)[1], signal.SIGKILL)

    failure = failure_of(run(tmp_path, *LONG, workload=WORKLOAD, while_running=kill))
    assert (failure.rank, failure.cause) == (1, "lost_rank")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_launcher(tmp_path: Path, sent: signal.Signals) -> None:
    def interrupt(launcher: subprocess.Popen[str]) -> None:
        ranks_under_way(tmp_path)
        launcher.send_signal(sent)

    ended = run(
        tmp_path, *LONG, workload=WORKLOAD, while_running=interrupt, variables=PATIENT_LAUNCHER
    )
    assert failure_of(ended, "interrupted").cause == "interrupted"


# Each rank removes its own file; the rank that ends first must not take the others with it.
@needs_survivors
def test_a_call_that_never_returns(tmp_path: Path) -> None:
    fault = "rank=3,call=fsync,nth=2,effect=hang"
    ended = run(tmp_path, *SHORT, "--deadline", "3", workload=WORKLOAD, fault=fault)
    failure = failure_of(ended)
    assert failure.cause == "deadline"
    assert failure.rank == 3


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--transfer-bytes", "0"), "--transfer-bytes"),
        (("--transfer-bytes", "much"), "--transfer-bytes"),
        (("--seconds", "0"), "--seconds"),
        (("--deadline", "0"), "--deadline"),
    ],
)
def test_wrong_input_is_refused_in_one_line(
    tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    ended = run(tmp_path, *arguments, workload=("calibrate",))
    assert ended.status == 2
    (message,) = ended.messages
    assert complaint in message
    assert not ended.results.exists()


def test_a_missing_directory_is_refused_in_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    ended = run(tmp_path, *SHORT, workload=WORKLOAD, directory=missing)
    assert ended.status == 2
    (message,) = ended.messages
    assert str(missing) in message
    assert "rank" not in message
