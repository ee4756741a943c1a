"""Checking files of arrays: what killed runs left, and whether every element can be read."""

from weir.check.checking import Progress, Report, check

__all__ = ["Progress", "Report", "check"]
