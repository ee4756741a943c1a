"""weir run --mpi-io: unchanged programs behave as without it, and their calls are counted."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from mpi_launcher import BUILD, CLONE, environment, is_open_mpi, launcher, there_is_one
from weir_process import WeirProcess

from weir.advise.records import RecordError
from weir.mpiio.records import FURTHER_FILES, NO_FILE, Sums, sum_up
from weir.mpiio.table import table

HERE = Path(__file__).parent
BUILT = BUILD / "tests" / "mpiio"
FUNCTIONS = re.findall(
    r"\bf\((\w+)\)", (HERE.parents[1] / "src/adapters/mpiio/function.hpp").read_text()
)
STATUS = 3  # of all_calls.c


@dataclass(frozen=True)
class Mpi:
    """An MPI library."""

    launcher: tuple[str, ...]
    c: str | None
    """The MPI's compilers; None for the MPI that Weir and the programs were built with."""
    fortran: str | None


def mpis() -> dict[str, Mpi]:
    """The MPI that Weir was built with, and, by Debian's names, the other one."""
    found = {}
    if there_is_one():
        found["own"] = Mpi(tuple(launcher()), None, None)
    other = "mpich" if is_open_mpi() else "openmpi"
    c, fortran, start = [shutil.which(f"{name}.{other}") for name in ("mpicc", "mpif90", "mpirun")]
    if c and start:
        options = ("--oversubscribe",) if other == "openmpi" else ()
        found[other] = Mpi((start, *options), c, fortran)
    return found


MPIS = mpis()
WITHOUT_MPI = pytest.param("", marks=pytest.mark.skip(reason="no MPI was found on PATH"))
every_mpi = pytest.mark.parametrize("name", MPIS or [WITHOUT_MPI])


@functools.cache
def compiled(folder: Path, compiler: str, source: str, *options: str | Path) -> Path:
    program = folder / str(len(list(folder.iterdir())))
    command = [compiler, "-O1", "-o", program, HERE / source, *options]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    return program


def all_calls(mpi: Mpi, folder: Path) -> Path:
    if mpi.c is None:
        return BUILT / "mpiio_all_calls"
    return compiled(folder, mpi.c, "all_calls.c", "-pthread")


def late_calls(mpi: Mpi, folder: Path) -> Path:
    if mpi.c is None:
        return BUILT / "mpiio_late_calls.so"
    options = ("-DWEIR_LATE", "-shared", "-fPIC", "-pthread")
    return compiled(folder, mpi.c, "all_calls.c", *options)


def fortran_program(mpi: Mpi, folder: Path) -> Path:
    if mpi.c is not None and mpi.fortran:
        return compiled(folder, mpi.fortran, "fortran.f90")
    program = BUILT / "mpiio_fortran"
    if mpi.c is not None or not program.exists():
        pytest.skip("there is no Fortran compiler for this MPI")
    return program


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


def take_over_library(name: str) -> Path | None:
    """The library that takes calls over in programs of an MPI of `MPIS`.

    That of another MPI is built with WEIR_OTHER_MPI, or in the copy of the sources for MPICH.
    """
    built = Path("src/adapters/takeover")
    of_others = (
        BUILD / built / f"libweir_take_over_{name}.so.0",
        CLONE / "build" / name / "build/release" / built / "libweir_take_over.so.0",
    )
    places = (BUILD / built / "libweir_take_over.so.0",) if name == "own" else of_others
    return next((place for place in places if place.exists()), None)


def modelled_calls(mpi: Mpi, folder: Path) -> Path:
    if mpi.c is None:
        return BUILT / "mpiio_modelled_calls"
    return compiled(
        folder,
        mpi.c,
        "modelled_calls.c",
        HERE / "modelled_rounds.c",
        HERE / "modelled_types.c",
    )


def taken_over(
    folder: Path, command: Sequence[str | Path], libraries: Path | str
) -> tuple[str, Sums]:
    """The output of a command, and the sums of its records, with calls taken over."""
    words = ["run", "--mpi-io", "--take-over", "--records", "records", "--", *map(str, command)]
    # OMPIO writes into holes of views where ranks write together.
    variables = {"WEIR_TAKE_OVER_LIBRARY": str(libraries), "OMPI_MCA_fcoll": "individual"}
    with WeirProcess(words, cwd=folder, env=environment(variables)) as process:
        out, err = process.communicate(timeout=240)
        assert process.wait(0) == 0, out + err
        return out, sum_up(sorted((folder / "records").iterdir()))


def run(folder: Path, command: Sequence[str | Path]) -> tuple[int, str]:
    """The exit status and standard output of a command without Weir."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        command, cwd=folder, env=environment({}), capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def counted(folder: Path, command: Sequence[str | Path]) -> tuple[int, str, str, Sums]:
    """The exit status and outputs of a command with Weir, and the sums of its records."""
    folder.mkdir(exist_ok=True)
    words = ["run", "--mpi-io", "--records", "records", "--", *map(str, command)]
    with WeirProcess(words, cwd=folder, env=environment({})) as process:
        out, err = process.communicate(timeout=240)
        return process.wait(0), out, err, sum_up(sorted((folder / "records").iterdir()))


@every_mpi
def test_a_program_behaves_as_without_it_and_each_function_is_counted(
    name: str, programs: Path, tmp_path: Path
) -> None:
    mpi = MPIS[name]
    program = all_calls(mpi, programs)
    command = [*mpi.launcher, "-n", "2", program, "all"]
    status, out = run(tmp_path / "without", command)
    counted_status, counted_out, err, sums = counted(tmp_path / "with", command)
    assert (status, counted_status) == (STATUS, STATUS), err
    assert sorted(out.splitlines()) == sorted(counted_out.splitlines())
    assert len(re.findall(r"class \d+$", out, re.MULTILINE)) == 2 * 5
    for written in ("all_calls.out", "shared.out"):
        content = (tmp_path / "with" / written).read_bytes()
        assert content == (tmp_path / "without" / written).read_bytes()
        assert len(content) >= 128
    # Children that were forked left no record.
    assert (sums.processes, sums.incomplete, sums.ranks_told) == (2, 0, 2)
    calls = {function for by_function in sums.files.values() for function in by_function}
    assert calls == set(FUNCTIONS)
    file = sums.files[f"{tmp_path}/with/all_calls.out"]
    assert (file["open"].calls, file["open"].ranks, file["close"].calls) == (4, 2, 4)
    for function in ("write_at_all", "read_all_begin", "iwrite_at_all", "read_at"):
        assert (file[function].calls, file[function].size) == (2, 2 * 8 * 4), function
    assert (file["read"].calls, file["read"].failed, file["read"].size) == (6, 4, 2 * 8 * 4)
    assert sums.files[f"{tmp_path}/with/no such file"]["delete"].failed == 2
    assert sums.files[f"{tmp_path}/with/deleted.out"]["delete"].ranks == 1
    assert NO_FILE not in sums.files
    assert re.search(r"weir: 2 ranks, .* s: \d+ calls of MPI-IO on 5 files, 896 bytes written", err)


@every_mpi
def test_calls_of_fortran_are_counted(name: str, programs: Path, tmp_path: Path) -> None:
    mpi = MPIS[name]
    program = fortran_program(mpi, programs)
    status, _, err, sums = counted(tmp_path, [*mpi.launcher, "-n", "2", program])
    assert status == 0, err
    (file,) = sums.files.values()
    found = {function: (one.calls, one.size) for function, one in file.items()}
    assert found == {"open": (4, 0), "write_at_all": (2, 32), "read_at": (2, 32), "close": (4, 0)}


OTHER_MPI = "no library that takes calls over was built with the program's MPI"


@every_mpi
def test_each_program_gets_the_library_that_takes_over_for_its_mpi(
    name: str, programs: Path, tmp_path: Path
) -> None:
    there = [library for each in MPIS if (library := take_over_library(each)) is not None]
    if take_over_library(name) is None:
        pytest.skip("Weir was not built for this MPI")
    program = modelled_calls(MPIS[name], programs)
    command = [*MPIS[name].launcher, "-n", "2", program, "2", "15", "collective"]
    out, sums = taken_over(tmp_path, command, ":".join(map(str, there)))
    assert re.search(r"^\d+ calls, 0 differences$", out, re.MULTILINE), out
    file = sums.files[f"{tmp_path}/modelled.out"]
    for function in ("write_at_all", "read_at_all", "write_all", "read_all"):
        assert file[function].taken > 0, function
    assert OTHER_MPI not in sums.passed[f"{tmp_path}/modelled.out"]


@every_mpi
def test_calls_are_passed_on_where_no_library_is_of_the_programs_mpi(
    name: str, programs: Path, tmp_path: Path
) -> None:
    program = modelled_calls(MPIS[name], programs)
    command = [*MPIS[name].launcher, "-n", "1", program, "2", "3", "collective"]
    # A library with a dependency on no MPI stands for one of an MPI that is not there.
    _, sums = taken_over(tmp_path, command, BUILD / "src/adapters/mpiio/libweir_mpiio.so.0")
    (passed,) = sums.passed.values()
    assert set(passed) == {OTHER_MPI}
    assert all(one.taken == 0 for file in sums.files.values() for one in file.values())


@every_mpi
def test_mpi_may_be_loaded_late_by_a_program_with_threads(
    name: str, programs: Path, tmp_path: Path
) -> None:
    command = [BUILT / "mpiio_late", late_calls(MPIS[name], programs)]
    status, _, err, sums = counted(tmp_path, command)
    assert status == STATUS, err
    file = sums.files[f"{tmp_path}/threads.out"]
    assert (file["get_position"].calls, file["open"].calls) == (80000, 1)


@every_mpi
def test_an_aborted_program_keeps_its_status_and_leaves_a_record(
    name: str, programs: Path, tmp_path: Path
) -> None:
    program = all_calls(MPIS[name], programs)
    status, _, err, sums = counted(tmp_path, [program, "abort"])
    assert status == 9, err
    assert sums.files[f"{tmp_path}/threads.out"]["get_position"].calls == 80000


@every_mpi
def test_files_are_counted_up_to_the_limit(name: str, programs: Path, tmp_path: Path) -> None:
    program = all_calls(MPIS[name], programs)
    _, _, err, sums = counted(tmp_path, [program, "many"])
    assert len(sums.files) == 1024 + 1
    assert sums.files[FURTHER_FILES]["delete"].calls == 1
    assert "weir: 1005 more files: 1005 calls, 0 bytes, " in err


def test_a_program_without_mpi_is_told_and_ends_as_it_does(tmp_path: Path) -> None:
    status, out, err, sums = counted(tmp_path, ["sh", "-c", "echo done; exit 5"])
    assert (status, out, sums.processes) == (5, "done\n", 0)
    assert (
        err == "weir: sh ended no MPI: it uses none, or it is linked statically, or it was killed\n"
    )


@every_mpi
def test_both_libraries_count_one_program(name: str, programs: Path, tmp_path: Path) -> None:
    program = all_calls(MPIS[name], programs)
    words = ["run", "--mpi-io", "--advise", "--", str(program), "threads"]
    with WeirProcess(words, cwd=tmp_path, env=environment({})) as process:
        _, err = process.communicate(timeout=240)
        assert process.wait(0) == STATUS
    assert "80002 calls of MPI-IO on 1 file" in err
    assert "metadata operations on" in err


BEGIN = "weir-mpiio 3\nprocess\t7\t{rank}\t{ranks}\tnode\t0\t/bin/solver\n"
OF_RANK_1 = BEGIN.format(rank=1, ranks=3) + (
    "file\t/d/a\\tb\ncall\twrite\t2\t1\t64\t3000000\t0\nno-file\ncall\tget_errhandler\t1\t0\t0\t5\t0\n"
    "end\t2000000000\n"
)
OF_RANK_2 = BEGIN.format(rank=2, ranks=3) + (
    "file\t/d/a\\tb\ncall\twrite\t1\t0\t32\t1000000\t0\nend\t1000000000\n"
)


def summed(folder: Path, *texts: str) -> Sums:
    for number, text in enumerate(texts):
        (folder / f"{number}.mpiio").write_text(text)
    return sum_up(sorted(folder.iterdir()))


def test_records_of_ranks_are_summed_up(tmp_path: Path) -> None:
    sums = summed(tmp_path, OF_RANK_1, OF_RANK_2, OF_RANK_2[:-8])
    assert (sums.processes, sums.incomplete, sums.ranks_told) == (2, 1, 3)
    one = sums.files["/d/a\tb"]["write"]
    assert (one.calls, one.failed, one.size, one.ranks) == (3, 1, 96, 2)
    assert (round(one.seconds, 9), one.longest, one.longest_rank) == (0.004, 0.003, 1)
    lines = list(table(sums))
    assert lines[0] == (
        "2 ranks, 2.0 s: 4 calls of MPI-IO on 2 files, 96 bytes written, 0 bytes read; all were "
        "passed on to the MPI library"
    )
    assert lines[1].startswith("of 3 ranks only 2 left a record: ")
    assert lines[3] == "  /d/a\tb"
    assert re.fullmatch(r" +write +2 +3 +1 +96 bytes +2.00 ms +3.00 ms on rank 1", lines[4])


def test_calls_that_were_taken_over_have_a_column_and_others_a_reason(tmp_path: Path) -> None:
    text = BEGIN.format(rank=0, ranks=1) + (
        "file\t/a\ncall\twrite_all\t5\t0\t64\t3000000\t3\npassed\t2\tthe file is in atomic mode\n"
        "call\tsync\t1\t0\t0\t10\t0\nend\t5\n"
    )
    lines = list(table(summed(tmp_path, text, text)))
    assert lines[0].endswith("; 6 were taken over, the others were passed on to the MPI library")
    assert " ".join(lines[1].split()) == "ranks calls taken over failed bytes blocked longest"
    assert re.fullmatch(r" +write_all +2 +10 +6 +128 bytes +3.00 ms +3.00 ms on rank 0", lines[3])
    assert re.fullmatch(r" +sync +2 +2 +10.0 ns +10.0 ns on rank 0", lines[4])
    assert lines[5] == "    passed on, 4 times: the file is in atomic mode"


def with_estimates(*estimates: int | None) -> list[str]:
    """Records of ranks that have such estimates of 3 ms in write_all; None: without the field."""
    return [
        BEGIN.format(rank=rank, ranks=len(estimates))
        + "file\t/a\ncall\twrite_all\t5\t0\t64\t3000000\t5\t0"
        + ("" if estimate is None else f"\t{estimate}")
        + "\ncall\tsync\t1\t0\t0\t10\t0\t0\t10\nend\t5\n"
        for rank, estimate in enumerate(estimates)
    ]


def test_estimates_have_a_column_that_is_marked(tmp_path: Path) -> None:
    lines = list(table(summed(tmp_path, *with_estimates(8000000, 4000000))))
    headings = "ranks calls taken over failed bytes blocked without, estimated longest"
    assert " ".join(lines[1].split()) == headings
    assert re.fullmatch(
        r" +write_all +2 +10 +10 +128 bytes +3.00 ms +6.00 ms +3.00 ms on rank 0", lines[3]
    )
    # No call of it was taken over, so that nothing is estimated.
    assert re.fullmatch(r" +sync +2 +2 +10.0 ns +10.0 ns on rank 0", lines[4])
    assert lines[-1].startswith("without, estimated is what blocked would have been")
    assert "weir run --compare N" in lines[-1]


@pytest.mark.parametrize("unknown", [-1, None])
def test_there_is_no_estimate_if_it_is_unknown_on_a_rank(
    unknown: int | None, tmp_path: Path
) -> None:
    """Either the rank does not know the time, or an earlier version of Weir wrote the record."""
    sums = summed(tmp_path, *with_estimates(8000000, unknown))
    assert sums.files["/a"]["write_all"].without is None
    lines = list(table(sums))
    assert " ".join(lines[1].split()) == "ranks calls taken over failed bytes blocked longest"
    assert lines[-1].startswith("bytes are those that calls asked to move")


@pytest.mark.parametrize(
    "text",
    ["weir-calls 1\n", OF_RANK_1.replace("\t64\t", "\ta\t"), OF_RANK_1.replace("\t7\t1\t", "\t")],
)
def test_damaged_records_are_refused_by_name(text: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"0\.mpiio"):
        summed(tmp_path, text)
