"""The base class of every error that Weir raises on purpose."""

from __future__ import annotations


class Error(Exception):
    """One line that says what was wrong, where, and what to do; in MPI programs, on which rank."""
