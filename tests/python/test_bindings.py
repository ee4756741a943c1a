"""The declarations for Python and Fortran, and the page of all languages, follow the C headers."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from c_header import CType, Header, HeaderError, parse
from fortran_declarations import bindings_text
from languages_page import PYTHON_FILES
from python_declarations import python_text
from weir._core import declarations
from weir._core.communicator import Communicator

CLONE = Path(__file__).parents[2]
GENERATED = (
    "python/weir/_core/declarations.py",
    "src/fortran/bindings.f90",
    "src/fortran/constants.f90",
    "docs/languages.md",
)
TOOL = ("generate_bindings.py", "c_header.py", "python_declarations.py", "fortran_declarations.py",
        "languages_page.py", "languages.toml")  # fmt: skip
HEADERS = ("include/weir/weir.h", "include/weir/files.h", "src/fortran/transfers.h")
PYTHON = ("__init__.py", "_core/errors.py", *(f"_core/{name}" for name in PYTHON_FILES))
READ_FOR_THE_PAGE = (
    "include/weir/weir.hpp",
    *(f"python/weir/{name}" for name in PYTHON),
    *(str(path.relative_to(CLONE)) for path in (CLONE / "src/fortran").glob("*.[fF]90")),
)


def code(header: str) -> str:
    """A header without its comments and lines of the preprocessor."""
    text = re.sub(r"/\*.*?\*/", "", (CLONE / header).read_text(), flags=re.DOTALL)
    return re.sub(r"^#.*", "", text, flags=re.MULTILINE)


def run(clone: Path, *options: str) -> tuple[int, str, str]:
    tool = [sys.executable, str(clone / "tools" / TOOL[0]), *options]
    answer = subprocess.run(tool, capture_output=True, text=True, timeout=120, check=False)
    return answer.returncode, answer.stdout, answer.stderr


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The generator, what it reads and what it writes, in a folder of their own."""
    for path in (*GENERATED, *HEADERS, *READ_FOR_THE_PAGE, *(f"tools/{one}" for one in TOOL)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CLONE / path, tmp_path / path)
    return tmp_path


def test_the_committed_files_are_what_the_headers_say() -> None:
    assert run(CLONE, "--check") == (0, "", "")


@pytest.mark.parametrize("name", GENERATED)
def test_a_changed_line_is_found_and_written_again(clone: Path, name: str) -> None:
    text = (clone / name).read_text()
    (clone / name).write_text(re.sub(r"c_int32|max_dimensions|with", "c_int", text, count=1))
    line = f"{name}: not what the headers and languages.toml say; run ./dev docs\n"
    assert run(clone, "--check") == (1, line, "")
    assert run(clone, "--check") == (1, line, ""), "--check writes nothing"
    assert run(clone) == (0, f"wrote {name}\n", "")
    assert (clone / name).read_text() == text


def test_a_changed_header_makes_the_declarations_stale(clone: Path) -> None:
    header = clone / "include/weir/weir.h"
    text = header.read_text()
    header.write_text(text.replace("int32_t plan_reused;", "int64_t plan_reused;"))
    status, lines, _ = run(clone, "--check")
    assert (status, [line.split(":")[0] for line in lines.splitlines()]) == (1, [*GENERATED[:2]])
    header.write_text(text.replace("int32_t plan_reused;", "float plan_reused;"))
    number = text[: text.index("int32_t plan_reused;")].count("\n") + 1
    problem = f"include/weir/weir.h:{number}: the type 'float' is not known\n"
    assert run(clone, "--check") == (2, "", problem)


@pytest.mark.parametrize(
    ("header", "table"),
    [(HEADERS[0], declarations.FUNCTIONS), (HEADERS[1], declarations.FILES_FUNCTIONS)],
)
def test_every_function_has_a_declaration_with_its_number_of_arguments(
    header: str, table: dict[str, tuple[object, list[object]]]
) -> None:
    prototypes = re.findall(r"\b(weir_\w+)\(([^)]*)\)\s*;", code(header))
    declared = {name: 0 if given == "void" else given.count(",") + 1 for name, given in prototypes}
    assert len(prototypes) == code(header).count("(")
    assert {name: len(arguments) for name, (_, arguments) in table.items()} == declared


def test_every_function_has_an_interface_in_fortran_or_one_in_its_place() -> None:
    bindings = (CLONE / GENERATED[1]).read_text()
    declared = re.findall(r"\b(weir_\w+)\(([^)]*)\)\s*;", code(HEADERS[0]) + code(HEADERS[2]))
    with_structs = re.compile(r"\bMPI_Comm\b|\bweir_(?:transfer|region)\b")
    expected = {name for name, given in declared if not with_structs.search(given)}
    assert set(re.findall(r"bind\(C, name='(\w+)'\)", bindings)) == expected
    own = {name.removeprefix("weir_fortran_") for name in expected if "fortran" in name}
    in_place = {name.removeprefix("weir_") for name, _ in declared if name not in expected}
    begun_or_alone = {name for name in in_place if name.endswith(("region_begin", "independent"))}
    # weir_fortran_write_region and weir_fortran_read_region are for these too.
    assert in_place - begun_or_alone == own - {"describe", "type_name"}


@pytest.mark.parametrize("header", HEADERS[:2])
def test_every_struct_and_constant_has_a_declaration(header: str) -> None:
    structs = re.findall(r"typedef struct weir_(\w+) {(.*?)} weir_\1;", code(header), re.DOTALL)
    assert len(structs) == len(re.findall(r"struct \w+ {", code(header)))
    for name, body in structs:
        kind = getattr(declarations, name.title().replace("_", ""))
        fields = re.findall(r"(\w+)(?:\[\d+\])?;", body)
        assert [field[0] for field in kind._fields_] == fields, name
    constants = re.findall(r"\bWEIR_(\w+) = (-?\d+)", code(header))
    assert constants
    for name, value in constants:
        assert getattr(declarations, name) == int(value), name


def test_structs_have_the_layout_of_the_c_compiler(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    checks = []
    for name in re.findall(r"typedef struct (\w+) {", "".join(map(code, HEADERS[:2]))):
        kind = getattr(declarations, name.removeprefix("weir_").title().replace("_", ""))
        checks.append((f"sizeof({name})", ctypes.sizeof(kind)))
        for field, *_ in kind._fields_:
            place = getattr(kind, field)
            checks.append((f"offsetof({name}, {field})", place.offset))
            checks.append((f"sizeof((({name}*)0)->{field})", place.size))
    assert len(checks) > 200
    asserts = [f'_Static_assert({what} == {value}, "{what}");' for what, value in checks]
    # Without MPI: its types are in no struct.
    (tmp_path / "mpi.h").write_text("typedef int MPI_Comm;\n")
    source = tmp_path / "layout.c"
    includes = ("stddef.h", "weir/weir.h", "weir/files.h")
    source.write_text("\n".join([*(f"#include <{one}>" for one in includes), *asserts, ""]))
    command = [compiler, "-fsyntax-only", f"-I{tmp_path}", f"-I{CLONE}/include", str(source)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.parametrize("kind", [ctypes.c_void_p, ctypes.c_int], ids=["Open MPI", "MPICH"])
def test_a_communicator_arrives_as_the_mpi_library_has_it(kind: type) -> None:
    passed: list[int] = []
    call = ctypes.CFUNCTYPE(None, kind)(passed.append)
    call.argtypes = [Communicator]
    number = 2 ** (8 * ctypes.sizeof(kind) - 2) + 3
    held = kind(number)
    call(kind.from_address(ctypes.addressof(held)))
    assert passed == [number]


def test_a_header_is_read() -> None:
    text = (
        "/* A header. */\n#ifndef WEIR_A_H\n#define WEIR_A_H\n\n#include <stdint.h>\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n'
        "enum { WEIR_A = 1, /* one */ WEIR_B = -2 };\ntypedef struct weir_h weir_h;\n"
        "typedef struct weir_s {\n  const char* const* names;\n  int64_t many[WEIR_A];\n} weir_s;\n"
        "const char* weir_f(void);\nvoid weir_g(const weir_h* handle, weir_s* s, MPI_Comm c);\n"
        "#ifdef __cplusplus\n}\n#endif\n#endif\n"
    )
    found = parse("a.h", text, ["MPI_Comm"])
    assert found.constants == {"WEIR_A": 1, "WEIR_B": -2}
    assert found.handles == ["weir_h"]
    assert [str(one.type) for one in found.structs["weir_s"]] == ["const char* const*", "int64_t"]
    assert found.structs["weir_s"][1].length == "WEIR_A"
    given = [(one.name, str(one.type)) for one in found.functions["weir_g"].parameters]
    assert given == [("handle", "const weir_h*"), ("s", "weir_s*"), ("c", "MPI_Comm")]
    assert found.functions["weir_f"].parameters == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("#if 1\nint f(void);\n#endif\n", "a.h:1: '#if 1' is not understood"),
        ("#define WEIR_ROOM 3\n", "a.h:1: '#define WEIR_ROOM 3' is not understood"),
        ("/* a\n * b */\nint f(unsigned x);\n", "a.h:3: the type 'unsigned' is not known"),
        ("int f(weir_other* x);\n", "a.h:1: the type 'weir_other' is not known"),
        ("int f();\n", "a.h:1: the type ')' is not known"),
        ("int f(int);\n", "a.h:1: ')' is not a name"),
        ("int f(int x, ...);\n", "a.h:1: '...);' is not understood"),
        ("int f(int x[3]);\n", "a.h:1: '[' is not understood here; expected )"),
        ("int f(void (*call)(int));\n", "a.h:1: '(' is not a name"),
        ("int f(int x)\n", "a.h:1: the end is not understood here; expected ;"),
        ("int f(int x, int x);\n", "a.h:1: f has two parameters or fields of the same name"),
        ("int f(int x);\nint f(int y);\n", "a.h:2: f is declared twice"),
        ("int f(char x);\n", "a.h:1: x is neither a number nor a pointer, but a char"),
        ("static int f(void);\n", "a.h:1: the type 'static' is not known"),
        ("typedef int weir_code;\n", "a.h:1: 'int' is not understood here; expected struct"),
        ("typedef struct a b;\n", "a.h:1: 'b' is not understood here; expected a"),
        ("typedef struct a {\n  int x : 3;\n} a;\n", "a.h:2: ': 3;' is not understood"),
        ("typedef struct a {\n int x, y;\n} a;\n", "a.h:2: ',' is not understood here; expected ;"),
        ("typedef struct a {\n  int x[ROOM];\n} a;\n", "a.h:2: 'ROOM' is not a number"),
        ("typedef union a a;\n", "a.h:1: 'union' is not understood here; expected struct"),
        ("enum kind { A = 1 };\n", "a.h:1: 'kind' is not understood here; expected {"),
        ("enum { A };\n", "a.h:1: '}' is not understood here; expected ="),
        ("enum { A = B };\n", "a.h:1: 'B' is not a number"),
        ("enum { A = 1 << 2 };\n", "a.h:1: '<< 2 };' is not understood"),
        ("enum { A = 0x10 };\n", "a.h:1: '0x10 };' is not understood"),
        ("int f(int x) { return x; }\n", "a.h:1: '{' is not understood here; expected ;"),
    ],
)
def test_what_the_parser_does_not_know_is_refused(text: str, problem: str) -> None:
    with pytest.raises(HeaderError) as raised:
        parse("a.h", text)
    assert str(raised.value) == problem


def test_a_type_without_a_form_is_refused() -> None:
    text = "typedef struct weir_h weir_h;\nint weir_f(int64_t** x);\n"
    with pytest.raises(HeaderError, match=r"weir_f: int64_t\*\* x has no form in Fortran"):
        bindings_text("", parse("a.h", text), Header("b.h"))
    text = "int weir_f(int x);\nint weir_fortran_f(int x);\n"
    with pytest.raises(HeaderError, match=r"b.h: two functions would be c_f in Fortran"):
        bindings_text("", Header("a.h"), parse("b.h", text))
    text = "typedef struct weir_s {\n  char name[8];\n} weir_s;\n"
    with pytest.raises(HeaderError, match=r"a.h: char has no form in ctypes"):
        python_text("", {"FUNCTIONS": parse("a.h", text)})


@pytest.mark.parametrize(
    ("kind", "is_read"),
    [
        (CType("int64_t", is_const=True, pointers=(False,)), True),
        (CType("int64_t", is_const=False, pointers=(False,)), False),
        (CType("char", is_const=True, pointers=(False, False)), False),
        (CType("char", is_const=True, pointers=(True, False)), True),
    ],
    ids=str,
)
def test_const_tells_what_a_function_only_reads(kind: CType, *, is_read: bool) -> None:
    assert kind.is_read == is_read
