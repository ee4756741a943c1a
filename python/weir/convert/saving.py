"""`save`: writes arrays in memory, or an xarray dataset, to a new file from one process."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weir._core.arguments import type_name
from weir._core.files import FileHandle, abilities
from weir.convert.target import (
    FILL,
    ConversionError,
    described_attributes,
    format_of,
)
from weir.convert.text import stored_form

if TYPE_CHECKING:
    from xarray import Dataset

Extents = Sequence[int]
Attributes = Mapping[str, Any]


def save(
    path: str | os.PathLike[str],
    arrays: Mapping[str, Any] | Dataset,
    *,
    dimensions: Mapping[str, Sequence[str]] | None = None,
    attributes: Mapping[str, Attributes] | None = None,
    chunks: Mapping[str, Extents] | None = None,
    fill: Mapping[str, Any] | None = None,
    codec: str | None = None,
    checksum: str | None = None,
    file_format: str | None = None,
    overwrite: bool = False,
) -> None:
    """Makes a file of arrays in one process, without MPI.

    `arrays` maps full names (``fields/density``) to NumPy arrays or to what `numpy.asarray`
    accepts. It may also be an xarray.Dataset, which supplies dimension names, attributes, and, from
    its encoding, chunks and fill values; it is encoded by the CF rules as in ``to_netcdf``.
    `file_format` is "hdf5", "cdf5", "cdf2", "cdf1", "zarr" or "raw"; by default the suffix of the
    path determines it.

    Three arguments map the names of arrays: `dimensions` to one name per dimension, `chunks` to the
    extents of the chunks in elements, and `fill` to the value that readers treat as missing.
    `attributes` maps the name of an array or group, or "" for the file, to its attributes: texts,
    numbers and lists of numbers. `codec` applies to all arrays, for example "shuffle,zstd:1".
    `checksum` "crc32c" stores checksums beside the file.

    The file appears when it is complete and durable; after an error the path has what was there
    before. Raises FileExistsError if the file exists and `overwrite` is not set, TypeError for
    elements of a type that files cannot store, ValueError for arguments that do not fit the arrays
    or the format, and weir.Error if the file cannot be made.
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise FileExistsError(
            errno.EEXIST, "the file already exists: overwrite=True replaces it", path
        )
    try:
        name = format_of(path, file_format)
    except ConversionError as error:
        raise ValueError(str(error).replace("--format", "file_format")) from error
    given: Mapping[str, Any]
    taken = _Taken()
    if _is_dataset(arrays):
        given, taken = _of_dataset(arrays)
        dimensions = {**taken.dimensions, **(dimensions or {})}
        attributes = {**taken.attributes, **(attributes or {})}
        chunks = {**(taken.chunks if abilities()[name]["chunks"] else {}), **(chunks or {})}
        fill = {**taken.fill, **(fill or {})}
    elif isinstance(arrays, Mapping):
        given = arrays  # type: ignore[assignment]
    else:
        message = (
            f"arrays is a {type(arrays).__name__}: give a dict of arrays by name, or an "
            "xarray.Dataset"
        )
        raise TypeError(message)
    values = {key.strip("/"): _elements(key, value) for key, value in given.items()}
    forms = {key: stored_form(value.dtype, name) for key, value in values.items()}
    named = {"dimensions": dimensions or {}, "chunks": chunks or {}, "fill": fill or {}}
    for argument, by_name in named.items():
        for key in by_name:
            if key.strip("/") not in values:
                message = f"{argument} has {key!r}, but no array has this name"
                raise ValueError(message)
    notes = {key.strip("/"): value for key, value in (attributes or {}).items()}
    described = {
        "arrays": [
            {
                "name": key,
                "shape": list(forms[key].extents(value.shape)),
                "type": type_name(forms[key].dtype),
                "order": "row-major",
                "grows": False,
                "chunks": _chunks(key, value, named["chunks"]),
                "shards": None,
                "dimension_names": list(
                    forms[key].names(_dimensions(key, value, named["dimensions"]))
                ),
                "codecs": codec if value.ndim or abilities()[name]["scalars_in_chunks"] else None,
                "fill": _fill(key, value, named["fill"], name),
                "attributes": described_attributes(
                    {**_missing(value, _of(key, named["fill"])), **notes.get(key, {})}
                ),
            }
            for key, value in values.items()
        ],
        "groups": [
            {"name": key, "attributes": described_attributes(value)}
            for key, value in notes.items()
            if key not in values
        ],
        "checksum": checksum,
        "replace": overwrite,
    }
    made = FileHandle.create(path, name, described)
    try:
        for number, laid_out in enumerate(made.description["arrays"]):
            value = forms[laid_out["name"]].elements(values[laid_out["name"]])
            if value.size:
                made.write(number, [0] * value.ndim, value.shape, [1] * value.ndim, value)
        made.commit()
    finally:
        made.close()


def _elements(key: str, value: Any) -> np.ndarray[Any, Any]:
    """Returns the elements as the library expects them: in this machine's byte order."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        message = f"array {key!r} is masked: give value.filled(…), and that number in fill"
        raise TypeError(message)
    elements = np.asarray(value)
    if elements.dtype.kind == "O" and all(isinstance(one, str) for one in elements.flat):
        elements = elements.astype(np.str_)
    if elements.dtype.kind in "OMmV":
        message = (
            f"array {key!r} has elements of type {elements.dtype}: files can contain integers, "
            "real and complex numbers, bool and texts"
        )
        if elements.dtype.kind in "Mm":
            message += (
                "; give an xarray.Dataset, whose times are stored as numbers by the CF rules, or "
                "numbers and an attribute `units`"
            )
        raise TypeError(message)
    if elements.dtype.kind in "SU" and not elements.dtype.itemsize:
        elements = elements.astype(f"{elements.dtype.kind}1")
    return elements.astype(elements.dtype.newbyteorder("="), copy=False)


def _of(key: str, by_name: Mapping[str, Any]) -> Any:
    return next((value for other, value in by_name.items() if other.strip("/") == key), None)


def _dimensions(key: str, value: np.ndarray[Any, Any], given: Mapping[str, Any]) -> list[str]:
    names = _of(key, given)
    if names is None:
        return []
    names = [names] if isinstance(names, str) else list(names)
    if len(names) != value.ndim:
        message = (
            f"dimensions of {key!r} have length {len(names)}, but its shape has length "
            f"{value.ndim}: give a text for each dimension"
        )
        raise ValueError(message)
    return names


def _chunks(key: str, value: np.ndarray[Any, Any], given: Mapping[str, Any]) -> list[int] | None:
    asked = _of(key, given)
    if not value.ndim:
        return None
    if asked is None:
        return None
    extents = [asked] if isinstance(asked, int) else list(asked)
    if len(extents) != value.ndim or any(extent < 1 for extent in extents):
        message = f"chunks of {key!r}: {asked!r}; give an extent of at least 1 for each dimension"
        raise ValueError(message)
    return [min(extent, max(1, there)) for extent, there in zip(extents, value.shape, strict=True)]


def _fill(
    key: str, value: np.ndarray[Any, Any], given: Mapping[str, Any], file_format: str
) -> str | None:
    fill = _of(key, given)
    if fill is None:
        return None
    form = stored_form(value.dtype, file_format)
    if form.length is not None:
        message = f"fill of {key!r}: {fill!r}; {file_format} cannot store one for texts"
        raise ValueError(message)
    element = form.elements(np.array([fill]).astype(value.dtype))
    return str(element.tobytes().hex())


def _missing(value: np.ndarray[Any, Any], fill: Any) -> dict[str, Any]:
    """Returns the attribute by which readers mask missing elements, in the array's type."""
    if fill is None or value.dtype.kind not in "iuf":
        return {}
    kept = np.float32 if value.dtype == np.float16 else value.dtype
    return {FILL: np.asarray(fill).astype(kept)}


class _Taken:
    """What a dataset provides besides the elements of its arrays."""

    def __init__(self) -> None:
        self.dimensions: dict[str, Sequence[str]] = {}
        self.attributes: dict[str, Attributes] = {}
        self.chunks: dict[str, Extents] = {}
        self.fill: dict[str, Any] = {}


def _is_dataset(arrays: Any) -> bool:
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(arrays, xarray.Dataset)


def _of_dataset(dataset: Any) -> tuple[dict[str, Any], _Taken]:
    from xarray.conventions import cf_encoder, encode_dataset_coordinates  # noqa: PLC0415

    variables, attributes = encode_dataset_coordinates(dataset)
    variables, attributes = cf_encoder(variables, attributes)
    taken = _Taken()
    taken.attributes[""] = attributes
    arrays = {}
    for name, variable in variables.items():
        arrays[str(name)] = variable.data
        notes = dict(variable.attrs)
        if (missing := notes.pop(FILL, None)) is not None:
            taken.fill[str(name)] = missing
        taken.attributes[str(name)] = notes
        if variable.dims:
            taken.dimensions[str(name)] = [str(one) for one in variable.dims]
        if extents := variable.encoding.get("chunksizes"):
            taken.chunks[str(name)] = extents
    return arrays, taken
