"""Files that the programs of others wrote, read by weir.open."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask.array
import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr
from h5py_programs import run_h5py
from stored_cases import numbers

import weir
from weir.check import check

pytestmark = pytest.mark.filterwarnings("default")

VALUES = numbers((7, 10), "float64", 1)
STEPS = numbers((3, 7, 10), "int16", 2)


def assert_holds(file: weir.StoredFile, name: str, values: np.ndarray[Any, Any]) -> None:
    """The array has these values, types and extents; parts of it too."""
    found = file.arrays[name]
    np.testing.assert_array_equal(found[...], values, name)
    assert found.dtype == values.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found[1::2, ..., ::-3], values[1::2, ..., ::-3], name)


@pytest.mark.parametrize("libver", ["earliest", "v110"])
def test_h5py(libver: str, tmp_path: Path) -> None:
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w", libver=libver) as file:
        file.attrs["title"] = "by h5py"
        file.create_dataset("plain", data=VALUES)
        file.create_dataset("big", data=VALUES.astype(">f4"))
        file.create_dataset("chunked", data=VALUES, chunks=(3, 4))
        file.create_dataset("grows", data=STEPS, chunks=(2, 7, 5), maxshape=(None, 7, 10))
        file.create_dataset("both_grow", data=VALUES, chunks=(2, 5), maxshape=(None, None))
        file.create_dataset("deep/er/u", data=VALUES.astype("complex64"))
        file.create_dataset("truth", data=VALUES > 50)
        file.create_dataset("half", data=VALUES.astype("float16"))
        file.create_dataset("pairs", data=np.zeros(2, "i4,f8"))
        file.create_dataset("number", data=3.5)
        sparse = file.create_dataset("sparse", (20, 20), "int32", chunks=(4, 5), fillvalue=-7)
        sparse[4:8, 5:10] = 1
        file["never"] = h5py.Empty("f4")
        plain = file["plain"]
        plain.attrs["units"] = "m s-1"
        plain.attrs["range"] = np.array([-1.5, 2.5], "float32")
        plain.attrs["level"] = np.int16(3)
        plain.attrs["fixed"] = np.bytes_("of fixed length")
        file["time"] = np.arange(3.0)
        file["time"].make_scale("time")
        file["grows"].dims[0].attach_scale(file["time"])
        file["grows"].dims[0].label = "time"
    expected = np.full((20, 20), -7, "int32")
    expected[4:8, 5:10] = 1
    with weir.open(path) as file:
        assert file.attributes["title"] == "by h5py"
        assert_holds(file, "plain", VALUES)
        assert_holds(file, "big", VALUES.astype("float32"))
        assert file.arrays["big"].byte_order == "big"
        assert_holds(file, "chunked", VALUES)
        assert_holds(file, "grows", STEPS)
        assert file.arrays["grows"].grows
        assert_holds(file, "both_grow", VALUES)
        assert_holds(file, "deep/er/u", VALUES.astype("complex64"))
        assert_holds(file, "truth", VALUES > 50)
        assert_holds(file, "half", VALUES.astype("float16"))
        assert_holds(file, "sparse", expected)
        attributes = file.arrays["plain"].attributes
        assert attributes["units"] == "m s-1"
        assert attributes["level"] == 3
        assert attributes["fixed"] == "of fixed length"
        np.testing.assert_array_equal(attributes["range"], [-1.5, 2.5])
        assert file.arrays["number"][()] == 3.5
        assert set(file.refused) == {"pairs", "never"}
        with pytest.raises(weir.UnsupportedError, match="pairs"):
            file["pairs"]


def test_attributes_without_a_value_are_named(tmp_path: Path) -> None:
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w") as file:
        file["plain"] = VALUES
        file["plain"].attrs["grid"] = VALUES
    with weir.open(path) as opened:
        left_out = opened.left_out
    assert left_out == ["plain: attribute 'grid' is left out: it has 2 dimensions"]
    assert check(path).left_out == left_out
    converted = ["convert", "--skip-unreadable", path, tmp_path / "ours.h5"]
    for command in (["check", path], converted):
        done = subprocess.run(
            [sys.executable, "-m", "weir.cli", *command],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert f"{path}: {left_out[0]}" in done.stdout + done.stderr


def test_h5py_compresses(tmp_path: Path) -> None:
    path = tmp_path / "theirs.h5"
    run_h5py("filtered_by_h5py.py", path)
    expected = np.full((20, 20), -7, "int32")
    expected[4:8, 5:10] = 1
    with weir.open(path) as file:
        if "blosc2" in file.refused:
            assert "no library for the codec blosc2" in str(file.refused["blosc2"])
        else:
            assert_holds(file, "blosc2", VALUES)
        for name in ("szip", "szip_ec", "szip_long"):
            if name in file.refused:
                assert "no library for the codec szip" in str(file.refused[name])
        assert set(file.refused) <= {"blosc2", "szip", "szip_ec", "szip_long"}
        long = numbers((1000, 61), "int32", 3) % 1000
        for name in (
            "gzip", "shuffled", "summed", "zstd", "blosc", "lzf", "lzf_long", "lz4", "lz4_blocks",
            "bitshuffle", "bitshuffle_zstd", "bitshuffle_alone", "szip", "szip_ec", "lz4_long",
            "bitshuffle_long", "bitshuffle_zstd_long", "szip_long",
        ):  # fmt: skip
            if name not in file.refused:
                assert_holds(
                    file, name, long if name.endswith("_long") and name != "lzf_long" else VALUES
                )
        assert_holds(file, "grows", STEPS)
        assert_holds(file, "sparse", expected)
        assert np.abs(file.arrays["zfp"][...] - VALUES).max() <= 0.25
        assert file.arrays["shuffled"].codecs == "shuffle,deflate:4"
        assert file.arrays["lzf"].codecs == "lzf"


KINDS = ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]


@pytest.mark.parametrize("kind", KINDS)
def test_netcdf4(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "theirs.nc"
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.title = "by netCDF4"
        for name, extent in (("time", None), ("y", 7), ("x", 10)):
            file.createDimension(name, extent)
        plain = file.createVariable("plain", "f8", ("y", "x"))
        plain.units = "m s-1"
        plain[...] = VALUES
        steps = file.createVariable("steps", "i2", ("time", "y", "x"), fill_value=-5)
        steps[...] = STEPS
        odd = file.createVariable("odd", "i1", ("time", "x"))
        odd[...] = STEPS[:, 0, :].astype("int8")
        coordinate = file.createVariable("x", "f4", ("x",))
        coordinate[...] = np.arange(10)
        if kind == "NETCDF4":
            inner = file.createGroup("inner")
            inner.createVariable("u", "i8", ("y", "x"), chunksizes=(3, 10))[...] = VALUES.astype(
                "i8"
            )
    with weir.open(path) as file:
        assert file.attributes["title"] == "by netCDF4"
        assert_holds(file, "plain", VALUES)
        assert_holds(file, "steps", STEPS)
        assert_holds(file, "odd", STEPS[:, 0, :].astype("int8"))
        assert file.arrays["plain"].attributes["units"] == "m s-1"
        assert file.arrays["steps"].dimension_names == ("time", "y", "x")
        assert file.arrays["plain"].dimension_names == ("y", "x")
        assert file.arrays["steps"].fill == -5
        assert file.steps == 3
        if kind == "NETCDF4":
            assert_holds(file, "inner/u", VALUES.astype("i8"))
            assert file.arrays["inner/u"].dimension_names == ("y", "x")


CDL = """netcdf theirs {{
dimensions: time = UNLIMITED ; x = 3 ;
variables:
  float pressure(time, x) ; pressure:units = "Pa" ; pressure:_FillValue = -1.f ;
  {wide} count(x) ; count:valid = 1, 2, 3 ;
data:
  pressure = 1.5, 2.5, 3.5, 4.5, 5.5, _ ;
  count = 1, 2, {many} ;
}}
"""


@pytest.mark.parametrize(("kind", "wide"), [("classic", "double"), ("64-bit offset", "double"),
                                            ("cdf5", "uint64"), ("nc4", "uint64")])  # fmt: skip
def test_ncgen(kind: str, wide: str, tmp_path: Path) -> None:
    if not shutil.which("ncgen"):
        pytest.skip("there is no ncgen")
    (tmp_path / "theirs.cdl").write_text(
        CDL.format(wide=wide, many=3000000000 if wide == "uint64" else 3e9)
    )
    path = tmp_path / "theirs.nc"
    command = ["ncgen", "-k", kind, "-o", str(path), str(tmp_path / "theirs.cdl")]
    subprocess.run(command, timeout=60, check=True)
    with weir.open(path) as file:
        pressure = file.arrays["pressure"]
        np.testing.assert_array_equal(pressure[...], [[1.5, 2.5, 3.5], [4.5, 5.5, -1]])
        assert pressure.attributes["units"] == "Pa"
        assert pressure.fill == -1
        np.testing.assert_array_equal(file.arrays["count"][...], [1, 2, 3000000000])
        np.testing.assert_array_equal(file.arrays["count"].attributes["valid"], [1, 2, 3])


def test_zarr(tmp_path: Path) -> None:
    path = tmp_path / "theirs.zarr"
    group = zarr.create_group(path, zarr_format=3, attributes={"title": "by zarr"})
    inner = group.create_group("inner", attributes={"solver": "explicit", "axes": [{"name": "x"}]})

    def add(to: zarr.Group, name: str, values: np.ndarray[Any, Any], **options: Any) -> None:
        to.create_array(name, shape=values.shape, dtype=values.dtype, compressors=None, **options)
        to[name][...] = values

    add(group, "plain", VALUES, chunks=(3, 4), dimension_names=("y", "x"),
        attributes={"units": "m s-1", "range": [0.5, 1.5]})  # fmt: skip
    add(
        group,
        "separated",
        VALUES,
        chunks=(3, 4),
        chunk_key_encoding={"name": "v2", "separator": "."},
    )
    add(group, "sharded", VALUES, chunks=(2, 3), shards=(4, 6))
    add(group, "big", VALUES.astype(">f4"), chunks=(7, 10))
    add(inner, "u", STEPS, chunks=(1, 7, 10))
    columns = zarr.codecs.TransposeCodec(order=(1, 0))
    add(group, "columns", VALUES, chunks=(3, 4), filters=[columns])
    sparse = group.create_array(
        "sparse", shape=(20, 20), dtype="int32", chunks=(4, 5), fill_value=-7, compressors=None
    )
    sparse[4:8, 5:10] = 1
    expected = np.full((20, 20), -7, "int32")
    expected[4:8, 5:10] = 1
    with weir.open(path) as file:
        assert file.attributes["title"] == "by zarr"
        for name in ("plain", "separated", "sharded", "columns"):
            assert_holds(file, name, VALUES)
        assert_holds(file, "big", VALUES.astype("float32"))
        assert_holds(file, "inner/u", STEPS)
        assert_holds(file, "sparse", expected)
        assert file["inner"].attributes["solver"] == "explicit"  # type: ignore[union-attr]
        (line,) = file.left_out
        assert line.startswith("inner: attribute 'axes' is left out")
        plain = file.arrays["plain"]
        assert plain.attributes["units"] == "m s-1"
        np.testing.assert_array_equal(plain.attributes["range"], [0.5, 1.5])
        assert plain.dimension_names == ("y", "x")
        assert plain.chunks == (3, 4)
        assert file.arrays["sharded"].shards == (4, 6)


def test_zarr_compresses(tmp_path: Path) -> None:
    codecs = zarr.codecs
    kinds = {
        "default": "auto",
        "zstd": codecs.ZstdCodec(level=3, checksum=True),
        "gzip": codecs.GzipCodec(level=2),
        "blosc": codecs.BloscCodec(cname="lz4", clevel=5, shuffle=codecs.BloscShuffle.bitshuffle),
        "summed": (codecs.ZstdCodec(), codecs.Crc32cCodec()),
    }
    group = zarr.create_group(tmp_path / "theirs.zarr", zarr_format=3)
    for name, compressors in kinds.items():
        for shards in (None, (6, 8)):
            array = group.create_array(
                name + ("_sharded" if shards else ""), shape=(7, 10), dtype="f8", chunks=(3, 4),
                shards=shards, compressors=compressors,
            )  # fmt: skip
            array[...] = VALUES
    with weir.open(tmp_path / "theirs.zarr") as file:
        assert not file.refused
        for name in kinds:
            assert_holds(file, name, VALUES)
            assert_holds(file, f"{name}_sharded", VALUES)
        assert file.arrays["gzip"].codecs == "gzip:2"


def test_dask_writes_zarr(tmp_path: Path) -> None:
    lazy = dask.array.from_array(VALUES, chunks=(4, 5))
    lazy.to_zarr(str(tmp_path / "theirs.zarr"), component="density", compressors=None)
    with weir.open(tmp_path / "theirs.zarr") as file:
        assert_holds(file, "density", VALUES)


@pytest.mark.parametrize("how", ["zarr", *KINDS])
def test_xarray_writes_and_its_engine_weir_reads(how: str, tmp_path: Path) -> None:
    data = xr.Dataset(
        {"density": (("time", "y", "x"), numbers((3, 7, 10), "float32", 3), {"units": "kg m-3"})},
        {
            "x": np.arange(10.0),
            "time": np.array(["2000-01-01", "2000-01-02", "2000-01-03"], "M8[ns]"),
        },
        {"title": "by xarray"},
    )
    path = tmp_path / "theirs"
    if how == "zarr":
        plain = {name: {"compressors": None} for name in data.variables}
        data.to_zarr(path, zarr_format=3, encoding=plain)
    else:
        data.to_netcdf(path, format=how, engine="netcdf4", unlimited_dims=["time"])  # type: ignore[call-overload]
    with xr.open_dataset(path, engine="weir") as found:
        xr.testing.assert_identical(found.load(), data)
