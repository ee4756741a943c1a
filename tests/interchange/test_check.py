"""weir check: names what is wrong with a file, and finds nothing wrong with one that is whole."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import zarr
from stored_cases import FORMATS

import weir
from weir._core.files import FileHandle, drop_steps
from weir.check import Progress, check
from weir.convert import ConversionError, convert

pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize("name", FORMATS)
def test_finds_nothing_in_whole_files(name: str, weir_files: dict[str, Path]) -> None:
    told: list[Progress] = []
    report = check(weir_files[name], workers=3, tell=told.append)
    assert report.findings == []
    assert report.file_format == name
    assert report.steps == 3
    assert report.bytes_read == told[-1].bytes_in_all > 0


def test_names_what_was_not_finished(weir_files: dict[str, Path], tmp_path: Path) -> None:
    for name in ("hdf5", "cdf5"):
        path = tmp_path / name
        shutil.copy(weir_files[name], path)
        with path.open("ab") as file:
            file.write(bytes(4096))
        (finding,) = check(path).findings
        assert "4096 bytes after" in finding
        shutil.copy(path, f"{path}.incomplete")
        assert len(check(path).findings) == 2
        path.unlink()
        report = check(path)
        assert len(report.findings) == 1
        assert report.file_format is None
    path = tmp_path / "raw"
    shutil.copy(weir_files["raw"], path)
    for beside in (".json", ".json.new"):
        shutil.copy(f"{weir_files['raw']}.json", f"{path}{beside}")
    (finding,) = check(path).findings
    assert "raw.json.new" in finding
    with path.open("ab") as file:
        file.write(bytes(4096))
    assert "4096 bytes after" in check(path).findings[1]
    folder = tmp_path / "zarr"
    shutil.copytree(weir_files["zarr"], folder)
    shutil.copy(folder / "zarr.json", folder / "zarr.json.new")
    (finding,) = check(folder).findings
    assert "not committed" in finding


def test_names_what_cannot_be_read(weir_files: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "folder.zarr"
    shutil.copytree(weir_files["zarr"], path)
    chunk = next(file for file in sorted(path.rglob("c.*")) if file.stat().st_size > 8)
    os.truncate(chunk, 8)
    findings = check(path).findings
    assert findings
    assert str(chunk.name) in findings[0]
    assert check(path, read=False).findings == []
    (missing,) = check(tmp_path / "none").findings
    assert "none" in missing


def make(path: Path, file_format: str, arrays: list[dict[str, Any]]) -> None:
    """A file of arrays of 40000 ascending numbers."""
    handle = FileHandle.create(path, file_format, {"arrays": arrays})
    values = np.arange(40000.0).reshape(200, 200)
    for number in range(len(arrays)):
        handle.write(number, (0, 0), (200, 200), (1, 1), values)
    handle.commit()
    handle.close()


def test_damaged_arrays_are_findings(tmp_path: Path) -> None:
    whole: dict[str, Any] = {"name": "x", "shape": [200, 200], "type": "float64"}
    cut = tmp_path / "cut.nc"
    make(cut, "cdf5", [whole, {**whole, "name": "y"}])
    assert check(cut).findings == []
    os.truncate(cut, cut.stat().st_size - 8)
    report = check(cut)
    assert report.findings == [
        "array y: its data end beyond the end of the file: the last 1 of 200 rows are lost"
    ]
    assert report.not_checked == []
    assert check(cut, read=False).findings == report.findings
    with weir.open(cut) as file:
        assert np.array_equal(file["y"][:199], np.arange(39800.0).reshape(199, 200))
        with pytest.raises(weir.Error, match="the file ends"):
            file["y"][:]
    for codec in (None, "gzip:1"):
        shards = tmp_path / f"shards {codec}.zarr"
        described = {**whole, "chunks": [50, 50], "shards": [100, 100]}
        make(shards, "zarr", [described | ({"codecs": codec} if codec else {})])
        assert check(shards).findings == []
        shard = shards / "x" / "c.1.1"
        flip(shard, shard.stat().st_size - 10)
        findings = check(shards).findings
        assert "4 of 16 chunks are lost" in findings[0]
        assert all("array x" in finding and "checksum" in finding for finding in findings)
        assert check(shards, read=False).findings == findings[:1]
        # The other shards are whole.
        with weir.open(shards) as file:
            expected = np.arange(40000.0).reshape(200, 200)
            assert np.array_equal(file["x"][:100, :], expected[:100, :])
            with pytest.raises(weir.Error, match="checksum"):
                file["x"][100:, 100:]
            with pytest.raises(ConversionError, match="4 of 16 chunks"):
                convert(file, tmp_path / "copy.h5")


@pytest.mark.parametrize(
    ("signature", "version", "maximum", "chunks"),
    [
        (b"EAHD", "latest", (None, 8), (1, 8)),
        (b"EAIB", "latest", (None, 8), (1, 8)),
        (b"FAHD", "latest", (64, 8), (1, 8)),
        (b"FADB", "latest", (64, 8), (1, 8)),
        (b"BTHD", "latest", (None, None), (1, 4)),
        (b"BTLF", "latest", (None, None), (1, 4)),
        (b"TREE", "earliest", (None, 8), (1, 8)),
    ],
)
def test_a_damaged_index_of_chunks_is_a_finding(
    signature: bytes,
    version: str,
    maximum: tuple[int | None, ...],
    chunks: tuple[int, int],
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver=version) as file:
        made = file.create_dataset("x", (64, 8), "f8", maxshape=maximum, chunks=chunks)
        made[...] = np.arange(512.0).reshape(64, 8)
    assert check(path).findings == []
    places = [at.start() for at in re.finditer(signature, path.read_bytes())]
    assert places
    flip(path, places[-1])  # Version 1's first tree is that of the group's names.
    report = check(path)
    assert len(report.findings) == 1
    assert "index of its chunks" in report.findings[0]


def test_steps_that_a_cut_file_has_lost_are_counted(tmp_path: Path) -> None:
    described = {"shape": [6, 4, 5], "type": "float64", "grows": True}
    path = tmp_path / "cut.nc"
    handle = FileHandle.create(path, "cdf5", {"arrays": [{**described, "name": n} for n in "xy"]})
    values = np.arange(120.0).reshape(6, 4, 5)
    for number in range(2):
        handle.write(number, (0, 0, 0), values.shape, (1, 1, 1), values)
    handle.commit()
    handle.close()
    # A step has 160 bytes of each array: two steps and the last numbers of y's third one go.
    os.truncate(path, path.stat().st_size - 640 - 8)
    lost = "its data end beyond the end of the file: the last {} of 6 steps are lost"
    report = check(path)
    assert report.findings == [f"array x: {lost.format(2)}", f"array y: {lost.format(3)}"]
    assert report.bytes_read == 7 * 160
    with weir.open(path) as file:
        assert np.array_equal(file["x"][:4], values[:4])
        with pytest.raises(weir.Error, match="the file ends"):
            file["x"][4]
        with pytest.raises(ConversionError, match="the last 2 of 6 steps are lost"):
            convert(file, tmp_path / "copy.h5")
    drop_steps(path, 3)
    assert check(path).findings == []
    with weir.open(path) as file:
        assert np.array_equal(file["y"][:], values[:3])


def test_chunks_that_are_missing_in_shards_are_counted(tmp_path: Path) -> None:
    values = np.zeros((200, 200))
    values[:, 100:150] = 1
    values[50:100, :50] = 2
    for compressors in (None, [zarr.codecs.GzipCodec()]):
        path = tmp_path / f"{compressors is None}.zarr"
        group = zarr.create_group(path, zarr_format=3)
        array = group.create_array(
            "x", shape=(200, 200), chunks=(50, 50), shards=(100, 100), dtype="f8",
            compressors=compressors, fill_value=0,
        )  # fmt: skip
        array[...] = values
        report = check(path)
        assert report.findings == []
        assert report.absent == [
            "array x: 5 of 16 chunks are in the file; the others read as the fill value"
        ]
        assert not (path / "x" / "c" / "1" / "0").exists()
        with weir.open(path) as file:
            assert np.array_equal(file["x"][:], values)


def test_a_file_with_a_damaged_shard_gets_no_steps(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    described = {"name": "x", "shape": [8, 4], "type": "float64", "grows": True}
    handle = FileHandle.create(
        path, "zarr", {"arrays": [{**described, "chunks": [1, 4], "shards": [4, 4]}]}
    )
    values = np.arange(32.0).reshape(8, 4)
    handle.write(0, (0, 0), (8, 4), (1, 1), values)
    handle.commit()
    handle.close()
    shard = path / "x" / "c.1.0"
    flip(shard, shard.stat().st_size - 10)
    with pytest.raises(weir.Error, match="weir check names the shard"):
        drop_steps(path, 6)
    drop_steps(path, 4)
    assert check(path).findings == []
    with weir.open(path) as file:
        assert np.array_equal(file["x"][:], values[:4])


def test_chunks_that_are_in_no_file_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    make(path, "zarr", [{"name": "x", "shape": [200, 200], "type": "float64", "chunks": [50, 100]}])
    assert check(path).absent == []
    (path / "x" / "c.1.0").unlink()
    report = check(path)
    assert report.findings == []
    assert report.absent == [
        "array x: 7 of 8 chunks are in the file; the others read as the fill value"
    ]


def test_says_where_changed_bytes_cannot_be_seen(tmp_path: Path) -> None:
    plain: dict[str, Any] = {"name": "x", "shape": [200, 200], "type": "float64"}
    summed = {**plain, "name": "y", "codecs": "crc32c", "chunks": [100, 100]}
    make(tmp_path / "a.zarr", "zarr", [plain, summed])
    assert check(tmp_path / "a.zarr").without_sums == 1
    assert check(tmp_path / "a.zarr", read=False).without_sums == 0
    make(tmp_path / "b.zarr", "zarr", [summed])
    assert check(tmp_path / "b.zarr").without_sums == 0


def test_names_chunks_that_were_changed(tmp_path: Path) -> None:
    values = np.arange(1200.0).reshape(30, 40)
    summed = tmp_path / "summed.zarr"
    group = zarr.create_group(summed, zarr_format=3)
    array = group.create_array(
        "a", shape=values.shape, chunks=(10, 20), dtype="f8",
        compressors=[zarr.codecs.Crc32cCodec()],
    )  # fmt: skip
    array[...] = values
    checked = tmp_path / "summed.h5"
    with h5py.File(checked, "w") as file:
        made = file.create_dataset("a", data=values, chunks=(10, 20), fletcher32=True)
        place = made.id.get_chunk_info(3).byte_offset
    assert check(summed).findings == []
    assert check(checked).findings == []
    flip(next(iter(sorted((summed / "a" / "c").rglob("1/1")))), 100)
    flip(checked, place + 100)
    for path in (summed, checked):
        (finding,) = check(path).findings
        assert "a" in finding
        assert "sum" in finding


def flip(path: Path, offset: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        (byte,) = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def test_the_command(weir_files: dict[str, Path], tmp_path: Path) -> None:
    def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "weir.cli", "check", *arguments],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    whole = command(weir_files["hdf5"], weir_files["zarr"], "--workers", "2")
    assert whole.returncode == 0, whole.stderr
    assert len(whole.stdout.splitlines()) == 2
    assert "no checksums: changed bytes cannot be detected" in whole.stdout
    assert "3 committed steps" in whole.stdout
    weir.save(tmp_path / "one.nc", {"a": np.zeros(3)})
    assert "one.nc: cdf5, 1 array, " in command(tmp_path / "one.nc").stdout
    (tmp_path / "text").write_text("no array")
    broken = command(weir_files["cdf5"], tmp_path / "text")
    assert broken.returncode == 1
    assert "neither HDF5" in broken.stdout
