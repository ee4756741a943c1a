"""Writes docs/languages.md: each call of weir.h beside its forms in C++, Python and Fortran.

The rows are the functions of weir.h, in its order and under its sections. The form of a row in
another language is found in that language's sources: the member, method or procedure whose name
follows from the C name, or else the one that alone calls the C function. ``languages.toml`` holds
what the sources cannot say: the title of each row, and the forms that are not calls of this kind.
A form there is text of Markdown; a name in it without arguments, such as `file.close`, gets the
arguments of its declaration, and "=" stands for the form that was found.

HeaderError is raised for a call without a title, a form that no declaration confirms, and a public
name of a language that no row has.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from c_header import Function, Header, HeaderError, Variable
from fortran_declarations import LISTS, ONE_VALUE

LANGUAGES = ("c", "cpp", "python", "fortran")
KINDS = ("session", "distribution", "array", "file", "request")
"""Handles of weir.h; C++ and Python have a class for each, named like it."""
PYTHON_FILES = ("session.py", "distribution.py", "array_handle.py", "step_file.py", "request.py")
PYTHON_CLASSES = {"FileArray": "array", **{kind.capitalize(): kind for kind in KINDS}}
NOT_CALLS = {"get", "handle"}
"""Members that lead to the object of C, for other interfaces."""


@dataclass
class Language:
    """The public names of a language, each with the form in which a program uses it."""

    forms: dict[str, str] = field(default_factory=dict)
    """By name: `file.close` leads to `file.close()`."""
    callers: dict[str, dict[str, str]] = field(default_factory=dict)
    """By function of C: the names and forms of those that call it."""
    others: set[str] = field(default_factory=set)
    """Types and constants, which a row may show but need not."""

    def add(self, name: str, form: str, body: str) -> None:
        self.forms.setdefault(name, form)  # Of several overloads the first one is shown.
        for called in re.findall(r"\bweir_\w+", body):
            self.callers.setdefault(called, {})[name] = form


# ---- What each language declares ----


def cpp_language(text: str) -> Language:
    found = Language()
    text = re.sub(r"//.*", "", text)
    found.others = set(re.findall(r"\b(?:class|struct|using|std::string) (\w+)\b", text))
    found.others |= set(re.findall(r"^(?:inline |\[\[nodiscard\]\] )*[\w:]+ (\w+)\(", text, re.M))
    for kind in KINDS:
        name = kind.capitalize()
        (body,) = re.findall(
            rf"^class {name} {{\n public:\n(.*?)^(?: private:|}};)", text, re.MULTILINE | re.DOTALL
        )
        for part in re.split(r"\n(?=  [\w\[~])", "\n" + body):
            # A member function: what it returns, its name, its parameters, its body.
            member = re.match(
                r"\s*(?:\[\[nodiscard\]\] )?\w[\w:<>, ]* (\w+)(\(.*)", part, re.DOTALL
            )
            if member and member[1] not in {*NOT_CALLS, name} and "operator" not in part[:60]:
                form = f"{kind}.{member[1]}"
                parameters, rest = _in_parentheses(member[2])
                names = [_last_word(one) for one in parameters]
                found.add(form, f"{form}({', '.join(names)})", rest)
    return found


def python_language(folder: Path) -> Language:
    found = Language()
    (names,) = (
        ast.literal_eval(node.value)
        for node in ast.parse((folder / "__init__.py").read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    found.others = set(names)
    for file in PYTHON_FILES:
        for node in ast.parse((folder / "_core" / file).read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name in PYTHON_CLASSES:
                _add_python_class(found, PYTHON_CLASSES[node.name], node)
    return found


def _add_python_class(found: Language, kind: str, node: ast.ClassDef) -> None:
    for method in node.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        if method.name.startswith("_") or method.name in NOT_CALLS:
            continue
        form = name = f"{kind}.{method.name}"
        if "property" not in {ast.unparse(one) for one in method.decorator_list}:
            given = [one.arg for one in method.args.args[1:]]
            named = ["…"] if method.args.kwonlyargs else []
            form += f"({', '.join(given + named)})"
        found.add(name, form, ast.unparse(method))


def fortran_language(paths: Iterable[Path]) -> Language:
    found = Language()
    for path in paths:
        text = re.sub(r"!.*", "", path.read_text())
        text = re.sub(r"&\s*\n\s*&?", "", text)
        found.others |= set(re.findall(r"\bpublic :: (weir_\w+)", text))
        found.others |= set(re.findall(r"parameter :: (weir_\w+)", text))
        procedures: dict[str, str] = {}
        for kind, name, arguments in re.findall(
            r"^ *(?:pure )?(subroutine|function) (\w+)\(([^)]*)\)", text, re.MULTILINE
        ):
            given = [one.strip() for one in arguments.split(",")]
            shown = ", ".join(one for one in given if one and one != "status")
            procedures[name] = f"{'call ' * (kind == 'subroutine')}{{}}({shown})"
        # A generic name is shown with the arguments of its first procedure.
        generic = dict(
            re.findall(r"interface (weir_\w+)\s+(?:#\w.*\s+)?module procedure (\w+)", text)
        )
        for name in re.findall(r"\bweir_\w+", " ".join(re.findall(r"public ::(.*)", text))):
            form = procedures.get(name) or procedures.get(generic.get(name, ""))
            if form:
                found.add(name, form.format(name), "")
    return found


def _in_parentheses(text: str) -> tuple[list[str], str]:
    """Returns the parameters of a list that begins `text`, and what follows the list."""
    parts, start, depth = [], 1, 0
    for place, character in enumerate(text):
        depth += character in "(<{["
        depth -= character in ")>}]"
        if depth == 0 or (depth == 1 and character == ","):
            parts.append(text[start:place].strip())
            start = place + 1
        if depth == 0:
            return [part for part in parts if part], text[start:]
    message = f"include/weir/weir.hpp: '{text.splitlines()[0]}' has no end"
    raise HeaderError(message)


def _last_word(parameter: str) -> str:
    return re.sub(r".*\W", "", parameter.partition(" = ")[0], flags=re.DOTALL)


# ---- The rows ----


def c_form(function: Function, structs: Iterable[str]) -> str:
    """Returns a call of the function; & marks what it returns through a pointer, and structs."""

    def argument(one: Variable) -> str:
        is_out = one.type.depth == 2 and not one.type.is_read and one.name not in {"texts"}
        is_struct = one.type.base in structs and one.name not in LISTS
        by_address = is_out or is_struct or one.name in ONE_VALUE.get(function.name, ())
        return f"{'&' if by_address else ''}{one.name}"

    return f"{function.name}({', '.join(argument(one) for one in function.parameters)})"


def found_form(language: Language, function: Function) -> str | None:
    """Returns the form of a function of C in a language with classes, if it is certain."""
    callers = language.callers.get(function.name, {})
    if len(callers) == 1:
        return next(iter(callers.values()))
    owners = [one.type.base for one in function.parameters[:1]]
    kind = owners[0].removeprefix("weir_") if owners else ""
    words = function.name.removeprefix("weir_")
    first, _, rest = words.partition("_")
    for member in [words, *([rest] if first == kind else [])]:
        if f"{kind}.{member}" in language.forms:
            return language.forms[f"{kind}.{member}"]
    return None


class Page:
    """The page while it is written; it keeps which names of each language it has shown."""

    def __init__(self, header: Header, languages: Mapping[str, Language], table: Any) -> None:
        self.header = header
        self.languages = languages
        self.table = table
        self.shown: dict[str, set[str]] = {name: set() for name in languages}

    def fail(self, row: str, what: str) -> HeaderError:
        return HeaderError(f"tools/languages.toml: {row}: {what}")

    def row(self, name: str) -> str:
        given = self.table["rows"].get(name)
        if given is None:
            raise self.fail(name, "no title; add one for this function of weir.h")
        cells = [self.cell(name, language, given.get(language)) for language in LANGUAGES]
        return f"| {' | '.join((given['title'], *cells))} |\n"

    def cell(self, row: str, language: str, given: str | None) -> str:
        found = self.found(row, language)
        if given is None and found is None:
            raise self.fail(row, f"no form in {language} was found; add '{language} = ...'")
        if given is not None and found is not None and given == f"`{found}`":
            raise self.fail(row, f"'{language}' is what the sources say; remove it")
        text = "=" if given is None else given
        if found is not None:
            text = re.sub(r"^=", f"`{found}`", text)
        return re.sub(r"`[^`]+`", lambda code: f"`{self.checked(row, language, code[0][1:-1])}`",
                      text)  # fmt: skip

    def found(self, row: str, language: str) -> str | None:
        function = self.header.functions.get(row)
        if function is None:
            return None
        if language == "c":
            return c_form(function, self.header.structs)
        known = self.languages[language]
        return known.forms.get(row) if language == "fortran" else found_form(known, function)

    def checked(self, row: str, language: str, code: str) -> str:
        """Returns a form with its arguments; each name in it must be one of the language."""
        if language == "c":
            self.check_c(row, code)
            return code
        known = self.languages[language]
        pattern = r"\bweir_\w+" if language == "fortran" else rf"\b(?:{'|'.join(KINDS)})\.\w+"
        for name in re.findall(pattern, code):
            if name not in known.forms and name not in known.others:
                raise self.fail(row, f"{name} is not declared in {language}")
            self.shown[language].add(name)
        for name in re.findall(r"\bweir(?:::|\.)(\w+)", code):
            if name not in known.others:
                raise self.fail(row, f"weir.{name} is not declared in {language}")
        return known.forms.get(code, code)

    def note(self, title: str) -> str:
        """Returns the text above a table; what it shows need not be in a row."""
        text: str = self.table["notes"].get(title, "")
        for code in re.findall(r"`(weir\W[^`]*|weir_[^`]*)`", text):
            self.checked(title, "cpp" if "::" in code else "fortran", code)
        return text.strip()

    def check_c(self, row: str, text: str) -> None:
        header = self.header
        known = {*header.functions, *header.structs, *header.handles, *header.constants}
        for name in re.findall(r"\b(?:weir|WEIR)_\w+", text):
            if name not in known:
                raise self.fail(row, f"{name} is not declared in {header.path}")

    def refuse_what_is_missing(self) -> None:
        for language, known in self.languages.items():
            missing = sorted({*known.forms} - self.shown[language])
            if missing:
                raise self.fail("rows", f"none shows {', '.join(missing)} of {language}")
        unknown = {*self.table["rows"]} - {*self.header.functions, *self.header.structs}
        if unknown:
            raise self.fail(min(unknown), f"{self.header.path} does not declare it")


def errors_table(header: Header, text: str, python: Sequence[tuple[str, str]]) -> str:
    """Returns the codes that calls return when they fail, with the classes of Python."""
    classes = dict(python)
    rows = ""
    for name, told in re.findall(r"(WEIR_E_\w+) = -\d+,?\s*/\* (.*?) \*/", text, re.DOTALL):
        meaning = " ".join(told.split())
        code = name.removeprefix("WEIR_")
        if name not in header.constants or code not in classes:
            message = f"python/weir/_core/errors.py: CLASSES has no class for {name}"
            raise HeaderError(message)
        rows += f"| {meaning} | `{name}` | `weir.{classes[code]}` | `{name.lower()}` |\n"
    return f"| | C, and `failure.code()` in C++ | Python | Fortran |\n|---|---|---|---|\n{rows}"


def sections(header: Header, text: str, rows: Iterable[str]) -> dict[str, list[str]]:
    """Returns the names of functions, and of structs that have a row, by section of the header."""
    text = re.sub(r"/\* ---- (.*?) ----", r"\n@\1@\n/*", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found: dict[str, list[str]] = {}
    section = "Versions and errors"
    for mark, function, struct in re.findall(
        r"^@(.*)@$|\b(weir_\w+)\(|^\} (weir_\w+);", text, re.M
    ):
        if mark:
            section = mark
        elif function or struct in set(rows):
            found.setdefault(section, []).append(function or struct)
    if {*header.functions} - {one for names in found.values() for one in names}:
        message = f"{header.path}: not every function was found again"
        raise HeaderError(message)
    return found


def page_text(first_line: str, clone: Path, header: Header) -> str:
    """Returns docs/languages.md. Raises HeaderError."""
    text = (clone / header.path).read_text()
    classes = re.findall(
        r"declarations\.(E_\w+): (\w+),", (clone / "python/weir/_core/errors.py").read_text()
    )
    fortran = [path for path in sorted((clone / "src/fortran").glob("*.[fF]90"))
               if path.stem != "bindings"]  # fmt: skip
    languages = {
        "cpp": cpp_language((clone / "include/weir/weir.hpp").read_text()),
        "python": python_language(clone / "python/weir"),
        "fortran": fortran_language(fortran),
    }
    table = tomllib.loads((clone / "tools/languages.toml").read_text())
    page = Page(header, languages, table)
    parts = [f"<!-- {first_line} -->\n\n{table['introduction'].strip()}\n"]
    for title, names in sections(header, text, table["rows"]).items():
        rows = "".join(page.row(name) for name in names)
        note = page.note(title)
        parts.append(
            f"## {title}\n\n{note}{chr(10) * 2 * bool(note)}"
            f"| | C | C++ | Python | Fortran |\n|---|---|---|---|---|\n{rows}"
        )
        if title == "Versions and errors":
            parts.append(errors_table(header, text, classes))
    page.refuse_what_is_missing()
    return "\n".join(parts)
