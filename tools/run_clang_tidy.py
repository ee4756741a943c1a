"""Run clang-tidy over the C++ sources that have changed since they last passed.

usage: run_clang_tidy.py BUILD_FOLDER

A source that passed is not checked again while these remain the same: the .clang-tidy files, the
compile command, and the contents of the source and of every header of this clone that it includes,
directly or not. build/cache/clang-tidy has one small file for each source that passed. As many
checks run at once as there are cores.

Headers take most of the time. Up to sixteen sources that are compiled with the same flags and
checked by the same .clang-tidy files are therefore checked as one source that includes them all,
which takes a third of the time. If there is any finding, be it only that two sources use a name for
different things, each half is checked, and so on, until each source with findings has been checked
by itself; only those findings count. A variable with the name of
something in another source shadows it only in such a combination, which is ignored. Findings that
clang-tidy reports only for the main file are lost: unused namespace aliases, and globals that are
set but never read.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
PASSED = CLONE / "build" / "cache" / "clang-tidy"
CLANG_TIDY = Path(sys.executable).with_name("clang-tidy")  # The clang-tidy of uv.lock.
DEADLINE_SECONDS = 600
FORTRAN = CLONE / "src" / "fortran"
"""The C sources there include a header of the Fortran compiler that clang lacks."""
QUOTED_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
INCLUDE_ROOTS = (CLONE / "src", CLONE / "bench", CLONE / "tests")
BATCH = 16
OF_ONE_FILE = re.compile(r" -o \S+\.dir/\S+ -c \S+$")
NOT_IN_BATCHES = "-bugprone-suspicious-include"
SAID = re.compile(r"^(/[^:\n]+):\d+:\d+: (\w+): (.*)$", re.MULTILINE)
SHADOWS = "[clang-diagnostic-shadow]"


@dataclass(frozen=True)
class Source:
    """One entry of the compilation database."""

    path: Path
    command: str

    @property
    def name(self) -> str:
        return self.path.relative_to(CLONE).as_posix()

    @property
    def flags(self) -> str:
        """The file's compile command without the words that name this file."""
        return OF_ONE_FILE.sub("", self.command)

    @property
    def stamp(self) -> Path:
        return PASSED / self.name.replace("/", "+")


def sources_of(build_folder: Path) -> list[Source]:
    """Returns the clone's own C and C++ sources in the order of the compilation database.

    It has a target's sources in the order in which cmake/WeirBatches.cmake puts them together, so
    that names which may not meet in a batch seldom meet here. A source of two targets is returned
    once, as the first target compiles it.
    """
    entries = json.loads((build_folder / "compile_commands.json").read_text())
    build = CLONE / "build"
    sources: dict[Path, Source] = {}
    for entry in entries:
        path = Path(entry["file"])
        sources.setdefault(path, Source(path, entry["command"]))
    return [
        s
        for s in sources.values()
        if s.path.is_relative_to(CLONE)
        and not s.path.is_relative_to(build)
        and not s.path.is_relative_to(FORTRAN)
        and s.path.suffix in (".c", ".cpp")
    ]


def included_files(path: Path) -> set[Path]:
    """Returns `path` and the clone's headers that it includes, directly or not."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        found.add(current)
        for name in QUOTED_INCLUDE.findall(current.read_text()):
            candidates = (folder / name for folder in (current.parent, *INCLUDE_ROOTS))
            waiting.extend(file.resolve() for file in candidates if file.is_file())
    return found


def settings_of(path: Path) -> list[Path]:
    """Returns the .clang-tidy files of a source's folder and of those above, the nearest first."""
    folders = [folder for folder in path.parents if folder.is_relative_to(CLONE)]
    return [folder / ".clang-tidy" for folder in folders if (folder / ".clang-tidy").is_file()]


def state_of(source: Source, version: bytes) -> str:
    """Returns a checksum of everything on which clang-tidy's result depends."""
    checksum = hashlib.sha256(version + source.command.encode())
    for path in sorted(included_files(source.path).union(settings_of(source.path))):
        checksum.update(str(path).encode() + path.read_bytes())
    return checksum.hexdigest()


def clang_tidy(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs clang-tidy; the exit status is 124 if it does not end."""
    command = [str(CLANG_TIDY), "--quiet", *map(str, words)]
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        told = f"clang-tidy took more than {DEADLINE_SECONDS} s: {shlex.join(command)}"
        return subprocess.CompletedProcess(command, 124, told, "")


def check(source: Source, build_folder: Path) -> bool:
    """Runs clang-tidy on one source and prints its findings; returns whether there are none."""
    done = clang_tidy("-p", build_folder, source.path)
    if done.returncode != 0:
        # Standard error counts the warnings suppressed in system headers. It matters only if
        # clang-tidy itself failed and printed nothing else.
        print((done.stdout or done.stderr).rstrip(), flush=True)
    return done.returncode == 0


def check_together(sources: list[Source], build_folder: Path) -> bool:
    """Returns whether these, compiled as one with the flags of the first, have no findings."""
    _compiler, *flags = shlex.split(sources[0].flags)
    # clang-tidy takes the settings of the folders above a source, and those of the batch have to be
    # those of its sources.
    folder = build_folder / "batches"
    for settings in reversed(settings_of(sources[0].path)[:-1]):
        below = folder / settings.parent.relative_to(CLONE)
        below.mkdir(parents=True, exist_ok=True)
        shutil.copy(settings, below)
    folder /= settings_of(sources[0].path)[0].parent.relative_to(CLONE)
    folder.mkdir(parents=True, exist_ok=True)
    batch = folder / (sources[0].stamp.name + ".cpp")
    batch.write_text("".join(f'#include "{source.path}"\n' for source in sources))
    done = clang_tidy(f"--checks={NOT_IN_BATCHES}", "--header-filter=.*", batch, "--", *flags)
    return done.returncode == 0 or only_shadows_neighbours(done.stdout, sources)


def only_shadows_neighbours(told: str, sources: list[Source]) -> bool:
    """Returns whether all findings are variables that shadow a name of another of the sources."""
    said = SAID.findall(told)
    files = {str(source.path) for source in sources}
    findings = [place for place, (_, kind, _) in enumerate(said) if kind != "note"]
    neighbours = [
        said[place][2].endswith(SHADOWS)
        and said[place + 1 : place + 2] != []
        and said[place + 1][0] in files - {said[place][0]}
        for place in findings
    ]
    return bool(neighbours) and all(neighbours)


def check_batch(sources: list[Source], build_folder: Path) -> list[Source]:
    """Returns those of `sources` that pass."""
    if len(sources) == 1:
        return [source for source in sources if check(source, build_folder)]
    if check_together(sources, build_folder):
        return sources
    half = len(sources) // 2
    return check_batch(sources[:half], build_folder) + check_batch(sources[half:], build_folder)


def batches_of(sources: list[Source]) -> list[list[Source]]:
    """Groups sources that may be checked together, the longest groups first; a C source is alone.

    No core then waits for a long group that another one began last.
    """
    alike: dict[tuple[str, Path, str], list[Source]] = {}
    for source in sources:
        alone = source.path.suffix != ".cpp"
        key = (source.flags, settings_of(source.path)[0], source.name if alone else "")
        alike.setdefault(key, []).append(source)
    batches = [
        group[first : first + BATCH]
        for group in alike.values()
        for first in range(0, len(group), BATCH)
    ]
    return sorted(batches, key=lambda batch: -sum(one.path.stat().st_size for one in batch))


def main() -> int:
    parser = argparse.ArgumentParser(description="Run clang-tidy on what has changed.")
    parser.add_argument("build_folder", type=Path, help="holds compile_commands.json")
    build_folder = parser.parse_args().build_folder
    version = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, check=True).stdout
    PASSED.mkdir(parents=True, exist_ok=True)

    waiting: dict[Source, str] = {}
    for source in sources_of(build_folder):
        state = state_of(source, version)
        if not source.stamp.is_file() or source.stamp.read_text() != state:
            waiting[source] = state
    passed = 0
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for fine in pool.map(lambda one: check_batch(one, build_folder), batches_of([*waiting])):
            passed += len(fine)
            for source in fine:
                source.stamp.write_text(waiting[source])
    if passed < len(waiting):
        print(
            f"clang-tidy: {len(waiting) - passed} of {len(waiting)} sources checked have findings"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
