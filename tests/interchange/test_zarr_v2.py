"""Stores of Zarr v2 by zarr-python, numcodecs and xarray, read and converted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numcodecs
import numpy as np
import pytest
import xarray as xr
import zarr
from stored_cases import numbers

import weir
from weir.convert import convert

pytestmark = pytest.mark.filterwarnings("default")

VALUES = numbers((7, 10), "float64", 1)
COMPRESSORS: dict[str, Any] = {
    "none": None,
    "blosc": numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE),
    "blosc_bits": numcodecs.Blosc("zstd", 1, numcodecs.Blosc.BITSHUFFLE),
    "blosc_auto": numcodecs.Blosc("lz4", 1, numcodecs.Blosc.AUTOSHUFFLE),
    "zlib": numcodecs.Zlib(4),
    "gzip": numcodecs.GZip(1),
    "zstd": numcodecs.Zstd(3),
}


@pytest.mark.parametrize("consolidated", [False, True])
def test_every_codec_separator_and_order(consolidated: bool, tmp_path: Path) -> None:
    path = tmp_path / "theirs.zarr"
    root = zarr.create_group(path, zarr_format=2, attributes={"title": "v2"})
    for name, compressor in COMPRESSORS.items():
        for order in ("C", "F"):
            for separator in (".", "/"):
                array = root.create_array(
                    f"{name}/{order}{'dot' if separator == '.' else 'slash'}", shape=VALUES.shape,
                    chunks=(3, 4), dtype="f8", compressors=compressor, order=order, fill_value=None,
                    filters=[numcodecs.Shuffle(8)] if name == "zlib" else None,
                    chunk_key_encoding={"name": "v2", "separator": separator},
                )  # fmt: skip
                array[...] = VALUES
    if consolidated:
        zarr.consolidate_metadata(path, zarr_format=2)
    with weir.open(path) as file:
        assert not file.refused
        assert file.attributes["title"] == "v2"
        assert len(file.arrays) == 4 * len(COMPRESSORS)
        for name, array in file.arrays.items():
            np.testing.assert_array_equal(array[...], VALUES, name)
            np.testing.assert_array_equal(array[1::2, ::-3], VALUES[1::2, ::-3], name)
        assert file.arrays["zlib/Cdot"].codecs == "shuffle,deflate:4"
        convert(file, tmp_path / "v3.zarr")
        convert(file, tmp_path / "copy.h5")
    for copy in ("v3.zarr", "copy.h5"):
        with weir.open(tmp_path / copy) as file:
            np.testing.assert_array_equal(file["blosc/Fdot"][...].reshape(VALUES.shape), VALUES)
    np.testing.assert_array_equal(zarr.open_group(tmp_path / "v3.zarr")["zlib/Cdot"], VALUES)


@pytest.mark.filterwarnings("ignore:The data type")
def test_every_type(tmp_path: Path) -> None:
    path = tmp_path / "theirs.zarr"
    root = zarr.create_group(path, zarr_format=2)
    arrays = {
        name.strip("<>|"): VALUES[:3].astype(name)
        for name in ("<i1", "<i2", ">i4", "<i8", "<u1", ">u2", "<u4", "<u8", "<f4", "<c8", "<c16")
    }
    arrays["big"] = VALUES.astype(">f8")
    arrays["half"] = np.arange(4, dtype="f2")
    arrays["truth"] = VALUES > 50
    arrays["bytes"] = np.array([b"ab", b"", b"abc"], "S3")
    arrays["words"] = np.array(["Äpfel", "", "日本"], "U5")
    arrays["number"] = np.array(3.5)
    instants = np.array(["2026-11-22T00:00:01", "1969-12-31"], "M8[s]")
    for name, values in arrays.items():
        root.create_array(name, data=values)
    root.create_array("when", data=instants)
    root.create_array("filled", shape=(3,), dtype="i4", chunks=(2,), fill_value=-7)
    root.create_array("missing", shape=(3,), dtype="f4", chunks=(2,), fill_value=np.nan)
    with weir.open(path) as file:
        assert not file.refused
        for name, values in arrays.items():
            assert file[name].shape == values.shape
            np.testing.assert_array_equal(file[name][...], values, name)
            assert file[name].dtype == values.dtype.newbyteorder("=")
        np.testing.assert_array_equal(file["when"][...], instants.astype("i8"))
        assert file["when"].attributes["units"] == "seconds since 1970-01-01"
        assert file["filled"][...].tolist() == [-7] * 3
        assert np.isnan(file["missing"][...]).all()


def test_xarrays_datasets(tmp_path: Path) -> None:
    path = tmp_path / "theirs.zarr"
    times = xr.date_range("2026-11-22", periods=3, freq="6h")
    data = xr.Dataset(
        {"t": (("time", "x"), np.array([[1.5, np.nan], [2, 3], [4, 5]]), {"units": "K"})},
        {"time": times, "x": [0.5, 1.5]},
        {"title": "by xarray"},
    )
    data.to_zarr(path, zarr_format=2, consolidated=True)
    with xr.open_dataset(path, engine="weir") as ours:
        xr.testing.assert_equal(ours.load(), data)
        assert ours.attrs["title"] == "by xarray"
    with weir.open(path) as file:
        assert file["t"].dimension_names == ("time", "x")
        assert "_ARRAY_DIMENSIONS" not in file["t"].attributes


def changed(path: Path, **changes: Any) -> weir.StoredFile:
    document = json.loads((path / "a" / ".zarray").read_text())
    (path / "a" / ".zarray").write_text(json.dumps({**document, **changes}))
    return weir.open(path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"filters": [{"id": "delta", "dtype": "<f4"}]}, "delta of numbers of another type"),
        ({"filters": [{"id": "delta", "dtype": ">f8"}]}, "delta of numbers of another type"),
        ({"filters": [{"id": "bitround", "keepbits": 4}]}, "encoded by numcodecs.bitround"),
        ({"compressor": {"id": "lzma"}}, "encoded by numcodecs.lzma"),
        ({"dtype": "|O"}, r"texts of a type that Weir supports: \|O"),
        ({"dtype": [["x", "<f4"]]}, "a compound"),
        ({"dtype": "<M8[Y]", "fill_value": 0}, "units of Y"),
        ({"dimension_separator": "-"}, "another separator"),
        ({"shape": [1 << 62, 1 << 62]}, "at most 2"),
        ({"chunks": [0, 1]}, "chunk shape"),
    ],
)
def test_what_weir_has_not_is_refused_with_the_reason(
    changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "theirs.zarr"
    root = zarr.create_group(path, zarr_format=2)
    root.create_array("a", data=VALUES)
    root.create_array("fine", data=VALUES)
    with changed(path, **changes) as file:
        assert list(file.refused) == ["a"]
        with pytest.raises(weir.UnsupportedError, match=reason):
            file["a"]
        np.testing.assert_array_equal(file["fine"][...], VALUES)


def test_deltas(tmp_path: Path) -> None:
    path = tmp_path / "theirs.zarr"
    counts = (np.arange(60, dtype="int32").reshape(6, 10) ** 2) - 500
    kinds: dict[str, tuple[np.ndarray[Any, Any], numcodecs.Delta]] = {
        "same": (counts, numcodecs.Delta("<i4")),
        "shorter": (counts, numcodecs.Delta("<i4", astype="<i2")),
        "unsigned": (counts.astype("uint8"), numcodecs.Delta("|u1")),
        "real": (VALUES, numcodecs.Delta("<f8")),
        "half": (counts.astype("float64"), numcodecs.Delta("<f8", astype="<f4")),
    }
    root = zarr.create_group(path, zarr_format=2)
    for name, (values, delta) in kinds.items():
        root.create_array(
            name, data=values, chunks=(4, 4), filters=[delta], compressors=numcodecs.Zlib()
        )
    expected = {name: np.asarray(root[name][...]) for name in kinds}
    with weir.open(path) as file:
        assert not file.refused
        for name, values in expected.items():
            np.testing.assert_array_equal(file[name][...], values, name)
        assert file.arrays["shorter"].codecs == "delta:int16,deflate:1"
        convert(file, tmp_path / "copy.zarr")
    with weir.open(tmp_path / "copy.zarr") as file:
        assert file.arrays["same"].codecs == "deflate:1"
        np.testing.assert_array_equal(file["same"][...], expected["same"])


def test_an_array_alone_and_one_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "alone.zarr"
    zarr.create_array(path, data=VALUES, chunks=(7, 5), zarr_format=2, compressors=numcodecs.Zlib())
    with weir.open(path) as file:
        (array,) = file.arrays.values()
        np.testing.assert_array_equal(array[...], VALUES)
    (path / "0.1").write_bytes(b"no zlib")
    with weir.open(path) as file, pytest.raises(weir.StorageError, match="chunk 1"):
        next(iter(file.arrays.values()))[...]
    (path / ".zarray").write_text("[" * 100_000)
    with pytest.raises(weir.StorageError, match="levels"):
        weir.open(path)


def test_documents_newer_than_the_consolidated_ones_count(tmp_path: Path) -> None:
    path = tmp_path / "theirs.zarr"
    root = zarr.create_group(path, zarr_format=2)
    array = root.create_array("x", shape=(2, 3), chunks=(1, 3), dtype="f8", fill_value=0)
    array[...] = 1
    zarr.consolidate_metadata(path, zarr_format=2)
    array.append(np.full((3, 3), 2.0))
    array.attrs["units"] = "K"
    with weir.open(path) as file:
        assert file["x"].shape == (5, 3)
        assert file["x"].attributes["units"] == "K"
        np.testing.assert_array_equal(file["x"][...], array[...])
    (path / "x" / ".zarray").write_text("{")
    with weir.open(path) as file:
        assert "not a JSON document" in file.refused["x"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_numbers_that_json_does_not_have(zarr_format: Literal[2, 3], tmp_path: Path) -> None:
    """Python's json, and so zarr-python, writes them as bare words."""
    path = tmp_path / "theirs.zarr"
    root = zarr.create_group(path, zarr_format=zarr_format)
    attributes = {
        "missing": float("nan"),
        "range": [float("-inf"), 0.5, float("inf")],
        "text": 'a "NaN" and Infinity',
    }
    array = root.create_array(
        "x", shape=(2,), dtype="f8", fill_value=float("nan"), attributes=attributes
    )
    array[...] = [1.0, 2.0]
    zarr.consolidate_metadata(path, zarr_format=zarr_format)
    document = path / ".zmetadata" if zarr_format == 2 else path / "zarr.json"
    assert '"missing": NaN' in document.read_text()
    convert_to = tmp_path / "copy.h5"
    with weir.open(path) as file:
        found = file["x"].attributes
        assert np.isnan(found["missing"])
        assert list(found["range"]) == attributes["range"]
        assert found["text"] == attributes["text"]
        np.testing.assert_array_equal(file["x"][...], [1.0, 2.0])
        convert(file, convert_to)
    with weir.open(convert_to) as file:
        assert np.isnan(file["x"].attributes["missing"])
