"""weir check: names what is wrong with a file, and finds nothing wrong with one that is whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr
from stored_cases import FORMATS

from weir.check import Progress, check

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
        assert "4096 bytes behind" in finding
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
    assert "4096 bytes behind" in check(path).findings[1]
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
    assert "3 committed steps" in whole.stdout
    (tmp_path / "text").write_text("no array")
    broken = command(weir_files["cdf5"], tmp_path / "text")
    assert broken.returncode == 1
    assert "neither HDF5" in broken.stdout
