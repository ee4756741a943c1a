"""The only error of ``weir.results``: a problem with a result folder that the user can correct."""

from __future__ import annotations


class ResultError(Exception):
    """One line that says what was wrong, in which file, and what to do."""
