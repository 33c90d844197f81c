"""Optimizers with states of 32 bits, and the norms of their updates, that steps are limited by."""
import numpy
from balls import Ball, single
from case import bits_of, numbers
from launches import Launch, given, near

from .formats import KINDS, TYPES
from .rules import ADAGRAD, ADAM, ADEMAMIX, LION, MOMENTUM, NAMES, ONE_STATE, RMSPROP, SQUARES, Hyper, step_of_adam, \
    step_of_ademamix

COUNT = 4096 + 1003  # a group's and a part of one
PLAIN, DECAY, LIMITED = "", "weight decay, zeros skipped", "limited norm"


def words(*values):
    return [f"f32:{float(each.value if isinstance(each, Ball) else each)!r}" for each in values]


class Data:
    """Gradients, parameters and states, of which some gradients are 0."""

    def __init__(self, random, kind):
        g = random.normal(size=COUNT) * 0.25
        g[random.integers(0, COUNT, 50)] = 0
        self.g, self.p = (numbers(kind, bits_of(kind, each)) for each in (g, random.normal(size=COUNT)))
        self.m, self.slow = ((random.normal(size=COUNT) * 0.1).astype(numpy.float32) for _ in range(2))
        self.v = random.uniform(0.001, 0.1, COUNT).astype(numpy.float32)


def scale_of(hyper, what, slack):
    """The norm's square, its limit and the parameters' norm as arguments, and what steps are scaled by."""
    if what != LIMITED:
        return "ptr:null", words(0, 0), 1.0
    square, most, norm = 9.0, 0.5, single(2.3)
    return given("fp32", [square]), words(most, norm), (Ball(most) * norm + slack * hyper.eps) / Ball(square).root()


def two_states(random, type_, optimizer, what):
    kind, hyper = KINDS[type_], Hyper(0.01 if what == DECAY else 0.0)
    data = Data(random, kind)
    g, p, m, v = (Ball(each) for each in (data.g, data.p, data.m, data.v))
    g = (g * hyper.gradients).to(kind)
    norm, limit, scale = scale_of(hyper, what, 0.0)
    if optimizer == ADEMAMIX:
        after, m, slow, v = step_of_ademamix(hyper, kind, g, p, m, Ball(data.slow), v)
        first = near("fp32", numpy.concatenate([data.m, data.slow]),
                     Ball(numpy.concatenate([m.value, slow.value]), numpy.concatenate([m.radius, slow.radius])))
    else:
        after, m, v = step_of_adam(hyper, kind, g, p, m, v, scale)
        if what == DECAY:
            after, m, v = (new.where(data.g != 0, old) for new, old in ((after, data.p), (m, data.m), (v, data.v)))
        first = near("fp32", data.m, m)
    arguments = [given(kind, data.g), near(kind, data.p, after), first, near("fp32", data.v, v), norm, *limit,
                 *words(hyper.beta1, hyper.beta2, hyper.beta3, hyper.alpha, hyper.eps, hyper.decay), f"i32:{hyper.step}",
                 *words(hyper.rate, hyper.gradients), f"u8:{int(what == DECAY)}", f"i32:{COUNT}"]
    return Launch(f"kOptimizer32bit2State<{type_}, {optimizer}>", (2,), 1024, arguments, f"{NAMES[optimizer]} {what}")


def one_state(random, type_, optimizer, what):
    kind, hyper = KINDS[type_], Hyper(0.01 if what == DECAY else 0.0)
    data = Data(random, kind)
    before = data.v if optimizer in SQUARES else data.m
    g, p = (Ball(data.g) * hyper.gradients).to(kind), Ball(data.p)
    if what == DECAY and optimizer != LION:
        g = (g + p * hyper.decay).to(kind)
    norm, limit, scale = scale_of(hyper, what, 1.0)
    after, s = ONE_STATE[optimizer](hyper, kind, g, p, Ball(before), scale)
    if what == DECAY:
        after, s = after.where(g.value != 0, data.p), s.where(g.value != 0, before)
    arguments = [given(kind, data.g), near(kind, data.p, after), near("fp32", before, s), norm, *limit,
                 *words(hyper.beta1, hyper.beta2, hyper.eps, hyper.decay), f"i32:{hyper.step}",
                 *words(hyper.rate, hyper.gradients), f"u8:{int(what == DECAY)}", f"i32:{COUNT}"]
    return Launch(f"kOptimizer32bit1State<{type_}, {optimizer}>", (2,), 1024, arguments, f"{NAMES[optimizer]} {what}")


DEPTH = 40  # 8 of a lane, 5 of a wave, 16 waves and 2 groups, and some


def norm_of_two(random, type_, optimizer):
    """The sum of the squares of Adam's updates; of AdEMAMix that of the state, which the kernel leaves as it is."""
    kind, hyper = KINDS[type_], Hyper()
    data = Data(random, kind)
    g, m, v = (Ball(data.g) * hyper.gradients).to(kind), Ball(data.m), Ball(data.v)
    if optimizer == ADAM:
        m, v = mixed_and_corrected(hyper, g, m, v)
        update = m / (v.root() + hyper.eps)
        update = update * update
    else:
        update = m
    arguments = [given(kind, data.g), "ptr:null", given("fp32", data.m), given("fp32", data.v),
                 near("fp32", [1.5], update.total(1.5, DEPTH)), *words(hyper.beta1, hyper.beta2, hyper.eps, 0),
                 f"i32:{hyper.step}", *words(hyper.rate, hyper.gradients), f"i32:{COUNT}"]
    return Launch(f"kPreconditionOptimizer32bit2State<{type_}, {optimizer}, 4096, 8>", (2,), 512, arguments,
                  NAMES[optimizer])


def mixed_and_corrected(hyper, g, m, v):
    m, v = m * hyper.beta1 + (1 - hyper.beta1) * g, v * hyper.beta2 + (1 - hyper.beta2) * (g * g)
    return (m * (Ball(1.0) / (1 - hyper.beta1.power(hyper.step))), v * (Ball(1.0) / (1 - hyper.beta2.power(hyper.step))))


def norm_of_one(random, type_, optimizer):
    """The sum of the squares of updates; Lion's is that of its states."""
    kind, hyper = KINDS[type_], Hyper()
    data = Data(random, kind)
    before = data.v if optimizer in SQUARES else data.m
    g = (Ball(data.g) * hyper.gradients).to(kind)
    _, s = ONE_STATE[optimizer](hyper, kind, g, Ball(data.p), Ball(before))
    update = g / (s.root() + hyper.eps) if optimizer in SQUARES else s
    if optimizer != LION:
        update = update * update
    arguments = [given(kind, data.g), "ptr:null", given("fp32", before), near("fp32", [1.5], update.total(1.5, DEPTH)),
                 *words(hyper.beta1, hyper.beta2, hyper.eps, 0), f"i32:{hyper.step}",
                 *words(hyper.rate, hyper.gradients), f"i32:{COUNT}"]
    return Launch(f"kPreconditionOptimizer32bit1State<{type_}, {optimizer}, 4096, 8>", (2,), 512, arguments,
                  NAMES[optimizer])


def launches(random, lanes):
    del lanes
    for index, type_ in enumerate(TYPES):
        for at, optimizer in enumerate((ADAM, ADEMAMIX)):
            for what in (PLAIN, DECAY, LIMITED)[(index + at) % 2::2]:
                yield two_states(random, type_, optimizer, what)
            yield norm_of_two(random, type_, optimizer)
        for at, optimizer in enumerate((MOMENTUM, RMSPROP, ADAGRAD, LION)):
            for what in (PLAIN, DECAY, LIMITED)[(index + at) % 2::2]:
                yield one_state(random, type_, optimizer, what)
            yield norm_of_one(random, type_, optimizer)
