"""Raw AMDGPU code objects, exact kernel arguments, straight onto a GPU — or onto one in software.

    >>> import numpy as np, rawhal
    >>> dev = rawhal.open(chip="gfx942", checks="all")
    >>> add = dev.load(rawhal.demo_object("gfx942"))["vector_add"]
    >>> a, b, c = np.arange(1024, dtype="f4"), np.ones(1024, "f4"), np.zeros(1024, "f4")
    >>> add[4, 256](c=c, a=a, b=b, n=1024)      # 4 work-groups of 256; numpy is copied in, and back
    <rawhal.Ticket 1 of vector_add: complete>
    >>> bool((c == a + b).all())
    True

softgpu, the GPU in software, executes the code objects' own instructions below the real HSA runtime
and checks every access of memory: an access beyond an array is an exception that names the kernel,
the argument, the lanes and, where the object has debugging information, the line.

    >>> try:
    ...     add[5, 256](c, a, b, 1100)
    ... except rawhal.MemoryFault as fault:
    ...     print(fault.kernel, fault.argument, fault.access, fault.past_end)
    vector_add a read 0

**What softgpu does not model:** time and caches. Its times are those of this machine's processors
and say nothing about a GPU; there are no caches, no banks, no occupancy, no order of memory weaker
than the host's, so what is right here may still race, or be slow, on hardware. LDS, registers,
waves, barriers and every instruction's result are the chip's. Nothing has been compared with
hardware yet.

`import rawhal` loads nothing: names are imported when they are first used, and a GPU is taken only
when asked (`open(hardware=True)`, or RAWHAL_DEVICE=hsa in the environment).

Threads may share everything but arguments that they change meanwhile. A child of fork() cannot use
what its parent has open: calls raise DeviceLost; processes that spawn, as pytest-xdist's do, are
not affected."""
from __future__ import annotations

import os as _os
from typing import TYPE_CHECKING, Any

# The folder with the library, the command and the runtime; "": the system's.
_own = _os.path.dirname(_os.path.abspath(__file__))
PREFIX: str = _own if _os.path.isdir(_os.path.join(_own, "lib")) else ""
if _os.environ.get("RAWHAL_PY_PREFIX"):
    PREFIX = _os.path.abspath(_os.environ["RAWHAL_PY_PREFIX"])  # programs change their folder
    __path__.append(_os.path.join(PREFIX, "python", "rawhal"))  # the part that a build generates

_HOMES = {
    "devices": ("open", "open_all", "Device", "DeviceInfo", "Options", "SoftwareDeviceWarning"),
    "modules": ("Module",),
    "kernels": ("Kernel", "TypedKernel", "Launch", "Bound"),
    "signatures": ("Argument", "Layout", "Signature"),
    "arrays": ("DeviceArray",),
    "streams": ("Stream",),
    "tickets": ("Ticket",),
    "timelines": ("Timeline", "Timepoint", "wait_all", "wait_any"),
    "library": ("Library", "Match"),
    "graphs": ("Graph", "GraphExec", "Node"),
    "pools": ("Pool", "PoolInfo"),
    "recordings": ("Recording",),
    "traces": ("Trace", "TracedLaunch"),
    "objects": ("inspect", "CodeObject", "KernelInfo", "Diff", "Coverage"),
    "demo": ("demo_object",),
    "faults": ("Fault", "Cause", "MemoryFault", "LdsFault", "RaceFault", "UninitializedRead",
               "KernargFault", "ScratchFault", "AssertFailed", "IllegalInstruction", "Timeout"),
    "errors": ("RawhalError", "InvalidArgument", "Malformed", "Unsupported", "NotFound",
               "TargetMismatch", "OutOfRange", "CapExceeded", "OutOfMemory", "QuotaExceeded",
               "WouldBlock", "TimedOut", "FaultError", "DeviceLost", "RuntimeFailed",
               "Ambiguous", "Closed"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = ("triton", "hip", "errors", "faults")  # that are used by their own name

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":
        library = importlib.import_module("rawhal._library")
        value: Any = library.text(library.lib.rawhal_version_text())
    elif name in _HOME:
        value = getattr(importlib.import_module(f"rawhal.{_HOME[name]}"), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"rawhal.{name}")
    else:
        raise AttributeError(f"module 'rawhal' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if TYPE_CHECKING:
    from .arrays import DeviceArray as DeviceArray
    from .demo import demo_object as demo_object
    from .devices import (Device as Device, DeviceInfo as DeviceInfo, Options as Options,
                          open as open)
    from .devices import open_all as open_all
    from .devices import SoftwareDeviceWarning as SoftwareDeviceWarning
    from .errors import Ambiguous as Ambiguous, CapExceeded as CapExceeded, Closed as Closed
    from .errors import DeviceLost as DeviceLost, FaultError as FaultError
    from .errors import (InvalidArgument as InvalidArgument, Malformed as Malformed,
                         NotFound as NotFound)
    from .errors import OutOfMemory as OutOfMemory, OutOfRange as OutOfRange
    from .errors import QuotaExceeded as QuotaExceeded, RawhalError as RawhalError
    from .errors import RuntimeFailed as RuntimeFailed, TargetMismatch as TargetMismatch
    from .errors import TimedOut as TimedOut, Unsupported as Unsupported, WouldBlock as WouldBlock
    from .faults import AssertFailed as AssertFailed, Cause as Cause, Fault as Fault
    from .faults import IllegalInstruction as IllegalInstruction, KernargFault as KernargFault
    from .faults import LdsFault as LdsFault, MemoryFault as MemoryFault, RaceFault as RaceFault
    from .faults import ScratchFault as ScratchFault, Timeout as Timeout
    from .faults import UninitializedRead as UninitializedRead
    from .graphs import Graph as Graph, GraphExec as GraphExec, Node as Node
    from .kernels import (Bound as Bound, Kernel as Kernel, Launch as Launch,
                          TypedKernel as TypedKernel)
    from .library import Library as Library, Match as Match
    from .modules import Module as Module
    from .objects import CodeObject as CodeObject, Coverage as Coverage, Diff as Diff
    from .objects import KernelInfo as KernelInfo, inspect as inspect
    from .pools import Pool as Pool, PoolInfo as PoolInfo
    from .recordings import Recording as Recording
    from .signatures import Argument as Argument, Layout as Layout, Signature as Signature
    from .streams import Stream as Stream
    from .tickets import Ticket as Ticket
    from .timelines import Timeline as Timeline, Timepoint as Timepoint
    from .timelines import wait_all as wait_all, wait_any as wait_any
    from .traces import Trace as Trace, TracedLaunch as TracedLaunch
