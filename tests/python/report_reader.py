"""Reads a report as a program reads HTML: elements, their attributes and text, nesting checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "br", "hr", "img", "link", "col"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def find(self, tag: str | None = None, **attributes: str) -> list[Element]:
        """Descendants by tag and by attributes, ``data_figure="ranks"`` for ``data-figure``."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            element
            for element in self.walk()
            if element is not self
            and (tag is None or element.tag == tag)
            and all(element.attributes.get(name) == value for name, value in wanted.items())
        ]

    def one(self, tag: str | None = None, **attributes: str) -> Element:
        found = self.find(tag, **attributes)
        assert len(found) == 1, f"{len(found)} of {tag} {attributes}"
        return found[0]

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def values(self) -> list[float]:
        """The exact values of the marks below, in order."""
        return [
            float(element.attributes["data-value"])
            for element in self.walk()
            if "data-value" in element.attributes
        ]


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(text: str) -> Element:
    builder = _Builder()
    builder.feed(text)
    builder.close()
    assert builder.open == [builder.root], "elements are left open"
    return builder.root


def read_report(path: Path) -> Element:
    return parse(path.read_text(encoding="utf-8"))
