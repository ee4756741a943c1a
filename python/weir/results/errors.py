"""The one error of ``weir.results``: something about a result folder that a person can mend."""

from __future__ import annotations


class ResultError(Exception):
    """One line: what was wrong, in which file, what to do."""
