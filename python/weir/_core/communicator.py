"""Passes the communicator of a program to the library."""

from __future__ import annotations

import ctypes
from ctypes import c_int, c_void_p
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpi4py import MPI


class Communicator:
    """``MPI_Comm`` as the type of an argument; ctypes gets the value of `communicator_for_c`."""

    @classmethod
    def from_param(cls, value: c_void_p | c_int) -> c_void_p | c_int:
        return value


def communicator_for_c(communicator: MPI.Comm) -> c_void_p | c_int:
    """Returns the MPI_Comm of an mpi4py communicator: a pointer in Open MPI, an int in MPICH."""
    from mpi4py import MPI  # noqa: PLC0415 (only programs with arrays have it)

    is_pointer = MPI._sizeof(MPI.Comm) == ctypes.sizeof(c_void_p)
    kind: type[c_void_p | c_int] = c_void_p if is_pointer else c_int
    return kind.from_address(MPI._addressof(communicator))


def null_communicator() -> MPI.Intracomm:
    """Returns a communicator of mpi4py that C can fill."""
    from mpi4py import MPI  # noqa: PLC0415 (only programs with arrays have it)

    return MPI.Intracomm()


def address_for_c(communicator: MPI.Comm) -> c_void_p:
    """Returns the address of the MPI_Comm of an mpi4py communicator."""
    from mpi4py import MPI  # noqa: PLC0415 (only programs with arrays have it)

    return c_void_p(MPI._addressof(communicator))
