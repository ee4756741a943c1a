"""Writes the declarations of C headers for Fortran: constants, types and interfaces with bind(C).

Numbers without a sign become numbers with one: Fortran has no others. Arguments that a function may
change have ``intent(inout)``, because a function that fails may leave them as they are.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Sequence

from c_header import Function, Header, HeaderError, Variable

NUMBERS = {
    "int": "integer(c_int)",
    "int32_t": "integer(c_int32_t)",
    "int64_t": "integer(c_int64_t)",
    "uint64_t": "integer(c_int64_t)",
    "double": "real(c_double)",
}

CONSTANTS = {"WEIR_WRITE": "weir_direction_write", "WEIR_READ": "weir_direction_read"}
"""Constants with another name in Fortran, where weir_write and weir_read are calls: Fortran does
not tell capital letters from small ones."""

TYPES = {"weir_figures": "weir_figures"}
"""Structs that programs use themselves, under the name that they have in C."""

NOT_FOR_FORTRAN = {"MPI_Comm", "weir_transfer", "weir_region"}
"""Functions that get one of these are left out. Fortran calls others in their place, which
transfers.h declares: they get Fortran's handle of a communicator, and memory as the compiler's
descriptor gave it."""

DESCRIPTOR = "type(*), dimension(..), target, asynchronous"
"""Memory of any type and rank. The attributes promise the compiler that the call keeps its address,
and that a request may use the memory afterwards."""
FOREIGN = {"CFI_cdesc_t": DESCRIPTOR}
"""Types of other headers to which a function gets a pointer, and what Fortran passes there."""

ONE_VALUE = {
    "weir_file_attribute": {"name", "kind", "count"},
    "weir_file_get_text": {"text"},
    "weir_finalize_staging": {"program"},
    "weir_fortran_finalize_staging": {"program"},
    "weir_fortran_init_staging": {"program"},
    "weir_fortran_session_explain": {"text"},
    "weir_init_staging": {"program"},
    "weir_test": {"complete"},
}
"""Arguments through which a function returns one number or text. C does not tell them from lists;
in Fortran every other pointer to numbers or texts is a list."""
LISTS = {"transfers"}
"""Names of arguments that are a list of structs; every other pointer to a struct is one struct."""

COLUMNS = 100


def constants_text(first_line: str, header: Header) -> str:
    """Returns the module with the constants of a header that programs use."""
    lines = "".join(
        f"  integer, parameter :: {_constant(name)} = {value}\n"
        for name, value in header.constants.items()
    )
    return (
        f"! {first_line}\n!\n! The constants of weir.h, which says what each of them means.\n"
        f"module weir_constants\n  implicit none\n  public\n\n{lines}end module\n"
    )


def bindings_text(first_line: str, header: Header, own: Header) -> str:
    """Returns the module with the structs and functions of a header, and of Fortran's `own`."""
    functions = [
        one
        for one in (*header.functions.values(), *own.functions.values())
        if not NOT_FOR_FORTRAN & {parameter.type.base for parameter in one.parameters}
    ]
    used = {parameter.type.base for one in functions for parameter in one.parameters}
    structs = {**header.structs, **own.structs}
    types = "\n".join(_type(name, structs[name]) for name in structs if name in used)
    interfaces = "\n".join(_function(one, structs) for one in functions)
    numbers = "".join(
        f"  integer(c_int32_t), parameter, public :: {_constant(name)} = {value}\n"
        for name, value in own.constants.items()
    )
    names = [_function_name(one.name) for one in functions]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        message = f"{own.path}: two functions would be {' and '.join(sorted(repeated))} in Fortran"
        raise HeaderError(message)
    public = _wrapped("  public :: ", ", ".join(names))
    body = f"{numbers}\n{types}\n{public}\n\n  interface\n{interfaces}  end interface\n"
    kinds = sorted(set(re.findall(r"\bc_(?:char|double|int\w*|null_ptr|ptr)\b", body)))
    lengths = {one.length for name in used & set(structs) for one in structs[name]}
    sizes = sorted(_constant(length) for length in lengths if isinstance(length, str))
    return (
        f"! {first_line}\n!\n"
        "! Interoperable declarations of weir.h and transfers.h. Only for the other modules: "
        "programs use\n! the module weir.\n"
        "module weir_bindings\n"
        f"{_wrapped('  use, intrinsic :: iso_c_binding, only: ', ', '.join(kinds))}\n"
        f"{_wrapped('  use weir_constants, only: ', ', '.join(sizes))}\n"
        f"  implicit none\n  private\n\n{body}end module\n"
    )


def _constant(name: str) -> str:
    return CONSTANTS.get(name, name.lower())


def _type_name(struct: str) -> str:
    base = struct.removeprefix("weir_").removeprefix("fortran_")
    return TYPES.get(struct, f"{base}_in_c")


def _function_name(name: str) -> str:
    return f"c_{name.removeprefix('weir_').removeprefix('fortran_')}"


def _type(struct: str, fields: Sequence[Variable]) -> str:
    lines = "".join(f"    {_field(struct, one)}\n" for one in fields)
    return f"  type, bind(C), public :: {_type_name(struct)}\n{lines}  end type\n"


def _field(struct: str, one: Variable) -> str:
    if one.type.depth:
        kind, value = "type(c_ptr)", "c_null_ptr"
    elif one.type.base == "char":
        kind, value = "character(kind=c_char)", "' '"
    elif one.type.base in NUMBERS:
        kind, value = NUMBERS[one.type.base], "0"
    else:
        message = f"{struct}: {one.type} {one.name} has no form in Fortran"
        raise HeaderError(message)
    length = _constant(one.length) if isinstance(one.length, str) else one.length
    return f"{kind} :: {one.name}{'' if length is None else f'({length})'} = {value}"


def _function(one: Function, structs: Collection[str]) -> str:
    name = _function_name(one.name)
    kind = "subroutine" if str(one.result) == "void" else "function"
    arguments = ", ".join(parameter.name for parameter in one.parameters)
    # No line ends inside bind(C, name=...).
    head = _wrapped(f"    {kind} ", f"{name}({arguments}) bind(C,\0name='{one.name}')")
    lines = [head.replace("\0", " "), "      import"]
    lines += [f"      {_argument(one, parameter, structs)}" for parameter in one.parameters]
    if kind == "function":
        lines.append(f"      {_result(one)} :: {name}")
    return "\n".join((*lines, f"    end {kind}\n"))


def _result(one: Function) -> str:
    if str(one.result) == "const char*":
        return "type(c_ptr)"
    if one.result.depth or one.result.base not in NUMBERS:
        message = f"{one.name}: the result {one.result} has no form in Fortran"
        raise HeaderError(message)
    return NUMBERS[one.result.base]


def _argument(function: Function, one: Variable, structs: Collection[str]) -> str:
    base, depth = one.type.base, one.type.depth
    is_struct = base in structs
    is_handle = not is_struct and base not in {"void", "char", *NUMBERS, *FOREIGN}
    intent = "intent(in)" if one.type.is_read else "intent(inout)"
    is_list = one.name not in ONE_VALUE.get(function.name, ()) and not is_handle
    if depth == 0 and base in NUMBERS:
        kind, is_list = f"{NUMBERS[base]}, value, intent(in)", False
    elif depth == 1 and base in FOREIGN:
        kind, is_list = FOREIGN[base], False
    elif depth == 1 and base in NUMBERS:
        kind = f"{NUMBERS[base]}, {intent}"
    elif depth == 1 and base == "char":
        kind = f"character(kind=c_char), {intent}"
    elif depth == 1 and is_struct:
        kind, is_list = f"type({_type_name(base)}), {intent}", one.name in LISTS
    elif depth == 1:
        kind, is_list = "type(c_ptr), value, intent(in)", False
    elif depth == 2 and (base == "char" or is_handle):
        kind = f"type(c_ptr), {intent}"
    else:
        message = f"{function.name}: {one.type} {one.name} has no form in Fortran"
        raise HeaderError(message)
    return f"{kind} :: {one.name}{'(*)' if is_list else ''}"


def _wrapped(before: str, text: str) -> str:
    """Returns the text behind `before`, continued on further lines where it is too long."""
    margin = " " * (len(before) - len(before.lstrip()) + 4)
    wrapper = textwrap.TextWrapper(COLUMNS - 2, subsequent_indent=margin, break_long_words=False)
    return " &\n".join(wrapper.wrap(before + text))
