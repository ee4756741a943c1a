"""Says where platform descriptions are, and keeps older ones of the same name.

platforms/HOST.toml          the description
platforms/HOST.probe.json    the samples that it was fitted to
platforms/HOST.1.toml ...    earlier descriptions, the latest first
"""

from __future__ import annotations

import re
from pathlib import Path

from weir.bench.errors import USAGE, BenchError
from weir.results.errors import ResultError

FOLDER = Path("platforms")
SUFFIX = ".toml"
KEPT = 9


def default_path(host: str) -> Path:
    """Returns ``platforms/HOST.toml`` below the current directory, for the host's short name."""
    name = re.sub(r"[^A-Za-z0-9_-]", "-", host.partition(".")[0]) or "platform"
    return FOLDER / f"{name}{SUFFIX}"


def probe_path(description: Path) -> Path:
    """Returns the path of a description's samples."""
    return description.with_suffix(".probe.json")


def check_output(path: Path) -> None:
    """Refuses a path that cannot be written, before a minute of measuring."""
    if path.suffix != SUFFIX:
        raise BenchError(f"--output {path}: give a file that ends in {SUFFIX}", USAGE)
    if path.is_dir():
        raise BenchError(f"--output {path} is a folder: give a file", USAGE)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(
            f"--output {path}: cannot create {path.parent}: {error.strerror}", USAGE
        ) from None


def keep_older(path: Path) -> Path | None:
    """Renames a description and its samples to a numbered name; returns the description's new path.

    The most recent one gets the number 1. If there are more than nine, the oldest is deleted.
    """
    if not path.exists():
        return None
    for number in range(KEPT - 1, 0, -1):
        _rename(_numbered(path, number), _numbered(path, number + 1))
    _rename(path, _numbered(path, 1))
    return _numbered(path, 1)


def find_description(given: str | None) -> Path:
    """Returns the description that `given` names: a file, or a name below ``platforms/``.

    Without `given` it is the only description below ``platforms/``. Raises ResultError if there is
    no such description, or, without `given`, more than one.
    """
    if given is not None:
        for candidate in (Path(given), FOLDER / given, FOLDER / f"{given}{SUFFIX}"):
            if candidate.is_file():
                return candidate
        raise ResultError(f"{given} is neither a file nor a platform in {FOLDER}/{_known()}")
    found = sorted(FOLDER.glob(f"*{SUFFIX}"))
    newest = [one for one in found if not re.fullmatch(r".*\.\d+", one.stem)]
    if len(newest) == 1:
        return newest[0]
    if not newest:
        raise ResultError(
            f"no platform is in {FOLDER}/: create one with weir platform probe, or give a file"
        )
    raise ResultError(f"give a platform{_known()}")


def _known() -> str:
    names = sorted(one.stem for one in FOLDER.glob(f"*{SUFFIX}"))
    return f"; there are {', '.join(names)}" if names else ""


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}.{number}{path.suffix}")


def _rename(old: Path, new: Path) -> None:
    for before, after in ((old, new), (probe_path(old), probe_path(new))):
        if before.exists():
            before.replace(after)
