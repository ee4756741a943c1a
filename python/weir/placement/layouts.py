"""What a file system says of where a file lies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """A part of a file whose stripes lie on its targets in turn.

    ``to_byte`` is -1 for the end of the file; ``stripe_bytes`` is 0 if all of it is on one target.
    ``copies`` is the number of targets that hold each byte; only the first of them is named.
    """

    from_byte: int
    to_byte: int
    stripe_bytes: int
    targets: tuple[str, ...]
    copies: int = 1


@dataclass(frozen=True)
class Layout:
    """All pieces of a file; ``is_whole``: whether all of its places are decided already."""

    pieces: tuple[Piece, ...]
    is_whole: bool = True


def on_one(target: str) -> Layout:
    """Returns the layout of a file that lies on one target."""
    return Layout((Piece(0, -1, 0, (target,)),))
