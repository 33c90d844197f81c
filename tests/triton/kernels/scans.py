"""Scans: sums and products so far, a recurrence."""
import numpy
import triton
import triton.language as tl

from case import Array, Case, case, result


@triton.jit
def sums_kernel(x, forward, backward, down, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + at)
    tl.store(forward + at, tl.cumsum(value, 1))
    tl.store(backward + at, tl.cumsum(value, 1, reverse=True))
    tl.store(down + at, tl.cumsum(value, 0))


@case()
def cumsum(random, chip):
    x = random.integers(-10**5, 10**5, (16, 256))
    return Case(sums_kernel, (1,), dict(x=Array("i32", x), M=16, N=256, forward=result("i32", x.cumsum(1)),
                                        backward=result("i32", x[:, ::-1].cumsum(1)[:, ::-1]), down=result("i32", x.cumsum(0))))


@triton.jit
def products_kernel(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.cumprod(tl.load(x + at), 0))


@case()
def cumprod(random, chip):
    x = random.choice([0.5, 1.0, 2.0, -1.0], 1024, p=[0.02, 0.5, 0.02, 0.46])
    return Case(products_kernel, (1,), dict(x=Array("fp32", x), out=result("fp32", x.cumprod()), N=1024))


@triton.jit
def recurrence_step(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def recurrence_kernel(decay, x, out, N: tl.constexpr):
    row = tl.program_id(0)
    at = row * N + tl.arange(0, N)
    _, state = tl.associative_scan((tl.load(decay + at), tl.load(x + at)), 0, recurrence_step)
    tl.store(out + at, state)


@case()
def recurrence(random, chip):
    n = 512
    decay, x = Array("fp32", random.uniform(0.5, 0.95, (3, n))), Array("fp32", random.normal(0, 1, (3, n)))
    state, size, expected, sizes = numpy.zeros(3), numpy.zeros(3), [], []
    for i in range(n):
        state, size = (decay.numbers[:, i] * each + now for each, now in ((state, x.numbers[:, i]), (size, abs(x.numbers[:, i]))))
        expected.append(state)
        sizes.append(size)
    # A term has gone through at most 2 log2(n) products and additions where it still counts.
    tolerance = numpy.array(sizes).T * 40 * 2.0**-24
    return Case(recurrence_kernel, (3,), dict(decay=decay, x=x, out=result("fp32", numpy.array(expected).T, tolerance), N=n))
