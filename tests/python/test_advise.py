"""weir run --advise: what is counted of unchanged programs, and what is said of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from weir_process import WeirProcess

from weir.advise.records import RecordError, parse
from weir.advise.rules import THRESHOLDS, advice_on
from weir.advise.use import FileUse, Use, merge, ranks_text

BEGIN = "weir-calls 1\nprocess\t7\t{rank}\t4\tnode\t0\t/bin/solver\n"


def record(rank: int, *lines: str, end: str = "end\t2000000000\n") -> str:
    return BEGIN.format(rank=rank) + "".join(line + "\n" for line in lines) + end


def used(*records: str) -> Use:
    return merge([parse(text, Path("a.calls")) for text in records])


def kinds(use: Use, **limits: int) -> list[str]:
    named = {name.replace("_", "-"): value for name, value in limits.items()}
    return [one.kind for one in advice_on(use, named)]


def file_line(path: str, counts: str, *, wrote: int = 0, seconds: float = 1.5) -> str:
    return f"file\t0\t{wrote}\t0\t0\t0\t{int(seconds * 1e9)}\t{counts}\t{path}"


def test_records_of_ranks_are_merged() -> None:
    one = record(
        0, "total\topen\t2\t500000", file_line("/d/a\\tb\\\\", "open=2,stat=1"), "folder\t3\t/d"
    )
    lines = [file_line("/d/a\\tb\\\\", "open=1"), "folder\t4\t/d", "left-out\t9\t2"]
    other = record(3, "total\topen\t1\t700000", *lines)
    launcher = record(-1, "total\topen\t100\t1")
    use = used(one, other, launcher)
    assert use.has_ranks
    assert (use.ranks, use.ranks_told, use.killed, use.left_out) == (2, 4, 0, 9)
    assert use.counts == {"open": {0: 2, 3: 1}}
    assert use.seconds == {0: 0.0005, 3: 0.0007}
    assert use.folders == {"/d": 7}
    (file,) = use.files
    assert file.path == "/d/a\tb\\"
    assert file.ranks_with(1, "open") == [0, 3]
    assert file.count("open", "stat") == 4


def test_what_a_killed_process_did_is_not_known() -> None:
    cut_off = record(2, "total\topen\t2\t5", end="end\t12")
    use = used(record(0, "total\topen\t2\t5"), record(1, end=""), cut_off)
    assert (use.ranks, use.killed) == (1, 2)
    assert used("", "weir-ca", "weir-calls 1\nproc").killed == 3


@pytest.mark.parametrize(
    "text",
    ["weir-calls 2\n", "anything", record(0, "file\t1"), record(0, "total\topen\ta\t1"),
     record(0, file_line("/a", "open")), "weir-calls 1\nprocess\t1\n"],
)  # fmt: skip
def test_damaged_records_are_refused_by_name(text: str) -> None:
    with pytest.raises(RecordError, match=r"a\.calls"):
        parse(text, Path("a.calls"))


def test_each_kind_is_found_from_its_threshold_on() -> None:
    def of(line: str, ranks: int = 1) -> Use:
        return used(*(record(rank, line) for rank in range(ranks)))

    shared = file_line("/d/f", "open=1")
    assert kinds(of(shared, 16)) == ["the same file on many ranks"]
    assert kinds(of(shared, 15)) == []
    assert kinds(of(file_line("/d/f", "open=20,read=60"))) == ["opened and closed in a loop"]
    assert kinds(of(file_line("/d/f", "open=19,read=60"))) == []
    assert kinds(of(file_line("/d/f", "open=20,write=40", wrote=1))) == ["opened for each write"]
    assert kinds(of(file_line("/d/f", "open=20,write=41", wrote=1))) == [
        "opened and closed in a loop"
    ]
    assert kinds(of(file_line("/d/f", "stat=50"))) == ["a file is polled"]
    assert kinds(of(file_line("/d/f", "stat=50", wrote=1))) == []
    assert kinds(of(file_line("/d/f", "stat=49"))) == []
    assert kinds(of(file_line("/d/f", "stat=999", seconds=0.9))) == []  # a program that starts
    assert kinds(of(file_line("/d/f", "stat=1000", seconds=0.9))) == ["a file is polled"]
    assert kinds(of("total\tstat\t1000\t5")) == ["many stat calls"]
    assert kinds(of("total\tstat\t999\t5")) == []
    assert kinds(of("folder\t500\t/d", 2)) == ["many files in one folder"]
    assert kinds(of("folder\t499\t/d", 2)) == []
    assert kinds(of("total\topen\t1\t200000000")) == ["much time in metadata operations"]
    assert kinds(of("total\topen\t1\t199000000")) == []
    assert kinds(of(shared, 2), ranks_opening_one_file=2) == ["the same file on many ranks"]
    assert {one.name for one in THRESHOLDS} >= {"looks", "small-files"}


def test_small_files_are_those_that_are_small_now(tmp_path: Path) -> None:
    for i in range(6):
        (tmp_path / f"f{i}").write_bytes(bytes(10 if i else 100))
    lines = [f"file\t1\t1\t0\t0\t0\t1\topen=1\t{tmp_path}/f{i}" for i in range(7)]
    use = used(record(0, *lines))
    (advice,) = advice_on(use, {"small-files": 5, "small-file-bytes": 11})
    assert advice.what.startswith("5 files of less than 11 bytes were created, 5 of them in")
    assert advice_on(use, {"small-files": 6, "small-file-bytes": 11}) == []


def test_of_many_files_the_worst_are_named() -> None:
    lines = [file_line(f"/d/f{i}", f"open={20 + i}") for i in range(9)]
    shown = [one.what for one in advice_on(used(record(0, *lines)))]
    assert len(shown) == 3
    assert shown[0] == "/d/f8: 28 opens by rank 0"
    assert shown[2].endswith("(and 6 more files)")


def test_ranks_in_words() -> None:
    assert ranks_text([0, 1, 2, 7]) == "0 to 2, 7"
    assert ranks_text(range(0, 40, 2)) == "0, 2, 4, 6, 8 …"
    assert FileUse("/f").ranks_with(1, "open") == []


PROGRAM = """
import os, subprocess, sys
rank = int(os.environ["PMI_RANK"])
kept = os.open(f"kept{rank}", os.O_WRONLY | os.O_CREAT, 0o600)
os.makedirs("made", exist_ok=True)
os.chdir("made")
for i in range(5):
    with open(f"{rank}.{i}", "w") as file:
        file.write("x")
for i in range(30):
    log = os.open(f"../log{rank}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(log, b"line")
    os.close(log)
folder = os.open("..", os.O_RDONLY)
os.stat("log0", dir_fd=folder)
os.rename(f"{rank}.0", f"{rank}.new")
if os.fork() == 0:
    os.access("child of one", os.F_OK)
    os._exit(0)
os.wait()
subprocess.run(["true"], check=True)  # closes what it inherits, by vfork in this memory
os.write(kept, b"kept")
os.scandir(folder).close()
os.execv("/bin/sh", ["sh", "-c", ": > by_the_shell; exit 3"])
"""


@pytest.fixture(scope="module")
def observed(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Two processes that a launcher would call ranks, one after the other."""
    folder = tmp_path_factory.mktemp("observed")
    (folder / "program.py").write_text(PROGRAM)
    run = f"PMI_SIZE=2 PMI_RANK=%d {sys.executable} -S program.py"
    shown = subprocess.run(
        [sys.executable, "-m", "weir.cli", "run", "--advise", "--records", "records",
         "--threshold", "files-in-one-folder=14", "--", "sh", "-c", f"{run % 0}; {run % 1}"],
        cwd=folder, env=dict(os.environ), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return folder, shown


def test_a_program_is_observed_and_advised(
    observed: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, shown = observed
    assert shown.returncode == 3, shown.stderr  # the command's own
    assert shown.stdout == ""
    assert "weir: 2 ranks, " in shown.stderr
    assert f"weir:   {folder}/log0: 30 opens by rank 0\n" in shown.stderr
    assert f"weir:   {folder}/log1: 30 opens by rank 1\n" in shown.stderr
    # Each rank has five files, one name more by renaming, and one by the shell.
    assert f"weir:   {folder}/made: 14 names were created in it\n" in shown.stderr


def test_what_was_counted_is_what_was_done(
    observed: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = observed
    records = [parse(path.read_text(), path) for path in (folder / "records").iterdir()]
    assert all(one.duration is not None for one in records)
    use = merge(records)
    files = {file.path: file for file in use.files}
    log = files[f"{folder}/log1"].ranks[1]
    assert (log.count("open"), log.count("write"), log.count("close")) == (30, 30, 30)
    assert log.wrote
    assert files[f"{folder}/log1"].bytes_written == 120
    assert files[f"{folder}/kept0"].bytes_written == 4
    assert files[f"{folder}/made/0.new"].ranks[0].count("rename") == 1
    assert files[f"{folder}/log0"].ranks[1].count("stat") == 1  # relative to an open folder
    # By the child once, and not by its parent too.
    assert files[f"{folder}/made/child of one"].ranks[0].counts == {"access": 1}
    assert files[f"{folder}/made/by_the_shell"].ranks_with(1, "open") == [0, 1]
    assert not any(path.startswith(("/proc/", "/dev/")) for path in files)


def weir_run(folder: Path, *words: str) -> tuple[int, str]:
    """The status and standard error of ``weir run WORDS``."""
    with WeirProcess(("run", *words), cwd=folder, env=os.environ) as child:
        _, err = child.communicate(timeout=120)
        return child.wait(0), err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--advise", "--threshold", "looks", "--", "true"], "--threshold looks: give NAME=N"),
        (["--advise", "--", "/no/such/program"], "/no/such/program cannot be run: No such file"),
        (["--advise", "--records", "here", "--", "true"], "here has records of another run"),
    ],
)
def test_what_is_refused_is_told_in_one_line(words: list[str], told: str, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here/a.calls").touch()
    status, err = weir_run(tmp_path, *words)
    assert status in (1, 2)
    assert told in err
    assert err.count("\n") == 1


def test_a_program_without_libc_of_its_own_is_told(tmp_path: Path) -> None:
    source = tmp_path / "still.c"
    source.write_text("int main(void) { return 0; }\n")
    built = subprocess.run(
        ["cc", "-static", "-o", tmp_path / "still", source], capture_output=True, timeout=60,
        check=False,
    )  # fmt: skip
    if built.returncode != 0:
        pytest.skip("there is no static libc")
    status, err = weir_run(tmp_path, "--advise", "--", str(tmp_path / "still"))
    assert "left no record: it may be linked statically" in err
    assert status == 1


AT_LIMITS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Looks at so many files that are not there; then writes one byte by each of these descriptors. */
int main(int count, char** words) {
  char name[32];
  struct stat information;
  for (int i = 0; i < atoi(words[1]); ++i) {
    snprintf(name, sizeof name, "no%d", i);
    stat(name, &information);
  }
  for (int i = 2; i < count; ++i) {
    const struct rlimit files = {65537, 65537};
    if (setrlimit(RLIMIT_NOFILE, &files) != 0) return 77;
    const int file = open("written", O_WRONLY | O_CREAT, 0600);
    if (dup2(file, atoi(words[i])) < 0 || write(atoi(words[i]), "x", 1) != 1) return 1;
    close(atoi(words[i]));
    close(file);
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def at_limits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("limits")
    (folder / "at_limits.c").write_text(AT_LIMITS)
    built = subprocess.run(
        ["cc", "-o", "at_limits", "at_limits.c"], cwd=folder, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    if built.returncode != 0:
        pytest.skip("there is no C compiler")
    return folder / "at_limits"


def lines_at(program: Path, folder: Path, *words: int) -> list[list[str]]:
    """The lines of the program's record that tell of files."""
    begin = ("--advise", "--records", "records", "--", str(program))
    status, err = weir_run(folder, *begin, *map(str, words))
    if status == 77:
        pytest.skip("so many descriptors are not allowed here")
    assert status == 0, err
    (record_of_it,) = (folder / "records").iterdir()
    lines = [line.split("\t") for line in record_of_it.read_text().splitlines()]
    return [line for line in lines if line[0] in {"file", "left-out"}]


@pytest.mark.parametrize(
    ("files", "left_out"),
    [
        (4096, []),  # as many as a record has lines for
        (4097, ["left-out", "1", "1"]),
        (49152, ["left-out", "45056", "45056"]),  # as many as are counted
        (49153, ["left-out", "45057", "45056"]),
    ],
)
def test_files_are_counted_up_to_the_limits(
    at_limits: Path, tmp_path: Path, files: int, left_out: list[str]
) -> None:
    lines = lines_at(at_limits, tmp_path, files)
    assert sum(line[0] == "file" for line in lines) == 4096
    assert [line for line in lines if line[0] == "left-out"] == ([left_out] if left_out else [])


def test_descriptors_are_followed_up_to_the_limit(at_limits: Path, tmp_path: Path) -> None:
    (line,) = lines_at(at_limits, tmp_path, 0, 65535, 65536)
    counts = dict(one.split("=") for one in line[-2].split(","))
    assert line[-1].endswith("/written")
    # The two bytes were written by two descriptors.
    assert (counts["open"], counts["write"]) == ("2", "1")
