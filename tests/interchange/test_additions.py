"""Arrays and attributes that files get after their first step, by the formats' own libraries."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from added_values import CLASSIC, GROWING, values_of
from ranks import run_on_ranks

import weir
from weir._core.files import drop_steps
from weir.check import check

ADDING = Path(__file__).parent / "adding_program.py"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("added")
    run_on_ranks(3, "add", folder, program=ADDING)
    return folder


def expected() -> dict[str, np.ndarray[Any, Any]]:
    a = np.stack([values_of(step, 0) for step in range(4)])
    b = np.full_like(a, -7)
    b[2] = values_of(2, 0.5)
    packed = np.full_like(a, -8)
    packed[2:] = [values_of(step, 0.25) for step in (2, 3)]
    c = np.zeros((4, 5), "int64")
    c[3] = np.arange(5)
    return {
        "a": a, "b": b, "packed": packed, "late/c": c, "mesh": np.arange(16, dtype="int32"),
        "late_mesh": np.arange(8.0),
    }  # fmt: skip


@pytest.mark.parametrize("name", GROWING.values())
def test_by_weir(written: Path, name: str) -> None:
    with weir.open(written / name) as file:
        assert file.steps == 4
        for array, values in expected().items():
            np.testing.assert_array_equal(file[array][...], values, err_msg=array)
        assert file.attributes["title"] == "second"
        assert file["a"].attributes["units"] == "K"
        assert file["b"].attributes["valid_max"].dtype == np.float32
    report = check(written / name, workers=1)
    assert not report.findings, report.findings


def test_by_h5py(written: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(written / GROWING["hdf5"]) as file:
        for array, values in expected().items():
            np.testing.assert_array_equal(file[array][...], values, err_msg=array)
        assert file.attrs["title"].decode() == "second"
        assert file["late"].attrs["author"].decode() == "w"
        for dimension, name in zip(file["b"].dims, ("step", "y", "x"), strict=True):
            assert dimension[0] == file[name]


def test_netcdf_library_reads_the_hdf5_file(written: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(written / GROWING["hdf5"]) as file:
        file.set_auto_mask(False)
        for array in ("a", "b"):
            np.testing.assert_array_equal(file[array][...], expected()[array])
            assert file[array].dimensions == ("step", "y", "x")


def test_by_zarr(written: Path) -> None:
    zarr = pytest.importorskip("zarr")
    for consolidated in (True, False):
        group = zarr.open_group(written / GROWING["zarr"], mode="r", use_consolidated=consolidated)
        for array, values in expected().items():
            np.testing.assert_array_equal(group[array][...], values, err_msg=array)
        assert group.attrs["title"] == "second"
        assert group["a"].attrs["units"] == "K"


def test_classic_file_by_netcdf_library(written: Path) -> None:
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(written / CLASSIC["cdf5"]) as file:
        file.set_auto_mask(False)
        assert (file.title, file["a"].units) == ("second", "K")
        np.testing.assert_array_equal(file["a"][0], values_of(0, 0))
        np.testing.assert_array_equal(file["b"][0], np.full_like(values_of(0, 0), -7))
        np.testing.assert_array_equal(file["b"][1], values_of(1, 0.5))
        np.testing.assert_array_equal(file["late_mesh"][...], np.arange(8.0))


def test_what_was_added_is_seen_after_a_reload(written: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.h5"
    shutil.copy(written / GROWING["hdf5"], path)
    with weir.open(path, verify="none", cache_bytes=0) as file:
        a = file["a"]
        drop_steps(path, 2)
        assert a.shape[0] == 4
        file.reload()
        assert file["a"] is a
        assert a.shape[0] == file.steps == 2
        np.testing.assert_array_equal(a[1], values_of(1, 0))
        path.unlink()
        with pytest.raises(weir.StorageError):
            file.reload()
        assert file.steps == 2


def test_refused_on_all_ranks_alike(tmp_path: Path) -> None:
    run_on_ranks(2, "refuse", tmp_path, program=ADDING)
