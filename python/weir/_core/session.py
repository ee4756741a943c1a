"""Sessions, as ``weir`` exports them.

Names and rules are those of ``weir.h``, which says what each call does, which arguments must be the
same on all ranks, and what every rank gets when one fails. Data is written from and read into NumPy
arrays in place, contiguous or not, without a copy.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from ctypes import byref, c_void_p
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from weir._core import declarations, step_file
from weir._core import library as c
from weir._core.arguments import (
    ORDERS,
    Data,
    SectionLike,
    TransferArguments,
    arguments_of,
    choice,
    corners_of,
    extents,
    numbers,
    numbers_of,
    transfer_structs,
    type_name,
)
from weir._core.array_handle import Array
from weir._core.communicator import address_for_c, communicator_for_c, null_communicator
from weir._core.distribution import Distribution
from weir._core.failures import checked, line_of_exception
from weir._core.request import Request
from weir._core.requests import Requests

if TYPE_CHECKING:
    from mpi4py import MPI

FILES = {
    "shared": declarations.SHARED_FILE,
    "per aggregator": declarations.FILE_PER_AGGREGATOR,
    "per rank": declarations.FILE_PER_RANK,
}
DIRECTIONS = {"write": declarations.WRITE, "read": declarations.READ}
ENGINES = {1: "posix", 2: "io_uring", 3: "direct-io", 4: "mpi-io", 5: "null"}
STRATEGIES = {1: "direct", 2: "node", 3: "two-phase", 4: "server-directed"}

Order: TypeAlias = Literal["C", "F"]
TransferLike: TypeAlias = (
    "tuple[Array, Distribution, Data] | tuple[Array, Distribution, Data, SectionLike]"
)
"""Array, distribution, this rank's part in memory, and optionally a section."""


def library_version() -> str:
    """Returns the version of libweir.so, such as "0.1.0"."""
    return str(c.library().weir_version().decode())


def init_staging(
    communicator: MPI.Comm,
    *,
    staging: str | None = None,
    ranks_per_node: int = 0,
    deadline_seconds: float = 0,
) -> MPI.Intracomm:
    """Sets apart the ranks in whose place stagers run; returns a communicator of all others.

    Ranks are set apart if `staging`, or else ``WEIR_STAGING``, is ``"ranks"`` or the like; open
    sessions with the same `staging`. On such a rank the call returns when the stager has ended, and
    the communicator is null, which is false in a condition. Collective over `communicator`.
    """
    options = declarations.SessionOptions(
        deadline_seconds=deadline_seconds,
        ranks_per_node=ranks_per_node,
        staging=staging.encode() if staging is not None else None,
    )
    program = null_communicator()
    checked(
        c.library().weir_init_staging(
            communicator_for_c(communicator), byref(options), address_for_c(program)
        )
    )
    return program


def finalize_staging(program: MPI.Comm) -> None:
    """Frees what `init_staging` returned, and lets the stagers end. Collective over `program`.

    The stagers first store everything. Call when the sessions are closed.
    """
    checked(c.library().weir_finalize_staging(address_for_c(program)))


class Session:
    """The ranks of an mpi4py communicator that do I/O together; use it in a with statement.

    The constructor is collective over the communicator, and so are all methods of the session
    unless marked "Local": all ranks make the same calls in the same order. The options are the
    fields of ``weir_session_options`` in ``weir.h`` and must be the same on every rank; the default
    of each leaves the choice to the environment variables ``WEIR_...`` of rank 0 and then to Weir.
    `platform` is the path of a platform description, which only rank 0 reads.

    If an exception leaves the with statement, the session is abandoned, because closing needs all
    ranks and some may be elsewhere. The calls of the other ranks end at once with a `BrokenError`
    that names this rank, its step and the exception.
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
        staging: str | None = None,
        io_groups: str | None = None,
        aggregator_placement: str | None = None,
        staging_lost: str | None = None,
        durability: step_file.Durability | None = None,
    ) -> None:
        options = declarations.SessionOptions(
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
            staging=staging.encode() if staging is not None else None,
            io_groups=io_groups.encode() if io_groups is not None else None,
            aggregator_placement=(
                aggregator_placement.encode() if aggregator_placement is not None else None
            ),
            staging_lost=staging_lost.encode() if staging_lost is not None else None,
            durability=durability.encode() if durability is not None else None,
        )
        self.handle = c_void_p()
        self.requests = Requests()
        checked(
            c.library().weir_session_open(
                communicator_for_c(communicator), byref(options), byref(self.handle)
            )
        )

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
        """Closes the session and the arrays open in it; does nothing if it is closed. Collective.

        Waits for the requests in progress, and raises the first failure among the requests that
        the program did not wait for.
        """
        if not self.handle:
            return
        try:
            self.requests.end()
        finally:
            checked(c.library().weir_session_close(byref(self.handle)))

    def abandon(self, reason: str | None = None) -> None:
        """Gives the session up without waiting for any other rank. Local.

        If `reason`, one line, is given, the calls of the other ranks end at once with a
        `BrokenError` that contains it.
        """
        # After this call the library does not access the memory of the requests.
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
        """Distributes an array of this shape (in elements) by formats.

        `formats` is one text such as ``"BLOCK, CYCLIC(32), *"``, or a list with one text per
        dimension; ``"*"`` leaves a dimension undistributed. `grid` is the number of ranks along
        each dimension (1 along ``"*"``); by default all ranks are divided over the distributed
        dimensions as evenly as possible. `grid_order` says along which dimension of the grid the
        rank numbers run fastest: the last (``"C"``) or the first (``"F"``). All arguments are the
        same on every rank.
        """
        with arguments_of("distribution", self.handle):
            shape = extents("shape", shape)
            formats = formats if isinstance(formats, str) else texts("formats", formats)
            named = formats.encode()
            options = declarations.DistributionOptions(
                grid=numbers_of("grid", grid), grid_order=choice("grid_order", grid_order, ORDERS)
            )
            # If the grid has a wrong number of dimensions, 0 makes the library refuse it.
            dimensions = len(shape) if grid is None or np.size(grid) == len(shape) else 0
        handle = c_void_p()
        checked(
            c.library().weir_distribution_create(
                self.handle,
                dimensions,
                numbers(shape),
                named,
                byref(options),
                byref(handle),
            )
        )
        return Distribution(self, handle, len(shape))

    def distribution_from_boxes(
        self, shape: Sequence[int], boxes: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> Distribution:
        """Distributes an array of this shape (in elements) by explicit boxes.

        `boxes` are the lower corners and extents of this rank's boxes, 0 or more; they may differ
        between ranks. `shape` is the same on every rank. If two boxes overlap, the distribution can
        be used to read and not to write.
        """
        with arguments_of("distribution_from_boxes", self.handle):
            shape = extents("shape", shape)
            lowers, sizes = corners_of(boxes, len(shape))
        handle = c_void_p()
        checked(
            c.library().weir_distribution_from_boxes(
                self.handle,
                len(shape),
                numbers(shape),
                len(lowers) // max(1, len(shape)),
                numbers(lowers),
                numbers(sizes),
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
        """Creates an array at `path`, or replaces the one that is there. Collective.

        All arguments are the same on every rank. `shape`, `chunks` and `typical_request` are in
        elements; at most one of `chunks`, `natural_chunks` and `typical_request` may be given.
        `element_type` is a NumPy type, or ``"record[BYTES]"``. Elements that were never written
        read as 0.

        Several files are placed round-robin in `directories`, which must exist. The last four
        arguments apply to Lustre and CephFS: a new file is striped over `stripe_count` targets (-1:
        all), in stripes of `stripe_bytes`, beginning at the target with index `first_target`, in a
        `pool`. By default each is as the folder has it.
        """
        with arguments_of("create", self.handle):
            place = os.fsencode(path)
            shape = extents("shape", shape)
            names = [os.fsencode(directory) for directory in directories]
            options = declarations.ArrayOptions(
                order=choice("order", order, ORDERS),
                files=choice("files", files, FILES),
                chunks=numbers_of("chunks", chunks),
                typical_request=numbers_of("typical_request", typical_request),
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
            # If the extents differ in length, 0 dimensions make the library refuse them.
            given = [one for one in (chunks, typical_request) if one is not None]
            dimensions = len(shape) if all(np.size(one) == len(shape) for one in given) else 0
        handle = c_void_p()
        checked(
            c.library().weir_array_create(
                self.handle,
                place,
                dimensions,
                numbers(shape),
                name.encode(),
                byref(options),
                byref(handle),
            )
        )
        return Array(self, handle)

    def open(self, path: str, *, read_only: bool = False) -> Array:
        """Opens an array that this or any other number of ranks created. Collective.

        The arguments are the same on every rank.
        """
        with arguments_of("open", self.handle):
            place = os.fsencode(path)
            options = declarations.OpenOptions(read_only=int(read_only))
        handle = c_void_p()
        checked(c.library().weir_array_open(self.handle, place, byref(options), byref(handle)))
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
        """Begins the definition of a file of a standard format; its first step lays it out. Local.

        All arguments are the same on every rank. `format` is ``"hdf5"``, ``"cdf5"``, ``"cdf2"``,
        ``"cdf1"``, ``"zarr"`` or ``"raw"``; by default the extension of the path decides.
        `durability` says when written data survives a crash of the system: after each ``"step"``,
        after each ``"operation"``, or when the system writes it (``"none"``). With ``"journal"`` a
        step that has ended survives its stagers, too. By default it is the session's, or else
        ``"step"``. Arrays of at least `alignment_bytes` begin at a multiple of it; 1 means
        anywhere, and 0 multiples of up to 2 MiB.

        `checksum` says which checksum of every block is kept in PATH.sums: ``"crc32c"`` or
        ``"none"`` (default). `stripe_count`, `stripe_bytes`, `first_target` and `pool` are as in
        `create`. `unwritten` says what happens in a step in which no rank wrote some array. With
        ``"fill"`` (default) the array has its fill value, and `File.unwritten` contains its name.
        With ``"error"`` `File.end_step` fails and names such arrays.
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
        """Opens a file of any format of `create_file`, written by any program. Collective.

        All arguments are the same on every rank. With `rewrite`, arrays without steps can be
        written again, in place and outside any step. `durability`, `checksum` and `unwritten` apply
        to the steps that are added, as in `create_file`; by default `checksum` is that of the
        existing steps.
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
        """Writes several arrays under one plan. Collective.

        Arrays, distributions and sections are the same on every rank.
        """
        given = transfer_arguments(transfers, is_read_into=False)
        checked(c.library().weir_write_many(self.handle, len(given), transfer_structs(given)))

    def read_many(self, transfers: Sequence[TransferLike]) -> None:
        """Reads several arrays under one plan into the given memory. Collective.

        Arrays, distributions and sections are the same on every rank.
        """
        given = transfer_arguments(transfers, is_read_into=True)
        checked(c.library().weir_read_many(self.handle, len(given), transfer_structs(given)))

    def write_begin(self, transfers: Sequence[TransferLike]) -> Request:
        """Begins `write_many` and returns without waiting for other ranks. Collective."""
        return self._begin(c.library().weir_write_begin, transfers, is_read_into=False)

    def read_begin(self, transfers: Sequence[TransferLike]) -> Request:
        """Begins `read_many` and returns without waiting for other ranks. Collective."""
        return self._begin(c.library().weir_read_begin, transfers, is_read_into=True)

    def _begin(
        self, begin: Any, transfers: Sequence[TransferLike], *, is_read_into: bool
    ) -> Request:
        given = transfer_arguments(transfers, is_read_into=is_read_into)
        return self._begun(begin, (self.handle, len(given), transfer_structs(given)), given)

    def _begun(self, begin: Any, arguments: tuple[Any, ...], memory: Any) -> Request:
        """Begins a request by a call of the library, and lets the session hold its memory."""
        self.requests.free_dropped()
        handle = c_void_p()
        checked(begin(*arguments, byref(handle)))
        return Request(self, self.requests.add(handle, memory))

    def explain(
        self, direction: Literal["write", "read"], transfers: Sequence[TransferLike]
    ) -> str:
        """Explains which strategy `write_many` or `read_many` would use and why, in several lines.

        The text is the same on every rank. The call moves no data. Local.
        """
        number = choice("direction", direction, DIRECTIONS)
        given = transfer_arguments(transfers, is_read_into=direction == "read")
        text = ctypes.c_char_p()
        checked(
            c.library().weir_session_explain(
                self.handle, number, len(given), transfer_structs(given), byref(text)
            )
        )
        return (text.value or b"").decode(errors="replace")

    def figures(self) -> dict[str, int | str]:
        """Returns the times (ns) and bytes of the latest request that ended, on this rank. Local.

        The keys are the fields of ``weir_figures``. Raises ArgumentError before the first request
        has ended.
        """
        figures = declarations.Figures()
        checked(c.library().weir_session_figures(self.handle, byref(figures)))
        names = [
            field[0]
            for field in declarations.Figures._fields_
            if not field[0].startswith("reserved")
        ]
        found: dict[str, int | str] = {name: getattr(figures, name) for name in names}
        found["strategy"] = STRATEGIES.get(figures.strategy, "automatic")
        found["engine"] = ENGINES.get(figures.engine, "automatic")
        return found


def texts(name: str, values: Any) -> str:
    """Joins the argument `name`, one text per dimension, into one text for the library."""
    try:
        return ", ".join(values)
    except TypeError:
        message = f"{name} is {values!r}: give a text, or a text for each dimension"
        raise TypeError(message) from None


def transfer_arguments(
    transfers: Sequence[TransferLike], *, is_read_into: bool
) -> list[TransferArguments]:
    """Returns the structs of a request's transfers."""
    given = []
    for transfer in transfers:
        # A transfer of wrong length becomes one without an array, which all ranks refuse.
        fits = isinstance(transfer, Sequence) and len(transfer) in (3, 4)
        array, distribution, data, section = (*transfer, None)[:4] if fits else (None,) * 4
        given.append(
            TransferArguments(array, distribution, data, section, is_read_into=is_read_into)
        )
    return given
