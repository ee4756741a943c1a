"""`open` and `StoredFile`: a file of arrays in any format, and its groups."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from weir._core.attribute_values import AttributeValue
from weir._core.errors import UnsupportedError
from weir._core.files import VERIFIED, FileHandle
from weir.files.stored_array import StoredArray, attributes_of

if TYPE_CHECKING:
    from types import TracebackType

PathLike: TypeAlias = str | os.PathLike[str]
Verify: TypeAlias = Literal["none", "covered", "touched"]


CACHE_BYTES = 64 << 20
"""Default limit, in bytes, for decoded chunks that are kept for later reads."""


def open(  # noqa: A001 (as gzip.open)
    path: PathLike, *, verify: Verify = "covered", cache_bytes: int = CACHE_BYTES
) -> StoredFile:
    """Opens a file of arrays for reading, without MPI.

    `path` is an HDF5 file, a NetCDF file (CDF-1, CDF-2, CDF-5; NetCDF-4 is HDF5), a Zarr folder (v3
    or v2), or a raw file or array (with or without the ``.json`` of its document). Any program may
    have written it; its content determines the format. Opening reads names, shapes, types and
    attributes, but no elements.

    If the file has checksums beside it (``PATH.sums``), reading compares blocks of 1 MiB with them.
    On a block that differs it raises StorageError with array, step, file and offset. `verify` says
    which blocks are compared: "covered", those of which one read takes at least three quarters;
    "touched", all of which a read takes any part, which then reads the whole block; "none".

    Compressed chunks that a read takes in part stay decoded in memory for later reads, the most
    recently used first, up to `cache_bytes` in total; 0 keeps none. A chunk is decoded again if its
    file has changed since.

    Raises StorageError if the file does not exist or is damaged, UnsupportedError if its format is
    unknown, and ValueError for an invalid `verify` or a negative `cache_bytes`.
    """
    return StoredFile(path, verify=verify, cache_bytes=cache_bytes)


class StoredGroup(Mapping[str, "StoredArray | StoredGroup"]):
    """The arrays and groups in a group, by name; a name may be a path: ``group["a/b"]``."""

    def __init__(self, file: StoredFile, name: str) -> None:
        self.file = file
        self.name = name
        """Full name; "" is the file itself."""

    @property
    def attributes(self) -> Mapping[str, AttributeValue]:
        return self.file.attributes_of_group(self.name)

    def _full(self, name: str) -> str:
        return f"{self.name}/{name}" if self.name else name

    def __getitem__(self, name: str) -> StoredArray | StoredGroup:
        """Returns the array or group.

        Raises UnsupportedError for an array that Weir cannot read, and KeyError for an unknown
        name.
        """
        full = self._full(name.strip("/"))
        if full in self.file.arrays:
            return self.file.arrays[full]
        if full in self.file.group_names:
            return StoredGroup(self.file, full)
        if full in self.file.refused:
            message = (
                f"array {full!r} of {self.file.path} cannot be read: {self.file.refused[full]}"
            )
            raise UnsupportedError(message)
        raise KeyError(full)

    def __iter__(self) -> Iterator[str]:
        """Iterates over the names of the arrays in this group, then of the groups in it."""
        start = f"{self.name}/" if self.name else ""
        for names in (self.file.arrays, self.file.group_names):
            for name in names:
                rest = name[len(start) :]
                if name.startswith(start) and rest and "/" not in rest:
                    yield rest

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<weir.StoredGroup {self.name!r} of {self.file.path}: {', '.join(self)}>"


class StoredFile(StoredGroup):
    """A file of arrays, as `weir.open` returns it; use it in a with statement or close it.

    As a mapping it contains the names at the top level of the file; `arrays` contains all arrays.
    """

    def __init__(
        self, path: PathLike, *, verify: Verify = "covered", cache_bytes: int = CACHE_BYTES
    ) -> None:
        if verify not in VERIFIED:
            message = f"verify={verify!r}: give one of {', '.join(map(repr, VERIFIED))}"
            raise ValueError(message)
        if cache_bytes < 0:
            message = f"cache_bytes={cache_bytes}: give 0 or more"
            raise ValueError(message)
        self.path = Path(path)
        self.verify = verify
        """Which blocks reads compare with their checksums, as in `open`."""
        self.cache_bytes = cache_bytes
        """Limit, in bytes, for decoded chunks that are kept for later reads."""
        self._handle: FileHandle | None = None
        self.arrays: dict[str, StoredArray] = {}
        """All arrays by their full names."""
        self._take(FileHandle.open(self.path))
        super().__init__(self, "")

    def _take(self, handle: FileHandle) -> None:
        """Takes over the content of an open file; arrays known before stay the same objects."""
        handle.verify_reads(self.verify)
        handle.cache(min(self.cache_bytes, (1 << 63) - 1))
        described = handle.description
        self._handle = handle
        self.format: str = described["format"]
        """Name of the format: "hdf5", "cdf5", "cdf2", "cdf1", "zarr" or "raw"."""
        known, self.arrays = self.arrays, {}
        for number, one in enumerate(described["arrays"]):
            array = known.pop(one["name"], None)
            if array is None:
                array = StoredArray(self, number, one)
            else:
                array.describe(number, one)
            self.arrays[array.name] = array
        for gone in known.values():
            gone.forget()
        self.refused: dict[str, str] = {one["name"]: one["reason"] for one in described["refused"]}
        """Names of the arrays in the file that Weir cannot read, with the reasons."""
        self.left_out: list[str] = [left_out_line(one) for one in described["left_out"]]
        """One line, with the reason, for each attribute in the file that Weir cannot represent,
        such as complex numbers."""
        self.described_left_out: list[dict[str, str]] = described["left_out"]
        """The entries of `left_out`, each as a dict of "owner", "name" and "reason"."""
        self._attributes = {
            one["name"]: attributes_of(one["attributes"]) for one in described["groups"]
        }
        self.group_names: list[str] = _with_those_above(
            [*self._attributes, *self.arrays], self.arrays
        )
        """Full names of all groups; a group comes before the groups inside it."""

    def reload(self) -> None:
        """Updates this object to the file's present content, such as steps added or dropped since.

        Arrays that the program holds stay valid and get new shapes; an array that is gone raises
        StorageError when it is read. It also works if another file has taken the path. No other
        thread may read meanwhile. Raises as `open` does, and then nothing has changed.
        """
        if self._handle is None:
            message = f"{self.path} was closed"
            raise ValueError(message)
        self._handle.reload()
        self._take(self._handle)

    @property
    def steps(self) -> int | None:
        """Number of steps that all growing arrays have; None if no array grows."""
        return min((one.shape[0] for one in self.arrays.values() if one.grows), default=None)

    @property
    def checksum(self) -> str | None:
        """Kind of the checksums beside the file, "crc32c"; None without known checksums."""
        return "crc32c" if self.handle.sums()[0] else None

    @property
    def identity(self) -> tuple[str, int, int]:
        """Identifies the content: absolute path, time of the last change (ns), and size (bytes)."""
        path = self.path
        if self.format == "zarr" and (path / "zarr.json").exists():
            path /= "zarr.json"
        if self.format == "raw" and (document := Path(f"{path}.json")).exists():
            path = document
        about = path.stat()
        return str(self.path.absolute()), about.st_mtime_ns, about.st_size

    @property
    def handle(self) -> FileHandle:
        """Handle of the open file. Raises ValueError after `close`."""
        if self._handle is None:
            message = f"{self.path} was closed"
            raise ValueError(message)
        return self._handle

    def attributes_of_group(self, name: str) -> Mapping[str, AttributeValue]:
        return self._attributes.get(name, {})

    def close(self) -> None:
        """Closes the file, after reads in other threads have ended."""
        self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened_again, (self.path, self.verify, self.cache_bytes)

    def __repr__(self) -> str:
        return f"<weir.StoredFile {self.path} ({self.format}): {', '.join(self)}>"


def left_out_line(one: Mapping[str, str]) -> str:
    """Returns a line that says that an attribute is left out, and why."""
    owner = f"{one['owner']}: " if one["owner"] else ""
    attribute = f"attribute {one['name']!r} is left out: " if one["name"] else ""
    return f"{owner}{attribute}{one['reason']}"


def _opened_again(path: Path, verify: Verify, cache_bytes: int) -> StoredFile:
    return StoredFile(path, verify=verify, cache_bytes=cache_bytes)


def _with_those_above(names: list[str], arrays: Mapping[str, StoredArray]) -> list[str]:
    """Returns all groups that these names name or lie in, except the file itself."""
    groups: dict[str, None] = {}
    for name in names:
        parts = name.split("/")
        last = len(parts) - 1 if name in arrays else len(parts)
        for depth in range(1, last + 1):
            groups["/".join(parts[:depth])] = None
    groups.pop("", None)
    return list(groups)
