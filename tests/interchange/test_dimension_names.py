"""Dimensions that nobody named have names in every format, and other programs read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

import weir
from weir._core.files import FileHandle

ENGINES = {"hdf5": ("netcdf4",), "cdf5": ("netcdf4",), "zarr": ("zarr",), "raw": ()}
ARRAYS: list[dict[str, Any]] = [
    {"name": "u", "shape": [5, 7, 5], "type": "float64"},
    {"name": "dim_7", "shape": [7, 2], "type": "float64"},
    {"name": "t", "shape": [1, 7], "type": "float64", "grows": True},
    {"name": "named", "shape": [7], "type": "float64", "dimension_names": ["x"]},
]
NAMES = {
    "u": ("dim_5", "dim_7_2", "dim_5_2"),
    "dim_7": ("dim_7_2", "dim_2"),
    "t": ("step", "dim_7_2"),
    "named": ("x",),
}


def write(path: Path, file_format: str, arrays: list[dict[str, Any]]) -> None:
    file = FileHandle.create(path, file_format, {"arrays": arrays})
    for number, array in enumerate(arrays):
        shape = array["shape"]
        file.write(number, [0] * len(shape), shape, [1] * len(shape), np.full(shape, float(number)))
    file.commit()


@pytest.mark.parametrize("file_format", ENGINES)
def test_every_reader_finds_them(file_format: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, file_format, ARRAYS)
    with weir.open(path) as file:
        assert {name: array.dimension_names for name, array in file.arrays.items()} == NAMES
    for engine in ENGINES[file_format]:
        with xr.open_dataset(path, engine=engine) as dataset:  # type: ignore[arg-type]
            assert {name: dataset[name].dims for name in NAMES} == NAMES, engine
            assert float(dataset["u"].mean()) == 0
            assert float(dataset["t"].mean()) == 2
    if file_format in ("hdf5", "cdf5"):
        with netCDF4.Dataset(path) as theirs:
            assert {name: theirs[name].dimensions for name in NAMES} == NAMES
            assert theirs.dimensions["step"].isunlimited()
            assert set(theirs.variables) == set(NAMES)


def test_scales_of_many_arrays_name_all_of_them(tmp_path: Path) -> None:
    """More than HDF5 keeps in an object's header."""
    path, count = tmp_path / "many.h5", 5000
    write(path, "hdf5", [{"name": f"a{n}", "shape": [2, 3], "type": "int8"} for n in range(count)])
    with h5py.File(path) as file:
        for name, place in (("dim_2", 0), ("dim_3", 1)):
            scale = file[name]
            attached = scale.attrs["REFERENCE_LIST"]
            assert len(attached) == count
            assert {int(dimension) for _, dimension in attached} == {place}
            assert file[attached[-1][0]].name == f"/a{count - 1}"
            for array in ("a0", "a999"):
                assert h5py.h5ds.is_attached(file[array].id, scale.id, place)
                assert file[array].dims[place][0] == scale
    with netCDF4.Dataset(path) as theirs:
        assert theirs["a4999"].dimensions == ("dim_2", "dim_3")
