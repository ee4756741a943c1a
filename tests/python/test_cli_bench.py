"""``weir bench`` from the outside, with doubles for weir-bench and the launcher."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import time
from pathlib import Path

import pytest

from cli_with_doubles import WORDS, Cli
from weir.bench.binaries import binaries_of, other_binaries
from weir.campaign.file import parse_campaign_file
from weir.campaign.sweep import sweep_file
from weir.commands.purpose_options import purpose_table, purpose_words
from weir.results.folder import load_calibration, load_run
from weir.results.purpose import Purpose
from weir.results.schema import Binary


def statuses(output: Path) -> list[str]:
    return [load_run(output / name).status for name in ("posix-unique-sync", "mpi-shared-sync")]


def test_a_run_says_what_it_expects_then_runs_then_judges(cli: Cli) -> None:
    status, out, err = cli.run("bench", *WORDS, "--output", "results")
    assert (status, err.count("weir:")) == (0, 0), err
    order = ["Plan: 2 configurations on 4 ranks", "Calibration: 4 ranks on 1 host", "Expected read"]
    order += ["limited by storage read", "<- slowest", "Expected write 1.33 GiB/s"]
    order += ["Results: results", "Report: results/report.html"]
    places = [out.index(text) for text in order]
    assert places == sorted(places), out
    assert "2 of 2 done, now MPI SHARED SYNC: repetition 1" in err
    assert out.count("as expected: within") == 4


def test_a_finished_run_is_finalized_and_complete(cli: Cli) -> None:
    cli.run("bench", *WORDS, "--output", "results")
    output = cli.folder / "results"
    for name in ("posix-unique-sync", "mpi-shared-sync"):
        run = load_run(output / name)
        assert run.verdict is not None
        assert run.expectation is not None
        assert sorted(file.name for file in (output / name).iterdir()) == [
            "SHA256SUMS",
            "events.parquet",
            "report.html",
            "run.json",
        ]
    assert json.loads((output / "calibration.json").read_text())["ranks"] == 4
    assert "text for standard output" in (output / "standard-output.txt").read_text()


def test_files_are_calibrated_as_large_and_as_shared_as_those_of_the_run(cli: Cli) -> None:
    status, out, err = cli.run("bench", *WORDS, "--output", "results", "--no-report")
    assert status == 0, err
    for name, shared in (("posix-unique-sync", False), ("mpi-shared-sync", True)):
        run = load_run(cli.folder / "results" / name)
        assert run.expectation is not None
        calibration = run.expectation.calibration
        assert calibration["shared_file"] is shared
        largest = max(phase.bytes_total for phase in run.plan.phases)
        assert calibration["bytes_per_rank"] == largest // run.plan.ranks
    assert out.count("Calibration: 4 ranks on 1 host, a file each, ") == 1
    assert out.count("Calibration: 4 ranks on 1 host, one file, ") == 1
    for file, shared in (("calibration.json", False), ("calibration-shared.json", True)):
        made = load_calibration(cli.folder / "results" / file)
        assert made.shared_file is shared
    assert [entry.name for entry in cli.folder.iterdir()] == ["results"]


def test_results_go_to_a_folder_named_for_time_and_workload(cli: Cli) -> None:
    status, out, _ = cli.run("bench", *WORDS, "--no-report")
    assert status == 0
    (folder,) = (cli.folder / "weir-results").iterdir()
    assert folder.name.endswith("Z-madbench")
    assert f"Results: weir-results/{folder.name}" in out
    assert not list(folder.glob("**/report.html"))


def test_a_failed_run_says_why_once_and_keeps_its_folder(cli: Cli) -> None:
    status, out, err = cli.run("bench", *WORDS, "--output", "results", ending="fails")
    assert status == 1
    assert err.count("No space left on device") == 1
    assert "weir: failed: rank 1: write: No space left on device" in err.splitlines()
    assert statuses(cli.folder / "results") == ["failed", "failed"]
    assert "failed: the job ended before the run was finished: exit status 1" in out
    assert (cli.folder / "results/report.html").is_file()
    assert not (cli.folder / "weir-double-0").exists()


def test_a_killed_rank_is_named_and_cleaned_up_after(cli: Cli) -> None:
    status, _, err = cli.run("bench", *WORDS, "--output", "results", ending="killed")
    assert status == 1
    assert "exit status 137, a process was ended by SIGKILL" in err.splitlines()[-1]
    assert "process rank 0 exited on signal 9" in err.splitlines()[-1]
    assert "removed 1 test files that the job left" in err
    assert statuses(cli.folder / "results") == ["failed", "failed"]
    assert not (cli.folder / "weir-double-0").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_in_order(cli: Cli, number: signal.Signals) -> None:
    child = cli.start("bench", *WORDS, "--output", "results", ending="hangs")
    deadline = time.monotonic() + 90
    while not (cli.folder / "results/hanging").exists():
        assert time.monotonic() < deadline, "the double never began"
        time.sleep(0.05)
    child.send_signal(number)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 130
    assert err.splitlines()[-1] == f"weir: the run was interrupted: stopped by {number.name}"
    assert statuses(cli.folder / "results") == ["interrupted", "interrupted"]
    assert not (cli.folder / "weir-double-0").exists()


def test_a_hanging_run_ends_at_its_deadline(cli: Cli) -> None:
    words = (*WORDS, "--output", "results", "--timeout", "3")
    status, _, err = cli.run("bench", *words, ending="hangs")
    assert status == 1
    assert "the deadline of 3 s passed (--timeout)" in err.splitlines()[-1]
    assert statuses(cli.folder / "results") == ["failed", "failed"]


def test_a_mistake_of_the_person_is_one_line_and_leaves_nothing(cli: Cli) -> None:
    status, out, err = cli.run("bench", *WORDS, ending="usage")
    assert (status, out, err) == (2, "", "weir: madbench: RANKS is no square; given: 5\n")
    assert list(cli.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("bench", *WORDS, "-n", "many"), "Invalid value for '-n' / '--ranks'"),
        (("bench", *WORDS, "--output", "."), "--output . exists: give a new folder"),
        (("bench", *WORDS, "-n", "9"), "--launcher starts 4 ranks but --ranks is 9"),
        (("bench", *WORDS, "--output", "file/results"), "--output file/results: file cannot be"),
        (("bench", *WORDS, "--timeout", "0"), "Invalid value for '--timeout'"),
        (("bench", *WORDS, "--plan"), "--plan is set by weir itself"),
        (("predict", *WORDS, "--progress=json"), "--progress is set by weir"),
        (("report", "left:b:right"), "left:b:right is not a folder"),
        (("nonsense",), "No such command 'nonsense': weir --help says what can be given"),
        (("results", "query"), "Missing argument 'sql': weir results query --help says"),
        (("monitor", "--finish", "none"), "--finish none: there is no such file"),
        (("report", "nowhere"), "nowhere is not a folder"),
        (("results", "query", "SELECT 1", "--json", "--csv"), "are both given"),
    ],
)
def test_errors_are_one_line(cli: Cli, words: tuple[str, ...], told: str) -> None:
    (cli.folder / "file").touch()
    status, out, err = cli.run(*words)
    assert status in (1, 2)
    assert err.startswith("weir: ")
    assert told in err
    assert (out, err.count("\n")) == ("", 1)


def test_without_a_number_of_ranks_it_asks_for_one(cli: Cli) -> None:
    del cli.environment["WEIR_LAUNCHER"]
    assert (
        cli.run("bench", *WORDS)[2]
        == "weir: the number of ranks is missing: give it, for example -n 4\n"
    )


def test_without_arguments_it_explains_itself(cli: Cli) -> None:
    status, out, _ = cli.run("bench")
    assert status == 0
    assert "weir bench WORKLOAD" in out
    assert "the double's own help" in out


def test_help_shows_own_options_then_those_of_weir_bench(cli: Cli) -> None:
    _, out, _ = cli.run("bench", "madbench", "--help")
    assert out.index("--launcher COMMAND") < out.index("the double's own help")
    _, out, _ = cli.run("predict", "--help")
    assert out.index("weir predict WORKLOAD") < out.index("the double's own help")


def test_predict_runs_nothing_and_writes_what_weir_bench_reads(cli: Cli) -> None:
    status, out, _ = cli.run("predict", *WORDS, "--output", "expected.json")
    assert status == 0
    assert "Expected write" in out
    assert set(json.loads((cli.folder / "expected.json").read_text())) == {
        "posix-unique-sync",
        "mpi-shared-sync",
    }
    assert [entry.name for entry in cli.folder.iterdir()] == ["expected.json"]


def test_a_run_is_repeated_from_its_folder_alone(cli: Cli, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    cli.environment |= {"DOUBLE_CALLS": str(calls), "OMPI_MCA_io": "romio321", "UCX_TLS": "tcp"}
    cli.environment |= {"UCX_SECRET_TOKEN": "x", "UNRELATED": "y"}
    status, _, err = cli.run("bench", *WORDS, "--no-report", "--output", "one")
    assert status == 0, err
    start = load_run(cli.folder / "one/mpi-shared-sync").start
    assert start is not None
    assert start.command_by_user == ["weir", "bench", *WORDS, "--no-report", "--output", "one"]
    assert start.directory == str(cli.folder)
    command = load_run(cli.folder / "one/mpi-shared-sync").command
    assert command[command.index("--expectation") + 1] == "one/expectation.json"
    assert (cli.folder / "one/expectation.json").is_file()
    assert start.environment["OMPI_MCA_io"] == "romio321"
    assert start.environment["UCX_TLS"] == "tcp"
    assert not {"UCX_SECRET_TOKEN", "UNRELATED"} & set(start.environment)

    # Somewhere else, with another launcher and other variables, and with the run's folder alone.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (cli.folder / "one").rename(elsewhere / "moved")
    before, cli.folder = cli.folder, elsewhere
    cli.environment |= {"WEIR_LAUNCHER": "nothing -n 99", "OMPI_MCA_btl": "self"}
    status, out, err = cli.run("bench", "--again", "moved", "--no-report", "--output", "two")
    assert status == 0, err
    assert f"Results: {elsewhere / 'two'}" in out
    again = load_run(elsewhere / "two/mpi-shared-sync").start
    assert again is not None
    assert again.launcher == start.launcher
    assert again.directory == str(before)
    assert "OMPI_MCA_btl" not in again.environment
    first, second = (json.loads(line) for line in calls.read_text().splitlines())
    seed = load_run(elsewhere / "moved/mpi-shared-sync").verification.seed
    given = [word for word in second if word.startswith("--seed=")]
    assert given == [f"--seed={int(seed, 16)}"]
    size = first.index("--output")
    assert second[:size] == first[:size]


def test_a_run_carries_why_it_was_made(cli: Cli) -> None:
    status, _, err = cli.run("bench", *WORDS, "--no-report", "--output", "one")
    assert status == 0, err
    first = load_run(cli.folder / "one/mpi-shared-sync")
    assert first.purpose is None
    why = ("--motivation", "slower since <Monday>", "--expects", "write 900 MiB/s", "--note", "ä")
    more = ("--goal", "confirm", "--follows", "one/mpi-shared-sync", "--output", "two")
    status, _, err = cli.run("bench", *WORDS, *why, *more)
    assert status == 0, err
    purpose = load_run(cli.folder / "two/mpi-shared-sync").purpose
    assert purpose == Purpose(
        goal="confirm",
        motivation="slower since <Monday>",
        expects="write 900 MiB/s",
        note="ä",
        follows=[first.id],
    )
    lines = ("motivation: slower since <Monday>", "expects: write 900 MiB/s", "note: ä")
    lines += ("goal: confirm", f"follows: {first.id}")
    _, out, _ = cli.run("results", "show", "two/mpi-shared-sync")
    assert set(lines) <= set(out.splitlines())
    page = (cli.folder / "two/report.html").read_text()
    assert "Motivation: slower since &lt;Monday&gt;" in page
    assert f"Follows: {first.id}" in page

    # A repeated run has a purpose of its own.
    status, _, err = cli.run("bench", "--again", "two", "--note", "again", "--output", "three")
    assert status == 0, err
    assert load_run(cli.folder / "three/mpi-shared-sync").purpose == Purpose(note="again")


@pytest.mark.parametrize(
    ("words", "wrong", "said"),
    [
        (("--goal", "fame"), 2, "--goal fame: give one of new region, confirm, refined method"),
        (("--follows", "nothing"), 1, "nothing is not a folder, and below . no run has that id"),
    ],
)
def test_a_wrong_purpose_is_refused_before_anything_runs(
    cli: Cli, words: tuple[str, str], wrong: int, said: str
) -> None:
    status, _, err = cli.run("bench", *WORDS, *words, "--output", "one")
    assert (status, said in err) == (wrong, True), err
    assert not (cli.folder / "one").exists()


def test_a_sweep_gives_its_runs_the_purpose() -> None:
    purpose = Purpose(goal="new region", motivation='a "quoted" \\ line\nand ä', follows=["x", "y"])
    text = sweep_file(["stream"], ["ranks=1,2"], None) + purpose_table(purpose)
    (table,) = parse_campaign_file(text, "here", "name").purpose
    assert Purpose.model_validate(table.model_dump(exclude={"when"})) == purpose
    assert purpose_words(purpose)[0] == "--goal=new region"
    assert purpose_words(purpose)[-2:] == ["--follows=x", "--follows=y"]


def test_a_run_names_its_binary_and_is_told_from_one_of_another(cli: Cli, tmp_path: Path) -> None:
    double = tmp_path / "weir-bench"
    shutil.copy(cli.environment["WEIR_BENCH"], double)
    cli.environment["WEIR_BENCH"] = str(double)
    status, _, err = cli.run("bench", *WORDS, "--no-report", "--output", "one")
    assert status == 0, err
    (recorded,) = load_run(cli.folder / "one/mpi-shared-sync").binaries
    digest = hashlib.sha256(double.read_bytes()).hexdigest()
    assert recorded == Binary(name=double.name, file=str(double.resolve()), sha256=digest)
    again = ("bench", "--again", "one", "--no-report", "--output")
    status, _, err = cli.run(*again, "same")
    assert (status, "another build" in err) == (0, False)

    double.write_text(double.read_text() + "# another build\n")
    status, _, err = cli.run(*again, "other")
    assert status == 0, err
    changed = load_run(cli.folder / "other/mpi-shared-sync").binaries[0].short_hash
    digests = f"SHA-256 {digest[:12]} then, {changed} now"
    said = f"another build than that of the run: {recorded.name} ({digests})"
    assert [line.partition("weir: ")[2] for line in err.splitlines() if "build" in line] == [said]
    _, out, _ = cli.run("results", "compare", "one/mpi-shared-sync", "other/mpi-shared-sync")
    assert f"SHA-256 of weir-bench {digest[:12]} -> {changed}" in out

    # Results of earlier versions do not say it, and are repeated without a word on it.
    for file in (cli.folder / "one").glob("*/run.json"):
        record = json.loads(file.read_text())
        del record["binaries"]
        file.write_text(json.dumps(record))
    status, _, err = cli.run(*again, "third")
    assert (status, "another build" in err) == (0, False)


def test_libraries_of_weir_are_named_with_the_program(tmp_path: Path) -> None:
    program, library = tmp_path / "weir-bench", tmp_path / "libweir.so.0.1.0"
    program.write_text("program")
    library.write_text("library")
    lister = tmp_path / "ldd"
    loaded = ("libm.so.6 => /lib/libm.so.6", f"libweir.so.0 => {library}", "libweir_x.so => not")
    lister.write_text("#!/bin/sh\n" + "".join(f"echo '\t{one} (0x7f00)'\n" for one in loaded))
    lister.chmod(0o755)
    found = binaries_of(program, {"PATH": str(tmp_path)})
    assert [(one.name, one.file) for one in found] == [
        ("weir-bench", str(program)),
        ("libweir.so.0", str(library)),
    ]
    library.write_text("another")
    then, now = found, binaries_of(program, {"PATH": str(tmp_path)})
    text = other_binaries(then, now)
    assert text is not None
    assert ("libweir.so.0" in text, "weir-bench" in text) == (True, False)
    library.unlink()
    assert binaries_of(program, {"PATH": str(tmp_path)}) == []


def test_again_takes_no_other_words_and_says_what_it_cannot_repeat(cli: Cli) -> None:
    status, _, err = cli.run("bench", "--again", "one", "-n", "4")
    assert (status, "--again repeats a run as it was started" in err) == (2, True)
    cli.run("bench", *WORDS, "--no-report", "--output", "one")
    for file in (cli.folder / "one").glob("*/run.json"):
        record = json.loads(file.read_text())
        del record["start"]
        file.write_text(json.dumps(record))
    status, _, err = cli.run("bench", "--again", "one")
    assert (status, "does not say how it was started" in err) == (2, True)


def test_results_of_a_run_are_found_shown_and_compared(cli: Cli) -> None:
    for name in ("one", "two"):
        cli.run("bench", *WORDS, "--output", f"weir-results/{name}", "--no-report")
    # The double gives both jobs' runs the same ids, so the second job is left out as a copy.
    status, out, err = cli.run("results", "query", "--json", "SELECT label FROM runs ORDER BY 1")
    assert (status, err.count("it is a copy")) == (0, 2)
    assert json.loads(out) == [{"label": "MPI SHARED SYNC"}, {"label": "POSIX UNIQUE SYNC"}]
    status, out, _ = cli.run("results", "query", "--csv", "SELECT 1 AS a, NULL AS b")
    assert out == "a,b\n1,\n"
    status, out, _ = cli.run("results", "show", "weir-results/one/mpi-shared-sync")
    assert "rank 2 on node00" in out
    status, out, _ = cli.run("results", "compare", "weir-results/one", "weir-results/two")
    assert out.count("differs: nothing") == 2
    assert "overlap, no difference shown" in out


def test_version(cli: Cli) -> None:
    assert cli.run("--version")[1].startswith("weir ")
