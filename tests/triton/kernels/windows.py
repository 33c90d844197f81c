"""Kernels over windows: convolutions and pooling."""
import numpy
import triton
import triton.language as tl

from case import Array, Case, case, result, small


@triton.jit
def causal_kernel(x, weight, bias, out, length, channels, C: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """One filter for each channel, over the past only; then x sigmoid(x)."""
    t, c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, C)
    total = tl.zeros((BLOCK, C), tl.float32) + tl.load(bias + c, mask=c < channels, other=0)[None, :]
    for back in tl.static_range(WIDTH):
        then = t - (WIDTH - 1 - back)
        seen = ((then >= 0) & (then < length))[:, None] & (c[None, :] < channels)
        value = tl.load(x + then[:, None] * channels + c[None, :], mask=seen, other=0).to(tl.float32)
        total += value * tl.load(weight + c * WIDTH + back, mask=c < channels, other=0)[None, :]
    inside = (t[:, None] < length) & (c[None, :] < channels)
    tl.store(out + t[:, None] * channels + c[None, :], total * tl.sigmoid(total), mask=inside)


@case()
def convolution_causal(random, chip):
    length, channels, width = 100, 24, 4
    x, weight = Array("bf16", small(random, (length, channels), 1)), small(random, (channels, width), 1)
    bias = small(random, channels, 1)
    padded = numpy.pad(x.numbers, ((width - 1, 0), (0, 0)))
    total = bias + sum(padded[i:i + length] * weight[:, i] for i in range(width))
    return Case(causal_kernel, (4,), dict(x=x, weight=Array("fp32", weight), bias=Array("fp32", bias), length=length,
                                          channels=channels, C=32, WIDTH=width, BLOCK=32,
                                          out=result("fp32", total / (1 + numpy.exp(-total)), 2.0**-19)))


@triton.jit
def convolution_kernel(x, weight, out, height, width, channels, filters, HIGH: tl.constexpr, WIDE: tl.constexpr,
                       STRIDE: tl.constexpr, PAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """As a product of patches that are never stored; pictures and filters with the channels last."""
    out_height, out_width = (height + 2 * PAD - HIGH) // STRIDE + 1, (width + 2 * PAD - WIDE) // STRIDE + 1
    pixel, f = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    row, column = pixel // out_width * STRIDE - PAD, pixel % out_width * STRIDE - PAD
    picture = tl.program_id(2)
    total = tl.zeros((M, N), tl.float32)
    size = HIGH * WIDE * channels
    for start in range(0, size, K):
        k = start + tl.arange(0, K)
        y, z = row[:, None] + (k // (WIDE * channels))[None, :], column[:, None] + (k // channels % WIDE)[None, :]
        inside = (y >= 0) & (y < height) & (z >= 0) & (z < width) & (k < size)[None, :]
        patch = tl.load(x + ((picture * height + y) * width + z) * channels + (k % channels)[None, :], mask=inside, other=0)
        filter = tl.load(weight + f[None, :] * size + k[:, None], mask=(f < filters)[None, :] & (k < size)[:, None], other=0)
        total = tl.dot(patch, filter, total)
    pixels = out_height * out_width
    tl.store(out + (picture * pixels + pixel[:, None]) * filters + f[None, :], total,
             mask=(pixel < pixels)[:, None] & (f < filters)[None, :])


@case()
def convolution_2d(random, chip):
    height, width, channels, filters, stride, pad = 13, 11, 10, 20, 2, 1
    x = Array("fp16", small(random, (2, height, width, channels)))
    weight = Array("fp16", small(random, (filters, 3, 3, channels)))
    padded = numpy.pad(x.numbers, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))[:, ::stride, ::stride]
    expected = numpy.einsum("byxchw,fhwc->byxf", windows, weight.numbers)
    return Case(convolution_kernel, (2, 1, 2), dict(x=x, weight=weight, out=result("fp32", expected), height=height, width=width,
                                                    channels=channels, filters=filters, HIGH=3, WIDE=3, STRIDE=stride, PAD=pad,
                                                    M=32, N=32, K=32))


@triton.jit
def pool_kernel(x, most_out, mean_out, length, WINDOW: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    where = at[:, None] * WINDOW + tl.arange(0, WINDOW)[None, :]
    inside = where < length
    value = tl.load(x + where, mask=inside, other=0).to(tl.int32)
    tl.store(most_out + at, tl.max(tl.where(inside, value, -128), 1), mask=at < tl.cdiv(length, WINDOW))
    tl.store(mean_out + at, tl.sum(value, 1) // tl.sum(inside.to(tl.int32), 1), mask=at < tl.cdiv(length, WINDOW))


@case()
def pooling(random, chip):
    length, window = 997, 8
    x = random.integers(-128, 128, length)
    parts = [x[i:i + window] for i in range(0, length, window)]
    means = [int(part.sum() / len(part)) for part in parts]  # towards zero
    return Case(pool_kernel, (2,), dict(x=Array("i8", x), most_out=result("i8", [part.max() for part in parts]), length=length,
                                        mean_out=result("i32", means), WINDOW=window, BLOCK=64))
