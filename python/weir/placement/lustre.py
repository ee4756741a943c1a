"""Lustre: the extended attribute ``lustre.lov``, which has the objects of a file.

Its structures are lov_user_md_v1, lov_user_md_v3 and lov_comp_md_v1 of lustre_user.h: a magic
number, 32 bytes (of version 3 also 16 of the pool's name), then 24 bytes for each object, of which
the last four are the number of its target. A composite layout has a table of components, each with
such a layout. Numbers are in the client's byte order. A target is called ``FILESYSTEM-OSTxxxx``.
"""

from __future__ import annotations

import struct

from weir.placement.layouts import Layout, Piece

ATTRIBUTE = "lustre.lov"
PLAIN = {0x0BD10BD0: 32, 0x0BD30BD0: 48}
"""Magic number of a plain layout, and the bytes before its objects."""
COMPOSITE = 0x0BD60BD0
OBJECT_BYTES, TARGET_AT = 24, 20
COMPOSITE_BYTES, ENTRY_BYTES = 32, 48
INSTANTIATED = 0x10
RELEASED = 0x80000000
"""Pattern of a file whose data is in an archive."""
END_OF_FILE = (1 << 64) - 1


def parse_layout(file_system: str, value: bytes) -> Layout | None:
    """Returns the layout of a file; None if the attribute is none, or has no objects."""
    try:
        (magic,) = struct.unpack_from("=I", value)
        if magic != COMPOSITE:
            piece = _plain(file_system, value, 0, -1)
            return Layout((piece,)) if piece else None
        (entries,) = struct.unpack_from("=H", value, 14)
        pieces, is_whole = [], True
        for number in range(entries):
            place = COMPOSITE_BYTES + number * ENTRY_BYTES
            _, flags, since, until, at, size = struct.unpack_from("=IIQQII", value, place)
            to_byte = -1 if until == END_OF_FILE else until
            piece = None
            if flags & INSTANTIATED:
                piece = _plain(file_system, value[at : at + size], since, to_byte)
            if piece:
                pieces.append(piece)
            else:
                is_whole = False
    except struct.error:
        return None
    return Layout(tuple(pieces), is_whole) if pieces else None


def _plain(file_system: str, value: bytes, since: int, to_byte: int) -> Piece | None:
    magic, pattern = struct.unpack_from("=II", value)
    begin = PLAIN.get(magic)
    if begin is None or pattern & RELEASED:
        return None
    stripe_bytes, count = struct.unpack_from("=IH", value, 24)
    targets = [
        struct.unpack_from("=I", value, begin + number * OBJECT_BYTES + TARGET_AT)[0]
        for number in range(count)
    ]
    if not targets:
        return None
    names = tuple(f"{file_system}-OST{target:04x}" for target in targets)
    return Piece(since, to_byte, stripe_bytes, names)
