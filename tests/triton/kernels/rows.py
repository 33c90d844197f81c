"""Of whole rows: softmax, norms, losses. Their sums are of n terms of one sign or less: an error of n units at most."""
import numpy
import triton
import triton.language as tl

from case import UNIT, Array, Case, case, result

# exp(x) is exp2 of a rounded product: off by the exponent's size, and a few units of the instruction.
EXP = 2.0**-24


@triton.jit
def softmax_kernel(x, out, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + at, mask=at < n, other=-float("inf")).to(tl.float32)
    power = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * stride + at, power / tl.sum(power, 0), mask=at < n)


def softmax_of(x):
    power = numpy.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def softmax_case(random, kind, n, block, warps):
    x = Array(kind, random.normal(0, 3, (5, n)))
    expected = softmax_of(x.numbers)
    tolerance = expected * (block * 2.0**-24 + 64 * EXP + UNIT[kind]) + (2.0**-25 if kind == "fp16" else 2.0**-126)
    return Case(softmax_kernel, (5,), dict(x=x, out=result(kind, expected, tolerance), n=n, stride=n, BLOCK=block), warps)


@case()
def softmax(random, chip):
    return softmax_case(random, "fp32", 1000, 1024, 4)


@case()
def softmax_bf16(random, chip):
    return softmax_case(random, "bf16", 3001, 4096, 8)


@case()
def softmax_16_waves(random, chip):
    return softmax_case(random, "fp32", 6000, 8192, 16)


@case()
def softmax_one_wave(random, chip):
    return softmax_case(random, "fp16", 77, 128, 1)


@triton.jit
def rmsnorm_kernel(x, weight, out, n, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / n + epsilon)
    tl.store(out + row * n + at, value * scale * tl.load(weight + at, mask=at < n).to(tl.float32), mask=at < n)


@case()
def rmsnorm(random, chip):
    n = 768
    x, weight = Array("fp16", random.normal(0, 2, (6, n))), Array("fp16", random.normal(1, 0.2, n))
    expected = x.numbers / numpy.sqrt((x.numbers**2).mean(-1, keepdims=True) + 1e-5) * weight.numbers
    tolerance = abs(expected) * (1024 * 2.0**-24 + UNIT["fp16"]) + 2.0**-25
    return Case(rmsnorm_kernel, (6,),
                dict(x=x, weight=weight, out=result("fp16", expected, tolerance), n=n, epsilon=1e-5, BLOCK=1024))


@triton.jit
def layernorm_kernel(x, weight, bias, out, mean_out, n, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * n + at, mask=at < n, other=0.0)
    mean = tl.sum(total, 0) / n
    tl.store(mean_out + row, mean)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.where(at < n, tl.load(x + row * n + at, mask=at < n, other=0.0) - mean, 0.0)
        squares += value * value
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / n + epsilon)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = (tl.load(x + row * n + at, mask=at < n, other=0.0) - mean) * scale
        value = value * tl.load(weight + at, mask=at < n) + tl.load(bias + at, mask=at < n)
        tl.store(out + row * n + at, value, mask=at < n)


@case()
def layernorm(random, chip):
    n = 1333
    x = Array("fp32", random.normal(1, 2, (4, n)))
    weight, bias = Array("fp32", random.normal(1, 0.2, n)), Array("fp32", random.normal(0, 1, n))
    mean = x.numbers.mean(-1, keepdims=True)
    normal = (x.numbers - mean) / numpy.sqrt(x.numbers.var(-1, keepdims=True) + 1e-5)
    expected = normal * weight.numbers + bias.numbers
    tolerance = n * 2.0**-24 * (abs(normal * weight.numbers) + abs(bias.numbers) + 2)
    means = result("fp32", mean[:, 0], n * 2.0**-24 * abs(x.numbers).mean(-1))
    return Case(layernorm_kernel, (4,), dict(x=x, weight=weight, bias=bias, out=result("fp32", expected, tolerance),
                                             mean_out=means, n=n, epsilon=1e-5, BLOCK=512))


@triton.jit
def cross_entropy_kernel(logits, labels, loss, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    top = -float("inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(logits + row * n + at, mask=at < n, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, tl.max(value, 0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(value - new), 0)
        top = new
    tl.store(loss + row, tl.log(total) + top - tl.load(logits + row * n + label).to(tl.float32))


@case()
def cross_entropy(random, chip):
    n, rows = 2500, 7
    logits, labels = Array("bf16", random.normal(0, 3, (rows, n))), random.integers(0, n, rows)
    x = logits.numbers
    top = x.max(-1)
    expected = numpy.log(numpy.exp(x - top[:, None]).sum(-1)) + top - x[numpy.arange(rows), labels]
    return Case(cross_entropy_kernel, (rows,), dict(logits=logits, labels=Array("i32", labels), n=n, BLOCK=1024,
                                                    loss=result("fp32", expected, n * 2.0**-24 * (2 + abs(expected)))))


@triton.jit
def rope_kernel(x, cosines, sines, out, heads, HALF: tl.constexpr):
    token = tl.program_id(0)
    head = tl.arange(0, 8)[:, None]
    at = tl.arange(0, HALF)[None, :]
    inside = head < heads
    base = (token * heads + head) * (2 * HALF)
    c, s = tl.load(cosines + token * HALF + at), tl.load(sines + token * HALF + at)
    even = tl.load(x + base + 2 * at, mask=inside).to(tl.float32)
    odd = tl.load(x + base + 2 * at + 1, mask=inside).to(tl.float32)
    turned = tl.interleave(even * c - odd * s, even * s + odd * c)
    both = tl.arange(0, 2 * HALF)[None, :]
    tl.store(out + base + both, turned, mask=inside)


@case()
def rope(random, chip):
    tokens, heads, half = 9, 5, 32
    x = Array("fp16", random.normal(0, 1, (tokens, heads, 2 * half)))
    angle = numpy.arange(tokens)[:, None] / 10000.0**(numpy.arange(half) / half)
    cosines, sines = Array("fp32", numpy.cos(angle)), Array("fp32", numpy.sin(angle))
    c, s, v = cosines.numbers[:, None], sines.numbers[:, None], x.numbers
    expected = numpy.empty_like(v)
    expected[..., ::2], expected[..., 1::2] = v[..., ::2] * c - v[..., 1::2] * s, v[..., ::2] * s + v[..., 1::2] * c
    tolerance = abs(expected) * UNIT["fp16"] + 2.0**-21
    return Case(rope_kernel, (tokens,), dict(x=x, cosines=cosines, sines=sines, heads=heads, HALF=half,
                                             out=result("fp16", expected, tolerance)))
