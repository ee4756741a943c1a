"""Check the rules between Weir's folders.

usage: check_folders.py [CLONE]

The rules come first, as data; the checks follow. Each violation is printed as one line: file, line
number, what was found and the rule that it violates. The exit status is 1 if there is a violation.
Rules apply to existing folders; a new folder below ``src/`` must be added to ``MAY_INCLUDE`` first.
"""

from __future__ import annotations

import argparse
import ast
import graphlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

# ---- The rules ----------------------------------------------------------------------------------

VALUES = {"src/array", "src/topology", "src/plan"}
"""Folders of pure data that passes along the byte's path: any folder on the path may use them."""

FILES = {
    "src/system",
    "src/engines",
    "src/codecs",
    "src/stored",
    "src/checksums",
    "src/sections",
    "src/formats",
}
"""One process needs these to read and write files of arrays."""

MAY_INCLUDE: dict[str, set[str]] = {
    "src/common": set(),
    "src/array": set(),
    "src/topology": set(),
    "src/plan": {"src/array", "src/topology"},
    "src/system": {"src/topology"},
    "src/engines": {"src/array", "src/system"},
    "src/codecs": {"src/array"},
    "src/stored": {"src/array", "src/codecs", "src/engines", "src/system"},
    "src/checksums": {"src/array", "src/stored", "src/codecs", "src/engines", "src/system"},
    "src/sections": {"src/array"} | FILES - {"src/formats", "src/sections"},
    "src/formats": {"src/array"} | FILES - {"src/formats"},
    "src/transport": {"src/array"} | FILES,
    "src/stager": {"src/array", "src/transport"} | FILES,
    "src/files": {"src/array"} | FILES,
    "src/ranks": {"src/system"},
    "src/aggregation": VALUES | FILES | {"src/ranks", "src/transport"},
    "src/capi": VALUES | FILES | {"src/aggregation", "src/ranks"},
    "src/fortran": {"src/capi"},
    "src/adapters/preloaded": set(),
    "src/adapters/calls": {"src/adapters/preloaded"},
    "src/adapters/mpiio": {"src/adapters/calls", "src/adapters/preloaded"},
    "src/adapters/takeover": VALUES
    | FILES
    | {"src/adapters/mpiio", "src/adapters/preloaded", "src/aggregation", "src/capi"},
    "src/adapters/hdf5": {"src/adapters/mpiio", "src/adapters/preloaded", "src/adapters/takeover"},
    "bench/measurement": {"src/ranks", "src/system"},
    "bench/interfaces": {
        "bench/measurement",
        "src/aggregation",
        "src/array",
        "src/engines",
        "src/ranks",
        "src/system",
        "src/topology",
        "src/transport",
    },
    "bench/workloads": VALUES
    | FILES
    | {
        "bench/interfaces",
        "bench/measurement",
        "src/adapters/calls",
    },
    "bench": VALUES | {"bench/workloads", "bench/measurement"},
    "sim": VALUES | {"bench/workloads"},
    "sim/library": VALUES
    | FILES
    | {
        "bench/interfaces",
        "bench/measurement",
        "bench/workloads",
        "sim",
        "src/aggregation",
        "src/capi",
        "src/ranks",
    },
}
"""The folders whose headers a folder may include, besides its own and ``src/common``."""

INCLUDE_ROOTS = ("src", "bench", "include", "sim")

MAY_CALL_MPI = ("src/ranks", "src/aggregation", "src/capi", "src/fortran", "src/adapters", "bench",
                "sim/library")  # fmt: skip

MAY_MOVE_MESSAGES = ("src/ranks/", "src/fortran/", "src/adapters/",
                     "src/aggregation/engines/mpiio_engine")  # fmt: skip
"""Folders, or prefixes of file names, below ``src/``. Other code begins, tests and waits for
messages through ``src/ranks/messages.hpp``, which checks errors and lengths."""

PURE = ("src/array/", "src/plan/", "src/topology/", "src/stager/stager.", "src/transport/messages.",
        "sim/flows.")  # fmt: skip
"""These folders, or files whose names begin so, use no MPI, no files and no clock."""

MAY_CALL_FILE_SYSTEM = ("src/system", "src/engines", "src/checksums", "src/sections", "src/formats",
                        "src/stored/extent_map", "src/adapters/calls", "src/adapters/preloaded",
                        "src/adapters/mpiio/needed_library", "src/ranks/process",
                        "src/stager/disk_record", "src/stager/journal",
                        "src/stager/server", "src/stager/spill_file",
                        "src/stager/weir_stager", "src/transport/rendezvous")  # fmt: skip
"""Folders, or prefixes of file names, below ``src/``; code outside ``src/`` has no such rule. The
functions of ``src/adapters/calls`` interpose libc's functions and call them,
``src/adapters/preloaded`` writes records where libc's functions may be counted,
``src/adapters/mpiio/needed_library`` reads which MPI a library needs from its file, and
``src/ranks/process`` queries the system about processes through files of /proc."""
MAY_READ_ONE_FILE = "src/common/settings.cpp"

MAY_MAKE_FILES_DURABLE = ("src/system/file.cpp", "src/system/uninterrupted.hpp",
                          "src/system/shared_memory.cpp",
                          "src/formats/hdf5/write_driver.cpp",
                          "src/adapters/calls")  # fmt: skip
"""Prefixes of file names below ``src/``. Other code extends files and makes them durable through
``storage::File``, which repeats calls that a signal interrupted."""

MAY_SLEEP = (
    "src/ranks/pauses.cpp",
    "src/ranks/wake_up",
    "src/ranks/channel.cpp",
)
"""Prefixes of file names below ``MAY_CALL_MPI`` in ``src/``. Other code waits through
``src/ranks/progress.hpp`` and ``src/ranks/waiting.hpp``, which progress MPI and other sessions and
have deadlines."""

FILE_SYSTEM_RULE = (
    f"below src/ only {', '.join(MAY_CALL_FILE_SYSTEM)} call the file system, and "
    f"{MAY_READ_ONE_FILE} may read one file"
)

MPI = re.compile(r"\bMPI_[A-Z]\w*|<mpi\.h>")
MESSAGES = re.compile(
    r"\bMPI_(?:I(?!n)[a-z]\w*|(?:Test|Wait)(?:all|any|some)?|[BRS]?s?[Ss]end\w*|M?[Rr]ecv\w*|M?[Pp]robe"
    r"|Barrier|Bcast|(?:All)?[Rr]educe\w*|(?:All)?[Gg]ather\w*|Scatter\w*|Alltoall\w*|(?:Ex)?[Ss]can"
    r"|Comm_idup)\b"
)
READS_A_FILE = re.compile(r"<fstream>|\bifstream\b|\btoml::parse_file\b")
FILE_SYSTEM = re.compile(
    READS_A_FILE.pattern + r"|<(?:filesystem|fcntl\.h|dirent\.h|liburing\.h|sys/stat\.h"
    r"|sys/statvfs\.h|sys/statfs\.h|sys/mman\.h)>"
    r"|\bstd::filesystem\b|\bo?fstream\b"
    r"|(?<![\w.>:])(?:::|std::)?(?:f?open(?:at|dir)?64|fopen|freopen|openat|opendir|creat|tmpfile"
    r"|mkstemp|preadv?2?|pwritev?2?|fsync|fdatasync|ftruncate|posix_fallocate|fallocate"
    r"|posix_fadvise|statvfs|copy_file_range)\s*\("
    r"|(?<![\w>])::(?:open|read|write|stat|fstat|unlink|rename|mkdir|rmdir|remove)\s*\("
)
DURABLE = re.compile(r"(?<![\w.>])(?:::)?(?:fsync|fdatasync|syncfs|ftruncate|fallocate)\s*\(")
SLEEP = re.compile(
    r"(?<![\w.>])(?:::|std::)?(?:usleep|nanosleep|clock_nanosleep|sched_yield|p?poll|p?select"
    r"|epoll_wait|futex_wait)\s*\(|\bthis_thread::(?:sleep|yield)\w*"
)
CLOCK = re.compile(
    r"\bclock_gettime\b|\bgettimeofday\b|_clock::now\b|\bstd::time\s*\(|\bMPI_Wtime\b"
    r'|"common/clock\.hpp"'
)

PYTHON_MAY_IMPORT = {
    "python/weir/results": {"weir.results", "weir.errors"},
    "python/weir/analysis": {"weir.analysis", "weir.results"},
    "python/weir/report": {"weir.report", "weir.follow_up", "weir.analysis", "weir.results"},
    "python/weir/importing": {"weir.importing", "weir.results"},
    "python/weir/model": {"weir.model", "weir.analysis", "weir.results"},
    "python/weir/follow_up": {"weir.follow_up", "weir.model", "weir.analysis", "weir.results"},
}
"""The parts of weir that a part may import; parts that are not listed may import any."""
PYTHON_TO_NATIVE = {"ctypes", "cffi", "cppyy", "mpi4py"}
PYTHON_BINDING = "python/weir/_core"

TEXTS_WITH_PATHS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
SOURCE_SUFFIXES = (".c", ".cpp", ".h", ".hpp", ".cmake", ".py", ".sh", ".md", ".txt", ".toml",
                   ".json")  # fmt: skip
WRITTEN_BY_PROGRAMS = ("build", ".venv", "weir-results")

# ---- C++ ----------------------------------------------------------------------------------------

COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^\s()\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
INCLUDE = re.compile(r'^\s*#\s*include\s*("[^"]+"|<[^>]+>)')


def without_comments(text: str) -> str:
    """Returns C++ source without comments, and with strings emptied except in #include lines."""

    def shorten(match: re.Match[str]) -> str:
        found = match.group()
        line_start = text.rfind("\n", 0, match.start()) + 1
        if found[0] == '"' and text[line_start : match.start()].lstrip().startswith("#"):
            return found
        kept = "" if found.startswith(("//", "/*")) else found[-1] * 2
        return kept + "\n" * found.count("\n")

    return COMMENT_OR_STRING.sub(shorten, text)


def folder_of(path: str, folders: Iterator[str] | dict[str, set[str]]) -> str | None:
    """Returns the longest of `folders` that contains `path`."""
    inside = [folder for folder in folders if path.startswith(folder + "/")]
    return max(inside, key=len, default=None)


def check_include(clone: Path, path: str, included: str) -> str | None:
    """Returns the rule that an ``#include "..."`` in `path` violates, or None."""
    roots = [clone / root for root in INCLUDE_ROOTS] + [(clone / path).parent]
    found = next((root / included for root in roots if (root / included).is_file()), None)
    if found is None:
        if any((root / f"{included}.in").is_file() for root in roots):
            return None  # The build generates it from a template in that folder.
        return f'includes "{included}", which is not a file of this clone: use <> for libraries'
    target = found.resolve().relative_to(clone.resolve()).as_posix()
    own = folder_of(path, MAY_INCLUDE)
    theirs = folder_of(target, MAY_INCLUDE)
    if own is None or theirs in (own, "src/common") or target.startswith("include/weir/"):
        return None
    if theirs not in MAY_INCLUDE[own]:
        may = ", ".join(sorted(MAY_INCLUDE[own])) or "no folder"
        return f'includes "{included}"; {own} may include {may} and src/common'
    return None


def check_cpp(clone: Path, path: str) -> Iterator[tuple[int, str]]:
    """Yields the violations in one C++ file: line number and text."""
    is_test = path.endswith("_test.cpp")
    if path.startswith("src/") and folder_of(path, MAY_INCLUDE) is None:
        yield 1, "is in a folder without rules in tools/check_folders.py: add what it may use"
        return
    may_call_mpi = path.startswith(tuple(folder + "/" for folder in MAY_CALL_MPI))
    is_pure = path.startswith(PURE)
    message_rule = may_call_mpi and path.startswith("src/")
    message_rule = message_rule and not path.startswith(MAY_MOVE_MESSAGES)
    is_library = path.startswith("src/") and not is_test and "test_" not in Path(path).name
    durable_rule = is_library and not path.startswith(MAY_MAKE_FILES_DURABLE)
    sleep_rule = is_library and may_call_mpi and not path.startswith((*MAY_SLEEP, "src/adapters/"))
    file_rule = path.startswith("src/") and not path.startswith(MAY_CALL_FILE_SYSTEM)
    for number, line in enumerate(without_comments((clone / path).read_text()).split("\n"), 1):
        include = INCLUDE.match(line)
        if include and include[1].startswith('"'):
            problem = check_include(clone, path, include[1].strip('"'))
            if problem:
                yield number, problem
        if not may_call_mpi and (use := MPI.search(line)):
            yield number, f"uses {use[0]}; only {', '.join(MAY_CALL_MPI)} call MPI"
        if message_rule and not is_test and (use := MESSAGES.search(line)):
            yield number, f"uses {use[0]}; messages move by src/ranks/messages.hpp"
        if durable_rule and (use := DURABLE.search(line)):
            yield number, f"uses {use[0].strip(' (')}; src/system/file.hpp has it"
        if sleep_rule and (use := SLEEP.search(line)):
            yield number, f"uses {use[0].strip(' (')}; ranks wait by src/ranks/progress.hpp"
        if file_rule and not is_test and (use := FILE_SYSTEM.search(line)):
            if path == MAY_READ_ONE_FILE and READS_A_FILE.fullmatch(use[0]):
                continue
            yield number, f"uses {use[0].strip(' (')}; {FILE_SYSTEM_RULE}"
        if is_pure and (use := CLOCK.search(line)):
            yield number, f"uses {use[0].strip(' (')}; {', '.join(PURE)} read no clock"


FINDS_TESTS = re.compile(
    r"\bweir_add_unit_test\(\s*\w+\s+LINKS|\bweir_find_sources\([^)]*\bTESTS\b"
)
FINDS_SOURCES = re.compile(
    r"\bweir_add_(?:preloaded_)?library\(\s*\w+\s*(?:FOLDER\s+\S+\s*)?(?:LINKS|\))|\bweir_find_sources\((?![^)]*\bTESTS\b)"
)


def check_listed(clone: Path, path: str) -> str | None:
    """Returns the violation if CMake neither finds a C++ source nor has it in a list."""
    for folder in (clone / path).parents:
        lists = folder / "CMakeLists.txt"
        if lists.is_file():
            name = (clone / path).relative_to(folder).as_posix()
            words = re.sub(r"#.*", "", lists.read_text())
            finds = FINDS_TESTS if name.endswith("_test.cpp") else FINDS_SOURCES
            if re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", words) or finds.search(
                words
            ):
                return None
            return f"is not listed in {lists.relative_to(clone).as_posix()}: nothing builds it"
        if folder == clone:
            break
    return "has no CMakeLists.txt above it: nothing builds it"


# ---- Python -------------------------------------------------------------------------------------


def imported_modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields line and full name of each module that a Python file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield node.lineno, "."
            elif node.module == "weir":
                for name in node.names:
                    yield node.lineno, f"weir.{name.name}"
            elif node.module:
                yield node.lineno, node.module


def check_python(clone: Path, path: str) -> Iterator[tuple[int, str]]:
    """Yields the violations in one file of the package weir."""
    part = next((part for part in PYTHON_MAY_IMPORT if path.startswith(part + "/")), None)
    for number, module in imported_modules(ast.parse((clone / path).read_text(), path)):
        top = module.split(".")[0]
        if top in PYTHON_TO_NATIVE and not path.startswith(PYTHON_BINDING + "/"):
            yield number, f"imports {module}; Python reaches C++ through weir._core and files only"
        elif top == "":
            yield (
                number,
                "has a relative import: write the full name, so that the rules can be checked",
            )
        elif part and top == "weir":
            may = PYTHON_MAY_IMPORT[part]
            if ".".join(module.split(".")[:2]) not in may:
                yield number, f"imports {module}; {part} imports of weir only {', '.join(may)}"


def without_type_checking(tree: ast.Module) -> ast.Module:
    """Returns the module without the blocks that only type checkers read."""

    class Remover(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            return None if is_for_types else self.generic_visit(node)

    removed: ast.Module = Remover().visit(tree)
    return removed


def circle_of(uses: dict[str, set[str]]) -> str | None:
    """Returns a circle of names that use each other, or nothing."""
    try:
        graphlib.TopologicalSorter(uses).prepare()
    except graphlib.CycleError as error:
        return " <- ".join(error.args[1])
    return None


def check_circles(clone: Path, paths: list[str]) -> str | None:
    """Returns a circle of modules that import each other when they run, or None.

    Imports inside functions count.
    """
    modules = {
        path.removeprefix("python/")[: -len(".py")].replace("/", "."): path for path in paths
    }
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    imports: dict[str, set[str]] = {}
    for name, path in modules.items():
        imports[name] = set()
        for node in ast.walk(without_type_checking(ast.parse((clone / path).read_text(), path))):
            if isinstance(node, ast.Import):
                imports[name].update(one.name for one in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                full = {f"{node.module}.{one.name}" for one in node.names}
                imports[name].update(one if one in modules else node.module for one in full)
        imports[name] &= modules.keys() - {name}
    circle = circle_of(imports)
    return f"imports in a circle: {circle}" if circle else None


# ---- Texts --------------------------------------------------------------------------------------

QUOTED = re.compile(r"`([^`\s]+)`|\]\(([^)#\s]+)")


def check_paths(clone: Path, path: str) -> Iterator[tuple[int, str]]:
    """Yields quoted paths in a text that do not exist."""
    for number, line in enumerate((clone / path).read_text().split("\n"), 1):
        for quoted, linked in QUOTED.findall(line):
            name = linked or quoted.partition(":")[0]
            first = name.partition("/")[0]
            if "://" in name or first in WRITTEN_BY_PROGRAMS or re.search(r"[*<>{}$~]", name):
                continue
            claims = linked or (
                "/" in name and ((clone / first).exists() or name.endswith(SOURCE_SUFFIXES))
            )
            # Capitals are placeholders, as in docs/schema/NAME.schema.json.
            if not linked and re.search(r"(?:^|/)[A-Z_]{3,}(?![a-z.])", name):
                continue
            if claims and not (clone / name).exists():
                yield number, f"quotes {name}, which does not exist"


# ---- All of them --------------------------------------------------------------------------------


def python_violations(clone: Path, paths: list[str]) -> Iterator[str]:
    """Yields every violation in the package weir as one line."""
    for path in paths:
        for number, text in check_python(clone, path):
            yield f"{path}:{number}: {text}"
    if problem := check_circles(clone, paths):
        yield f"python/weir:1: {problem}"


def violations(clone: Path) -> Iterator[str]:
    """Yields every violation in the clone as one line, in the order of paths."""

    def files(folder: str, *suffixes: str) -> list[str]:
        found = (f for f in (clone / folder).rglob("*") if f.suffix in suffixes and f.is_file())
        return sorted(f.relative_to(clone).as_posix() for f in found)

    if circle := circle_of(MAY_INCLUDE):
        yield f"tools/check_folders.py:1: MAY_INCLUDE has a circle: {circle}"
    for top in ("src", "bench", "sim"):
        for path in files(top, ".cpp", ".hpp", ".c", ".h"):
            for number, text in check_cpp(clone, path):
                yield f"{path}:{number}: {text}"
    for top in ("src", "bench", "sim", "tests", "examples"):
        for path in files(top, ".cpp", ".c"):
            if problem := check_listed(clone, path):
                yield f"{path}:1: {problem}"
    yield from python_violations(clone, files("python/weir", ".py"))
    for path in TEXTS_WITH_PATHS:
        if (clone / path).is_file():
            for number, text in check_paths(clone, path):
                yield f"{path}:{number}: {text}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the rules between Weir's folders.")
    parser.add_argument("clone", type=Path, nargs="?", default=Path(__file__).parent.parent)
    found = list(violations(parser.parse_args().clone.resolve()))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
