"""Optimizers with states of 8 bits in blocks of 256, each with its largest magnitude."""
import copy

import numpy
from balls import Ball
from case import bits_of, numbers
from launches import Codes, Launch, given, near

from .formats import KINDS, TYPES, dynamic_map, nearest
from .optimizers import words
from .rules import ADAGRAD, ADAM, ADEMAMIX, LION, MOMENTUM, NAMES, ONE_STATE, RMSPROP, SQUARES, Hyper, step_of_adam, \
    step_of_ademamix

BLOCK = 256
ROUGH = 2.0**-18  # of powers, which these kernels take with the chip's own logarithm


class State:
    """Codes, and what they mean."""

    def __init__(self, random, count, table):
        self.table = table
        self.codes = random.integers(0, 256, count).astype(numpy.uint8)
        self.scales = random.uniform(0.5, 2, -(-count // BLOCK)).astype(numpy.float32)
        if table[0] >= 0:  # squares, that roots are taken of: none is nearly 0
            self.codes |= 0x80
        self.block = numpy.arange(count) // BLOCK

    @property
    def ball(self):
        return Ball(self.table[self.codes]) * Ball(self.scales[self.block])

    def after(self, ball):
        """The new codes, as a kernel may round them, and the new scales."""
        least, most = numpy.abs(ball.value) - ball.radius, numpy.abs(ball.value) + ball.radius
        low, high = (numpy.maximum.reduceat(each, numpy.arange(0, each.size, BLOCK)) for each in (least, most))
        scales = Ball((low + high) / 2, (high - low) / 2)
        part = ball / Ball(scales.value[self.block], scales.radius[self.block])
        radius = part.radius + numpy.abs(part.value) * 2.0**-23  # and of the middle between two codes
        bounds = nearest(self.table, part.value, radius)
        bounds = [self.with_sign(each, ball.value) for each in bounds]
        return Codes(self.codes, *bounds), near("fp32", self.scales, scales)

    def with_sign(self, codes, values):
        """No sign is lost to 0: the next code that has it. Zeros have none."""
        lost = numpy.signbit(self.table[codes]) != numpy.signbit(values)
        return numpy.where(lost, numpy.where(values > 0, codes + 1, codes - 1), codes) if self.table[0] < 0 else codes


def behind(first, second):
    """Two arrays of the same kind as one."""
    both = copy.copy(first)
    for name in ("bits", "expected", "most" if isinstance(first, Codes) else "tolerance"):
        setattr(both, name, numpy.concatenate([getattr(first, name), getattr(second, name)]))
    return both


def data_of(random, kind, count):
    g, p = random.normal(size=count) * 0.25, random.normal(size=count)
    return (numbers(kind, bits_of(kind, each)) for each in (g, p))


def two_states(random, type_, optimizer, decay):
    kind, hyper = KINDS[type_], Hyper(decay, rough=ROUGH)
    count = 2 * BLOCK if optimizer == ADEMAMIX else 2 * BLOCK + 101  # of which a second state begins with a block
    g, p = data_of(random, kind, count)
    broken = numpy.zeros(count, bool)
    broken[[7, 300, 301]] = True
    m, slow = (State(random, count, dynamic_map(True)) for _ in range(2))
    v = State(random, count, dynamic_map(False))
    gradients = Ball(numpy.where(broken, 0, g)) * hyper.gradients
    if optimizer == ADEMAMIX:
        after, new_m, new_slow, new_v = step_of_ademamix(hyper, kind, gradients, Ball(p), m.ball, slow.ball, v.ball)
    else:
        after, new_m, new_v = step_of_adam(hyper, kind, gradients, Ball(p), m.ball, v.ball)
        new_slow = slow.ball
    # Infinite gradients change no parameter and clear states.
    after = after.where(~broken, p)
    new_m, new_slow, new_v = (each.where(~broken, 0.0) for each in (new_m, new_slow, new_v))
    g = numpy.where(broken, [numpy.inf, numpy.nan, -numpy.inf] * (count // 3) + [0.0] * (count % 3), g)
    (codes, scales), (codes2, scales2) = m.after(new_m), v.after(new_v)
    if optimizer == ADEMAMIX:
        more, more_scales = slow.after(new_slow)
        codes, scales = behind(codes, more), behind(scales, more_scales)
    arguments = [near(kind, p, after), given(kind, g), codes, codes2,
                 *words(hyper.beta1, hyper.beta2, hyper.beta3, hyper.alpha, hyper.eps), f"i32:{hyper.step}",
                 *words(hyper.rate), given("fp32", m.table), given("fp32", v.table), scales, scales2,
                 *words(hyper.decay, hyper.gradients), "u8:0", f"i32:{count}"]
    return Launch(f"kOptimizerStatic8bit2StateBlockwise<{type_}, {optimizer}, 256, 1>", (-(-count // BLOCK),), BLOCK,
                  arguments, NAMES[optimizer] + ", weight decay" * (decay > 0))


def one_state(random, type_, optimizer, decay):
    """Gradients of sums of squares come into the library's updates without their factor, so that is 1 here."""
    kind, hyper = KINDS[type_], Hyper(decay, 1.0 if optimizer in SQUARES else 0.5)
    count = 2 * BLOCK + 101
    g, p = data_of(random, kind, count)
    state = State(random, count, dynamic_map(True))
    if optimizer in SQUARES:
        state.codes |= 0x80
    gradients = Ball(g) * hyper.gradients
    if optimizer == MOMENTUM and decay > 0:
        gradients = gradients + Ball(p) * hyper.decay
    stored = {"between": kind} if optimizer == LION else {}
    after, new = ONE_STATE[optimizer](hyper, kind, gradients, Ball(p), state.ball, **stored)
    codes, scales = state.after(new)
    arguments = [near(kind, p, after), given(kind, g), codes, *words(hyper.beta1, hyper.beta2, hyper.eps),
                 f"i32:{hyper.step}", *words(hyper.rate), given("fp32", state.table), scales,
                 *words(hyper.decay, hyper.gradients), "u8:0", f"i32:{count}"]
    return Launch(f"kOptimizerStatic8bit1StateBlockwise<{type_}, {optimizer}, 256, 1>", (-(-count // BLOCK),), BLOCK,
                  arguments, NAMES[optimizer] + ", weight decay" * (decay > 0))


def launches(random, lanes):
    del lanes
    for type_ in TYPES:
        for optimizer in (ADAM, ADEMAMIX):
            for decay in (0.0, 0.01):
                yield two_states(random, type_, optimizer, decay)
        for optimizer in (MOMENTUM, RMSPROP, ADAGRAD, LION):
            yield one_state(random, type_, optimizer, 0.0)
        for optimizer in (MOMENTUM, LION):
            yield one_state(random, type_, optimizer, 0.01)
