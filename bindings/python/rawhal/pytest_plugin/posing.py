"""torch's device "cuda" as host memory, for tests that were written for a GPU:
`pytest --rawhal-torch`.

Tensors that are made on, or moved to, "cuda" are torch's own in host memory, which kernels of
Triton's use in place; they, and what is computed from them, say that they are on cuda:0. torch
computes with the CPU, and so at its precision. A move between "cuda" and "cpu" copies, as it would.
torch.cuda says that there is one GPU, of this process's chip.

Not imitated: torch's memory allocator, streams and graphs that overlap, torch.compile, random
numbers as a GPU makes them; nor that a kernel refuses a tensor that is on the CPU."""
from __future__ import annotations

import contextlib
import time
from types import SimpleNamespace
from typing import Any, Optional

_on: Optional["_Posing"] = None


def is_on() -> bool:
    """Whether "cuda" is host memory in this process."""
    return _on is not None


def turn_on(chip: str) -> None:
    """From now on, for all threads that begin no torch function mode of their own. Raises
    ImportError without torch."""
    global _on
    if _on is None:
        _on = _Posing(chip)
        _on.begin()


def turn_off() -> None:
    """Not any more."""
    global _on
    if _on is not None:
        _on.end()
        _on = None


_FLAG, _PINNED = "_rawhal_is_cuda", "_rawhal_is_pinned"


def _is_cuda(device: Any) -> bool:
    """Whether torch would take it for the GPU: "cuda", "cuda:0", 0, torch.device("cuda")."""
    if isinstance(device, str):
        return device.split(":")[0] == "cuda"
    return (isinstance(device, int) and not isinstance(device, bool)
            or getattr(device, "type", None) == "cuda")


def _is_cpu(device: Any) -> bool:
    return device == "cpu" or getattr(device, "type", None) == "cpu"


def _tensors(values: Any, kind: type) -> Any:
    for value in values:
        if isinstance(value, kind):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value, kind)


def _mode(torch: Any) -> Any:
    """The class of the mode: torch's base class is there only with torch."""
    from torch.overrides import TorchFunctionMode

    tensor, cuda0, cpu = torch.Tensor, torch.device("cuda", 0), torch.device("cpu")
    of_device, of_is_cuda, of_is_cpu = (tensor.device.__get__, tensor.is_cuda.__get__,
                                        tensor.is_cpu.__get__)

    def flag(result: Any) -> Any:
        for each in _tensors((result,), tensor):
            setattr(each, _FLAG, True)
        return result

    def pin(made: Any) -> Any:
        for each in _tensors((made,), tensor):
            setattr(each, _PINNED, True)
        return made

    def is_flagged(value: Any) -> bool:
        return _FLAG in getattr(value, "__dict__", ())

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (),
                               kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func == of_device:
                return cuda0 if is_flagged(args[0]) else cpu
            if func == of_is_cuda or func == of_is_cpu:
                return is_flagged(args[0]) is (func == of_is_cuda)
            if func is tensor.get_device:
                return 0 if is_flagged(args[0]) else -1
            if func is tensor.cuda:
                return args[0] if is_flagged(args[0]) else flag(args[0].clone())
            if func is tensor.cpu:
                return _without_flag(args[0])
            if func is tensor.to:
                return self.move(func, args, kwargs)
            if func is tensor.pin_memory:
                return pin(args[0].clone())
            if func is tensor.is_pinned:
                return _PINNED in getattr(args[0], "__dict__", ())
            if kwargs.get("pin_memory"):  # all of the host's is a device's
                return pin(self.__torch_function__(func, types, args,
                                                   {**kwargs, "pin_memory": False}))
            if "device" in kwargs and kwargs["device"] is not None:
                if _is_cuda(kwargs["device"]):
                    return self.make(func, args, kwargs)
                return func(*args, **kwargs)
            result = func(*args, **kwargs)
            if any(is_flagged(each) for each in _tensors((args, tuple(kwargs.values())), tensor)):
                flag(result)
            return result

        def make(self, func: Any, args: Any, kwargs: Any) -> Any:
            """What a function makes on "cuda"."""
            return flag(func(*args, **{**kwargs, "device": cpu}))

        def move(self, func: Any, args: Any, kwargs: Any) -> Any:
            """Tensor.to(): with a device, a dtype, both, or another tensor."""
            source, rest = args[0], list(args[1:])
            wanted = kwargs.get("device", rest[0] if rest else None)
            if isinstance(wanted, tensor):
                to_cuda, to_cpu = is_flagged(wanted), not is_flagged(wanted)
            else:
                to_cuda, to_cpu = _is_cuda(wanted), _is_cpu(wanted)
                if to_cuda or to_cpu:
                    if rest and "device" not in kwargs:
                        rest[0] = cpu
                    else:
                        kwargs = {**kwargs, "device": cpu}
            result = func(source, *rest, **kwargs)
            if not to_cuda and not to_cpu:
                return flag(result) if is_flagged(source) else result
            if to_cuda == is_flagged(source):
                return flag(result) if to_cuda else result
            if result is source:
                result = source.clone()
            return flag(result) if to_cuda else _without_flag(result)

    def _without_flag(value: Any) -> Any:
        """A copy in what poses as the host's memory; what is there already stays."""
        if not is_flagged(value):
            return value
        copy = value.detach().clone() if not value.requires_grad else value.clone()
        copy.__dict__.pop(_FLAG, None)
        return copy

    return Mode()


class _Event:
    """torch.cuda.Event: launches on host memory have ended when they return."""

    def __init__(self, *_arguments: Any, **_named: Any):
        self._time = 0.0

    def record(self, *_arguments: Any) -> None:
        self._time = time.perf_counter()

    def elapsed_time(self, end: "_Event") -> float:
        """Milliseconds of this machine's clock, which say nothing of a GPU."""
        return (end._time - self._time) * 1e3

    def synchronize(self) -> None:
        pass

    wait = synchronize

    def query(self) -> bool:
        return True


class _Stream(_Event):
    """torch.cuda.Stream: all of them are one."""
    cuda_stream = 0
    device_index = 0

    def wait_stream(self, *_arguments: Any) -> None:
        pass

    wait_event = record_event = wait_stream


_IDLE = ("synchronize", "empty_cache", "set_device", "manual_seed", "manual_seed_all", "init",
         "reset_peak_memory_stats")


def _nothing() -> Any:
    """A function that does nothing."""
    return lambda *arguments, **named: None


def _default_device(mode: Any, places: Any) -> Any:
    """In the place of the method of torch's mode for torch.set_default_device(), and `with
    torch.device(...)`: it is always below the other modes, so they do not see what it adds."""
    before = places.DeviceContext.__torch_function__

    def add_device(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if (_is_cuda(self.device) and kwargs.get("device") is None
            and func in places._device_constructors()):
            return mode.make(func, args, kwargs)
        return before(self, func, types, args, kwargs)

    return add_device


def _generator(torch: Any) -> Any:
    """torch.Generator, of which "cuda" has one, too: not of the same numbers."""
    base = torch.Generator

    class Generator(base):  # type: ignore[misc, valid-type]
        def __new__(cls, device: Any = "cpu") -> Any:
            return base.__new__(cls, "cpu" if _is_cuda(device) else device)

    return Generator


class _Engine:
    """torch's engine of gradients. It calls functions of the program's, from inside of one of
    torch's, where the mode is off: it is on for them here."""

    def __init__(self, engine: Any, mode: Any):
        self._engine, self._mode = engine, mode

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run_backward(self, *arguments: Any, **named: Any) -> Any:
        """Where all gradients are computed."""
        with self._mode:
            return self._engine.run_backward(*arguments, **named)


class _Posing:
    """The mode, and what is put in the place of torch.cuda's functions."""

    def __init__(self, chip: str):
        import torch

        self._torch = torch
        self._mode = _mode(torch)
        self._before: list[tuple[Any, str, Any]] = []
        digits = chip[len("gfx"):]
        capability = int(digits[:-2]), int(digits[-2], 16)
        facts = SimpleNamespace(name=f"{chip} in software", gcnArchName=chip,
                                multi_processor_count=304, warp_size=64, total_memory=8 << 30,
                                major=capability[0], minor=capability[1],
                                max_threads_per_multi_processor=2048, L2_cache_size=4 << 20,
                                shared_memory_per_block=(160 if chip == "gfx950" else 64) << 10)
        self._cuda = {
            # each its own: torch's compiler looks functions up by the object
            **{name: _nothing() for name in _IDLE},
            "is_available": lambda: True, "device_count": lambda: 1, "current_device": lambda: 0,
            "get_device_properties": lambda *_, **__: facts,
            "get_device_capability": lambda *_, **__: capability,
            "get_device_name": lambda *_, **__: facts.name, "is_initialized": lambda: True,
            "is_current_stream_capturing": lambda: False,
            "mem_get_info": lambda *_, **__: (8 << 30, 8 << 30),
            "memory_allocated": lambda *_, **__: 0,
            "max_memory_allocated": lambda *_, **__: 0, "Event": _Event, "Stream": _Stream,
            "current_stream": lambda *_, **__: _Stream(),
            "default_stream": lambda *_, **__: _Stream(),
            "stream": lambda *_, **__: contextlib.nullcontext(),
            "device": lambda *_, **__: contextlib.nullcontext(),
        }

    def _put(self, place: Any, name: str, value: Any) -> None:
        self._before.append((place, name, getattr(place, name, None)))
        setattr(place, name, value)

    def begin(self) -> None:
        for name, value in self._cuda.items():
            self._put(self._torch.cuda, name, value)
        self._put(self._torch.version, "hip", "6.4.0")
        self._put(self._torch.version, "cuda", None)
        from torch.utils import _device
        self._put(_device.DeviceContext, "__torch_function__",
                  _default_device(self._mode, _device))
        self._put(self._torch, "Generator", _generator(self._torch))
        variable = self._torch.autograd.Variable
        self._put(variable, "_execution_engine",
                  _Engine(variable._execution_engine, self._mode))
        self._mode.__enter__()

    def end(self) -> None:
        self._mode.__exit__(None, None, None)
        while self._before:
            place, name, value = self._before.pop()
            setattr(place, name, value)
