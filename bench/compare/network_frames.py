"""Messages between a rank and a stager of another node, as they cross the network.

docs/staging.md, section The protocol, has the frame. Both sides number their frames.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from google_crc32c import value as crc32c

VERSION = 13
MAGIC = b"WEIN"
HEAD_BYTES = 24


def frame(number: int, payload: bytes, *, files: int = 0, claimed: int | None = None) -> bytes:
    """Return the frame of this number; ``claimed``: how many bytes its head says it has."""
    length = len(payload) if claimed is None else claimed
    head = MAGIC + struct.pack("<IIII", files, length, number, crc32c(payload))
    return head + struct.pack("<I", crc32c(head)) + payload


def message(kind: int, fields: bytes = b"", version: int = VERSION) -> bytes:
    """Return a message."""
    return struct.pack("<HH", kind, version) + fields


def next_payload(number: int, exactly: Callable[[int], bytes]) -> bytes:
    """Return the payload of the frame of this number; ``exactly`` returns the next N bytes."""
    head = exactly(HEAD_BYTES)
    magic, _, length, came, payload_sum, head_sum = struct.unpack("<4sIIIII", head)
    if magic != MAGIC or head_sum != crc32c(head[:-4]) or came != number:
        raise ConnectionError("what came is not the next message")
    payload = exactly(length)
    if payload_sum != crc32c(payload):
        raise ConnectionError("the message was damaged")
    return payload
