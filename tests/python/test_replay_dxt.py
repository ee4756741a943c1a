"""weir record --dxt: what Darshan's DXT traced becomes a record that is replayed.

The sample was not recorded: it is composed after "Guide to darshan-dxt-parser output" in the
documentation of darshan-util 3, with the column of targets that it has on Lustre, and its figures
are invented.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from replayed_runs import moved_by, replayed
from test_cli_real import weir
from weir.advise.records import RecordError
from weir.replay import dxt
from weir.replay.dxt import read_dxt

SAMPLE = Path(__file__).parents[1] / "reference" / "darshan-dxt.txt"
TEXT = SAMPLE.read_text()


def test_the_calls_of_each_rank_are_in_the_order_of_their_beginnings() -> None:
    first, second = read_dxt(TEXT, "a.txt")
    assert (first.rank, first.ranks, first.started) == (0, 2, 1_700_000_000)
    assert (first.program, first.seconds) == ("./solver input.nml", 1.5002)
    assert first.files == ["/scratch/run/out.h5"]
    # KIND COUNT FILE OFFSET BYTES FIRST_GAP OTHER_GAPS TIME OFFSET_STRIDE FILE_STRIDE
    assert [line.split("\t") for line in first.lines] == [
        ["open", "1", "0", "0", "3", "1000000", "0", "0"],
        ["write", "1", "0", "0", "96", "0", "0", "100000"],
        ["write", "3", "0", "4096", "262144", "8900000", "0", "3000000", "524288", "0"],
        ["read", "1", "0", "0", "96", "1487000000", "0", "100000"],
        ["read", "1", "0", "4096", "100", "0", "0", "100000"],
        ["close", "1", "0", "0", "0", "0", "0", "0"],
    ]
    assert second.files == ["/scratch/run/out.h5", "/scratch/run/input.nml"]
    assert [line.split("\t")[:5] for line in second.lines] == [
        ["open", "1", "1", "0", "0"],
        ["read", "1", "1", "0", "812"],
        ["close", "1", "1", "0", "0"],
        ["open", "1", "0", "0", "3"],
        ["write", "3", "0", "266240", "262144"],
        ["close", "1", "0", "0", "0"],
    ]
    moved = first.moved()
    assert moved.calls == Counter(open=1, write=4, read=2, close=1)
    assert (moved.bytes_written, moved.bytes_read) == (96 + 3 * 262144, 196)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("write_count: 5", "write_count: 6", "line 26: ends a file of which 1 calls are missing"),
        ("write_count: 5", "write_count: 4", "line 25: is a call that no header announces"),
        (TEXT[TEXT.index(" X_POSIX       1   read") :], "", "ends a file of which 1 calls"),
        ("           96      0.0010", "        -96      0.0010", "line 19: is no line of"),
        ("      4096       262144", "      N/A       262144", "line 20: the call has no offset"),
        ("# ***", "hello", "line 10: is no line of darshan-dxt-parser: 'hello"),
        ("X_POSIX", "X_MPIIO", "a.txt has no calls of DXT's POSIX module"),
    ],
)
def test_a_damaged_text_is_refused_by_line(old: str, new: str, told: str) -> None:
    changed = TEXT.replace(old, new) if old == "X_POSIX" else TEXT.replace(old, new, 1)
    assert changed != TEXT
    with pytest.raises(RecordError, match=told):
        read_dxt(changed, "a.txt")


def test_more_calls_than_are_read_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dxt, "MOST_CALLS", TEXT.count("\n X_"))
    assert len(read_dxt(TEXT, "a.txt")) == 2
    monkeypatch.setattr(dxt, "MOST_CALLS", TEXT.count("\n X_") - 1)
    with pytest.raises(RecordError, match="is one more than"):
        read_dxt(TEXT, "a.txt")


def test_what_was_traced_is_replayed(tmp_path: Path) -> None:
    status, _, err = weir(tmp_path, "record", "--dxt", str(SAMPLE), "-o", "solver.record")
    assert status == 0, err
    assert "2 ranks, 2 files, 16 calls" in err
    assert "weir bench replay solver.record -n 2 runs it again" in err
    (run,) = replayed(tmp_path, "solver.record", "-n", "2", "--time-scale", "0")
    found = moved_by(run)
    assert found["write"] == (7, 96 + 6 * 262144)
    assert found["read"] == (3, 196 + 812)
    assert run.verification.performed


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "give a program behind --, or --dxt with a log of Darshan"),
        (["--dxt", "none.txt"], "none.txt: No such file or directory"),
        (["--dxt", "none.txt", "--", "true"], "leave out the rest"),
        (["--dxt", "log.darshan"], "darshan-dxt-parser of darshan-util, which reads it, was not"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, words: list[str], told: str) -> None:
    (tmp_path / "log.darshan").write_bytes(b"3.21\0\0\0")
    status, _, err = weir(tmp_path, "record", *words)
    assert status != 0
    assert told in err
    assert len(err.splitlines()) == 1
