"""ONNX's QuantizeLinear and DequantizeLinear: q = x / scale, to the nearest integer, plus a zero point, clipped; x back is
(q - zero point) * scale. To 8 bits, 4 bits in pairs, the first in the lower half, and numbers of 8 bits that have no zero
point; with one scale, or one for each place along an axis. Scales are powers of two, so that all is exact."""
import numpy
from case import bits_of, numbers
from launches import Launch, exactly, given

BATCH, SCALES, SAME = 3, 5, 89
COUNT = BATCH * SCALES * SAME
KINDS = {"float": "fp32", "__half": "fp16"}
RANGES = {("signed char", 8): ("i8", -128, 127), ("unsigned char", 8): ("u8", 0, 255),
          ("signed char", 4): ("i8", -8, 7), ("unsigned char", 4): ("u8", 0, 15)}
EIGHT = {"onnxruntime::Float8E4M3FN": "fp8e4nv", "onnxruntime::Float8E5M2": "fp8e5"}
AT = numpy.arange(COUNT) // SAME % SCALES


def paired(values):
    """Bytes of two numbers of 4 bits each."""
    values = numpy.append(values, 0)[:values.size + values.size % 2].astype(numpy.int64) & 15
    return (values[0::2] | values[1::2] << 4).astype(numpy.uint8)


def scales_of(random, axis):
    """As the kernel has them, and of each number."""
    scales = numpy.exp2(random.integers(-3, 3, SCALES if axis else 1))
    return scales, scales[AT] if axis else scales


def zeros_of(random, bits, axis):
    zeros = random.integers(0, 8, SCALES if axis else 1)
    return given("u8", paired(zeros) if bits == 4 else zeros), zeros[AT] if axis else zeros


def words(axis):
    return [f"i32:{COUNT}", *([f"u64:{BATCH}", f"u64:{SCALES}"] if axis else [])]


def launch(kernel, arguments):
    return Launch(f"onnxruntime::rocm::{kernel}", (-(-COUNT // 1024),), 256, arguments)


def name_of(axis, bits):
    return ("Axis" if axis else "") + ("StdInt4" if bits == 4 else "Std")


def quantize(random, type_, code, bits, axis):
    kind, least, most = RANGES[code, bits]
    scales, scale = scales_of(random, axis)
    zeros, zero = zeros_of(random, bits, axis)
    x = numbers(KINDS[type_], bits_of(KINDS[type_], random.normal(size=COUNT) * most * scale))
    whole = numpy.trunc if type_ == "__half" else numpy.rint  # HIP's __half2int_rn() cuts, in spite of its name
    q = numpy.clip(whole(x / scale) + zero, least, most)
    out = exactly("u8", paired(q)) if bits == 4 else exactly(kind, bits_of(kind, q))
    return launch(f"QuantizeLinearKernel{name_of(axis, bits)}<256, 4, {code}, {type_}>",
                  [given(KINDS[type_], x), out, given(KINDS[type_], scales), zeros, *words(axis), "u8:0"])


def dequantize(random, type_, code, bits, axis):
    kind, least, most = RANGES[code, bits]
    scales, scale = scales_of(random, axis)
    zeros, zero = zeros_of(random, bits, axis)
    q = random.integers(least, most + 1, COUNT)
    x = exactly(KINDS[type_], bits_of(KINDS[type_], (q - zero) * scale))
    return launch(f"DequantizeLinearKernel{name_of(axis, bits)}<{code}, {type_}, 256, 4>",
                  [given("u8", paired(q)) if bits == 4 else given(kind, q), x, given(KINDS[type_], scales), zeros,
                   *words(axis)])


def quantize_to_eight(random, type_, code, axis):
    scales, scale = scales_of(random, axis)
    x = numbers(KINDS[type_], bits_of(KINDS[type_], random.normal(size=COUNT) * 200 * scale))
    out = exactly(EIGHT[code], bits_of(EIGHT[code], x / scale))
    return launch(f"QuantizeLinearKernel{'Axis' * axis}Sat<256, 4, {code}, {type_}>",
                  [given(KINDS[type_], x), out, given(KINDS[type_], scales), "ptr:null", *words(axis), "u8:0", "u8:1"])


def dequantize_from_eight(random, type_, code, axis):
    scales, scale = scales_of(random, axis)
    q = given(EIGHT[code], random.normal(size=COUNT) * 100)
    x = exactly(KINDS[type_], bits_of(KINDS[type_], q.numbers * scale))
    return launch(f"DequantizeLinearKernel{'Axis' * axis}Sat<{code}, {type_}, 256, 4>",
                  [q, x, given(KINDS[type_], scales), "ptr:null", *words(axis)])


def launches(random, lanes):
    del lanes
    for type_ in KINDS:
        for axis in (False, True):
            for code, bits in RANGES:
                yield quantize(random, type_, code, bits, axis)
                yield dequantize(random, type_, code, bits, axis)
            for code in EIGHT:
                yield quantize_to_eight(random, type_, code, axis)
                yield dequantize_from_eight(random, type_, code, axis)
