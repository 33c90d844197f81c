"""Functions of two numbers, element by element. A group has 512 lanes with two pairs each, and there is a part of a group.

Sums, products, quotients of integers and remainders are exact, in integers modulo their size; of others a result is the
nearest number, quotients up to 2.5 places and powers 16, as OpenCL has it."""
import numpy
from case import UNIT, Array, bits_of, numbers
from launches import Launch, exactly, given

from .casts import KINDS
from .elements import COUNT

FLOATS = ("float", "__half", "double", "onnxruntime::BFloat16")
WIDE = ("int", "long", "unsigned int", "unsigned long")
NARROW = ("short", "signed char", "unsigned char", "unsigned short")
ARITHMETIC = {"Add": numpy.add, "Sub": numpy.subtract, "Mul": numpy.multiply}
CHOICE = {"Max": numpy.maximum, "Min": numpy.minimum}
COMPARISON = {"Less": numpy.less, "LessOrEqual": numpy.less_equal, "Greater": numpy.greater,
              "GreaterOrEqual": numpy.greater_equal, "Equal": numpy.equal}


def integers(random, kind):
    """Of all sizes that the kind has, none of them 0 or the least."""
    place = numpy.iinfo(bits_of(kind, [0]).dtype)
    sizes = numpy.exp2(random.uniform(0, numpy.log2(float(place.max)) - 0.01, COUNT)).astype(place.dtype)
    signs = random.choice([-1, 1], COUNT) if place.min < 0 else numpy.ones(COUNT)
    return sizes * signs.astype(place.dtype)


def operands(random, type_):
    kind = KINDS[type_]
    if type_ in FLOATS:
        return [numbers(kind, bits_of(kind, random.normal(size=COUNT) * 8)) for _ in range(2)]
    return [integers(random, kind) for _ in range(2)]


def launch(name, result, type_, left, right, out):
    types = f"{result}, {type_}, {type_}"
    return Launch(f"onnxruntime::rocm::_BinaryElementWiseSimple<true, true, {types}, onnxruntime::rocm::OP_{name}<{types}>, "
                  "512, 2, int>", (-(-COUNT // 1024),), 512,
                  [given(KINDS[type_], left), given(KINDS[type_], right), out, "u8:0", f"i32:{COUNT}"])


def exact(random, name, value, type_):
    left, right = operands(random, type_)
    right[:50] = left[:50]
    return launch(name, type_, type_, left, right, exactly(KINDS[type_], bits_of(KINDS[type_], value(left, right))))


def compared(random, name, value, type_):
    left, right = operands(random, type_)
    right[:200] = left[:200]
    return launch(name, "bool", type_, left, right, exactly("u8", value(left, right).astype(numpy.uint8)))


def inexact(name, type_, left, right, value, places):
    """`places`: half places of what fp32, or fp64, computes, and the rounding to the type."""
    kind = KINDS[type_]
    step = UNIT["fp64" if kind == "fp64" else "fp32"]
    unit = UNIT[kind] if kind in ("fp16", "bf16") else 0.0
    tolerance = numpy.abs(value) * (places * step + unit) + (2.0**-25 if kind == "fp16" else 0)
    return launch(name, type_, type_, left, right, Array(kind, numpy.full(COUNT, 99.0), value, tolerance))


def divided(random, type_):
    left, right = operands(random, type_)
    if type_ in FLOATS:
        right = numpy.where(numpy.abs(right) < 0.01, 1, right)
        return inexact("Div", type_, left, right, left / right, 5)
    quotient = (left - numpy.fmod(left, right)) // right  # to zero
    return launch("Div", type_, type_, left, right, exactly(KINDS[type_], quotient))


def raised(random, type_):
    left, right = operands(random, type_)
    left = numpy.abs(left) + 0.125
    right = numpy.clip(right, -2, 2)
    left, right = (numbers(KINDS[type_], bits_of(KINDS[type_], each)) for each in (left, right))
    return inexact("Pow", type_, left, right, left**right, 32)


def launches(random, lanes):
    del lanes
    for type_ in FLOATS + WIDE:
        for name, value in {**ARITHMETIC, **CHOICE, "Fmod": numpy.fmod}.items():
            yield exact(random, name, value, type_)
        for name, value in COMPARISON.items():
            yield compared(random, name, value, type_)
    for type_ in WIDE:  # of which the remainder has the divisor's sign
        yield exact(random, "Mod", numpy.mod, type_)
    for type_ in NARROW:
        for name, value in ARITHMETIC.items():
            yield exact(random, name, value, type_)
    for type_ in FLOATS + WIDE + NARROW:
        yield divided(random, type_)
    for type_ in ("float", "__half", "double"):
        yield raised(random, type_)
