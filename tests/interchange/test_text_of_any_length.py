"""Arrays of texts of any length, by the programs of others: HDF5's, NetCDF-4's and Zarr's."""

from __future__ import annotations

import itertools
import json
import struct
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr
from numcodecs import VLenUTF8, Zstd
from typer.testing import CliRunner

import weir
from weir.check.checking import check
from weir.cli import application
from weir.convert import ConversionError, convert

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore:The data type"),
    pytest.mark.filterwarnings("ignore:The codec"),
]

WORDS = np.array(
    [[f"{'ä' * (3 * row)}word {column}" for column in range(7)] for row in range(5)], object
)
WORDS[1, 2] = ""
WORDS[3, 3] = "long " * 20000  # longer than what is read at once
FORMATS = ["h5", "nc", "zarr", "raw"]


def assert_same(found: Any, expected: np.ndarray[Any, Any]) -> None:
    assert isinstance(found, np.ndarray)
    assert found.dtype == object
    assert found.shape == expected.shape
    assert found.tolist() == expected.tolist()


def assert_converted(path: Path, folder: Path, texts: dict[str, np.ndarray[Any, Any]]) -> None:
    """Each format has these texts, by Weir."""
    with weir.open(path) as file:
        for suffix in FORMATS:
            target = folder / f"converted_{path.stem}.{suffix}"
            convert(file, target, skip_unreadable=suffix == "nc")
            with weir.open(target) as copy:
                for name, expected in texts.items():
                    found = copy[name][...]
                    if suffix == "nc":  # rows of characters
                        found = np.ascontiguousarray(found).view(f"S{found.shape[-1]}")[..., 0]
                    if found.dtype.kind == "S":
                        found = np.char.decode(found, "utf-8")
                    assert found.tolist() == expected.tolist(), (suffix, name)


@pytest.mark.parametrize("user_block", [0, 1024])
def test_h5pys_texts(user_block: int, tmp_path: Path) -> None:
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w", userblock_size=user_block) as file:
        file["words"] = WORDS
        file["ascii"] = np.array([b"a", b"bcd"], h5py.string_dtype("ascii"))
        file["one"] = "just one"
        file.create_dataset("unwritten", (3,), h5py.string_dtype())
        file["words"].attrs["tags"] = ["a", "bcd", "é"]
        file["number"] = 1.5
    with weir.open(path) as file:
        assert not file.refused
        words = file.arrays["words"]
        assert (words.shape, words.dtype) == ((5, 7), object)
        assert words.attributes["tags"] == ["a", "bcd", "é"]
        assert_same(words[...], WORDS)
        assert_same(words[1::2, ::-3], WORDS[1::2, ::-3])
        assert_same(words[-1], WORDS[-1])
        assert_same(words[[0, 3, 3], 1:3], WORDS[[0, 3, 3], 1:3])
        assert words[3, 3] == WORDS[3, 3]
        assert_same(file["ascii"][...], np.array(["a", "bcd"], object))
        assert (file["one"].shape, file["one"][()]) == ((), "just one")
        assert_same(file["unwritten"][...], np.array([""] * 3, object))
        room = np.empty((2, 7), object)
        words.read_into(room, np.s_[:2])
        assert_same(room, WORDS[:2])
    assert_converted(path, tmp_path, {"words": WORDS, "ascii": np.array(["a", "bcd"])})
    with h5py.File(tmp_path / "converted_theirs.h5") as file:
        assert file["words"].asstr()[...].tolist() == WORDS.tolist()
        assert file["one"][()].decode() == "just one"
    assert zarr.open_group(tmp_path / "converted_theirs.zarr")["words"][...].tolist() == (
        WORDS.tolist()
    )


def test_chunks_filters_and_fills(tmp_path: Path) -> None:
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("words", data=WORDS, chunks=(2, 3), compression="gzip", shuffle=True)
        filled = file.create_dataset(
            "filled", (6,), h5py.string_dtype(), chunks=(2,), fillvalue="gone"
        )
        filled[2:4] = ["x", "y"]
        file.create_dataset("grows", (2,), h5py.string_dtype(), maxshape=(None,))[:] = ["p", "q"]
    with weir.open(path) as file:
        assert_same(file["words"][...], WORDS)
        assert_same(file["words"][1:4, 2:], WORDS[1:4, 2:])
        assert file.arrays["filled"].fill == "gone"
        expected = np.array(["gone", "gone", "x", "y", "gone", "gone"], object)
        assert_same(file["filled"][...], expected)
        assert file.arrays["grows"].grows
        assert_same(file["grows"][...], np.array(["p", "q"], object))
    assert_converted(path, tmp_path, {"words": WORDS, "filled": expected})
    with h5py.File(tmp_path / "converted_theirs.h5") as file:
        assert file["filled"].fillvalue == b"gone"


def test_netcdf4s_strings(tmp_path: Path) -> None:
    path = tmp_path / "theirs.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("n", 3)
        stations = file.createVariable("stations", str, ("time", "n"))
        for row in range(4):
            stations[row] = np.array([f"s{row}", "", "Å" * row], object)
        file.createVariable("title", str, ())[...] = "a title"
        file.setncattr_string("notes", ["one", "two"])
    expected = np.array([[f"s{row}", "", "Å" * row] for row in range(4)], object)
    with weir.open(path) as file:
        assert file.attributes["notes"] == ["one", "two"]
        assert_same(file["stations"][...], expected)
        assert file["stations"].dimension_names == ("time", "n")
        assert file["title"][()] == "a title"
        assert file.steps == 4
    with xr.open_dataset(path, engine="weir") as ours, xr.open_dataset(path) as theirs:
        xr.testing.assert_equal(ours.load(), theirs.load())
    with weir.open(path) as file:
        lines: list[str] = []
        convert(file, tmp_path / "copy.nc", skip_unreadable=True, name_line=lines.append)
        assert any("notes" in line for line in lines)
    with netCDF4.Dataset(tmp_path / "copy.nc") as file:
        assert netCDF4.chartostring(file["stations"][...], "utf-8").tolist() == expected.tolist()


@pytest.mark.parametrize("compressors", ["auto", None])
@pytest.mark.parametrize("shards", [None, (4, 6)])
def test_zarrs_strings(compressors: Any, shards: Any, tmp_path: Path) -> None:
    path = tmp_path / "theirs.zarr"
    theirs = zarr.create_group(path, zarr_format=3)
    array = theirs.create_array(
        "words", shape=WORDS.shape, dtype="string", chunks=(2, 3), shards=shards,
        compressors=compressors, fill_value="none", dimension_names=["y", "x"],
    )  # fmt: skip
    expected = WORDS.copy()
    expected[4:, 6:] = "none"
    array[:4] = WORDS[:4]
    array[4:, :6] = WORDS[4:, :6]
    zero = theirs.create_array("zero", shape=(2,), dtype="string", chunks=(2,))
    zero[:] = np.array(["a\0b", "c"], object)
    with weir.open(path) as file:
        assert not file.refused
        assert file.arrays["words"].fill == "none"
        assert_same(file["words"][...], expected)
        assert_same(file["words"][4:1:-2, 1::2], expected[4:1:-2, 1::2])
        assert_same(file["zero"][...], np.array(["a\0b", "c"], object))
    assert_converted(path, tmp_path, {"words": expected, "zero": np.array(["a\0b", "c"])})
    lines: list[str] = []
    with weir.open(path) as file:
        convert(file, tmp_path / "again.h5", name_line=lines.append)
    assert any("words: its fill value is left out" in line for line in lines)


@pytest.mark.parametrize("order", ["C", "F"])
def test_zarr_v2s_texts(order: Any, tmp_path: Path) -> None:
    path = tmp_path / "theirs.zarr"
    theirs = zarr.create_group(path, zarr_format=2)
    array = theirs.create_array(
        "words", shape=WORDS.shape, dtype=str, chunks=(2, 3), order=order,
        filters=[VLenUTF8()], compressors=[Zstd(1)],
    )  # fmt: skip
    array[...] = WORDS
    assert json.loads((path / "words" / ".zarray").read_text())["dtype"] == "|O"
    with weir.open(path) as file:
        assert not file.refused
        assert_same(file["words"][...], WORDS)
        assert_same(file["words"][::2, 3], WORDS[::2, 3])
    assert_converted(path, tmp_path, {"words": WORDS})


def test_bytes_that_are_no_utf8_stay(tmp_path: Path) -> None:
    path = tmp_path / "theirs.h5"
    texts = [b"\xffabc", b"d"]
    with h5py.File(path, "w") as file:
        file["texts"] = np.array(texts, h5py.string_dtype())
    with weir.open(path) as file:
        found = file["texts"][...]
        assert [one.encode("utf-8", "surrogateescape") for one in found] == texts
        for suffix in ("h5", "zarr"):
            convert(file, tmp_path / f"copy.{suffix}")
            with weir.open(tmp_path / f"copy.{suffix}") as copy:
                assert copy["texts"][...].tolist() == texts


def test_a_zero_at_the_end_has_no_place_in_a_fixed_length(tmp_path: Path) -> None:
    array = zarr.create_array(tmp_path / "a.zarr", shape=(1,), dtype="string", zarr_format=3)
    array[:] = np.array(["a\0"], object)
    with weir.open(tmp_path / "a.zarr") as file, pytest.raises(ConversionError, match="a zero"):
        convert(file, tmp_path / "b.zarr")
    assert not (tmp_path / "b.zarr").exists()


def test_ls_and_check(tmp_path: Path) -> None:
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w") as file:
        file["words"] = WORDS
    listed = CliRunner().invoke(application(), ["ls", str(path)])
    assert listed.exit_code == 0
    assert "text" in listed.output
    described = json.loads(CliRunner().invoke(application(), ["ls", "--json", str(path)]).output)
    assert (described["arrays"][0]["type"], described["refused"]) == ("text", {})
    assert check(path).findings == []
    damaged = path.read_bytes().replace(b"GCOL", b"GCOK", 1)
    path.write_bytes(damaged)
    findings = check(path).findings
    assert len(findings) == 1
    assert "array words" in findings[0]
    assert "no collection of texts" in findings[0]


def test_damaged_chunks_are_named(tmp_path: Path) -> None:
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=(4,), dtype="string", chunks=(2,), zarr_format=3,
        compressors=None,
    )  # fmt: skip
    array[:] = np.array(["a", "bc", "def", "g"], object)
    chunk = tmp_path / "a.zarr" / "c" / "1"
    whole = chunk.read_bytes()
    for bad in (whole[:-1], whole + b"x", b"", b"\xff" * len(whole)):
        chunk.write_bytes(bad)
        with weir.open(tmp_path / "a.zarr") as file:
            (only,) = file.arrays.values()
            assert_same(only[:2], np.array(["a", "bc"], object))
            with pytest.raises(weir.StorageError, match="chunk 1: it does not hold 2 texts"):
                only[...]


@pytest.mark.parametrize("encoded", [False, True])
def test_a_chunk_has_at_most_256_mib(encoded: bool, tmp_path: Path) -> None:
    most = 1 << 28
    path = tmp_path / "a.zarr"
    array = zarr.create_array(
        path, shape=(1,), dtype="string", zarr_format=3,
        compressors=zarr.codecs.ZstdCodec(level=1) if encoded else None,
    )  # fmt: skip
    array[0] = "x"
    for length in (most, most + 1):
        chunk = struct.pack("<II", 1, length - 8) + b"x" * (length - 8)
        (path / "c" / "0").write_bytes(Zstd(level=1).encode(chunk) if encoded else chunk)
        del chunk
        with weir.open(path) as file:
            (only,) = file.arrays.values()
            if length == most:
                assert len(only[0]) == length - 8
            else:
                with pytest.raises(weir.StorageError, match="chunk 0"):
                    only[0]


def test_texts_are_read_by_their_own_call(tmp_path: Path) -> None:
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w") as file:
        file["words"], file["numbers"] = WORDS, np.arange(3.0)
    with weir.open(path) as file:
        numbers = {array["name"]: n for n, array in enumerate(file.handle.description["arrays"])}
        room = np.empty(35)
        with pytest.raises(weir.Error, match=r"files_read_texts\(\)"):
            file.handle.read(numbers["words"], [0, 0], [5, 7], [1, 1], room.reshape(5, 7))
        with pytest.raises(weir.Error, match=r"files_read\(\)"):
            file.handle.read_texts(numbers["numbers"], [0], [3], [1])
        with pytest.raises(weir.Error, match="array is 2, but the file has"):
            file.handle.read_texts(2, [0], [3], [1])


def test_lists_of_variable_length_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("ragged", (2,), h5py.vlen_dtype("f8"))
    with weir.open(tmp_path / "a.h5") as file:
        assert file.refused == {"ragged": "its elements are lists of variable length"}


def test_many_texts_in_many_collections(tmp_path: Path) -> None:
    texts = np.array([f"{n}:{'x' * (n % 97)}" for n in range(20000)], object)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset("texts", (len(texts),), h5py.string_dtype(), chunks=(1000,))
        for first in itertools.chain(range(1, 20, 2), range(0, 20, 2)):
            dataset[first * 1000 : (first + 1) * 1000] = texts[first * 1000 : (first + 1) * 1000]
    with weir.open(tmp_path / "a.h5") as file:
        assert_same(file["texts"][...], texts)
        assert_same(file["texts"][19999::-7], texts[19999::-7])
