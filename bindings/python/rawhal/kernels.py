"""Kernels, and how they are launched."""
from __future__ import annotations

import operator
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Iterable, Optional, Union

from ._library import NULL, ffi, lib, string, to_bytes
from .errors import Closed, InvalidArgument
from .memory import Buffer
from .signatures import Argument, Layout, Signature, layout_of
from .streams import Stream
from .tickets import Record, Ticket, in_ns

if TYPE_CHECKING:
    from .devices import Device
    from .modules import Module
    from .objects import KernelInfo

Extent = Union[int, Iterable[int]]
_SERVED = ("hidden_printf_buffer", "hidden_hostcall_buffer", "hidden_heap_v1")
_OVERLAP, _COOPERATIVE = lib.RAWHAL_DISPATCH_OVERLAP, lib.RAWHAL_DISPATCH_COOPERATIVE


class Facts:
    """What launches need of a kernel: its handle, its code, which it keeps loaded, and its
    layout."""

    __slots__ = ("name", "_handle", "code", "folder", "layout", "info", "needs_services",
                 "has_printf")

    def __init__(self, handle: Any, code: Any, folder: str = ""):
        self._handle = handle
        self.code = code  # Owned: the executable, or what else keeps it loaded
        self.folder = folder  # of the object's file
        self.info = lib.rawhal_device_kernel_info(handle)
        self.name = string(self.info.kernel.name)
        self.layout = layout_of(self.info.layout, self.info.kernel)
        kinds = {one.kind for one in self.layout.arguments if one.hidden}
        self.has_printf = _SERVED[0] in kinds
        self.needs_services = any(kind in kinds for kind in _SERVED)

    @property
    def handle(self) -> Any:
        """The rawhal_device_kernel_t *; NULL once its code has been let go."""
        return self._handle if self.code.pointer else NULL

    def object_bytes(self) -> bytes:
        """Of the code object, as it was loaded."""
        found = self.info.kernel.object if self.handle else NULL
        if found == NULL:
            return b""
        whole = lib.rawhal_hsaco_info(found).bytes
        return bytes(ffi.buffer(whole.data, whole.size))


class Kernel:
    """A kernel of a loaded code object.

        kernel[grid, block](...)             launches, and waits
        kernel[grid, block].submit(...)      launches, and returns a Ticket

        >>> import rawhal
        >>> add = rawhal.open(chip="gfx942").load(rawhal.demo_object("gfx942"))["vector_add"]
        >>> add
        <rawhal.Kernel vector_add(c:*f32 a:*const f32 b:*const f32 n:u32)>
        >>> add.args[3].offset, add.layout.size, add.lds_bytes
        (24, 28, 0)

    `grid` counts work-groups and `block` work-items of one, each a number or up to three. A third
    part is the bytes of LDS beyond what the kernel itself has."""

    def __init__(self, facts: Facts, module: "Module", signature: Optional[Signature] = None):
        self._facts = facts
        self.module = module
        self.signature = signature or Signature.of(facts.layout)

    @property
    def name(self) -> str:
        return self._facts.name

    @property
    def device(self) -> "Device":
        return self.module.device

    @property
    def layout(self) -> Layout:
        """All of its arguments, with offset, size, kind and name, and the size of a blob."""
        return self._facts.layout

    @property
    def args(self) -> tuple[Argument, ...]:
        """Those that a caller gives."""
        return self._facts.layout.visible

    @property
    def info(self) -> "KernelInfo":
        """What its object states: registers, spills, LDS, scratch."""
        from .objects import kernel_info

        if self._facts.handle == NULL:
            raise Closed("the kernel's code was let go")
        return kernel_info(self._facts.info.kernel)

    @property
    def prints(self) -> bool:
        """Whether it may ask the host for something: printf(), malloc(). Its stream then has a
        thread for that."""
        return self._facts.needs_services

    @property
    def lds_bytes(self) -> int:
        """Of static LDS, a work-group."""
        return int(self._facts.info.group_segment_size)

    def __repr__(self) -> str:
        return f"<rawhal.{type(self).__name__} {self.name}({self.signature})>"

    def typed(self, signature: str) -> "TypedKernel":
        """The same kernel with names and types that its object does not state: see Signature.
        Values are then checked against them.

            add = kernel.typed("c:*f32 a:*const f32 b:*const f32[n] n:u32")"""
        return TypedKernel(self._facts, self.module, Signature.parse(signature, self.layout))

    def __getitem__(self, geometry: tuple[Any, ...]) -> "Launch":
        if not isinstance(geometry, tuple) or not 2 <= len(geometry) <= 3:
            raise TypeError("kernel[grid, block] or kernel[grid, block, lds_bytes]")
        return Launch(self, _extent("grid", geometry[0]), _extent("block", geometry[1]),
                      operator.index(geometry[2]) if len(geometry) == 3 else 0)

    def launch(
        self,
        grid: Extent,
        block: Extent,
        blob: bytes,
        *,
        lds_bytes: int = 0,
        stream: Optional[Stream] = None,
        keep: tuple[Any, ...] = (),
        names: Optional[tuple[str, ...]] = None,
        overlap: bool = False,
        cooperative: bool = False,
        label: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Ticket:
        """Launches with a blob that was packed by hand, `layout.size` bytes; returns at once. For
        front ends: see map_host() for addresses.

        `keep`: whatever the kernel's addresses depend on; it is kept until the launch is complete.
        Buffers among it are known to be in use until then. `names`: of the arguments, for reports
        of faults. `overlap`: it may start while earlier launches of its stream run. `label`: names
        it in faults and traces. `timeout`: seconds to wait for room in the stream's rings:
        TimedOut."""
        flags = (_OVERLAP if overlap else 0) | (_COOPERATIVE if cooperative else 0)
        return submit(
            self,
            _extent("grid", grid),
            _extent("block", block),
            lds_bytes,
            blob,
            stream,
            tuple(keep),
            (),
            names,
            flags,
            timeout,
            to_bytes("label", label) if label else None,
        )


class TypedKernel(Kernel):
    """A kernel with names and types that were stated by typed()."""


@dataclass(frozen=True)
class Launch:
    """A kernel with a geometry: call it with arguments, by position or by name."""

    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lds_bytes: int = 0
    label: Optional[str] = None

    def labelled(self, label: Optional[str]) -> "Launch":
        """The same with a label, which names it in faults, traces, core files and events; 31 bytes
        of it are kept.

            kernel[4, 256].labelled("layer 3")(c, a, b, 1024)"""
        if label:
            to_bytes("label", label)
        return replace(self, label=label or None)

    def submit(self, /, *args: Any, stream: Optional[Stream] = None, **kwargs: Any) -> Any:
        """Launches, and returns at once: a Ticket, or of a stream that is captured the Node that
        it became. Arrays of numpy's are copied before it returns, and
        written back by Ticket.wait(), or what else finds out that the launch is complete."""
        return self.bind(*args, **kwargs).submit(stream=stream)

    def __call__(
        self, /, *args: Any, stream: Optional[Stream] = None, timeout: Optional[float] = None,
        **kwargs: Any
    ) -> Ticket:
        """Launches, and waits. Ctrl-C, and `timeout` seconds (TimedOut), stop the kernel, and with
        it what else runs in its stream."""
        return self.bind(*args, **kwargs)(stream=stream, timeout=timeout)

    def bind(self, /, *args: Any, **kwargs: Any) -> "Bound":
        """Checks the arguments, and packs them."""
        from .arguments import pack

        signature = self.kernel.signature
        packed = pack(self.kernel.device, signature, self.kernel.layout.size,
                      signature.bind(args, kwargs))
        return Bound(self, packed)


@dataclass(frozen=True)
class Bound:
    """A launch with its arguments, which may be submitted any number of times. Arrays of numpy's
    were copied when it was bound."""

    launch: Launch
    packed: Any

    def submit(self, *, stream: Optional[Stream] = None) -> Any:
        """A Ticket; of a stream that is captured, the Node that it became."""
        launch, packed = self.launch, self.packed
        chosen = stream or launch.kernel.device.default_stream
        if isinstance(chosen, Stream) and chosen.graph is not None:
            return chosen.graph._add(self, None)
        names = tuple(one.name for one in launch.kernel.signature.parameters)
        return submit(launch.kernel, launch.grid, launch.block, launch.lds_bytes,
                      packed.blob, stream, (*packed.buffers, *packed.keep), packed.after, names,
                      label=to_bytes("label", launch.label) if launch.label else None)

    def __call__(self, *, stream: Optional[Stream] = None,
                 timeout: Optional[float] = None) -> Ticket:
        chosen = stream or self.launch.kernel.device.default_stream
        if isinstance(chosen, Stream):
            chosen.check_not_captured("a launch that waits")
        ticket: Ticket = self.submit(stream=chosen)
        try:
            return ticket.wait(timeout)
        except BaseException:  # TimedOut, or what the handler of a signal raised
            if not ticket.done():
                chosen.abandon()
            raise


def _extent(what: str, value: Extent) -> tuple[int, int, int]:
    parts = (value,) if not isinstance(value, (tuple, list)) else tuple(value)
    if not 1 <= len(parts) <= 3:
        raise InvalidArgument(f"{what} has {len(parts)} dimensions; it may have 1 to 3")
    sizes = tuple(operator.index(part) for part in parts)
    if min(sizes) < 1:
        raise InvalidArgument(f"{what} is {value}; each part must be at least 1")
    return (*sizes, 1, 1)[:3]  # type: ignore[return-value]


def submit(
    kernel: Kernel,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    lds_bytes: int,
    blob: Any,
    stream: Optional[Stream],
    keep: tuple[Any, ...],
    after: tuple[Any, ...],
    names: Optional[tuple[str, ...]],
    flags: int = 0,
    timeout: Optional[float] = None,
    label: Optional[bytes] = None,
) -> Ticket:
    """All launches."""
    facts = kernel._facts
    chosen = stream or kernel.device.default_stream
    if not isinstance(chosen, Stream):
        raise TypeError(f"stream is a {type(chosen).__name__}; an argument of the kernel's of that "
                        "name is given by position")
    chosen.check_not_captured("a launch with a blob")
    if chosen.device is not kernel.device:
        raise InvalidArgument(f"the stream is on {chosen.device!r}, the kernel on "
                              f"{kernel.device!r}")
    items = [count * size for count, size in zip(grid, block)]
    if max(block) > 0xFFFF or max(items) > 0xFFFFFFFF:
        raise InvalidArgument(f"a grid of {grid} work-groups of {block}")
    data = ffi.from_buffer(blob)
    dispatch = ffi.new(
        "rawhal_dispatch_t *",
        [facts.handle, items, block, lds_bytes, data, len(data), NULL, 0, flags]
    )
    if label:
        named = ffi.from_buffer("char[]", label + b"\0")
        dispatch.label = named
    wait_ns = in_ns(timeout)
    deadline = None if wait_ns is None else time.monotonic_ns() + wait_ns

    def make(queue: Any) -> Record:
        services = queue.services
        tail: tuple[Any, ...] = ()
        if services and facts.has_printf:
            services.expect(facts.code, queue.synchronize)
            tail = (lambda: services.flush(facts.code),)
        record = Record(queue, facts, names, (blob, facts, *keep), (*tail, *after))
        for one in keep:
            if isinstance(one, Buffer):
                one.use(record)
        return record

    return chosen._submit(make, dispatch, facts.name, facts.needs_services, deadline)
