"""``weir`` with the real weir-bench and the MPI launcher of this machine, at a small size."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from jsonschema import Draft202012Validator
from mpi_marks import needs_survivors
from weir_process import WeirProcess

from weir.bench.launcher import found_launcher
from weir.bench.program import PlannedJob, find_program
from weir.results.folder import find_run_folders, load_run

CLONE = Path(__file__).parents[2]
DEADLINE_SECONDS = 150
SIZE = ("madbench", "256", "4", "1", "32", "4096", "1", "1")
SHORT = ("--repetitions", "2", "--max-repetitions", "2", "--busy-work-exponent", "0.5")
BOTH = ("--iomethod", "POSIX,MPI", "--iomode", "SYNC,ASYNC")


def environment() -> dict[str, str]:
    """Without the variables that MADbench2 and Weir read; with this interpreter's programs."""
    names = ("IOMETHOD", "IOMODE", "FILETYPE", "REMAP", "BWEXP")
    kept = {k: v for k, v in os.environ.items() if k not in names and not k.startswith("WEIR_")}
    # Whether a small job is undecided, and would go on, depends on the machine's load.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**kept, "PATH": path, "WEIR_GO_ON": "0"}


def started(folder: Path, *words: str) -> WeirProcess:
    return WeirProcess(words, cwd=folder, env=environment())


def weir(folder: Path, *words: str) -> tuple[int, str, str]:
    with started(folder, *words) as child:
        out, err = child.communicate(timeout=DEADLINE_SECONDS)
        return child.wait(0), out, err


def weir_anew(folder: Path, *words: str) -> tuple[int, str, str]:
    """weir in an interpreter that has loaded nothing: once for each command of these tests."""
    ended = subprocess.run(
        [sys.executable, "-m", "weir.cli", *words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which one job with four configurations ran; its results are in ``results``."""
    folder = tmp_path_factory.mktemp("real")
    words = ("bench", *SIZE, *BOTH, *SHORT, "-n", "4", "--output", "results")
    status, out, err = weir_anew(folder, *words)
    assert status == 0, out + err
    (folder / "out.txt").write_text(out)
    return folder


def test_only_results_are_left(finished: Path) -> None:
    assert sorted(entry.name for entry in finished.iterdir()) == ["out.txt", "results"]


def test_every_run_holds_to_the_published_schema(finished: Path) -> None:
    schema = json.loads((CLONE / "docs/schema/run.schema.json").read_text(encoding="utf-8"))
    folders = find_run_folders(finished)
    assert len(folders) == 4
    for folder in folders:
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        Draft202012Validator(schema).validate(record)


def test_every_run_moved_verified_and_recorded_what_was_planned(finished: Path) -> None:
    matrix_bytes = 256 * 256 * 8
    for folder in find_run_folders(finished):
        run = load_run(folder)
        assert run.status == "complete"
        with duckdb.connect() as connection:
            moved = connection.execute(
                "SELECT repetition, function, operation, sum(bytes)::BIGINT FROM read_parquet(?) "
                "WHERE bytes > 0 GROUP BY ALL ORDER BY ALL",
                [str(folder / "events.parquet")],
            ).fetchall()
        phases = sorted((phase.function, phase.direction) for phase in run.plan.phases)
        assert phases == [("C", "read"), ("S", "write"), ("W", "read"), ("W", "write")]
        assert moved == [(r, f, d, 4 * matrix_bytes) for r in range(3) for f, d in phases]
        assert run.verification.performed
        assert run.verification.errors == []
        assert run.verification.bytes_verified == 3 * 2 * 4 * matrix_bytes


def test_every_run_was_expected_and_judged(finished: Path) -> None:
    for folder in find_run_folders(finished):
        run = load_run(folder)
        assert run.expectation is not None
        assert run.verdict is not None
        metric = "foreground" if "ASYNC" in run.label else "span"
        expected = {(rate.direction, rate.metric) for rate in run.expectation.rates}
        assert expected == {("read", metric), ("write", metric)}
        assert {(rate.direction, rate.metric) for rate in run.verdict.rates} == expected
        assert all(rate.ratio is not None for rate in run.verdict.rates)


def test_what_was_expected_was_said_before_what_was_measured(finished: Path) -> None:
    out = (finished / "out.txt").read_text()
    assert out.index("Expected read") < out.index("Expected write") < out.index("verdict")
    assert "<- slowest" in out
    assert out.rstrip().endswith("Report: results/report.html")
    assert (finished / "results/report.html").is_file()


def test_the_original_text_is_kept_for_every_configuration(finished: Path) -> None:
    text = (finished / "results/standard-output.txt").read_text()
    assert text.count("MADbench 2.0 IO-mode") == 4
    assert text.count("dC[0] = 0.00000e+00") == 4


def test_sql_finds_the_runs(finished: Path) -> None:
    sql = "SELECT label, parameters->>'pixels' FROM runs ORDER BY label"
    status, out, _ = weir_anew(finished, "results", "query", "--root", "results", "--json", sql)
    assert status == 0
    modes = ("ASYNC", "SYNC")
    labels = [f"{method} UNIQUE {mode}" for method in ("MPI", "POSIX") for mode in modes]
    assert [row["label"] for row in json.loads(out)] == labels


def test_folders_made_with_another_launcher_are_finalized_and_reported(tmp_path: Path) -> None:
    launcher = found_launcher(1, os.environ)
    program = str(find_program(os.environ))
    words = [*launcher.command, program, *SIZE, *SHORT, "--output", "results"]
    subprocess.run(
        words,
        cwd=tmp_path,
        env=environment() | launcher.environment,
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        check=True,
    )
    status, out, err = weir_anew(tmp_path, "report", "results")
    assert (status, out) == (0, "Report: results/report.html\n"), err
    (run,) = map(load_run, find_run_folders(tmp_path))
    assert run.verdict is not None
    assert run.verdict.overall == "no expectation"


def test_predict_runs_nothing(tmp_path: Path) -> None:
    status, out, err = weir_anew(tmp_path, "predict", *SIZE, "-n", "4", "--output", "expected.json")
    assert status == 0, err
    assert "Expected write" in out
    assert [entry.name for entry in tmp_path.iterdir()] == ["expected.json"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("madbench", "256", "4", "1", "32", "4096", "1", "1", "-n", "5"), "must be a square"),
        (("madbench", "-4", "4", "1", "32", "4096", "1", "1", "-n", "4"), "is negative"),
        ((*SIZE, "-n", "4", "--directory", "/nowhere"), "--directory /nowhere"),
        ((*SIZE, "-n", "4", "--iomode", "FAST"), "SYNC, ASYNC, NONE"),
        (("nonsense", "-n", "4"), "unknown workload 'nonsense'"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    status, out, err = weir(tmp_path, "bench", *words)
    assert (status, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def children_of(process: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(stat.rpartition(")")[2].split()[1]) == process:
                found.append(int(entry.name))
    return sorted(found)


def command_line_of(process: int) -> bytes:
    """Empty when the process has ended since it was listed: a launcher starts short-lived ones."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def ranks_of(child: WeirProcess, count: int) -> list[int]:
    """The processes of the workload's ranks, once the run's test files exist."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        starters = children_of(child.pid)  # the launcher, or with MPICH its proxy
        for starter in [*starters, *(one for each in starters for one in children_of(each))]:
            ranks = children_of(starter)
            lines = [command_line_of(rank) for rank in ranks]
            if sum(b"--progress" in line for line in lines) == count:
                return ranks
        time.sleep(0.05)
    raise AssertionError("the ranks did not start")


def finished_repetitions(folder: Path) -> int:
    """How many repetitions, warm-ups included, the run under way has kept so far."""
    files = list(folder.glob("results/**/run.json"))
    return len(load_run(files[0]).repetitions) if files else 0


@pytest.mark.parametrize(
    "ending", [pytest.param("a rank is killed", marks=needs_survivors), "Ctrl-C"]
)
def test_a_run_that_breaks_off_keeps_what_was_finished_and_leaves_no_test_files(
    tmp_path: Path, ending: str
) -> None:
    endless = ("--max-repetitions", "100000", "--repetitions", "100000")
    words = ("bench", *SIZE, *endless, "-n", "4", "--output", "results")
    with started(tmp_path, *words) as child:
        ranks = ranks_of(child, 4)
        deadline = time.monotonic() + DEADLINE_SECONDS
        while finished_repetitions(tmp_path) < 2:
            assert time.monotonic() < deadline, "no finished repetition was kept"
            time.sleep(0.05)
        if ending == "Ctrl-C":
            child.send_signal(signal.SIGINT)
        else:
            os.kill(ranks[2], signal.SIGKILL)
        out, err = child.communicate(timeout=DEADLINE_SECONDS)
    assert child.returncode == (130 if ending == "Ctrl-C" else 1), out + err
    (run,) = map(load_run, find_run_folders(tmp_path))
    assert run.status == ("interrupted" if ending == "Ctrl-C" else "failed")
    assert run.failure is not None
    if ending == "a rank is killed":
        assert run.failure.rank == 2
        assert "rank 2" in err
    else:
        assert run.failure.message == "stopped by SIGINT"
    counted = sum(not one.warmup for one in run.repetitions)
    assert counted > 0
    assert {len(rate.values) for rate in run.rates} == {counted}
    assert f"not judged: of {counted} finished repetition" in out
    report = next((tmp_path / "results").rglob("report.html")).read_text()
    assert "Figures below are from the repetitions that were complete" in report
    assert "no rate was measured" not in report
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"]
    assert "Traceback" not in err


def test_a_run_is_made_again_from_its_folder_alone(tmp_path: Path) -> None:
    """With the same words, ranks, MPI variables, directory and seed, from another directory."""
    first, elsewhere = tmp_path / "first", tmp_path / "elsewhere"
    first.mkdir()
    elsewhere.mkdir()
    words = ("metadata", "--actions", "create,unlink", "--items", "4", "--repetitions", "1")
    variables = {"OMPI_MCA_io": "romio321", "UCX_LOG_LEVEL": "error"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        status, out, err = weir(first, "bench", *words, "-n", "2", "--no-report", "--output", "one")
        assert status == 0, out + err
    (first / "one").rename(elsewhere / "moved")
    status, out, err = weir(
        elsewhere, "bench", "--again", "moved", "--no-report", "--output", "two"
    )
    assert status == 0, out + err
    made, again = (load_run(elsewhere / name / "posix-shared") for name in ("moved", "two"))
    assert made.start is not None
    assert again.start is not None
    assert again.verification.seed == made.verification.seed
    assert again.start.arguments[: len(words)] == made.start.arguments == list(words)
    assert (again.start.launcher, again.start.ranks) == (made.start.launcher, 2)
    assert again.start.directory == str(first)
    assert variables.items() <= again.start.environment.items()
    assert again.plan == made.plan
    assert again.status == "complete"


def test_pixels_that_fill_memory_are_decided_once_and_kept(tmp_path: Path) -> None:
    words = ("madbench", "fill=0.01", "1", "1", "32", "4096", "1", "1")
    once = ("--warmups", "0", "--repetitions", "1", "--max-repetitions", "1")
    status, out, err = weir(
        tmp_path,
        *("bench", *words, *once, "--busy-work-exponent", "0.1", "--sync", "none"),
        *("-n", "4", "--no-report", "--output", "results"),
    )
    assert status == 0, out + err
    run = load_run(tmp_path / "results" / "posix-unique-sync")
    pixels = run.parameters["pixels"].value
    assert isinstance(pixels, int)
    assert f"NO_PIX is {pixels}, " in " ".join(out.split())
    assert pixels % 64 == 0
    assert run.plan.memory_bytes_total == 5 * pixels**2 * 8
    # The machine's free memory changes; the next run would have another number.
    assert run.start is not None
    assert f"--pixels={pixels}" in run.start.arguments
    assert not [word for word in run.start.arguments if "fill" in word]
    assert "fill=0.01" in run.start.command_by_user


def test_unique_files_are_in_several_directories_by_turns(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    status, out, err = weir(
        tmp_path,
        *("bench", *SIZE, *SHORT, "--directory", "a,b", "--rank-shift", "1"),
        *("-n", "4", "--no-report", "--output", "results"),
    )
    assert status == 0, out + err
    run = load_run(tmp_path / "results" / "posix-unique-sync")
    directories = [str(tmp_path / name) for name in ("a", "b")]
    for targets in (run.plan.targets, run.targets):
        assert [one.ranks for one in targets] == [[0, 2], [1, 3]]
    assert [one.directory for one in run.plan.targets] == directories
    assert [str(Path(one.directory).parent) for one in run.targets] == directories
    assert sum(one.bytes_total for one in run.plan.targets) == sum(
        phase.bytes_total for phase in run.plan.phases
    )
    for place, phase in enumerate(run.plan.phases):
        parts = [target.phases[place] for target in run.targets]
        assert {(one.function, one.direction) for one in parts} == {
            (phase.function, phase.direction)
        }
        assert sum(one.bytes for one in parts) == phase.bytes_total
    assert [list((tmp_path / name).iterdir()) for name in ("a", "b")] == [[], []]
    words = ("bench", *SIZE, "--directory", "a,b", "--filetype", "SHARED", "-n", "4")
    status, _, err = weir(tmp_path, *words)
    assert status == 2
    assert "with FILETYPE = SHARED there is one file, in one directory" in err


def test_a_plan_without_mpi_takes_the_memory_of_this_node(tmp_path: Path) -> None:
    found: list[int] = []
    for ranks in ("4", "16"):
        status, out, err = weir_bench_plan(tmp_path, "fill=0.01", "--ranks", ranks)
        assert status == 0, err
        planned = PlannedJob.model_validate_json(out)
        found.append(planned.decided["pixels"])
        parameters = planned.configurations[0].parameters
        assert parameters["pixels"].value == found[-1]
    # All ranks are on this node, so its memory, and with it the matrix, is as large for all.
    assert abs(found[0] - found[1]) < 0.1 * found[0]
    status, out, err = weir_bench_plan(tmp_path, "fill=0.99", "--ranks", "4")
    assert (status, out) == (2, "")
    assert "is neither a whole number from 0 to 2^63-1 nor fill or fill=SHARE" in err


def weir_bench_plan(folder: Path, pixels: str, *more: str) -> tuple[int, str, str]:
    words = (pixels, "1", "1", "32", "4096", "1", "1", "--plan")
    ended = subprocess.run(
        [str(find_program(os.environ)), "madbench", *words, *more],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


def test_ranks_on_each_node_are_all_of_them_on_one_machine(tmp_path: Path) -> None:
    words = ("metadata", "--actions", "create,unlink", "--items", "4", "--repetitions", "1")
    started_with = ("-n", "2", "--no-report", "--output", "results")
    status, out, err = weir(tmp_path, "bench", *words, "--tasks-per-node", "2", *started_with)
    assert status == 0, out + err
    run = load_run(tmp_path / "results" / "posix-shared")
    assert [node.ranks for node in run.nodes] == [[0, 1]]
    refused = ("--sweep", "tasks-per-node=1,2", "-n", "2", "--output", "sweep")
    status, _, err = weir(tmp_path, "bench", *words, *refused)
    assert status == 2
    assert "tasks-per-node 1: 2 ranks need 2 nodes, and this machine without an" in err
    assert not (tmp_path / "sweep").exists()
