"""Reductions of rows: softmax and its logarithm of up to 1024 numbers a wave, and normalisation of layers.

The wheel's kernels take waves of 64 for granted on every chip: they exchange numbers with lane ^ 32. On chips with waves of
32 what they make of a row that is longer than a wave is wrong, there and here, so that only shorter ones are launched."""
import numpy
from case import UNIT, Array, bits_of, numbers
from launches import Launch, given

STEP = UNIT["fp32"]
SHORT = "onnxruntime::BFloat16"
KINDS = {"float": "fp32", "__half": "fp16", "double": "fp64", SHORT: "bf16"}


def result(kind, expected, tolerance):
    tolerance = tolerance + numpy.abs(expected) * UNIT[kind] + (2.0**-25 if kind == "fp16" else 0)
    return Array(kind, numpy.full(expected.shape, 99.0), expected, tolerance)


def softmax(random, source, target, bits, logarithm, lanes):
    """exp() is of fp32 in all types: 3 places of it, and what rounding of the difference comes to; then the sum, of which
    a lane has up to 32 terms, and six of the others, and the quotient."""
    rows, columns = 5, max(1, 2**bits - 2**bits // 5)
    width = min(2**bits, lanes)
    x = numbers(KINDS[source], bits_of(KINDS[source], random.normal(size=(rows, columns)) * 2))
    shifted = x - x.max(axis=1, keepdims=True)
    total = numpy.exp(shifted).sum(axis=1, keepdims=True)
    off = (6 + numpy.abs(shifted) + 38 + 5) * STEP
    if logarithm:
        expected = shifted - numpy.log(total)
        tolerance = off.max(axis=1, keepdims=True) + (numpy.abs(x).max() + 6 * numpy.log(total) + numpy.abs(expected)) * STEP
    else:
        expected = numpy.exp(shifted) / total
        tolerance = expected * off
    between = "double" if source == "double" else "float"
    return Launch(f"onnxruntime::rocm::softmax_warp_forward<{source}, {target}, {between}, {bits}>", (rows,),
                  f"{width},{max(1, 128 // width)}",
                  [result(KINDS[target], expected, tolerance), given(KINDS[source], x), f"i32:{rows}", f"i32:{columns}",
                   f"i32:{columns}", f"u8:{int(logarithm)}"], f"{rows} x {columns}{', logarithm' * logarithm}")


def layer_norm(random, source, between, target, simplified, lanes):
    """(x - mean) / deviation * gamma + beta; simplified: x / root of the mean square * gamma."""
    rows, columns, eps = 3, 301, 2.0**-10
    kinds = [KINDS[each] for each in (source, between, target)]
    x = numbers(kinds[0], bits_of(kinds[0], random.normal(size=(rows, columns)) + 0.5))
    gamma, beta = (numbers(kinds[2], bits_of(kinds[2], random.normal(size=columns))) for _ in range(2))
    mean = x.mean(axis=1, keepdims=True)
    centre = 0.0 if simplified else mean
    inverse = 1 / numpy.sqrt(((x - centre)**2).mean(axis=1, keepdims=True) + eps)
    offset = 0.0 if simplified else beta
    expected = (x - centre) * inverse * gamma + offset
    # Of means each of a lane's dozen numbers rounds some five times, and each of seven merges; deviations likewise.
    step = UNIT[kinds[1]] * (5 * 19)
    tolerance = (numpy.abs(x) + numpy.abs(mean) + 1) * step * inverse * numpy.abs(gamma) + numpy.abs(offset) * step
    name = ", ".join([source, between, target, str(bool(simplified)).lower()])
    word = "f64" if between == "double" else "f32"
    return Launch(f"onnxruntime::rocm::cuApplyLayerNorm<{name}>", (1, rows), f"{lanes},4",
                  [result(kinds[2], expected, tolerance), result(kinds[1], mean[:, 0], step * 4),
                   result(kinds[1], inverse[:, 0], step * 4), given(kinds[0], x), f"i32:{rows}",
                   f"i32:{columns}", f"{word}:{eps}", given(kinds[2], gamma),
                   "ptr:null" if simplified else given(kinds[2], beta), "i32:0", "ptr:null", "ptr:null", "ptr:null"],
                  lds=64)


def launches(random, lanes):
    for source, target in (("float", "float"), ("__half", "__half"), ("__half", "float"), ("double", "double"),
                           (SHORT, SHORT)):
        for bits in range(11 if lanes == 64 else 6):
            yield softmax(random, source, target, bits, bits % 3 == 1, lanes)
    if lanes == 64:  # The kernel with means of double has no root in it: its source's calls itself. It is not launched.
        for types in (("float", "float", "float"), ("__half", "float", "__half"), ("float", "float", "__half"),
                      ("__half", "float", "float"), (SHORT, "float", SHORT)):
            for simplified in (False, True):
                yield layer_norm(random, *types, simplified, lanes)
        yield layer_norm(random, "double", "float", "double", False, lanes)
