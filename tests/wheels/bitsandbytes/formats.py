"""The numbers of 8 and 4 bits that bitsandbytes has, from their definitions.

8 bits: the dynamic map of "8-bit Optimizers via Block-wise Quantization" (Dettmers and others, 2021): a sign, a power of
ten that the first bit which is set states, and a fraction from 0.1 to 1, linear, at the middle of its interval. nf4: of
"QLoRA" (2023), quantiles of the normal distribution. fp4: a sign, two bits of exponent and one of fraction, over 12.
A number is the nearest one's; of several blocks each is divided by its largest magnitude first."""
import numpy

KINDS = {"float": "fp32", "__half": "fp16", "__hip_bfloat16": "bf16"}
TYPES = tuple(KINDS)

NF4 = numpy.array([
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0
], numpy.float32)
FP4_SIZES = numpy.array([0, 0.0625, 8, 12, 4, 6, 2, 3]) / 12  # by code
FP4 = numpy.concatenate([FP4_SIZES, -FP4_SIZES]).astype(numpy.float32)


def dynamic_map(signed):
    values = [0.0, 1.0]
    for bits in range(7):
        ends = numpy.linspace(0.1, 1, 2**(bits if signed else bits + 1) + 1)
        middles = (ends[:-1] + ends[1:]) / 2 * 10.0**(bits - 6)
        values += [*middles, *-middles] if signed else [*middles]
    return numpy.sort(numpy.array(values)).astype(numpy.float32)


def nearest(codes, values, radius):
    """The least and the greatest index of the sorted `codes` that is nearest to something within `radius` of a value."""
    codes = codes.astype(numpy.float64)
    middles = (codes[1:] + codes[:-1]) / 2
    return numpy.searchsorted(middles, values - radius, "left"), numpy.searchsorted(middles, values + radius, "right")


MIDDLES = 2.0**-20  # the library states the middles of fp4 to six digits


def nf4_of(values):
    """Both codes that may be the nearest."""
    return nearest(NF4, values, numpy.abs(values) * MIDDLES)


def fp4_of(values):
    order = numpy.argsort(FP4_SIZES)
    sizes = numpy.abs(values)
    return [order[each] + 8 * (values < 0) for each in nearest(FP4_SIZES[order], sizes, sizes * MIDDLES)]
