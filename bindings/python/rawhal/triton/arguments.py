"""What Triton's launch passes, and what the kernel's code object wants: one compiled plan for each
kernel.

Triton tells a signature (names and types, in which tuples nest, constants are left out and
descriptors stand for several arguments); the code object tells offset and size of each. Triton's
objects have no names, and which versions add what to descriptors is not written down anywhere: the
object's own layout decides, and what does not fit it is refused."""
from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Optional, Sequence

POINTER, DESCRIPTOR = "*", "tensordesc"

#: struct's letters by Triton's types.
_LETTERS = {
    "i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
    "u1": "B", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "fp16": "e", "bf16": "H", "fp32": "f", "f32": "f", "fp64": "d",
}
# from here on a value is infinite, rounded to nearest
_FLOATS = {"e": 65520.0, "f": 3.4028235677973366e38}


class LayoutMismatch(TypeError):
    """A kernel's code object has other arguments than Triton's signature says."""


@dataclass(frozen=True)
class Slot:
    """One argument of the kernel: `name` as the source has it ("x", "pair[1]", "desc.shape[0]"),
    Triton's type."""
    name: str
    type: str


def bfloat16_bits(value: float) -> int:
    """The 16 bits of a bfloat16, rounded to nearest even, as hardware and torch do."""
    bits = struct.unpack("<I", struct.pack("<f", _within(value, "f")))[0]
    if bits & 0x7fffffff > 0x7f800000:  # not a number stays one
        return bits >> 16 | 0x40
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16 & 0xffff


def _within(value: float, letter: str) -> float:
    """`value`, or the infinity that it is in a smaller type, where struct raises OverflowError."""
    limit = _FLOATS.get(letter)
    if limit is None or -limit < value < limit or value != value:
        return value
    return float("inf") if value > 0 else float("-inf")


def _descriptor_type(text: str) -> tuple[str, int]:
    """Type of the elements, and number of dimensions, of "tensordesc<fp16[64, 64]>"."""
    inside = text[text.index("<") + 1:text.rindex(">")]
    element, _, shape = inside.partition("[")
    dimensions = shape[:shape.index("]")].count(",") + 1
    rank = inside.find("input_rank=")
    if rank >= 0:
        digits = inside[rank + len("input_rank="):]
        dimensions = int(digits[:len(digits) - len(digits.lstrip("0123456789"))] or dimensions)
    return element.strip(), dimensions


def _descriptor_slots(name: str, text: str, flags: int) -> list[Slot]:
    """As the compiler takes descriptors apart that no hardware knows; `flags` between: padding,
    rounding to tf32."""
    element, rank = _descriptor_type(text)
    shape = [f"{name}.shape[{i}]" for i in range(rank)]
    strides = [f"{name}.strides[{i}]" for i in range(rank)]
    return [Slot(name, "*" + element), *[Slot(each, "i64") for each in shape + strides],
            *[Slot(f"{name}.{each}", "i1") for each in ("padding", "round_f32_to_tf32")[:flags]],
            *[Slot(each, "i32") for each in shape], *[Slot(each, "i64") for each in strides]]


def descriptor_values(descriptor: Any, flags: int) -> list[Any]:
    """What goes into the slots of `_descriptor_slots()`."""
    shape, strides = list(descriptor.shape), list(descriptor.strides)
    extra = [getattr(descriptor, "padding", "zero") == "nan",
             bool(getattr(descriptor, "round_f32_to_tf32", False))]
    return [descriptor.base, *shape, *strides, *extra[:flags], *shape, *strides]


def _walk(name: str, kind: Any,
          path: tuple[int, ...]) -> Iterable[tuple[str, str, tuple[int, ...]]]:
    """Name, type and place of every leaf of a signature that is not a constant."""
    if isinstance(kind, (tuple, list)):
        for index, each in enumerate(kind):
            yield from _walk(f"{name}[{index}]", each, path + (index,))
    elif kind != "constexpr":
        yield name, kind, path


#: The pointers that Triton's compilers add after a kernel's own arguments.
SCRATCH = (Slot("global_scratch", "*i8"), Slot("profile_scratch", "*i8"))


class Plan:
    """How the arguments of one kernel become its blob.

    `layout` is a sequence of (offset, size) in bytes of the kernel's visible arguments, in order.
    Raises LayoutMismatch. Immutable; any number of threads may use it."""

    def __init__(self, signature: Sequence[tuple[str, Any]], layout: Sequence[tuple[int, int]]):
        leaves = [leaf for index, (name, kind) in enumerate(signature)
                  for leaf in _walk(name, kind, (index,))]
        self.flags, scratch = self._fit(leaves, len(layout))
        self._paths: list[tuple[tuple[int, ...], bool]] = []
        slots: list[Slot] = []
        for name, kind, path in leaves:
            is_descriptor = kind.startswith(DESCRIPTOR)
            self._paths.append((path, is_descriptor))
            slots += (_descriptor_slots(name, kind, self.flags) if is_descriptor
                      else [Slot(name, kind)])
        self.scratch = scratch
        self.slots: tuple[Slot, ...] = (*slots, *SCRATCH[:scratch])
        self.names: tuple[str, ...] = tuple(slot.name for slot in self.slots)
        #: Index of each value that is a pointer.
        self.pointers = tuple(i for i, slot in enumerate(self.slots)
                              if slot.type.startswith(POINTER))
        self._packed = self._compile(layout)
        flat = all(len(path) == 1 and not is_descriptor for path, is_descriptor in self._paths)
        self._direct: Optional[tuple[int, ...]] = (tuple(path[0] for path, _ in self._paths)
                                                   if flat else None)
        self._converters = self._conversions()

    @staticmethod
    def _fit(leaves: Sequence[tuple[str, str, tuple[int, ...]]], wanted: int) -> tuple[int, int]:
        """How many flags each descriptor has, and how many scratch pointers the kernel takes, by
        its count."""
        descriptors = [kind for _, kind, _ in leaves if kind.startswith(DESCRIPTOR)]
        fixed = len(leaves) - len(descriptors)
        for scratch in (2, 1, 0):
            for flags in (2, 1, 0) if descriptors else (0,):
                if (fixed + sum(len(_descriptor_slots("", kind, flags)) for kind in descriptors)
                    + scratch == wanted):
                    return flags, scratch
        raise LayoutMismatch(f"the code object takes {wanted} arguments; Triton's signature has "
                             f"{fixed}, {len(descriptors)} descriptors, and up to 2 pointers of "
                             "scratch memory")

    def _compile(self, layout: Sequence[tuple[int, int]]) -> struct.Struct:
        letters, at = "<", 0
        for slot, (offset, size) in zip(self.slots, layout):
            letter = "Q" if slot.type.startswith(POINTER) else _LETTERS.get(slot.type)
            if letter is None:
                raise LayoutMismatch(f"argument '{slot.name}' has the type '{slot.type}', which no "
                                     "kernel here takes")
            if struct.calcsize("<" + letter) != size or offset < at:
                raise LayoutMismatch(f"argument '{slot.name}' ({slot.type}) takes {size} bytes at "
                                     f"{offset} in the code object")
            letters += "x" * (offset - at) + letter
            at = offset + size
        return struct.Struct(letters)

    def _conversions(self) -> tuple[tuple[int, Callable[[Any], Any]], ...]:
        found: list[tuple[int, Callable[[Any], Any]]] = []
        for index, slot in enumerate(self.slots):
            letter = _LETTERS.get(slot.type, "")
            if slot.type == "bf16":
                found.append((index, lambda value: bfloat16_bits(float(value))))
            elif letter in _FLOATS:
                found.append((index, lambda value, letter=letter: _within(float(value), letter)))
        return tuple(found)

    @property
    def size(self) -> int:
        """Bytes of the blob."""
        return self._packed.size

    def values(self, arguments: Sequence[Any], scratch: Sequence[Any]) -> list[Any]:
        """The value of each slot; pointers are still tensors. `arguments` are those of the launch,
        constants included."""
        if self._direct is not None:
            found = [arguments[index] for index in self._direct]
        else:
            found = []
            for path, is_descriptor in self._paths:
                value: Any = arguments
                for step in path:
                    value = value[step]
                if is_descriptor:
                    found += descriptor_values(value, self.flags)
                else:
                    found.append(value)
        found += scratch[:self.scratch]
        for index, convert in self._converters:
            found[index] = convert(found[index])
        return found

    def pack(self, values: Sequence[Any]) -> bytes:
        """The blob. Pointers are addresses now. Raises TypeError for a value that its slot cannot
        hold."""
        try:
            return self._packed.pack(*values)
        except struct.error as error:
            for slot, value in zip(self.slots, values):
                letter = "Q" if slot.type.startswith(POINTER) else _LETTERS[slot.type]
                try:
                    struct.pack("<" + letter, value)
                except struct.error:
                    raise TypeError(f"argument '{slot.name}' ({slot.type}) cannot hold {value!r}: "
                                    f"{error}") from None
            raise
