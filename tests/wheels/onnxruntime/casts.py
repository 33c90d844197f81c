"""Numbers of one type as those of another: integers that have them, or the nearest, ties to even; fractions go when it is
an integer. From and to 16 bits it is by way of fp32."""
import numpy
from case import bits_of, numbers
from launches import exactly, given

from .elements import COUNT, launch_of

KINDS = {"float": "fp32", "__half": "fp16", "double": "fp64", "onnxruntime::BFloat16": "bf16", "signed char": "i8",
         "short": "i16", "int": "i32", "long": "i64", "unsigned char": "u8", "unsigned short": "u16",
         "unsigned int": "u32", "unsigned long": "u64", "bool": "u8"}
EIGHT = {"onnxruntime::Float8E4M3FN": ("fp8e4nv", 440), "onnxruntime::Float8E5M2": ("fp8e5", 50000)}
SOURCES = ("float", "__half", "double", "onnxruntime::BFloat16", "int", "long", "unsigned char")
# Up to where values go that a kind holds, with what fp16 of them is not infinite.
MOST = {"fp32": 2.0**62, "fp16": 60000, "fp64": 2.0**62, "bf16": 2.0**62, "i8": 127, "i16": 32767, "i32": 2.0**30,
        "i64": 2.0**62, "u8": 255, "u16": 65535, "u32": 2.0**31, "u64": 2.0**62}
SHORT = ("fp16", "bf16")


def values_of(random, kind, most, is_unsigned):
    """Of all sizes up to `most`, and fractions, some near ties."""
    sizes = numpy.exp2(random.uniform(-3, numpy.log2(most), COUNT))
    sizes[:200] = random.integers(0, 2 * min(most, 100), 200) / 2
    values = sizes if is_unsigned else sizes * random.choice([-1, 1], COUNT)
    return bits_of(kind, numpy.trunc(values) if kind[0] in "iu" else values)


def stored(source, kind, target, bits):
    """What a cast makes of bits."""
    values = numbers(source, bits)
    if target == "bool":
        return (values != 0).astype(numpy.uint8)
    if source in SHORT or kind in SHORT:
        values = values.astype(numpy.float32)
    return bits_of(kind, numpy.trunc(values) if kind[0] in "iu" and values.dtype.kind == "f" else values)


def cast(random, source, target):
    before, after = KINDS[source], KINDS[target]
    bits = values_of(random, before, min(MOST[before], MOST[after]), "u" in (before[0], after[0]))
    original = given(before, numbers(before, bits))
    return launch_of(f"{source}, {target}, onnxruntime::rocm::OP_Cast<{source}, {target}>",
                     [original, exactly(after, stored(before, after, target, bits)), "u8:0", f"i32:{COUNT}"])


def cast_to_eight(random, source, target, how):
    kind, (after, most) = KINDS[source], EIGHT[target]
    bits = bits_of(kind, random.choice([-1, 1], COUNT) * numpy.exp2(random.uniform(-18, numpy.log2(most), COUNT)))
    values = numbers(kind, bits)
    return launch_of(f"{source}, {target}, onnxruntime::rocm::OP_Cast{how}<{source}, {target}>",
                     [given(kind, values), exactly(after, bits_of(after, values)), "u8:0", f"i32:{COUNT}"])


def launches(random, lanes):
    del lanes
    for source in SOURCES:
        for target in KINDS:
            if target != source:
                yield cast(random, source, target)
    for source in ("float", "__half"):
        for target in EIGHT:
            for how in ("Sat", "NoSat"):
                yield cast_to_eight(random, source, target, how)
