"""Products with weights of 4 bits, and what is before and after products of 8 bits.

Of products, numbers are chosen that are exact in 16 bits, so that sums are exact, or round in fp32 alone."""
import numpy
from balls import STEP, Ball
from case import UNIT, bits_of, numbers
from launches import Codes, Launch, exactly, given, near

from .formats import FP4, KINDS, NF4, TYPES

POWERS = numpy.array([-2, -1, -0.5, 0, 0.5, 1, 2])
SCALES = numpy.array([0.5, 1.0, 2.0])


def weights(random, rows, depth, table, block, scales):
    """Packed, the first number in the upper half, and as numbers."""
    codes = random.integers(0, 16, (rows, depth + depth % 2)).astype(numpy.uint8)
    scale = scales[:rows * depth // block + 1]
    each = table[codes[:, :depth]].astype(numpy.float64)
    places = numpy.arange(rows)[:, None] * (2 * codes[:, 0::2].shape[1]) + numpy.arange(depth)
    return codes[:, 0::2] << 4 | codes[:, 1::2], each * scales[places // block] if scale.size else each


def vector_by_weights(random, type_, rows, depth, lanes):
    """One row by all weights. A group has a wave for each of its outputs; all of them read scales, so those are padded."""
    kind, block, waves = KINDS[type_], 64, 128 // lanes
    table = numpy.arange(-8, 8) / 8
    groups = -(-rows // waves)
    scales = random.choice(SCALES, groups * waves * (depth + 2 * block) // block + 1)
    packed, each = weights(random, rows, depth, table, block, scales)
    left = random.choice(POWERS, depth)
    arguments = [f"i32:{rows}", "i32:1", f"i32:{depth}", given(kind, left), given("u8", packed), given("fp32", scales),
                 given("fp32", table), exactly(kind, bits_of(kind, each @ left)), f"i32:{rows}", f"i32:{packed.shape[1]}",
                 f"i32:{rows}", f"i32:{block}"]
    bits = 32 if kind == "fp32" else 16
    return Launch(f"kgemm_4bit_inference_naive<{type_}, 128, {bits}>", (groups,), 128, arguments, f"{rows} x {depth}")


def scales_of(random, count, nested):
    """Four arguments, and the scales that they mean. Nested: 8 bits into a table, times a scale of 256, plus an offset."""
    if not nested:
        scales = random.choice(SCALES, count)
        return [given("fp32", scales), "ptr:null", "ptr:null", "ptr:null"], scales
    table = numpy.resize([0.25, 0.75, 1.75], 256)
    codes = random.integers(0, 256, count).astype(numpy.uint8)
    outer = numpy.resize([1.0, 2.0], count // 256 + 1)
    scales = table[codes] * outer[numpy.arange(count) // 256] + 0.25
    return [given("fp32", outer), given("u8", codes), given("fp32", table), given("fp32", [0.25])], scales


def matrix_by_weights(random, lanes, type_, rows, most, columns, depth, data, nested, has_bias):
    kind, block = KINDS[type_], 64
    table = {1: FP4, 2: NF4}[data]
    table = numbers(kind, bits_of(kind, table)).astype(numpy.float64)
    arguments, scales = scales_of(random, columns * depth // block, nested)
    packed, each = weights(random, columns, depth, table, block, scales)
    left = random.choice(POWERS, (rows, depth))
    bias = numbers(kind, bits_of(kind, random.normal(size=columns))) if has_bias else numpy.zeros(columns)
    sums = left @ each.T
    sizes = numpy.abs(left) @ numpy.abs(each.T)
    places = (depth / 32 + 6) * STEP  # a lane has a 32nd of the terms, then five additions
    if kind == "fp16" and lanes == 64:
        places += 3 * UNIT[kind]  # two sums of four products are sums of fp16 there
    expected = Ball(sums, sizes * places) + bias
    arguments = [given(kind, left), given("u8", packed), *arguments, near(kind, numpy.zeros((rows, columns)), expected),
                 given(kind, bias) if has_bias else "ptr:null", f"i32:{rows}", f"i32:{columns}", f"i32:{depth}",
                 f"i32:{block}", f"i32:{data}"]
    case = f"{rows} x {columns} x {depth}, {'fp4' if data == 1 else 'nf4'}{', nested' * nested}{', bias' * has_bias}"
    return Launch(f"gemm_4bit_simt<{type_}, {most}>", (-(-columns // 4), -(-rows // most)), 128, arguments, case)


def rows_to_bytes(random, sparse, rows, columns):
    """Rows to 8 bits; sparse: what is beyond a threshold is no part of it."""
    values = numbers("fp16", bits_of("fp16", random.normal(size=(rows, columns))))
    threshold = 2.0 if sparse else 0.0
    sizes = numpy.abs(values)
    largest = (numpy.where(sizes < threshold, sizes, 0) if sparse else sizes).max(axis=1)
    each = values * (127 / largest)[:, None]
    if sparse:
        each = numpy.where(sizes < threshold, each, 0)
    doubt = numpy.abs(each) * 2.0**-21  # a quotient and a product
    least, most = numpy.rint(each - doubt), numpy.rint(each + doubt)
    out = Signed(numpy.full(values.size, 0xa5), least.reshape(-1), most.reshape(-1))
    return Launch(f"kInt8VectorQuant<__half, 1024, {sparse}>", (rows,), 1024,
                  [given("fp16", values), out, exactly("fp32", largest.astype(numpy.float32)), f"f32:{threshold}",
                   f"i32:{rows}", f"i32:{columns}"], f"{rows} x {columns}")


class Signed(Codes):
    def wrong(self, got):
        return super().wrong((numpy.frombuffer(got, numpy.int8).view(numpy.uint8) ^ 0x80).tobytes())

    def __init__(self, before, least, most):
        super().__init__(before, (least + 128).astype(numpy.int64), (most + 128).astype(numpy.int64))


def scaled_sums(random, rows, columns, has_bias):
    """Sums of products of 8 bits to fp16: times the largest magnitude of row and of column over 127, each."""
    sums = random.integers(-2**20, 2**20, (rows, columns))
    row, column = (random.uniform(0.5, 2, count).astype(numpy.float32) for count in (rows, columns))
    bias = numbers("fp16", bits_of("fp16", random.normal(size=columns))) if has_bias else numpy.zeros(columns)
    constant = numpy.float32(6.200012e-05)  # 1 / 127**2, as the library has it
    expected = Ball(sums) * Ball(row[:, None]) * Ball(column) * Ball(constant)
    return Launch("kdequant_mm_int32_fp16<4, 512>", (-(-rows * columns // 2048),), 512,
                  [given("i32", sums), given("fp32", row), given("fp32", column),
                   near("fp16", numpy.zeros((rows, columns)), expected + bias),
                   given("fp16", bias) if has_bias else "ptr:null", f"i32:{rows}", f"i32:{columns}",
                   f"i32:{rows * columns}"], f"{rows} x {columns}{', bias' * has_bias}")


def launches(random, lanes):
    for type_ in TYPES:
        yield vector_by_weights(random, type_, 6, 1184, lanes)
        yield vector_by_weights(random, type_, 1, 1006, lanes)
        for most in range(1, 9):
            nested, has_bias = most % 4 > 1, most % 3 == 0
            yield matrix_by_weights(random, lanes, type_, most, most, 6, 1024 + 64 * most, 1 + most % 2, nested, has_bias)
        yield matrix_by_weights(random, lanes, type_, 11, 8, 5, 192, 2, False, True)
    for sparse in (0, 1):
        yield rows_to_bytes(random, sparse, 3, 1500)
        yield rows_to_bytes(random, sparse, 2, 300)
    yield scaled_sums(random, 5, 500, True)
    yield scaled_sums(random, 7, 64, False)
