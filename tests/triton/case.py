"""What a case of a kernel is, and the numbers of 8 and 16 bits that numpy does not have.

An array lives as the bits that the kernel sees; `numbers()` of it are doubles. What is expected of one is a double and how
far off a result may be: 0 where everything is representable and the order of additions makes no difference."""
import numpy

CASES = []
CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151")
LANES = {"gfx1100": 32, "gfx1151": 32}  # of a wave; of others 64
# Products of f16 and bf16 cut their terms and add complements there, so that sums of small integers are not exact either:
# how far off a result may be, of the largest one.
CUT = {"gfx1100": 2.0**-16, "gfx1151": 2.0**-16}
LISTED = {"gfx1100": "gfx1030", "gfx1151": "gfx1030", "gfx942": "gfx90a", "gfx950": "gfx90a"}

# Largest relative error of one rounding to nearest.
UNIT = {"fp64": 2.0**-53, "fp32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8, "fp8e4nv": 2.0**-4, "fp8e4b8": 2.0**-4,
        "fp8e5": 2.0**-3, "fp8e5b16": 2.0**-3}
PLAIN = {"fp64": numpy.float64, "fp32": numpy.float32, "fp16": numpy.float16, "i1": numpy.uint8, "i8": numpy.int8,
         "u8": numpy.uint8, "i16": numpy.int16, "u16": numpy.uint16, "i32": numpy.int32, "u32": numpy.uint32,
         "i64": numpy.int64, "u64": numpy.uint64}


def _eight_bits(exponent_bits, bias, special):
    """The value of each of the 256 codes. special: which codes are no finite number."""
    codes = numpy.arange(256)
    fraction_bits = 7 - exponent_bits
    exponent, fraction = codes >> fraction_bits & (1 << exponent_bits) - 1, codes & (1 << fraction_bits) - 1
    size = numpy.where(exponent > 0, (1 + fraction / 2**fraction_bits) * 2.0**(exponent - bias),
                       fraction / 2**fraction_bits * 2.0**(1 - bias))
    value = numpy.where(codes & 0x80, -size, size)
    for code, what in special.items():
        value[code] = what
    return value


_nan, _inf = numpy.nan, numpy.inf
# OCP's two, and those that AMD had before: one NaN, no infinity, no negative zero.
EIGHT = {
    "fp8e4nv": _eight_bits(4, 7, {0x7f: _nan, 0xff: _nan}),
    "fp8e4b8": _eight_bits(4, 8, {0x80: _nan}),
    "fp8e5": _eight_bits(5, 15, {0x7c: _inf, 0xfc: -_inf, **{code: _nan for code in (125, 126, 127, 253, 254, 255)}}),
    "fp8e5b16": _eight_bits(5, 16, {0x80: _nan}),
}


def bits_of(kind, values):
    """The nearest numbers of `kind`, ties to even; beyond the largest of 8 bits: the largest."""
    values = numpy.asarray(values)
    if kind == "bf16":
        wide = values.astype(numpy.float32).view(numpy.uint32)
        return ((wide + 0x7fff + (wide >> 16 & 1)) >> 16).astype(numpy.uint16)
    if kind in EIGHT:
        table = EIGHT[kind][:128].copy()
        table[~numpy.isfinite(table)] = 2.0**20  # never the nearest
        middles = (table[1:] + table[:-1]) / 2
        count = int((table < 2.0**20).sum())
        sizes = numpy.abs(values.astype(numpy.float64))
        code = numpy.searchsorted(middles[:count - 1], sizes, "left")
        tied = (code < count - 1) & (sizes == middles[numpy.minimum(code, count - 2)])
        code = numpy.where(tied & (code & 1 == 1), code + 1, code)
        negative = numpy.signbit(values) & ((code > 0) | (kind in ("fp8e4nv", "fp8e5")))
        return numpy.where(negative, code | 0x80, code).astype(numpy.uint8)
    return values.astype(PLAIN[kind])


def numbers(kind, bits):
    """What the bits of `kind` say, integers as they are."""
    if kind == "bf16":
        return (bits.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    if kind in EIGHT:
        return EIGHT[kind][bits]
    return bits.astype(numpy.float64) if kind in ("fp32", "fp16") else bits


class Array:
    """A buffer of the kernel's."""

    def __init__(self, kind, values, expected=None, tolerance=0.0):
        self.kind = kind
        self.bits = numpy.ascontiguousarray(bits_of(kind, values))
        self.expected = expected
        self.tolerance = tolerance

    @property
    def numbers(self):
        return numbers(self.kind, self.bits)

    def wrong(self, got):
        """Of the bytes that a kernel left: how many numbers are not what was expected, in words; None when all are right."""
        got = numbers(self.kind, numpy.frombuffer(got, self.bits.dtype).reshape(self.bits.shape))
        expected = numpy.broadcast_to(self.expected, got.shape)
        same = got == expected
        if got.dtype.kind == "f":
            with numpy.errstate(invalid="ignore"):
                same = same | (numpy.abs(got - expected) <= self.tolerance) | (numpy.isnan(got) & numpy.isnan(expected))
        if same.all():
            return None
        at = tuple(int(each[0]) for each in numpy.nonzero(~same))
        tolerance = numpy.broadcast_to(self.tolerance, got.shape)[at]
        return (f"{int((~same).sum())} of {same.size} are wrong, the first at {list(at)}: {got[at]!r}, not "
                f"{expected[at]!r} +- {tolerance:.3g}")


def result(kind, expected, tolerance=0.0):
    """A buffer that the kernel writes all of. It starts with bits that are no result of any case."""
    array = Array(kind, numpy.zeros(numpy.shape(expected)), expected, tolerance)
    array.bits.reshape(-1).view(numpy.uint8)[:] = 0xa5
    return array


def changed(kind, before, expected, tolerance=0.0):
    """A buffer that the kernel reads and writes."""
    return Array(kind, before, expected, tolerance)


class Case:
    """One launch. Arguments by their names: arrays, numbers (i32, or fp32 when float), and constants in capitals."""

    def __init__(self, kernel, grid, arguments, warps=4, stages=2, options=None, aligned=True):
        self.kernel, self.grid, self.arguments = kernel, grid, arguments
        self.options = {"num_warps": warps, "num_stages": stages, **(options or {})}
        self.aligned = aligned  # what Triton's launcher would find out about the arguments is told to the compiler


def case(chips=CHIPS):
    """Of a function of a random generator and the chip's name, which makes the case."""
    def add(make):
        CASES.append((make.__name__, make, chips))
        return make
    return add


def loosen(made, chip):
    """A case of products, as exact as the chip is."""
    for array in made.arguments.values():
        if isinstance(array, Array) and array.expected is not None and array.kind not in ("i32", "i64"):
            most = numpy.abs(numpy.nan_to_num(array.expected, posinf=0, neginf=0)).max()
            array.tolerance = numpy.maximum(array.tolerance, CUT.get(chip, 0.0) * most)


def small(random, shape, most=3):
    """Integers from -most to most, whose sums of products floats hold exactly."""
    return random.integers(-most, most + 1, shape).astype(numpy.float64)
