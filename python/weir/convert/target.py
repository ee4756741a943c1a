"""What the new file is to hold: the source's arrays, groups and attributes, laid out as asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weir._core.arguments import type_name
from weir._core.files import formats
from weir.convert.text import StoredForm, stored_form

if TYPE_CHECKING:
    from weir.files import StoredArray, StoredFile

SUFFIXES = {
    ".h5": "hdf5", ".hdf5": "hdf5", ".nc4": "hdf5", ".nc": "cdf5", ".nc5": "cdf5", ".zarr": "zarr",
    ".raw": "raw",
}  # fmt: skip
CHUNKED = {"hdf5", "zarr", "raw"}
GROUPED = {"hdf5", "zarr", "raw"}
COLUMN_MAJOR = {"zarr", "raw"}
CHECKSUMS = ("crc32c", "none")
CHUNK_BYTES = 16 << 20
"""Of chunks that are chosen here, because the format or the codec wants some: at most."""


class ConversionError(Exception):
    """What was asked for cannot be converted; the text says what, and what to do."""


@dataclass(frozen=True)
class Layout:
    """What is asked of the new file.

    Extents are by an array's name, or by "" for all arrays of as many dimensions.
    """

    chunks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    shards: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    codec: str | None = None
    """"zstd:1": codecs, as docs/formats.md has them; "none". None: those of the source in a file of
    the same format, or none."""
    checksum: str | None = None
    """"crc32c": of the new file's blocks, beside it; "none". None: as the source has it."""


def format_of(target: Path, told: str | None) -> str:
    """The format by its name, or by the target's suffix."""
    known = formats()
    name = told or SUFFIXES.get(target.suffix.lower())
    if name is None:
        message = (
            f"{target}: its format does not follow from its name; give --format, one of "
            f"{', '.join(known)}"
        )
        raise ConversionError(message)
    if name not in known:
        message = f"there is no format {name!r} in this build of Weir; there are {', '.join(known)}"
        raise ConversionError(message)
    return name


def chosen_arrays(source: StoredFile, names: Sequence[str]) -> list[StoredArray]:
    """The arrays named, or all; those that cannot be read have to be left out by naming others."""
    if not names:
        if source.refused:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in source.refused.items())
            message = (
                f"{source.path} has arrays that cannot be read ({reasons}): name those to convert "
                "by --array"
            )
            raise ConversionError(message)
        if not source.arrays:
            message = f"{source.path} holds no array"
            raise ConversionError(message)
        return list(source.arrays.values())
    missing = [name for name in names if name not in source.arrays]
    if missing:
        reason = source.refused.get(missing[0], "there is no such array")
        message = f"{missing[0]!r} of {source.path} cannot be converted: {reason}"
        raise ConversionError(message)
    return [source.arrays[name] for name in dict.fromkeys(names)]


def description(
    source: StoredFile, arrays: Sequence[StoredArray], file_format: str, layout: Layout
) -> dict[str, Any]:
    """The new file as the library is told of it."""
    names = {one.name for one in arrays}
    unknown = [name for name in (*layout.chunks, *layout.shards) if name and name not in names]
    if unknown:
        message = f"chunks or shards are given for {unknown[0]!r}, which is not converted"
        raise ConversionError(message)
    if layout.shards and file_format != "zarr":
        message = f"shards are of Zarr alone, and the new file is {file_format}: give none"
        raise ConversionError(message)
    for what, extents in (("chunks", layout.chunks.get("")), ("shards", layout.shards.get(""))):
        if extents and all(len(extents) != one.ndim for one in arrays):
            message = f"{what} {_text(extents)}: no array has {len(extents)} dimensions"
            raise ConversionError(message)
    checksum = layout.checksum or source.checksum
    if checksum not in (None, *CHECKSUMS):
        message = f"there is no checksum {checksum!r}; give one of {', '.join(CHECKSUMS)}"
        raise ConversionError(message)
    groups = ["", *source.group_names] if file_format in GROUPED else [""]
    return {
        "arrays": [_array(one, file_format, layout) for one in arrays],
        "groups": [
            {"name": name, "attributes": described_attributes(source.attributes_of_group(name))}
            for name in groups
            if source.attributes_of_group(name)
        ],
        "checksum": None if checksum == "none" else checksum,
    }


def _array(array: StoredArray, file_format: str, layout: Layout) -> dict[str, Any]:
    asked = _asked(layout.chunks, array)
    chunks = asked or array.chunks
    codecs = layout.codec or (array.codecs if file_format == array.file.format else None)
    codecs = None if codecs == "none" or (not array.ndim and file_format != "zarr") else codecs
    shards = _asked(layout.shards, array)
    if shards is None and asked is None:
        shards = array.shards
    if file_format not in CHUNKED:
        # The source's chunks have no place there; chunks that were asked for are refused.
        chunks = asked
    elif array.ndim and chunks is None and (file_format == "zarr" or codecs or shards):
        chunks = suitable_chunks(array.shape, array.dtype.itemsize)
    for name, extents in (("chunks", chunks), ("shards", shards)):
        if extents is not None and len(extents) != array.ndim:
            message = (
                f"{name} {_text(extents)} for array {array.name!r} of {array.ndim} dimensions: "
                "give an extent for each"
            )
            raise ConversionError(message)
    if chunks is not None:
        chunks = tuple(
            max(1, min(wanted, extent)) if not array.grows or d else max(1, wanted)
            for d, (wanted, extent) in enumerate(zip(chunks, array.shape, strict=True))
        )
    form = stored_form(array.dtype, file_format)
    return {
        "name": array.name,
        "shape": list(form.extents(array.shape)),
        "type": type_name(form.dtype),
        # Others would turn the array around.
        "order": (
            "column-major" if array.order == "F" and file_format in COLUMN_MAJOR else "row-major"
        ),
        "grows": array.grows,
        "chunks": chunks and list(chunks),
        "shards": list(shards) if shards and file_format == "zarr" else None,
        "dimension_names": list(form.names(array.dimension_names)),
        "codecs": codecs,
        "fill": _fill(array, form),
        "attributes": described_attributes(array.attributes),
    }


def _fill(array: StoredArray, form: StoredForm) -> str | None:
    """None, too, where elements of text become several: no one of these stands for their fill."""
    if array.fill is None or form.length is not None:
        return None
    # A NumPy text by itself is as long as what is in it.
    return form.elements(np.array([array.fill], array.dtype)).tobytes().hex()


def _asked(given: Mapping[str, tuple[int, ...]], array: StoredArray) -> tuple[int, ...] | None:
    for_all = given.get("")
    fitting = for_all if for_all and len(for_all) == array.ndim else None
    return given.get(array.name, fitting)


def _text(extents: Sequence[int]) -> str:
    return ",".join(map(str, extents))


def suitable_chunks(shape: Sequence[int], element_bytes: int) -> tuple[int, ...]:
    """Whole rows, and so many of them that a chunk has at most `CHUNK_BYTES`."""
    chunks = [1] * len(shape)
    room = max(1, CHUNK_BYTES // element_bytes)
    for d in reversed(range(len(shape))):
        chunks[d] = max(1, min(shape[d], room))
        room //= chunks[d]
    return tuple(chunks)


def described_attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Attributes as the library is told of them."""
    return [_attribute(name, value) for name, value in attributes.items()]


def _attribute(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": name, "text": value}
    numbers = np.atleast_1d(value)
    if numbers.dtype.kind in "iu":
        return {"name": name, "integers": numbers.tolist()}
    return {"name": name, "reals": [_real(number) for number in numbers.tolist()]}


def _real(number: float) -> float | str:
    """As the library's JSON has it."""
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number
