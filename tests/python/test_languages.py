"""docs/languages.md against the headers, the classes and the module that it speaks of."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import weir

CLONE = Path(__file__).parent.parent.parent
PAGE = (CLONE / "docs" / "languages.md").read_text()
C_HEADER = (CLONE / "include" / "weir" / "weir.h").read_text()
CPP_HEADER = (CLONE / "include" / "weir" / "weir.hpp").read_text()
FORTRAN_FILES = {
    path.name: re.sub(r"!.*", "", path.read_text())
    for path in (CLONE / "src" / "fortran").glob("*.[fF]90")
}
BINDINGS = FORTRAN_FILES.pop("bindings.f90")
"""What is generated from the header for the other files: no program calls it."""
FORTRAN = "".join(FORTRAN_FILES.values())
PYTHON_CLASSES: dict[str, tuple[type, ...]] = {
    "session": (weir.Session,),
    "distribution": (weir.Distribution,),
    "array": (weir.Array, weir.FileArray),
    "file": (weir.File,),
    "request": (weir.Request,),
}
NOT_CALLS = {"handle", "session", "dimensions"}
"""What objects carry beside their calls, in Python."""


def columns() -> list[list[str]]:
    """The code of the tables with four languages, by language; code of one cell is joined."""
    languages: list[list[str]] = [[], [], [], []]
    tables = PAGE.split("## If you know")[0]
    for row in re.findall(r"^\| (.*) \|$", tables, re.MULTILINE):
        cells = [" ".join(re.findall(r"`([^`]+)`", cell)) for cell in row.split(" | ")[1:]]
        if len(cells) == len(languages):
            for language, cell in zip(languages, cells, strict=True):
                language.append(cell)
    return languages


C, CPP, PYTHON, FORTRAN_CALLS = (" ".join(cells) for cells in columns())


def names(text: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, text, re.MULTILINE))


def cpp_members(kind: str) -> set[str]:
    """Public member functions of a class of weir.hpp, but constructors and get()."""
    (body,) = re.findall(rf"^class {kind} {{\n public:\n(.*?)^(?: private:|}};)", CPP_HEADER,
                         re.MULTILINE | re.DOTALL)  # fmt: skip
    found = names(body, r"^  (?:\[\[nodiscard\]\] )?(?=\w)[\w:<>, ]+ (\w+)\(")
    return found - {"get", kind}


def test_every_c_call_is_in_the_table_and_the_other_way_round() -> None:
    declared = names(re.sub(r"/\*.*?\*/", "", C_HEADER, flags=re.DOTALL), r"\b(weir_\w+)\(")
    shown = names(C, r"\b(weir_\w+)\(")
    assert declared - shown == set(), "missing in docs/languages.md"
    assert shown - declared == set(), "not declared in weir.h"


def test_every_cpp_call_is_in_the_table_and_the_other_way_round() -> None:
    for name, kind in (("session", "Session"), ("distribution", "Distribution"),
                       ("array", "Array"), ("file", "File"),
                       ("request", "Request")):  # fmt: skip
        members = cpp_members(kind)
        shown = names(CPP, rf"\b{name}\.(\w+)[<(]")
        assert members - shown == set(), f"missing in docs/languages.md, of {kind}"
        assert shown - members == set(), f"not in weir.hpp, of {kind}"
    for name in names(CPP, r"weir::(\w+)"):
        assert re.search(rf"\b(?:class|struct|using|std::string) {name}\b", CPP_HEADER), name


def test_every_python_call_is_in_the_table_and_the_other_way_round() -> None:
    for name, kinds in PYTHON_CLASSES.items():
        public = {one for kind in kinds for one in vars(kind) if not one.startswith("_")}
        shown = names(PYTHON, rf"\b{name}\.(\w+)")
        assert public - shown - NOT_CALLS == set(), f"missing in docs/languages.md, of {kinds}"
        assert shown - public == set(), f"not in {kinds}"
    for name in names(PYTHON, r"\bweir\.(\w+)"):
        assert hasattr(weir, name), name
    opening = inspect.signature(weir.Session).parameters
    assert set(re.findall(r"Session\(comm, (\w+)=", PYTHON)) <= set(opening)


def test_every_fortran_call_is_in_the_table_and_the_other_way_round() -> None:
    procedures = names(FORTRAN, r"(?:subroutine|function|interface) (weir_\w+)")
    public = names(" ".join(re.findall(r"public ::(.*)", FORTRAN)), r"\b(weir_\w+)")
    shown = names(FORTRAN_CALLS, r"\b(weir_\w+)\(")
    assert procedures & public - shown == set(), "missing in docs/languages.md"
    types = names(FORTRAN, r"type, public :: (weir_\w+)")
    assert shown - procedures - types == set(), "not in the module weir"


def test_every_c_call_has_its_fortran() -> None:
    """A procedure of its name, or one that calls its binding."""
    declared = names(re.sub(r"/\*.*?\*/", "", C_HEADER, flags=re.DOTALL), r"\bweir_(\w+)\(")
    assert declared - names(FORTRAN, r"\b(?:weir|c)_(\w+)") == set()


def test_the_names_beside_dra_and_panda_exist() -> None:
    known = PAGE.split("## If you know", 1)[1]
    for name in names(known, r"\b(weir_[a-z_]+)\b"):
        assert re.search(rf"\b{name}\b", C_HEADER), name
    for option in ("typical_request", "natural_chunks", "aggregators", "directories", "grid"):
        assert f"`{option}`" in known
        assert re.search(rf"\b{option}\b", C_HEADER), option


def test_fortran_has_the_fields_of_every_struct() -> None:
    structs = {
        "weir_session_options": "session_options_in_c",
        "weir_figures": "weir_figures",
        "weir_distribution_options": "distribution_options_in_c",
        "weir_array_options": "array_options_in_c",
        "weir_open_options": "open_options_in_c",
        "weir_file_options": "file_options_in_c",
        "weir_define_options": "define_options_in_c",
        "weir_file_open_options": "file_open_options_in_c",
    }
    header = re.sub(r"/\*.*?\*/", "", C_HEADER, flags=re.DOTALL)
    for struct, kind in structs.items():
        (body,) = re.findall(rf"typedef struct {struct} {{(.*?)}} {struct};", header, re.DOTALL)
        fields = re.findall(r"(\w+)(?:\[(\d+)\])?;", body)
        (block,) = re.findall(rf"bind\(C\), public :: {kind}\n(.*?)end type", BINDINGS, re.DOTALL)
        assert re.findall(r":: (\w+)(?:\((\d+)\))?", block) == fields, struct
