"""Triton's kernels on a GPU in software.

    import rawhal.triton
    rawhal.triton.activate(chip="gfx942")       # or TRITON_DEFAULT_BACKEND=rawhal in the
                                                # environment, and no line of code

From then on `kernel[grid](...)` compiles with Triton's own compiler for AMD's GPUs and runs on
softgpu, with exact bounds: an access beyond a tensor is a rawhal.MemoryFault with the kernel, the
argument and the line of the Python source. Tensors are torch's in host memory, used in place;
numpy's, by tensor(); or arrays of the device's (Device.array()). A launch that uses host memory
returns when it has ended.

The autotuner chooses by instructions, which are the same each time (see benchmark.py). softgpu
models neither time nor caches. Triton 3.5 and later; clusters (num_ctas > 1) and tensor-memory
descriptors are not on these chips.

`import rawhal.triton` loads neither Triton nor rawhal's library, for `import triton` imports it by
its entry point."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from .memory import HostTensor

__all__ = ["activate", "tensor"]


def activate(chip: Optional[str] = None, *, device: Any = None) -> Any:
    """Lets Triton run all kernels of this process here, and returns the driver.

    `chip`: what softgpu is to be; None: RAWHAL_PY_CHIP in the environment, or gfx942. `device`: a
    rawhal.Device that is open already, instead; with it, checks and time limits are those it was
    opened with. The device is opened by the first launch; kernels that were compiled before stay
    where they were."""
    import triton

    from . import driver

    made = driver.RawhalDriver(chip=chip, device=device)
    triton.runtime.driver.set_active(made)
    return made


def tensor(array: Any) -> "HostTensor":
    """A numpy array as Triton wants tensors: with data_ptr(). Kernels use its memory in place."""
    from .memory import HostTensor

    return HostTensor(array)


def without_torch() -> None:
    """Triton's compiler for AMD's GPUs imports torch for buffer operations, until 3.8: without
    torch it gets on without them."""
    import importlib.util
    import os

    import triton

    major, minor = (int(part) for part in triton.__version__.split(".")[:2])
    if ((major, minor) >= (3, 8) or "AMDGCN_USE_BUFFER_OPS" in os.environ
        or importlib.util.find_spec("torch")):
        return
    triton.knobs.amd.use_buffer_ops = False
