"""HTML and SVG as values: every string is escaped unless it is ``Markup`` already.

All text of a report comes from result files, and thus from host names, paths and messages of other
programs. The report forms tags only with ``element``, so that no such text can become markup.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterable
from typing import TypeAlias

VOID_TAGS = frozenset({"br", "col", "hr", "img", "link", "meta"})
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_ESCAPED_CHARACTERS = re.compile("[&<>\"'\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_TAG_OR_ATTRIBUTE = re.compile(r"[A-Za-z][A-Za-z0-9-]*\Z")


class Markup(str):
    """A string that is HTML or SVG already and is not escaped again."""

    __slots__ = ()


Child: TypeAlias = "str | Markup | Iterable[Child] | None"
Attribute = str | float | bool | None


def escape(text: str) -> Markup:
    """Escapes element content and quoted attributes; control characters become U+FFFD."""
    if not _ESCAPED_CHARACTERS.search(text):  # True of nearly all of a page's thousands of texts
        return Markup(text)
    return Markup(html.escape(_CONTROL_CHARACTERS.sub("\ufffd", text), quote=True))


def join(*children: Child) -> Markup:
    """Joins children in order, escaped if they are plain strings; ``None`` adds nothing."""
    rendered: list[str] = []
    _render(children, rendered)
    return Markup("".join(rendered))


def _render(children: Iterable[Child], into: list[str]) -> None:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            into.append(child)
        elif isinstance(child, str):
            into.append(escape(child))
        else:
            _render(child, into)


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """Returns one element. ``class_`` gives ``class`` and ``data_value`` gives ``data-value``.

    Numbers in attributes are coordinates and keep two decimals; pass an exact number as a string.
    ``None`` and ``False`` leave the attribute out; ``True`` writes it without a value.
    """
    parts = [_checked(tag)]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        label = _attribute(name)
        if value is True:
            parts.append(label)
            continue
        text = escape(value) if isinstance(value, str) else coordinate(value)
        parts.append(f'{label}="{text}"')
    opening = " ".join(parts)
    if tag in VOID_TAGS:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{join(*children)}</{tag}>")


@functools.cache  # The names are those in this package, thus few.
def _attribute(name: str) -> str:
    return _checked(name.rstrip("_").replace("_", "-"))


@functools.cache
def _checked(name: str) -> str:
    if not _TAG_OR_ATTRIBUTE.match(name):
        raise ValueError(f"{name!r} is no name of a tag or an attribute")
    return name


def coordinate(value: float) -> str:
    """Formats a length with two decimals and no trailing zeros, which keeps drawings small."""
    text = f"{value:.2f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
