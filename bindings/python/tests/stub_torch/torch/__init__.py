"""What the pytest plugin touches of torch, on numpy: tensors on the CPU, functions that modes see,
and a torch.cuda without a GPU. For tests without torch."""
import functools
from types import SimpleNamespace

import numpy as np

_modes = []


def function(raw):
    """One that the innermost mode sees, which is off meanwhile."""
    @functools.wraps(raw)
    def seen(*args, **kwargs):
        return _seen(seen, raw, args, kwargs)
    return seen


def _seen(name, raw, args, kwargs):
    if not _modes:
        return raw(*args, **kwargs)
    mode = _modes.pop()
    try:
        return mode.__torch_function__(name, (), args, kwargs)
    finally:
        _modes.append(mode)


class device:
    def __init__(self, kind, index=None):
        self.type, _, number = kind.partition(":")
        self.index = int(number) if number else index

    def __eq__(self, other):
        return isinstance(other, device) and vars(self) == vars(other)

    def __repr__(self):
        return f"device({self.type}, {self.index})"


def _fact(name, value):
    """An attribute that modes see, by what its descriptor is read with."""
    return property(lambda self: _seen(getattr(Tensor, name).__get__, lambda one: value,
                                       (self,), {}))


class Tensor:
    requires_grad = False

    def __init__(self, array):
        self.array = array

    device = _fact("device", device("cpu"))
    is_cuda = _fact("is_cuda", False)
    is_cpu = _fact("is_cpu", True)
    __array_interface__ = property(lambda self: self.array.__array_interface__)

    @function
    def get_device(self):
        return -1

    @function
    def cuda(self):
        raise AssertionError("there is no GPU")

    @function
    def cpu(self):
        return self

    @function
    def to(self, wanted=None, *, device=None, dtype=None, copy=False):
        for one in (wanted, device):
            place = getattr(one, "type", one)
            assert not isinstance(place, str) or place == "cpu", f"there is no {place}"
        kind = wanted if isinstance(wanted, type) else dtype
        same = not copy and (kind is None or self.array.dtype == kind)
        return self if same else Tensor(self.array.astype(kind or self.array.dtype))

    @function
    def pin_memory(self):
        raise AssertionError("there is no GPU")

    @function
    def is_pinned(self):
        return False

    @function
    def clone(self):
        return Tensor(self.array.copy())

    @function
    def detach(self):
        return Tensor(self.array)

    @function
    def __add__(self, other):
        return Tensor(self.array + getattr(other, "array", other))


def _made(make):
    @function
    def made(*shape, dtype="f4", device=None, pin_memory=False):
        assert device is None or getattr(device, "type", device) == "cpu", f"there is no {device}"
        assert not pin_memory, "there is no GPU"
        return Tensor(make(shape, dtype))
    return made


empty, zeros, ones = _made(np.empty), _made(np.zeros), _made(np.ones)
class Generator:
    def __init__(self, device="cpu"):
        pass

    def __new__(cls, device="cpu"):
        assert device == "cpu", f"there is no {device}"
        return object.__new__(cls)


class _Engine:
    """Of gradients: the program's functions are called by one of torch's, which modes miss."""

    def run_backward(self, called):
        return called()


autograd = SimpleNamespace(Variable=SimpleNamespace(_execution_engine=_Engine()))
cuda = SimpleNamespace(is_available=lambda: False, device_count=lambda: 0)
version = SimpleNamespace(hip=None, cuda="13.0")
