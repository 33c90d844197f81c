"""The device that Triton's kernels run on, what is loaded there, and how a launch gets there."""
from __future__ import annotations

import os
import threading
import time
import weakref
from contextlib import nullcontext
from typing import Any, Callable, Optional, Sequence

from rawhal._library import lib
from rawhal.arrays import DeviceArray
from rawhal.errors import InvalidArgument, Unsupported
from rawhal.kernels import submit

from .arguments import Plan
from .launcher import Launcher
from .memory import HostTensor, host_span, unwrap

DEFAULT_CHIP = "gfx942"


class Function:
    """A loaded kernel, as Triton holds it: `layout` is offset and size of each argument that a
    launch gives."""

    def __init__(self, kernel: Any):
        self.kernel = kernel
        self.layout = [(argument.offset, argument.size) for argument in kernel.args]
        self.blob_size = kernel.layout.size
        #: Whether it prints, asserts or allocates: its text is to stand where the launch does.
        self.talks = kernel._facts.needs_services
        self.names: tuple[str, ...] = ()

    def name_arguments(self, names: tuple[str, ...]) -> None:
        """What its arguments are called in the source, for faults; Triton's objects do not say."""
        self.names = names

    def __repr__(self) -> str:
        return f"<rawhal.triton.Function {self.kernel.name}>"


class Utilities:
    """Triton's `driver.utils`."""

    def __init__(self, session: "Session"):
        self._session = weakref.proxy(session)

    def load_binary(self, name: str, binary: bytes, shared: int,
                    device: int) -> tuple[Any, Function, int, int, int]:
        """The module, the kernel `name`, its vector registers, its spills in dwords and the most
        threads of a block."""
        session = self._session
        session.unlend()
        module = session.device.load(binary)
        kernel = module[name]
        facts = kernel._facts.info.kernel
        most = int(facts.max_flat_workgroup_size) or session.device.info.max_workgroup_size
        return module, Function(kernel), int(facts.vgpr_count), int(facts.vgpr_spill_count), most

    def unload_module(self, module: Any) -> None:
        """Nothing: code stays loaded as long as somebody refers to it."""

    def get_device_properties(self, device: int = 0) -> dict[str, Any]:
        """As Triton's driver for AMD's GPUs has them; clocks are those of the chip's table, not
        measured."""
        info = self._session.device.info
        return {"max_shared_mem": info.lds_bytes, "max_num_regs": 65536,
                "multiprocessor_count": info.compute_units, "sm_clock_rate": info.clock_mhz * 1000,
                "mem_clock_rate": 0, "mem_bus_width": 0, "arch": info.name,
                "warpSize": info.wavefront_size,
                "max_threads_per_sm": info.waves_per_cu * info.wavefront_size,
                "cooperativeLaunch": 1}


class Event:
    """Of the device interface: a moment of this machine's clock, which says nothing of a GPU's."""

    def __init__(self, *_arguments: Any, **_named: Any):
        self._time = 0.0

    def record(self, *_arguments: Any) -> None:
        self._time = time.perf_counter()

    def synchronize(self) -> None:
        """Nothing: what the event follows has ended."""

    def elapsed_time(self, end: "Event") -> float:
        """Milliseconds."""
        return (end._time - self._time) * 1e3


class Interface:
    """What Triton's benchmarks take torch.cuda for."""

    Event = Event

    def __init__(self, session: "Session"):
        self._session = weakref.proxy(session)

    def synchronize(self, *_arguments: Any) -> None:
        self._session.device.synchronize()

    def current_device(self) -> int:
        return 0

    def set_device(self, device: int) -> None:
        """Nothing: there is one."""

    def current_stream(self, *_arguments: Any) -> Any:
        return self._session.stream

    default_stream = current_stream

    def stream(self, stream: Any) -> Any:
        return nullcontext()


class Lent:
    """Memory of one launch: what is kept until it is complete, and whether the host may look at it
    then."""

    __slots__ = ("keep", "wait")

    def __init__(self, keep: tuple[Any, ...], wait: bool):
        self.keep, self.wait = keep, wait


class Session:
    """One device and what Triton does with it. Any number of threads may launch."""

    warp_size = 64

    def __init__(self, chip: Optional[str] = None, device: Any = None, checks: Any = None,
                 timeout: Optional[float] = None):
        if device is None:
            import rawhal
            device = rawhal.open(chip=chip or os.environ.get("RAWHAL_PY_CHIP") or DEFAULT_CHIP,
                                 checks=checks, timeout=timeout)
        self.device = device
        self.chip: str = device.name
        self.warp_size = device.info.wavefront_size
        self.utils = Utilities(self)
        self.interface = Interface(self)
        self._streams: dict[int, Any] = {}
        self.stream = 0
        self._gone: list[Any] = []  # tensors that were lent and are there no more
        self._known: dict[int, Any] = {}
        self._counted = threading.local()

    def launcher(self, source: Any, metadata: Any) -> Launcher:
        """Triton's `launcher_cls`."""
        return Launcher(self, source, metadata)

    def scratch(self, size: int, alignment: int, zero: bool = False) -> DeviceArray:
        """`size` bytes of the device's. They begin at a page, so every alignment up to that
        holds."""
        if alignment > 4096:
            raise InvalidArgument(f"scratch memory aligned to {alignment} bytes; 4096 is the most")
        return (self.device.zeros if zero else self.device.empty)(
            max(size, 1), "u1", label="scratch")

    def count_instructions(self, call: Callable[[], Any]) -> int:
        """Calls, waits, and gives the wave instructions of this thread's launches in it; 0 where
        the device does not count."""
        tickets: list[Any] = []
        before, self._counted.tickets = getattr(self._counted, "tickets", None), tickets
        try:
            call()
        finally:
            self._counted.tickets = before
        try:
            return sum(ticket.instructions for ticket in tickets)
        except Unsupported:
            return 0

    # ---- Memory ----

    def unlend(self) -> None:
        """Ends the lending of memory whose tensors are gone, so that bounds stay those of what
        lives."""
        if self._gone:
            self._gone.clear()
            self.device.unmap_hosts()

    def _know(self, tensor: Any) -> None:
        key = id(tensor)
        if key in self._known:
            return
        known, gone = self._known, self._gone

        def is_gone(_reference: Any) -> None:
            known.pop(key, None)
            gone.append(key)

        known[key] = weakref.ref(tensor, is_gone)

    def lend(self, values: list[Any], plan: Plan) -> Lent:
        """Puts addresses in the place of the tensors among `values`. Raises TypeError for what is
        none."""
        self.unlend()
        keep: list[Any] = []
        hosts: list[tuple[int, Any, Any]] = []
        wait = False
        for index in plan.pointers:
            value = values[index]
            if value is None:
                values[index] = 0
                continue
            if type(value) is int:
                wait = True
                continue
            tensor = unwrap(value)
            if isinstance(tensor, DeviceArray):
                keep.append(tensor.buffer)
                values[index] = tensor.data_ptr()
                continue
            span = host_span(tensor)
            wait = True
            if span is not None:
                hosts.append((index, tensor, span))
                continue
            try:
                values[index] = tensor.data_ptr()
            except AttributeError:
                raise TypeError(f"argument '{plan.names[index]}' ({plan.slots[index].type}) is a "
                                f"{type(tensor).__name__}, not a tensor: rawhal.triton.tensor() "
                                "makes one of a numpy array") from None
            keep.append(tensor)
        if hosts:
            self._lend_hosts(values, hosts, keep)
        return Lent(tuple(keep), wait)

    def _lend_hosts(self, values: list[Any], hosts: list[tuple[int, Any, Any]],
                    keep: list[Any]) -> None:
        spans = [span for _, _, span in hosts if span.size > 0]
        addresses, buffers = self.device.map_hosts(spans) if spans else ([], [])
        at = iter(addresses)
        for index, tensor, span in hosts:
            values[index] = next(at) + tensor.data_ptr() - span.address if span.size > 0 else 0
            keep.append(tensor)
            self._know(tensor)
        keep += buffers

    # ---- Launches ----

    def launch(self, function: Function, grid: Sequence[int], block: Sequence[int], blob: bytes,
               shared: int, cooperative: bool, stream: Any, lent: Lent) -> None:
        """Submits, and waits where the host may look at the memory, or the kernel prints. Raises
        the kernel's fault."""
        kernel = function.kernel
        if len(blob) < function.blob_size:
            blob += bytes(function.blob_size - len(blob))
        chosen = self._streams.get(stream) if stream else None
        # As Kernel.launch(), which checks what Triton has checked.
        ticket = submit(kernel, grid, block, shared, blob, chosen, lent.keep, (), function.names,
                        lib.RAWHAL_DISPATCH_COOPERATIVE if cooperative else 0)
        counted = getattr(self._counted, "tickets", None)
        if counted is not None:
            counted.append(ticket)
        if lent.wait or function.talks:
            try:
                ticket.wait()
            except BaseException:  # what the handler of a signal raised
                if not ticket.done():
                    self.device.default_stream.abandon()
                raise


def tensor(array: Any) -> HostTensor:
    """See rawhal.triton.tensor()."""
    return HostTensor(array)
