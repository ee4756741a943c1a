"""Writes reports: reads run folders, and writes one self-contained ``report.html``.

A report reads only results. Other packages use only ``write_report``. The modules follow the page:
``sources`` reads the runs, ``page`` puts the parts in order, and one module forms each part
(``headline``, ``findings``, ``comparison``, ``trace``, ``rank_map``, ``rates``, ``latency``,
``ranks``, ``overlap``, ``targets``, ``expectation``, ``trust``, ``environment``).
"""

from __future__ import annotations

from pathlib import Path

from weir.results.campaign import is_campaign, load_campaign
from weir.results.folder import REPORT_FILE, write_atomically

__all__ = ["REPORT_FILE", "write_report"]


def write_report(path: Path) -> Path:
    """Writes ``path/report.html`` and returns its path.

    ``path`` is a run folder (``run.json``, with or without events, of a finished or a failed run),
    a folder of run folders, which are then compared, or a campaign's folder. The same folders give
    the same bytes.

    Raises ``ResultError`` if there is no run at ``path``, a run cannot be read, or the file cannot
    be written.
    """
    # Most commands use one module of this package, and need not load all of them and DuckDB.
    from weir.report.campaign import render_campaign  # noqa: PLC0415
    from weir.report.page import render_page  # noqa: PLC0415
    from weir.report.sources import read_sources  # noqa: PLC0415

    if is_campaign(path):
        page = render_campaign(path, load_campaign(path))
    else:
        page = render_page(read_sources(path))
    return write_atomically(path / REPORT_FILE, page)
