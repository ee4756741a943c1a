"""Reads the declarations of a C header: constants, structs, handles and functions.

It knows the part of C in which Weir's headers are written, and raises HeaderError, with file and
line, at everything else:

- ``enum { NAME = 1, ... };`` without a name, every value a number;
- ``typedef struct NAME NAME;``: a handle, whose content is not visible;
- ``typedef struct NAME { ... } NAME;``: a struct; a field is a value, a pointer or an array;
- functions, whose parameters have names.

Types are C's own in `NUMBERS`, the headers' own, and those of other headers that the caller names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

NUMBERS = ("int", "int32_t", "int64_t", "uint64_t", "double")
"""C's types of numbers that a declaration may use; it may also use char and void, by pointers."""

TOKEN = re.compile(r"[A-Za-z_]\w*|\d+\b|[{}()\[\];,*=-]")
LEFT_OUT = re.compile(
    r"/\*.*?\*/|^#ifdef __cplusplus\n.*?^#endif\n|^#(?:ifndef|define) \w+_H\n|^#include .*?\n|"
    r"^#endif\n",
    re.DOTALL | re.MULTILINE,
)
"""Comments, what is for C++ alone, the include guard, and includes."""


class HeaderError(Exception):
    """A header contains what this module does not understand; the text is one line."""


@dataclass(frozen=True)
class CType:
    """A type such as ``const char* const*``."""

    base: str
    """First word of the type: a number, char, void, struct, handle, or type of another header."""
    is_const: bool
    """Whether what the last pointer points to is const; without a pointer, whether the value is."""
    pointers: tuple[bool, ...] = ()
    """One for each ``*``, from the left: whether ``const`` follows it."""

    @property
    def depth(self) -> int:
        return len(self.pointers)

    @property
    def is_read(self) -> bool:
        """Whether a function that gets this pointer only reads what it points to."""
        return (self.is_const, *self.pointers)[self.depth - 1] if self.depth else True

    def __str__(self) -> str:
        stars = "".join("* const" if is_const else "*" for is_const in self.pointers)
        return f"{'const ' if self.is_const else ''}{self.base}{stars}"


@dataclass(frozen=True)
class Variable:
    """A field of a struct, or a parameter of a function."""

    name: str
    type: CType
    length: int | str | None = None
    """Number of elements of an array, or the constant that has it; None: no array."""


@dataclass(frozen=True)
class Function:
    """A function's prototype."""

    name: str
    result: CType
    parameters: tuple[Variable, ...]


@dataclass
class Header:
    """What a header declares, in its order."""

    path: str
    constants: dict[str, int] = field(default_factory=dict)
    handles: list[str] = field(default_factory=list)
    structs: dict[str, tuple[Variable, ...]] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)


def parse(path: str, text: str, foreign: Iterable[str] = (), below: Header | None = None) -> Header:
    """Returns the declarations of the header with this text; messages name it by its `path`.

    `foreign` are names of types of other headers, and `below` is a header of Weir that it includes.
    """
    return _Parser(path, text, frozenset(foreign), below).header()


class _Parser:
    def __init__(self, path: str, text: str, foreign: frozenset[str], below: Header | None) -> None:
        self.found = Header(path)
        self.below = below or Header("")
        self.foreign = foreign
        self.tokens: list[tuple[str, int]] = []
        # Lines that are left out leave their ends behind, so that the others keep their numbers.
        text = LEFT_OUT.sub(lambda part: "\n" * part[0].count("\n"), text)
        for number, line in enumerate(text.split("\n"), 1):
            place = 0
            while rest := line[place:].lstrip():
                place = len(line) - len(rest)
                token = TOKEN.match(line, place)
                if token is None:
                    message = f"{path}:{number}: '{rest}' is not understood"
                    raise HeaderError(message)
                self.tokens.append((token[0], number))
                place = token.end()
        self.tokens.append(("", self.tokens[-1][1] if self.tokens else 1))
        self.at = 0

    # ---- Tokens ----

    @property
    def next(self) -> str:
        """The token that is read next; empty at the end."""
        return self.tokens[self.at][0]

    def fail(self, what: str) -> HeaderError:
        return HeaderError(f"{self.found.path}:{self.tokens[self.at][1]}: {what}")

    def take(self, *wanted: str) -> str:
        """Reads one of the wanted tokens."""
        if self.next not in wanted:
            given = repr(self.next) if self.next else "the end"
            raise self.fail(f"{given} is not understood here; expected {' or '.join(wanted)}")
        self.at += 1
        return self.tokens[self.at - 1][0]

    def skip(self, token: str) -> bool:
        """Reads this token if it is the next one, and returns whether it was."""
        is_next = self.next == token
        self.at += is_next
        return is_next

    def number(self) -> int:
        sign = -1 if self.skip("-") else 1
        if not self.next.isdecimal():
            raise self.fail(f"{self.next!r} is not a number")
        self.at += 1
        return sign * int(self.tokens[self.at - 1][0])

    def word(self) -> str:
        if not self.next.isidentifier():
            raise self.fail(f"{self.next!r} is not a name")
        self.at += 1
        return self.tokens[self.at - 1][0]

    def new_name(self) -> str:
        """Reads a name that the header has not declared yet."""
        name = self.word()
        found = self.found
        if name in {*found.constants, *found.handles, *found.structs, *found.functions}:
            self.at -= 1
            raise self.fail(f"{name} is declared twice")
        return name

    # ---- Declarations ----

    def header(self) -> Header:
        while self.next:
            if self.skip("enum"):
                self.enum()
            elif self.skip("typedef"):
                self.typedef()
            else:
                self.function()
        return self.found

    def enum(self) -> None:
        self.take("{")
        while True:
            name = self.new_name()
            self.take("=")
            self.found.constants[name] = self.number()
            if self.take(",", "}") == "}":
                break
        self.take(";")

    def typedef(self) -> None:
        self.take("struct")
        name = self.new_name()
        if self.skip("{"):
            fields = []
            while not self.skip("}"):
                fields.append(self.variable(may_be_array=True))
                self.take(";")
            self.refuse_repeated(name, fields)
            self.found.structs[name] = tuple(fields)
        else:
            self.found.handles.append(name)
        self.take(name)
        self.take(";")

    def function(self) -> None:
        result = self.type()
        name = self.new_name()
        self.take("(")
        parameters: list[Variable] = []
        if not (self.next == "void" and self.tokens[self.at + 1][0] == ")" and self.skip("void")):
            parameters.append(self.variable())
            while self.skip(","):
                parameters.append(self.variable())
        self.take(")")
        self.take(";")
        self.refuse_repeated(name, parameters)
        self.found.functions[name] = Function(name, result, tuple(parameters))

    def refuse_repeated(self, owner: str, variables: list[Variable]) -> None:
        if len({one.name for one in variables}) != len(variables):
            raise self.fail(f"{owner} has two parameters or fields of the same name")

    def variable(self, *, may_be_array: bool = False) -> Variable:
        kind = self.type()
        name = self.word()
        length: int | str | None = None
        if may_be_array and self.skip("["):
            known = {**self.below.constants, **self.found.constants}
            length = self.word() if self.next in known else self.number()
            self.take("]")
        is_text = kind.base == "char" and length is not None
        if not (kind.depth or is_text or kind.base in {*NUMBERS, *self.foreign}):
            raise self.fail(f"{name} is neither a number nor a pointer, but a {kind}")
        return Variable(name, kind, length)

    def type(self) -> CType:
        is_const = self.skip("const")
        known = {"void", "char", *NUMBERS, *self.foreign}
        for header in (self.below, self.found):
            known |= {*header.handles, *header.structs}
        if self.next not in known:
            raise self.fail(f"the type {self.next!r} is not known")
        base = self.word()
        pointers = []
        while self.skip("*"):
            pointers.append(self.skip("const"))
        return CType(base, is_const, tuple(pointers))
