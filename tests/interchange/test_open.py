"""weir.open: files of arrays in one process, without MPI."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dask.array
import numpy as np
import pytest
import xarray as xr
from stored_cases import FORMATS, TITLE, cases

import weir
from weir._core.files import FileHandle

CLONE = Path(__file__).parent.parent.parent
C_EXAMPLE = CLONE / "build" / "release" / "examples" / "example_06_read_without_mpi"


@pytest.mark.parametrize("file_format", FORMATS)
def test_what_was_written_is_found_again(file_format: str, weir_files: dict[str, Path]) -> None:
    with weir.open(weir_files[file_format]) as file:
        assert file.format == file_format
        assert file.attributes["title"] == TITLE
        assert file.steps == 3
        assert not file.refused
        assert set(file.arrays) == {case.name for case in cases(file_format)}
        for case in cases(file_format):
            found = file[case.name]
            assert isinstance(found, weir.StoredArray)
            values, dimensions = case.values, case.dimensions
            if case.column_major and found.order == "C":  # what the file says, to everyone
                values, dimensions = values.T, dimensions[::-1]
            np.testing.assert_array_equal(found[...], values, case.name)
            assert found.dtype == values.dtype
            assert found.dimension_names == dimensions
            assert found.grows == case.grows
            assert found.fill == case.fill
            assert case.chunks is None or found.chunks == case.chunks
            assert found.shards == case.shards
            for name, value in case.attributes.items():
                np.testing.assert_array_equal(found.attributes[name], value)


KEYS = [
    0, -1, (2, 3), (..., 4), slice(1, 6, 2), (slice(None, None, -1), slice(8, 1, -3)),
    (slice(5, 2), 1), (slice(-4, None), ...), (..., slice(None, None, 4)), (), (np.int64(3), ...),
    (slice(100, None), slice(None)), (6, slice(None, None, -2)),
]  # fmt: skip


@pytest.mark.parametrize("file_format", ["hdf5", "cdf5", "zarr"])
@pytest.mark.parametrize("name", ["density", "chunked", "sharded", "chunk_columns", "as_int16"])
def test_indices_select_as_numpys_do(
    file_format: str, name: str, weir_files: dict[str, Path]
) -> None:
    with weir.open(weir_files[file_format]) as file:
        if name not in file:
            return
        array = file.arrays[name]
        values = array[...]
        for key in KEYS:
            expected = values[key]
            found = array[key]
            np.testing.assert_array_equal(found, expected, str(key))
            assert np.shape(found) == np.shape(expected)
            assert type(found) is type(expected)
            out = np.full(np.shape(expected), 77, array.dtype)
            array.read_into(out.T.copy().T, key)
            array.read_into(out, key)
            np.testing.assert_array_equal(out, expected, str(key))


NO_KEYS = [
    [1, 7], np.array([True] * 6), 1.5, True, "x", (0, 0, 0), 7, -8, (..., ...), (0, 10),
]  # fmt: skip


@pytest.mark.parametrize("key", NO_KEYS)
def test_other_indices_are_refused(key: object, weir_files: dict[str, Path]) -> None:
    with weir.open(weir_files["zarr"]) as file, pytest.raises(IndexError):
        file.arrays["density"][key]  # type: ignore[index]


def test_groups_are_mappings(weir_files: dict[str, Path]) -> None:
    with weir.open(weir_files["hdf5"]) as file:
        assert "fields" in file
        fields = file["fields"]
        assert isinstance(fields, weir.StoredGroup)
        assert fields.attributes["solver"] == "explicit"
        assert list(fields) == ["velocity"]
        assert len(fields) == 1
        assert fields["velocity/u"].name == "fields/velocity/u"
        assert list(fields["velocity"]) == ["u"]  # type: ignore[call-overload]
        with pytest.raises(KeyError):
            fields["velocity/v"]


GOOD = {"name": "a", "shape": [3], "type": "int32"}
BAD_DESCRIPTIONS: list[object] = [
    [], 3, {}, {"arrays": 3}, {"arrays": [3]}, {"arrays": [{}]}, {"arrays": [GOOD], "groups": [{}]},
    {"arrays": [GOOD | {"shape": [-1]}]}, {"arrays": [GOOD | {"shape": [2**64]}]},
    {"arrays": [GOOD | {"shape": [2**62, 2**62]}]}, {"arrays": [GOOD | {"shape": [1] * 17}]},
    {"arrays": [GOOD | {"type": "int7"}]}, {"arrays": [GOOD | {"order": "spiral"}]},
    {"arrays": [GOOD | {"chunks": [0]}]}, {"arrays": [GOOD | {"chunks": [1, 1]}]},
    {"arrays": [GOOD | {"fill": "0g"}]}, {"arrays": [GOOD | {"fill": "00"}]},
    {"arrays": [GOOD | {"codecs": "zap:3"}]}, {"arrays": [GOOD | {"grows": "yes"}]},
    {"arrays": [GOOD | {"attributes": [{"name": "u"}]}]}, {"arrays": [GOOD, GOOD]},
    {"arrays": [GOOD | {"attributes": [{"name": "u", "reals": ["many"]}]}]},
    {"arrays": [GOOD | {"name": "../a"}]}, {"arrays": [GOOD | {"colour": "red"}]},
    {"arrays": [GOOD], "alignment": 0},
]  # fmt: skip


@pytest.mark.parametrize("file_format", FORMATS)
def test_descriptions_that_cannot_be_are_refused(file_format: str, tmp_path: Path) -> None:
    for description in BAD_DESCRIPTIONS:
        with pytest.raises(weir.Error):
            FileHandle.create(tmp_path / "file", file_format, description)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    FileHandle.create(tmp_path / "file", file_format, {"arrays": [GOOD]}).close()
    assert list(tmp_path.iterdir()) == []


def test_a_closed_file_says_so(weir_files: dict[str, Path]) -> None:
    with weir.open(weir_files["cdf5"]) as file:
        array = file.arrays["density"]
    with pytest.raises(ValueError, match="was closed"):
        array[0]


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(weir.StorageError, match="No such file"):
        weir.open(tmp_path / "nothing")
    (tmp_path / "text").write_text("no array")
    with pytest.raises(weir.UnsupportedError, match="neither HDF5 nor NetCDF"):
        weir.open(tmp_path / "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(weir.UnsupportedError, match=r"not a Zarr store: it has no zarr\.json"):
        weir.open(tmp_path / "folder")


def test_reading_what_a_cut_file_has_lost_fails(
    tmp_path: Path, weir_files: dict[str, Path]
) -> None:
    whole = weir_files["cdf5"].read_bytes()
    path = tmp_path / "short.nc"
    path.write_bytes(whole[: len(whole) // 2])
    with weir.open(path) as file:
        last = list(file.arrays.values())[-1]
        with pytest.raises(weir.StorageError, match="the file ends"):
            last[...]


@pytest.mark.parametrize("file_format", FORMATS)
def test_threads_read_at_once(file_format: str, weir_files: dict[str, Path]) -> None:
    with weir.open(weir_files[file_format]) as file, ThreadPoolExecutor(8) as threads:
        array = file.arrays["pressure"]
        values = array[...]
        rows = threads.map(lambda n: (n, array[n % 3, n % 7]), range(400))
        assert all((row == values[n % 3, n % 7]).all() for n, row in rows)


def test_dask_takes_chunks_and_reads_lazily(weir_files: dict[str, Path]) -> None:
    with weir.open(weir_files["zarr"]) as file:
        array = file.arrays["chunked"]
        lazy = dask.array.from_array(array, chunks=array.chunks)
        assert lazy.chunks == ((3, 3, 1), (4, 4, 2))
        np.testing.assert_array_equal((lazy * 2)[::2].compute(), array[...][::2] * 2)
        again = weir.open(weir_files["zarr"]).arrays["chunked"]
        assert dask.array.from_array(again, chunks=array.chunks).name == lazy.name


def test_arrays_travel_to_other_processes(weir_files: dict[str, Path]) -> None:
    array = weir.open(weir_files["hdf5"]).arrays["density"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array))[...], array[...])
    np.testing.assert_array_equal(np.asarray(array, "float32"), array[...].astype("float32"))


def test_xarray_reads_chunks_by_dask_and_groups(weir_files: dict[str, Path]) -> None:
    with xr.open_dataset(weir_files["zarr"], engine="weir", chunks={}) as data:
        assert data["chunked"].chunks == ((3, 3, 1), (4, 4, 2))
        assert data["density"].mean("x").compute().dims == ("y",)
        assert data["density"].attrs["units"] == "kg m-3"
    with xr.open_dataset(weir_files["hdf5"], engine="weir", group="fields/velocity") as data:
        assert list(data.variables) == ["u"]
    with xr.open_datatree(weir_files["hdf5"], engine="weir") as tree:
        assert tree["/fields/velocity/u"].shape == (7, 10)


def test_neither_mpi_nor_xarray_is_loaded(weir_files: dict[str, Path]) -> None:
    code = (
        "import sys, weir\n"
        f"array = weir.open({str(weir_files['hdf5'])!r}).arrays['density']\n"
        "assert array[0, 0] == 1\n"
        "loaded = {'mpi4py', 'xarray', 'dask', 'duckdb', 'pydantic'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


def test_the_examples_read_files(weir_files: dict[str, Path]) -> None:
    path = weir_files["hdf5"]
    script = CLONE / "examples" / "05_read_without_mpi.py"
    shown = subprocess.run(
        [sys.executable, script, path], timeout=60, check=True, capture_output=True, text=True
    ).stdout
    assert "y: (7,) int32, largest at the end 6 m\n" in shown
    assert "chunked_steps: (3, 7, 10) int16" in shown


@pytest.mark.skipif(not C_EXAMPLE.exists(), reason="the examples are not built")
def test_the_example_in_c_reads_files(weir_files: dict[str, Path]) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OMPI")}
    shown = subprocess.run(
        [C_EXAMPLE, weir_files["zarr"]],
        timeout=60, check=True, capture_output=True, text=True, env=environment,
    ).stdout  # fmt: skip
    assert "as_uint8: uint8, first byte 10\n" in shown
    assert "chunked: int32, first byte 5\n" in shown


def test_rows_of_a_compressed_chunk_come_from_one_decoding(tmp_path: Path) -> None:
    path, values = tmp_path / "rows.zarr", np.arange(64.0 * 50).reshape(64, 50)
    weir.save(path, {"v": values}, chunks={"v": (64, 50)}, codec="gzip:1")
    chunk = next(path.glob("v/c*"))
    before = chunk.stat()
    with weir.open(path) as file, weir.open(path, cache_bytes=0) as forgetful:
        assert file.cache_bytes == 64 << 20
        np.testing.assert_array_equal(file["v"][0], values[0])
        np.testing.assert_array_equal(forgetful["v"][0], values[0])
        with chunk.open("r+b") as data:
            data.write(bytes(before.st_size))
        os.utime(chunk, ns=(before.st_atime_ns, before.st_mtime_ns))
        for row in range(1, 64):
            np.testing.assert_array_equal(file["v"][row], values[row])
        with pytest.raises(weir.StorageError, match="chunk 0"):
            forgetful["v"][1]
        os.utime(chunk, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
        with pytest.raises(weir.StorageError, match="chunk 0"):
            file["v"][1]
    with pytest.raises(ValueError, match="cache_bytes=-1"):
        weir.open(path, cache_bytes=-1)
    assert pickle.loads(pickle.dumps(weir.open(path, cache_bytes=9))).cache_bytes == 9
