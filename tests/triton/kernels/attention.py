"""Attention: the flash kind, and decoding from pages."""
import numpy
import triton
import triton.language as tl

from case import UNIT, Array, Case, case, result


@triton.jit
def flash_kernel(q, k, v, out, lse, queries, keys, scale, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                 CAUSAL: tl.constexpr):
    head = tl.program_id(1)
    i, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    q += head * queries * D
    k += head * keys * D
    v += head * keys * D
    rows = tl.load(q + i[:, None] * D + d[None, :], mask=i[:, None] < queries, other=0)
    top = tl.full((M,), -float("inf"), tl.float32)
    weight = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, D), tl.float32)
    end = keys
    if CAUSAL:
        end = min(keys, (tl.program_id(0) + 1) * M)
    for start in range(0, end, N):
        j = start + tl.arange(0, N)
        columns = tl.load(k + j[None, :] * D + d[:, None], mask=j[None, :] < keys, other=0)
        score = tl.dot(rows, columns) * (scale * 1.4426950408889634)
        seen = j[None, :] < keys
        if CAUSAL:
            seen = seen & (j[None, :] <= i[:, None])
        score = tl.where(seen, score, -float("inf"))
        new = tl.maximum(top, tl.max(score, 1))
        power = tl.exp2(score - new[:, None])
        correction = tl.exp2(top - new)
        weight = weight * correction + tl.sum(power, 1)
        values = tl.load(v + j[:, None] * D + d[None, :], mask=j[:, None] < keys, other=0)
        total = tl.dot(power.to(values.dtype), values, total * correction[:, None])
        top = new
    inside = i[:, None] < queries
    tl.store(out + head * queries * D + i[:, None] * D + d[None, :], total / weight[:, None], mask=inside)
    tl.store(lse + head * queries + i, top + tl.log2(weight), mask=i < queries)


def attention_of(q, k, v, scale, causal=False):
    """The result, the weights' logarithm to base 2, and the largest weighted size of what was added."""
    score = q @ k.swapaxes(-1, -2) * scale
    if causal:
        score = numpy.where(numpy.tril(numpy.ones(score.shape[-2:], bool)), score, -numpy.inf)
    top = score.max(-1, keepdims=True)
    power = numpy.exp(score - top)
    total = power.sum(-1, keepdims=True)
    return power / total @ v, ((numpy.log(total) + top) / numpy.log(2))[..., 0], power / total @ abs(v)


def flash_case(random, kind, queries, keys, d, causal, tile, warps=4, stages=2):
    q, k, v = (Array(kind, random.normal(0, 1, (2, rows, d))) for rows in (queries, keys, keys))
    scale = d**-0.5
    expected, lse, size = attention_of(q.numbers, k.numbers, v.numbers, scale, causal)
    # Each weight is rounded to `kind` once (and is off by the few units of its score), the result once more.
    tolerance = size * (UNIT[kind] + 2.0**-17) + abs(expected) * UNIT[kind] + 2.0**-25
    return Case(flash_kernel, (-(-queries // tile[0]), 2),
                dict(q=q, k=k, v=v, out=result(kind, expected, tolerance), lse=result("fp32", lse, 2.0**-17), queries=queries,
                     keys=keys, scale=scale, D=d, M=tile[0], N=tile[1], CAUSAL=causal), warps, stages)


@case()
def flash_causal_f16(random, chip):
    return flash_case(random, "fp16", 150, 150, 64, True, (64, 32))


@case()
def flash_bf16(random, chip):
    return flash_case(random, "bf16", 70, 201, 128, False, (64, 64))


@case()
def flash_one_wave(random, chip):
    return flash_case(random, "bf16", 33, 100, 32, False, (16, 16), warps=1)


@triton.jit
def paged_kernel(q, k, v, table, lengths, out, pages, scale, HEADS: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr):
    """One query for each sequence, all its HEADS on one head of keys; table: which page is where."""
    sequence = tl.program_id(0)
    head, d, slot = tl.arange(0, HEADS), tl.arange(0, D), tl.arange(0, PAGE)
    length = tl.load(lengths + sequence)
    rows = tl.load(q + (sequence * HEADS + head)[:, None] * D + d[None, :])
    top = tl.full((HEADS,), -float("inf"), tl.float32)
    weight = tl.zeros((HEADS,), tl.float32)
    total = tl.zeros((HEADS, D), tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        where = tl.load(table + sequence * pages + page).to(tl.int64) * (PAGE * D)
        seen = page * PAGE + slot < length
        score = tl.dot(rows, tl.load(k + where + slot[None, :] * D + d[:, None])) * scale
        score = tl.where(seen[None, :], score, -float("inf"))
        new = tl.maximum(top, tl.max(score, 1))
        power = tl.exp(score - new[:, None])
        correction = tl.exp(top - new)
        weight = weight * correction + tl.sum(power, 1)
        values = tl.load(v + where + slot[:, None] * D + d[None, :])
        total = total * correction[:, None] + tl.dot(power.to(values.dtype), values)
        top = new
    tl.store(out + (sequence * HEADS + head)[:, None] * D + d[None, :], (total / weight[:, None]).to(out.dtype.element_ty))


@case()
def paged_attention(random, chip):
    sequences, heads, d, page, pages, pool = 5, 16, 64, 16, 9, 50
    q, k, v = (Array("fp16", random.normal(0, 1, shape)) for shape in ((sequences, heads, d), (pool, page, d), (pool, page, d)))
    table, lengths = random.permutation(pool)[:sequences * pages].reshape(sequences, pages), numpy.array([1, 16, 17, 100, 144])
    expected, size = numpy.empty((2, sequences, heads, d))
    for i, length in enumerate(lengths):
        keys, values = (x.numbers[table[i]].reshape(-1, d)[:length] for x in (k, v))
        expected[i], _, size[i] = attention_of(q.numbers[i], keys, values, d**-0.5)
    tolerance = size * (UNIT["fp16"] + 2.0**-17) + abs(expected) * UNIT["fp16"] + 2.0**-25
    return Case(paged_kernel, (sequences,), dict(q=q, k=k, v=v, table=Array("i32", table), lengths=Array("i32", lengths),
                                                 out=result("fp16", expected, tolerance), pages=pages, scale=d**-0.5,
                                                 HEADS=heads, D=d, PAGE=page))
