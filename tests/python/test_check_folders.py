"""Each rule between folders is broken once in a small tree of its own, and found there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CLONE = Path(__file__).resolve().parents[2]
TOOL = CLONE / "tools" / "check_folders.py"

# A tree that keeps every rule; each case below changes one file of it.
TREE = {
    "src/CMakeLists.txt": "weir_add_library(weir_all SOURCES common/status.cpp common/settings.cpp"
    " common/clock.cpp plan/schedule.cpp plan/schedule_test.cpp engines/posix.cpp)\n",
    "src/common/status.hpp": "// A comment may speak of MPI_Send, open(2) and std::filesystem.\n",
    "src/common/status.cpp": '#include "common/status.hpp"\nauto t = "<fstream> MPI_Init";\n',
    "src/common/settings.cpp": "#include <fstream>\nstd::ifstream stream(name);\n",
    "src/common/clock.hpp": "",
    "src/common/clock.cpp": "auto t = std::chrono::steady_clock::now();\n",
    "src/array/shape.hpp": '#include "common/status.hpp"\n',
    "src/plan/schedule.hpp": '#include "array/shape.hpp"\n#include "common/status.hpp"\n',
    "src/plan/schedule.cpp": '#include "plan/schedule.hpp"\nint read(int); int x = file.open(3);\n',
    "src/plan/schedule_test.cpp": '#include "plan/schedule.hpp"\n#include <fstream>\n',
    "src/engines/posix.hpp": '#include "common/status.hpp"\n',
    "src/engines/posix.cpp": "#include <fcntl.h>\nint f() { return ::open(name, O_RDONLY); }\n",
    "bench/CMakeLists.txt": "weir_add_program(weir-bench SOURCES main.cpp measurement/job.cpp)\n",
    "bench/main.cpp": '#include "measurement/job.hpp"\n#include "array/shape.hpp"\n',
    "bench/measurement/job.hpp": "#include <mpi.h>\n",
    "bench/measurement/job.cpp": '#include "measurement/job.hpp"\n#include <fstream>\n',
    "bench/workloads/copy.hpp": '#include "measurement/job.hpp"\n',
    "python/weir/report/page.py": "import json\nfrom weir.results import schema\n",
    "python/weir/results/schema.py": "from pydantic import BaseModel\n",
    "python/weir/cli.py": "import weir.report.page\nfrom weir import _core\n",
    "README.md": "See `src/plan/schedule.hpp`, [this](bench/main.cpp), `weir-results/X` and "
    "`docs/schema/NAME.md`.\n",
}


def check(folder: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, TOOL, folder], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def write_tree(folder: Path, changes: dict[str, str]) -> None:
    for name, text in (TREE | changes).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_tree_that_keeps_the_rules_passes(tmp_path: Path) -> None:
    write_tree(tmp_path, {})
    assert check(tmp_path) == (0, [])


@pytest.mark.parametrize(
    ("file", "text", "line", "words"),
    [
        ("src/plan/schedule.hpp", "\n#include <mpi.h>\n", 2, "call MPI"),
        ("src/plan/schedule.cpp", "/* a\n b */ int r = MPI_Send();\n", 2, "uses MPI_Send"),
        ("src/engines/posix.cpp", "#include <mpi.h>\n", 1, "call MPI"),
        ("src/plan/schedule_test.cpp", "#include <mpi.h>\n", 1, "call MPI"),
        ("src/capi/calls.hpp", "MPI_Init(0, 0);\nMPI_Ibcast(p);\n", 2, "src/ranks/messages.hpp"),
        ("src/aggregation/move.hpp", "MPI_INT;\nMPI_Testsome(p);\n", 2, "uses MPI_Testsome"),
        ("src/capi/calls.hpp", "\n::usleep(1);\n", 2, "uses ::usleep; ranks wait by"),
        ("src/aggregation/move.hpp", "std::this_thread::yield();\n", 1, "ranks wait by"),
        ("src/engines/posix.cpp", "int r = ::fsync(f);\n", 1, "uses ::fsync; src/system"),
        ("src/array/shape.hpp", "#include <filesystem>\n", 1, "call the file system"),
        ("src/plan/schedule.cpp", "\n\nint n = pread(fd, p, 1, 0);\n", 3, "uses pread"),
        ("src/plan/schedule.cpp", "int f = ::open(name, 0);\n", 1, "uses ::open"),
        ("src/common/status.cpp", "std::ofstream s;\n", 1, "uses ofstream"),
        ("src/common/settings.cpp", "std::ofstream s;\n", 1, "uses ofstream"),
        ("src/plan/schedule.cpp", "auto t = steady_clock::now();\n", 1, "read no clock"),
        ("src/plan/schedule.hpp", '#include "common/clock.hpp"\n', 1, "read no clock"),
        ("src/array/shape.hpp", '#include "plan/schedule.hpp"\n', 1, "src/array may include"),
        ("src/common/status.cpp", '#include "engines/posix.hpp"\n', 1, "may include no folder"),
        ("src/engines/posix.hpp", '#include "measurement/job.hpp"\n', 1, "src/engines may"),
        ("bench/measurement/job.hpp", '#include "workloads/copy.hpp"\n', 1, "bench/measurement"),
        ("src/plan/schedule.hpp", '#include "plan/nothing.hpp"\n', 1, "not a file of this clone"),
        ("src/newcomer/thing.hpp", "\n", 1, "without rules"),
        ("src/engines/forgotten.cpp", "\n", 1, "is not listed in src/CMakeLists.txt"),
        ("tests/mpi/forgotten.cpp", "\n", 1, "no CMakeLists.txt"),
        ("python/weir/report/page.py", "import json\nimport weir.files\n", 2, "imports weir.files"),
        ("python/weir/report/page.py", "from weir import model\n", 1, "imports weir.model"),
        ("python/weir/report/page.py", "from . import chart\n", 1, "relative import"),
        ("python/weir/cli.py", "\nimport ctypes\n", 2, "through weir._core"),
        ("README.md", "first\n`src/plan/gone.hpp` is\n", 2, "src/plan/gone.hpp"),
        ("README.md", "[a page](docs/gone.md)\n", 1, "docs/gone.md"),
    ],
)
def test_a_broken_rule_is_named_with_its_place(
    tmp_path: Path, file: str, text: str, line: int, words: str
) -> None:
    write_tree(tmp_path, {file: text})
    status, found = check(tmp_path)
    assert status == 1
    assert len(found) == 1
    assert found[0].startswith(f"{file}:{line}: ")
    assert words in found[0]


@pytest.mark.parametrize(
    ("lists", "passed_over"),
    [
        ("weir_add_library(weir_plan LINKS weir_all)\n", "new_test.cpp"),
        ("weir_add_library(weir_plan)\n", "new_test.cpp"),
        ("weir_find_sources(sources WITHOUT absent.cpp)\n", "new_test.cpp"),
        ("weir_add_unit_test(plan_test LINKS weir_plan)\n", "new.cpp"),
        ("weir_find_sources(tests TESTS FOLDER plan)\n", "new.cpp"),
        ("weir_add_library(weir_plan SOURCES other.cpp LINKS weir_all)\n", "new.cpp new_test.cpp"),
    ],
)
def test_sources_that_cmake_finds_need_no_list(
    tmp_path: Path, lists: str, passed_over: str
) -> None:
    listed = "weir_add_library(weir_old SOURCES schedule.cpp schedule_test.cpp)\n"
    sources = {"src/plan/new.cpp": "\n", "src/plan/new_test.cpp": "\n"}
    write_tree(tmp_path, {"src/plan/CMakeLists.txt": listed + lists, **sources})
    _, found = check(tmp_path)
    assert [line.split(":")[0] for line in found] == [f"src/plan/{x}" for x in passed_over.split()]


def test_modules_that_import_each_other_are_named(tmp_path: Path) -> None:
    in_a_function = "def page():\n    from weir.results.loop import a\n"
    write_tree(tmp_path, {"python/weir/results/loop.py": "from weir.results import back\n",
                          "python/weir/results/back.py": in_a_function})  # fmt: skip
    status, found = check(tmp_path)
    assert status == 1
    assert len(found) == 1
    assert found[0].startswith("python/weir:1: imports in a circle: ")
    assert "weir.results.back" in found[0]


def test_an_import_for_types_alone_makes_no_circle(tmp_path: Path) -> None:
    for_types = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from weir.results.loop import a\n"
    )
    write_tree(tmp_path, {"python/weir/results/loop.py": "from weir.results import back\n",
                          "python/weir/results/back.py": for_types})  # fmt: skip
    assert check(tmp_path) == (0, [])
