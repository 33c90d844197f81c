"""Functions of one number. A group has 256 lanes with 4 numbers each, and there is a part of a group."""
import math
import struct

import numpy
from balls import single
from case import UNIT, Array, bits_of, numbers
from launches import Launch, given

COUNT = 1024 + 301
KINDS = {"float": "fp32", "__half": "fp16", "double": "fp64"}
ALPHA, BETA = 0.75, 0.5
SELU = single(1.67326), single(1.0507)  # alpha and gamma

erf = numpy.vectorize(math.erf)


class Function:
    """`places`: of half a last place, how far off a result may be, of a number as large as `size` says: the result's own,
    or that of what is added up on the way. Limits of OpenCL, which AMD's device library is held to: 3 places for exp and
    log, 4 for sin and cos, 5 for tanh, 16 for erf, 2.5 for a quotient; 0 is exact."""

    def __init__(self, value, places=0, size=numpy.abs, least=-8.0, most=8.0, words=()):
        self.value, self.places, self.size, self.least, self.most = value, places, size, least, most
        self.words = "hex:" + struct.pack(f"<{len(words)}f", *words).hex() if words else "u8:0"


def one(x):
    return numpy.ones_like(x)


def with_one(x):
    return 1 + numpy.abs(x)


FUNCTIONS = {
    "Abs": Function(numpy.abs),
    "Neg": Function(numpy.negative),
    "Floor": Function(numpy.floor),
    "Ceil": Function(numpy.ceil),
    "Round": Function(numpy.rint),
    "Sign": Function(numpy.sign),
    "Relu": Function(lambda x: numpy.maximum(x, 0)),
    "Reciprocal": Function(lambda x: 1 / x, 5, lambda x: 1 / x, 0.01, 8),
    "Sqrt": Function(numpy.sqrt, 2, numpy.sqrt, 0, 100),
    "Exp": Function(numpy.exp, 6, numpy.exp),
    "Log": Function(numpy.log, 6, lambda x: numpy.abs(numpy.log(x)), 0.001, 1000),
    "Erf": Function(erf, 32, lambda x: numpy.abs(erf(x)), -4, 4),
    "Sin": Function(numpy.sin, 8, lambda x: numpy.abs(numpy.sin(x)), -300, 300),
    "Cos": Function(numpy.cos, 8, lambda x: numpy.abs(numpy.cos(x)), -300, 300),
    "Tanh": Function(numpy.tanh, 10, lambda x: numpy.abs(numpy.tanh(x))),
    "Sigmoid": Function(lambda x: 1 / (1 + numpy.exp(-x)), 12, one),
    "Softplus": Function(lambda x: numpy.log1p(numpy.exp(x)), 12, with_one),
    "Softsign": Function(lambda x: x / (1 + numpy.abs(x)), 7, lambda x: numpy.abs(x) / (1 + numpy.abs(x))),
    "Gelu": Function(lambda x: x * (1 + erf(x * math.sqrt(0.5))) / 2, 36, numpy.abs),
    "Elu": Function(lambda x: numpy.where(x > 0, x, ALPHA * numpy.expm1(x)), 9, with_one, words=(ALPHA,)),
    "LeakyRelu": Function(lambda x: numpy.where(x > 0, x, ALPHA * x), 1, words=(ALPHA,)),
    "ThresholdedRelu": Function(lambda x: numpy.where(x > ALPHA, x, 0), words=(ALPHA,)),
    "HardSigmoid": Function(lambda x: numpy.clip(ALPHA * x + BETA, 0, 1), 2, with_one, words=(ALPHA, BETA)),
    "Selu": Function(lambda x: SELU[1] * numpy.where(x > 0, x, SELU[0] * numpy.expm1(x)), 14,
                     lambda x: 2 * with_one(x), words=SELU),
}


def launch_of(kernel, arguments):
    return Launch(f"onnxruntime::rocm::_UnaryElementWise<{kernel}, 256, 4>", (-(-COUNT // 1024),), 256, arguments)


def function(random, name, type_):
    what, kind = FUNCTIONS[name], KINDS[type_]
    bits = bits_of(kind, random.uniform(what.least, what.most, COUNT))
    x = numbers(kind, bits)
    expected = what.value(x)
    # The smallest numbers of fp16 have fewer places.
    tolerance = what.places * (UNIT[kind] * numpy.abs(what.size(x)) + (2.0**-25 if kind == "fp16" else 0))
    out = Array(kind, numpy.full(COUNT, 99.0), expected, tolerance)
    return launch_of(f"{type_}, {type_}, onnxruntime::rocm::OP_{name}<{type_}>",
                     [given(kind, x), out, what.words, f"i32:{COUNT}"])


def launches(random, lanes):
    del lanes
    for name in FUNCTIONS:
        for type_ in KINDS:
            yield function(random, name, type_)
