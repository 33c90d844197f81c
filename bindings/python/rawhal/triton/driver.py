"""The driver of the entry point `rawhal` in Triton's group `triton.backends`: a GPU in software, or
one that rawhal drives.

`import triton` imports this module, so it must not fail for anybody: it imports nothing of rawhal's
but what is plain Python, its class is concrete whatever a version of Triton adds, and the device is
opened when the first kernel needs it.

With TRITON_DEFAULT_BACKEND=rawhal in the environment, after `rawhal.triton.activate()`, or where no
other driver of Triton's has a device, Triton takes it."""
from __future__ import annotations

import os
import threading
from typing import Any, Optional

from triton.backends import driver as _base

NAME = "rawhal"

_asking = threading.local()


def _others_are_active() -> bool:
    """Whether another backend of Triton's has a device. One that cannot say has none."""
    if getattr(_asking, "asks", False):  # another asks us the same
        return False
    from triton.backends import backends

    _asking.asks = True
    try:
        for name, backend in backends.items():
            if name != NAME:
                try:
                    if backend.driver.is_active():
                        return True
                except Exception:
                    continue
        return False
    finally:
        _asking.asks = False


def _is_active() -> bool:
    """Whether Triton should take this driver when nobody has chosen one."""
    return os.environ.get("TRITON_DEFAULT_BACKEND") == NAME or not _others_are_active()


class _Methods:
    """The driver's methods, apart from the class so that Triton's abstract class of any version can
    be below it."""

    chip: Optional[str] = None  # what activate() asked for

    def __init__(self, chip: Optional[str] = None, device: Any = None):
        self._lock = threading.RLock()
        self._session: Any = None
        self._device = device
        if chip is not None:
            self.chip = chip
        from . import without_torch
        without_torch()

    @property
    def session(self) -> Any:
        """The device and what is loaded on it; opened on first use. See session.py."""
        if self._session is None:
            with self._lock:
                if self._session is None:
                    from .session import Session
                    self._session = Session(chip=self.chip, device=self._device)
        return self._session

    @property
    def utils(self) -> Any:
        """What Triton loads code objects and asks properties with."""
        return self.session.utils

    @property
    def launcher_cls(self) -> Any:
        """What Triton makes for each kernel, and calls for each launch."""
        return self.session.launcher

    def map_python_to_cpp_type(self, ty: str) -> str:
        """C's type for one of Triton's. Nothing of this driver is compiled; ahead-of-time tools
        ask."""
        if ty.startswith("*"):
            return "uint64_t"
        floats = {"fp16": "double", "bf16": "double", "fp32": "double", "f32": "double",
                  "fp64": "double"}
        return (floats.get(ty) or {"i1": "int8_t", "u1": "uint8_t"}.get(ty)
                or f"{'u' * (ty[0] == 'u')}int{ty[1:]}_t")

    def get_current_target(self) -> Any:
        """What Triton compiles for: the device's chip, unless TRITON_OVERRIDE_ARCH names
        another."""
        from triton.backends.compiler import GPUTarget
        return GPUTarget("hip", self._override() or self.session.chip, self.session.warp_size)

    @staticmethod
    def _override() -> Optional[str]:
        try:
            from triton import knobs
            return knobs.runtime.override_arch
        except (ImportError, AttributeError):
            return os.environ.get("TRITON_OVERRIDE_ARCH")

    def get_current_device(self) -> int:
        """Always the one device of the process."""
        return 0

    def set_current_device(self, device: int) -> None:
        """Nothing: there is one device."""

    def get_current_stream(self, device: int = 0) -> Any:
        """What launches are given as their stream, until set_stream()."""
        return self.session.stream

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        """As torch says of AMD's chips: (9, 4) for gfx942."""
        chip = self.session.chip[len("gfx"):]
        return int(chip[:-2]), int(chip[-2], 16)

    def get_active_torch_device(self) -> Any:
        """Where a test should make its tensors: host memory, which kernels use in place."""
        import torch
        return torch.device("cuda", 0) if torch_poses() else torch.device("cpu")

    def get_device_interface(self) -> Any:
        """What Triton's benchmarks synchronize and measure with."""
        return self.session.interface

    def get_benchmarker(self) -> Any:
        """What the autotuner chooses by: instructions. See benchmark.py."""
        from .benchmark import InstructionBenchmarker
        return InstructionBenchmarker(self.session)

    def get_empty_cache_for_benchmark(self) -> Any:
        """Nothing: there are no caches to displace."""
        return None

    def clear_cache(self, cache: Any) -> None:
        """Nothing, for the same reason."""

    def assemble_tensormap_to_arg(self, tensormaps_info: Any, args: Any) -> Any:
        """Triton's old way with descriptors; nothing to do on AMD's chips."""
        return args

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> Any:
        """Memory for kernels that were compiled with a profiler's instructions, zeroed."""
        return self.session.scratch(size, alignment, zero=True)


def torch_poses() -> bool:
    """Whether the pytest plugin lets torch's tensors in host memory pose as a device's
    (--rawhal-torch)."""
    import sys
    posing = sys.modules.get("rawhal.pytest_plugin.posing")
    return bool(posing and posing.is_on())


def _missing(*arguments: Any, **named: Any) -> Any:
    raise NotImplementedError("rawhal's driver does not know this call of a newer Triton")


RawhalDriver = type(
    "RawhalDriver", (_Methods, _base.DriverBase),
    {**{name: _missing
        for name in _base.DriverBase.__abstractmethods__ if not hasattr(_Methods, name)},
     "is_active": staticmethod(_is_active), "__doc__": __doc__, "__module__": __name__})
