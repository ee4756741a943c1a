"""Fixed limits: each is in docs/limits.md; what reaches one works, what is beyond is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weir
from test_arrays import FILES_LIBRARY, run_on_ranks
from test_arrays import pytestmark as needs_library
from weir._core.files import FileHandle

CLONE = Path(__file__).parent.parent.parent
CONSTANT = re.compile(r"constexpr\s[^;={}()]*?\b((?:most|max|longest|largest)(?:_\w+)?)\s*[={]")
BEGINNINGS = {"hdf5": "h5", "cdf5": "nc", "zarr": "zarr", "raw": "raw"}

needs_files_library = pytest.mark.skipif(
    not FILES_LIBRARY.exists(), reason="libweir_files.so is not built"
)


def limits_of_sources() -> set[tuple[str, str]]:
    return {
        (str(path.relative_to(CLONE)), found[1])
        for path in sorted((CLONE / "src").rglob("*.[ch]pp"))
        if not path.stem.endswith("_test") and not path.name.startswith("test_")
        for found in CONSTANT.finditer(path.read_text())
    }


def limits_of_the_table() -> set[tuple[str, str]]:
    named = set()
    for line in (CLONE / "docs" / "limits.md").read_text().splitlines():
        cells = re.findall(r"`(src/[^`]+)`|`((?:most|max|longest|largest)_\w+)`", line)
        files = [file for file, _ in cells if file]
        named |= {(files[0], name) for _, name in cells if name and files}
    return named


def test_every_limit_of_the_sources_is_in_the_table() -> None:
    assert limits_of_sources() - limits_of_the_table() == set()
    assert limits_of_the_table() - limits_of_sources() == set()


def test_a_new_limit_would_be_found() -> None:
    text = "inline constexpr std::size_t most_wishes = 3;\n static constexpr int max_hope{4};"
    assert CONSTANT.findall(text) == ["most_wishes", "max_hope"]
    assert CONSTANT.findall("constexpr std::int64_t most = 1 << 3;") == ["most"]


def test_every_limit_of_programs_names_tests_that_exist() -> None:
    text = (CLONE / "docs" / "limits.md").read_text()
    section = text.split("## What a program may request")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert len(lines) > 60
    for line in lines:
        tests = re.findall(r"`([^`]+)`", line.strip("| ").split("|")[-1])
        assert tests, line
        assert [test for test in tests if not (CLONE / test).is_file()] == [], line


def array(**about: Any) -> dict[str, Any]:
    return {"name": "a", "shape": [4], "type": "int32", "order": "row-major", **about}


def stepped(name: str, steps: int) -> dict[str, Any]:
    return array(name=name, shape=[steps, 2], chunks=[1, 1], grows=True)


def round_trip(folder: Path, file_format: str, described: dict[str, Any]) -> None:
    """Makes a file of one array, whose elements it writes and reads."""
    path = folder / f"file.{BEGINNINGS[file_format]}"
    one = described["arrays"][0]
    shape = one["shape"]
    values = np.arange(1, 1 + np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    made = FileHandle.create(path, file_format, described)
    made.write(0, [0] * values.ndim, values.shape, [1] * values.ndim, values)
    made.commit()
    with weir.open(path) as file:
        np.testing.assert_array_equal(file.arrays[one["name"]][...], values)


LONG = "n" * 255
AT_LIMITS: dict[str, tuple[list[str], dict[str, Any], dict[str, Any], str]] = {
    "name": (
        ["hdf5", "cdf5", "zarr", "raw"],
        {"arrays": [array(name=LONG)], "groups": []},
        {"arrays": [array(name=LONG + "n")], "groups": []},
        "1 to 255 bytes",
    ),
    "dimensions": (
        ["hdf5", "cdf5", "zarr", "raw"],
        {"arrays": [array(shape=[1] * 15 + [3])], "groups": []},
        {"arrays": [array(shape=[1] * 16 + [3])], "groups": []},
        "16",
    ),
    "attributes": (
        ["hdf5", "cdf5", "zarr", "raw"],
        {"arrays": [array()], "groups": [{"name": "", "attributes": [
            {"name": f"a{number}", "text": "x"} for number in range(1024)]}]},
        {"arrays": [array()], "groups": [{"name": "", "attributes": [
            {"name": f"a{number}", "text": "x"} for number in range(1025)]}]},
        "at most 1024",
    ),
    "attribute": (
        ["hdf5", "cdf5", "zarr", "raw"],
        {"arrays": [array()], "groups": [
            {"name": "", "attributes": [{"name": "a", "text": "x" * 32768}]}]},
        {"arrays": [array()], "groups": [
            {"name": "", "attributes": [{"name": "a", "text": "x" * 32769}]}]},
        "at most 32768",
    ),
    "chunks of a shard": (
        ["zarr"],
        {"arrays": [array(shape=[1 << 20], chunks=[1], shards=[1 << 20])], "groups": []},
        {"arrays": [array(shape=[1 << 21], chunks=[1], shards=[1 << 21])], "groups": []},
        "more than 1048576 chunks",
    ),
    "records of chunked arrays": (
        ["raw"],
        {"arrays": [stepped("a", 1 << 17), stepped("b", 1 << 17)], "groups": []},
        {"arrays": [stepped("a", (1 << 17) + 1), stepped("b", (1 << 17) + 1)], "groups": []},
        "262144",
    ),
    "shards": (
        ["zarr"],
        {"arrays": [array(shape=[65536], chunks=[1], shards=[1])], "groups": []},
        {"arrays": [array(shape=[65537], chunks=[1], shards=[1])], "groups": []},
        "65536 shards",
    ),
}  # fmt: skip


@needs_files_library
@pytest.mark.parametrize(
    ("limit", "file_format"),
    [(limit, file_format) for limit, case in AT_LIMITS.items() for file_format in case[0]],
)
def test_what_a_file_may_hold(limit: str, file_format: str, tmp_path: Path) -> None:
    _, fitting, beyond, text = AT_LIMITS[limit]
    path = tmp_path / f"file.{BEGINNINGS[file_format]}"
    if limit in {"chunks of a shard", "records of chunked arrays"}:
        FileHandle.create(path, file_format, fitting)  # without elements, which take long
    elif limit != "shards":  # 65,536 files are not made in a test
        round_trip(tmp_path, file_format, fitting)
    with pytest.raises(weir.Error, match=text):
        round_trip(tmp_path, file_format, beyond)


@needs_library[1]
@needs_library[0]
def test_what_a_session_may_ask_for(tmp_path: Path) -> None:
    """At each limit a session opens, and one past it the limit is named."""
    program = tmp_path / "limits.py"
    program.write_text(
        """
import sys
from mpi4py import MPI
import weir

LIMITS = {
    "buffers": 64, "aggregators": 4096, "buffer_bytes": 1 << 30, "deadline_seconds": 1e9,
    "alignment_bytes": 1 << 40, "stripe_bytes": 1 << 40, "lock_bytes": 1 << 40, "targets": 1 << 20,
}
for name, most in LIMITS.items():
    small = {"buffer_bytes": 4096} if name == "buffers" else {}
    try:
        # Buffers take memory when they are first filled, so those of a GiB take none here.
        with weir.Session(MPI.COMM_SELF, **{name: most}, **small):
            pass
    except weir.Error as error:
        sys.exit(f"{name} at its limit: {error}")
    try:
        weir.Session(MPI.COMM_SELF, **{name: 2 * most if name == "deadline_seconds" else most + 1})
        sys.exit(f"{name} beyond its limit is not refused")
    except weir.ArgumentError as error:
        if name not in str(error):
            sys.exit(f"{name} beyond its limit: {error}")
with weir.Session(MPI.COMM_SELF) as session:
    session.create("fits", (1,), f"record[{1 << 30}]").close()
    for shape, kind in (((1,), f"record[{(1 << 30) + 1}]"), ((1,) * 17, "int8")):
        try:
            session.create("refused", shape, kind)
            sys.exit(f"{shape} {kind} is not refused")
        except weir.ArgumentError:
            pass
    session.create("sixteen", (1,) * 16, "int8").close()
    codecs = ",".join(["shuffle"] * 16)
    for codec, chunk, refused in (
        (codecs, (4,), False), (codecs + ",shuffle", (4,), True), ("deflate:1", (1 << 32,), True),
        ("deflate:1", ((1 << 32) - 1,), False),
    ):
        file = session.create_file("codecs.h5")
        try:
            file.define("a", (1 << 32,), "int8", steps=True, chunks=chunk, codec=codec)
            if refused:
                sys.exit(f"{codec} {chunk} is not refused")
        except (weir.ArgumentError, weir.UnsupportedError) as error:
            if not refused:
                sys.exit(f"{codec} {chunk}: {error}")
with weir.Session(MPI.COMM_SELF) as session:
    for count, refused in ((4096, False), (4097, True)):
        try:
            session.create(
                f"spread{count}", (4,), "int8", chunks=(1,), files="per rank",
                directories=["."] * count,
            ).close()
            if refused:
                sys.exit("4097 directories are not refused")
        except weir.ArgumentError as error:
            if not refused:
                sys.exit(f"4096 directories: {error}")
print("limits hold")
"""
    )
    assert "limits hold" in run_on_ranks(
        1, [str(Path(__import__("sys").executable)), str(program)], tmp_path
    )
