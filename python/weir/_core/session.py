"""Sessions, arrays, distributions and requests: what ``weir`` shows to a program.

The names and the rules are those of ``weir.h``; what each call does, which arguments must be alike
on all ranks, and what every rank gets when one fails stands there. Memory is never copied: NumPy's
arrays are written from and read into where they are, contiguous or not.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_int, c_int64, c_void_p
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from weir._core import library as c
from weir._core import step_file
from weir._core.arguments import (
    COLUMN_MAJOR,
    ROW_MAJOR,
    Data,
    SectionLike,
    TransferArguments,
    choice,
    extents,
    numbers,
    transfer_structs,
    type_name,
)
from weir._core.array_handle import Array
from weir._core.failures import checked, line_of_exception
from weir._core.requests import Requests, UnderWay

if TYPE_CHECKING:
    from mpi4py import MPI

FILES = {"shared": 0, "per aggregator": 1, "per rank": 2}
DIRECTIONS = {"write": 0, "read": 1}
ORDERS = {"C": ROW_MAJOR, "F": COLUMN_MAJOR}
ENGINES = {1: "posix", 2: "io_uring", 3: "direct-io", 4: "mpi-io"}
STRATEGIES = {1: "direct", 2: "node", 3: "two-phase", 4: "server-directed"}

Order: TypeAlias = Literal["C", "F"]
TransferLike: TypeAlias = (
    "tuple[Array, Distribution, Data] | tuple[Array, Distribution, Data, SectionLike]"
)
"""Array, distribution, this rank's part in memory, and perhaps a section."""


def communicator_for_c(communicator: MPI.Comm) -> Any:
    """The MPI_Comm of an mpi4py communicator: a pointer in Open MPI, an integer in MPICH."""
    from mpi4py import MPI  # noqa: PLC0415 (only programs with arrays have it)

    kind = c_void_p if MPI._sizeof(MPI.Comm) == ctypes.sizeof(c_void_p) else c_int
    return kind.from_address(MPI._addressof(communicator))


def library_version() -> str:
    """The version of libweir.so."""
    return str(c.library().weir_version().decode())


class Distribution:
    """Which elements each rank holds in memory; made by `Session.distribution`."""

    def __init__(self, session: Session, handle: c_void_p, dimensions: int) -> None:
        self.session = session
        self.dimensions = dimensions
        self._handle = handle

    def __del__(self) -> None:
        # Freeing is local, so it does not matter when each rank comes to it.
        if self.handle:
            c.library().weir_distribution_free(byref(self._handle))

    @property
    def handle(self) -> c_void_p | None:
        """The handle, or None after the session."""
        return self._handle if self.session.handle else None

    @property
    def elements(self) -> int:
        """How many elements this rank holds."""
        return checked(c.library().weir_distribution_elements(self.handle))

    @property
    def pieces(self) -> int:
        """1; of a distribution by boxes, how many of them this rank has."""
        return checked(c.library().weir_distribution_pieces(self.handle))

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of this rank's part, when it is one piece."""
        return self.piece_shape(0)

    def piece_shape(self, piece: int) -> tuple[int, ...]:
        extents = (c_int64 * self.dimensions)()
        checked(c.library().weir_distribution_piece_shape(self.handle, piece, extents))
        return tuple(extents)

    def global_index(self, local: Sequence[int], piece: int = 0) -> tuple[int, ...]:
        """The index in the array of the element at index `local` of a piece."""
        if len(local) != self.dimensions:
            message = f"local is {tuple(local)}: give {self.dimensions} indices"
            raise ValueError(message)
        found = (c_int64 * self.dimensions)()
        checked(
            c.library().weir_distribution_global_index(self.handle, piece, numbers(local), found)
        )
        return tuple(found)


class Request:
    """A write or read under way; its memory must not be changed before it has ended.

    The session holds that memory until then, whatever becomes of this object: a request that nobody
    waits for is carried out all the same, and `Session.close` raises what it failed with.
    """

    def __init__(self, session: Session, under_way: UnderWay) -> None:
        self.session = session
        self._under_way = under_way

    def __del__(self) -> None:
        self._under_way.is_dropped = True

    def wait(self) -> None:
        """Waits until the request has ended; raises what the blocking call would have raised."""
        if self.session.handle and self._under_way.handle:
            code = c.library().weir_wait(byref(self._under_way.handle))
            self.session.requests.remove(self._under_way)
            checked(code)

    def test(self) -> bool:
        """Moves on without waiting; whether the request has ended. Raises when it failed."""
        if not (self.session.handle and self._under_way.handle):
            return True
        code, complete = self._under_way.test()
        if complete:
            self.session.requests.remove(self._under_way)
        checked(code)
        return complete

    def detach(self) -> None:
        """Gives the memory back at once, as to leave the request: it may change from here on.

        What is still to be written is copied, what is read is lost, and the request goes on when
        the session is used on; nobody is told how it ends. Local. A request that is merely dropped
        keeps its memory until it has ended.
        """
        if self.session.handle and self._under_way.handle:
            code = c.library().weir_request_detach(byref(self._under_way.handle))
            self.session.requests.remove(self._under_way)
            checked(code)


class Session:
    """The ranks of an mpi4py communicator that do I/O together; use it in a with statement.

    Left by an exception, it is abandoned: other ranks may be elsewhere, and closing needs all.
    Their calls end at once with a `BrokenError` that names this rank, its step and the exception.
    """

    def __init__(
        self,
        communicator: MPI.Comm,
        *,
        deadline_seconds: float = 0,
        strategy: str | None = None,
        aggregators: int = 0,
        buffer_bytes: int = 0,
        buffers: int = 0,
        ranks_per_node: int = 0,
        platform: str | None = None,
        alignment_bytes: int = 0,
        stripe_bytes: int = 0,
        lock_bytes: int = 0,
        targets: int = 0,
        engine: str | None = None,
    ) -> None:
        options = c.SessionOptions(
            deadline_seconds=deadline_seconds,
            strategy=strategy.encode() if strategy is not None else None,
            aggregators=aggregators,
            buffer_bytes=buffer_bytes,
            buffers=buffers,
            ranks_per_node=ranks_per_node,
            platform=str(platform).encode() if platform is not None else None,
            alignment_bytes=alignment_bytes,
            stripe_bytes=stripe_bytes,
            lock_bytes=lock_bytes,
            targets=targets,
            engine=engine.encode() if engine is not None else None,
        )
        self.handle = c_void_p()
        self.requests = Requests()
        mpi_communicator = communicator_for_c(communicator)
        # The argument's type is the MPI library's.
        opening = c.library().weir_session_open
        opening.restype = c_int
        opening.argtypes = [type(mpi_communicator), ctypes.POINTER(c.SessionOptions), c.PLACE]
        checked(opening(mpi_communicator, byref(options), byref(self.handle)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abandon(line_of_exception(error))

    def close(self) -> None:
        """Closes the session and what is open in it. A second time it does nothing.

        Ends the requests under way, and raises what the first of them failed with that nobody
        waited for.
        """
        if not self.handle:
            return
        try:
            self.requests.end()
        finally:
            checked(c.library().weir_session_close(byref(self.handle)))

    def abandon(self, reason: str | None = None) -> None:
        """Gives the session up without waiting for any other rank.

        With a `reason`, a line, the other ranks' calls end at once with a `BrokenError` that has
        it.
        """
        # The library does not touch the memory of its requests any more.
        told = None if reason is None else reason.encode(errors="replace")
        c.library().weir_session_abandon_because(byref(self.handle), told)
        self.requests = Requests()

    def distribution(
        self,
        shape: Sequence[int],
        formats: str | Sequence[str],
        *,
        grid: Sequence[int] | None = None,
        grid_order: Order = "C",
    ) -> Distribution:
        """Distributes an array by formats: ``"BLOCK, *"``, or one text for each dimension."""
        shape = extents("shape", shape)
        formats = formats if isinstance(formats, str) else texts("formats", formats)
        options = c.DistributionOptions(
            grid=numbers(grid), grid_order=choice("grid_order", grid_order, ORDERS)
        )
        # A grid of another number of dimensions is refused by all ranks alike.
        dimensions = len(shape) if grid is None or len(grid) == len(shape) else 0
        handle = c_void_p()
        checked(
            c.library().weir_distribution_create(
                self.handle,
                dimensions,
                numbers(shape),
                formats.encode(),
                byref(options),
                byref(handle),
            )
        )
        return Distribution(self, handle, len(shape))

    def distribution_from_boxes(
        self, shape: Sequence[int], boxes: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> Distribution:
        """Distributes an array by boxes; `boxes` are this rank's lower corners and extents."""
        fits = all(len(lower) == len(extent) == len(shape) for lower, extent in boxes)
        handle = c_void_p()
        checked(
            c.library().weir_distribution_from_boxes(
                self.handle,
                len(shape) if fits else 0,
                numbers(shape),
                len(boxes),
                numbers([number for lower, _ in boxes for number in lower]),
                numbers([number for _, extent in boxes for number in extent]),
                byref(handle),
            )
        )
        return Distribution(self, handle, len(shape))

    def create(
        self,
        path: str,
        shape: Sequence[int],
        element_type: Any,
        *,
        order: Order = "C",
        chunks: Sequence[int] | None = None,
        natural_chunks: Distribution | None = None,
        typical_request: Sequence[int] | None = None,
        chunk_buffer_bytes: int = 0,
        chunk_block_bytes: int = 0,
        files: Literal["shared", "per aggregator", "per rank"] = "shared",
        directories: Sequence[str] = (),
        stripe_count: int = 0,
        stripe_bytes: int = 0,
        first_target: int | None = None,
        pool: str | None = None,
    ) -> Array:
        """Creates an array of an element type by Weir's name or NumPy's type.

        Several files lie in the `directories` in turn, which are there already. How new files lie
        on Lustre and CephFS: on `stripe_count` targets (-1: all), `stripe_bytes` at a time, from
        the target of index `first_target` on, of a `pool`; what is left out is as the folder has
        it.
        """
        shape = extents("shape", shape)
        names = [str(directory).encode() for directory in directories]
        options = c.ArrayOptions(
            order=choice("order", order, ORDERS),
            files=choice("files", files, FILES),
            chunks=numbers(chunks),
            typical_request=numbers(typical_request),
            chunk_buffer_bytes=chunk_buffer_bytes,
            chunk_block_bytes=chunk_block_bytes,
            directories=(ctypes.c_char_p * len(names))(*names) if names else None,
            directory_count=len(names),
            stripe_count=stripe_count,
            stripe_bytes=stripe_bytes,
            first_target=0 if first_target is None else first_target + 1,
            pool=None if pool is None else pool.encode(),
        )
        if natural_chunks is not None:
            options.natural_chunks = natural_chunks.handle
        if isinstance(element_type, str) and element_type.startswith("record["):
            name = element_type
        else:
            name = type_name(np.dtype(element_type))
        # Extents of another number of dimensions are refused by all ranks alike.
        sizes = {
            len(extents) for extents in (shape, chunks, typical_request) if extents is not None
        }
        dimensions = len(shape) if len(sizes) == 1 else 0
        handle = c_void_p()
        checked(
            c.library().weir_array_create(
                self.handle,
                str(path).encode(),
                dimensions,
                numbers(shape),
                name.encode(),
                byref(options),
                byref(handle),
            )
        )
        return Array(self, handle)

    def open(self, path: str, *, read_only: bool = False) -> Array:
        """Opens an array that any number of ranks created."""
        options = c.OpenOptions(read_only=int(read_only))
        handle = c_void_p()
        checked(
            c.library().weir_array_open(
                self.handle, str(path).encode(), byref(options), byref(handle)
            )
        )
        return Array(self, handle)

    def create_file(
        self,
        path: str,
        *,
        format: str | None = None,  # noqa: A002 (the word of weir.h)
        durability: step_file.Durability | None = None,
        step_dimension: str | None = None,
        alignment_bytes: int = 0,
        checksum: step_file.Checksum | None = None,
        stripe_count: int = 0,
        stripe_bytes: int = 0,
        first_target: int | None = None,
        pool: str | None = None,
        unwritten: step_file.Unwritten | None = None,
    ) -> step_file.File:
        """Begins a file of a standard format, which its first step lays out. Local.

        `format` is ``"hdf5"``, ``"cdf5"``, ``"cdf2"``, ``"cdf1"``, ``"zarr"`` or ``"raw"``; without
        it, as the path ends. `durability` says when what was written outlives a crash of the
        system. Arrays of at least `alignment_bytes` begin at a multiple of it; 0 leaves it open, 1
        is anywhere.
        `checksum` is what is kept of every block in PATH.sums: ``"crc32c"`` or ``"none"`` (unless
        told). `stripe_count`, `stripe_bytes`, `first_target` and `pool` are as in `create`.
        `unwritten` says what becomes of a step in which no rank wrote one of its arrays:
        ``"fill"`` (unless told; `File.unwritten` has their names) or ``"error"``, with which
        `File.end_step` raises and names them.
        """
        return step_file.create(
            self,
            path,
            format=format,
            durability=durability,
            step_dimension=step_dimension,
            alignment_bytes=alignment_bytes,
            checksum=checksum,
            stripe_count=stripe_count,
            stripe_bytes=stripe_bytes,
            first_target=0 if first_target is None else first_target + 1,
            pool=None if pool is None else pool.encode(),
            unwritten=unwritten,
        )

    def open_file(
        self,
        path: str,
        *,
        read_only: bool = False,
        rewrite: bool = False,
        durability: step_file.Durability | None = None,
        checksum: step_file.Checksum | None = None,
        unwritten: step_file.Unwritten | None = None,
    ) -> step_file.File:
        """Opens a file of any of these formats, whoever wrote it.

        With `rewrite` arrays without steps can be written again, in place and outside any step.
        `checksum` is of the steps that are added; without it, as the steps have that are there.
        `unwritten` is of the steps that are added, as in `create_file`.
        """
        return step_file.open_existing(
            self,
            path,
            read_only=read_only,
            rewrite=rewrite,
            durability=durability,
            checksum=checksum,
            unwritten=unwritten,
        )

    def write_many(self, transfers: Sequence[TransferLike]) -> None:
        """Writes several arrays under one plan."""
        given = transfer_arguments(transfers, is_read_into=False)
        checked(c.library().weir_write_many(self.handle, len(given), transfer_structs(given)))

    def read_many(self, transfers: Sequence[TransferLike]) -> None:
        """Reads several arrays under one plan, into the memory given."""
        given = transfer_arguments(transfers, is_read_into=True)
        checked(c.library().weir_read_many(self.handle, len(given), transfer_structs(given)))

    def write_begin(self, transfers: Sequence[TransferLike]) -> Request:
        """Begins `write_many`."""
        return self._begin(c.library().weir_write_begin, transfers, is_read_into=False)

    def read_begin(self, transfers: Sequence[TransferLike]) -> Request:
        """Begins `read_many`."""
        return self._begin(c.library().weir_read_begin, transfers, is_read_into=True)

    def _begin(
        self, begin: Any, transfers: Sequence[TransferLike], *, is_read_into: bool
    ) -> Request:
        given = transfer_arguments(transfers, is_read_into=is_read_into)
        return self._begun(begin, (self.handle, len(given), transfer_structs(given)), given)

    def _begun(self, begin: Any, arguments: tuple[Any, ...], memory: Any) -> Request:
        """The request that a call of the library begins, whose memory the session then holds."""
        self.requests.free_dropped()
        handle = c_void_p()
        checked(begin(*arguments, byref(handle)))
        return Request(self, self.requests.add(handle, memory))

    def explain(
        self, direction: Literal["write", "read"], transfers: Sequence[TransferLike]
    ) -> str:
        """What `write_many` or `read_many` would do with these, and why: lines for people.

        The same on every rank. Moves nothing, and is local.
        """
        number = choice("direction", direction, DIRECTIONS)
        given = transfer_arguments(transfers, is_read_into=direction == "read")
        text = ctypes.c_char_p()
        checked(
            c.library().weir_session_explain(
                self.handle, number, len(given), transfer_structs(given), byref(text)
            )
        )
        return (text.value or b"").decode()

    def figures(self) -> dict[str, int | str]:
        """Where the time of the latest request went on this rank, in ns, and what it moved."""
        figures = c.Figures()
        checked(c.library().weir_session_figures(self.handle, byref(figures)))
        names = [field[0] for field in c.Figures._fields_ if not field[0].startswith("reserved")]
        found: dict[str, int | str] = {name: getattr(figures, name) for name in names}
        found["strategy"] = STRATEGIES.get(figures.strategy, "automatic")
        found["engine"] = ENGINES.get(figures.engine, "automatic")
        return found


def texts(name: str, values: Any) -> str:
    """The argument `name`, a text for each dimension, as the library takes it."""
    try:
        return ", ".join(values)
    except TypeError:
        message = f"{name} is {values!r}: give a text, or a text for each dimension"
        raise TypeError(message) from None


def transfer_arguments(
    transfers: Sequence[TransferLike], *, is_read_into: bool
) -> list[TransferArguments]:
    """The structs of a request's transfers."""
    given = []
    for transfer in transfers:
        # Too few or too many of them are refused on all ranks together, as of no array.
        fits = isinstance(transfer, Sequence) and len(transfer) in (3, 4)
        array, distribution, data, section = (*transfer, None)[:4] if fits else (None,) * 4
        given.append(
            TransferArguments(array, distribution, data, section, is_read_into=is_read_into)
        )
    return given
