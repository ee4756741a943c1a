"""`weir.save`: files of NumPy's arrays and of datasets, read by their own libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr

import weir
import weir.files.xarray_backend

pytestmark = pytest.mark.filterwarnings("default")

VALUES = np.random.default_rng(1).random((30, 40))
COUNTS = np.arange(5, dtype=">i4")


def saved(path: Path, **options: Any) -> Path:
    weir.save(
        path,
        {"density": VALUES.T, "counts": COUNTS, "number": 3.5},
        dimensions={"density": ("x", "y")},
        attributes={"": {"title": "a test"}, "density": {"units": "kg m-3", "range": [0.0, 1.0]}},
        fill={"density": -1.0},
        **options,
    )
    return path


def test_hdf5(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.h5", codec="shuffle,deflate:4", chunks={"density": (16, 64)})
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["density"][...], VALUES.T)
        np.testing.assert_array_equal(file["counts"][...], COUNTS)
        assert file["number"][()] == 3.5
        assert file["density"].chunks == (16, 30)
        assert file["density"].compression == "gzip"
        assert file["density"].fillvalue == -1.0
        assert file["density"].attrs["units"] == b"kg m-3"
        assert file.attrs["title"] == b"a test"


def test_netcdf_and_zarr(tmp_path: Path) -> None:
    with netCDF4.Dataset(saved(tmp_path / "a.nc")) as file:
        np.testing.assert_array_equal(file["density"][...], VALUES.T)
        assert file["density"].dimensions == ("x", "y")
        assert file["density"]._FillValue == -1.0
    group = zarr.open_group(saved(tmp_path / "a.zarr", codec="zstd:1"), mode="r")
    np.testing.assert_array_equal(group["density"][...], VALUES.T)
    np.testing.assert_array_equal(group["counts"][...], COUNTS)
    assert group.attrs["title"] == "a test"


def test_nothing(tmp_path: Path) -> None:
    weir.save(tmp_path / "a.h5", {"nothing": np.empty((0, 2), "int8")})
    with weir.open(tmp_path / "a.h5") as file:
        assert file["nothing"][...].shape == (0, 2)


def test_groups_and_checksums(tmp_path: Path) -> None:
    path = tmp_path / "a.raw"
    weir.save(path, {"fields/u": VALUES}, attributes={"fields": {"n": 3}}, checksum="crc32c")
    with weir.open(path, verify="touched") as file:
        assert file.checksum == "crc32c"
        assert file["fields"].attributes["n"] == 3
        np.testing.assert_array_equal(file["fields/u"][...], VALUES)


@pytest.mark.parametrize("suffix", ["h5", "nc", "zarr", "raw"])
def test_a_file_that_is_there_stays_unless_it_is_asked_for(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    weir.save(path, {"a": [1, 2]})
    with pytest.raises(FileExistsError, match="overwrite=True"):
        weir.save(path, {"a": [3]})
    with pytest.raises(TypeError, match=r"array 'b' has elements of type datetime64"):
        weir.save(path, {"a": [3], "b": np.array(["2026-11-22"], "M8[s]")}, overwrite=True)
    with weir.open(path) as file:
        assert file["a"][...].tolist() == [1, 2]
    weir.save(path, {"a": [3]}, overwrite=True)
    with weir.open(path) as file:
        assert file["a"][...].tolist() == [3]
    leftovers = [one.name for one in tmp_path.iterdir() if not one.name.startswith("a." + suffix)]
    assert leftovers == []
    assert not [one for one in tmp_path.glob("a.*.*") if not one.name.endswith(".json")]


def test_a_folder_that_is_no_zarr_store_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    path.mkdir()
    (path / "thesis.tex").write_text("all of it")
    with pytest.raises(weir.Error, match="the name is already in use"):
        weir.save(path, {"a": [3]}, overwrite=True)
    assert (path / "thesis.tex").read_text() == "all of it"


def test_checksums_of_a_zarr_folder_that_is_replaced_go_with_it(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    weir.save(path, {"a": VALUES}, checksum="crc32c")
    weir.save(path, {"a": VALUES + 1}, checksum="crc32c", overwrite=True)
    with weir.open(path, verify="touched") as file:
        assert file.checksum == "crc32c"
        np.testing.assert_array_equal(file["a"][...], VALUES + 1)
    weir.save(path, {"a": VALUES}, overwrite=True)
    with weir.open(path, verify="touched") as file:
        assert file.checksum is None
        np.testing.assert_array_equal(file["a"][...], VALUES)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"dimensions": {"b": ("x",)}}, ValueError, "dimensions has 'b', but no array"),
        (
            {"dimensions": {"a": ("x", "y")}},
            ValueError,
            "'a' have length 2, but its shape has length 1: ",
        ),
        ({"chunks": {"a": (0,)}}, ValueError, "chunks of 'a'"),
        ({"file_format": "xml"}, ValueError, "format 'xml' is unknown"),
        ({"codec": "zip"}, weir.Error, "zip"),
    ],
)
def test_what_does_not_fit_is_refused(
    options: dict[str, Any], error: type[Exception], text: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=text):
        weir.save(tmp_path / "a.h5", {"a": [1, 2]}, **options)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_mapping_of_arrays_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="arrays is a ndarray: give a dict of arrays by name"):
        weir.save(tmp_path / "a.h5", np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"timedelta64\[s\].*give an xarray.Dataset"):
        weir.save(tmp_path / "a.h5", {"a": np.zeros(3, "m8[s]")})
    assert list(tmp_path.iterdir()) == []


def test_masked_arrays_and_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"array 'a' is masked: give value.filled"):
        weir.save(tmp_path / "a.h5", {"a": np.ma.masked_equal([1, 2], 2)})
    with pytest.raises(ValueError, match=r"give file_format, one of"):
        weir.save(tmp_path / "a.unknown", {"a": [1]})


@pytest.mark.parametrize(("name", "engine"), [("a.h5", "netcdf4"), ("a.nc", "netcdf4"),
                                              ("a.zarr", "zarr")])  # fmt: skip
def test_a_dataset_comes_back_equal(name: str, engine: str, tmp_path: Path) -> None:
    dataset = xr.Dataset(
        {
            "t": (("time", "x"), VALUES[:3, :4], {"units": "K"}),
            "holes": (("x",), [1.0, np.nan, 3.0, 4.0]),
            "packed": (("x",), [1.0, np.nan, 3.0, 4.0]),
        },
        coords={
            "time": np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "datetime64[ns]"),
            "x": [1, 2, 3, 4],
        },
        attrs={"title": "a test"},
    )
    dataset["holes"].encoding["_FillValue"] = -9.0
    dataset["packed"].encoding.update(_FillValue=-9, dtype="int16")
    dataset["t"].encoding["chunksizes"] = (1, 4)
    dataset.weir.to_file(tmp_path / name)
    options = {"consolidated": False} if engine == "zarr" else {}
    for by, with_options in ((engine, options), ("weir", {})):
        with xr.open_dataset(tmp_path / name, engine=by, **with_options) as found:
            xr.testing.assert_equal(found, dataset)
            assert found.attrs["title"] == "a test"
            assert found["t"].attrs["units"] == "K"
