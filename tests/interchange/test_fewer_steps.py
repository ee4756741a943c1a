"""`weir truncate`, and readers that have the file open: Weir's and the formats' own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import zarr
from stored_cases import FORMATS

import weir
from weir.check import check
from weir.cli import application


def truncate(path: Path, steps: int) -> None:
    application()(["truncate", str(path), "--steps", str(steps)], standalone_mode=False)


def copied(source: Path, folder: Path) -> Path:
    for one in source.parent.glob(f"{source.name}*"):
        target = folder / one.name
        shutil.copytree(one, target) if one.is_dir() else shutil.copy(one, target)
    return folder / source.name


def steps_seen_elsewhere(path: Path, name: str, array: str) -> int | None:
    """By the format's own library; None for one that there is none for."""
    if name == "hdf5":
        with h5py.File(path) as file:
            return int(file[array].shape[0])
    if name.startswith("cdf"):
        with netCDF4.Dataset(path) as file:
            return int(file[array].shape[0])
    if name == "zarr":
        group: Any = zarr.open_group(path, mode="r")
        return int(group[array].shape[0])
    return None


@pytest.mark.parametrize("name", FORMATS)
def test_later_steps_are_gone_for_all_readers(
    name: str, weir_files: dict[str, Path], tmp_path: Path
) -> None:
    path = copied(weir_files[name], tmp_path)
    with weir.open(path) as file:
        assert file.steps == 3
        before = {array.name: array[...] for array in file.arrays.values()}
        growing = [array for array in file.arrays.values() if array.grows]
        for steps in (2, 1):
            truncate(path, steps)
            assert check(path).findings == []
            file.reload()
            assert file.steps == steps
            for array in file.arrays.values():
                expected = before[array.name][:steps] if array.grows else before[array.name]
                np.testing.assert_array_equal(array[...], expected)
            # What the program holds shows it, too.
            assert {array.shape[0] for array in growing} == {steps}
            assert steps_seen_elsewhere(path, name, growing[0].name) in (steps, None)
        with pytest.raises(weir.Error, match="steps is 2, but the file has 1 steps: give 0 to 1"):
            truncate(path, 2)


def test_a_reader_sees_another_file_when_it_is_loaded_again(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    weir.save(path, {"x": np.arange(3), "y": np.arange(4)})
    with weir.open(path) as file:
        x, y = file.arrays["x"], file.arrays["y"]
        weir.save(path, {"x": np.arange(5)}, overwrite=True)
        file.reload()
        assert file.arrays["x"] is x
        np.testing.assert_array_equal(x[...], np.arange(5))
        assert list(file) == ["x"]
        with pytest.raises(weir.Error):
            y[...]
        path.write_bytes(b"no file of arrays")
        with pytest.raises(weir.Error):
            file.reload()
        assert file.arrays["x"].shape == (5,)
    with pytest.raises(ValueError, match="closed"):
        file.reload()
