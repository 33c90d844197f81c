"""The kernels of examples/hal_driver, as tests/fixtures/src/model.cl has them."""
import triton
import triton.language as tl


@triton.jit
def matmul(c, a, b, n, k, TILE: tl.constexpr):
    row, column = tl.program_id(1) * TILE + tl.arange(0, TILE), tl.program_id(0) * TILE + tl.arange(0, TILE)
    step = tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, k, TILE):
        left = tl.load(a + row[:, None] * k + start + step[None, :])
        right = tl.load(b + (start + step)[:, None] * n + column[None, :])
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + row[:, None] * n + column[None, :], total)


@triton.jit
def softmax(out, x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=-float("inf"))
    power = tl.exp2(value - tl.max(value, 0)).to(tl.float64)
    tl.store(out + tl.program_id(0) * n + at, tl.floor(256 * power / tl.sum(power, 0) + 0.5).to(tl.float32), mask=at < n)


@triton.jit
def layernorm(out, x, weight, bias, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=0).to(tl.float64)
    centred = tl.where(at < n, value - tl.sum(value, 0) / n, 0)
    scaled = centred / tl.sqrt(tl.sum(centred * centred, 0) / n + 0.0009765625)
    result = scaled * tl.load(weight + at, mask=at < n, other=0) + tl.load(bias + at, mask=at < n, other=0)
    tl.store(out + tl.program_id(0) * n + at, result.to(tl.float32), mask=at < n)
