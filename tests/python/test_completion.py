"""What a shell proposes, and man pages: both from the declarations that ``--help`` comes from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from weir.cli import application
from weir.commands.completion import options, workloads
from weir.commands.manual import manual_pages, page

BENCH_HELP = """\
usage: weir-bench WORKLOAD [OPTIONS]    (under an MPI launcher)

  stream      IOR's patterns
  open        what opening a file costs

`weir-bench WORKLOAD --help` lists a workload's settings.
"""
WORKLOAD_HELP = """\
Writes and reads.
Usage: weir-bench stream [OPTIONS]

Options:
  -h,--help                   Print this help message and exit
  -t,--transfer SIZE          of one call [256k]
  --[no-]verify               check every byte [true]
  --[no-]collective-metadata  HDF5: collective metadata operations, which all ranks of the
                              communicator have to make [false]
  -n,--no-fill-values,--fill-values
                              HDF5: never write fill values [false]
  --memory-hog SIZE|PERCENT%  occupy so much memory [0]
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A weir-bench that knows its help alone."""
    script = tmp_path / "weir-bench"
    (tmp_path / "bench").write_text(BENCH_HELP)
    (tmp_path / "workload").write_text(WORKLOAD_HELP)
    lines = [
        "#!/bin/sh",
        f'case "$1" in --help) cat {tmp_path}/bench;; *) cat {tmp_path}/workload;; esac',
    ]
    script.write_text("\n".join(lines) + "\n")
    script.chmod(0o755)
    monkeypatch.setenv("WEIR_BENCH", str(script))
    return script


def test_workloads_and_options_are_read_from_the_help() -> None:
    assert workloads(BENCH_HELP) == {
        "stream": "IOR's patterns",
        "open": "what opening a file costs",
    }
    assert options(WORKLOAD_HELP) == {
        "--help": "Print this help message and exit",
        "--transfer": "of one call [256k]",
        "--verify": "check every byte [true]",
        "--no-verify": "not --verify",
        "--collective-metadata": "HDF5: collective metadata operations, which all ranks of the "
        "communicator have to make [false]",
        "--no-collective-metadata": "not --collective-metadata",
        "--no-fill-values": "HDF5: never write fill values [false]",
        "--fill-values": "not --no-fill-values",
        "--memory-hog": "occupy so much memory [0]",
    }


@pytest.mark.parametrize(
    ("line", "proposed"),
    [
        ("weir res", {"results"}),
        ("weir results li", {"list"}),
        ("weir bench s", {"stream"}),
        ("weir bench stream --ver", {"--verify"}),
        ("weir bench --aga", {"--again"}),
        ("weir predict stream --no-c", {"--no-collective-metadata"}),
    ],
)
def test_a_shell_is_told_what_may_follow(program: Path, line: str, proposed: set[str]) -> None:
    number = str(len(line.split()) - 1)
    asked = {"_WEIR_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": number}
    answer = subprocess.run(
        [sys.executable, "-c", "from weir.cli import application; application()(prog_name='weir')"],
        env={**os.environ, **asked, "WEIR_BENCH": str(program)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert set(answer.stdout.split()) == proposed, answer.stderr


def test_there_is_a_page_for_every_command_and_workload(program: Path) -> None:
    assert program.exists()
    pages = manual_pages(typer.main.get_command(application()))
    assert {"weir", "weir-bench", "weir-report", "weir-results-list", "weir-bench-open"} <= set(
        pages
    )
    assert "\\-\\-job\\-is\\-over" in pages["weir-report"]
    assert "\\-\\-sweep NAME=LEVELS" in pages["weir-bench"]
    assert "under an MPI launcher" in pages["weir-bench"]
    assert "\\-\\-transfer SIZE" in pages["weir-bench-stream"]
    assert all(text.startswith('.TH "WEIR') and ".SH NAME" in text for text in pages.values())


def test_a_command_alone_is_the_one_among_all() -> None:
    every = typer.main.get_command(application())
    assert isinstance(every, typer.core.TyperGroup)
    for name, command in every.commands.items():
        alone = typer.main.get_command(application([name]))
        assert isinstance(alone, typer.core.TyperGroup)
        shown = [one.get_help(typer.Context(one)) for one in (command, alone.commands[name])]
        assert shown[0] == shown[1]
    assert "numpy" not in loaded_by("check", "--help")
    assert not {name for name in loaded_by("--version") if name.startswith("weir.results")}


def loaded_by(*words: str) -> set[str]:
    """The modules that ``weir`` with these words has loaded in the end."""
    code = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; from weir.cli import main; main()", *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return set(done.stderr.split())


def test_text_is_no_request_of_roff() -> None:
    text = page("weir-x", "it", ".so /etc/passwd\n'br\na \\fB b", ["weir"])
    lines = text.splitlines()
    assert [line for line in lines if line.startswith((".so", "'"))] == []
    assert "\\&.so /etc/passwd" in lines
    assert "a \\efB b" in lines
