"""What --rawhal-torch puts in the place of torch's, on a torch of which only that is there."""
import sys
from types import ModuleType, SimpleNamespace

import pytest

from rawhal.pytest_plugin import posing


class Tensor:
    device = is_cuda = is_cpu = property(lambda self: None)


class TorchFunctionMode:
    def __enter__(self):
        return self

    def __exit__(self, *why):
        pass


@pytest.fixture
def torch(monkeypatch):
    """A module that is called torch, while its "cuda" is host memory."""
    torch = ModuleType("torch")
    torch.Tensor, torch.device = Tensor, lambda *of: of
    torch.cuda, torch.version = SimpleNamespace(), SimpleNamespace(hip=None, cuda="13")
    overrides = ModuleType("torch.overrides")
    overrides.TorchFunctionMode = TorchFunctionMode
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
