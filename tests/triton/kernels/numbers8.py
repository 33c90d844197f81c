"""Conversions, of all codes of 8 bits and of 16, and of values between them."""
import numpy
import triton
import triton.language as tl

from case import EIGHT, Array, Case, bits_of, case, numbers, result


@triton.jit
def widen_kernel(x, single, half, brain, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    tl.store(single + at, value.to(tl.float32))
    tl.store(half + at, value.to(tl.float16))
    tl.store(brain + at, value.to(tl.bfloat16))


def every_code(kind):
    """All finite codes, and again to fill 256."""
    codes = numpy.arange(256, dtype=numpy.uint8)
    finite = codes[numpy.isfinite(EIGHT[kind])]
    return numpy.resize(finite, 256)


def widen_case(kind):
    x = Array(kind, numpy.zeros(256))
    x.bits[:] = every_code(kind)
    value = x.numbers
    return Case(widen_kernel, (1,), dict(x=x, single=result("fp32", value), half=result("fp16", value),
                                         brain=result("bf16", value), N=256))


@case()
def widen_e4m3(random, chip):
    return widen_case("fp8e4nv")


@case()
def widen_e5m2(random, chip):
    return widen_case("fp8e5")


@case(("gfx90a", "gfx942"))
def widen_e4m3_fnuz(random, chip):
    return widen_case("fp8e4b8")


_far = numpy.float32(numpy.inf)


@triton.jit
def narrow_kernel(x, half, brain, eight, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(half + at, value.to(tl.float16), mask=at < n)
    tl.store(brain + at, value.to(tl.bfloat16), mask=at < n)
    tl.store(eight + at, value.to(eight.dtype.element_ty), mask=at < n)


def narrow_case(random, kind, most):
    """Every number of 8 bits, what lies in the middle of two, its neighbours, and others."""
    table = numpy.unique(EIGHT[kind][numpy.isfinite(EIGHT[kind])])
    middles = (table[1:] + table[:-1]) / 2
    x = numpy.concatenate((table, middles, numpy.nextafter(numpy.float32(middles), _far),
                           numpy.nextafter(numpy.float32(middles), -_far), random.uniform(-most, most, 1000)))
    x = Array("fp32", x[abs(x) <= most])
    value = x.numbers
    return Case(narrow_kernel, (-(-len(value) // 512),), dict(
        x=x, n=len(value), BLOCK=512, half=result("fp16", numpy.float64(numpy.float16(value))),
        brain=result("bf16", numbers("bf16", bits_of("bf16", value))),
        eight=result(kind, numbers(kind, bits_of(kind, value)))))


@case()
def narrow_e4m3(random, chip):
    return narrow_case(random, "fp8e4nv", 448)


@case()
def narrow_e5m2(random, chip):
    return narrow_case(random, "fp8e5", 57344)


@case(("gfx90a", "gfx942"))
def narrow_e4m3_fnuz(random, chip):
    return narrow_case(random, "fp8e4b8", 240)


@triton.jit
def quantise_kernel(x, out, scales, n, LIMIT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + at, mask=at < n, other=0).to(tl.float32)
    scale = tl.exp2(tl.ceil(tl.log2(tl.max(tl.abs(value), 0) / LIMIT)))
    tl.store(scales + row, scale)
    tl.store(out + row * n + at, (value / scale).to(out.dtype.element_ty), mask=at < n)


@case()
def quantise(random, chip):
    kind, limit, n = ("fp8e4nv", 448, 300) if chip == "gfx950" else ("fp8e4b8", 240, 300)
    x = Array("bf16", random.normal(0, 1, (5, n)) * 10.0**numpy.arange(-3, 2)[:, None])
    scale = 2.0**numpy.ceil(numpy.log2(abs(x.numbers).max(1) / limit))
    expected = numbers(kind, bits_of(kind, x.numbers / scale[:, None]))
    return Case(quantise_kernel, (5,), dict(x=x, out=result(kind, expected), scales=result("fp32", scale), n=n,
                                            LIMIT=float(limit), BLOCK=512))


@triton.jit
def dequantise_kernel(packed, scales, out, n, BLOCK: tl.constexpr, PER_SCALE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(packed + at // 8, mask=at < n)
    number = (word << (28 - at % 8 * 4)) >> 28  # four bits with a sign
    tl.store(out + at, number * tl.load(scales + at // PER_SCALE, mask=at < n).to(tl.float32), mask=at < n)


@case()
def dequantise(random, chip):
    n = 1600
    words, scales = random.integers(-2**31, 2**31, n // 8), Array("bf16", random.uniform(0.5, 2, n // 32))
    codes = (words[:, None] >> 4 * numpy.arange(8) & 15).ravel()
    expected = numpy.where(codes > 7, codes - 16, codes) * scales.numbers.repeat(32)
    return Case(dequantise_kernel, (4,), dict(packed=Array("i32", words), scales=scales, out=result("fp32", expected), n=n,
                                              BLOCK=512, PER_SCALE=32))


@triton.jit
def whole_kernel(x, signed, unsigned, eight, wide, back, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(signed + at, value.to(tl.int32), mask=at < n)
    tl.store(unsigned + at, tl.abs(value).to(tl.uint32), mask=at < n)
    tl.store(eight + at, (value / 2**24).to(tl.int8), mask=at < n)
    long = (value * 4096).to(tl.int64)
    tl.store(wide + at, long, mask=at < n)
    tl.store(back + at, long.to(tl.float32), mask=at < n)


@case()
def whole_numbers(random, chip):
    x = Array("fp32", random.uniform(-1, 1, 800) * 2.0**random.integers(-3, 31, 800))
    value = x.numbers
    long = numpy.trunc(value * 4096).astype(numpy.int64)
    return Case(whole_kernel, (4,), dict(
        x=x, n=800, BLOCK=256, signed=result("i32", numpy.trunc(value).astype(numpy.int32)),
        unsigned=result("u32", numpy.trunc(abs(value)).astype(numpy.uint32)), wide=result("i64", long),
        eight=result("i8", numpy.trunc(value / 2**24).astype(numpy.int8)),
        back=result("fp32", numpy.float64(numpy.float32(long)))))
