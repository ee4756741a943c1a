"""Describes the new file: the source's arrays, groups and attributes in the requested layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weir._core.arguments import type_name
from weir._core.attribute_values import plain
from weir._core.files import abilities, formats
from weir.convert.text import StoredForm, stored_form
from weir.errors import Error
from weir.files.stored_file import left_out_line

if TYPE_CHECKING:
    from weir._core.attribute_values import AttributeValue
    from weir.files import StoredArray, StoredFile

CHECKSUMS = ("crc32c", "none")
ONLY_READ = {"delta"}
"""Codecs that Weir reads but does not write."""
LONGEST_TEXT_FILL = 4096
"""Limit in bytes: the documents of Zarr and raw files contain no longer fill values."""
FILL = "_FillValue"
"""Attribute that marks missing elements for readers that follow NetCDF's conventions."""
NOT_UTF8 = "\N{REPLACEMENT CHARACTER}"


class ConversionError(Error):
    """The requested conversion is impossible; the text says why and what to do."""

    def __init__(self, message: str, lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.lines = list(lines)
        """One line for each array or attribute that cannot be kept."""


@dataclass(frozen=True)
class Layout:
    """The requested layout of the new file.

    Extents are in elements, by an array's name, or by "" for all arrays with as many dimensions.
    """

    chunks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    shards: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    codec: str | None = None
    """Codecs as in docs/formats.md, such as "zstd:1", or "none". None: those of the source if the
    new file has the same format, otherwise no codecs."""
    checksum: str | None = None
    """Checksums of the new file's blocks, kept beside it: "crc32c" or "none". None: as in the
    source."""
    steps: tuple[str, ...] = ()
    """Further arrays whose first dimension counts steps, besides those that the source marks so."""


def format_of(target: Path, told: str | None) -> str:
    """Returns the format: by the name `told`, or by the target's suffix.

    Raises ConversionError if neither gives a format of this build.
    """
    known = formats()
    by_suffix = {one: name for name, able in abilities().items() for one in able["suffixes"]}
    name = told or by_suffix.get(target.suffix.lower())
    if name is None:
        message = (
            f"{target}: its name does not determine its format: give --format, one of "
            f"{', '.join(known)}"
        )
        raise ConversionError(message)
    if name not in known:
        message = (
            f"format {name!r} is unknown to this build of Weir: give one of {', '.join(known)}"
        )
        raise ConversionError(message)
    return name


def unreadable(source: StoredFile) -> dict[str, str]:
    """Returns the arrays that cannot be read completely, with the reasons."""
    found = {one.name: one.missing(unwritten=False).damage for one in source.arrays.values()}
    return {**source.refused, **{name: damage for name, damage in found.items() if damage}}


def chosen_arrays(
    source: StoredFile, names: Sequence[str], *, skip_unreadable: bool = False
) -> list[StoredArray]:
    """Returns the named arrays, or all; unreadable ones are left out with `skip_unreadable`.

    Raises ConversionError if an array cannot be converted, or if none can.
    """
    if not names:
        left_out = unreadable(source)
        if left_out and not skip_unreadable:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
            message = (
                f"{source.path} has arrays that cannot be read ({reasons}): give those to "
                "convert with --array, or leave these out with --skip-unreadable"
            )
            raise ConversionError(message)
        chosen = [one for name, one in source.arrays.items() if name not in left_out]
        if not chosen:
            message = f"{source.path} has no array"
            if left_out:
                message += " that can be read"
            raise ConversionError(message)
        return chosen
    missing = [name for name in names if name not in source.arrays]
    if missing:
        reason = source.refused.get(missing[0], "the array does not exist")
        message = f"{missing[0]!r} of {source.path} cannot be converted: {reason}"
        raise ConversionError(message)
    return [source.arrays[name] for name in dict.fromkeys(names)]


def description(
    source: StoredFile,
    forms: Mapping[str, StoredForm],
    file_format: str,
    layout: Layout,
) -> dict[str, Any]:
    """Returns the description of the new file for the library, with arrays in these forms."""
    arrays = [source.arrays[name] for name in forms]
    names = {one.name for one in arrays}
    unknown = [name for name in (*layout.chunks, *layout.shards) if name and name not in names]
    if unknown:
        message = f"chunks or shards are given for {unknown[0]!r}, which is not converted"
        raise ConversionError(message)
    for name in layout.steps:
        if name not in names or not source.arrays[name].ndim:
            why = "has no dimensions" if name in names else "is not converted"
            message = f"--steps {name}: this array {why}"
            raise ConversionError(message)
    able = abilities()[file_format]
    if layout.shards and not able["shards"]:
        message = f"{file_format} has no shards: leave --shards out"
        raise ConversionError(message)
    for what, extents in (("chunks", layout.chunks.get("")), ("shards", layout.shards.get(""))):
        if extents and all(len(extents) != one.ndim for one in arrays):
            message = f"{what} {_text(extents)}: no array has {len(extents)} dimensions"
            raise ConversionError(message)
    checksum = layout.checksum or source.checksum
    if checksum not in (None, *CHECKSUMS):
        message = f"unknown checksum {checksum!r}: give one of {', '.join(CHECKSUMS)}"
        raise ConversionError(message)
    groups = ["", *source.group_names] if able["groups"] else [""]
    return {
        "arrays": [_array(one, forms[one.name], file_format, layout) for one in arrays],
        "groups": [
            {"name": name, "attributes": _kept(source.attributes_of_group(name))}
            for name in groups
            if source.attributes_of_group(name)
        ],
        "checksum": None if checksum == "none" else checksum,
        "leave_out_attributes": True,
    }


def _array(
    array: StoredArray, form: StoredForm, file_format: str, layout: Layout
) -> dict[str, Any]:
    able = abilities()[file_format]
    asked = _asked(layout.chunks, array)
    chunks = asked or array.chunks
    codecs = layout.codec or (_writable(array.codecs) if file_format == array.file.format else None)
    codecs = (
        None if codecs == "none" or (not array.ndim and not able["scalars_in_chunks"]) else codecs
    )
    shards = _asked(layout.shards, array)
    if shards is None and asked is None:
        shards = array.shards
    if not able["chunks"]:
        # The format has no chunks: drop the source's, and let the library refuse requested ones.
        chunks = asked
    for name, extents in (("chunks", chunks), ("shards", shards)):
        if extents is not None and len(extents) != array.ndim:
            message = (
                f"{name} {_text(extents)} for array {array.name!r} of {array.ndim} dimensions: "
                "give an extent for each"
            )
            raise ConversionError(message)
    grows = array.grows or array.name in layout.steps
    if chunks is not None:
        chunks = tuple(
            max(1, min(wanted, extent)) if not grows or d else max(1, wanted)
            for d, (wanted, extent) in enumerate(zip(chunks, array.shape, strict=True))
        )
    # A NetCDF file would store the fill as an attribute by which readers mask elements as missing.
    is_unmarked = file_format.startswith("cdf") and FILL not in array.attributes
    return {
        "name": array.name,
        "shape": list(form.extents(array.shape)),
        "type": type_name(form.dtype),
        # Other formats would transpose the array.
        "order": ("column-major" if array.order == "F" and able["column_major"] else "row-major"),
        "grows": grows,
        "chunks": chunks and list(chunks),
        "shards": list(shards) if shards and able["shards"] else None,
        "dimension_names": list(form.names(array.dimension_names)),
        "codecs": codecs,
        "fill": None if is_unmarked else _fill(array, form),
        "attributes": _kept(_held_by(array.attributes, form)),
    }


def _held_by(
    attributes: Mapping[str, AttributeValue], form: StoredForm
) -> Mapping[str, AttributeValue]:
    """Drops the fill value of texts whose characters become separate elements."""
    if form.length is None:
        return attributes
    return {name: value for name, value in attributes.items() if name != FILL}


def _loses_fill(array: StoredArray, file_format: str) -> bool:
    """Returns whether the new file cannot store the text that marks missing elements."""
    if array.dtype.hasobject or stored_form(array.dtype, file_format).length is None:
        return False
    return FILL in array.attributes or bool(array.fill)


def _fill(array: StoredArray, form: StoredForm) -> str | None:
    """Returns the fill value in hexadecimal, or None without one.

    It is None also if the characters of a text become separate elements: none of these stands for
    the text's fill value.
    """
    if array.fill is None or form.length is not None or is_fill_left_out(array, form):
        return None
    # A scalar NumPy text has only the length of its content, so use an array of the full type.
    return form.elements(np.array([array.fill], array.dtype)).tobytes().hex()


def _writable(codecs: str | None) -> str | None:
    """Returns the codecs without those that Weir only reads."""
    kept = [one for one in (codecs or "").split(",") if one.partition(":")[0] not in ONLY_READ]
    return ",".join(kept) or None


def is_fill_left_out(array: StoredArray, form: StoredForm) -> bool:
    """Returns whether the fill value of variable-length texts would be too long for the new file.

    It may be left out because all texts are written. Its length would be that of the longest text.
    """
    too_long = form.dtype.itemsize > LONGEST_TEXT_FILL
    return array.dtype.hasobject and array.fill is not None and too_long


def _asked(given: Mapping[str, tuple[int, ...]], array: StoredArray) -> tuple[int, ...] | None:
    for_all = given.get("")
    fitting = for_all if for_all and len(for_all) == array.ndim else None
    return given.get(array.name, fitting)


def _text(extents: Sequence[int]) -> str:
    return ",".join(map(str, extents))


def lost(
    source: StoredFile, arrays: Sequence[StoredArray], file_format: str, laid_out: Mapping[str, Any]
) -> list[str]:
    """Returns one line for each attribute that the new file does not get.

    The attributes are those of these arrays and of their groups; `laid_out` is the new file's
    description.
    """
    groups = {
        name
        for name in ["", *source.group_names]
        if len(arrays) == len(source.arrays) or any(_lies_in(one, name) for one in arrays)
    }
    owners = {one.name for one in arrays} | groups
    lines = [left_out_line(one) for one in source.described_left_out if one["owner"] in owners]
    attributes = {one.name: one.attributes for one in arrays}
    for group in sorted(groups):
        there = source.attributes_of_group(group)
        if group and not abilities()[file_format]["groups"]:
            why = f"{file_format} has no groups"
            lines += [_left_out(group, name, why) for name in there]
        else:
            attributes[group] = there
    lines += [
        _left_out(
            one.name,
            FILL,
            f"a fill value of several characters cannot be stored in {file_format}, where each "
            "character is an element",
        )
        for one in arrays
        if _loses_fill(one, file_format)
    ]
    lines += [
        _left_out(owner, name, "its text is not in UTF-8")
        for owner, named in attributes.items()
        for name, value in named.items()
        if _is_beyond_utf8(value)
    ]
    return lines + [left_out_line(one) for one in laid_out["left_out"]]


def _lies_in(array: StoredArray, group: str) -> bool:
    return not group or array.name.startswith(f"{group}/")


def _left_out(owner: str, name: str, reason: str) -> str:
    return left_out_line({"owner": owner, "name": name, "reason": reason})


def _is_beyond_utf8(value: AttributeValue) -> bool:
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return any(NOT_UTF8 in one for one in texts)


def _kept(attributes: Mapping[str, AttributeValue]) -> list[dict[str, Any]]:
    return described_attributes(
        {name: value for name, value in attributes.items() if not _is_beyond_utf8(value)}
    )


def described_attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns attributes as the library expects them.

    Raises TypeError for values that files cannot store.
    """
    return [_attribute(name, value) for name, value in attributes.items()]


def _attribute(name: str, value: Any) -> dict[str, Any]:
    given = plain(name, value)
    if isinstance(given, str):
        return {"name": name, "text": given}
    if isinstance(given, list):
        return {"name": name, "texts": given}
    described = {"name": name, "type": type_name(given.dtype)}
    if given.dtype.kind == "f":
        return {**described, "reals": [_real(number) for number in given.tolist()]}
    return {**described, "integers": [int(number) for number in given.tolist()]}


def _real(number: float) -> float | str:
    """Returns the number as the library's JSON represents it."""
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number
