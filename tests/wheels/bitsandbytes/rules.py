"""One step of each optimizer, as its paper has it, in balls. g, m, v, s: gradients and states; p: parameters."""
from balls import Ball, single

ADAM, MOMENTUM, RMSPROP, ADAGRAD, LION, ADEMAMIX = 0, 1, 2, 4, 5, 6
NAMES = {ADAM: "adam", MOMENTUM: "momentum", RMSPROP: "rmsprop", ADAGRAD: "adagrad", LION: "lion", ADEMAMIX: "ademamix"}


class Hyper:
    """What a step is made with, as fp32 has it."""

    def __init__(self, decay=0.0, gradients=0.5, rough=2.0**-22):
        self.beta1, self.beta2, self.beta3 = Ball(single(0.9)), Ball(single(0.95)), Ball(single(0.99))
        self.alpha, self.eps, self.rate = Ball(2.0), Ball(single(1e-3)), Ball(single(0.01))
        self.decay, self.gradients, self.step = Ball(single(decay)), Ball(gradients), 3
        self.left1 = 1 - self.beta1.power(self.step, rough)
        self.left2 = (1 - self.beta2.power(self.step, rough)).root()

    def shrunk(self, p, kind):
        """Weights decay apart from gradients."""
        return (p * (1 - self.rate * self.decay)).to(kind) if self.decay.value > 0 else p


def mixed(state, beta, new):
    return state * beta + (1 - beta) * new


def step_of_adam(hyper, kind, g, p, m, v, scale=1.0):
    m, v = mixed(m, hyper.beta1, g), mixed(v, hyper.beta2, g * g)
    size = -hyper.rate * hyper.left2 / hyper.left1
    p = (p + scale * size * (m / (v.root() + hyper.eps * hyper.left2))).to(kind)
    return hyper.shrunk(p, kind), m, v


def step_of_ademamix(hyper, kind, g, p, m, slow, v):
    m, slow, v = mixed(m, hyper.beta1, g), mixed(slow, hyper.beta3, g), mixed(v, hyper.beta2, g * g)
    p = (p - hyper.rate * ((m / hyper.left1 + hyper.alpha * slow) / (v.root() / hyper.left2 + hyper.eps))).to(kind)
    return hyper.shrunk(p, kind), m, slow, v


def step_of_momentum(hyper, kind, g, p, s, scale=1.0):
    s = s * hyper.beta1 + g
    return (p - scale * (hyper.rate * s)).to(kind), s


def step_of_lion(hyper, kind, g, p, s, scale=1.0, between="fp32"):
    """`between`: what the library stores the update as."""
    p = hyper.shrunk(p, kind)
    p = (p - scale * (hyper.rate * mixed(s, hyper.beta1, g).sign()).to(between)).to(kind)
    return p, mixed(s, hyper.beta2, g)


def step_of_rmsprop(hyper, kind, g, p, s, scale=1.0):
    s = mixed(s, hyper.beta1, g * g)
    return (p - scale * (hyper.rate * (g / (s.root() + hyper.eps)))).to(kind), s


def step_of_adagrad(hyper, kind, g, p, s, scale=1.0):
    del scale  # which is not adagrad's in the library
    s = s + g * g
    return (p - hyper.rate * (g / (s.root() + hyper.eps))).to(kind), s


ONE_STATE = {MOMENTUM: step_of_momentum, RMSPROP: step_of_rmsprop, ADAGRAD: step_of_adagrad, LION: step_of_lion}
SQUARES = (RMSPROP, ADAGRAD)  # states of these are sums of squares
