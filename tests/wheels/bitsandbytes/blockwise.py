"""Numbers to 8 and 4 bits and back, each block with its largest magnitude."""
import numpy
from case import bits_of, numbers
from launches import Codes, Launch, Nibbles, exactly, given

from .formats import FP4, KINDS, NF4, TYPES, dynamic_map, fp4_of, nearest, nf4_of

BYTES, FP4_TYPE, NF4_TYPE = 0, 1, 2
TO_FOUR = {FP4_TYPE: fp4_of, NF4_TYPE: nf4_of}
FROM_FOUR = {FP4_TYPE: FP4, NF4_TYPE: NF4}
CHANCE = 0.375


def block_of_zeros(random, kind, count, block):
    """Numbers of which the second block is all zeros: its scale is infinite, and its numbers' products NaN, code 0."""
    values = random.normal(size=count)
    values[block:2 * block] = 0
    return values, numbers(kind, bits_of(kind, values)).astype(numpy.float32)


def scaled(values, block):
    """Of each block the largest magnitude, and the numbers over it, as fp32 has them: times the reciprocal."""
    blocks = -(-values.size // block)
    padded = numpy.zeros(blocks * block, numpy.float32)
    padded[:values.size] = values
    largest = numpy.abs(padded.reshape(blocks, block)).max(axis=1)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        each = padded.reshape(blocks, block) * (numpy.float32(1) / largest)[:, None]
    return largest, each.reshape(-1)


def by_chance(codes, values):
    """Between two codes the one that random numbers, all CHANCE, choose. An even one is the last that a binary search for
    the number comes to: it is left for the other of its two when the distance to that, in their distance, is small."""
    even = codes[0::2].astype(numpy.float64)
    codes = codes.astype(numpy.float64)
    middle = 2 * numpy.clip(numpy.searchsorted(codes[1::2], values, "left"), 0, even.size - 1)
    below, above = numpy.maximum(middle - 1, 0), middle + 1
    with numpy.errstate(divide="ignore", invalid="ignore"):
        up = (codes[above] - values) / (codes[above] - codes[middle])
        down = (values - codes[below]) / (codes[middle] - codes[below])
    return numpy.where(values > codes[middle], numpy.where(up <= CHANCE, above, middle),
                       numpy.where(down <= CHANCE, below, middle))


def quantized(random, kind, block, stochastic, data):
    """The five arguments that are buffers, and how many numbers there are: two blocks and a part of one."""
    count = 2 * block + block // 2 + 3
    values, seen = block_of_zeros(random, kind, count, block)
    largest, each = scaled(seen, block)
    zeros = numpy.isnan(each)
    each = numpy.where(zeros, 0, each).astype(numpy.float64)
    codes = dynamic_map(True)
    chances = "ptr:null"
    if data != BYTES:
        both = (numpy.where(zeros, 0, codes)[:count + count % 2] for codes in TO_FOUR[data](each))
        out = Nibbles(*both)
    else:
        if stochastic:
            chances = given("fp32", numpy.full(2 * 4096, CHANCE))  # the kernel reads beyond the 1024 that are documented
            least = most = by_chance(codes, each)
        else:
            least, most = nearest(codes, each, numpy.abs(each) * 2.0**-23)
        least, most = (numpy.where(zeros, 0, bound)[:count] for bound in (least, most))
        out = Codes(numpy.full(count, 0xa5), least, most)
    table = given("fp32", codes) if data == BYTES else "ptr:null"
    return [table, given(kind, values), exactly("fp32", largest), out, chances, "i32:0", f"i32:{count}"], count


def quantize(random, type_, block, each, stochastic, data):
    arguments, count = quantized(random, KINDS[type_], block, stochastic, data)
    return Launch(f"kQuantizeBlockwise<{type_}, {block}, {each}, {stochastic}, {data}>", (-(-count // block),), block // each,
                  arguments)


def quantize_small(random, type_, block, data, lanes):
    """Several blocks a wave."""
    arguments, count = quantized(random, KINDS[type_], block, 0, data)
    return Launch(f"kQuantizeBlockwiseSmall<{type_}, {block}, {data}>", (-(-count // (2 * lanes)),), lanes, arguments)


def dequantize(random, type_, data, block):
    kind, tile = KINDS[type_], 512
    count = (4 if data else 2) * tile + 301
    size = (count + 1) // 2 if data else count
    codes = random.integers(0, 256, size).astype(numpy.uint8)
    groups = -(-size // tile)
    step = block // 2 if data else block
    scales = random.uniform(0.25, 4, -(-groups * tile // step)).astype(numpy.float32)  # lanes without numbers read theirs
    table = dynamic_map(True)
    if data:
        each = FROM_FOUR[data][numpy.stack([codes >> 4, codes & 15], axis=1).reshape(-1)[:count]]
    else:
        each = table[codes]
    out = bits_of(kind, each * scales[numpy.arange(count) // block])
    return Launch(f"kDequantizeBlockwise<{type_}, 512, 64, 8, {data}>", (groups,), 64,
                  [given("fp32", table) if data == BYTES else "ptr:null", given("u8", codes), given("fp32", scales),
                   exactly(kind, out), f"i32:{step}", f"i32:{count}"], f"blocks of {block}")


def launches(random, lanes):
    for type_ in TYPES:
        yield quantize(random, type_, 4096, 4, 1, BYTES)
        for data in (BYTES, FP4_TYPE, NF4_TYPE):
            for block in (64, 128, 256, 512, 1024, 2048, 4096):
                if block > 64 or data == BYTES:
                    yield quantize(random, type_, block, 4 if block > 512 else 2, 0, data)
            for block in (64, 512, 4096):
                yield dequantize(random, type_, data, block)
        for data in (FP4_TYPE, NF4_TYPE):
            if lanes == 32:  # otherwise a block of 64 would be half a wave
                yield quantize(random, type_, 64, 2, 0, data)
            for block in (32, 64):
                yield quantize_small(random, type_, block, data, lanes)
