"""Files that Weir wrote, read by the programs that their users have."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import dask.array
import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr
from stored_cases import CLASSIC, FORMATS, TITLE, Case, cases_in, on_disk

NETCDF = ("hdf5", *CLASSIC)

pytestmark = pytest.mark.filterwarnings("default")


def tool(*command: str | Path) -> str:
    """What a command-line tool prints; skips where it is not installed."""
    if not shutil.which(str(command[0])):
        pytest.skip(f"there is no {command[0]}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def listed_numbers(text: str) -> list[float]:
    return [float(word) for word in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text)]


def text_of(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def assert_attributes(found: dict[str, Any], case: Case) -> None:
    for name, value in case.attributes.items():
        if isinstance(value, str):
            assert text_of(found[name]) == value, name
        else:
            np.testing.assert_array_equal(np.atleast_1d(found[name]), np.atleast_1d(value), name)


def test_h5py_reads_hdf5(files: dict[str, Path]) -> None:
    with h5py.File(files["hdf5"]) as file:
        assert text_of(file.attrs["title"]) == TITLE
        assert text_of(file["fields"].attrs["solver"]) == "explicit"
        for case in cases_in(files["hdf5"], "hdf5"):
            dataset = file[case.name]
            values, dimensions = on_disk(case)
            np.testing.assert_array_equal(dataset[...], values, case.name)
            assert dataset.dtype == values.dtype
            assert_attributes(dict(dataset.attrs), case)
            if case.chunks:
                assert dataset.chunks == case.chunks
            assert (dataset.maxshape[0] is None) == case.grows
            for name, dimension in zip(dimensions, dataset.dims, strict=True):
                assert case.name == name or dimension[0].name == f"/{name}"
            if case.fill is not None:
                assert dataset.fillvalue == case.fill


def test_h5dump_reads_hdf5(files: dict[str, Path]) -> None:
    header = tool("h5dump", "-H", files["hdf5"])
    for case in cases_in(files["hdf5"], "hdf5"):
        assert f'DATASET "{case.name.rpartition("/")[2]}"' in header
    assert 'ATTRIBUTE "units"' in header
    case = next(case for case in cases_in(files["hdf5"], "hdf5") if case.name == "chunked")
    shown = tool("h5dump", "-d", "/chunked", "-y", "-w", "1", files["hdf5"])
    data = shown[shown.index("DATA {") : shown.index("}", shown.index("DATA {"))]
    assert listed_numbers(data) == case.values.ravel().tolist()


@pytest.mark.parametrize("file_format", NETCDF)
def test_netcdf4_reads_netcdf(file_format: str, files: dict[str, Path]) -> None:
    with netCDF4.Dataset(files[file_format]) as file:
        file.set_auto_mask(False)
        assert file.title == TITLE
        assert file.dimensions["time"].isunlimited()
        assert not file.dimensions["x"].isunlimited()
        for case in cases_in(files[file_format], file_format):
            variable = file[case.name]
            values, dimensions = on_disk(case)
            np.testing.assert_array_equal(variable[...], values, case.name)
            assert variable.dtype == values.dtype
            assert variable.dimensions == dimensions
            assert_attributes({name: variable.getncattr(name) for name in variable.ncattrs()}, case)
            if case.fill is not None:
                assert variable.getncattr("_FillValue") == case.fill


@pytest.mark.parametrize("file_format", NETCDF)
def test_ncdump_reads_netcdf(file_format: str, files: dict[str, Path]) -> None:
    assert_dump(tool("ncdump", files[file_format]), cases_in(files[file_format], file_format))


@pytest.mark.parametrize("file_format", CLASSIC)
def test_ncmpidump_reads_netcdf(file_format: str, files: dict[str, Path]) -> None:
    assert_dump(tool("ncmpidump", files[file_format]), cases_in(files[file_format], file_format))


def assert_dump(shown: str, there: list[Case]) -> None:
    assert re.search(r"time = UNLIMITED ; // \(3 currently\)", shown)
    assert f'title = "{TITLE}"' in shown
    assert 'pressure:units = "Pa"' in shown
    for case in there:
        name = case.name.rpartition("/")[2]
        assert re.search(rf"\b{name}\({', '.join(on_disk(case)[1])}\)", shown), name
    case = next(case for case in there if case.name == "as_int32")
    data = re.search(r"\n as_int32 =(.*?);", shown, re.DOTALL)
    assert data
    assert listed_numbers(data[1]) == case.values.ravel().tolist()


def test_zarr_reads_zarr(files: dict[str, Path]) -> None:
    for consolidated in (True, False):
        group = zarr.open_group(files["zarr"], mode="r", use_consolidated=consolidated)
        assert group.attrs["title"] == TITLE
        assert group["fields"].attrs["solver"] == "explicit"
        for case in cases_in(files["zarr"], "zarr"):
            array = group[case.name]
            np.testing.assert_array_equal(array[...], case.values, case.name)
            assert array.dtype == case.values.dtype
            assert array.metadata.dimension_names == case.dimensions
            assert_attributes(dict(array.attrs), case)
            assert case.chunks is None or array.chunks == case.chunks
            assert case.shards is None or array.shards == case.shards
            if case.fill is not None:
                assert array.fill_value == case.fill


def test_dask_reads_zarr(files: dict[str, Path]) -> None:
    for case in cases_in(files["zarr"], "zarr"):
        if "/" not in case.name:
            lazy = dask.array.from_zarr(str(files["zarr"]), component=case.name)
            np.testing.assert_array_equal(lazy.compute(), case.values, case.name)


def test_numpy_reads_raw_by_its_document(files: dict[str, Path]) -> None:
    path = files["raw"]
    document = json.loads(Path(f"{path}.json").read_text())
    told = {one["name"]: one for one in document["arrays"]}
    for case in cases_in(path, "raw"):
        one = told[case.name]
        assert one["type"] == case.values.dtype.name
        assert one["dimension_names"] == list(case.dimensions)
        assert_attributes(one.get("attributes", {}), case)
        if "chunk_shape" in one or one.get("grows"):
            continue
        order = "F" if one["order"] == "column-major" else "C"
        mapped = np.memmap(path, case.values.dtype, "r", one["offset"], tuple(one["shape"]), order)
        np.testing.assert_array_equal(mapped, case.values, case.name)


@pytest.mark.parametrize("file_format", [name for name in FORMATS if name != "raw"])
def test_xarray_finds_the_same_by_its_own_engine_and_by_weirs(
    file_format: str, files: dict[str, Path]
) -> None:
    path = files[file_format]
    own = "zarr" if file_format == "zarr" else "netcdf4"
    with xr.open_dataset(path, engine=own) as theirs, xr.open_dataset(path, engine="weir") as ours:
        assert ours.attrs["title"] == TITLE
        assert set(ours.variables) == set(theirs.variables)
        for name, variable in theirs.variables.items():
            expected = variable.load()
            found = ours.variables[name].load()
            assert found.dims == expected.dims, name
            np.testing.assert_array_equal(found.values, expected.values, str(name))
            assert found.dtype == expected.dtype
            for key, value in expected.attrs.items():
                np.testing.assert_array_equal(found.attrs[key], value, str(name))
        assert ours["time"].dtype.kind == "M"
