"""Arrays of text and characters, by the programs of others and by Weir."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr
from ranks import run_on_ranks
from text_values import NOTES, STEPS, SUFFIXES, TITLE, texts, types_of

import weir
from weir.convert import convert
from weir.convert.target import ConversionError

pytestmark = pytest.mark.filterwarnings("default")

NAMES = np.array([[b"north", b"n", b""], [b"south\x00x", b"\xc3\xbcber", b"w"]], "S7")
WORDS = np.array(["Äpfel", "", "日本", "ab"], "U5")
TIMES = np.array([b"2026-11-22_00:00:00", b"2026-11-22_06:00:00"]).view("S1").reshape(2, 19)


def assert_same(found: Any, expected: np.ndarray[Any, Any]) -> None:
    assert isinstance(found, np.ndarray)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_h5pys_texts_of_fixed_length(tmp_path: Path) -> None:
    path = tmp_path / "theirs.h5"
    with h5py.File(path, "w") as file:
        file["names"] = NAMES
        utf8 = h5py.string_dtype("utf-8", 7)
        file.create_dataset("utf8", data=NAMES.astype(utf8), chunks=(1, 2), compression="gzip")
        file.create_dataset("filled", (4,), "S3", chunks=(2,), fillvalue=b"ab")
        file["numbers"] = np.arange(3)
        file["variable"] = ["a", "bcd"]
    with weir.open(path) as file:
        assert_same(file["names"][...], NAMES)
        assert_same(file["utf8"][...], NAMES)
        assert_same(file["utf8"][1, ::-2], NAMES[1, ::-2])
        assert_same(file["filled"][...], np.array([b"ab"] * 4, "S3"))
        assert file.arrays["filled"].fill == b"ab"
        assert file["variable"][...].tolist() == ["a", "bcd"]
        assert file.arrays["names"].dtype == "S7"


@pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"])
def test_netcdfs_characters(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "wrf.nc"
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("Time", None)
        file.createDimension("DateStrLen", 19)
        file.createVariable("Times", "S1", ("Time", "DateStrLen"))[:] = TIMES
        file.createVariable("crs", "S1", ())
        file.createVariable("u", "f4", ("Time",))[:] = [1, 2]
    with weir.open(path) as file:
        assert not file.refused
        assert_same(file["Times"][...], TIMES)
        assert file.arrays["Times"].dimension_names == ("Time", "DateStrLen")
        for name in ("copy.zarr", "copy.h5", "copy.nc", "copy.raw"):
            convert(file, tmp_path / name)
            with weir.open(tmp_path / name) as copy:
                assert_same(copy["Times"][...], TIMES)
                np.testing.assert_array_equal(copy["u"][...], [1, 2])
    with xr.open_dataset(path, engine="weir") as ours, xr.open_dataset(path) as theirs:
        xr.testing.assert_identical(ours["Times"].load(), theirs["Times"].load())
        assert ours["Times"].values[1] == b"2026-11-22_06:00:00"
    with netCDF4.Dataset(tmp_path / "copy.nc") as file:
        found = netCDF4.chartostring(file["Times"][...], encoding="ascii")
        assert found.tolist() == ["2026-11-22_00:00:00", "2026-11-22_06:00:00"]
    with netCDF4.Dataset(tmp_path / "copy.h5") as file:
        np.testing.assert_array_equal(file["Times"][...], TIMES)


@pytest.mark.filterwarnings("ignore:The data type")
def test_zarrs_texts_of_fixed_length(tmp_path: Path) -> None:
    path = tmp_path / "theirs.zarr"
    theirs = zarr.create_group(path, zarr_format=3)
    for name, values in (("words", WORDS), ("names", NAMES), ("big", WORDS.astype(">U5"))):
        theirs.create_array(name, data=values, chunks=(2,) * values.ndim)
    theirs.create_array("filled", shape=(3,), dtype="U4", chunks=(2,), fill_value="ÄΩ")
    theirs.create_array("filled_bytes", shape=(3,), dtype="S4", chunks=(2,), fill_value=b"\xff\x01")
    with weir.open(path) as file:
        assert not file.refused
        assert_same(file["words"][...], WORDS)
        assert_same(file["big"][::-1], WORDS[::-1])
        assert_same(file["names"][...], NAMES)
        assert_same(file["filled"][...], np.array(["ÄΩ"] * 3, "U4"))
        assert_same(file["filled_bytes"][...], np.array([b"\xff\x01"] * 3, "S4"))
        convert(file, tmp_path / "copy.zarr")
        convert(file, tmp_path / "copy.raw")
        convert(file, tmp_path / "copy.h5")
        lines: list[str] = []
        convert(file, tmp_path / "copy.nc", skip_unreadable=True, name_line=lines.append)
        assert len([line for line in lines if "several characters" in line]) == 2
    with weir.open(tmp_path / "copy.raw") as copy:
        assert_same(copy["words"][...], WORDS)
    ours = zarr.open_group(tmp_path / "copy.zarr")
    assert_same(ours["words"][...], WORDS)
    assert_same(ours["names"][...], NAMES)
    assert ours["filled"].fill_value == "ÄΩ"
    assert ours["filled_bytes"].fill_value == b"\xff\x01"
    with h5py.File(tmp_path / "copy.h5") as file:
        assert file["words"].asstr()[...].tolist() == WORDS.tolist()
        np.testing.assert_array_equal(file["names"][...], NAMES)
        assert file["filled"].fillvalue.decode() == "ÄΩ"
    with netCDF4.Dataset(tmp_path / "copy.nc") as file:
        assert file["names"].shape == (2, 3, 7)
        found = file["words"][...].tobytes().decode()
        assert [found[at : at + 20].rstrip("\0") for at in range(0, len(found), 20)][3] == "ab" or (
            "日本" in found
        )


@pytest.mark.filterwarnings("ignore:The data type")
def test_zarrs_instants_are_numbers_with_units(tmp_path: Path) -> None:
    path = tmp_path / "theirs.zarr"
    instants = np.array(["2026-11-22T00:00:01", "1969-12-31T23:59:59"], "M8[s]")
    theirs = zarr.create_group(path, zarr_format=3)
    theirs.create_array("when", data=instants, dimension_names=["n"])
    theirs.create_array("years", data=instants.astype("M8[Y]"), dimension_names=["n"])
    with weir.open(path) as file:
        assert file["when"].attributes["units"] == "seconds since 1970-01-01"
        assert_same(file["when"][...], instants.astype("int64"))
        assert "numpy.datetime64 in units of Y" in file.refused["years"]
    with xr.open_dataset(path, engine="weir") as ours:
        np.testing.assert_array_equal(ours["when"].values, instants.astype("M8[ns]"))


@pytest.mark.parametrize("suffix", ["h5", "nc", "zarr", "raw"])
def test_texts_are_saved(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    weir.save(path, {"names": NAMES, "words": WORDS, "x": [1.5]}, dimensions={"names": ("i", "j")})
    with weir.open(path) as file:
        names, words = file["names"][...], file["words"][...]
        if suffix == "nc":
            assert file.arrays["names"].dimension_names == ("i", "j", "string7")
            names, words = names.view("S7")[..., 0], words.view("S20")[..., 0]
        assert_same(names, NAMES)
        if words.dtype.kind == "S":
            words = np.char.decode(words, "utf-8")
        assert words.tolist() == WORDS.tolist()


def of_bytes(length: int) -> dict[str, Any]:
    return {"data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": length}}}


@pytest.mark.filterwarnings("ignore:The data type")
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (of_bytes(6), "neither numbers nor texts"),
        (of_bytes(-4), "give 1 to"),
        (of_bytes(1 << 62), "give 1 to"),
        ({"data_type": {"name": "fixed_length_utf32"}}, "neither numbers nor texts"),
        ({"fill_value": "too long for it"}, "its fill value"),
        ({"fill_value": 3}, "its fill value"),
    ],
)
def test_types_that_lie_are_refused(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    path = tmp_path / "theirs.zarr"
    zarr.create_array(path, data=WORDS, zarr_format=3)
    document = json.loads((path / "zarr.json").read_text())
    (path / "zarr.json").write_text(json.dumps({**document, **changes}))
    with weir.open(path) as file:
        assert not file.arrays
        assert reason in next(iter(file.refused.values()))


@pytest.mark.filterwarnings("ignore:The data type")
def test_arrays_without_dimensions_stay_so(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file["number"], file["text"] = 3.5, np.bytes_("abc")
    with netCDF4.Dataset(tmp_path / "theirs.nc", "w", format="NETCDF3_64BIT_DATA") as file:
        file.createVariable("number", "f8", ())[...] = 3.5
        file.createVariable("text", "S1", ())[...] = "a"
    theirs = zarr.create_group(tmp_path / "theirs.zarr", zarr_format=3)
    theirs.create_array("number", data=np.array(3.5))
    theirs.create_array("text", data=np.array(b"abc"))
    with weir.open(tmp_path / "theirs.h5") as file:
        number = file.arrays["number"]
        assert (number.shape, number[()], number[...].shape, number.chunks) == ((), 3.5, (), None)
        assert np.asarray(number) == 3.5
        with pytest.raises(IndexError):
            number[0]
        with pytest.raises(TypeError, match="no dimensions"):
            len(number)
    for source in ("theirs.h5", "theirs.nc", "theirs.zarr"):
        with weir.open(tmp_path / source) as file:
            text = file["text"][()]
            assert (file["number"].shape, file["number"][()]) == ((), 3.5)
            for suffix in ("h5", "nc", "zarr", "raw"):
                target = tmp_path / f"{source}.{suffix}"
                convert(file, target)
                with weir.open(target) as copy:
                    assert (copy["number"].shape, copy["number"][()]) == ((), 3.5), target
                    assert copy["number"].fill == file["number"].fill
                    assert copy["text"][...].tobytes() == text, target
    assert zarr.open_group(tmp_path / "theirs.h5.zarr")["number"].shape == ()
    with h5py.File(tmp_path / "theirs.zarr.h5") as file:
        assert (file["number"].shape, file["number"][()]) == ((), 3.5)
    with netCDF4.Dataset(tmp_path / "theirs.h5.nc") as file:
        assert (file["number"].dimensions, float(file["number"][...])) == ((), 3.5)
    with xr.open_dataset(tmp_path / "theirs.nc.zarr", engine="weir") as file:
        assert float(file["number"]) == 3.5
    weir.save(tmp_path / "ours.zarr", {"number": np.float32(2)}, codec="gzip:1")
    weir.save(tmp_path / "ours.h5", {"number": np.float32(2)}, codec="deflate:1")
    for path in ("ours.zarr", "ours.h5"):
        with weir.open(tmp_path / path) as file:
            assert (file["number"].shape, file["number"][()]) == ((), 2)


def test_a_fill_of_several_characters_is_named_where_it_has_no_place(tmp_path: Path) -> None:
    source, target = tmp_path / "filled.h5", tmp_path / "filled.nc"
    with h5py.File(source, "w") as file:
        file.create_dataset("names", (4,), "S3", chunks=(2,), fillvalue=b"ab")
        file.create_dataset("plain", data=np.array([b"a", b"bc"]))
    said = r"names.*several characters"
    with weir.open(source) as file, pytest.raises(ConversionError, match=said):
        convert(file, target)
    lines: list[str] = []
    with weir.open(source) as file:
        convert(file, target, skip_unreadable=True, name_line=lines.append)
    assert [line for line in lines if "several characters" in line and "names" in line]
    assert not [line for line in lines if "plain" in line]
    with weir.open(target) as file:
        assert file["names"].shape == (4, 3)


@pytest.mark.parametrize(("dtype", "fill"), [("S1", "x"), ("S4", "none"), ("U3", "ä")])
def test_a_fill_value_of_text_goes_into_zarr_and_back(
    dtype: str, fill: str, tmp_path: Path
) -> None:
    path, again = tmp_path / "texts.zarr", tmp_path / "again.zarr"
    values = np.array(["a", fill], dtype)
    weir.save(path, {"names": values}, attributes={"names": {"_FillValue": fill, "units": "1"}})
    with weir.open(path) as file:
        assert file["names"].attributes["_FillValue"] == fill
        convert(file, again)
    for store in (path, again):
        with weir.open(store) as file:
            assert file["names"].attributes == {"_FillValue": fill, "units": "1"}
            assert_same(file["names"][...], values)
        # xarray opens no store in which an array of text has the attribute itself.
        with xr.open_dataset(store, engine="zarr") as dataset:
            found = dataset["names"].values
            # xarray puts single characters together.
            assert (found.item() == b"ax") if dtype == "S1" else (found == values).all()
        assert zarr.open_group(store, mode="r")["names"].fill_value == values[1]


TEXTS_ON_RANKS = Path(__file__).parent / "text_program.py"


def of_steps(dtype: str) -> np.ndarray[Any, Any]:
    return np.array([texts(dtype, step) for step in range(STEPS)])


@pytest.mark.filterwarnings("ignore:The data type")
def test_texts_are_written_and_read_by_several_ranks(tmp_path: Path) -> None:
    run_on_ranks(4, "write", tmp_path, program=TEXTS_ON_RANKS)
    for file_format, suffix in SUFFIXES.items():
        path = tmp_path / f"file.{suffix}"
        with weir.open(path) as file:
            assert not file.refused
            attributes = {"title": TITLE, "nothing": ""}
            if not file_format.startswith("cdf"):
                attributes["notes"] = NOTES
            assert file.attributes == attributes
            values = {name: file[name][...] for name in file.arrays}
            for name, found in values.items():
                dtype, _, kind = name.partition("_")
                assert_same(found, texts(dtype, 0) if kind == "once" else of_steps(dtype))
            assert {name.partition("_")[0] for name in values} == set(types_of(file_format))
            assert file["S1_steps"].attributes["long_name"] == TITLE
        np.savez(f"{path}.npz", **values)
    read_by_others(tmp_path)
    shown = run_on_ranks(3, "read", tmp_path, program=TEXTS_ON_RANKS)
    for suffix in SUFFIXES.values():
        count = len(np.load(tmp_path / f"file.{suffix}.npz").files)
        assert f"{count} arrays of file.{suffix}\n" in shown


def read_by_others(folder: Path) -> None:
    """The files of several ranks, by the libraries of their formats."""
    with h5py.File(folder / "file.h5") as file:
        for dtype in ("S1", "S7"):
            np.testing.assert_array_equal(file[f"{dtype}_encoded"][...], of_steps(dtype))
    for suffix in ("nc5", "nc2", "nc1"):
        with netCDF4.Dataset(folder / f"file.{suffix}") as file:
            file.set_auto_mask(False)
            np.testing.assert_array_equal(file["S1_steps"][...], of_steps("S1"))
    group = zarr.open_group(folder / "file.zarr", mode="r")
    for dtype in ("S1", "S7", "U5"):
        np.testing.assert_array_equal(group[f"{dtype}_encoded"][...], of_steps(dtype))


@pytest.mark.filterwarnings("ignore:The data type")
def test_texts_of_others_are_read_by_several_ranks(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file["names"] = NAMES
        utf8 = h5py.string_dtype("utf-8", 7)
        file.create_dataset("utf8", data=NAMES.astype(utf8), chunks=(1, 2), compression="gzip")
    with netCDF4.Dataset(tmp_path / "theirs.nc", "w", format="NETCDF3_64BIT_DATA") as file:
        file.createDimension("Time", None)
        file.createDimension("DateStrLen", 19)
        file.createVariable("Times", "S1", ("Time", "DateStrLen"))[:] = TIMES
    theirs = zarr.create_group(tmp_path / "theirs.zarr", zarr_format=3)
    for name, values in (("words", WORDS), ("names", NAMES), ("big", WORDS.astype(">U5"))):
        theirs.create_array(name, data=values, chunks=(2,) * values.ndim)
    np.savez(tmp_path / "theirs.h5.npz", names=NAMES, utf8=NAMES)
    np.savez(tmp_path / "theirs.nc.npz", Times=TIMES)
    np.savez(tmp_path / "theirs.zarr.npz", words=WORDS, names=NAMES, big=WORDS)
    shown = run_on_ranks(3, "read", tmp_path, program=TEXTS_ON_RANKS)
    for line in ("2 arrays of theirs.h5\n", "1 arrays of theirs.nc\n", "3 arrays of theirs.zarr\n"):
        assert line in shown
