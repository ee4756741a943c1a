"""Makes pictures that stand alone in a file: SVG without scripts or fonts, or HTML that has it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from weir.report.markup import Markup, element
from weir.results.folder import write_atomically

SUFFIXES = (".svg", ".html")
INK, SOFT, PAPER = "#1b2733", "#5b6b7a", "#ffffff"
"""Colours of text, of secondary text, and of the background."""


def draw(parts: Sequence[Markup], *, width: float, height: float, label: str) -> Markup:
    """Returns ``parts`` on a background as one ``svg`` element; ``label`` is for screen readers."""
    return element(
        "svg",
        element("rect", width=width, height=height, fill=PAPER),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        height=height,
        role="img",
        font_family="system-ui, 'DejaVu Sans', sans-serif",
        aria_label=label,
    )


def text_at(
    x: float, y: float, text: str, *, size: int, fill: str = INK, weight: str | None = None,
    anchor: str | None = None, class_: str | None = None,
) -> Markup:  # fmt: skip
    """Returns a line of text whose baseline begins, or with ``anchor`` ends, at a point."""
    return element(
        "text", text, x=x, y=y, font_size=size, fill=fill, font_weight=weight, text_anchor=anchor,
        class_=class_,
    )  # fmt: skip


def write_picture_file(path: Path, title: str, drawing: Markup) -> Path:
    """Writes the drawing: as SVG, or as HTML with ``title``, according to the file's suffix."""
    if path.suffix == ".html":
        text = "<!doctype html>\n" + element(
            "html",
            element("meta", charset="utf-8"),
            element("title", title),
            element("body", drawing, style=f"margin:0;background:{PAPER};text-align:center"),
            lang="en",
        )
    else:
        text = '<?xml version="1.0" encoding="UTF-8"?>\n' + drawing
    return write_atomically(path, text + "\n")
