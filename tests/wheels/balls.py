"""Numbers with what they may be off by, so that what is expected of a kernel needs no guessed tolerance.

Each operation of fp32 rounds once, by half of its last place; a product that a compiler contracts with a sum rounds less
often, not more. Quotients, roots and powers are exact to a few of the last places as HIP has them. What none of that can
have changed is exact: radius 0."""
import numpy
from case import UNIT, bits_of, numbers

STEP = UNIT["fp32"]
ROUGH = 2.0**-22  # of quotients and roots: 2.5 places as HIP's __fdividef() and sqrtf() may have them
LEAST = 2.0**-149
LEAST_OF = {"fp32": 2.0**-150, "fp16": 2.0**-25, "bf16": 2.0**-134}  # half of the smallest number's place


def single(value):
    """What an argument f32:VALUE is."""
    return float(numpy.float32(value))


def _rounded(value, radius, relative=STEP):
    value = numpy.asarray(value, numpy.float64)
    exact = (radius == 0) & (value.astype(numpy.float32) == value)
    return Ball(value, numpy.where(exact, 0.0, radius + numpy.abs(value) * relative + LEAST))


class Ball:
    def __init__(self, value, radius=0.0):
        self.value = numpy.asarray(value, numpy.float64)
        self.radius = numpy.asarray(radius, numpy.float64)

    @staticmethod
    def of(value):
        return value if isinstance(value, Ball) else Ball(value)

    def __add__(self, other):
        other = Ball.of(other)
        return _rounded(self.value + other.value, self.radius + other.radius)

    def __neg__(self):
        return Ball(-self.value, self.radius)

    def __sub__(self, other):
        return self + -Ball.of(other)

    def __rsub__(self, other):
        return Ball.of(other) + -self

    def __mul__(self, other):
        other = Ball.of(other)
        radius = numpy.abs(self.value) * other.radius + numpy.abs(other.value) * self.radius + self.radius * other.radius
        return _rounded(self.value * other.value, radius)

    def __truediv__(self, other):
        other = Ball.of(other)
        quotient = self.value / other.value
        radius = (self.radius + numpy.abs(quotient) * other.radius) / (numpy.abs(other.value) - other.radius)
        return Ball(quotient, radius + numpy.abs(quotient) * ROUGH + LEAST)

    __radd__, __rmul__ = __add__, __mul__

    def root(self):
        most, least = numpy.sqrt(self.value + self.radius), numpy.sqrt(numpy.maximum(self.value - self.radius, 0))
        return Ball((most + least) / 2, (most - least) / 2 + most * ROUGH)

    def power(self, exponent, relative=ROUGH):
        value = self.value**exponent
        return Ball(value, numpy.abs(value) * relative)

    def sign(self):
        """Of one that may be zero: any sign."""
        return Ball(numpy.sign(self.value), numpy.where((numpy.abs(self.value) <= self.radius) & (self.radius > 0), 1.0, 0.0))

    def to(self, kind):
        """Stored as `kind`, to nearest."""
        if kind == "fp32":
            return self
        nearest = numbers(kind, bits_of(kind, self.value.astype(numpy.float32)))
        places = numpy.abs(self.value) * UNIT[kind] + LEAST_OF[kind]
        return Ball(numpy.where(self.radius == 0, nearest, self.value),
                    numpy.where(self.radius == 0, 0.0, self.radius + places))

    def where(self, mask, other):
        """This one where `mask` is set, the other elsewhere."""
        other = Ball.of(other)
        return Ball(numpy.where(mask, self.value, other.value), numpy.where(mask, self.radius, other.radius))

    def total(self, start, depth):
        """The sum and `start`; no number goes through more than `depth` additions."""
        most = numpy.abs(self.value).sum() + abs(start)
        return Ball(self.value.sum() + start, self.radius.sum() + most * depth * STEP)
