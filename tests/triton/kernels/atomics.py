"""Many work-groups on one place."""
import numpy
import triton
import triton.language as tl

from case import Array, Case, case, changed, result, small


@triton.jit
def every_kernel(x, total, least, most, ones, zeros, odd, wide, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    where = at % 7
    tl.atomic_add(total + where, value, mask=at < n)
    tl.atomic_min(least + where, value, mask=at < n)
    tl.atomic_max(most + where, value, mask=at < n)
    tl.atomic_and(ones + where, value, mask=at < n)
    tl.atomic_or(zeros + where, value, mask=at < n)
    tl.atomic_xor(odd + where, value, mask=at < n)
    tl.atomic_add(wide + where, value.to(tl.int64) << 20, mask=at < n)


@case()
def atomics_integer(random, chip):
    n = 1000
    x = random.integers(-2**31, 2**31, n).astype(numpy.int32)
    groups = [x[i::7] for i in range(7)]

    def of(kind, start, fold):
        return changed(kind, numpy.full(7, start), numpy.array([fold(each) for each in groups]))
    return Case(every_kernel, (4,), dict(
        x=Array("i32", x), n=n, BLOCK=256,
        total=of("i32", 0, lambda each: each.sum(dtype=numpy.int32)), least=of("i32", 2**31 - 1, numpy.min),
        most=of("i32", -2**31, numpy.max), ones=of("i32", -1, numpy.bitwise_and.reduce),
        zeros=of("i32", 0, numpy.bitwise_or.reduce), odd=of("i32", 0, numpy.bitwise_xor.reduce),
        wide=of("i64", 0, lambda each: (each.astype(numpy.int64) << 20).sum())))


@triton.jit
def floats_kernel(x, single, double, half, brain, least, most, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    where = at % 6
    tl.atomic_add(single + where, value, mask=at < n)
    tl.atomic_add(double + where, value.to(tl.float64), mask=at < n)
    tl.atomic_add(half + where, value.to(tl.float16), mask=at < n)
    tl.atomic_add(brain + where, value.to(tl.bfloat16), mask=at < n)
    tl.atomic_min(least + where, value, mask=at < n)
    tl.atomic_max(most + where, value, mask=at < n)


@case()
def atomics_float(random, chip):
    n = 500
    x = random.choice([-1.0, 1.0, 2.0, -2.0], n)  # running sums stay below 256, which a bfloat counts exactly
    x[abs(x) == 2] /= 2
    groups = [x[i::6] for i in range(6)]
    sums, lows, highs = ([fold(each) for each in groups] for fold in (numpy.sum, numpy.min, numpy.max))
    zero = numpy.zeros(6)
    return Case(floats_kernel, (4,), dict(
        x=Array("fp32", x), n=n, BLOCK=128, single=changed("fp32", zero, sums), double=changed("fp64", zero, sums),
        half=changed("fp16", zero, sums), brain=changed("bf16", zero, sums), least=changed("fp32", zero + 5, lows),
        most=changed("fp32", zero - 5, highs)))


@triton.jit
def lock_kernel(lock, counter, order):
    """Adds without an atomic, one group at a time."""
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    before = tl.load(counter, volatile=True)
    tl.store(order + before, tl.program_id(0) + 1)
    tl.store(counter, before + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@case()
def spin_lock(random, chip):
    groups = 24
    return Case(lock_kernel, (groups,), dict(lock=changed("i32", [0], [0]), counter=changed("i32", [0], [groups]),
                                             order=InAnyOrder(groups)), warps=2)


class InAnyOrder(Array):
    """1 to n, each once."""

    def __init__(self, n):
        super().__init__("i32", numpy.zeros(n), numpy.arange(1, n + 1))

    def wrong(self, got):
        return super().wrong(numpy.sort(numpy.frombuffer(got, numpy.int32)).tobytes())


@triton.jit
def scatter_kernel(x, to, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns)
    tl.atomic_add(out + tl.load(to + row) * columns + at, value, mask=at < columns, sem="relaxed")


@case()
def scatter_add(random, chip):
    rows, columns, places = 40, 50, 6
    x, to, before = small(random, (rows, columns)), random.integers(0, places, rows), small(random, (places, columns))
    expected = before.copy()
    numpy.add.at(expected, to, x)
    return Case(scatter_kernel, (rows,), dict(x=Array("fp32", x), to=Array("i32", to), out=changed("fp32", before, expected),
                                              columns=columns, BLOCK=64), warps=1)


@triton.jit
def last_kernel(x, partial, arrived, out, n, BLOCK: tl.constexpr, GROUPS: tl.constexpr):
    """A sum in one launch: whoever comes last adds the parts of all."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + tl.program_id(0), tl.sum(tl.load(x + at, mask=at < n, other=0), 0))
    if tl.atomic_add(arrived, 1, sem="acq_rel") == GROUPS - 1:
        group = tl.arange(0, 32)
        parts = tl.load(partial + group, mask=group < GROUPS, other=0, volatile=True)
        tl.store(out, tl.sum(parts, 0))


@case()
def last_one_adds(random, chip):
    x = random.integers(-1000, 1000, 2000)
    parts = [x[i:i + 128].sum() for i in range(0, 2000, 128)]
    return Case(last_kernel, (16,), dict(x=Array("i32", x), partial=result("i32", parts), arrived=changed("i32", [0], [16]),
                                         out=result("i32", [x.sum()]), n=2000, BLOCK=128, GROUPS=16))
