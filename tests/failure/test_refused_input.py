"""What a user can get wrong: one line that says what to do, status 2, nothing written."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from failing_runs import WEIR_BENCH
from mpi_launcher import environment, launcher

GOOD = ("128", "4", "1", "32", "4096", "1", "1")


def with_argument(index: int, value: str) -> tuple[str, ...]:
    return (*GOOD[:index], value, *GOOD[index + 1 :])


def refused(
    folder: Path,
    arguments: Sequence[str],
    *,
    ranks: int = 4,
    variables: Mapping[str, str] | None = None,
    wrapper: Sequence[str] = (),
) -> str:
    """Runs weir-bench, which must refuse; returns its only line, without "weir-bench: "."""
    done = subprocess.run(
        [*launcher(), "-n", str(ranks), *wrapper, str(WEIR_BENCH), "madbench", *arguments],
        cwd=folder,
        env=environment(variables or {}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("weir-bench: ")]
    assert len(lines) == 1, done.stderr
    assert done.returncode == 2, done.stderr
    assert "MADbench" not in done.stdout
    assert not (folder / "weir-results").exists()
    assert not list(folder.glob("weir-*"))
    return lines[0].removeprefix("weir-bench: ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (with_argument(0, "0"), "NO_PIX must be at least 1; given: 0"),
        (with_argument(0, "-5"), "'-5' is negative"),
        (with_argument(0, "abc"), "NO_PIX (--pixels): 'abc' is neither a whole number from 0"),
        (with_argument(0, "1e3"), "NO_PIX (--pixels): '1e3' is neither a whole number from 0"),
        (with_argument(0, "99999999999999999999"), "is neither a whole number from 0 to 2^63-1"),
        (with_argument(0, "1000000000"), "exceeds 2^63 bytes"),
        (with_argument(0, "5000000000"), "NO_PIX must be at most"),
        (with_argument(1, "0"), "NO_BIN must be at least 1"),
        (with_argument(2, "2"), "NO_GANG must be a square; given: 2; use 1 or 4"),
        (with_argument(3, "128"), "NO_PIX/SBLOCKSIZE"),
        (with_argument(4, "4100"), "FBLOCKSIZE must be a multiple of 8; given: 4100"),
        (with_argument(5, "3"), "RMOD must divide the ranks of a gang; given: RMOD 3"),
        (with_argument(6, "8"), "WMOD must divide the ranks of a gang"),
        (GOOD[:6], "WMOD (--write-modulus) is missing; usage: weir-bench madbench NO_PIX"),
        ((*GOOD, "17"), "17"),
        ((*GOOD, "--nonsense"), "--nonsense"),
        ((*GOOD, "--iomode", "LATER"), "--iomode: 'LATER' is not a list of SYNC, ASYNC, NONE"),
        ((*GOOD, "--compressible", "101"), "--compressible must be between 0 and 100"),
        ((*GOOD, "--memory-hog", "120%"), "--memory-hog: '120%' is neither"),
        ((*GOOD, "--deadline", "0"), "--deadline must be between"),
        ((*GOOD, "--direct", "--iomethod", "MPI"), "--direct: MPI-IO has no portable O_DIRECT"),
        ((*with_argument(4, "512"), "--direct"), "--direct: FBLOCKSIZE must be a multiple of 4096"),
        ((*GOOD, "--repetitions", "5", "--max-repetitions", "4"), "less than --repetitions 5"),
        (
            (*GOOD, "--expectation", "nowhere.json"),
            "nowhere.json: the file cannot be read",
        ),
        ((*GOOD, "--settings", "nowhere.toml"), "nowhere.toml"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_arguments_are_named(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(tmp_path, arguments)


def test_ranks_that_are_no_square(tmp_path: Path) -> None:
    assert "the number of ranks must be a square; given: 3 ranks, start 1 or 4" in refused(
        tmp_path, GOOD, ranks=3
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("IOMETHOD", "POSX"),
        ("IOMODE", "synchronous"),
        ("FILETYPE", ""),
        ("REMAP", "OWN"),
        ("BWEXP", "two"),
        ("WEIR_REPETITIONS", "many"),
    ],
)
def test_wrong_variables_are_named(tmp_path: Path, variable: str, value: str) -> None:
    message = refused(tmp_path, GOOD, variables={variable: value})
    assert message.startswith(f"environment variable {variable}: '{value}' is ")


def test_missing_directory(tmp_path: Path) -> None:
    message = refused(tmp_path, (*GOOD, "--directory", "nowhere"))
    assert message.startswith("--directory nowhere: No such file or directory; create it first")


def test_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "this is a file; give a directory" in refused(tmp_path, (*GOOD, "--directory", "file"))


def test_read_only_directory(tmp_path: Path, read_only_folder: Path) -> None:
    message = refused(tmp_path, (*GOOD, "--directory", str(read_only_folder)))
    assert "give a directory that you can write to" in message


def test_results_are_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "kept").write_text("earlier")
    message = refused(tmp_path, (*GOOD, "--output", "results"))
    assert "results are never overwritten" in message
    assert (tmp_path / "results" / "kept").read_text() == "earlier"


def test_more_memory_than_there_is(tmp_path: Path) -> None:
    message = refused(tmp_path, with_argument(0, "1000000"))
    assert "of memory on a node, but" in message
    assert "use fewer pixels" in message


def test_more_disk_than_there_is(tmp_path: Path) -> None:
    message = refused(tmp_path, with_argument(1, "1000000000"))
    assert "of disk, but" in message
    assert "transfer less data, or give another" in message


def test_the_plan_refuses_as_the_run_does(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(WEIR_BENCH), "madbench", *GOOD, "--plan", "--ranks", "3"],
        cwd=tmp_path,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("weir-bench: madbench: the number of ranks must be a square")
    assert len(done.stderr.splitlines()) == 1
