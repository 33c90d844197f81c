"""Reductions, in all of a block or along one dimension."""
import numpy
import triton
import triton.language as tl

from case import Array, Case, case, changed, result, small


@triton.jit
def axes_kernel(x, rows_out, columns_out, all_out, most_out, least_out, odd_out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(rows_out + i, tl.sum(value, 1))
    tl.store(columns_out + j, tl.sum(value, 0))
    tl.store(all_out, tl.sum(value))
    tl.store(most_out + i, tl.max(value, 1))
    tl.store(least_out + j, tl.min(value, 0))
    tl.store(odd_out + i, tl.xor_sum(value, 1))


@case()
def reduce_axes(random, chip):
    x = random.integers(-10**6, 10**6, (32, 128))
    return Case(axes_kernel, (1,), dict(
        x=Array("i32", x), rows_out=result("i32", x.sum(1)), columns_out=result("i32", x.sum(0)),
        all_out=result("i32", [x.sum()]), most_out=result("i32", x.max(1)), least_out=result("i32", x.min(0)),
        odd_out=result("i32", numpy.bitwise_xor.reduce(x, 1)), M=32, N=128))


@triton.jit
def argmax_kernel(x, value_out, place_out, least_out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    most, place = tl.max(value, 0, return_indices=True)
    tl.store(value_out + row, most)
    tl.store(place_out + row, place)
    tl.store(least_out + row, tl.argmin(tl.load(x + row * n + at, mask=at < n, other=float("inf")), 0))


@case()
def argmax(random, chip):
    x = Array("fp16", random.integers(-200, 200, (9, 700)))  # with equals: the leftmost counts
    v = x.numbers
    return Case(argmax_kernel, (9,), dict(x=x, value_out=result("fp16", v.max(1)), n=700, BLOCK=1024,
                                          place_out=result("i32", v.argmax(1)), least_out=result("i32", v.argmin(1))))


@triton.jit
def welford_step(mean_a, square_a, count_a, mean_b, square_b, count_b):
    count = count_a + count_b
    delta = mean_b - mean_a
    share = tl.where(count == 0, 0.0, count_b / count)
    return mean_a + delta * share, square_a + square_b + delta * delta * count_a * share, count


@triton.jit
def welford_kernel(x, mean_out, variance_out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + at, mask=at < n, other=0.0)
    one = tl.where(at < n, 1.0, 0.0)
    mean, square, count = tl.reduce((value, tl.zeros_like(value), one), 0, welford_step)
    tl.store(mean_out + row, mean)
    tl.store(variance_out + row, square / count)


@case()
def welford(random, chip):
    x = Array("fp32", random.normal(100, 3, (6, 1500)))
    v = x.numbers
    return Case(welford_kernel, (6,), dict(x=x, n=1500, BLOCK=2048, mean_out=result("fp32", v.mean(1), 64 * 2.0**-24 * 100),
                                           variance_out=result("fp32", v.var(1), 64 * 2.0**-24 * (100 * 3 + 9))))


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float64)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out, tl.sqrt(tl.sum(total * total, 0)))
    tl.store(out + 1, tl.max(total, 0))


@case()
def reduce_double(random, chip):
    x = small(random, 3000, 1000)
    columns = numpy.pad(x, (0, 3072 - 3000)).reshape(-1, 512).sum(0)
    root = numpy.sqrt((columns**2).sum())
    return Case(double_kernel, (1,), dict(x=Array("fp64", x), n=3000, BLOCK=512,
                                          out=result("fp64", [root, columns.max()], root * 2.0**-51)))


@triton.jit
def histogram_kernel(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    counts = tl.histogram(value, BINS, mask=at < n)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@case()
def histogram(random, chip):
    x = random.integers(0, 64, 5000)
    expected = numpy.bincount(x, minlength=64)
    return Case(histogram_kernel, (5,), dict(x=Array("i32", x), out=changed("i32", numpy.zeros(64), expected), n=5000,
                                             BLOCK=1024, BINS=64))


@triton.jit
def sort_kernel(x, sorted_out, top_out, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * N + tl.arange(0, N))
    tl.store(sorted_out + row * N + tl.arange(0, N), tl.sort(value, descending=False))
    tl.store(top_out + row * K + tl.arange(0, K), tl.topk(value, K))


@case()
def sort_and_topk(random, chip):
    x = Array("fp32", random.normal(0, 1, (3, 512)))
    ordered = numpy.sort(x.numbers, 1)
    return Case(sort_kernel, (3,), dict(x=x, sorted_out=result("fp32", ordered), top_out=result("fp32", ordered[:, :-17:-1]),
                                        N=512, K=16))


@case()
def sort_short(random, chip):
    x = random.integers(-2**15, 2**15, (2, 256))
    ordered = numpy.sort(x, 1)
    return Case(sort_kernel, (2,), dict(x=Array("i16", x), sorted_out=result("i16", ordered),
                                        top_out=result("i16", ordered[:, :-9:-1]), N=256, K=8), warps=2)
