"""The mode of torch.set_default_device()."""
import torch
from torch.overrides import TorchFunctionMode


def _device_constructors():
    return {torch.empty, torch.zeros, torch.ones}


class DeviceContext(TorchFunctionMode):
    def __init__(self, device):
        self.device = device

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs = {**kwargs, "device": self.device}
        return func(*args, **kwargs)
