"""The Python interface to arrays, and the examples, on the ranks of a launcher."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from mpi_launcher import BUILD, CLONE, environment, launcher, there_is_one

import weir

LIBRARY = BUILD / "src" / "capi" / "libweir.so.0"
FILES_LIBRARY = BUILD / "src" / "files" / "libweir_files.so.0"
PROGRAM = Path(__file__).parent / "array_program.py"

pytestmark = [
    pytest.mark.skipif(not there_is_one(), reason="there is no MPI launcher"),
    pytest.mark.skipif(not LIBRARY.exists(), reason="libweir.so is not built"),
]


def run_on_ranks(ranks: int, command: list[str], folder: Path) -> str:
    done = subprocess.run(
        [*launcher(deadline_seconds=60), "-n", str(ranks), *command],
        cwd=folder,
        env=environment({"WEIR_LIBRARY": str(LIBRARY), "PYTHONPATH": str(CLONE / "tests")}),
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("ranks", "cases"),
    [
        (1, ["memory", "sections", "directories", "regions"]),
        (3, ["element_types", "sections", "boxes", "refusals", "files", "left_steps"]),
        (3, ["dropped_requests", "wrong_data", "wrong_regions", "left_by_exception"]),
        (3, ["wrong_arguments", "wrong_definitions", "layouts"]),
        (4, ["memory", "records", "requests", "regions"]),
        (2, ["threads"]),
    ],
)
def test_numpy_arrays(ranks: int, cases: list[str], tmp_path: Path) -> None:
    output = run_on_ranks(ranks, [sys.executable, str(PROGRAM), str(tmp_path), *cases], tmp_path)
    for case in cases:
        assert output.count(f"{case} passed") == ranks


@pytest.mark.parametrize(("language", "lines"), [("c", 20), ("cpp", 20), ("py", 20), ("f90", 24)])
def test_examples_leave_each_row_where_it_belongs(
    language: str, lines: int, tmp_path: Path
) -> None:
    (source,) = (CLONE / "examples").glob(f"*_write_and_read.{language}")
    assert len(source.read_text().splitlines()) <= lines
    program = BUILD / "examples" / f"example_{source.stem}"
    if language == "f90" and not program.exists():
        pytest.skip("the module weir is not built: it needs a Fortran compiler")
    command = [sys.executable, str(source)] if language == "py" else [str(program)]
    run_on_ranks(4, command, tmp_path)
    found = np.fromfile(tmp_path / "temperature").reshape(4, 100 * 300)
    assert (found == np.arange(100 * 300)).all()


@pytest.mark.parametrize("language", ["py", "c"])
def test_examples_leave_each_ranks_region(language: str, tmp_path: Path) -> None:
    (source,) = (CLONE / "examples").glob(f"*_regions.{language}")
    program = BUILD / "examples" / f"example_{source.stem}"
    command = [sys.executable, str(source)] if language == "py" else [str(program)]
    run_on_ranks(4, command, tmp_path)
    found = np.fromfile(tmp_path / "temperature").reshape(32, 300)
    expected = np.repeat(np.arange(4.0), 8)[:, None] * np.ones(300)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("language", ["py", "cpp", "f90"])
def test_examples_leave_steps_that_weir_open_reads(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_FILES_LIBRARY", str(FILES_LIBRARY))
    (source,) = (CLONE / "examples").glob(f"*_steps.{language}")
    program = BUILD / "examples" / f"example_{source.stem}"
    if language == "f90" and not program.exists():
        pytest.skip("the module weir is not built: it needs a Fortran compiler")
    command = [sys.executable, str(source)] if language == "py" else [str(program)]
    run_on_ranks(4, command, tmp_path)
    (written,) = tmp_path.iterdir()
    with weir.open(written) as file:
        found = file["density"]
        assert found.attributes["units"] == "kg m-3"
        expected = np.broadcast_to(1.5 + np.arange(3)[:, None, None, None], (3, 40, 30, 20))
        np.testing.assert_array_equal(found[...], expected)


def test_the_guide_shows_the_examples_as_they_are() -> None:
    guides = [CLONE / "docs" / name for name in ("library.md", "files.md", "formats.md")]
    guide = "".join(path.read_text() for path in guides)
    for source in (CLONE / "examples").glob("[01]*"):
        shown = source.read_text() in guide or f"examples/{source.name}" in guide
        assert shown, f"no guide has the text of {source.name} as it is, or names it"


def test_importing_weir_loads_no_library() -> None:
    code = "import sys, weir; print([name for name in sys.modules if name.startswith('weir.')])"
    shown = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("library", "why"), [("none.so", "cannot open"), ("libc.so.6", "has another version")]
)
def test_a_missing_or_old_library_is_told_in_one_line(library: str, why: str) -> None:
    code = "import weir._core.library as c; c.library()"
    environment = os.environ | {"WEIR_LIBRARY": library, "WEIR_FILES_LIBRARY": library}
    shown = [
        subprocess.run(
            [sys.executable, *words], env=environment,
            capture_output=True, text=True, timeout=60, check=False,
        ).stderr
        for words in (["-c", code], ["-m", "weir.cli", "check", "file.h5"])
    ]  # fmt: skip
    assert "LibraryError: libweir.so.0 could not be loaded" in shown[0]
    assert "WEIR_LIBRARY" in shown[0]
    assert shown[1].startswith("weir: libweir_files.so.0 could not be loaded")
    assert shown[1].count("\n") == 1
    assert all(why in text for text in shown)
