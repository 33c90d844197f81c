"""What a kernel takes: the layout that its code object states, and types that a user states where
it does not."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Optional

from ._library import lib, string
from .errors import InvalidArgument

_CONST, _READ_ONLY = lib.RAWHAL_ARGUMENT_CONST, lib.RAWHAL_ACCESS_READ_ONLY

# Name -> what numpy calls it; None: what numpy has no type for, of so many bytes.
TYPES: dict[str, Optional[str]] = {
    "bool": "?", "i1": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
    "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "f16": "f2", "f32": "f4", "f64": "f8",
    "bf16": None, "fp8": None, "void": None,
}
_BYTES_WITHOUT = {"bf16": 2, "fp8": 1, "void": 1}
# Of metadata (-cl-kernel-arg-info); OpenCL C's long has 8 bytes.
_OF_METADATA = {
    "char": "i8",
    "signed char": "i8",
    "uchar": "u8",
    "unsigned char": "u8",
    "short": "i16",
    "ushort": "u16",
    "unsigned short": "u16",
    "int": "i32",
    "uint": "u32",
    "unsigned int": "u32",
    "long": "i64",
    "ulong": "u64",
    "unsigned long": "u64",
    "half": "f16",
    "float": "f32",
    "double": "f64",
    "bool": "bool",
}


@dataclass(frozen=True)
class Argument:
    """An argument as the code object has it. `offset` and `size` in bytes, in the kernarg segment;
    `kind` as the metadata spells it: "global_buffer", "by_value", "hidden_block_count_x", ..."""

    name: str
    offset: int
    size: int
    kind: str
    type_name: str = ""
    hidden: bool = False
    const: bool = False

    @property
    def is_pointer(self) -> bool:
        return self.kind == "global_buffer"


@dataclass(frozen=True)
class Layout:
    """The kernarg segment. `size`: the bytes of a blob; `segment_size` with the hidden arguments,
    which the library writes. `signature` is equal where callers need not change."""

    arguments: tuple[Argument, ...]
    size: int
    segment_size: int
    alignment: int
    signature: int

    @property
    def visible(self) -> tuple[Argument, ...]:
        return tuple(one for one in self.arguments if not one.hidden)


def layout_of(layout: Any, kernel: Any) -> Layout:
    """Of a rawhal_kernarg_layout_t and its rawhal_kernel_t."""
    info = lib.rawhal_kernarg_layout_info(layout)
    arguments = []
    for index in range(info.visible_count + info.hidden_count):
        one = lib.rawhal_kernarg_layout_argument(layout, index)
        fact = kernel.arguments[index] if index < kernel.argument_count else None
        const = fact is not None and bool(
            fact.flags & _CONST or _READ_ONLY in (fact.access, fact.actual_access)
        )
        arguments.append(Argument(string(one.name), one.offset, one.size,
                                  string(one.value_kind_text), string(one.type_name),
                                  bool(one.hidden), const))
    ends = [one.offset + one.size for one in arguments if not one.hidden]
    return Layout(tuple(arguments), max([info.explicit_end, *ends]), info.effective_size,
                  info.alignment, info.signature)


@dataclass(frozen=True)
class Type:
    """Of an argument: `base` is one of TYPES; of a pointer, that of the elements; `shape` of the
    array, numbers and names, or None for any. `strict`: only exactly this type will do."""

    base: str
    pointer: bool = False
    const: bool = False
    shape: Optional[tuple[str, ...]] = None
    strict: bool = True

    @property
    def bytes(self) -> int:
        name = TYPES[self.base]
        return _BYTES_WITHOUT[self.base] if name is None else 1 if name == "?" else int(name[1:])

    def __str__(self) -> str:
        shape = f"[{','.join(self.shape)}]" if self.shape is not None else ""
        return f"{'*' if self.pointer else ''}{'const ' if self.const else ''}{self.base}{shape}"


@dataclass(frozen=True)
class Parameter:
    """A visible argument, and what may be given for it: `type` is None where nobody knows."""

    index: int  # among the visible ones
    name: str
    argument: Argument
    type: Optional[Type]


_ONE = re.compile(r"\s*(\w+)\s*:\s*(\*)?\s*(const\s+)?(\w+)\s*(\[[^]]*\])?\s*,?")


@dataclass(frozen=True)
class Signature:
    """The parameters of a kernel.

    Text is `name:type` with blanks or commas between; a type is one of bool i8 i16 i32 i64 u8 u16
    u32 u64 f16 bf16 f32 f64 fp8 void, with `*` or `*const ` before it for a pointer, and after that
    `[m,4]` for the shape of the array: a name there is that of a number among the arguments, or
    equal wherever it stands.

        >>> import rawhal
        >>> add = rawhal.open(chip="gfx942").load(rawhal.demo_object("gfx942"))["vector_add"]
        >>> print(add.typed("out:*f32[n] x:*const f32[n] y:*const f32[n] n:u32").signature)
        out:*f32[n] x:*const f32[n] y:*const f32[n] n:u32
        >>> add.typed("out:*f32 n:u32")
        Traceback (most recent call last):
        rawhal.errors.InvalidArgument: the signature has 2 arguments, the kernel 4: 'out:*f32 n:u32'
    """

    parameters: tuple[Parameter, ...]

    @classmethod
    def of(cls, layout: Layout) -> "Signature":
        """As far as the object states it."""
        return cls(
            tuple(
                Parameter(index, one.name, one, _type_of(one))
                for index, one in enumerate(layout.visible)
            )
        )

    @classmethod
    def parse(cls, text: str, layout: Layout) -> "Signature":
        """Of a user, who may name all visible arguments. InvalidArgument: it does not fit the
        layout."""
        stated = _parse(text)
        visible = layout.visible
        if len(stated) != len(visible):
            raise InvalidArgument(
                f"the signature has {len(stated)} arguments, the kernel {len(visible)}: {text!r}"
            )
        parameters = []
        for index, ((name, kind), argument) in enumerate(zip(stated, visible)):
            size = 8 if kind.pointer else kind.bytes
            if argument.size != size or argument.is_pointer and not kind.pointer:
                raise InvalidArgument(f"argument {index} {name!r} is {kind}, {size} bytes; the "
                                      f"kernel takes {argument.size} bytes, {argument.kind}")
            parameters.append(Parameter(index, name, argument, kind))
        if len({name for name, _ in stated}) != len(stated):
            raise InvalidArgument(f"two arguments have one name: {text!r}")
        return cls(tuple(parameters))

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Values in the order of the parameters. TypeError as for a function of Python's."""
        count = len(self.parameters)
        if len(args) > count:
            raise TypeError(f"the kernel takes {count} arguments, {len(args)} were given")
        if len(args) == count and not kwargs:
            return list(args)
        names = [one.name for one in self.parameters]
        values = list(args)
        for name in names[len(args):]:
            if not name or name not in kwargs:
                missing = ", ".join(
                    other or "without a name"
                    for other in names[len(values) :] if other not in kwargs
                )
                raise TypeError(f"missing arguments: {missing}")
            values.append(kwargs[name])
        for name in kwargs:
            if name not in names[len(args):]:
                known = (", ".join(filter(None, names))
                         or "none that has a name: typed() gives them names")
                raise TypeError(f"argument {name!r} was given twice" if name in names
                                else f"the kernel has no argument {name!r}; its arguments: {known}")
        return values

    def __str__(self) -> str:
        return " ".join(
            f"{one.name or f'arg{one.index}'}:{one.type or f'{one.argument.size}B'}"
            for one in self.parameters
        )


def _parse(text: str) -> list[tuple[str, Type]]:
    found, at = [], 0
    while text[at:].strip():
        match = _ONE.match(text, at)
        if not match:
            raise InvalidArgument(f"not a signature, from {text[at:].strip()!r} on: expected "
                                  "name:type")
        name, star, const, base, shape = match.groups()
        if base not in TYPES:
            raise InvalidArgument(f"{name}: unknown type {base!r}; there are {', '.join(TYPES)}")
        if (const or shape or base == "void") and not star:
            raise InvalidArgument(f"{name}: const, void and shapes are for pointers")
        parts = (
            None
            if shape is None
            else tuple(filter(None, (part.strip() for part in shape[1:-1].split(","))))
        )
        found.append((name, Type(base, bool(star), bool(const), parts)))
        at = match.end()
    return found


def _type_of(argument: Argument) -> Optional[Type]:
    """As metadata states it, if that is a type that is known."""
    name = re.sub(r"\b(const|restrict|volatile|global|__global)\b", "", argument.type_name).strip()
    pointer = argument.is_pointer
    if pointer:
        name = name.rstrip("*").strip() if name.endswith("*") else "void"
    base = _OF_METADATA.get(name, "void" if pointer else None)
    if base is None:
        return None
    found = Type(base, pointer, argument.const, strict=False)
    return found if pointer or found.bytes == argument.size else None
