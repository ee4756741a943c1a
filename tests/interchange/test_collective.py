"""Files that other programs wrote, read collectively under several distributions."""

from __future__ import annotations

from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import zarr
from h5py_programs import run_h5py
from ranks import run_on_ranks
from stored_cases import numbers

import weir

KEPT = Path(__file__).with_name("kept_places_program.py")
pytestmark = pytest.mark.filterwarnings("default")

VALUES = numbers((7, 10), "float64", 1)
CUBE = numbers((5, 6, 7), "int32", 2)
STEPS = numbers((3, 7, 10), "int16", 3)


def write_by_h5py(path: Path) -> dict[str, np.ndarray]:
    with h5py.File(path, "w", libver="v110") as file:
        file["plain"] = VALUES
        file["big"] = VALUES.astype(">f4")
        file.create_dataset("inner|chunked".replace("|", "/"), data=CUBE, chunks=(2, 4, 3))
        file.create_dataset("grows", data=STEPS, chunks=(2, 3, 10), maxshape=(None, 7, 10))
        sparse = file.create_dataset("sparse", (20, 20), "int32", chunks=(4, 5), fillvalue=-7)
        sparse[4:8, 5:10] = 1
        return {
            "plain": VALUES, "big": VALUES.astype("float32"), "inner|chunked": CUBE,
            "grows": STEPS, "sparse": sparse[...],
        }  # fmt: skip


def write_filtered_by_h5py(path: Path) -> dict[str, np.ndarray]:
    """What filtered_by_h5py.py writes, but for what is not exact and what Weir does not read."""
    run_h5py("filtered_by_h5py.py", path)
    sparse = np.full((20, 20), -7, "int32")
    sparse[4:8, 5:10] = 1
    exact = dict.fromkeys(("gzip", "shuffled", "summed", "zstd", "blosc"), VALUES)
    return exact | {"grows": numbers((3, 7, 10), "int16", 2), "sparse": sparse}


def write_by_netcdf4(path: Path, kind: str) -> dict[str, np.ndarray]:
    with netCDF4.Dataset(path, "w", format=kind) as file:
        for name, extent in (("time", None), ("y", 7), ("x", 10)):
            file.createDimension(name, extent)
        file.createVariable("plain", "f8", ("y", "x"))[...] = VALUES
        file.createVariable("grows", "i2", ("time", "y", "x"))[...] = STEPS
        file.createVariable("odd", "i1", ("time", "x"))[...] = STEPS[:, 0, :].astype("int8")
        file.createVariable("time", "f8", ("time",))[...] = [0, 6, 12]
    return {
        "time": np.array([0.0, 6, 12]),
        "plain": VALUES,
        "grows": STEPS,
        "odd": STEPS[:, 0, :].astype("int8"),
    }


def write_compressed_by_zarr(path: Path) -> dict[str, np.ndarray]:
    codecs = zarr.codecs
    kinds = {
        "zstd": codecs.ZstdCodec(level=3, checksum=True),
        "gzip": codecs.GzipCodec(level=2),
        "blosc": codecs.BloscCodec(cname="lz4", clevel=5, shuffle=codecs.BloscShuffle.bitshuffle),
        "summed": (codecs.ZstdCodec(), codecs.Crc32cCodec()),
    }
    group = zarr.create_group(path, zarr_format=3)
    for name, compressors in kinds.items():
        for suffix, shards in (("", None), ("_sharded", (6, 8))):
            array = group.create_array(
                name + suffix, shape=(7, 10), dtype="f8", chunks=(3, 4), shards=shards,
                compressors=compressors,
            )  # fmt: skip
            array[...] = VALUES
    grows = group.create_array("grows", shape=(3, 7, 10), dtype="i2", chunks=(1, 4, 10))
    grows[...] = STEPS
    values = {name + suffix: VALUES for name in kinds for suffix in ("", "_sharded")}
    return values | {"grows": STEPS}


def write_by_zarr(path: Path) -> dict[str, np.ndarray]:
    group = zarr.create_group(path, zarr_format=3)
    values = {"plain": VALUES, "big": VALUES.astype(">f4"), "sharded": VALUES, "columns": VALUES}
    columns = {"filters": [zarr.codecs.TransposeCodec(order=(1, 0))]}
    options = {"sharded": {"shards": (6, 8)}, "columns": columns}
    for name, one in values.items():
        array = group.create_array(
            name, shape=one.shape, dtype=one.dtype, chunks=(3, 4), compressors=None,
            **options.get(name, {}),
        )  # fmt: skip
        array[...] = one
    sparse = group.create_array(
        "sparse", shape=(20, 20), dtype="int32", chunks=(4, 5), fill_value=-7, compressors=None
    )
    sparse[4:8, 5:10] = 1
    return values | {"big": VALUES.astype("float32"), "sparse": sparse[...]}


def test_files_of_others_are_read_under_any_distribution(tmp_path: Path) -> None:
    written = {"theirs.h5": write_by_h5py(tmp_path / "theirs.h5")}
    for kind in ("NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"):
        written[f"{kind}.nc"] = write_by_netcdf4(tmp_path / f"{kind}.nc", kind)
    written["theirs.zarr"] = write_by_zarr(tmp_path / "theirs.zarr")
    written["filtered.h5"] = write_filtered_by_h5py(tmp_path / "filtered.h5")
    written["compressed.zarr"] = write_compressed_by_zarr(tmp_path / "compressed.zarr")
    for name, values in written.items():
        np.savez(tmp_path / f"{name}.npz", **values)
    shown = run_on_ranks(3, "read", tmp_path)
    for name, values in written.items():
        assert f"{len(values)} arrays of {name}\n" in shown


def test_steps_are_added_to_compressed_big_endian_chunks(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "growing.h5", "w", libver=("v110", "v110")) as file:
        file.create_dataset(
            "a", data=VALUES[np.newaxis].astype(">f8"), chunks=(1, *VALUES.shape),
            maxshape=(None, *VALUES.shape), compression="gzip",
        )  # fmt: skip
    run_on_ranks(2, "extend", tmp_path)
    with h5py.File(tmp_path / "growing.h5") as file:
        np.testing.assert_array_equal(file["a"][...], [VALUES, VALUES + 100])


def write_scattered(path: Path, chunks: int, steps: int) -> None:
    """One element a chunk, in no order: no chunk lies beside the chunk that has the next number."""
    shape = (steps, chunks) if steps else (chunks,)
    numbers_of_chunks = np.random.default_rng(1).permutation(max(steps, 1) * chunks)
    with h5py.File(path, "w", libver="v110") as file:
        x = file.create_dataset(
            "x", shape, "i4", chunks=(1,) * len(shape), maxshape=(None, chunks) if steps else None
        )
        for number in numbers_of_chunks.tolist():
            corner = divmod(number, chunks) if steps else (number,)
            x.id.write_direct_chunk(corner, number.to_bytes(4, "little"))


def test_places_of_many_chunks_are_kept_once_on_a_node(tmp_path: Path) -> None:
    """Each run of chunks takes 40 bytes, once on a node; a rank keeps less than a tenth of that."""
    chunks = 20_000
    write_scattered(tmp_path / "fixed.h5", chunks, steps=0)
    write_scattered(tmp_path / "steps.h5", chunks // 4, steps=4)
    shown = run_on_ranks(4, "", tmp_path, program=KEPT).splitlines()
    assert [line.split()[0] for line in shown] == ["fixed.h5", "steps.h5"]
    for line in shown:
        kept = [int(number) for number in line.split()[1:]]
        assert len(kept) == 4
        assert max(kept) < 4 * chunks, line


def test_no_step_of_many_chunks_is_lost(tmp_path: Path) -> None:
    """The array is alone in its file: nothing else shows that one of its steps is missing."""
    run_on_ranks(2, "many", tmp_path)
    steps = 10000 * np.arange(1, 4, dtype="int32")
    whole = np.arange(8193, dtype="int32") + steps[:, np.newaxis]
    sparse = np.zeros((12, 1024), "int32")
    sparse[range(12), range(12)] = range(1, 13)
    for name, expected in (("plain", whole), ("encoded", whole), ("sparse", sparse)):
        path = tmp_path / f"{name}.h5"
        with h5py.File(path) as file:
            np.testing.assert_array_equal(file["x"][...], expected, name)
        with weir.open(path) as file:
            np.testing.assert_array_equal(file["x"][...], expected, name)
