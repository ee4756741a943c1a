"""weir convert: the data are the same in every format, layout and chunk shape."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr
from h5py_programs import run_h5py
from stored_cases import FORMATS, SUFFIXES, TITLE, cases

import weir
from weir._core.files import abilities, library
from weir.check import check
from weir.commands.convert import convert_command
from weir.convert import ConversionError, Layout, convert
from weir.convert.file_threads import run_in_threads
from weir.convert.tiles import tile_shape, tiles

pytestmark = pytest.mark.filterwarnings("default")


def common_names(one: str, other: str) -> list[str]:
    """Arrays that both formats can express."""
    names = {case.name for case in cases(one)} & {case.name for case in cases(other)}
    return sorted(name for name in names if "/" not in name)


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("origin", FORMATS)
def test_data_are_equivalent_between_formats(
    origin: str, to: str, weir_files: dict[str, Path], tmp_path: Path
) -> None:
    target = tmp_path / f"target.{SUFFIXES[to]}"
    names = common_names(origin, to)
    with weir.open(weir_files[origin]) as source:
        done = convert(source, target, file_format=to, arrays=names, workers=3, memory_bytes=500)
        assert done.bytes_done == sum(source.arrays[name].nbytes for name in names)
        with weir.open(target) as found:
            assert found.format == to
            assert set(found.arrays) == set(names)
            assert found.attributes["title"] == TITLE
            assert found.steps == 3
            for name in names:
                ours, theirs = source.arrays[name], found.arrays[name]
                np.testing.assert_array_equal(theirs[...], ours[...], name)
                assert theirs.dtype == ours.dtype
                assert theirs.dimension_names == ours.dimension_names
                assert theirs.grows == ours.grows
                assert theirs.fill == ours.fill
                assert theirs.attributes.keys() == ours.attributes.keys()
                for key, value in ours.attributes.items():
                    np.testing.assert_array_equal(theirs.attributes[key], value)
    documents = [f"{target.name}.json"] if to == "raw" else []
    assert sorted(path.name for path in tmp_path.iterdir()) == [target.name, *documents]


def test_there_and_back_again_is_the_same_file(weir_files: dict[str, Path], tmp_path: Path) -> None:
    there, back = tmp_path / "there.zarr", tmp_path / "back.nc5"
    with weir.open(weir_files["cdf5"]) as source:
        convert(source, there)
    with weir.open(there) as source:
        convert(source, back, arrays=[case.name for case in cases("cdf5")])
    assert back.read_bytes() == weir_files["cdf5"].read_bytes()


def test_all_of_a_file_with_groups(weir_files: dict[str, Path], tmp_path: Path) -> None:
    target = tmp_path / "target.zarr"
    with weir.open(weir_files["hdf5"]) as source:
        convert(source, target)
    group = zarr.open_group(target, mode="r")
    assert group["fields"].attrs["solver"] == "explicit"
    for case in cases("hdf5"):
        values = case.values.T if case.column_major else case.values
        np.testing.assert_array_equal(group[case.name][...], values, case.name)


def test_every_format_says_what_it_has() -> None:
    """Names of files are unique to a format; only formats with chunks have codecs or shards."""
    suffixes = [suffix for able in abilities().values() for suffix in able["suffixes"]]
    assert len(suffixes) == len(set(suffixes))
    assert {".zarr", ".raw", ".nc"} <= set(suffixes)
    for able in abilities().values():
        assert able["chunks"] or not (able["codecs"] or able["shards"])
    assert abilities()["zarr"]["shards"]
    assert not abilities()["cdf5"]["groups"]


def test_chunks_and_shards_are_as_asked(weir_files: dict[str, Path], tmp_path: Path) -> None:
    target = tmp_path / "target.zarr"
    layout = Layout({"": (2, 3), "chunked": (5, 5)}, {"density": (4, 6)})
    names = ["density", "chunked", "count"]
    with weir.open(weir_files["hdf5"]) as source:
        convert(source, target, layout=layout, arrays=names, memory_bytes=1)
        group = zarr.open_group(target, mode="r")
        for name in names:
            np.testing.assert_array_equal(group[name][...], source.arrays[name][...])
    assert group["count"].chunks == group["density"].chunks == (2, 3)
    assert group["chunked"].chunks == (5, 5)
    assert group["density"].shards == (4, 6)
    with weir.open(target) as source:
        contiguous = tmp_path / "target.h5"
        convert(source, contiguous, layout=Layout({"density": (7, 10)}), arrays=["density"])
    with h5py.File(contiguous) as file:
        assert file["density"].chunks == (7, 10)


def test_chunks_are_for_arrays_of_as_many_dimensions(tmp_path: Path) -> None:
    source, target = tmp_path / "source.h5", tmp_path / "target.h5"
    with h5py.File(source, "w") as file:
        file.create_dataset("field", data=np.arange(60.0).reshape(3, 4, 5))
        file.create_dataset("time", data=np.arange(3.0), chunks=(2,))
    with weir.open(source) as opened:
        convert(opened, target, layout=Layout({"": (1, 4, 5)}))
        with pytest.raises(ConversionError, match="has no shards"):
            convert(opened, tmp_path / "none.h5", layout=Layout({}, {"field": (3, 4, 5)}))
        with pytest.raises(ConversionError, match="chunks 4,5: no array has 2 dimensions"):
            convert(opened, tmp_path / "none.h5", layout=Layout({"": (4, 5)}))
        with pytest.raises(ConversionError, match="chunks 4,5 for array 'time' of 1 dimensions"):
            convert(opened, tmp_path / "none.h5", layout=Layout({"time": (4, 5)}))
    with h5py.File(target) as file:
        assert file["field"].chunks == (1, 4, 5)
        assert file["time"].chunks == (2,)
    assert sorted(tmp_path.iterdir()) == [source, target]


def test_chunks_are_compressed(weir_files: dict[str, Path], tmp_path: Path) -> None:
    target, again = tmp_path / "target.zarr", tmp_path / "again.zarr"
    names = ["density", "pressure", "chunked"]
    with weir.open(weir_files["hdf5"]) as source:
        layout = Layout({"density": (3, 4)}, {"density": (6, 8)}, codec="zstd:3")
        convert(source, target, layout=layout, arrays=names, workers=3, memory_bytes=500)
    with weir.open(target) as source:
        assert source.arrays["density"].codecs == "zstd:3"
        convert(source, again)
    for path in (target, again):
        group = zarr.open_group(path, mode="r")
        assert isinstance(group["density"].compressors[0], zarr.codecs.ZstdCodec)
        assert group["density"].shards == (6, 8)
        with weir.open(path) as found, weir.open(weir_files["hdf5"]) as source:
            for name in names:
                np.testing.assert_array_equal(group[name][...], source.arrays[name][...])
                np.testing.assert_array_equal(found.arrays[name][1:], source.arrays[name][1:])


@pytest.mark.parametrize(
    "codec",
    ["zstd:1", "shuffle,deflate:4", "fletcher32", "blosc:lz4:5:bit", "blosc2:zstd:5:byte", "lzf"],
)
def test_chunks_of_hdf5_are_compressed(
    codec: str, weir_files: dict[str, Path], tmp_path: Path
) -> None:
    target = tmp_path / "target.h5"
    names = ["density", "pressure", "chunked", "fields/velocity/u"]
    layout = Layout({"density": (3, 4)}, codec=codec)
    with weir.open(weir_files["hdf5"]) as source:
        try:
            convert(source, target, layout=layout, arrays=names, workers=3, memory_bytes=500)
        except weir.UnsupportedError as refusal:
            if "no library for the codec blosc2" not in str(refusal):
                raise
            pytest.skip("Weir was built without Blosc 2")
        values = {name: source.arrays[name][...] for name in names}
    with weir.open(target) as found:
        for name in names:
            np.testing.assert_array_equal(found.arrays[name][...], values[name])
            assert found.arrays[name].codecs == codec
    expected = tmp_path / "expected.npz"
    np.savez(expected, **{name.replace("/", "|"): values[name] for name in names})
    assert run_h5py("read_by_h5py.py", target, expected) == "4 datasets are right\n"


def test_arrays_that_cannot_be_read_are_not_left_out_in_silence(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "words.h5", "w") as file:
        file["pairs"] = np.zeros(2, "i4,f8")
        file["numbers"] = np.arange(4)
    with weir.open(tmp_path / "words.h5") as source:
        with pytest.raises(ConversionError, match=r"pairs.*--array"):
            convert(source, tmp_path / "target.zarr")
        convert(source, tmp_path / "target.zarr", arrays=["numbers"])


def test_a_failure_leaves_what_was_there(weir_files: dict[str, Path], tmp_path: Path) -> None:
    broken = tmp_path / "broken.zarr"
    source = zarr.create_group(broken, zarr_format=3)
    array = source.create_array("a", shape=(8, 8), dtype="f8", chunks=(2, 8), compressors=None)
    array[...] = 1
    (broken / "a" / "c" / "2" / "0").write_bytes(b"short")
    target = tmp_path / "target.h5"
    target.write_text("what was there")
    with weir.open(broken) as opened, pytest.raises(weir.StorageError, match="the file ends"):
        convert(opened, target)
    assert target.read_text() == "what was there"
    with weir.open(weir_files["hdf5"]) as opened:
        with pytest.raises(weir.UnsupportedError, match="no type uint64"):
            convert(opened, tmp_path / "small.nc1", file_format="cdf1", arrays=["as_uint64"])
        with pytest.raises(ConversionError, match="format"):
            convert(opened, tmp_path / "target.unknown")
        with pytest.raises(ConversionError, match="itself"):
            convert(opened, weir_files["hdf5"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.zarr", "target.h5"]


def test_the_command(weir_files: dict[str, Path], tmp_path: Path) -> None:
    target = tmp_path / "target.zarr"
    command = [sys.executable, "-m", "weir.cli", "convert", weir_files["cdf5"], target]
    done = subprocess.run(
        [*command, "--chunks", "density=4,5", "--workers", "2"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "of elements in" in done.stdout
    assert zarr.open_group(target, mode="r")["density"].chunks == (4, 5)
    for wrong, message in (
        ((weir_files["cdf5"], target), "already exists"),
        ((weir_files["cdf5"], tmp_path / "other"), "give --format"),
        ((tmp_path / "nothing", tmp_path / "other.zarr"), "No such file"),
    ):
        with pytest.raises(weir.Error, match=message):
            convert_command(*wrong)
    with pytest.raises(weir.Error, match="whole numbers of at least 1"):
        convert_command(weir_files["cdf5"], tmp_path / "other.zarr", chunks=["4,0"])


def test_an_interrupted_command_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "source.zarr"
    group = zarr.create_group(source, zarr_format=3)
    group.create_array("large", shape=(4000, 1000, 1000), dtype="f8", chunks=(1, 1000, 1000),
                       compressors=None)  # fmt: skip
    command = [sys.executable, "-m", "weir.cli", "convert", source, tmp_path / "target.zarr"]
    command += ["--chunks", "1,100,100", "--memory", "8", "--workers", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as running:
        end = time.monotonic() + 60
        while not (tmp_path / "target.zarr.incomplete" / "large").exists():
            assert time.monotonic() < end
            assert running.poll() is None
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["source.zarr"]


@pytest.mark.parametrize("interrupts", [1, 3])
def test_no_thread_uses_a_file_after_an_interrupt(interrupts: int) -> None:
    """The caller then closes the file: a thread that still wrote to it would crash."""
    stop, ended = threading.Event(), []

    def work(number: int) -> None:
        if number == 0:
            for _ in range(interrupts):
                time.sleep(0.15)
                os.kill(os.getpid(), signal.SIGINT)
        stop.wait()
        time.sleep(0.3)
        ended.append(number)

    with pytest.raises(KeyboardInterrupt):
        run_in_threads(work, 2, stop)
    assert sorted(ended) == [0, 1]


def test_an_interrupt_while_the_file_is_laid_out_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source.zarr"
    weir.save(source, {"x": np.arange(6.0)})
    lay_out = library().weir_files_create

    def interrupted(*arguments: object) -> None:
        assert lay_out(*arguments) == 0
        assert (tmp_path / "target.zarr.incomplete").exists()
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(library(), "weir_files_create", interrupted)
    with weir.open(source) as file, pytest.raises(KeyboardInterrupt):
        convert(file, tmp_path / "target.zarr")
    with pytest.raises(KeyboardInterrupt):
        weir.save(tmp_path / "target.zarr", {"x": np.arange(6.0)})
    gc.collect()
    assert [path.name for path in tmp_path.iterdir()] == ["source.zarr"]


@pytest.mark.parametrize("seed", range(30))
def test_tiles_cover_an_array_once_and_cut_no_unit(seed: int) -> None:
    random = np.random.default_rng(seed)
    dimensions = int(random.integers(1, 4))
    shape, unit, chunks = (random.integers(1, most, dimensions) for most in (40, 12, 40))
    most = int(random.integers(1, 3000))
    tile = tile_shape(shape.tolist(), 8, unit.tolist(), chunks.tolist(), most)
    units = np.minimum(unit, shape)
    covered = np.zeros(shape, int)
    for one in tiles(shape.tolist(), tile):
        covered[one.key] += 1
        assert all(start % n == 0 for start, n in zip(one.start, units, strict=True))
    assert (covered == 1).all()
    assert 8 * np.prod(tile) <= max(most, 8 * np.prod(units))


def test_tiles_cover_whole_chunks_of_the_source_where_memory_allows() -> None:
    assert tile_shape([100, 100], 8, [1, 100], [50, 50], 1 << 20) == (100, 100)
    assert tile_shape([1000, 100], 8, [1, 100], [50, 50], 50 * 100 * 8) == (50, 100)
    assert tile_shape([1000, 100], 8, None, None, 10 * 100 * 8) == (10, 100)
    assert tile_shape([1000, 100], 8, [10, 100], None, 1) == (10, 100)
    assert list(tiles([0, 4], [1, 4])) == []


def damage(path: Path, values: np.ndarray) -> None:
    """Changes a byte in the middle of these numbers, wherever they lie in the file or folder."""
    files = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]
    for file in files:
        content = bytearray(file.read_bytes())
        for order in "<>":
            wanted = values.astype(values.dtype.newbyteorder(order)).tobytes()
            if (at := content.find(wanted)) >= 0:
                content[at + len(wanted) // 2] ^= 4
                file.write_bytes(content)
                return
    message = f"the numbers are not in {path}"
    raise AssertionError(message)


@pytest.mark.parametrize("name", FORMATS)
def test_checksums_go_with_the_file_and_are_verified(
    name: str, weir_files: dict[str, Path], tmp_path: Path
) -> None:
    target, again = (tmp_path / f"{which}.{SUFFIXES[name]}" for which in ("target", "again"))
    with weir.open(weir_files[name]) as source:
        assert source.checksum is None
        summed = Layout(checksum="crc32c")
        convert(source, target, file_format=name, layout=summed, workers=3, memory_bytes=2000)
        density, pressure = source["density"][...], source["pressure"][1]
    report = check(target)
    assert report.findings == []
    assert report.bytes_verified >= density.nbytes + 3 * pressure.nbytes
    with weir.open(target, verify="touched") as source:
        assert source.checksum == "crc32c"
        assert pickle.loads(pickle.dumps(source)).verify == "touched"
        for array in source.arrays.values():
            array[..., 1]
        convert(source, again, file_format=name)  # as the source has them
        assert Path(f"{again}.sums").exists()
        again_without = tmp_path / f"without.{SUFFIXES[name]}"
        convert(source, again_without, file_format=name, layout=Layout(checksum="none"))
        assert not Path(f"{again_without}.sums").exists()

    damage(target, density)
    damage(target, pressure)
    with weir.open(target) as file:
        for array, step in ((file["density"], ""), (file["pressure"], ", step(s . to .| 1)")):
            wanted = f'array "{array.name}"{step}: .* checksum'
            with pytest.raises(weir.StorageError, match=wanted) as caught:
                array[...]
            assert "offset" in str(caught.value)
            assert "\n" not in str(caught.value)
        file["density"][0, 0]  # of the block it takes too little
        file["x"][...]
    with (
        weir.open(target, verify="touched") as file,
        pytest.raises(weir.StorageError, match="checksum"),
    ):
        file["density"][0, 0]
    with weir.open(target, verify="none") as file:
        file["density"][...]
    assert len(check(target).findings) == 2
    with weir.open(target, verify="touched") as file, pytest.raises(weir.StorageError):
        convert(file, tmp_path / f"third.{SUFFIXES[name]}", file_format=name)
    assert not list(tmp_path.glob("third*"))


def test_refuses_what_verifies_nothing(weir_files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="covered"):
        weir.open(weir_files["hdf5"], verify="all")  # type: ignore[arg-type]
    with weir.open(weir_files["hdf5"]) as file, pytest.raises(ConversionError, match="crc32c"):
        convert(file, tmp_path / "target.h5", layout=Layout(checksum="md5"))
