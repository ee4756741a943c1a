"""xarray's engine "weir": ``xarray.open_dataset(path, engine="weir")``.

It opens every file that `weir.open` opens. Arrays are read on demand. xarray itself decodes
attributes by the CF conventions (scales, fill values, times). xarray imports this module, or the
program that uses it does; `weir` itself needs neither xarray nor this module.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

import weir
from weir.files import StoredArray

if TYPE_CHECKING:
    from weir.files import StoredFile, StoredGroup
    from weir.files.stored_file import Verify


class StoredBackendArray(BackendArray):
    """A stored array behind xarray's lazy indexing; any thread may read it."""

    def __init__(self, array: StoredArray) -> None:
        self.array = array
        self.shape = array.shape
        self.dtype = array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return np.asarray(
            indexing.explicit_indexing_adapter(
                key, self.shape, indexing.IndexingSupport.BASIC, self.array.__getitem__
            )
        )


def dimension_names(array: StoredArray) -> tuple[str, ...]:
    """Returns the array's dimension names, or, without any, names made from extents.

    The names are those that Weir gives in its own files: "step" for steps, and "dim_EXTENT" for
    other dimensions. A further dimension with the same extent gets a number.
    """
    if array.dimension_names:
        return array.dimension_names
    names: list[str] = []
    for place, extent in enumerate(array.shape):
        stem = "step" if array.grows and place == 0 else f"dim_{extent}"
        name, number = stem, 1
        while name in names:
            number += 1
            name = f"{stem}_{number}"
        names.append(name)
    return tuple(names)


def variable(array: StoredArray) -> xr.Variable:
    """Returns the array as it is stored: lazy and not decoded."""
    names = dimension_names(array)
    attributes: dict[str, Any] = dict(array.attributes)
    encoding: dict[str, Any] = {"source": str(array.file.path), "original_shape": array.shape}
    if array.chunks:
        encoding["chunksizes"] = array.chunks
        encoding["preferred_chunks"] = dict(zip(names, array.chunks, strict=True))
    data = indexing.LazilyIndexedArray(StoredBackendArray(array))
    return xr.Variable(names, data, attributes, encoding)


def dataset_of(group: StoredGroup, drop: set[str]) -> xr.Dataset:
    """Returns the arrays of a group, not decoded; one named as its dimension is a coordinate."""
    variables = {}
    for name in group:
        found = group[name]
        if isinstance(found, StoredArray) and name not in drop:
            variables[name] = variable(found)
    coordinates = {name: one for name, one in variables.items() if one.dims == (name,)}
    data = {name: one for name, one in variables.items() if name not in coordinates}
    attributes = {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in group.attributes.items()
    }
    return xr.Dataset(data, coordinates, attributes)


class WeirBackendEntrypoint(BackendEntrypoint):
    """Opens HDF5, NetCDF, Zarr and raw files through Weir; select it by ``engine="weir"``."""

    description = "HDF5, NetCDF (classic and 4), Zarr v3 and Weir's raw arrays, without MPI"
    url = ""
    open_dataset_parameters = (
        "filename_or_obj", "drop_variables", "group", "mask_and_scale", "decode_times",
        "concat_characters", "decode_coords", "use_cftime", "decode_timedelta", "verify",
    )  # fmt: skip
    supports_groups = True

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
        mask_and_scale: bool | None = None,
        decode_times: Any = None,
        concat_characters: bool | None = None,
        decode_coords: Any = None,
        use_cftime: bool | None = None,
        decode_timedelta: Any = None,
        verify: Verify = "covered",
    ) -> xr.Dataset:
        """Returns the arrays of the file, or of its group `group`, as a dataset.

        `verify` is that of `weir.open`. Raises ValueError if `group` names an array.
        """
        drop = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
        file = weir.open(filename_or_obj, verify=verify)
        found = file[group] if group and group.strip("/") else file
        if isinstance(found, StoredArray):
            message = f"{group!r} of {file.path} is an array, not a group"
            raise ValueError(message)
        options = {
            "mask_and_scale": mask_and_scale,
            "decode_times": decode_times,
            "concat_characters": concat_characters,
            "decode_coords": decode_coords,
            "use_cftime": use_cftime,
            "decode_timedelta": decode_timedelta,
        }
        given = {name: value for name, value in options.items() if value is not None}
        decoded = xr.decode_cf(dataset_of(found, drop), **given)
        decoded.encoding["source"] = str(file.path)
        growing = unlimited_dimensions(file)
        if growing:
            decoded.encoding["unlimited_dims"] = growing & set(decoded.dims)
        decoded.set_close(file.close)
        return decoded

    def open_groups_as_dict(self, filename_or_obj: Any, **options: Any) -> dict[str, xr.Dataset]:
        """Returns a dataset for each group, by the path of the group."""
        with weir.open(filename_or_obj) as file:
            names = ["", *file.group_names]
        return {
            f"/{name}": self.open_dataset(filename_or_obj, group=name, **options) for name in names
        }

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> xr.DataTree:
        """Returns the groups as a tree."""
        return xr.DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))

    def guess_can_open(self, filename_or_obj: Any) -> bool:  # noqa: ARG002
        """Returns False: other engines open these files too and keep precedence."""
        return False


def unlimited_dimensions(file: StoredFile) -> set[str]:
    """Returns the names of the dimensions along which arrays grow."""
    return {dimension_names(one)[0] for one in file.arrays.values() if one.grows}


@xr.register_dataset_accessor("weir")  # type: ignore[no-untyped-call]
class DatasetAccessor:
    """Implements ``dataset.weir``, which exists after this module is imported."""

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def to_file(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Makes a file of the dataset; `options` are those of `weir.save`."""
        weir.save(path, self._dataset, **options)
