"""weir record --level mpiio: calls of MPI-IO are recorded as such, and replayed."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from mpi_launcher import BUILD, environment, launcher, there_is_one
from weir_process import WeirProcess

from weir.replay.joining import joined
from weir.replay.orders import Order, read_orders
from weir.results.folder import find_run_folders, load_run
from weir.results.schema import Run

PROGRAM = BUILD / "tests" / "mpiio" / "mpiio_recorded_calls"
ONCE = ("--warmups", "0", "--repetitions", "1", "--max-repetitions", "1", "--go-on", "0")
STEPS = 6
PART = 64 * 8 * 8
"""Bytes of a rank in a step."""
WRITTEN = 2 * STEPS * PART + 12
"""Bytes of two ranks."""
READ = 2 * (PART + 2 * 64 + 64)

pytestmark = pytest.mark.skipif(not there_is_one(), reason="no MPI was found on PATH")


def weir(folder: Path, *words: str) -> tuple[int, str]:
    """Runs ``weir WORDS``; returns its exit status and all that it says."""
    with WeirProcess(words, cwd=folder, env=environment({})) as process:
        out, err = process.communicate(timeout=240)
        return process.wait(0), out + err


def record(folder: Path, ranks: int, *arguments: str) -> tuple[list[Order], str]:
    """Records calls on ``out``; returns those of each rank, and what was said."""
    options = ("--level", "mpiio", "--under", ".", "--records", "records")
    command = [*launcher(), "-n", str(ranks), str(PROGRAM), "out", *arguments]
    status, said = weir(folder, "record", *options, "--", *command)
    assert status == 0, said
    return joined(read_orders(folder / "records")).ranks, said


def replayed(folder: Path, *words: str) -> dict[str, Run]:
    """Replays the record of a folder; returns the runs by their interfaces."""
    results = f"results-{len(list(folder.iterdir()))}"
    status, said = weir(
        folder, "bench", "replay", "weir.record", *words, "--time-scale", "0", *ONCE,
        "--output", results,
    )  # fmt: skip
    assert status == 0, said
    runs = [load_run(one) for one in find_run_folders(folder / results)]
    assert all(run.verification.performed for run in runs)
    return {run.label: run for run in runs}


def moved(run: Run) -> dict[str, tuple[int, int]]:
    phases = run.repetitions[-1].phases
    return {phase.direction: (phase.operations, phase.bytes) for phase in phases}


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Order], str]:
    folder = tmp_path_factory.mktemp("steps")
    return folder, *record(folder, 2, "steps", str(STEPS))


def test_collective_calls_are_recorded_with_their_patterns(
    steps: tuple[Path, list[Order], str],
) -> None:
    folder, ranks, said = steps
    assert f"{2 * (STEPS + 2)} calls of these are collective" in said
    assert "2 patterns of calls whose bytes are not one block" in said
    for rank, one in enumerate(ranks):
        assert one.files == [f"{folder}/out"]
        assert one.shapes == ["0\t64\t1\t64\t128", "0\t64\t1\t2\t128"]
        calls = [line.split("\t") for line in one.lines]
        # Kind, count, file, offset, bytes and shape; then strides.
        begin = 2 * STEPS * PART - 2 * PART + 64 * rank
        assert [(*words[:5], *words[8:]) for words in calls] == [
            ("open", "1", "0", "0", "19"),
            ("write_all", f"{STEPS}", "0", f"{64 * rank}", f"{PART}:0", f"{2 * PART}", "0"),
            ("sync", "1", "0", "0", "0"),
            ("read_all", "1", "0", f"{begin}", f"{PART}:0"),
            ("read", "1", "0", f"{begin + 128}", "128:1"),
            ("read", "1", "0", "0", "64"),
            ("write_all", "1", "0", *(("8", "12") if rank == 0 else ("0", "0"))),
            ("close", "1", "0", "0", "0"),
        ]
    assert sum(one.moved().bytes_written for one in ranks) == WRITTEN
    assert sum(one.moved().bytes_read for one in ranks) == READ


def test_collective_calls_are_replayed_as_such_or_each_block_by_itself(
    steps: tuple[Path, list[Order], str],
) -> None:
    runs = replayed(steps[0], "-n", "2", "--api", "mpiio,posix")
    assert moved(runs["mpiio"]) == {"write": (2 * STEPS + 2, WRITTEN), "read": (6, READ)}
    # By itself a rank without bytes has nothing to write.
    assert moved(runs["posix"]) == {"write": (2 * STEPS + 1, WRITTEN), "read": (6, READ)}


def test_a_replay_calls_mpi_io_as_the_program_did(
    steps: tuple[Path, list[Order], str], tmp_path: Path
) -> None:
    (tmp_path / "steps.record").write_text((steps[0] / "weir.record").read_text())
    replay = [
        *(str(BUILD / "bench" / "weir-bench"), "replay", "steps.record", "--api", "mpiio"),
        *("--time-scale", "0", "--output", "results", "--no-verify", *ONCE[:-2]),
    ]
    command = [*launcher(), "-n", "2", *replay]
    options = ("--level", "mpiio", "--under", ".", "--records", "records")
    status, said = weir(tmp_path, "record", *options, "--", *command)
    assert status == 0, said
    for own, again in zip(steps[1], joined(read_orders(tmp_path / "records")).ranks, strict=True):
        kinds = ("write_all", "read_all", "sync")
        assert {kind: again.moved().calls[kind] for kind in kinds} == {
            kind: own.moved().calls[kind] for kind in kinds
        }
        assert again.moved().bytes_written == own.moved().bytes_written + _prepared(own)


def _prepared(order: Order) -> int:
    """Bytes that the rank reads and has not written itself, which a replay writes beforehand."""
    return 64 if order.rank == 1 else 0


@pytest.mark.parametrize(("ranks", "copies"), [(1, 1), (3, 2)])
def test_a_replay_is_scaled_in_ranks(
    steps: tuple[Path, list[Order], str], ranks: int, copies: int
) -> None:
    runs = replayed(steps[0], "-n", str(ranks), "--api", "mpiio")
    written = WRITTEN if copies == 1 else WRITTEN + STEPS * PART + 12
    assert moved(runs["mpiio"])["write"][1] == written


def test_collective_calls_that_differ_are_refused(
    steps: tuple[Path, list[Order], str], tmp_path: Path
) -> None:
    """The second rank would make a call less, for which the first one would wait for ever."""
    text = (steps[0] / "weir.record").read_text()
    head, _, second = text.partition("rank\t8\t0\t0\t0\n")[2].partition("rank\t8\t0\t0\t0\n")
    changed = re.sub(r"^read_all.*\n", "", second, flags=re.MULTILINE)
    assert changed != second
    begin = text.split("rank\t")[0]
    (tmp_path / "weir.record").write_text(
        f"{begin}rank\t8\t0\t0\t0\n{head}rank\t7\t0\t0\t0\n{changed}"
    )
    status, said = weir(tmp_path, "bench", "replay", "weir.record", "-n", "2", "--api", "mpiio")
    assert status == 1, said
    assert "make different collective calls" in said
    assert moved(replayed(tmp_path, "-n", "2", "--api", "posix")["posix"])["write"][1] == WRITTEN


def test_patterns_are_recorded_up_to_their_number(tmp_path: Path) -> None:
    """No two calls are alike, so each has a pattern and a line."""
    (one,), said = record(tmp_path, 1, "shapes", "4097")
    assert len(one.shapes) == 4096
    assert (one.moved().calls["write"], one.missed_calls, one.missed_bytes) == (4096, 1, 8)
    assert "1 calls with 8 bytes are not in the record" in said


def test_irregular_views_are_recorded_up_to_their_size(tmp_path: Path) -> None:
    """A block is three numbers, of which there may be 65,536; a view has 16,384 at most."""
    (one,), said = record(tmp_path, 1, "blocks", "16384", "5461", "3", "16385")
    assert [len(shape.split("\t")) for shape in one.shapes] == [3 * 16384, 3 * 5461]
    assert (one.moved().calls["write"], one.missed_calls) == (2, 2)
    left_out = 4 * (3 * 3 // 2 + 16385 * 3 // 2)
    assert one.missed_bytes == left_out
    assert "2 calls with " in said
    assert moved(replayed(tmp_path, "-n", "1", "--api", "mpiio")["mpiio"])["write"][0] == 2


def test_calls_are_recorded_up_to_the_bytes_that_a_replay_moves(tmp_path: Path) -> None:
    """A read at the end of the file asks for as many bytes as any, and moves none."""
    most = 0x7FFFF000
    (one,), said = record(tmp_path, 1, "ends", f"{most}", f"{most + 1}")
    assert one.moved().calls == Counter(open=1, write=1, read=1, close=1)
    assert one.moved().bytes_read == most
    assert (one.missed_calls, one.missed_bytes) == (1, most + 1)
    assert "1 calls with 2.00 GiB are not in the record" in said
    # The replay takes the call; it would write what the call reads, so it is only planned here.
    plan = subprocess.run(
        [BUILD / "bench" / "weir-bench", "replay", "weir.record", "--plan", "--ranks", "1"],
        cwd=tmp_path, check=True, timeout=60, capture_output=True, text=True,
    )  # fmt: skip
    phases = json.loads(plan.stdout)["configurations"][0]["plan"]["phases"]
    assert [phase["bytes_total"] for phase in phases] == [4, most]


def test_calls_at_the_shared_file_pointer_are_told(tmp_path: Path) -> None:
    ranks, said = record(tmp_path, 2, "shared")
    for one in ranks:
        assert one.moved().calls == Counter(open=1, write=1, close=1)
        assert (one.missed_calls, one.missed_bytes) == (1, 4)
    assert "2 calls with 8 bytes are not in the record" in said


def test_what_is_refused(tmp_path: Path) -> None:
    status, said = weir(tmp_path, "record", "--level", "mpiio", "--", "true")
    assert status == 1, said
    assert "true left no record: it made no call of MPI-IO" in said
    assert "--level posix records what passes by MPI-IO" in said
    status, said = weir(tmp_path, "record", "--level", "hdf5", "--", "true")
    assert status == 2, said
    assert "'hdf5' is not one of" in said
