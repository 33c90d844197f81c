"""Kernels that move: gathers, transposes, shuffles in a block; random numbers."""
import numpy
import triton
import triton.language as tl

from case import Array, Case, case, result


@triton.jit
def embedding_kernel(table, tokens, out, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    token = tl.load(tokens + row)
    at = tl.arange(0, BLOCK)
    inside = (at < columns) & (token >= 0) & (token < rows)
    tl.store(out + row * columns + at, tl.load(table + token * columns + at, mask=inside, other=0), mask=at < columns)


@case()
def gather_rows(random, chip):
    table, tokens = Array("bf16", random.normal(0, 1, (50, 300))), random.integers(-3, 53, 20)  # some of no row
    expected = numpy.where(((tokens >= 0) & (tokens < 50))[:, None], table.numbers[numpy.clip(tokens, 0, 49)], 0)
    return Case(embedding_kernel, (20,), dict(table=table, tokens=Array("i64", tokens), out=result("bf16", expected), rows=50,
                                              columns=300, BLOCK=512))


@triton.jit
def gather_kernel(x, places, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(places + at), 1))


@case()
def gather_in_block(random, chip):
    x, places = random.integers(-1000, 1000, (8, 128)), random.integers(0, 128, (8, 128))
    return Case(gather_kernel, (1,), dict(x=Array("i32", x), places=Array("i32", places), M=8, N=128,
                                          out=result("i32", numpy.take_along_axis(x, places, 1))))


@triton.jit
def transpose_kernel(x, out, m, n, TILE: tl.constexpr):
    i, j = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.program_id(1) * TILE + tl.arange(0, TILE)
    value = tl.load(x + i[:, None] * n + j[None, :], mask=(i[:, None] < m) & (j[None, :] < n))
    tl.store(out + j[:, None] * m + i[None, :], tl.trans(value), mask=(j[:, None] < n) & (i[None, :] < m))


def transpose_case(random, kind, m, n, tile):
    x = Array(kind, random.integers(-100, 100, (m, n)))
    return Case(transpose_kernel, (-(-m // tile), -(-n // tile)),
                dict(x=x, out=result(kind, x.numbers.T), m=m, n=n, TILE=tile))


@case()
def transpose_f16(random, chip):
    return transpose_case(random, "fp16", 100, 75, 64)


@case()
def transpose_i8(random, chip):
    return transpose_case(random, "i8", 130, 64, 64)


@case()
def transpose_i64(random, chip):
    return transpose_case(random, "i64", 33, 65, 32)


@triton.jit
def shuffle_kernel(x, y, flipped, joined, parts, turned, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(flipped + at, tl.flip(a))
    both = tl.join(a, b)
    tl.store(joined + at[:, None] * 2 + tl.arange(0, 2)[None, :], both)
    even, odd = tl.split(tl.reshape(a, (N // 2, 2)))
    tl.store(parts + tl.arange(0, N // 2), even * 10000 + odd)
    cube = tl.permute(tl.reshape(a, (4, N // 16, 4)), (2, 0, 1))
    tl.store(turned + at, tl.reshape(cube, (N,)))


@case()
def shuffles(random, chip):
    n = 1024
    x, y = random.integers(0, 10000, (2, n))
    return Case(shuffle_kernel, (1,), dict(
        x=Array("i32", x), y=Array("i32", y), flipped=result("i32", x[::-1]), joined=result("i32", numpy.stack((x, y), 1)),
        parts=result("i32", x[::2] * 10000 + x[1::2]), turned=result("i32", x.reshape(4, n // 16, 4).transpose(2, 0, 1).ravel()),
        N=n))


@triton.jit
def philox_kernel(words, uniform, normal, kept, x, seed, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(seed, at)
    tl.store(words + at * 4, a, mask=at < n)
    tl.store(words + at * 4 + 1, b, mask=at < n)
    tl.store(words + at * 4 + 2, c, mask=at < n)
    tl.store(words + at * 4 + 3, d, mask=at < n)
    tl.store(uniform + at, tl.rand(seed, at), mask=at < n)
    tl.store(normal + at, tl.randn(seed, at), mask=at < n)
    value = tl.load(x + at, mask=at < n)
    tl.store(kept + at, tl.where(tl.rand(seed + 1, at) > 0.25, value / 0.75, 0.0), mask=at < n)


def philox(seed, counter):
    """Philox 4x32 with ten rounds, of Salmon and others."""
    low, high = numpy.uint64(0xffffffff), numpy.uint64(32)
    c = [counter.astype(numpy.uint64)] + [numpy.zeros(len(counter), numpy.uint64)] * 3
    key = [seed & 0xffffffff, seed >> 32]
    for _ in range(10):
        first, second = c[0] * numpy.uint64(0xd2511f53), c[2] * numpy.uint64(0xcd9e8d57)
        c = [second >> high ^ c[1] ^ numpy.uint64(key[0]), second & low, first >> high ^ c[3] ^ numpy.uint64(key[1]), first & low]
        key = [key[0] + 0x9e3779b9 & 0xffffffff, key[1] + 0xbb67ae85 & 0xffffffff]
    return [each.astype(numpy.uint32) for each in c]


def uniform_of(words):
    signed = words.view(numpy.int32).astype(numpy.int64)
    return numpy.where(signed < 0, -signed - 1, signed) * 4.6566127342e-10


@case()
def random_numbers(random, chip):
    n, seed = 600, 987654321
    counter = numpy.arange(n)
    words = philox(seed, counter)
    uniform = uniform_of(words[0])
    radius = numpy.sqrt(-2 * numpy.log(numpy.maximum(uniform, 1e-7)))
    angle = 2 * numpy.pi * uniform_of(words[1])
    x = Array("fp32", random.normal(0, 1, n))
    keep = uniform_of(philox(seed + 1, counter)[0])
    assert abs(keep - 0.25).min() > 1e-6
    return Case(philox_kernel, (3,), dict(
        x=x, seed=seed, n=n, BLOCK=256, words=result("u32", numpy.stack(words, 1)), uniform=result("fp32", uniform, 2.0**-23),
        # The angle is rounded, up to 2 pi 2^-22 of it; and the root of a small logarithm of a rounded number near 1.
        normal=result("fp32", radius * numpy.cos(angle), 2.0**-18 * (radius + 1) + 2.0**-22 / numpy.maximum(radius, 2.0**-12)),
        kept=result("fp32", numpy.where(keep > 0.25, x.numbers / 0.75, 0), abs(x.numbers) * 2.0**-22)))
