"""weir run: calls by Weir return and write what those of MPI do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mpi_launcher import BUILD, CLONE, environment, is_open_mpi, launcher, preload, there_is_one
from weir_process import WeirProcess

from weir.mpiio.records import Sums, sum_up
from weir.mpiio.session_settings import setting_names, variables_for

PROGRAMS = BUILD / "tests" / "mpiio"
FAULTY_IO = BUILD / "tests" / "failure" / "faulty_io.so"
# OMPIO's collective writes put bytes of its buffers into holes of a view, where nobody has written,
# and some calls write or read wrong bytes (docs/mpi-io.md). Where each rank writes and reads by
# itself, they do not.
INDEPENDENT = {"OMPI_MCA_fcoll": "individual", "HDF5_USE_FILE_LOCKING": "FALSE"}
COLLECTIVE = ("read_all", "read_at_all", "write_all", "write_at_all")
SERVED = (
    "{}_all", "{}_at_all", "{}_all_begin", "{}_at_all_begin", "{}", "{}_at", "i{}", "i{}_at",
    "i{}_all", "i{}_at_all",
)  # fmt: skip
"""Kinds of reads and writes of which some are taken over."""
AT_SHARED_POINTER = ("{}_ordered", "{}_ordered_begin", "{}_shared", "i{}_shared")
FAILED = "Weir failed to move the bytes"
NOT_CARRIED_OUT = (
    "settings of sessions and --all-nodes are about calls that Weir carries out, and it only "
    "counts them: give --take-over, too\n"
)
IRREGULAR = "a view is of too many patterns, or its datatype is constructed in an unknown way"

pytestmark = pytest.mark.skipif(not there_is_one(), reason="no MPI was found on PATH")


class Run:
    """A program under `weir run --mpi-io`, in a folder of its own."""

    def __init__(
        self, folder: Path, ranks: int, words: tuple[str, ...], *options: str,
        counted: tuple[str, ...] = ("--mpi-io",), through: tuple[str, ...] = (), **variables: str,
    ) -> None:  # fmt: skip
        folder.mkdir()
        program, *arguments = words
        command = [*launcher(), "-n", str(ranks), *through, str(PROGRAMS / program), *arguments]
        run = ["run", *counted, *options, "--records", "records", "--", *command]
        with WeirProcess(run, cwd=folder, env=environment(INDEPENDENT | variables)) as process:
            self.out, self.err = process.communicate(timeout=240)
            self.status = process.wait(0)
        self.sums: Sums = sum_up(sorted((folder / "records").iterdir()))

    def taken(self) -> int:
        files = self.sums.files.values()
        return sum(one.taken for by_function in files for one in by_function.values())

    def reasons(self) -> set[str]:
        return {reason for by_reason in self.sums.passed.values() for reason in by_reason}


@pytest.mark.skipif(not is_open_mpi(), reason="MPICH 4.0 writes into holes of views, too")
@pytest.mark.parametrize(
    ("ranks", "seed", "drawn"),
    [(1, 7, SERVED), (2, 14, SERVED), (3, 21, SERVED),
     (4, 29, (*SERVED, "{}_ordered_begin", "{}_shared")), (4, 33, (*SERVED, "{}_ordered"))],
)  # fmt: skip
def test_random_calls_of_all_kinds_do_what_the_standard_says(
    ranks: int, seed: int, drawn: tuple[str, ...], tmp_path: Path
) -> None:
    """Each of the kinds that are `drawn` occurs, and is taken over at least once."""
    words = ("mpiio_modelled_calls", str(seed), "60")
    run = Run(tmp_path / "with", ranks, words, "--take-over")
    assert re.fullmatch(r"\d+ calls, 0 differences\n", run.out), (run.out, run.err)
    assert run.status == 0
    path = f"{tmp_path}/with/modelled.out"
    file, reasons = run.sums.files[path], run.sums.passed[path]
    passed = 0
    for kind in (*SERVED, *AT_SHARED_POINTER):
        calls = [file[kind.format(way)] for way in ("read", "write") if kind.format(way) in file]
        assert sum(one.taken for one in calls) > 0 or kind not in drawn, kind
        passed += sum(one.calls - one.taken for one in calls)
    # Each call that could have been taken over was, or has a reason.
    assert passed == sum(reasons.values()) > 0
    assert FAILED not in reasons
    assert " were taken over, the others were passed on" in run.err


@pytest.mark.parametrize("kind", ["collective", "independent"])
def test_invalid_calls_return_the_errors_of_the_mpi_library(kind: str, tmp_path: Path) -> None:
    words = ("mpiio_failing_calls", "invalid", kind)
    without = Run(tmp_path / "without", 2, words)
    with_it = Run(tmp_path / "with", 2, words, "--take-over")
    assert sorted(with_it.out.splitlines()) == sorted(without.out.splitlines())
    assert with_it.out.count("\n") == 2 * 7
    assert with_it.taken() == 2 * 2  # the valid ones
    assert with_it.reasons() == {"a rank's arguments do not fit its view or the mode of the file"}


def test_calls_beyond_limits_are_passed_on(tmp_path: Path) -> None:
    run = Run(tmp_path / "with", 2, ("mpiio_failing_calls", "limits"), "--take-over")
    assert run.out.count(": 0\n") == run.out.count("\n") == 2 * 4
    assert run.taken() == 2 * 2
    (passed,) = run.sums.passed.values()
    assert passed == {
        "a view is of too many patterns, or its datatype is constructed in an unknown way": 2 * 2
    }


def test_calls_of_several_threads_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """The thread that opens the first file has its calls taken over, and all independent ones."""
    run = Run(tmp_path / "with", 3, ("mpiio_threads", "own", "other"), "--take-over")
    assert (run.status, run.out) == (0, ""), run.err
    own, other = (run.sums.files[f"{tmp_path}/with/{name}"] for name in ("own", "other"))
    calls = 20  # of a thread on its file; then two are passed on, and one is not
    assert (own["write_at_all"].calls, own["write_at_all"].taken) == (
        3 * (calls + 3),
        3 * (calls + 1),
    )
    assert own["write_at"].taken == own["write_at"].calls == 3
    assert own["read_at"].taken == own["read_at"].calls == 3 * (calls + 4)
    assert sum(one.taken for one in other.values()) == 0
    threads = "with MPI_THREAD_MULTIPLE, another thread made the call than opened the first file"
    assert [run.sums.passed[f"{tmp_path}/with/{name}"] for name in ("own", "other")] == [
        {threads: 3 * 2},
        {threads: 3},
    ]


# Error classes of Open MPI.
NO_SPACE, IO, QUOTA = (41, 35, 44)


@pytest.mark.skipif(not is_open_mpi(), reason="error classes have other numbers")
@pytest.mark.parametrize(
    ("action", "fault", "error"),
    [
        ("write", "call=pwrite,nth=1,error=ENOSPC", NO_SPACE),
        ("write", "call=pwrite,nth=1,error=EDQUOT", QUOTA),
        ("write", "call=pwrite,rank=0,nth=1,error=EIO", IO),
        ("read", "call=pread,rank=0,nth=1,error=EIO", IO),
    ],
)
def test_what_the_storage_refuses_is_an_error_of_all_ranks(
    action: str, fault: str, error: int, tmp_path: Path
) -> None:
    path = str(tmp_path / "weir-file")
    written = Run(tmp_path / "before", 3, ("mpiio_failing_calls", "write", "collective", path))
    assert written.out.count("0 are wrong") == 2 * 3
    run = Run(
        tmp_path / "with", 3, ("mpiio_failing_calls", action, "collective", path), "--take-over",
        LD_PRELOAD=preload(FAULTY_IO), WEIR_FAULT=fault, WEIR_AGGREGATORS="1",
    )  # fmt: skip
    lines = run.out.splitlines()
    assert sorted(line for line in lines if "first" in line) == [
        f"rank {rank}, first: {error}" for rank in range(3)
    ], (run.out, run.err)
    assert run.out.count("second: 0") == run.out.count(": 0 are wrong") == 3
    assert run.taken() == 2 * 3
    function = run.sums.files[path][f"{action}_at_all"]
    assert function.failed == 3


@pytest.mark.skipif(not is_open_mpi(), reason="error classes have other numbers")
@pytest.mark.parametrize(("kind", "ending"), [("independent", ""), ("pieces", "_all")])
@pytest.mark.parametrize(
    ("action", "fault", "error"),
    [
        ("write", "call=pwrite,nth=1,rank=1,error=ENOSPC", NO_SPACE),
        ("read", "call=pread,nth=1,rank=1,error=EIO", IO),
    ],
)
def test_what_the_storage_refuses_a_rank_by_itself_is_its_error_alone(
    action: str, fault: str, error: int, kind: str, ending: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "weir-file")
    words = ("mpiio_failing_calls", action, kind, path)
    before = ("mpiio_failing_calls", "write", kind, path)
    written = Run(tmp_path / "before", 3, before, "--take-over")
    assert written.out.count("0 are wrong") == 2 * 3
    run = Run(
        tmp_path / "with", 3, words, "--take-over",
        LD_PRELOAD=preload(FAULTY_IO), WEIR_FAULT=fault,
    )  # fmt: skip
    lines = run.out.splitlines()
    assert sorted(line for line in lines if "first" in line) == [
        "rank 0, first: 0", f"rank 1, first: {error}", "rank 2, first: 0",
    ], (run.out, run.err)  # fmt: skip
    assert run.out.count("second: 0") == 3
    assert run.out.count(": 0 are wrong") == 2 * 2 + 1
    assert run.taken() == 2 * 3
    assert run.sums.files[path][f"{action}_at{ending}"].failed == 1


@pytest.mark.skipif(not is_open_mpi(), reason="error classes have other numbers")
@pytest.mark.parametrize(
    ("action", "fault", "error"),
    [
        ("write", "call=pwrite,nth=2,rank=1,error=ENOSPC", NO_SPACE),
        ("read", "call=pread,nth=2,rank=1,error=EIO", IO),
        ("write", "call=pwrite,nth=2,rank=1,error=EINTR", 0),
        ("write", "call=pwrite,nth=2,rank=1,effect=short", 0),
    ],
)
def test_the_second_of_equal_calls_returns_what_the_storage_refuses(
    action: str, fault: str, error: int, tmp_path: Path
) -> None:
    """It is made in a shorter way than the first one, and once more where that was interrupted."""
    path = str(tmp_path / "weir-file")
    before = ("mpiio_failing_calls", "write", "piece", path)
    if action == "read":
        Run(tmp_path / "before", 2, before, "--take-over")
    run = Run(
        tmp_path / "with", 2, ("mpiio_failing_calls", action, "piece", path), "--take-over",
        LD_PRELOAD=preload(FAULTY_IO), WEIR_FAULT=fault,
    )  # fmt: skip
    assert sorted(line for line in run.out.splitlines() if "second" in line) == [
        "rank 0, second: 0", f"rank 1, second: {error}",
    ], (run.out, run.err)  # fmt: skip
    failed = 1 if error else 0
    assert run.out.count("first: 0") == 2
    assert run.out.count(": 0 are wrong") == 2 * 2 - failed
    assert run.taken() == 2 * 2
    one = run.sums.files[path][f"{action}_at"]
    assert (one.failed, one.size) == (failed, (2 * 2 - failed) * 262144)
    if action == "write":
        assert Path(path).stat().st_size == 2 * 262144


AS_BEFORE = {
    "third", "fourth", "read", "and again", "memory with holes", "a split call", "one in turn",
    "one in turn again", "another file a third time", "opened again, third", "the same view",
    "other hints", "not atomic again", "all of it",
}  # fmt: skip
"""Calls of equal_calls.c before which the ranks have made two that were like each other."""
FIRST_OF_A_FILE = {"first", "another file", "opened again"}
"""Those in which the ranks tell each other also how the file is stored."""


def exchanges_by_mpi(name: str, of_node: int) -> int:
    """How often a call of equal_calls.c has the ranks tell each other something by MPI.

    Those of one node have a board for that as soon as the first call has opened the session.
    """
    if of_node == 0:
        return int(name == "first")
    return int(name not in AS_BEFORE) + int(name in FIRST_OF_A_FILE)


@pytest.mark.parametrize(("ranks", "of_node"), [(2, 0), (3, 0), (4, 2)])
def test_ranks_tell_of_their_parts_if_a_call_is_not_like_the_last_one(
    ranks: int, of_node: int, tmp_path: Path
) -> None:
    """The program compares the file after each write, and what each rank reads."""
    words = ("mpiio_equal_calls", "one", "other")
    run = Run(tmp_path / "with", ranks, words, "--take-over", WEIR_RANKS_PER_NODE=str(of_node))
    told = dict(line.split(": ") for line in run.out.splitlines())
    assert told == {name: f"{exchanges_by_mpi(name, of_node)}, 0 are wrong" for name in told}, (
        run.err
    )
    assert told.keys() > AS_BEFORE
    reasons = run.sums.passed[f"{tmp_path}/with/one"]
    assert sorted(reasons.values()) == [ranks, ranks]  # atomic, and past the end
    assert run.taken() == ranks * (len(told) - 2 + 1)  # a split call is two


def test_one_rank_passes_calls_on_in_a_view_that_the_mpi_library_was_not_given(
    tmp_path: Path,
) -> None:
    """File, file pointers, offsets and the shared file pointer are those without Weir."""
    words = ("mpiio_irregular_views", "file")
    runs = [
        Run(tmp_path / name, 3, words, *options)
        for name, options in (("with", ["--take-over"]), ("without", []))
    ]
    told, expected = (sorted(run.out.splitlines()) for run in runs)
    assert told == expected, [run.err for run in runs]
    assert len(told) == 2 * 3 * 4
    assert (tmp_path / "with/file").read_bytes() == (tmp_path / "without/file").read_bytes()
    assert IRREGULAR in runs[0].reasons()
    made = runs[0].sums.files[f"{tmp_path}/with/file"]
    assert [(made[one].calls, made[one].taken) for one in ("write_at", "write_at_all")] == [
        (6, 0), (9, 9),
    ]  # fmt: skip


def test_equal_calls_of_which_a_rank_misses_the_deadline_are_passed_on(tmp_path: Path) -> None:
    words = ("mpiio_equal_calls", "one", "late")
    run = Run(tmp_path / "with", 3, words, "--take-over", WEIR_DEADLINE="1")
    assert run.out.count(", 0 are wrong\n") == run.out.count("\n") == 6, (run.out, run.err)
    assert run.sums.passed[f"{tmp_path}/with/one"] == {FAILED: 3 * 3}
    assert run.taken() == 3 * 3


def test_time_in_calls_is_that_of_the_clock(tmp_path: Path) -> None:
    """A write that the storage makes 2 seconds late takes as long, and less than the process."""
    path = str(tmp_path / "weir-file")
    run = Run(
        tmp_path / "with", 1, ("mpiio_failing_calls", "write", "piece", path), "--take-over",
        LD_PRELOAD=preload(FAULTY_IO), WEIR_FAULT="call=pwrite,nth=1,effect=late",
    )  # fmt: skip
    assert 1.99 < run.sums.files[path]["write_at"].longest <= run.sums.seconds


@pytest.mark.skipif(not is_open_mpi(), reason="error classes have other numbers")
def test_what_the_storage_refuses_at_closing_is_an_error_of_all_ranks(tmp_path: Path) -> None:
    path = str(tmp_path / "weir-file")
    run = Run(
        tmp_path / "with", 3, ("mpiio_failing_calls", "write", "collective", path), "--take-over",
        LD_PRELOAD=preload(FAULTY_IO), WEIR_AGGREGATORS="1",
        FAULT_OF_CLOSE="call=close,rank=0,nth=1,error=EDQUOT",
    )  # fmt: skip
    closed = sorted(line for line in run.out.splitlines() if "close" in line)
    assert closed == [f"rank {rank}, close: {QUOTA}" for rank in range(3)], (run.out, run.err)
    assert run.sums.files[path]["close"].failed == 3


@pytest.mark.parametrize("name", ["hdf5", "pnetcdf"])
def test_libraries_write_the_same_file(name: str, tmp_path: Path) -> None:
    program = f"mpiio_{name}_slabs"
    if not (PROGRAMS / program).exists():
        pytest.skip("Weir's tests were built without this library")
    without = Run(tmp_path / "without", 3, (program, "slabs"))
    with_it = Run(tmp_path / "with", 3, (program, "slabs"), "--take-over")
    assert (without.status, with_it.status) == (0, 0), with_it.out + with_it.err
    # The program compares what it reads. MPICH 4.0 by itself writes into what a strided selection
    # leaves out.
    if is_open_mpi() or name != "hdf5":
        content = (tmp_path / "without" / "slabs").read_bytes()
        assert (tmp_path / "with" / "slabs").read_bytes() == content
    file = with_it.sums.files[f"{tmp_path}/with/slabs"]
    for kind in ("write_at_all", "read_at_all", "write_at", "read_at"):
        assert file[kind].taken > 0, with_it.err
    assert all(file[one].taken == file[one].calls for one in ("write_at", "read_at"))
    assert FAILED not in with_it.reasons()


def test_a_step_of_many_variables_of_pnetcdf_is_one_call(tmp_path: Path) -> None:
    """The program verifies what it reads; its patterns are as many as the variables."""
    if not (BUILD / "bench" / "pnetcdf_step").exists():
        pytest.skip("Weir was built without PnetCDF")
    words = ("../../bench/pnetcdf_step", "steps.nc", "10", "512", "32", "2")
    run = Run(tmp_path / "with", 4, words, "--take-over")
    assert (run.status, run.out.count("\n")) == (0, 3), run.out + run.err
    file = run.sums.files[f"{tmp_path}/with/steps.nc"]
    made = {name: (file[name].calls, file[name].taken) for name in ("write_at_all", "read_at_all")}
    assert made == {"write_at_all": (4 * 2 * 2, 4 * 2 * 2), "read_at_all": (4 * 2, 4 * 2)}


@pytest.mark.skipif(not is_open_mpi(), reason="MPICH 4.0 writes into holes of views, too")
def test_nodes_of_two_ranks_do_what_the_standard_says(tmp_path: Path) -> None:
    """The session's ranks send messages between the two, as ranks of different nodes do."""
    words = ("mpiio_modelled_calls", "21", "40")
    run = Run(tmp_path / "with", 4, words, "--take-over", WEIR_RANKS_PER_NODE="2")
    assert re.fullmatch(r"\d+ calls, 0 differences\n", run.out), (run.out, run.err)
    file = run.sums.files[f"{tmp_path}/with/modelled.out"]
    assert all(file[one].taken > 0 for one in COLLECTIVE)
    assert FAILED not in run.reasons()


def test_a_job_on_several_nodes_is_passed_on_with_a_reason(tmp_path: Path) -> None:
    """Launchers tell each rank how many there are on its node."""
    here = "OMPI_COMM_WORLD_LOCAL_SIZE=2 MPI_LOCALNRANKS=2"
    words = ("mpiio_failing_calls", "write", "collective", "file")
    run = Run(
        tmp_path / "with", 4, words, "--take-over",
        through=("sh", "-c", f'{here} exec "$0" "$@"'),
    )  # fmt: skip
    assert (run.status, run.taken()) == (0, 0), run.err
    assert run.out.count("0 are wrong") == 2 * 4
    reason = "the launcher does not tell that all ranks run on one node"
    assert run.reasons() == {reason}
    assert f"passed on, 4 times: {reason}" in run.err
    assert "all were passed on to the MPI library" in run.err


@pytest.mark.parametrize(
    ("options", "taken"),
    [([], 2 * 4), (["--take-over"], 2 * 4), (["--strategy", "two-phase"], 2 * 4),
     (["--mpi-io"], 0), (["--setting", "strategy=foo"], 0)],
)  # fmt: skip
def test_without_options_calls_are_taken_over(
    options: list[str], taken: int, tmp_path: Path
) -> None:
    words = ("mpiio_failing_calls", "write", "collective", "file")
    run = Run(tmp_path / "with", 4, words, *options, counted=())
    assert (run.status, run.taken()) == (0, taken), run.err
    assert run.out.count("0 are wrong") == 2 * 4
    refused = "strategy=foo" in options
    told = (
        "weir: no collective calls of MPI-IO are carried out by Weir: rank 0: environment variable "
        "WEIR_STRATEGY: 'foo' is not one of automatic, direct, node, two-phase, server-directed\n"
    )
    assert (told in run.err) == refused, run.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--setting", "speed=1"], "--setting speed=1: give NAME=VALUE with one of the names agg"),
        (["--setting", "staging"], "--setting staging: give NAME=VALUE with one of the names agg"),
        (["--setting", "staging="], "--setting staging=: give NAME=VALUE with one of the names a"),
        (["--staging", "node", "--setting", "staging=node"],
         "--setting staging=node: staging is given twice\n"),
        (["--mpi-io", "--strategy", "node"], NOT_CARRIED_OUT),
        (["--advise", "--all-nodes"], NOT_CARRIED_OUT),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(words: list[str], message: str, tmp_path: Path) -> None:
    with WeirProcess(["run", *words, "--", "true"], cwd=tmp_path, env=environment({})) as process:
        _, err = process.communicate(timeout=60)
        assert process.wait(0) == 2
    assert err.startswith(f"weir: {message}")
    assert err.count("\n") == 1


def test_all_settings_of_sessions_can_be_given() -> None:
    """The page of the library has the table of them, which another test holds it to."""
    page = (CLONE / "docs/library.md").read_text()
    table = page.partition("| variable | option | value | what |\n")[2].partition("\n\n")[0]
    variables = re.findall(r"^\| `(WEIR_\w+)` \|", table, re.MULTILINE)
    assert len(variables) > 15
    named = variables_for(None, None, [f"{name}=x" for name in setting_names()])
    assert sorted(named) == sorted(variables)


def test_a_program_without_mpi_is_told_of(tmp_path: Path) -> None:
    with WeirProcess(["run", "--", "true"], cwd=tmp_path, env=environment({})) as process:
        _, err = process.communicate(timeout=60)
        assert process.wait(0) == 0
    assert err == (
        "weir: true ended no MPI: it uses none, or it is linked statically, or it was killed\n"
    )


def test_collective_calls_have_an_estimate_and_calls_of_unknown_price_have_none(
    tmp_path: Path,
) -> None:
    words = ("mpiio_failing_calls", "write", "collective", "file")
    without = Run(tmp_path / "without", 3, words)
    assert "without, estimated" not in without.err
    run = Run(tmp_path / "with", 3, words, "--take-over")
    calls = run.sums.files[f"{tmp_path}/with/file"]["write_at_all"]
    assert calls.taken == calls.calls == 2 * 3
    # Each rank has 64 rows of 4096 bytes: what they take is far more than nothing, and no seconds.
    assert calls.without is not None
    assert 100e-6 < calls.without / calls.calls < 0.1
    assert re.search(r" blocked +without, estimated +longest\n", run.err)
    assert "nothing of it was measured: weir run --compare N measures it" in run.err


@pytest.mark.skipif(not is_open_mpi(), reason="only Open MPI has OMPIO")
def test_the_estimate_is_that_of_the_implementation(tmp_path: Path) -> None:
    """OMPIO's writes of rows by one rank have no known price, those of ROMIO have one."""
    words = ("mpiio_failing_calls", "write", "independent", "file")
    found = {}
    for name in ("ompio", "romio321"):
        run = Run(tmp_path / name, 2, words, "--take-over", OMPI_MCA_io=name)
        calls = run.sums.files[f"{tmp_path}/{name}/file"]["write_at"]
        assert calls.taken == calls.calls == 2 * 2
        found[name] = calls.without
    assert found["ompio"] is None
    assert found["romio321"] is not None
    assert found["romio321"] > 0


def test_a_block_of_one_rank_takes_about_its_own_time(tmp_path: Path) -> None:
    words = ("mpiio_failing_calls", "write", "piece", "file")
    run = Run(tmp_path / "with", 1, words, "--take-over")
    calls = run.sums.files[f"{tmp_path}/with/file"]["write_at"]
    assert calls.taken == calls.calls == 2
    assert calls.without is not None
    assert calls.seconds <= calls.without <= calls.seconds + 2 * 1e-6
