"""Writes the declarations of C headers for Python's ctypes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from c_header import CType, Function, Header, HeaderError, Variable

NUMBERS = {
    "int": "c_int",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "uint64_t": "c_uint64",
    "double": "c_double",
}

ANY_BYTES = {("weir_files_texts", "bytes")}
"""Fields of the type char* that do not point to one text: several texts with their zero bytes.
c_char_p would end at the first of these."""

FOREIGN = {"MPI_Comm": "Communicator"}
"""Types of other headers, and their classes in `weir._core.communicator`: MPI_Comm is a pointer in
Open MPI and an int in MPICH, so no one type of ctypes is right. A pointer to one is an address."""

COLUMNS = 100
"""Lines are as long as ``ruff format`` makes them."""


def python_text(first_line: str, headers: Mapping[str, Header]) -> str:
    """Returns the module with the declarations of all headers.

    The keys are the names of the tables of functions, one table for each library.
    """
    parts = [part for name, header in headers.items() for part in _declarations(name, header)]
    paths = " and ".join(header.path for header in headers.values())
    body = "\n\n".join(parts)
    names = ["POINTER", "Structure", *sorted({"c_char_p", "c_void_p", *NUMBERS.values()})]
    used = [name for name in names if re.search(rf"\b{name}\b", body)]
    imports = "".join(f"    {name},\n" for name in used)
    return (
        f'# {first_line}\n"""Declarations of {paths} for ctypes."""\n\n'
        "from __future__ import annotations\n\n"
        f"from ctypes import (\n{imports})\n"
        "from typing import TYPE_CHECKING, ClassVar\n\n"
        f"from weir._core.communicator import {', '.join(FOREIGN.values())}\n\n"
        "if TYPE_CHECKING:\n"
        "    from weir._core.shared_library import Declarations\n\n"
        f"{body}"
    )


def struct_name(name: str) -> str:
    """Returns the Python name of a struct: SessionOptions for weir_session_options."""
    return "".join(word.capitalize() for word in name.removeprefix("weir_").split("_"))


def _declarations(table: str, header: Header) -> list[str]:
    constants = "".join(
        f"{name.removeprefix('WEIR_')} = {value}\n" for name, value in header.constants.items()
    )
    structs = [_struct(header, name, fields) for name, fields in header.structs.items()]
    functions = "".join(_function(header, one) for one in header.functions.values())
    functions = (
        f"{table}: Declarations = {{\n{functions}}}\n"
        f'"""Result type and argument types of each function of {header.path}."""\n'
    )
    return [f"# ---- {header.path} ----\n\n{constants}", *structs, functions]


def _struct(header: Header, name: str, fields: Sequence[Variable]) -> str:
    lines = "".join(f'        ("{one.name}", {_field(header, name, one)}),\n' for one in fields)
    return (
        f'class {struct_name(name)}(Structure):\n    """``{name}``."""\n\n'
        f"    _fields_: ClassVar = [\n{lines}    ]\n"
    )


def _field(header: Header, struct: str, one: Variable) -> str:
    kind = "c_void_p" if (struct, one.name) in ANY_BYTES else _type(header, one.type)
    if one.length is None:
        return kind
    length = header.constants[one.length] if isinstance(one.length, str) else one.length
    return f"{kind} * {length}"


def _function(header: Header, one: Function) -> str:
    result = "None" if str(one.result) == "void" else _type(header, one.result)
    arguments = [_type(header, parameter.type) for parameter in one.parameters]
    line = f'    "{one.name}": ({result}, [{", ".join(arguments)}]),'
    if len(line) <= COLUMNS:
        return line + "\n"
    return f'    "{one.name}": (\n        {result},\n{_list("        ", arguments, ",")}\n    ),\n'


def _list(before: str, items: Sequence[str], after: str) -> str:
    """Returns the items in brackets, on one line or, if that is too long, each on its own."""
    line = f"{before}[{', '.join(items)}]{after}"
    if len(line) <= COLUMNS:
        return line
    margin = " " * (len(before) - len(before.lstrip()))
    lines = "".join(f"{margin}    {item},\n" for item in items)
    return f"{before}[\n{lines}{margin}]{after}"


def _type(header: Header, kind: CType) -> str:
    """Returns the type of ctypes for a value, or for what a function gets."""
    known = {**NUMBERS, **FOREIGN, **{struct: struct_name(struct) for struct in header.structs}}
    if kind.depth and kind.base == "char":
        inner, depth = "c_char_p", kind.depth - 1
    elif kind.depth and (kind.base in {"void", *FOREIGN} or kind.base in header.handles):
        inner, depth = "c_void_p", kind.depth - 1
    elif kind.base in known:
        inner, depth = known[kind.base], kind.depth
    else:
        message = f"{header.path}: {kind} has no form in ctypes"
        raise HeaderError(message)
    return "POINTER(" * depth + inner + ")" * depth
