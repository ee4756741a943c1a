"""The only error of ``weir.results``: a problem with a result folder that the user can correct."""

from __future__ import annotations

from weir.errors import Error


class ResultError(Error):
    """One line: what was wrong, in which file, what to do."""
