"""`weir ls`: what is in files that other programs wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import zarr

import weir
from weir.cli import application

Said = Callable[..., str]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def call(*words: str | Path) -> str:
        application()(["ls", *map(str, words)], standalone_mode=False)
        return capsys.readouterr().out

    return call


@pytest.fixture
def hdf5(tmp_path: Path) -> Path:
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w") as file:
        file.attrs["history"] = "x" * 300
        density = file.create_dataset(
            "fields/density", data=np.zeros((3, 4, 5)), chunks=(1, 4, 5), compression="gzip"
        )
        density.attrs["units"] = "kg m-3"
        density.attrs["range"] = [0.0, np.inf]
        file.create_dataset("fields_of_others", data=np.zeros(2, "int16"))
        file.create_dataset("pairs", data=np.zeros(2, "i4,f8"))
    return path


def test_every_array_has_a_line_and_what_cannot_be_read_a_reason(hdf5: Path, said: Said) -> None:
    lines = said(hdf5).splitlines()
    assert lines[0] == f"{hdf5}: hdf5, 2 arrays, 484 bytes"
    assert lines[1].split() == ["array", "type", "shape", "chunks", "codecs", "size"]
    by_name = {line.split()[0]: line for line in lines[2:]}
    for cell in ("float64", "3 x 4 x 5", "1 x 4 x 5", "deflate:4", "480 bytes"):
        assert cell in by_name["fields/density"]
    assert by_name["pairs:"].startswith("pairs: cannot be read: ")
    assert not any("units" in line for line in lines)


def test_names_choose_arrays_and_whole_groups(hdf5: Path, said: Said) -> None:
    text = said("-a", hdf5, "fields")
    assert "fields/density" in text
    assert "fields_of_others" not in text
    assert "pairs" not in text
    assert 'fields/density:units = "kg m-3"' in text
    assert 'fields/density:range = [0.0, "inf"]' in text
    assert "history" not in text
    with pytest.raises(weir.Error, match="has no array or group 'field'"):
        said(hdf5, "field")


def test_long_values_are_cut_on_the_terminal_and_whole_in_json(hdf5: Path, said: Said) -> None:
    (line,) = [one for one in said("-a", hdf5).splitlines() if one.startswith(":history")]
    assert line.endswith("(302 characters; --json has all)")
    described = json.loads(said("--json", hdf5))
    groups = {one["name"]: one["attributes"] for one in described["groups"]}
    assert groups[""] == {"history": "x" * 300}
    (density,) = [one for one in described["arrays"] if one["name"] == "fields/density"]
    assert density["shape"] == [3, 4, 5]
    assert density["chunks"] == [1, 4, 5]
    assert density["bytes"] == 480
    assert list(described["refused"]) == ["pairs"]


def test_steps_dimensions_and_shards(tmp_path: Path, said: Said) -> None:
    netcdf = tmp_path / "theirs.nc"
    with netCDF4.Dataset(netcdf, "w", format="NETCDF3_64BIT_DATA") as file:
        file.createDimension("time", None)
        file.createDimension("x", 4)
        file.createVariable("t", "f4", ("time", "x"))[:] = np.ones((2, 4))
    text = said(netcdf)
    assert "cdf5, 1 array, 32 bytes, 2 steps" in text
    assert "time, x" in text
    folder = tmp_path / "theirs.zarr"
    group = zarr.create_group(folder)
    group.create_array("a", shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype="int32")
    assert {"4 x 4", "2 x 2"} <= {cell.strip() for cell in said(folder).split("  ")}


def test_what_is_no_file_is_one_line(tmp_path: Path, said: Said) -> None:
    with pytest.raises(weir.Error, match="No such file or directory"):
        said(tmp_path / "nothing.h5")
