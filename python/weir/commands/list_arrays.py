"""``weir ls``: lists the contents of files of arrays, as h5ls, ncdump -h and bpls do for theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from weir.bench.errors import FAILED, BenchError
from weir.commands.terminal import output_console
from weir.results.quantities import size_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weir.files import StoredArray, StoredFile

LONGEST_VALUE = 200
"""Longest value of an attribute on the terminal, in characters; --json prints all of it."""


def list_command(
    path: Annotated[Path, typer.Argument(help="an HDF5, NetCDF, Zarr or raw file")],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="arrays to list, or groups with their content [all]", show_default=False
        ),
    ] = None,
    attributes: Annotated[
        bool, typer.Option("-a", "--attributes", help="also list attributes of groups and arrays")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="print one JSON object, with attributes")
    ] = False,
) -> None:
    """List the arrays in a file: type, shape, chunks, codecs, size; no elements are read.

    Each array has a line. Sizes are those of all elements in memory. Arrays and attributes that
    Weir cannot read are named with the reason.
    """
    # Imported here so that the command line starts without it.
    import weir  # noqa: PLC0415

    with weir.open(path) as file:
        listing = _Listing(file, names or [])
        if as_json:
            typer.echo(json.dumps(listing.described(), indent=1))
        else:
            listing.show(attributes)


class _Listing:
    """The requested arrays and groups of a file."""

    def __init__(self, file: StoredFile, names: list[str]) -> None:
        """Raises BenchError for a name that is not in the file."""
        self.file = file
        self.names = [name.strip("/") for name in names]
        known = {*file.arrays, *file.group_names, *file.refused}
        for name in self.names:
            if name and name not in known:
                message = f"{file.path} has no array or group {name!r}; 'weir ls {file.path}' lists"
                raise BenchError(f"{message} what it has", FAILED)
        self.arrays = [one for name, one in file.arrays.items() if self._is_asked(name)]
        self.refused = {
            name: reason for name, reason in file.refused.items() if self._is_asked(name)
        }
        self.groups = [name for name in ["", *file.group_names] if self._is_asked(name)]

    def _is_asked(self, name: str) -> bool:
        if not self.names:
            return True
        return any(not one or name == one or name.startswith(f"{one}/") for one in self.names)

    def described(self) -> dict[str, Any]:
        return {
            "path": str(self.file.path),
            "format": self.file.format,
            "steps": self.file.steps,
            "checksum": self.file.checksum,
            "groups": [
                {"name": name, "attributes": _plain(self.file.attributes_of_group(name))}
                for name in self.groups
            ],
            "arrays": [_described(one) for one in self.arrays],
            "refused": self.refused,
            "left_out": self.file.left_out,
        }

    def show(self, attributes: bool) -> None:
        output = output_console()

        def line(text: str) -> None:
            output.print(text, highlight=False, markup=False, soft_wrap=True)

        steps = "" if self.file.steps is None else f", {_count(self.file.steps, 'step')}"
        sums = f", checksums {self.file.checksum}" if self.file.checksum else ""
        nbytes = size_text(sum(one.nbytes for one in self.arrays))
        shown = _count(len(self.arrays), "array")
        line(f"{self.file.path}: {self.file.format}, {shown}, {nbytes}{steps}{sums}")
        if self.arrays:
            output.print(_table(self.arrays))
        for name, reason in self.refused.items():
            line(f"{name}: cannot be read: {reason}")
        if attributes:
            for name in self.groups:
                for text in _lines(name, self.file.attributes_of_group(name)):
                    line(text)
            for one in self.arrays:
                for text in _lines(one.name, one.attributes):
                    line(text)
        if not self.names:
            for text in self.file.left_out:
                line(text)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _extents(extents: tuple[int, ...] | None) -> str:
    return " x ".join(map(str, extents)) if extents is not None else "-"


def _table(arrays: list[StoredArray]) -> Table:
    """Returns a table without the columns that are empty for all arrays."""
    columns = {
        "array": [one.name or "/" for one in arrays],
        "type": [_type_text(one.dtype) for one in arrays],
        "shape": [_extents(one.shape) if one.ndim else "scalar" for one in arrays],
        "dimensions": [", ".join(one.dimension_names) or "-" for one in arrays],
        "chunks": [_extents(one.chunks) for one in arrays],
        "shards": [_extents(one.shards) for one in arrays],
        "codecs": [one.codecs or "-" for one in arrays],
        "fill": ["-" if one.fill is None else str(one.fill) for one in arrays],
        "size": [size_text(one.nbytes) for one in arrays],
    }
    shown = {title: cells for title, cells in columns.items() if set(cells) != {"-"}}
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    for title in shown:
        table.add_column(title, no_wrap=True, justify="right" if title == "size" else "left")
    for row in zip(*shown.values(), strict=True):
        table.add_row(*map(Text, row))
    return table


def _type_text(dtype: np.dtype[Any]) -> str:
    if dtype.hasobject:
        return "text"
    if dtype.fields is None:
        return str(dtype)
    fields = (f"{name} {_type_text(field[0])}" for name, field in dtype.fields.items())
    return f"{{{', '.join(fields)}}}"


def _lines(owner: str, attributes: Mapping[str, Any]) -> list[str]:
    return [f"{owner}:{name} = {_value_text(value)}" for name, value in attributes.items()]


def _value_text(value: Any) -> str:
    text = json.dumps(_plain_value(value), ensure_ascii=False)
    if len(text) <= LONGEST_VALUE:
        return text
    return f"{text[:LONGEST_VALUE]}… ({len(text)} characters; --json has all)"


def _described(one: StoredArray) -> dict[str, Any]:
    return {
        "name": one.name,
        "type": _type_text(one.dtype),
        "shape": list(one.shape),
        "dimension_names": list(one.dimension_names),
        "grows": one.grows,
        "chunks": None if one.chunks is None else list(one.chunks),
        "shards": None if one.shards is None else list(one.shards),
        "codecs": one.codecs,
        "fill": None if one.fill is None else _plain_value(one.fill),
        "order": one.order,
        "byte_order": one.byte_order,
        "bytes": one.nbytes,
        "attributes": _plain(one.attributes),
    }


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain_value(value) for name, value in attributes.items()}


def _plain_value(value: Any) -> Any:
    """Returns the value for JSON; NaN, infinities, complex numbers and bytes become texts."""
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain_value(one) for one in np.asarray(value, object).ravel().tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    return str(value)


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("ls")(list_command)
