"""Scripts made for the original MADbench2: its arguments, its variables, its text, its folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from bench_runs import BRIEF, SMALL, Done

Bench = Callable[..., Done]
FIGURES = r" +\d+\.\d\d   \[ *\d+\.\d\d: *\d+\.\d\d\]"


def lines_of(function: str, parts: tuple[str, ...]) -> list[str]:
    timed = [rf"{function}_{part}{FIGURES}" for part in parts]
    return [*timed, r" {10}-{7}", rf"{function}_total{FIGURES}", ""]


def test_the_text_is_the_originals(bench: Bench) -> None:
    variables = {"IOMETHOD": "MPI", "IOMODE": "SYNC", "FILETYPE": "SHARED", "BWEXP": "1.1"}
    done = bench(*SMALL, variables={**variables, "WEIR_MAX_REPETITIONS": "3"})
    expected = [
        "MADbench 2.0 IO-mode",
        "no_pe = 4  no_pix = 256  no_bin = 4  no_gang = 1  sblocksize = 32  fblocksize = 4096  "
        "r_mod = 1  w_mod = 1",
        "IOMETHOD = MPI  IOMODE = SYNC  FILETYPE = SHARED  REMAP = CUSTOM  BWEXP = 1.10",
        "",
        *lines_of("S", ("cc", "bw", "w")),
        *lines_of("W", ("cc", "bw", "r", "w")),
        *lines_of("C", ("cc", "bw", "r")),
        re.escape("dC[0] = 0.00000e+00"),
    ]
    lines = done.stdout.splitlines()
    assert len(lines) == len(expected), done.stdout
    for line, pattern in zip(lines[4:], expected[4:], strict=True):
        assert re.fullmatch(pattern, line), line
    assert lines[:4] == expected[:4]


def test_data_go_to_the_folder_files_where_there_is_one(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    done = bench(*SMALL, *BRIEF)
    assert done.run("posix-unique-sync").parameters.get("directory") is None
    record = (done.results / "files.json").read_text()
    assert str(tmp_path / "files") in record
    assert list((tmp_path / "files").iterdir()) == []


def test_the_mean_lies_between_the_extremes(bench: Bench) -> None:
    done = bench(*SMALL, *BRIEF)
    figures = re.findall(r"(\d+\.\d\d)   \[ *(\d+\.\d\d): *(\d+\.\d\d)\]", done.stdout)
    assert figures
    for mean, least, most in figures:
        assert float(least) <= float(mean) <= float(most)


def test_without_transfers_only_computation_is_printed(bench: Bench) -> None:
    done = bench(*SMALL, *BRIEF, variables={"IOMODE": "NONE"})
    assert "IOMODE = NONE" in done.stdout
    assert not re.search(r"^[SWC]_[rw] ", done.stdout, flags=re.MULTILINE)
    run = done.run("posix-unique-none")
    assert run.status == "complete"
    assert run.rates == []
