"""Says where platform descriptions are, and keeps older ones of the same name.

platforms/HOST.toml          the description
platforms/HOST.probe.json    the samples that it was fitted to
platforms/HOST.1.toml ...    earlier descriptions, the latest first

Descriptions of machines that papers were written about are installed with this package, in
``machines/``. They are found by name after those below ``platforms/``.
"""

from __future__ import annotations

import re
from pathlib import Path

from weir.bench.errors import USAGE, BenchError
from weir.results.errors import ResultError

FOLDER = Path("platforms")
SUFFIX = ".toml"
KEPT = 9
SHIPPED = Path(__file__).parent / "machines"
SHIPPED_CONSTANTS = Path(__file__).parent / "constants"


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
    """Returns the description that `given` names.

    It is a file, a name below ``platforms/``, or a shipped machine. Without `given` it is the only
    description below ``platforms/``. Raises ResultError if there is no such description, or,
    without `given`, more than one.
    """
    if given is not None:
        for candidate in _candidates(given):
            if candidate.is_file():
                return candidate
        raise ResultError(
            f"{given} is neither a file nor a platform: {FOLDER}/ has {_listed(known_here())}, and "
            f"weir describes {_listed(shipped())}; weir platform probe describes this machine"
        )
    newest = known_here()
    if len(newest) == 1:
        return FOLDER / f"{newest[0]}{SUFFIX}"
    if not newest:
        raise ResultError(
            f"no platform is in {FOLDER}/: create one with weir platform probe, or give a file or "
            f"one of {_listed(shipped())}"
        )
    raise ResultError(f"give a platform: {FOLDER}/ has {_listed(newest)}")


def find_constants(given: str) -> Path:
    """Returns the file of constants that `given` names: a file, or shipped ones by their name."""
    shipped_file = SHIPPED_CONSTANTS / f"{given}{SUFFIX}"
    for candidate in (Path(given), shipped_file):
        if candidate.is_file():
            return candidate
    known = sorted(file.stem for file in SHIPPED_CONSTANTS.glob(f"*{SUFFIX}"))
    raise ResultError(f"{given} is neither a file nor shipped constants: weir has {_listed(known)}")


def known_here() -> list[str]:
    """Returns the names of the descriptions below ``platforms/``, without older ones."""
    names = (file.stem for file in FOLDER.glob(f"*{SUFFIX}"))
    return sorted(name for name in names if not re.fullmatch(r".*\.\d+", name))


def shipped() -> list[str]:
    """Returns the names of the machines whose descriptions are installed with this package."""
    return sorted(file.stem for file in SHIPPED.glob(f"*{SUFFIX}"))


def _candidates(given: str) -> list[Path]:
    named = Path(given)
    below = [FOLDER / named, FOLDER / f"{given}{SUFFIX}"]
    is_name = named.name == given
    return [named, *below, *([SHIPPED / f"{given.lower()}{SUFFIX}"] if is_name else [])]


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}.{number}{path.suffix}")


def _rename(old: Path, new: Path) -> None:
    for before, after in ((old, new), (probe_path(old), probe_path(new))):
        if before.exists():
            before.replace(after)
