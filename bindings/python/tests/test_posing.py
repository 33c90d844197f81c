"""What --rawhal-torch puts in the place of torch's, on a torch of which only that is there."""
import sys
from types import ModuleType, SimpleNamespace

import pytest

from rawhal.pytest_plugin import posing


class Tensor:
    device, is_cuda, is_cpu = (property(lambda self: None) for _ in range(3))
    get_device = cuda = cpu = to = None

    def pin_memory(self):
        raise RuntimeError("no driver")

    def is_pinned(self):
        raise RuntimeError("no driver")

    def clone(self):
        return Tensor()


class TorchFunctionMode:
    depth = 0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, *why):
        self.depth -= 1


class Generator:
    def __new__(cls, device="cpu"):
        if device != "cpu":
            raise RuntimeError("no driver")
        return object.__new__(cls)


class Engine:
    """Calls a function of the program's, as torch's does with those of backward()."""
    kept = "kept"

    def run_backward(self, function, *, twice=False):
        return function() * (1 + twice)


class DeviceContext:
    """torch's mode for its default device."""
    device = SimpleNamespace(type="cuda")

    def __torch_function__(self, func, _types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is ones:
            kwargs.setdefault("device", self.device)
        return func(*args, **kwargs)


def ones(_size, device=None):
    if getattr(device, "type", None) == "cuda":
        raise RuntimeError("no driver")
    return Tensor()


@pytest.fixture
def torch(monkeypatch):
    """A module that is called torch, while its "cuda" is host memory."""
    torch = ModuleType("torch")
    torch.Tensor, torch.device = Tensor, lambda *of: of
    torch.cuda, torch.version = SimpleNamespace(), SimpleNamespace(hip=None, cuda="13")
    torch.Generator = Generator
    torch.autograd = SimpleNamespace(Variable=SimpleNamespace(_execution_engine=Engine()))
    overrides = ModuleType("torch.overrides")
    overrides.TorchFunctionMode = TorchFunctionMode
    utils, places = ModuleType("torch.utils"), ModuleType("torch.utils._device")
    utils._device, places.DeviceContext = places, DeviceContext
    places._device_constructors = lambda: {ones}
    monkeypatch.setitem(sys.modules, "torch.utils", utils)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.overrides", overrides)
    posing.turn_on("gfx942")
    yield torch
    posing.turn_off()


def test_each_function_is_its_own(torch):
    # torch's compiler looks up by the object what it may do with a function, and fails where two
    # of them are one: so `import aiter` did
    functions = [each for each in vars(torch.cuda).values() if callable(each)]
    assert len(functions) > 20
    assert len({id(each) for each in functions}) == len(functions)
    assert torch.cuda.is_available() and torch.cuda.synchronize(0) is None


def test_the_version_is_hips_while_it_is_on(torch):
    assert torch.version.hip and torch.version.cuda is None
    posing.turn_off()
    assert torch.version.hip is None and torch.version.cuda == "13"


def test_a_device_may_be_named(torch):
    cuda = torch.cuda
    assert cuda.get_device_name(device="cuda") == cuda.get_device_properties(device=0).name
    assert cuda.get_device_capability(device="cuda:0") == (9, 4)
    assert cuda.mem_get_info(device=0) and cuda.memory_allocated(device="cuda") == 0


def test_pinned_memory_is_the_hosts(torch):
    # without a driver torch pins nothing
    def empty(_size, device=None, pin_memory=False):
        assert not pin_memory and device in (None, "cpu", ("cpu",))
        return Tensor()

    call = posing._on._mode.__torch_function__
    made = [call(empty, (), (3,), {"pin_memory": True}),
            call(empty, (), (3,), {"pin_memory": True, "device": "cpu"}),
            call(Tensor.pin_memory, (), (Tensor(),))]
    assert [call(Tensor.is_pinned, (), (each,)) for each in made] == [True, True, True]
    assert not call(Tensor.is_pinned, (), (call(empty, (), (3,), {"device": "cuda"}),))


def test_the_default_device_may_be_cuda(torch):
    # torch's mode for that is below the others: none of them sees what it adds
    mode, context = posing._on._mode, DeviceContext()
    asks = mode.__torch_function__
    made = context.__torch_function__(ones, (), (3,))
    assert asks(Tensor.is_cuda.__get__, (), (made,))
    assert not asks(Tensor.is_cpu.__get__, (), (made,))
    plain = context.__torch_function__(lambda: Tensor(), (), ())  # makes nothing by itself
    assert not asks(Tensor.is_cuda.__get__, (), (plain,))
    with pytest.raises(RuntimeError):
        posing.turn_off()
        context.__torch_function__(ones, (), (3,))


def test_cuda_has_a_generator_of_random_numbers(torch):
    made = [torch.Generator(device="cuda"), torch.Generator("cuda:0"), torch.Generator()]
    assert all(isinstance(each, Generator) for each in made)
    posing.turn_off()
    assert torch.Generator is Generator


def test_functions_that_the_engine_of_gradients_calls_see_cuda_too(torch):
    # "cuda" was torch's own in a backward() of the program's: no driver was found
    mode, engine = posing._on._mode, torch.autograd.Variable._execution_engine
    mode.__exit__(None, None, None)  # as torch does while one of its functions runs
    assert mode.depth == 0
    assert engine.run_backward(lambda: mode.depth, twice=True) == 2
    assert mode.depth == 0 and engine.kept == "kept"
    posing.turn_off()
    assert type(torch.autograd.Variable._execution_engine) is Engine
