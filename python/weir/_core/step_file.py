"""Files of standard formats (HDF5, NetCDF, Zarr) that all ranks write and read together, in steps.

``weir.h``, section "Files of standard formats", and ``docs/formats.md`` describe the order of
calls, what is on disk at each point, and what a killed run leaves.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_int32, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from weir._core import declarations
from weir._core import library as c
from weir._core.arguments import (
    ORDERS,
    arguments_of,
    choice,
    extents,
    numbers,
    numbers_of,
    type_name,
)
from weir._core.array_handle import Array
from weir._core.attribute_values import GivenValue, PlainValue, plain
from weir._core.failures import checked
from weir.errors import Error

if TYPE_CHECKING:
    from weir._core.distribution import Distribution
    from weir._core.session import Order, Session

Durability: TypeAlias = Literal["none", "step", "operation", "journal"]
Checksum: TypeAlias = Literal["none", "crc32c"]
Unwritten: TypeAlias = Literal["fill", "error"]
SILENT_SECONDS = 5.0
"""A rank that waits longer than this for the others to give up a step prints its exception."""


class FileArray(Array):
    """An array in a `File`: it is written and read as other arrays, and closed with its file."""

    def __init__(self, file: File, handle: c_void_p) -> None:
        super().__init__(file.session, handle)
        self.file = file

    @property
    def handle(self) -> c_void_p | None:
        """The handle, or None after the file or the session was closed."""
        return self._handle if self.file.handle else None

    @property
    def has_steps(self) -> bool:
        """Whether the array has separate values in each step; its shape is that of one step."""
        return bool(checked(c.library().weir_array_has_steps(self.handle)))

    @property
    def dimension_names(self) -> tuple[str, ...]:
        """One name for each dimension, ``""`` for dimensions without a name."""
        names = []
        for dimension in range(len(self.shape)):
            name = c.library().weir_array_dimension_name(self.handle, dimension)
            names.append(name.decode())
        return tuple(names)

    @property
    def name(self) -> str:
        return self.file._name_of(self)


class File:
    """A file with arrays, attributes and steps; `Session.create_file` and `open_file` return it.

    Iterating over it yields the names of its arrays, and ``file[name]`` is an array. Methods are
    collective unless marked "Local". A with statement closes the file at its end, but not if an
    exception leaves it: closing is collective, and other ranks may be elsewhere.
    """

    def __init__(self, session: Session, handle: c_void_p) -> None:
        self.session = session
        self._handle = handle
        self._arrays: dict[str, FileArray] = {}

    @property
    def handle(self) -> c_void_p | None:
        """The handle, or None after the file or the session was closed."""
        return self._handle if self.session.handle and self._handle else None

    def __enter__(self) -> File:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None and self.handle:
            self.close()

    def define(
        self,
        name: str,
        shape: Sequence[int],
        element_type: Any,
        *,
        steps: bool = False,
        order: Order = "C",
        chunks: Sequence[int] | None = None,
        natural_chunks: Distribution | None = None,
        typical_request: Sequence[int] | None = None,
        shards: Sequence[int] | None = None,
        dimension_names: Sequence[str] | None = None,
        fill: Any = None,
        codec: str | None = None,
        attributes: Mapping[str, GivenValue] | None = None,
    ) -> FileArray:
        """Defines an array, before the file's first step begins or between steps. Local.

        Every rank makes the same call. An array that is defined between steps of a writable file is
        in the file after `extend` or the beginning of the next step, with `fill` in earlier steps.

        `name` has ``/`` between groups. With `steps` the array has separate values in each step,
        and `shape` is that of one step. `shape`, `chunks`, `typical_request` and `shards` are
        extents in elements. Readers see `fill` where nothing was written. It is also stored as the
        attribute ``_FillValue``: readers that follow NetCDF's conventions, such as xarray, treat it
        as missing. `codec` encodes the bytes of chunks, for example ``"zstd:3"`` or
        ``"shuffle,zstd:1,crc32c"`` (hdf5 and zarr).
        """
        shape = extents("shape", shape)
        wanted = element_type if isinstance(element_type, str) else None
        dtype = None if wanted is not None else np.dtype(element_type)
        named = wanted if wanted is not None else type_name(dtype)  # type: ignore[arg-type]
        options = declarations.DefineOptions(
            order=choice("order", order, ORDERS),
            steps=int(steps),
            chunks=numbers_of("chunks", chunks),
            typical_request=numbers_of("typical_request", typical_request),
            shards=numbers_of("shards", shards),
        )
        if natural_chunks is not None:
            options.natural_chunks = natural_chunks.handle
        if dimension_names is not None:
            texts = dimension_texts(dimension_names, len(shape))
            options.dimension_names = (c_char_p * max(1, len(texts)))(*texts)
        if codec is not None:
            options.codec = codec.encode()
        if fill is not None:
            element = np.array(fill, np.dtype(named))
            options.fill = element.ctypes.data
        # If extents have a wrong length, -1 makes the library refuse them on all ranks.
        given = [one for one in (chunks, typical_request, shards) if one is not None]
        dimensions = len(shape) if all(np.size(one) == len(shape) for one in given) else -1
        handle = c_void_p()
        checked(
            c.library().weir_file_define(
                self.handle,
                name.encode(),
                dimensions,
                numbers(shape),
                named.encode(),
                byref(options),
                byref(handle),
            )
        )
        self._arrays[name] = FileArray(self, handle)
        for attribute, value in (attributes or {}).items():
            self.set_attribute(attribute, value, owner=name)
        return self._arrays[name]

    def set_attribute(self, name: str, value: GivenValue, *, owner: str = "") -> None:
        """Gives an array, a group or the file (`owner` ``""``) an attribute. Local.

        Every rank makes the same call, before the first step or between steps. An attribute that is
        set between steps is in the file after `extend` or the beginning of the next step.

        The value is a text, a list of texts (not in NetCDF's classic formats), or numbers. Numbers
        keep their NumPy type, such as ``numpy.float32(0.5)``; Python's int, float and bool become
        int64, float64 and bool. The text ``units`` names a unit. Raises TypeError for other types,
        and ValueError for more than one dimension.
        """
        library = c.library()
        whose = (self.handle, owner.encode(), name.encode())
        given = plain(name, value)
        if isinstance(given, str):
            checked(library.weir_file_attribute_text(*whose, given.encode()))
        elif isinstance(given, list):
            texts = (c_char_p * max(1, len(given)))(*(one.encode() for one in given))
            checked(library.weir_file_attribute_texts(*whose, len(given), texts))
        else:
            named = type_name(given.dtype).encode()
            numbers_at = given.ctypes.data_as(c_void_p)
            checked(library.weir_file_attribute_numbers(*whose, named, given.size, numbers_at))

    def attributes(self, owner: str = "") -> dict[str, PlainValue]:
        """Returns the attributes of an array, a group or the file (`owner` ``""``). Local.

        Values are texts, lists of texts, and one-dimensional NumPy arrays.
        """
        library = c.library()
        found: dict[str, PlainValue] = {}
        for number in range(checked(library.weir_file_attributes(self.handle, owner.encode()))):
            name, kind, count = c_char_p(), c_int32(), c_int64()
            checked(
                library.weir_file_attribute(
                    self.handle, owner.encode(), number, byref(name), byref(kind), byref(count)
                )
            )
            whose = (self.handle, owner.encode(), name)
            key = (name.value or b"").decode()
            named = library.weir_file_attribute_type(*whose).decode()
            if named == "text":
                text = c_char_p()
                checked(library.weir_file_get_text(*whose, byref(text)))
                found[key] = (text.value or b"").decode(errors="replace")
            elif named == "texts":
                texts = (c_char_p * max(1, count.value))()
                checked(library.weir_file_get_texts(*whose, count, texts))
                several = texts[: count.value]
                found[key] = [(one or b"").decode(errors="replace") for one in several]
            else:
                values = np.empty(count.value, named)
                place = values.ctypes.data_as(c_void_p)
                checked(library.weir_file_get_numbers(*whose, values.nbytes, place))
                found[key] = values
        return found

    @contextmanager
    def step(self) -> Iterator[None]:
        """A step as a with statement: what is written inside it is in the file after its end.

        Collective. The first step lays the file out. If an exception leaves the with statement, on
        one rank or on all, the step is given up on all ranks (`abort_step`) and may be begun again.
        """
        self.begin_step()
        try:
            yield
            self.end_step()
        except BaseException as raised:
            if self.handle and self.in_step:
                self._give_up_step(raised)
            raise

    def begin_step(self) -> None:
        """Begins a step: lays out a new file, and makes room in all arrays that have steps."""
        checked(c.library().weir_file_step_begin(self.handle))

    def end_step(self) -> None:
        """Makes the step durable, according to the file's `durability`; then readers see it."""
        checked(c.library().weir_file_step_end(self.handle))

    def wait_for_step(self, seconds: float = math.inf) -> None:
        """Waits until the step that ended last is on storage, for at most `seconds`.

        Raises DeadlineError if it is not by then, and may then be called again. Without staging
        there is nothing to wait for. Only between steps.
        """
        checked(c.library().weir_file_step_wait(self.handle, seconds))

    def is_step_stored(self) -> bool:
        """Returns whether the step that ended last is on storage, without waiting for it."""
        stored = c_int32()
        checked(c.library().weir_file_step_test(self.handle, byref(stored)))
        return stored.value != 0

    def abort_step(self, reason: str = "") -> None:
        """Gives up the step that has begun: neither the file nor the next step contains any of it.

        One rank may call it before the others. Their collective calls then raise an `AbortedError`
        with the reason until they call `abort_step` too. `reason` may differ between ranks.
        """
        checked(c.library().weir_file_step_abort(self.handle, reason.encode()))

    def extend(self) -> None:
        """Adds the arrays and attributes that were defined since the file was laid out or opened.

        They are added at once: readers see all of them or none. The beginning of the next step does
        the same by itself. New arrays without steps are written in the next step. Raises
        UnsupportedError if the format cannot store the new definitions, which are then discarded.
        """
        checked(c.library().weir_file_extend(self.handle))

    @property
    def in_step(self) -> bool:
        """Whether a step has begun and has neither ended nor been given up. Local."""
        return bool(checked(c.library().weir_file_in_step(self.handle)))

    def drop_steps(self, steps: int) -> None:
        """Keeps the first `steps` steps and removes the others; call it between steps.

        It serves to restart a run from an earlier checkpoint. `steps` is the same on every rank.
        Readers see either all old steps or the remaining ones, even if the run is killed. Readers
        that have the file open should open it again.
        """
        with arguments_of("drop_steps", self.session.handle):
            kept = extents("steps", steps)
            if len(kept) != 1:
                message = f"steps is {steps!r}: give one number"
                raise TypeError(message)
        checked(c.library().weir_file_drop_steps(self.handle, kept[0]))

    def _give_up_step(self, raised: BaseException) -> None:
        """Gives up the step that the exception `raised` left; a failure to do so becomes a note."""
        reason = " ".join("".join(traceback.format_exception_only(raised)).split())
        waits = threading.Timer(SILENT_SECONDS, say_why_ranks_are_awaited, [raised])
        waits.daemon = True
        waits.start()
        try:
            self.abort_step(reason)
        except Error as failed:
            raised.add_note(f"the step could not be given up: {failed}")
        finally:
            waits.cancel()

    @property
    def unwritten(self) -> tuple[str, ...]:
        """Names of the arrays that no rank wrote in the step that ended last. Local.

        These arrays have their fill value in that step. Empty again when the next step begins.
        """
        count = checked(c.library().weir_file_unwritten(self.handle))
        return tuple(
            c.library().weir_file_unwritten_name(self.handle, number).decode()
            for number in range(count)
        )

    @property
    def steps(self) -> int:
        """Number of steps that have ended; 1 if no array has steps. Local."""
        return checked(c.library().weir_file_steps(self.handle))

    def select_step(self, step: int) -> None:
        """Selects the step, counted from 0, that later reads read; at first it is the last. Local.

        All ranks must have selected the same step when they begin a read.
        """
        checked(c.library().weir_file_select_step(self.handle, step))

    def __iter__(self) -> Iterator[str]:
        for number in range(checked(c.library().weir_file_arrays(self.handle))):
            yield c.library().weir_file_array_name(self.handle, number).decode()

    def __getitem__(self, name: str) -> FileArray:
        if name not in self._arrays:
            handle = c_void_p()
            checked(c.library().weir_file_array(self.handle, name.encode(), byref(handle)))
            self._arrays[name] = FileArray(self, handle)
        return self._arrays[name]

    def _name_of(self, array: FileArray) -> str:
        return next(name for name, known in self._arrays.items() if known is array)

    def close(self) -> None:
        """Closes the file and its arrays. Raises if a step has not ended: it is not in the file."""
        place = c_void_p(self.handle.value if self.handle else None)
        self._handle = c_void_p()
        checked(c.library().weir_file_close(byref(place)))


def say_why_ranks_are_awaited(raised: BaseException) -> None:
    """Prints an exception while its rank waits, perhaps for long, for the other ranks."""
    shown = "".join(traceback.format_exception(raised))
    sys.stderr.write(f"{shown}weir: waiting for the other ranks to give up the step\n")


def dimension_texts(names: Any, dimensions: int) -> list[bytes]:
    """Returns the argument `dimension_names` of an array with so many dimensions as bytes for C.

    Raises TypeError or ValueError if it is not one text per dimension.
    """
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        message = f"dimension_names is {names!r}: give a text for each dimension"
        raise TypeError(message)
    if len(names) != dimensions:
        message = (
            f"dimension_names has length {len(names)}, but the array's shape has length "
            f"{dimensions}: give a text for each dimension"
        )
        raise ValueError(message)
    return [name.encode() for name in names]


def create(
    session: Session,
    path: str,
    *,
    format: str | None,  # noqa: A002 (the word of weir.h)
    durability: Durability | None,
    step_dimension: str | None,
    alignment_bytes: int,
    checksum: Checksum | None,
    stripe_count: int,
    stripe_bytes: int,
    first_target: int,
    pool: bytes | None,
    unwritten: Unwritten | None,
) -> File:
    """Implements `Session.create_file`."""
    options = declarations.FileOptions(
        format=None if format is None else format.encode(),
        durability=None if durability is None else durability.encode(),
        step_dimension=None if step_dimension is None else step_dimension.encode(),
        alignment_bytes=alignment_bytes,
        checksum=None if checksum is None else checksum.encode(),
        stripe_count=stripe_count,
        stripe_bytes=stripe_bytes,
        first_target=first_target,
        pool=pool,
        unwritten=None if unwritten is None else unwritten.encode(),
    )
    handle = c_void_p()
    checked(
        c.library().weir_file_create(
            session.handle, os.fsencode(path), byref(options), byref(handle)
        )
    )
    return File(session, handle)


def open_existing(
    session: Session,
    path: str,
    *,
    read_only: bool,
    rewrite: bool,
    durability: Durability | None,
    checksum: Checksum | None,
    unwritten: Unwritten | None,
) -> File:
    """Implements `Session.open_file`."""
    with arguments_of("open_file", session.handle):
        place = os.fsencode(path)
        options = declarations.FileOpenOptions(
            read_only=int(read_only),
            rewrite=int(rewrite),
            durability=None if durability is None else durability.encode(),
            checksum=None if checksum is None else checksum.encode(),
            unwritten=None if unwritten is None else unwritten.encode(),
        )
    handle = c_void_p()
    checked(c.library().weir_file_open(session.handle, place, byref(options), byref(handle)))
    return File(session, handle)
