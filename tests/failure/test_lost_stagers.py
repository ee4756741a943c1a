"""Ranks whose stager is killed or stopped: which steps are lost, and that the ranks go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_stager import Stager, start_for_nodes
from staged_files import LOST_LINE, ended_without_stager, run, steps_in, wherever
from staged_values import SUFFIXES, density

import weir


@pytest.mark.parametrize("file_format", ["hdf5", "zarr"])
@pytest.mark.parametrize("how", ["between_steps", "in_a_step", "first_is_lost", "is_lost"])
def test_ranks_encode_what_follows_a_lost_stager(
    tmp_path: Path, stager: Stager, file_format: str, how: str
) -> None:
    ended = run(stager, "goes_on", tmp_path, file_format, "5", f"{how},zstd:3", str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
    assert steps_in(tmp_path / f"out.{SUFFIXES[file_format]}") == 5


@wherever
def test_an_array_by_itself_fails_with_its_stager(tmp_path: Path, stager: Stager) -> None:
    ended = run(stager, "alone_is_lost", tmp_path, "raw", str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
    with weir.open(tmp_path / "other.raw") as file:
        assert (file[next(iter(file.keys()))][...] == density(4)).all()


@pytest.mark.parametrize("file_format", list(SUFFIXES))
def test_a_killed_stager_is_an_error_on_every_rank(
    tmp_path: Path, stager: Stager, file_format: str
) -> None:
    ended = run(stager, "stager_dies", tmp_path, file_format, str(stager.pid))
    assert "refused" in ended.stdout, ended.stdout + ended.stderr
    assert steps_in(tmp_path / f"out.{SUFFIXES[file_format]}", with_remains=True) == 1


@wherever
@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("when", ["between_steps", "in_a_step"])
def test_ranks_write_what_follows_a_killed_stager(
    tmp_path: Path, stager: Stager, file_format: str, when: str
) -> None:
    ended = run(stager, "goes_on", tmp_path, file_format, "5", when, str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout == "5 steps\n"
    assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
    assert steps_in(tmp_path / f"out.{SUFFIXES[file_format]}") == 5
    assert not list(tmp_path.glob("*.weir_lock")), "a lock was left"


@wherever
@pytest.mark.parametrize("file_format", list(SUFFIXES))
@pytest.mark.parametrize("lost", [0, 2])
def test_a_lost_step_is_named_and_written_again(
    tmp_path: Path, stager: Stager, file_format: str, lost: int
) -> None:
    """The stager has accepted the step, and its files may grow no further."""
    how = "is_lost" if lost else "first_is_lost"
    ended = run(stager, "goes_on", tmp_path, file_format, "4", how, str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    path = tmp_path / f"out.{SUFFIXES[file_format]}"
    assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
    assert (
        f"weir: step {lost} of {path}, which the stager had accepted, is not stored: it is lost"
        in ended.stderr
    )
    assert steps_in(path) == 4


@pytest.mark.sampled(5, by=("layout", "killed", "when"))
@pytest.mark.parametrize(
    "layout", ["hdf5", "zarr", "hdf5,zstd:3", "zarr,zstd:3", "zarr,zstd:3/14x32x10"]
)
@pytest.mark.parametrize("killed", [0, 1])
@pytest.mark.parametrize("when", ["between_steps", "in_a_step"])
def test_ranks_of_all_nodes_write_what_follows(
    tmp_path: Path, layout: str, killed: int, when: str
) -> None:
    file_format, *codec = layout.split(",")
    one = start_for_nodes(2, "--stager-memory", "64m")
    victim = (one, *one.others)[killed]
    try:
        how = ",".join([when, *codec])
        ended = run(one, "goes_on", tmp_path, file_format, "5", how, str(victim.pid))
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
        assert steps_in(tmp_path / f"out.{SUFFIXES[file_format]}") == 5
    finally:
        one.kill()


@pytest.mark.parametrize(
    "layout", ["hdf5", "cdf5", "zarr", "raw", "hdf5,zstd:3", "zarr,zstd:3/14x32x10"]
)
def test_a_stager_killed_at_any_time_costs_only_named_steps(tmp_path: Path, layout: str) -> None:
    file_format, *codec = layout.split(",")
    for pause in (0.0, 0.02, 0.1):
        folder = tmp_path / f"weir-{pause}"
        folder.mkdir()
        path = folder / f"out.{SUFFIXES[file_format]}"
        status, told, said = ended_without_stager(
            path, pause, "goes_on", folder, file_format, "60", ",".join(["any_time", *codec])
        )
        assert status == 0, told + said
        assert told == "60 steps\n"
        assert said.count(LOST_LINE) == 1, said
        assert steps_in(path) == 60


@pytest.mark.parametrize("killed", [0, 1])
def test_one_of_several_stagers_that_encode_is_killed_at_any_time(
    tmp_path: Path, killed: int
) -> None:
    """A step has the chunks of both stagers, or the ranks write it again."""
    for pause in (0.0, 0.02, 0.1):
        folder = tmp_path / f"weir-{pause}"
        folder.mkdir()
        both = start_for_nodes(2, "--stager-memory", "16m")
        try:
            status, told, said = ended_without_stager(
                folder / "out.h5", pause, "goes_on", folder, "hdf5", "60", "any_time,zstd:3",
                one=both, victim=(both, *both.others)[killed],
            )  # fmt: skip
            assert status == 0, told + said
            assert told == "60 steps\n"
            assert said.count(LOST_LINE) == 1, said
            assert steps_in(folder / "out.h5") == 60
        finally:
            both.kill()


@pytest.mark.parametrize("file_format", ["hdf5", "raw"])
def test_what_became_of_closed_files_is_told(
    tmp_path: Path, stager: Stager, file_format: str
) -> None:
    ended = run(stager, "files_go_on", tmp_path, file_format, str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    paths = [tmp_path / f"out{number}.{SUFFIXES[file_format]}" for number in range(4)]
    assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
    assert (
        f"step 0 of {paths[1]}, which the stager had accepted, is not stored: it is lost"
        in ended.stderr
    )
    assert str(paths[0]) not in ended.stderr, "it was known to be stored"
    with pytest.raises(FileNotFoundError):
        weir.open(paths[1])
    assert [steps_in(path) for path in (paths[0], *paths[2:])] == [1, 1, 1]


@wherever
def test_waiting_for_a_lost_step_says_so_once(tmp_path: Path, stager: Stager) -> None:
    ended = run(stager, "told_of_lost_step", tmp_path, "zarr", str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert steps_in(tmp_path / "out.zarr") == 2


@wherever
def test_ranks_do_not_write_beside_a_stager_that_was_stopped(
    tmp_path: Path, stager: Stager
) -> None:
    ended = run(stager, "stopped", tmp_path, "hdf5", str(stager.pid))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert steps_in(tmp_path / "out.h5", with_remains=True) == 1


@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_stager_of_one_node_is_an_error_on_every_rank(tmp_path: Path, killed: int) -> None:
    one = start_for_nodes(2, "--stager-memory", "64m")
    victim = (one, *one.others)[killed]
    try:
        ended = run(one, "stager_dies", tmp_path, "hdf5", str(victim.pid))
        assert "refused" in ended.stdout, ended.stdout + ended.stderr
        assert steps_in(tmp_path / "out.h5", with_remains=True) == 1
    finally:
        one.kill()


def test_a_share_that_is_lost_with_its_stager_is_told(tmp_path: Path) -> None:
    """The stager of the second node is stopped before it has stored its share, and then killed."""
    one = start_for_nodes(2, "--stager-memory", "64m")
    try:
        ended = run(one, "share_is_lost", tmp_path, "zarr", str(one.others[0].pid))
        told = {"stored": 2, "lost": 1}  # it may have been quicker
        said = ended.stdout.partition("\n")[0]  # UCX may warn there of messages that were lost too
        assert said in told, ended.stdout + ended.stderr
        assert steps_in(tmp_path / "out.zarr", with_remains=True) == told[said]
    finally:
        one.kill()


@pytest.mark.parametrize("file_format", ["hdf5", "zarr"])
def test_a_stager_killed_at_any_time_leaves_whole_steps(tmp_path: Path, file_format: str) -> None:
    for pause in (0.0, 0.01, 0.05, 0.2):
        folder = tmp_path / f"weir-{pause}"
        folder.mkdir()
        path = folder / f"out.{SUFFIXES[file_format]}"
        ended_without_stager(path, pause, "many", folder, file_format, "200")
        assert steps_in(path, with_remains=True) >= 1
