"""Matrix products. The operands are small integers: every sum is exact in whatever order."""
import numpy
import triton
import triton.language as tl

from case import EIGHT, Array, Case, bits_of, case, changed, result, small


@triton.jit
def matmul_kernel(a, b, out, m, n, k, bias, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
                  ACC: tl.constexpr, PRECISION: tl.constexpr):
    """Tiles in groups of rows; parts of tiles at all three edges; b is k by n."""
    program = tl.program_id(0)
    rows, columns = tl.cdiv(m, M), tl.cdiv(n, N)
    group = program // (GROUP * columns)
    first = group * GROUP
    height = min(rows - first, GROUP)
    row = first + program % (GROUP * columns) % height
    column = program % (GROUP * columns) // height
    i, j, l = row * M + tl.arange(0, M), column * N + tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), ACC)
    for start in range(0, k, K):
        left = tl.load(a + i[:, None] * k + (start + l)[None, :], mask=(i[:, None] < m) & ((start + l)[None, :] < k), other=0.0)
        right = tl.load(b + (start + l)[:, None] * n + j[None, :], mask=((start + l)[:, None] < k) & (j[None, :] < n), other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION, out_dtype=ACC)
    inside = (i[:, None] < m) & (j[None, :] < n)
    total += tl.load(bias + j, mask=j < n, other=0)[None, :].to(ACC)
    tl.store(out + i[:, None] * n + j[None, :], total, mask=inside)


def matmul_case(random, kind, out, m=100, n=90, k=72, tile=(64, 64, 32), acc=tl.float32, warps=4, stages=2, most=3,
                precision="ieee", options=None, aligned=True):
    a, b = Array(kind, small(random, (m, k), most)), Array(kind, small(random, (k, n), most))
    bias = Array("i32", small(random, n, 9))
    expected = a.numbers.astype(numpy.float64) @ b.numbers.astype(numpy.float64) + bias.bits
    if out in ("bf16", "fp16"):
        expected = numpy.float64(Array(out, expected).numbers)  # of an exact number: rounded once
    arguments = dict(a=a, b=b, out=result(out, expected), m=m, n=n, k=k, bias=bias, M=tile[0], N=tile[1], K=tile[2], GROUP=2,
                     ACC=acc, PRECISION=precision)
    tiles = -(-m // tile[0]) * -(-n // tile[1])
    return Case(matmul_kernel, (tiles,), arguments, warps, stages, options, aligned)


@case()
def matmul_f16(random, chip):
    return matmul_case(random, "fp16", "fp32")


@case()
def matmul_f16_unaligned(random, chip):
    return matmul_case(random, "fp16", "fp32", 64, 90, 72, aligned=False)


@case()
def matmul_f16_wide(random, chip):
    return matmul_case(random, "fp16", "fp16", 150, 136, 160, (128, 128, 64), warps=8)


@case()
def matmul_f16_aligned(random, chip):
    return matmul_case(random, "fp16", "fp16", 128, 256, 256, (128, 128, 64), warps=4, stages=3)


@case()
def matmul_bf16(random, chip):
    return matmul_case(random, "bf16", "bf16", 130, 70, 200, (64, 32, 64))


@case()
def matmul_bf16_16x16(random, chip):
    return matmul_case(random, "bf16", "fp32", 96, 80, 128, (64, 64, 64), options={"matrix_instr_nonkdim": 16})


@case()
def matmul_f32(random, chip):
    return matmul_case(random, "fp32", "fp32", 65, 47, 33, (32, 32, 16))


@case(("gfx942",))
def matmul_xf32(random, chip):
    return matmul_case(random, "fp32", "fp32", 65, 47, 33, (32, 32, 16), precision="tf32")


@case()
def matmul_bf16x3(random, chip):
    return matmul_case(random, "fp32", "fp32", 65, 47, 33, (32, 32, 16), precision="bf16x3")


@case()
def matmul_f64(random, chip):
    return matmul_case(random, "fp64", "fp64", 40, 33, 50, (32, 32, 16), acc=tl.float64)


@case()
def matmul_i8(random, chip):
    return matmul_case(random, "i8", "i32", 70, 65, 130, (64, 64, 64), acc=tl.int32, most=127)


@case()
def matmul_fp8(random, chip):
    return matmul_case(random, "fp8e4nv" if chip == "gfx950" else "fp8e4b8", "fp32", 90, 70, 150, (64, 64, 64))


@case()
def matmul_bf8(random, chip):
    return matmul_case(random, "fp8e5" if chip != "gfx942" else "fp8e5b16", "fp32", 90, 70, 130, (64, 64, 128))


@triton.jit
def split_k_kernel(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SPLITS: tl.constexpr):
    columns = tl.cdiv(n, N)
    i = tl.program_id(0) // columns * M + tl.arange(0, M)
    j = tl.program_id(0) % columns * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for start in range(tl.program_id(1) * K, k, K * SPLITS):
        l = start + tl.arange(0, K)
        left = tl.load(a + i[:, None] * k + l[None, :], mask=(i[:, None] < m) & (l[None, :] < k), other=0)
        right = tl.load(b + j[None, :] * k + l[:, None], mask=(l[:, None] < k) & (j[None, :] < n), other=0)
        total = tl.dot(left, right, total)
    tl.atomic_add(out + i[:, None] * n + j[None, :], total, mask=(i[:, None] < m) & (j[None, :] < n))


@case()
def split_k(random, chip):
    m, n, k = 50, 40, 300
    a, b = Array("bf16", small(random, (m, k))), Array("bf16", small(random, (n, k)))
    before = small(random, (m, n))
    return Case(split_k_kernel, (2 * 2, 3), dict(a=a, b=b, out=changed("fp32", before, before + a.numbers @ b.numbers.T),
                                                 m=m, n=n, k=k, M=32, N=32, K=32, SPLITS=3))


@triton.jit
def persistent_kernel(a, b, out, n, k, tiles, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PROGRAMS: tl.constexpr):
    columns = n // N
    for tile in range(tl.program_id(0), tiles, PROGRAMS):
        i = tile // columns * M + tl.arange(0, M)
        j = tile % columns * N + tl.arange(0, N)
        total = tl.zeros((M, N), tl.float32)
        for start in range(0, k, K):
            l = start + tl.arange(0, K)
            total = tl.dot(tl.load(a + i[:, None] * k + l[None, :]), tl.load(b + j[None, :] * k + l[:, None]), total)
        total = tl.where(total > 0, total, total * 0.25)
        tl.store(out + i[:, None] * n + j[None, :], total.to(tl.bfloat16))


@case()
def persistent(random, chip):
    m, n, k = 192, 128, 256
    a, b = Array("bf16", small(random, (m, k), 2)), Array("bf16", small(random, (n, k), 2))
    product = a.numbers @ b.numbers.T
    expected = Array("bf16", numpy.where(product > 0, product, product * 0.25)).numbers
    return Case(persistent_kernel, (4,), dict(a=a, b=b, out=result("bf16", expected), n=n, k=k, tiles=6, M=64, N=64, K=64,
                                              PROGRAMS=4), warps=4, stages=3)


@triton.jit
def batched_kernel(a, b, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    batch, i, j, l = tl.arange(0, B), tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + batch[:, None, None] * (M * K) + i[None, :, None] * K + l[None, None, :])
    right = tl.load(b + batch[:, None, None] * (K * N) + l[None, :, None] * N + j[None, None, :])
    tl.store(out + batch[:, None, None] * (M * N) + i[None, :, None] * N + j[None, None, :], tl.dot(left, right))


@case()
def batched(random, chip):
    a, b = Array("fp16", small(random, (4, 32, 16))), Array("fp16", small(random, (4, 16, 32)))
    return Case(batched_kernel, (1,), dict(a=a, b=b, out=result("fp32", a.numbers @ b.numbers), B=4, M=32, N=32, K=16))


@triton.jit
def vector_kernel(a, x, out, m, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    total = tl.zeros((M,), tl.float32)
    for start in range(0, n, N):
        j = start + tl.arange(0, N)
        left = tl.load(a + i[:, None] * n + j[None, :], mask=(i[:, None] < m) & (j[None, :] < n), other=0).to(tl.float32)
        total += tl.sum(left * tl.load(x + j, mask=j < n, other=0).to(tl.float32)[None, :], 1)
    tl.store(out + i, total, mask=i < m)


@case()
def matrix_vector(random, chip):
    a, x = Array("fp16", small(random, (77, 333))), Array("fp16", small(random, 333))
    return Case(vector_kernel, (5,), dict(a=a, x=x, out=result("fp32", a.numbers @ x.numbers), m=77, n=333, M=16, N=128))


@triton.jit
def int4_kernel(a, packed, scales, zeros, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                PER_SCALE: tl.constexpr):
    """b is n by k / 2 bytes of two numbers of four bits, with a scale and a zero for each PER_SCALE of them."""
    i, j = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        l, half = start + tl.arange(0, K), start // 2 + tl.arange(0, K // 2)
        left = tl.load(a + i[:, None] * k + l[None, :], mask=i[:, None] < m, other=0)
        both = tl.load(packed + j[:, None] * (k // 2) + half[None, :], mask=j[:, None] < n, other=0)
        numbers = tl.interleave(both & 15, both >> 4)
        group = j * (k // PER_SCALE) + start // PER_SCALE
        scale, zero = tl.load(scales + group, mask=j < n, other=0), tl.load(zeros + group, mask=j < n, other=0)
        right = (numbers.to(tl.float16) - zero[:, None]) * scale[:, None]
        total = tl.dot(left, tl.trans(right), total)
    tl.store(out + i[:, None] * n + j[None, :], total, mask=(i[:, None] < m) & (j[None, :] < n))


@case()
def matmul_int4(random, chip):
    m, n, k, per = 40, 50, 128, 32
    a, codes = Array("fp16", small(random, (m, k))), random.integers(0, 16, (n, k))
    scales = Array("fp16", 2.0**random.integers(-2, 3, (n, k // per)))
    zeros = Array("fp16", random.integers(0, 16, (n, k // per)))
    b = (codes - zeros.numbers.repeat(per, 1)) * scales.numbers.repeat(per, 1)
    return Case(int4_kernel, (2, 2), dict(
        a=a, packed=Array("u8", codes[:, ::2] | codes[:, 1::2] << 4), scales=scales, zeros=zeros, m=m, n=n, k=k,
        out=result("fp32", a.numbers @ b.T), M=32, N=32, K=32, PER_SCALE=per))


@triton.jit
def scaled_kernel(a, a_scales, b, b_scales, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A: tl.constexpr,
                  B: tl.constexpr, A_PACK: tl.constexpr, B_PACK: tl.constexpr):
    i, j, group = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    left = tl.load(a + i[:, None] * (K // A_PACK) + tl.arange(0, K // A_PACK)[None, :])
    right = tl.load(b + j[None, :] * (K // B_PACK) + tl.arange(0, K // B_PACK)[:, None])
    left_scales = tl.load(a_scales + i[:, None] * (K // 32) + group[None, :])
    right_scales = tl.load(b_scales + j[:, None] * (K // 32) + group[None, :])
    total = tl.dot_scaled(left, left_scales, A, right, right_scales, B)
    tl.store(out + i[:, None] * N + j[None, :], total)


FOUR = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def microscaled(random, form, rows, k):
    """Bytes, how many numbers one holds, and the numbers."""
    if form == "e2m1":
        codes = random.integers(0, 16, (rows, k))
        return Array("u8", codes[:, ::2] | codes[:, 1::2] << 4), 2, FOUR[codes]
    kind = "fp8e4nv" if form == "e4m3" else "fp8e5"
    values = small(random, (rows, k), 6)
    return Array("u8", bits_of(kind, values)), 1, EIGHT[kind][bits_of(kind, values)]


def scaled_case(random, left, right, m=32, n=64, k=128):
    (a, a_pack, x), (b, b_pack, y) = microscaled(random, left, m, k), microscaled(random, right, n, k)
    scales = [random.integers(125, 130, (rows, k // 32)) for rows in (m, n)]
    x, y = (v * 2.0**(s.repeat(32, 1) - 127.0) for v, s in zip((x, y), scales))
    return Case(scaled_kernel, (1,), dict(a=a, a_scales=Array("u8", scales[0]), b=b, b_scales=Array("u8", scales[1]),
                                          out=result("fp32", x @ y.T), M=m, N=n, K=k, A=left, B=right, A_PACK=a_pack,
                                          B_PACK=b_pack))


@case()
def scaled_fp4(random, chip):
    return scaled_case(random, "e2m1", "e2m1")


@case()
def scaled_fp8(random, chip):
    return scaled_case(random, "e4m3", "e4m3")


@case()
def scaled_bf8_fp4(random, chip):
    return scaled_case(random, "e5m2", "e2m1", 64, 32, 256)
