"""Rates of metadata operations in a platform description, with one client and with all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from weir.results.record import Quantity, Record

ItemOperation = Literal[
    "create",
    "stat",
    "open_close",
    "utime",
    "readdir",
    "readdir_attributes",
    "rename",
    "remove",
    "mkdir",
    "rmdir",
]
"""Operations on empty files; ``mkdir`` and ``rmdir`` are on empty directories.

``create``: open, with O_CREAT, and close. ``open_close``: open and close an existing file.
``utime`` sets both times. ``rename`` stays in the directory. ``readdir`` lists a whole directory,
and ``readdir_attributes`` also requests the attributes of each entry; one entry counts as one
operation.
"""

NAMES_ONLY: tuple[ItemOperation, ...] = ("stat", "open_close", "readdir", "readdir_attributes")
"""Operations that change nothing, so that storage need not be written."""


def _in_order(rate: Quantity) -> Quantity:
    if not rate.low <= rate.value <= rate.high:
        raise ValueError("low <= value <= high is false")
    return rate


Rate = Annotated[Quantity, AfterValidator(_in_order)]


class OperationRates(Record):
    """Operations per second of all clients together, where they were probed."""

    one_client: Rate | None = None
    all_clients: Rate | None = Field(
        default=None, description="each client in a separate directory"
    )
    one_directory: Rate | None = Field(
        default=None, description="rate of all clients, all in one directory"
    )

    def known(self) -> list[Quantity]:
        """Rates that were probed."""
        return [
            rate
            for rate in (self.one_client, self.all_clients, self.one_directory)
            if rate is not None
        ]


class MetadataRates(Record):
    """What one target does."""

    directory: str | None = Field(default=None, description="directories as in targets; none: any")
    clients: int = Field(ge=1, description="number of all clients")
    operations: dict[ItemOperation, OperationRates]
    device_reads_per_second: dict[Annotated[int, Field(ge=1)], Rate] = Field(
        default_factory=dict,
        description=(
            "operations of 4 KiB by the device without the file system, for each number of "
            "concurrent operations, which is the number of clients"
        ),
    )
    device_writes_per_second: dict[Annotated[int, Field(ge=1)], Rate] = Field(default_factory=dict)
    device_how: str = Field(default="", description="source of the device's figures")


def rates_in(described: Sequence[MetadataRates], directory: str | None) -> MetadataRates | None:
    """Returns the rates of the directory, as ``targets`` names it; else those for any directory."""
    by_directory = {one.directory: one for one in reversed(described)}
    return by_directory.get(directory) or by_directory.get(None)
