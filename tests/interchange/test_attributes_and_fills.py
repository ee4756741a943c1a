"""Attributes keep their types, and missing elements stay missing, in every format and reader."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr

import weir
from weir.convert import ConversionError, convert

pytestmark = pytest.mark.filterwarnings("default")

TARGETS = {"hdf5": "t.h5", "cdf5": "t.nc", "cdf1": "t1.nc", "zarr": "t.zarr", "raw": "t.raw"}
ENGINES = {"hdf5": ["netcdf4", "weir"], "cdf5": ["netcdf4", "weir"], "cdf1": ["netcdf4", "weir"],
           "zarr": ["zarr", "weir"], "raw": ["weir"]}  # fmt: skip
MISSING = np.array([1, 2, -999, 4], "f4")
TYPED = {
    "int8": np.array([-1, 3], "i1"),
    "uint8": np.uint8(200),
    "int16": np.int16(3),
    "uint16": np.uint16(65535),
    "int32": np.array([1, 2, 3], "i4"),
    "uint32": np.uint32(2**32 - 1),
    "int64": -(2**40),
    "uint64": np.uint64(2**64 - 1),
    "float32": np.float32(0.1),
    "float64": 0.1,
    "not_finite": np.array([np.nan, np.inf], "f4"),
    "text": "Stra\N{LATIN SMALL LETTER SHARP S}e",
    "flag": True,
    "flags": np.array([True, False]),
    "texts": ["a", "", "long enough to lie elsewhere"],
}


def same(one: Any, other: Any) -> bool:
    if isinstance(one, str | list):
        return bool(one == other)
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def means(path: Path, engine: str, names: list[str]) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr-python's, of consolidated metadata
        with xr.open_dataset(path, engine=engine) as found:
            return {name: float(found[name].mean()) for name in names}


def write_netcdf(path: Path, file_format: str) -> list[str]:
    """Missing elements of each kind that xarray and NetCDF programs write."""
    with netCDF4.Dataset(path, "w", format=file_format) as file:
        file.createDimension("x", 4)
        file.set_auto_maskandscale(False)
        for name, values, fill in (
            ("real", MISSING, np.float32(-999)),
            ("whole", MISSING.astype("i2"), np.int16(-999)),
            ("packed", MISSING.astype("i2"), np.int16(-999)),
            ("nan", np.where(MISSING < 0, np.nan, MISSING).astype("f8"), np.float64(np.nan)),
            ("zero", np.array([0, 1, 2, 0], "i4"), np.int32(0)),
        ):
            made = file.createVariable(name, values.dtype, ("x",), fill_value=fill)
            made.set_auto_maskandscale(False)
            made[:] = values
        file["packed"].scale_factor = np.float32(0.5)
        file["packed"].add_offset = np.float32(273.25)
        plain = file.createVariable("plain", "f4", ("x",))
        plain[:] = [1, 2, 3, 4]
    return ["real", "whole", "packed", "nan", "zero", "plain"]


@pytest.mark.parametrize("origin", ["NETCDF4", "NETCDF3_64BIT_DATA"])
def test_means_stay_when_files_are_converted(origin: str, tmp_path: Path) -> None:
    source = tmp_path / "source.nc"
    names = write_netcdf(source, origin)
    expected = means(source, "netcdf4", names)
    assert expected["real"] == pytest.approx(7 / 3)
    assert expected["packed"] == pytest.approx(273.25 + 7 / 6)
    with xr.open_dataset(source, engine="netcdf4") as found:
        dtypes = {name: found[name].dtype for name in names}
    for first, name in TARGETS.items():
        there = tmp_path / first
        there.mkdir()
        with weir.open(source) as file:
            convert(file, there / name, file_format=first)
        for engine in ENGINES[first]:
            assert means(there / name, engine, names) == pytest.approx(expected), (first, engine)
        for second, other in TARGETS.items():
            target = there / f"again-{other}"
            with weir.open(there / name) as file:
                convert(file, target, file_format=second)
            for engine in ENGINES[second]:
                found = means(target, engine, names)
                assert found == pytest.approx(expected), (first, second, engine)
            # zarr-python has a scale of float32 as JSON's float64.
            with xr.open_dataset(target, engine="weir") as data:
                assert {one: data[one].dtype for one in names} == dtypes
            if second.startswith("cdf"):
                header = subprocess.run(
                    ["ncdump", "-h", target], capture_output=True, text=True, check=True
                ).stdout
                assert header.count("real:_FillValue = -999.f ;") == 1
                assert "plain:_FillValue" not in header


@pytest.mark.parametrize("file_format", TARGETS)
def test_a_fill_that_is_asked_for_is_missing_for_every_reader(
    file_format: str, tmp_path: Path
) -> None:
    target = tmp_path / TARGETS[file_format]
    arrays = {"real": MISSING, "whole": MISSING.astype("i2")}
    weir.save(
        target, arrays, dimensions={"real": ("x",), "whole": ("x",)},
        fill={"real": -999, "whole": -999}, file_format=file_format,
    )  # fmt: skip
    for engine in ENGINES[file_format]:
        found = means(target, engine, ["real", "whole"])
        assert found == pytest.approx({"real": 7 / 3, "whole": 7 / 3}), engine
    with weir.open(target) as file:
        assert same(file["real"].attributes["_FillValue"], np.float32(-999))
        assert same(file["whole"].attributes["_FillValue"], np.int16(-999))


def test_a_fill_of_another_type_opens_as_with_other_engines(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        for name, values, fill in (
            ("small", np.array([1, 255], "u1"), -1),
            ("whole", np.array([1, 5], "i2"), np.nan),
        ):
            file.create_dataset(name, data=values).attrs["_FillValue"] = fill
    ours = means(path, "weir", ["small", "whole"])
    assert ours == means(path, "netcdf4", ["small", "whole"])


def typed_file(path: Path) -> None:
    weir.save(
        path, {"a": np.arange(4.0)}, dimensions={"a": ("x",)}, attributes={"a": TYPED, "": TYPED}
    )


@pytest.mark.parametrize("to", ["hdf5", "cdf5", "zarr", "raw"])
@pytest.mark.parametrize("origin", ["hdf5", "zarr", "raw"])
def test_attributes_keep_their_types(origin: str, to: str, tmp_path: Path) -> None:
    source, target = tmp_path / f"source-{TARGETS[origin]}", tmp_path / TARGETS[to]
    typed_file(source)
    lines: list[str] = []
    with weir.open(source) as file:
        assert all(same(file["a"].attributes[name], value) for name, value in TYPED.items())
        if to == "cdf5":
            with pytest.raises(ConversionError, match=r"list of texts.*--skip-unreadable") as error:
                convert(file, target)
            assert len(error.value.lines) == 2  # of the array and of the file
            assert not target.exists()
        convert(file, target, skip_unreadable=to == "cdf5", name_line=lines.append)
    expected = dict(TYPED)
    if to == "cdf5":
        del expected["texts"]
        expected.update(flag=np.int8(1), flags=np.array([1, 0], "i1"))
        assert sum("'texts' is left out" in line for line in lines) == 2
        assert sum("bool becomes int8" in line for line in lines) == 4
        assert len(lines) == 6
    else:
        assert lines == []
    with weir.open(target) as file:
        for owner in (file["a"], file):
            assert owner.attributes.keys() == expected.keys()
            for name, value in expected.items():
                assert same(owner.attributes[name], value), name


def test_attributes_are_there_for_other_readers(tmp_path: Path) -> None:
    for name in ("a.h5", "a.zarr"):
        typed_file(tmp_path / name)
    with h5py.File(tmp_path / "a.h5") as file:
        found = dict(file["a"].attrs)
        assert list(found.pop("texts")) == TYPED["texts"]
        found["text"] = found["text"].decode()
        assert all(same(found[name], value) for name, value in TYPED.items() if name in found)
        assert found.keys() >= TYPED.keys() - {"texts"}
    attributes = dict(zarr.open_group(tmp_path / "a.zarr", mode="r")["a"].attrs)
    assert attributes["flag"] is True
    assert attributes["flags"] == [True, False]
    assert attributes["texts"] == TYPED["texts"]
    assert attributes["uint64"] == 2**64 - 1
    assert attributes["not_finite"] == ["NaN", "Infinity"]
    with xr.open_dataset(tmp_path / "a.zarr", engine="zarr") as data:
        assert not [name for name in (*data.attrs, *data["a"].attrs) if "weir" in name]


def test_what_cannot_be_kept_is_named_and_skipped(tmp_path: Path) -> None:
    source = tmp_path / "source.h5"
    with h5py.File(source, "w") as file:
        made = file.create_dataset("a", data=np.arange(4.0))
        made.attrs["complex"] = 1 + 2j
        made.attrs["matrix"] = np.eye(2)
        made.attrs["kept"] = np.float32(0.5)
        made.attrs["latin"] = np.bytes_("caf\xe9".encode("latin-1"))
        file.create_dataset("ragged", (2,), h5py.vlen_dtype("f8"))
    command = [sys.executable, "-m", "weir.cli", "convert", source, tmp_path / "target.zarr"]

    def converted(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *more], capture_output=True, text=True, timeout=60, check=False
        )

    refused = converted()
    assert refused.returncode == 2
    assert "ragged" in refused.stderr
    assert "--skip-unreadable" in refused.stderr
    refused = converted("--array", "a")
    assert refused.returncode == 2
    for name in ("complex", "matrix", "latin"):
        assert f"attribute '{name}' is left out" in refused.stderr
    assert not (tmp_path / "target.zarr").exists()
    done = converted("--skip-unreadable")
    assert done.returncode == 0, done.stderr
    assert "ragged is left out" in done.stderr
    with weir.open(tmp_path / "target.zarr") as file:
        assert set(file.arrays) == {"a"}
        assert dict(file["a"].attributes) == {"kept": np.float32(0.5)}


@pytest.mark.parametrize(
    ("value", "error"),
    [(1j, TypeError), (np.float16(1), TypeError), (np.eye(2), ValueError), (["a", 1], TypeError),
     (None, TypeError), (2**64, TypeError)],
)  # fmt: skip
def test_values_that_files_have_not_are_refused(value: Any, error: type, tmp_path: Path) -> None:
    with pytest.raises(error, match="'mine'"):
        weir.save(tmp_path / "a.h5", {"a": np.arange(2)}, attributes={"a": {"mine": value}})
    assert list(tmp_path.iterdir()) == []
