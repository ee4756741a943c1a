"""Accepted steps that outlive their stager, because it keeps a journal."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from own_stager import STAGER, Stager, start, start_for_nodes, start_service
from staged_files import RUN_SECONDS, bytes_below, ended_without_stager, run, steps_in, wherever
from staged_values import SUFFIXES
from weir_process import WeirProcess


def start_with_journal(journal: Path, *words: str) -> Stager:
    """Returns when the stager has replayed what is there, and answers."""
    one = start("--stager-memory", "16m", "--stager-journal", str(journal), *words)
    one.report()
    return one


def lose_accepted_step(one: Stager, folder: Path, file_format: str, step: int) -> Path:
    """Kills the stager, and the program, when it has accepted a step and stored nothing of it.

    The step has ended, although storage has no space, since it is in the journal.
    """
    one.more["WEIR_DURABILITY"] = "journal"
    ended = run(one, "journaled", folder, file_format, str(step), "killed", str(one.pid), ranks=2)
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr, ended.stdout + ended.stderr
    one.kill()
    path = folder / f"out.{SUFFIXES[file_format]}"
    if step:
        assert steps_in(path, with_remains=True) == step
    else:
        assert not path.exists()
    return path


@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("step", [0, 2])
def test_a_step_in_the_journal_survives_the_stager(
    tmp_path: Path, small_file_system: Path, file_format: str, step: int
) -> None:
    journal = tmp_path / "journal"
    one = start_with_journal(journal)
    path = lose_accepted_step(one, small_file_system, file_format, step)
    assert len(list(journal.iterdir())) == 1
    again = start_with_journal(journal)
    try:
        assert steps_in(path) == step + 1
        assert not list(journal.iterdir())
        assert "was stored from the journal" in again.log()
        plain = tmp_path / "plain"
        plain.mkdir()
        ended = run(again, "plain", plain, file_format, str(step + 1), ranks=2)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        if file_format == "hdf5":  # has times of its making
            assert path.stat().st_size == (plain / path.name).stat().st_size
        else:
            assert bytes_below(path) == bytes_below(plain / path.name)
        assert not list(small_file_system.glob("*.weir_lock")), "a lock was left"
    finally:
        again.kill()


@pytest.mark.parametrize("file_format", list(SUFFIXES))
def test_a_replay_that_is_killed_is_made_again(
    tmp_path: Path, small_file_system: Path, file_format: str
) -> None:
    journal = tmp_path / "journal"
    path = lose_accepted_step(start_with_journal(journal), small_file_system, file_format, 2)
    place = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
    for pause in (0.005, 0.01, 0.015, 0.02, 0.03):
        killed = subprocess.Popen([STAGER, "--stager-socket", place, "--stager-memory", "16m",
                                   "--stager-journal", journal])  # fmt: skip
        time.sleep(pause)
        killed.kill()
        killed.wait()
    last = start_with_journal(journal)
    try:
        assert steps_in(path) == 3
        assert not list(journal.iterdir())
    finally:
        last.kill()


@pytest.mark.parametrize("layout", [*SUFFIXES, "zarr,zstd:3/14x32x10"])
def test_with_a_journal_a_stager_killed_at_any_time_costs_no_step(
    tmp_path: Path, layout: str
) -> None:
    file_format, *codec = layout.split(",")
    for pause in (0.0, 0.02, 0.1):
        folder = tmp_path / f"weir-{pause}"
        folder.mkdir()
        path = folder / f"out.{SUFFIXES[file_format]}"
        journal = folder / "journal"
        one = start_with_journal(journal)
        one.more["WEIR_DURABILITY"] = "journal"
        _, told, said = ended_without_stager(path, pause, "acknowledged", folder, file_format,
                                             "200", *codec, one=one)  # fmt: skip
        assert "stager" in said, said
        again = start_with_journal(journal)
        try:
            accepted = told.count("\n")  # none if it was killed before its answer to the first
            assert accepted < 200
            # One more may have been recorded when the stager was killed.
            assert steps_in(path, with_remains=True) in (accepted, accepted + 1)
            assert not list(journal.iterdir()), again.log()
        finally:
            again.kill()


@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("step", [0, 2])
def test_a_journal_is_not_written_into_another_file(
    tmp_path: Path, small_file_system: Path, file_format: str, step: int
) -> None:
    journal = tmp_path / "journal"
    one = start_with_journal(journal)
    path = lose_accepted_step(one, small_file_system, file_format, step)
    if path.is_dir():
        shutil.rmtree(path)
    absent = Stager(Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager")
    ended = run(absent, "plain", small_file_system, file_format, "2", ranks=2)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    before = bytes_below(path)
    again = start_with_journal(journal)
    try:
        assert bytes_below(path) == before
        assert f"{path} was replaced or changed since" in again.log()
        (kept,) = journal.iterdir()
        assert str(kept) in again.log()
    finally:
        again.kill()
    once_more = start_with_journal(journal)
    once_more.kill()
    assert "replaced" not in once_more.log()
    assert steps_in(path) == 2


@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("step", [0, 2])
def test_ranks_that_go_on_are_not_written_over_by_a_journal(
    tmp_path: Path, small_file_system: Path, file_format: str, step: int
) -> None:
    """The journal has other values for the step that the ranks write again.

    One stager starts while they have the file open, and one later.
    """
    journal = tmp_path / "journal"
    one = start_with_journal(journal)
    place = Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager"
    second = [str(STAGER), "--stager-socket", str(place), "--stager-memory", "16m",
              "--stager-journal", str(journal)]  # fmt: skip
    ended = run(one, "journaled", small_file_system, file_format, str(step), "goes_on",
                str(one.pid), *second, ranks=2)  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    one.kill()
    assert "stays in the journal" in place.with_name("stager.log").read_text()
    Stager(place).ask("--stop")
    path = small_file_system / f"out.{SUFFIXES[file_format]}"
    before = bytes_below(path)
    again = start_with_journal(journal)
    again.kill()
    assert bytes_below(path) == before
    assert steps_in(path) == step + 2
    assert "was stored from the journal" not in again.log()


def test_a_program_with_a_stager_without_a_journal_is_said_to_be_in_none(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    both = start_service(1, "--stager-memory", "16m", "--stager-journal", str(journal))
    assert both.rendezvous is not None
    without = start("--stager-memory", "16m", "--stager-listen", "127.0.0.1",
                    "--stager-rendezvous", str(both.rendezvous / "1"))  # fmt: skip
    without.report()
    both.others = [without]
    try:
        with ThreadPoolExecutor() as threads:
            program = threads.submit(run, both, "held", tmp_path, "raw", ranks=2)
            for one in (both, without):
                end = time.monotonic() + RUN_SECONDS
                while not any(session["carriers"] for session in one.report()["sessions"]):
                    assert time.monotonic() < end
                    assert not program.done(), program.result().stderr
                    time.sleep(0.02)
            told = both.report()["sessions"]
            shown = stage_status(both)
            assert not list(journal.iterdir())
            (tmp_path / "go").touch()
            ended = program.result()
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert [one["not_in_journal"] for one in told] == ["another stager of its ranks keeps none"]
        assert "not in the journal: another stager of its ranks keeps none" in shown
        assert both.log().count("are not in the journal, since another stager") == 1
        both.wait_until_stored()
        assert steps_in(tmp_path / "out.raw") == 1
    finally:
        both.kill()


def stage_status(one: Stager) -> str:
    """What a person sees, without line breaks."""
    words = ("stage", "status", "--socket", str(one.socket))
    variables = os.environ | {"WEIR_STAGER": str(STAGER)}
    with WeirProcess(words, cwd=Path.cwd(), env=variables) as weir:
        shown, said = weir.communicate(RUN_SECONDS)
        assert weir.wait(0) == 0, said
    return " ".join(shown.split())


several = pytest.mark.parametrize("start_both", [start_for_nodes, start_service])


def left_in(journals: Path) -> list[Path]:
    return [one for folder in journals.iterdir() for one in folder.iterdir()]


def start_again(journals: Path, number: int) -> Stager:
    return start_with_journal(journals / str(number))


def wait_until_replayed(journals: Path) -> None:
    """Stagers look for each other every few seconds."""
    end = time.monotonic() + 60
    while left := left_in(journals):
        assert time.monotonic() < end, f"{left} are left"
        time.sleep(0.1)


@several
@pytest.mark.parametrize("file_format", list(SUFFIXES))
def test_several_stagers_have_the_steps_in_their_journals(
    tmp_path: Path, start_both: Callable[..., Stager], file_format: str
) -> None:
    journals = tmp_path / "journals"
    both = start_both(2, "--stager-memory", "16m", journals=journals)
    both.more["WEIR_DURABILITY"] = "journal"
    try:
        ended = run(both, "many", tmp_path, file_format, "3", "out")
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert "weir:" not in ended.stderr, ended.stderr
        both.wait_until_idle()
        for one in (both, *both.others):
            assert one.report()["journal_failure"] == ""
            assert "not in the journal" not in one.log()
        assert not left_in(journals)
        assert steps_in(tmp_path / f"out.{SUFFIXES[file_format]}") == 3
    finally:
        both.kill()


@several
@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("step", [0, 2])
@pytest.mark.parametrize("first", [0, 1])
def test_a_step_in_several_journals_survives_all_stagers(
    tmp_path: Path, small_file_system: Path, start_both: Callable[..., Stager], file_format: str,
    step: int, first: int,
) -> None:  # fmt: skip
    """Storage has no space, so nothing of the step is stored when its stagers are killed."""
    journals = tmp_path / "journals"
    both = start_both(2, "--stager-memory", "16m", journals=journals)
    path = lose_accepted_step(both, small_file_system, file_format, step)
    one = start_again(journals, first)
    try:
        end = time.monotonic() + 30
        while not (lines := one.report()["waiting_shares"]):
            assert time.monotonic() < end, one.log()
            time.sleep(0.1)
        # The stager that was killed last may have noted its share before.
        reasons = ("no stager has told", "is still to be written")
        assert "waits in the journals of 2 stagers: " in lines[0]
        assert any(reason in lines[0] for reason in reasons), lines[0]
        assert "waits in the journals of 2 stagers" in stage_status(one)
        assert not path.exists() or steps_in(path, with_remains=True) == step
        other = start_again(journals, 1 - first)
        try:
            wait_until_replayed(journals)
            assert steps_in(path) == step + 1
            assert "was stored from the journals of 2 stagers" in one.log() + other.log()
            assert not list(small_file_system.glob("*.weir_*")), "marks or a lock were left"
            end = time.monotonic() + 30
            while one.report()["waiting_shares"]:
                assert time.monotonic() < end
                time.sleep(0.1)
        finally:
            other.kill()
    finally:
        one.kill()


def test_stagers_that_start_together_store_a_step_before_they_serve(
    tmp_path: Path, small_file_system: Path
) -> None:
    journals = tmp_path / "journals"
    both = start_service(2, "--stager-memory", "16m", journals=journals)
    path = lose_accepted_step(both, small_file_system, "raw", 2)
    with ThreadPoolExecutor() as threads:
        again = list(threads.map(lambda number: start_again(journals, number), range(2)))
    try:
        assert steps_in(path) == 3, [one.log() for one in again]
        assert not left_in(journals)
    finally:
        for one in again:
            one.kill()


@pytest.mark.parametrize("file_format", list(SUFFIXES))
def test_with_journals_all_stagers_killed_at_any_time_cost_no_step(
    tmp_path: Path, file_format: str
) -> None:
    for pause in (0.0, 0.05):
        folder = tmp_path / f"weir-{pause}"
        folder.mkdir()
        path = folder / f"out.{SUFFIXES[file_format]}"
        journals = folder / "journals"
        both = start_service(2, "--stager-memory", "16m", journals=journals)
        both.more["WEIR_DURABILITY"] = "journal"
        _, told, said = ended_without_stager(path, pause, "acknowledged", folder, file_format,
                                             "200", one=both)  # fmt: skip
        assert "stager" in said, said
        expect_all_steps(path, told, journals, [0, 1])


@pytest.mark.parametrize(
    "layout", ["hdf5", "cdf5", "zarr", "raw", "zarr,zstd:3", "zarr,zstd:3/14x32x10"]
)
@pytest.mark.parametrize("victim", [0, 1])
def test_with_journals_one_of_several_stagers_killed_at_any_time_costs_no_step(
    tmp_path: Path, layout: str, victim: int
) -> None:
    """The other one goes on, and stores its share when its program has ended."""
    file_format, *codec = layout.split(",")
    path = tmp_path / f"out.{SUFFIXES[file_format]}"
    journals = tmp_path / "journals"
    both = start_service(2, "--stager-memory", "16m", journals=journals)
    try:
        both.more["WEIR_DURABILITY"] = "journal"
        _, told, said = ended_without_stager(
            path, 0.02, "acknowledged", tmp_path, file_format, "200", *codec, one=both,
            victim=(both, *both.others)[victim],
        )  # fmt: skip
        assert "stager" in said, said
        expect_all_steps(path, told, journals, [victim])
    finally:
        both.kill()


def expect_all_steps(path: Path, told: str, journals: Path, started: list[int]) -> None:
    """Starts these stagers again, and checks that the accepted steps are in the file."""
    again = [start_again(journals, number) for number in started]
    try:
        accepted = told.count("\n")  # none if they were killed before their answer to the first
        assert accepted < 200
        end = time.monotonic() + 60
        # A step that its stager has not told of waits for the journal of the one that publishes,
        # which records last.
        while list((journals / "0").iterdir()):
            assert time.monotonic() < end, [one.log() for one in again]
            time.sleep(0.1)
        # One more may have been recorded when the stagers were killed.
        assert steps_in(path, with_remains=True) in (accepted, accepted + 1)
        for one in left_in(journals):
            assert not one.name.endswith(".aside"), [one.log() for one in again]
    finally:
        for one in again:
            one.kill()


@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("step", [0, 2])
@pytest.mark.parametrize("is_removed", [True, False])
def test_several_journals_are_not_written_into_another_file(
    tmp_path: Path, small_file_system: Path, file_format: str, step: int, is_removed: bool
) -> None:
    """The first stager finds the file as it was, and waits; then others write or remove it."""
    journals = tmp_path / "journals"
    both = start_service(2, "--stager-memory", "16m", journals=journals)
    path = lose_accepted_step(both, small_file_system, file_format, step)
    first = start_again(journals, 0)
    try:
        before: dict[str, bytes] = {}
        for one in small_file_system.glob(f"{path.name}*"):
            if one.name.endswith(".weir_shares"):
                continue
            shutil.rmtree(one) if one.is_dir() else one.unlink()
        if not is_removed:
            absent = Stager(Path(tempfile.mkdtemp(prefix="weir-test-")) / "stager")
            ended = run(absent, "plain", small_file_system, file_format, "2", ranks=2)
            assert ended.returncode == 0, ended.stdout + ended.stderr
            before = bytes_below(path)
        second = start_again(journals, 1)
        try:
            end = time.monotonic() + 60
            while any(not one.name.endswith(".aside") for one in left_in(journals)):
                assert time.monotonic() < end
                time.sleep(0.1)
            assert len(left_in(journals)) == 2
            assert f"{path} was replaced or changed since" in first.log()
            assert f"{path} was replaced or changed since" in second.log()
            if is_removed:
                assert not path.exists()
            else:
                assert bytes_below(path) == before
            assert not list(small_file_system.glob("*.weir_*"))
        finally:
            second.kill()
    finally:
        first.kill()


@several
@pytest.mark.parametrize("short", [0, 1])
def test_with_durability_journal_a_step_for_which_one_journal_has_no_room_ends_when_it_is_stored(
    tmp_path: Path, start_both: Callable[..., Stager], short: int
) -> None:
    journals = tmp_path / "journals"
    both = start_both(2, "--stager-memory", "16m", journals=journals)
    both.kill()
    words = [["--stager-memory", "16m", "--stager-journal", str(journals / str(number))]
             for number in range(2)]  # fmt: skip
    words[short] += ["--stager-journal-quota", "2k"]
    if both.rendezvous is not None:
        for number in range(2):
            words[number] += ["--stager-listen", "127.0.0.1", "--stager-rendezvous",
                              str(both.rendezvous / str(number))]  # fmt: skip
    first, second = (start(*one) for one in words)
    for one in (first, second):
        one.report()
    first.others, first.rendezvous = [second], both.rendezvous
    first.more["WEIR_DURABILITY"] = "journal"
    try:
        ended = run(first, "awaits_journal", tmp_path, "cdf5", "3", ranks=2)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert ended.stdout == "0 stored\n1 stored\n2 stored\n"
        assert "--journal-quota" in first.report()["journal_failure"]
        first.wait_until_idle()
        assert not left_in(journals)
        assert steps_in(tmp_path / "out.nc") == 3
    finally:
        first.kill()


@pytest.mark.parametrize("file_format", list(SUFFIXES))
def test_with_durability_journal_a_step_that_has_no_room_in_it_ends_when_it_is_stored(
    tmp_path: Path, file_format: str
) -> None:
    one = start_with_journal(tmp_path / "journal", "--stager-journal-quota", "20k")
    one.more["WEIR_DURABILITY"] = "journal"
    try:
        ended = run(one, "awaits_journal", tmp_path, file_format, "3")
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert ended.stdout == "0 stored\n1 stored\n2 stored\n"
        assert "--journal-quota" in one.report()["journal_failure"]
        assert steps_in(tmp_path / f"out.{SUFFIXES[file_format]}") == 3
    finally:
        one.kill()


@pytest.mark.parametrize("durability", ["journal", "step"])
@pytest.mark.parametrize("count", [1, 2])
def test_steps_with_chunks_in_a_table_are_in_no_journal(
    tmp_path: Path, durability: str, count: int
) -> None:
    """With durability "journal" they end when they are stored, as safe as that."""
    journals = tmp_path / "journals"
    one = start_for_nodes(count, "--stager-memory", "64m", journals=journals)
    one.more["WEIR_DURABILITY"] = durability
    try:
        ended = run(one, "awaits_journal", tmp_path, "hdf5", "3", "deflate:1")
        assert ended.returncode == 0, ended.stdout + ended.stderr
        if durability == "journal":
            assert ended.stdout == "0 stored\n1 stored\n2 stored\n"
        for each in (one, *one.others):
            assert "its chunks with a codec" in each.report()["journal_failure"]
        assert not list(journals.glob("*/*"))
        assert steps_in(tmp_path / "out.h5") == 3
    finally:
        one.kill()


@wherever
def test_durability_journal_is_refused_where_a_stager_keeps_none(
    tmp_path: Path, stager: Stager
) -> None:
    ended = run(stager, "refuses_journal", tmp_path, "raw", ranks=2)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = ended.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert "durability is 'journal', but the stager of rank 0 keeps none: start it by" in line
        assert "weir stage start --journal FOLDER" in line
        assert "WEIR_STAGER_JOURNAL" in line


def test_steps_beyond_the_quota_of_the_journal_are_stored_and_reported(tmp_path: Path) -> None:
    for quota, has_failed in (("1m", False), ("20k", True)):
        journal = tmp_path / f"journal-{quota}"
        one = start_with_journal(journal, "--stager-journal-quota", quota)
        try:
            ended = run(one, "many", tmp_path, "cdf5", "3", f"out{quota}")
            assert ended.returncode == 0, ended.stdout + ended.stderr
            one.wait_until_idle()
            told = one.report()
            assert told["has_journal"]
            assert "several stagers" not in one.log()
            assert ("--journal-quota" in told["journal_failure"]) == has_failed
            assert steps_in(tmp_path / f"out{quota}.nc") == 3
            one.wait_until_stored()
            assert not list(journal.iterdir())
        finally:
            one.kill()
