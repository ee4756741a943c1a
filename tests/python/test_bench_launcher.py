"""Which command starts the ranks, and where weir-bench is looked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from synthetic import make_run
from weir.bench import launcher as launcher_module
from weir.bench import program as program_module
from weir.bench.errors import USAGE, BenchError
from weir.bench.launcher import Launcher, found_launcher, given_launcher, misplaced, placed
from weir.bench.program import find_program, mpi_of


def program(path: Path, text: str = "exit 0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


OPEN_MPI = "echo 'mpirun (Open MPI) 4.1.4'"
MPICH = "echo 'HYDRA build details: Version: 4.0.2'"


def words(folder: Path, ranks: int = 4, **environment: str) -> list[str]:
    found = found_launcher(ranks, {"PATH": str(folder), **environment})
    return [word.removeprefix(f"{folder}/") for word in found.command]


def test_open_mpi_is_told_to_oversubscribe_and_to_yield(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "mpirun", OPEN_MPI)
    monkeypatch.setattr(launcher_module.os, "sched_getaffinity", lambda _: {0, 1})
    unbound = ["mpirun", "-n", "2", "--oversubscribe", "--bind-to", "none"]
    assert words(tmp_path, 2) == unbound
    unbound[2] = "3"
    assert words(tmp_path, 3) == [*unbound, "--mca", "mpi_yield_when_idle", "1"]


def test_an_allocation_decides_placement_itself(tmp_path: Path) -> None:
    program(tmp_path / "mpirun", OPEN_MPI)
    assert words(tmp_path, 64, PBS_JOBID="7") == ["mpirun", "-n", "64"]


def test_another_mpi_gets_no_options_of_open_mpi(tmp_path: Path) -> None:
    program(tmp_path / "mpiexec", MPICH)
    assert words(tmp_path) == ["mpiexec", "-n", "4"]


def test_a_launcher_of_another_mpi_is_passed_over(tmp_path: Path) -> None:
    program(tmp_path / "mpirun", OPEN_MPI)
    program(tmp_path / "mpirun.mpich", MPICH)
    environment = {"PATH": str(tmp_path)}
    found = found_launcher(4, environment, "MPICH Version:\t4.0.2")
    assert found.command == (str(tmp_path / "mpirun.mpich"), "-n", "4")
    found = found_launcher(4, environment, "Open MPI v4.1.4, package: Debian OpenMPI")
    assert found.command[0] == str(tmp_path / "mpirun")
    # Any launcher will do for a program that says nothing, or an MPI of no known family.
    assert found_launcher(4, environment, "").command[0] == str(tmp_path / "mpirun")
    assert found_launcher(4, environment, "HPE MPT 2.28").command[0] == str(tmp_path / "mpirun")


def test_only_a_launcher_of_another_mpi_is_told(tmp_path: Path) -> None:
    wrong = program(tmp_path / "mpirun", OPEN_MPI)
    told = "mpirun starts ranks of Open MPI, and weir-bench is linked with MPICH Version: 4.0.2"
    with pytest.raises(BenchError, match=told) as caught:
        found_launcher(4, {"PATH": str(tmp_path)}, "MPICH Version: 4.0.2")
    assert caught.value.exit_status == USAGE
    with pytest.raises(BenchError, match=told):
        given_launcher(f"{wrong} -n 4", None, "MPICH Version: 4.0.2")
    assert given_launcher(f"{wrong} -n 4", None, "Open MPI v5.0.7").ranks == 4
    other = program(tmp_path / "start", OPEN_MPI)  # whatever else starts ranks is not asked
    assert given_launcher(f"{other} -n 4", None, "MPICH Version: 4.0.2").ranks == 4


def test_weir_bench_says_which_mpi_it_is_linked_with(tmp_path: Path) -> None:
    says = program(tmp_path / "says", "echo weir-bench 1; echo 'MPI: MPICH Version: 4.0.2'")
    assert mpi_of(says) == "MPICH Version: 4.0.2"
    assert mpi_of(program(tmp_path / "silent", "echo weir-bench 1")) == ""
    assert mpi_of(program(tmp_path / "refuses", "echo no >&2; exit 2")) == ""


def test_slurm_comes_first_inside_its_allocation_only(tmp_path: Path) -> None:
    program(tmp_path / "srun")
    program(tmp_path / "mpirun", MPICH)
    assert words(tmp_path, SLURM_JOB_ID="7") == ["srun", "-n", "4"]
    assert words(tmp_path) == ["mpirun", "-n", "4"]


def test_no_launcher_is_told(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="no mpirun, mpiexec or srun was found on PATH") as caught:
        found_launcher(4, {"PATH": str(tmp_path)})
    assert caught.value.exit_status == USAGE


def test_open_mpi_is_allowed_to_run_as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    monkeypatch.setattr(launcher_module.os, "geteuid", lambda: 0)
    assert given_launcher("sh -n 4", None).environment == allowed
    monkeypatch.setattr(launcher_module.os, "geteuid", lambda: 1000)
    assert given_launcher("sh -n 4", None).environment == {}


@pytest.mark.parametrize(
    "text",
    ["sh -n 16", "sh -n16", "sh -np 16", "sh --ntasks=16 -N 2", "sh --ntasks 16", "sh --n=16"],
)
def test_a_given_launcher_is_used_as_it_stands(text: str) -> None:
    given = given_launcher(text, None)
    assert (" ".join(given.command), given.ranks) == (text, 16)
    assert given_launcher(text, 16) == given


def test_a_given_launcher_without_a_count_gets_it() -> None:
    assert given_launcher("sh --quiet", 9).command == ("sh", "--quiet", "-n", "9")


@pytest.mark.parametrize(
    ("text", "ranks", "told"),
    [
        ("sh", None, "gives no number of ranks: add -n RANKS"),
        ("sh -n 4", 16, "starts 4 ranks but --ranks is 16"),
        ("no-such-launcher -n 4", None, "no-such-launcher was not found on PATH"),
        ("sh 'open", None, "cannot be split"),
        ("", None, "is empty"),
    ],
)
def test_a_wrong_launcher_is_told(text: str, ranks: int | None, told: str) -> None:
    with pytest.raises(BenchError, match=told) as caught:
        given_launcher(text, ranks)
    assert caught.value.exit_status == USAGE


def test_weir_bench_by_name_comes_before_everything(tmp_path: Path) -> None:
    named = program(tmp_path / "mine")
    assert find_program({"WEIR_BENCH": str(named), "PATH": os.environ["PATH"]}) == named
    for wrong in (tmp_path / "absent", tmp_path):
        with pytest.raises(BenchError, match="is not a program"):
            find_program({"WEIR_BENCH": str(wrong)})


def test_weir_bench_beside_weir_comes_before_a_clone_before_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts, clone, other = (tmp_path / name for name in ("scripts", "clone", "other"))
    (clone / "python/weir").mkdir(parents=True)
    (clone / "pyproject.toml").touch()
    monkeypatch.setattr("weir.__file__", str(clone / "python/weir/__init__.py"))
    monkeypatch.setattr(program_module.sysconfig, "get_path", lambda _: str(scripts))
    environment = {"PATH": str(other)}
    with pytest.raises(BenchError, match="build it with"):
        find_program(environment)
    for folder in (other, clone / "build/release/bench", scripts):
        made = program(folder / "weir-bench")
        assert find_program(environment) == made


def placing(launcher: Launcher, tasks: int) -> list[str]:
    """Returns the words that place ranks, after those of the launcher as it was."""
    return list(placed(launcher, tasks).command[len(launcher.command) :])


def test_each_launcher_places_ranks_in_its_own_words(tmp_path: Path) -> None:
    program(tmp_path / "mpirun", OPEN_MPI)
    program(tmp_path / "mpiexec.hydra", MPICH)
    program(tmp_path / "srun")
    program(tmp_path / "start", OPEN_MPI.replace("Open MPI", "made up"))

    def given(name: str) -> Launcher:
        return given_launcher(f"{tmp_path / name} -n 8", None)

    assert placing(given("mpirun"), 2) == ["--map-by", "ppr:2:node"]
    assert placing(given("mpiexec.hydra"), 4) == ["-ppn", "4"]
    assert placing(given("srun"), 8) == ["--nodes=1", "--ntasks-per-node=8"]
    allocated = found_launcher(64, {"PATH": str(tmp_path), "SLURM_JOB_ID": "7"})
    assert placing(allocated, 16) == ["--nodes=4", "--ntasks-per-node=16"]
    for launcher, told in (
        (given("start"), "it is not known how start places ranks"),
        (given_launcher(f"{tmp_path / 'mpirun'} --map-by core -n 8", None), "by --map-by"),
        (given_launcher(f"{tmp_path / 'srun'} --ntasks-per-node=4 -n 8", None), "leave one of"),
    ):
        with pytest.raises(BenchError, match=told) as caught:
            placed(launcher, 2)
        assert caught.value.exit_status == USAGE
    with pytest.raises(BenchError, match="8 ranks cannot be so many on each node: give a divisor"):
        placed(given("mpirun"), 3)


def test_a_machine_without_an_allocation_is_one_node(tmp_path: Path) -> None:
    program(tmp_path / "mpirun", OPEN_MPI)
    here = found_launcher(4, {"PATH": str(tmp_path)})
    assert placed(here, 4) == here
    with pytest.raises(BenchError, match="4 ranks need 2 nodes, and this machine without an"):
        placed(here, 2)
    there = found_launcher(4, {"PATH": str(tmp_path), "PBS_JOBID": "7"})
    assert placing(there, 2) == ["--map-by", "ppr:2:node"]


def test_a_placement_that_the_launcher_did_not_keep_is_told() -> None:
    run = make_run(ranks=4)
    on_each = len(run.nodes[0].ranks)
    assert all(len(node.ranks) == on_each for node in run.nodes)
    assert misplaced([run], on_each) is None
    assert misplaced([run], None) is None
    told = misplaced([run], on_each + 1)
    assert told is not None
    assert f"the launcher started {on_each} ranks on {run.nodes[0].host}" in told
