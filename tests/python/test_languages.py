"""The generator of docs/languages.md notices what it cannot show, and names on pages exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from c_header import Header, HeaderError, parse
from languages_page import Page, cpp_language, fortran_language, page_text, python_language

CLONE = Path(__file__).parent.parent.parent
C_HEADER = (CLONE / "include" / "weir" / "weir.h").read_text()
CPP = """class Session {
 public:
  explicit Session(int communicator);
  template <typename Element>
  [[nodiscard]] Array create(const std::map<int, int>& shape = {1, 2}, int order = 0) {
    return weir_array_create(shape);
  }
  int* get();

 private:
  void hidden();
};
class Distribution {
 public:
};
class Array {
 public:
};
class File {
 public:
};
class Request {
 public:
};
"""
FORTRAN = """module weir_a
  public :: weir_open, weir_of  ! a comment
  type, public :: weir_kind
  interface weir_open
    module procedure open_small, open_large
  end interface
contains
  subroutine open_small(session, &
                        options, status)
  function weir_of(x) result(y)
  subroutine open_large(other, status)
  subroutine hidden(x)
"""


def test_members_of_cpp_are_found_with_their_parameters() -> None:
    found = cpp_language(CPP)
    assert found.forms == {"session.create": "session.create(shape, order)"}
    assert found.callers == {
        "weir_array_create": {"session.create": "session.create(shape, order)"}
    }


def test_procedures_of_fortran_are_found_without_their_status(tmp_path: Path) -> None:
    (tmp_path / "a.f90").write_text(FORTRAN)
    found = fortran_language([tmp_path / "a.f90"])
    assert found.forms == {
        "weir_open": "call weir_open(session, options)",
        "weir_of": "weir_of(x)",
    }
    assert "weir_kind" in found.others


@pytest.fixture(scope="module")
def header() -> Header:
    return parse("include/weir/weir.h", C_HEADER, ["MPI_Comm"])


def page(header: Header, table: dict[str, Any]) -> Page:
    languages = {
        "cpp": cpp_language((CLONE / "include/weir/weir.hpp").read_text()),
        "python": python_language(CLONE / "python/weir"),
        "fortran": fortran_language((CLONE / "src/fortran").glob("*s.[fF]90")),
    }
    return Page(header, languages, {"notes": {}, "rows": table})


def test_a_row_has_the_forms_that_the_sources_show(header: Header) -> None:
    row = page(header, {"weir_file_step_end": {"title": "end", "cpp": "=, or `file.close`"}})
    assert row.row("weir_file_step_end") == (
        "| end | `weir_file_step_end(file)` | `file.end_step()`, or `file.close()` | "
        "`file.end_step()` | `call weir_file_step_end(file)` |\n"
    )


@pytest.mark.parametrize(
    ("row", "given", "problem"),
    [
        ("weir_wait", None, "weir_wait: no title; add one for this function of weir.h"),
        ("weir_version", {}, "no form in cpp was found; add 'cpp = ...'"),
        (
            "weir_wait",
            {"python": "`request.wait()`"},
            "'python' is what the sources say; remove it",
        ),
        ("weir_wait", {"cpp": "`request.await()`"}, "request.await is not declared in cpp"),
        ("weir_wait", {"cpp": "`weir::wait()`"}, "weir.wait is not declared in cpp"),
        ("weir_wait", {"python": "`weir.wait()`"}, "weir.wait is not declared in python"),
        ("weir_wait", {"fortran": "`weir_await(r)`"}, "weir_await is not declared in fortran"),
        (
            "weir_wait",
            {"c": "`weir_await(r)`"},
            "weir_await is not declared in include/weir/weir.h",
        ),
    ],
)
def test_a_row_that_no_source_confirms_is_refused(
    header: Header, row: str, given: dict[str, str] | None, problem: str
) -> None:
    table = {} if given is None else {row: {"title": "a title", **given}}
    with pytest.raises(HeaderError, match=re.escape(problem)):
        page(header, table).row(row)


def test_a_name_without_a_row_is_refused(header: Header) -> None:
    empty = page(header, {})
    with pytest.raises(HeaderError, match=r"rows: none shows array.close, array.dim.* of cpp"):
        empty.refuse_what_is_missing()
    table = tomllib.loads((CLONE / "tools/languages.toml").read_text())
    full = page(header, table["rows"])
    full.shown = {language: {*known.forms} for language, known in full.languages.items()}
    full.refuse_what_is_missing()
    full.table["rows"]["weir_await"] = {"title": "wait"}
    with pytest.raises(HeaderError, match=r"weir_await: include/weir/weir.h does not declare it"):
        full.refuse_what_is_missing()


def test_every_call_is_in_the_page(header: Header) -> None:
    text = page_text("Generated", CLONE, header)
    assert [name for name in header.functions if f"`{name}(" not in text] == []


def test_the_names_beside_those_of_other_libraries_exist() -> None:
    known = (CLONE / "docs" / "migrating.md").read_text()
    for name in re.findall(r"\b(weir_[a-z_]+)\b", known):
        assert re.search(rf"\b{name}\b", C_HEADER), name
    for option in ("typical_request", "natural_chunks", "aggregators", "directories", "grid"):
        assert f"`{option}`" in known
        assert re.search(rf"\b{option}\b", C_HEADER), option
