"""One result for each element: functions of floats and doubles, integers, control flow."""
import math
from fractions import Fraction

import numpy
import triton
import triton.language as tl
from triton.language.extra import libdevice

from case import Array, Case, case, changed, result


@triton.jit
def functions_kernel(x, sine, cosine, error, bell, tangent, power, root, logarithm, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=1.0)
    tl.store(sine + at, tl.sin(value), mask=at < n)
    tl.store(cosine + at, tl.cos(value), mask=at < n)
    tl.store(error + at, tl.erf(value), mask=at < n)
    tl.store(bell + at, 0.5 * value * (1 + tl.erf(value * 0.7071067811865476)), mask=at < n)
    tl.store(tangent + at, libdevice.tanh(value), mask=at < n)
    tl.store(power + at, libdevice.pow(tl.abs(value), 1.25), mask=at < n)
    tl.store(root + at, tl.sqrt_rn(tl.abs(value)), mask=at < n)
    tl.store(logarithm + at, libdevice.log1p(tl.abs(value)), mask=at < n)


def functions_case(random, kind, unit):
    x = Array(kind, random.normal(0, 4, 900))
    v = x.numbers
    error = numpy.array([math.erf(each) for each in v])
    bell = 0.5 * v * (1 + numpy.array([math.erf(each * 0.7071067811865476) for each in v]))

    def near(expected, units):  # of AMD's device library: a few units in the last place
        return result(kind, expected, units * 2 * unit * numpy.maximum(abs(expected), 2.0**-126))
    return Case(functions_kernel, (4,), dict(
        x=x, n=900, BLOCK=256, sine=result(kind, numpy.sin(v), 4 * unit), cosine=result(kind, numpy.cos(v), 4 * unit),
        error=near(error, 16), bell=result(kind, bell, 32 * unit * abs(v) + 2.0**-126), tangent=near(numpy.tanh(v), 4),
        power=near(abs(v)**1.25, 16), root=result(kind, numpy.sqrt(abs(v)).astype(x.bits.dtype).astype(float)),
        logarithm=near(numpy.log1p(abs(v)), 4)))


@case()
def functions(random, chip):
    return functions_case(random, "fp32", 2.0**-24)


@triton.jit
def double_kernel(x, y, quotient, power, floor, fused, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at, mask=at < n, other=1.0), tl.load(y + at, mask=at < n, other=1.0)
    tl.store(quotient + at, a / b, mask=at < n)
    tl.store(power + at, tl.exp(a), mask=at < n)
    tl.store(floor + at, tl.floor(a) + tl.ceil(b), mask=at < n)
    tl.store(fused + at, tl.fma(a, b, -(a * b)), mask=at < n)


@case()
def doubles(random, chip):
    a, b = random.normal(0, 3, (2, 500))
    rest = [float(Fraction(x) * Fraction(y) - Fraction(x * y)) for x, y in zip(a.tolist(), b.tolist())]
    return Case(double_kernel, (2,), dict(
        x=Array("fp64", a), y=Array("fp64", b), n=500, BLOCK=256, quotient=result("fp64", a / b),
        power=result("fp64", numpy.exp(a), numpy.exp(a) * 2.0**-51), floor=result("fp64", numpy.floor(a) + numpy.ceil(b)),
        fused=result("fp64", rest)))


@triton.jit
def divide_kernel(x, y, exact, near, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(exact + at, tl.div_rn(a, b))
    tl.store(near + at, tl.fdiv(a, b))


@case()
def divide_exactly(random, chip):
    a, b = (numpy.float32(random.uniform(1, 2, 2048) * 2.0**random.integers(-60, 60, 2048)) for _ in range(2))
    quotient = a.astype(float) / b
    return Case(divide_kernel, (2,), dict(x=Array("fp32", a), y=Array("fp32", b), exact=result("fp32", numpy.float64(a / b)),
                                          near=result("fp32", quotient, quotient * 2.0**-22), BLOCK=1024))


@triton.jit
def integers_kernel(x, y, quotient, rest, high, shifted, wide, wide_quotient, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at, mask=at < n, other=1), tl.load(y + at, mask=at < n, other=1)
    tl.store(quotient + at, a // b, mask=at < n)
    tl.store(rest + at, a % b, mask=at < n)
    tl.store(high + at, tl.umulhi(a.to(tl.uint32, bitcast=True), b.to(tl.uint32, bitcast=True)), mask=at < n)
    tl.store(shifted + at, (a >> (b & 31)) ^ (a << (b & 7)), mask=at < n)
    long = a.to(tl.int64) * b * 12345
    tl.store(wide + at, long, mask=at < n)
    tl.store(wide_quotient + at, long // (b.to(tl.int64) * 1000 + 1), mask=at < n)


@case()
def integers(random, chip):
    n = 700
    a, b = random.integers(-2**31, 2**31, (2, n))
    b >>= random.integers(0, 31, n)
    b[b == 0] = 3
    b[(a == -2**31) & (b == -1)] = 3  # the only quotient that does not fit
    long, divisor = a * b * 12345, b * 1000 + 1
    quotient, wide = (abs(x) // abs(y) * numpy.where((x < 0) == (y < 0), 1, -1) for x, y in ((a, b), (long, divisor)))
    low = numpy.int64(0xffffffff)
    return Case(integers_kernel, (3,), dict(
        x=Array("i32", a), y=Array("i32", b), n=n, BLOCK=256, quotient=result("i32", quotient),
        rest=result("i32", a - quotient * b),
        high=result("u32", ((a & low).astype(object) * (b & low) >> 32).astype(numpy.int64)),
        shifted=result("i32", ((a >> (b & 31)) ^ (a << (b & 7))).astype(numpy.int32)), wide=result("i64", long),
        wide_quotient=result("i64", wide)))


@triton.jit
def collatz_kernel(out, most):
    """A loop of another length in each work-group."""
    number = tl.program_id(0).to(tl.int64) + 1
    steps = 0
    while (number != 1) & (steps < most):
        if number % 2 == 0:
            number = number // 2
        else:
            number = 3 * number + 1
        steps += 1
    tl.store(out + tl.program_id(0), steps)


@case()
def control_flow(random, chip):
    def steps(number):
        count = 0
        while number != 1:
            number, count = number // 2 if number % 2 == 0 else 3 * number + 1, count + 1
        return count
    return Case(collatz_kernel, (40,), dict(out=result("i32", [steps(i + 1) for i in range(40)]), most=1000), warps=1)


@triton.jit
def adam_kernel(weight, gradient, first, second, n, rate, decay, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gradient + at, mask=at < n, other=0).to(tl.float32)
    m = 0.9 * tl.load(first + at, mask=at < n, other=0) + 0.1 * g
    v = 0.999 * tl.load(second + at, mask=at < n, other=0) + 0.001 * g * g
    w = tl.load(weight + at, mask=at < n, other=0)
    w -= rate * (step * m / (tl.sqrt(v) + 1e-8) + decay * w)
    tl.store(first + at, m, mask=at < n)
    tl.store(second + at, v, mask=at < n)
    tl.store(weight + at, w, mask=at < n)


@case()
def adam(random, chip):
    n = 1001
    w, m, v = random.normal(0, 1, n), random.normal(0, 0.1, n), random.uniform(0.001, 1, n)
    g = Array("bf16", random.normal(0, 1, n))
    w, m, v = (numpy.float64(numpy.float32(each)) for each in (w, m, v))
    m1, v1 = 0.9 * m + 0.1 * g.numbers, 0.999 * v + 0.001 * g.numbers**2
    w1 = w - 0.01 * (1.5 * m1 / (numpy.sqrt(v1) + 1e-8) + 0.1 * w)
    unit = 2.0**-22
    sizes = 0.9 * abs(m) + 0.1 * abs(g.numbers)
    return Case(adam_kernel, (2,), dict(
        weight=changed("fp32", w, w1, unit * (abs(w) + 0.01 * (1.5 * 4 * sizes / numpy.sqrt(v1)))), gradient=g,
        first=changed("fp32", m, m1, unit * sizes), second=changed("fp32", v, v1, unit * v1), n=n, rate=0.01, decay=0.1, step=1.5,
        BLOCK=1024))
