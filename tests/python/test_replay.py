"""weir record and weir bench replay: what programs asked is recorded, joined and made again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from mpi_launcher import launcher

from replayed_runs import moved_by, replayed
from test_cli_real import weir
from test_striping import bench
from weir._core.shared_library import find
from weir.advise.observe import LIBC_ORDER
from weir.advise.records import RecordError
from weir.bench.program import find_program
from weir.replay.joining import joined, record_text, spans
from weir.replay.orders import Moved, Order, parse
from weir.replay.table import table

BEGIN = "weir-order 2\nprocess\t7\t{rank}\t2\tnode\t{started}\t/bin/solver\n"
CALLS = (
    "loop\t3\t2\t1\n"
    "write\t4\t0\t0\t10\t5\t6\t7\t10\t0\t40\n"
    "close\t1\t0\t0\t0\t1\t0\t2\t0\t0\t0\t1\n"
    "read\t2\t1\t0\t8\t0\t0\t0\t8\n"
)


def order(
    rank: int, text: str, *files: str, started: int = 0, end: str = "end\t2000000000\n"
) -> Order:
    begin = BEGIN.format(rank=rank, started=started)
    return parse(begin + text + "".join(f"file\t{one}\n" for one in files) + end, Path("a.order"))


def test_calls_of_loops_count_in_each_round() -> None:
    moved = order(0, CALLS, "/a", "/b").moved()
    assert moved == Moved(Counter(write=12, close=3, read=2), 16, 120, 9e-9, 12e-9)


def test_the_process_with_most_calls_is_the_rank() -> None:
    launcher_of_all = order(-1, "write\t1\t0\t0\t99\t0\t0\t0\n", "/log")
    shell = order(1, "read\t1\t0\t0\t4\t0\t0\t0\n", "/script")
    solvers = [order(rank, CALLS, f"/out{rank}", "/in") for rank in (1, 0)]
    killed = order(1, CALLS, "/x", end="")
    found = joined([launcher_of_all, shell, *solvers, killed])
    assert found.ranks == [solvers[1], solvers[0]]
    assert (found.killed, found.ranks_told) == (1, 2)
    assert found.left_out == [launcher_of_all, shell]
    said = "\n".join(table(found, 1000))
    assert "2 ranks, 3 files, 34 calls; the record has" in said
    assert "1 processes were killed" in said
    assert "2 more processes moved 103 bytes: /bin/solver" in said


def test_without_a_launcher_each_process_that_moved_bytes_is_a_rank() -> None:
    later = order(-1, CALLS, "/a", "/b", started=9)
    sooner = order(-1, CALLS, "/a", "/b", started=3)
    only_opened = order(-1, "open\t1\t0\t0\t0\t0\t0\t0\n", "/c")
    assert joined([later, only_opened, sooner]).ranks == [sooner, later]


def test_a_joined_record_numbers_the_files_of_all_ranks() -> None:
    ranks = [order(0, CALLS, "/a", "/b\\tc"), order(1, CALLS, "/d", "/a")]
    ranks[1].missed_calls, ranks[1].missed_bytes = 3, 70
    assert record_text(ranks, "mpirun solver") == (
        "weir-record 2\ncommand\tmpirun solver\nfile\t/a\nfile\t/b\\tc\nfile\t/d\n"
        f"rank\t4\t0\t0\t0-1\n{CALLS}rank\t4\t3\t70\t2,0\n{CALLS}end\t3\t2\n"
    )
    assert (spans([]), spans([4, 5, 6, 2, 3, 9])) == ("-", "4-6,2-3,9")


def test_a_joined_record_has_each_shape_once() -> None:
    both = "shape\t0\t4\t1\t2\t8\nshape\t0\t1\t1\t2\t2\n"
    one = order(0, "write_all\t2\t0\t0\t8:0\t1\t1\t1\t64\t0\n" + both, "/a")
    other = order(
        1,
        "loop\t2\t1\t1\nread\t1\t0\t0\t2:0\t1\t1\t1\n"
        "read_all\t1\t0\t0\t8:1\t1\t1\t1\n"
        "shape\t0\t1\t1\t2\t2\nshape\t0\t4\t1\t2\t8\n",
        "/a",
    )
    assert other.moved() == Moved(Counter(read=2, read_all=1), 12, 0, 2e-9, 4e-9)
    text = record_text([one, other], "solver")
    assert text.splitlines()[3:] == [
        "shape\t0\t4\t1\t2\t8",
        "shape\t0\t1\t1\t2\t2",
        "rank\t1\t0\t0\t0",
        "write_all\t2\t0\t0\t8:0\t1\t1\t1\t64\t0",
        "rank\t3\t0\t0\t0",
        "loop\t2\t1\t1",
        "read\t1\t0\t0\t2:1\t1\t1\t1",
        "read_all\t1\t0\t0\t8:0\t1\t1\t1",
        "end\t1\t2",
    ]
    said = "\n".join(table(joined([one, other]), 1000))
    assert "3 calls of these are collective" in said
    assert "2 patterns of calls whose bytes are not one block" in said


@pytest.mark.parametrize(
    "text",
    [
        "weir-calls 1\n",
        BEGIN.format(rank=0, started=0) + "unlink\t1\n",
        "weir-order 2\nprocess\tx\n",
        "weir-order 2\nprocess\t7\t0\t2\tn\t0\t/p\nread\t1\t0\t0\t8:0\t1\t1\t1\nend\t1\n",
        "weir-order 2\nprocess\t7\t0\t2\tn\t0\t/p\nread\t1\t0\t0\t8:-1\t1\t1\t1\n",
        "weir-order 2\nprocess\t7\t0\t2\tn\t0\t/p\nshape\tx\n",
        BEGIN.format(rank=0, started=0) + "write\t1\t0\t0\t4\t0\t0\n",
        BEGIN.format(rank=0, started=0) + "write\t1\t0\t0\t4\t0\t0\tx\n",
        BEGIN.format(rank=0, started=0) + "write\t0\t0\t0\t4\t0\t0\t0\n",
        BEGIN.format(rank=0, started=0) + "write\t1\t0\t0\t-4\t0\t0\t0\n",
        BEGIN.format(rank=0, started=0) + "loop\t2\t1\n",
        BEGIN.format(rank=0, started=0) + "loop\t-2\t1\t1\n",
    ],
)
def test_damaged_records_of_processes_are_refused_by_name(text: str) -> None:
    with pytest.raises(RecordError, match=r"a\.order"):
        parse(text, Path("a.order"))


# Writes with each function, at positions and offsets, through a copy of a descriptor, appending.
PROGRAM = """
import os
for step in range(5):
    file = os.open(f"out{step}", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.write(file, bytes(96))
    for block in range(20):
        os.pwrite(file, bytes(1000), 96 + 1000 * block)
    os.writev(file, [bytes(3), bytes(4)])
    os.ftruncate(file, 20096)
    os.preadv(file, [bytearray(50), bytearray(7)], 100)
    copy = os.dup(file)
    os.lseek(copy, 30, os.SEEK_SET)
    os.read(file, 11)
    os.fsync(file)
    os.close(copy)
    os.close(file)
log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for line in range(3):
    os.write(log, bytes(line + 1))
other = os.open("log", os.O_RDONLY)
os.read(other, 100)
os.read(other, 100)
"""
WRITTEN = 5 * (96 + 20 * 1000 + 7) + 6
READ = 5 * (57 + 11) + 6
MADE = Counter(open=7, write=5 * 22 + 3, read=11, truncate=5, sync=5, close=10)


def record(folder: Path, *words: str) -> str:
    """Runs ``weir record WORDS``, which must succeed; returns what it says."""
    status, out, err = weir(folder, "record", "--under", ".", *words)
    assert status == 0, out + err
    return err


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the record of two processes that a launcher would call ranks."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "program.py").write_text(PROGRAM)
    for rank in (0, 1):
        (folder / str(rank)).mkdir()
    run = f"(cd %d; PMI_SIZE=2 PMI_RANK=%d {sys.executable} -S ../program.py)"
    command = f"{run % (0, 0)}; {run % (1, 1)}"
    said = record(folder, "--records", "records", "--", "sh", "-c", command)
    assert "2 ranks, " in said
    assert "weir bench replay weir.record -n 2 runs it again" in said
    return folder


def test_what_was_recorded_is_what_was_done(recorded: Path) -> None:
    orders = [parse(path.read_text(), path) for path in (recorded / "records").glob("*.order")]
    ranks = joined(orders).ranks
    assert [one.rank for one in ranks] == [0, 1]
    for rank, one in enumerate(ranks):
        names = {f"{recorded}/{rank}/{name}" for name in ("log", *(f"out{i}" for i in range(5)))}
        assert names <= set(one.files)
        assert one.streams == {f"{recorded}/program.py"}
        moved = one.moved()
        script = Counter(open=2, read=2, close=1)  # of the program itself, by the interpreter
        assert moved.calls - MADE - script == Counter()
        assert moved.calls["write"] == MADE["write"]
        assert (moved.bytes_written, one.missed_calls) == (WRITTEN, 0)
        assert moved.bytes_read == READ + _read_of_program(one, recorded)
        assert len(one.lines) < 30


def _read_of_program(one: Order, folder: Path) -> int:
    number = str(one.files.index(f"{folder}/program.py"))
    return sum(
        int(words[1]) * int(words[4])
        for words in (line.split("\t") for line in one.lines)
        if words[0] == "read" and words[2] == number
    )


@pytest.mark.parametrize(("ranks", "times"), [(1, 1), (2, 1), (4, 2)])
def test_a_replay_makes_the_recorded_calls(
    recorded: Path, tmp_path: Path, ranks: int, times: int
) -> None:
    text = str(recorded / "weir.record")
    apis = "posix,mpiio" if ranks == 2 else "posix"
    runs = replayed(tmp_path, text, "-n", str(ranks), "--api", apis, "--time-scale", "0")
    orders = [parse(path.read_text(), path) for path in (recorded / "records").glob("*.order")]
    moved = [one.moved() for one in joined(orders).ranks]
    reads = times * sum(one.calls["read"] for one in moved)
    for run in runs:
        found = moved_by(run)
        assert found["write"] == (2 * times * MADE["write"], 2 * times * WRITTEN)
        assert found["read"] == (reads, times * sum(one.bytes_read for one in moved))
        assert run.verification.performed
        assert run.expectation is not None
    assert sorted(run.label for run in runs) == sorted(apis.split(","))


def test_an_mpi_program_is_recorded_and_replayed(tmp_path: Path) -> None:
    solver = [*launcher(), "-n", "2", str(find_program(os.environ)), "stream", "-a", "MPIIO"]
    options = ["-b", "64k", "-t", "16k", "-s", "2", "-w", "-r", "-i", "1", "--output", "solver"]
    said = record(tmp_path, "-o", "solver.record", "--", *solver, *options)
    assert "2 ranks, " in said
    (run,) = replayed(
        tmp_path, "solver.record", "-n", "2", "--time-scale", "0.1", "--between", "sleep"
    )
    found = moved_by(run)
    # The program also writes its results, and reads its data once more to compare them.
    assert found["write"][1] >= 2 * 2 * 65536
    assert found["read"][1] >= 2 * 2 * 65536
    assert run.parameters["recorded_ranks"].value == 2


# Four threads write at once, and a child of the process too.
AT_ONCE = """
import os, threading
file = os.open("shared", os.O_WRONLY | os.O_CREAT)
def write(thread):
    for block in range(200):
        os.pwrite(file, bytes(7), 7 * (200 * thread + block))
threads = [threading.Thread(target=write, args=(one,)) for one in range(4)]
for one in threads: one.start()
if os.fork() == 0:
    own = os.open("child", os.O_WRONLY | os.O_CREAT)
    for block in range(5):
        os.write(own, b"child")
    os.pwrite(file, b"inherited", 0)
    os._exit(0)
for one in threads: one.join()
os.wait()
"""


def observed_orders(folder: Path, program: str) -> list[Order]:
    """Runs the program in `folder`; returns the records of its processes."""
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program],
        cwd=folder,
        env=os.environ
        | {
            "LD_PRELOAD": find(LIBC_ORDER.library, LIBC_ORDER.path_variable),
            LIBC_ORDER.folder_variable: str(folder),
            "WEIR_CALLS_UNDER": f"/no/such:{folder}",
        },
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0
    return [parse(path.read_text(), path) for path in folder.glob("*.order")]


def test_threads_and_children_are_recorded(tmp_path: Path) -> None:
    orders = observed_orders(tmp_path, AT_ONCE)
    child, threads = sorted(orders, key=lambda one: one.moved().calls.total())
    # A thread that waits too long for others leaves its call out.
    assert threads.moved().calls["write"] + threads.missed_calls == 800
    assert threads.moved().bytes_written + threads.missed_bytes == 5600
    assert threads.files == [f"{tmp_path}/shared"]
    assert child.moved().calls == Counter(open=1, write=6)
    assert child.files == [f"{tmp_path}/child", f"{tmp_path}/shared"]
    assert [line.split("\t")[:2] for line in child.lines] == [
        ["open", "1"],
        ["write", "5"],
        ["write", "1"],
    ]


# Opens one file more than are recorded; then writes with sizes in no order.
TOO_MUCH = """
import os, random
for number in range(16385):
    file = os.open(f"files/{number}", os.O_WRONLY | os.O_CREAT)
    if number in (16383, 16384):
        os.write(file, b"x" * 5)
    os.close(file)
file = os.open("files/0", os.O_WRONLY)
draw = random.Random(1)
for _ in range(70_000):
    os.pwrite(file, bytes(draw.randrange(1, 40)), draw.randrange(1000))
"""


def test_a_full_record_tells_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (one,) = observed_orders(tmp_path, TOO_MUCH)
    assert len(one.files) == 16384
    assert 65536 - 4096 < len(one.lines) <= 65536
    moved = one.moved()
    # Not recorded are the opening, the writing and the closing of the last file, and more.
    assert moved.calls.total() + one.missed_calls == 2 * 16385 + 2 + 1 + 70_000
    assert one.missed_calls > 3
    assert moved.calls["open"] == 16385


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--", "/no/such/program"], "/no/such/program cannot be run: No such file"),
        (["-o", "here", "--", "true"], "--output here exists: give a new file"),
        (["-o", "no/where", "--", "true"], "its folder does not exist"),
        (["--under", "a:b", "--", "true"], "must have no colon"),
        (["--under", "/no/such", "--", "true"], "true left no record: it moved no bytes"),
    ],
)
def test_what_record_refuses(tmp_path: Path, words: list[str], told: str) -> None:
    (tmp_path / "here").touch()
    status, _, err = weir(tmp_path, "record", *words)
    assert status != 0
    assert told in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "replay: give a FILE that `weir record` wrote"),
        (["none"], "none"),
        (["empty"], "replay: the record has no call that reads or writes"),
        (["bad"], "replay: bad: line 1: is not the beginning of a record"),
        (["good", "--direct"], "replay: --direct: the offsets and sizes are the program's"),
        (["good", "--rank-shift", "1"], "replay: --rank-shift: the record says"),
        (["good", "--api", "posix,posix"], "replay: --api: posix is given twice"),
        (["good", "--deadline", "3"], "a rank spends 4 s between its calls: give a --deadline"),
    ],
)
def test_what_replay_refuses(tmp_path: Path, words: list[str], told: str) -> None:
    (tmp_path / "bad").write_text("weir-order 2\n")
    (tmp_path / "empty").write_text(
        record_text([order(0, "sync\t2\t0\t0\t0\t0\t0\t7\n", "/a")], "solver")
    )
    (tmp_path / "good").write_text(
        record_text([order(0, "write\t2\t0\t0\t8\t4000000000\t0\t7\t8\t0\n", "/a")], "solver")
    )
    answer = bench(tmp_path, "replay", *words, "--plan", "--ranks", "2")
    assert answer.returncode == 2
    assert told in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
