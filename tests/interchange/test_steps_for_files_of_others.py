"""Steps that Weir adds to files of other programs, or the reason why there is no room for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import zarr
from ranks import run_on_ranks

import weir
from weir.convert import ConversionError, Layout, convert

pytestmark = pytest.mark.filterwarnings("default")

STEPS = np.arange(70.0).reshape(2, 5, 7)


def by_h5py(path: Path, libver: str, **options: Any) -> None:
    with h5py.File(path, "w", libver=(libver, "v110")) as file:
        file.create_dataset("u", data=STEPS, maxshape=(None, 5, 7), **options)


def by_netcdf4(path: Path, kind: str) -> None:
    with netCDF4.Dataset(path, "w", format=kind) as file:
        for name, extent in (("time", None), ("y", 5), ("x", 7)):
            file.createDimension(name, extent)
        file.createVariable("u", "f8", ("time", "y", "x"))[...] = STEPS


def assert_has_a_step_more(found: Any) -> None:
    np.testing.assert_array_equal(found, [*STEPS, np.full((5, 7), 7.0)])


def test_steps_and_reasons(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    by_h5py(folder / "fits.h5", "v110", chunks=(1, 5, 4), compression="gzip", shuffle=True)
    by_h5py(folder / "tree.h5", "earliest", chunks=(1, 5, 7), compression="gzip")
    by_h5py(folder / "several.h5", "v110", chunks=(2, 5, 7), compression="gzip")
    by_h5py(folder / "plain.h5", "v110", chunks=(1, 5, 7))
    with h5py.File(folder / "two.h5", "w", libver=("v110", "v110")) as file:
        file.create_dataset(
            "u", data=STEPS, maxshape=(None, None, 7), chunks=(1, 5, 7), compression="gzip"
        )
    with h5py.File(folder / "block.h5", "w", libver=("v110", "v110"), userblock_size=512) as file:
        file.create_dataset(
            "u", data=STEPS, maxshape=(None, 5, 7), chunks=(1, 5, 7), compression="gzip"
        )
    by_netcdf4(folder / "tree.nc", "NETCDF4")
    classic = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA")
    for kind in classic:
        by_netcdf4(folder / f"{kind}.nc", kind)
    theirs = zarr.create_group(folder / "a.zarr", zarr_format=3)
    theirs.create_array("u", data=STEPS, chunks=(1, 5, 7), dimension_names=["time", "y", "x"])
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    lines = run_on_ranks(2, "append", folder).splitlines()
    said = dict(line.split(": ", 1) for line in lines)
    fits = {"fits.h5", *(f"{kind}.nc" for kind in classic)}
    assert {name for name, line in said.items() if line == "3 steps"} == fits
    for name, reason in (
        (
            "tree.h5",
            'steps cannot be added to "u": the index of its chunks is a B-tree of version 1',
        ),
        (
            "two.h5",
            'steps cannot be added to "u": the index of its chunks is a B-tree of version 2',
        ),
        ("tree.nc", "the index of its chunks is a B-tree of version 1"),
        ("several.h5", "its compressed chunks hold 2 steps each"),
        ("several.h5", "weir convert --chunks u=1,5,7 writes a file to which steps can be added"),
        ("plain.h5", "its chunks have no filter, and only HDF5's library can allocate them"),
        ("block.h5", 'array "u" cannot be read: it has chunks, and the file has a user block'),
        ("a.zarr", "is marked as growing, because the format zarr does not record"),
        ("a.zarr", "weir convert --steps ARRAY"),
    ):
        assert reason in said[name], name
        assert "weir convert" in said[name]
    for name, content in before.items():
        assert ((folder / name).read_bytes() == content) == (name not in fits), name

    with h5py.File(folder / "fits.h5") as file:
        assert_has_a_step_more(file["u"][...])
    for kind in classic:
        with netCDF4.Dataset(folder / f"{kind}.nc") as file:
            assert_has_a_step_more(file["u"][...])


def test_a_converted_file_gets_steps(tmp_path: Path) -> None:
    by_netcdf4(tmp_path / "theirs.nc", "NETCDF4")
    folder = tmp_path / "files"
    folder.mkdir()
    with weir.open(tmp_path / "theirs.nc") as file:
        convert(file, folder / "a.h5")
        convert(file, folder / "a.zarr")
    by_h5py(tmp_path / "several.h5", "v110", chunks=(2, 5, 7), compression="gzip")
    with weir.open(tmp_path / "several.h5") as file:
        convert(file, folder / "several.h5", layout=Layout(chunks={"u": (1, 5, 7)}))
    theirs = zarr.create_group(tmp_path / "theirs.zarr", zarr_format=3)
    theirs.create_array("u", data=STEPS, chunks=(2, 5, 7), dimension_names=["time", "y", "x"])
    with weir.open(tmp_path / "theirs.zarr") as file:
        convert(file, folder / "marked.zarr", layout=Layout(steps=("u",)))
        with pytest.raises(ConversionError, match="--steps v: this array is not converted"):
            convert(file, folder / "not.zarr", layout=Layout(steps=("v",)))
    names = ["a.h5", "a.zarr", "marked.zarr", "several.h5"]
    said = run_on_ranks(2, "append", folder).splitlines()
    assert said == [f"{name}: 3 steps" for name in names]
    for name in names:
        found: Any = (
            h5py.File(folder / name) if name.endswith(".h5") else zarr.open_group(folder / name)
        )
        assert_has_a_step_more(found["u"][...])
