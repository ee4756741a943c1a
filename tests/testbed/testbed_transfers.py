"""Moves bytes for some seconds and returns what moved per second, without Weir."""

from __future__ import annotations

import mmap
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

MEBIBYTE = 1 << 20


def expect_limits(
    measure: Callable[[], Sequence[float]],
    limits: Sequence[float],
    within: float = 0.05,
    attempts: int = 3,
) -> None:
    """Fails unless each thing moves as fast as its limit lets it, in one measurement at least.

    Something else on the machine can disturb a measurement; a limit that is wrong fails them all.
    """
    tried: list[list[float]] = []
    for _ in range(attempts):
        tried.append([rate / limit for rate, limit in zip(measure(), limits, strict=True)])
        if all(
            any(abs(share - 1) <= within for share in shares) for shares in zip(*tried, strict=True)
        ):
            return
    pytest.fail(f"measured, as shares of the limits: {tried}")


def direct_write_rate(path: Path, total: int, operation: int = MEBIBYTE) -> float:
    """Bytes per second of `total` bytes written with O_DIRECT."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    try:
        with mmap.mmap(-1, operation) as buffer:
            buffer.write(os.urandom(operation))
            start = time.monotonic()
            for offset in range(0, total, operation):
                assert os.pwrite(file, buffer, offset) == operation
            return total / (time.monotonic() - start)
    finally:
        os.close(file)


def direct_read_rate(path: Path, total: int, operation: int = MEBIBYTE) -> float:
    """Bytes per second of `total` bytes read with O_DIRECT from a file of that size."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, operation) as buffer:
            start = time.monotonic()
            for offset in range(0, total, operation):
                assert os.preadv(file, [buffer], offset) == operation
            return total / (time.monotonic() - start)
    finally:
        os.close(file)


def buffered_write_rate(path: Path, total: int, *, by_the_kernel: bool = False) -> float:
    """Bytes per second of `total` bytes through the page cache, until they are on the device.

    They get there by fsync, or with `by_the_kernel` by syncfs, for which the kernel's own threads
    write. The copy into the page cache is counted, since write-back may begin during it; on a slow
    device it is a small part.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        piece = os.urandom(MEBIBYTE)
        start = time.monotonic()
        for offset in range(0, total, MEBIBYTE):
            assert os.pwrite(file, piece, offset) == MEBIBYTE
        if by_the_kernel:
            subprocess.run(["sync", "--file-system", str(path)], check=True, timeout=120)
        else:
            os.fsync(file)
        return total / (time.monotonic() - start)
    finally:
        os.close(file)


def written_bytes(device: str) -> int:
    """What a device has written so far, by its own counter, in bytes."""
    sectors = Path(f"/sys/block/{Path(device).name}/stat").read_text().split()[6]
    return int(sectors) * 512
