"""Devices: opening one, and what it has."""
from __future__ import annotations

import functools
import os
import threading
import warnings
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from ._library import (NULL, Owned, call, error_record, failure, ffi, lib, owned, sized, text,
                       to_bytes)
from .errors import InvalidArgument, RawhalError
from .memory import Buffer, HostRanges
from .services import print_text, run_of_thread

if TYPE_CHECKING:
    import numpy as np

    from .arrays import DeviceArray, Shape
    from .graphs import Graph
    from .modules import Module, Source
    from .observing import Observer
    from .pools import Pool
    from .recordings import Recording
    from .streams import Stream
    from .timelines import Timeline
    from .traces import Trace

Log = Callable[[str, str], None]
_SOFTGPU, _HSA = lib.RAWHAL_BACKEND_SOFTGPU, lib.RAWHAL_BACKEND_HSA
_SEVERITIES = ("note", "warning", "error")
CHECKS = ("lds", "races", "kernarg", "stores", "memory")
# What Debian's runtime does not know by its name, and a device can be listed as instead; code is
# relabelled.
_LISTED = {"gfx942": "gfx90a", "gfx950": "gfx90a",
           **dict.fromkeys(("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151",
                            "gfx1152", "gfx1153"), "gfx1030")}

_FIXED = ("chip", "chips", "listed", "sramecc", "gpus", "vram_mib")  # while a device is open
_settled: dict[str, Any] = {}  # what they were set to

_lock = threading.RLock()
_devices: "weakref.WeakValueDictionary[int, Device]" = weakref.WeakValueDictionary()


class SoftwareDeviceWarning(UserWarning):
    """Kernels run in software, though nobody has asked for that."""


def open(
    chip: Optional[str] = None,
    *,
    checks: Union[str, Iterable[str], None] = None,
    timeout: Optional[float] = None,
    hardware: Optional[bool] = None,
    index: int = 0,
    limits: Optional[Mapping[str, str]] = None,
    options: Optional[Mapping[str, Any]] = None,
    output: Optional[Callable[[str, str], None]] = None,
    log: Optional[Log] = None,
) -> "Device":
    """Opens a device.

    `chip`: what softgpu is to be: "gfx90a", "gfx942" or "gfx950"; None: what it is, or gfx90a.
    `checks`: "all", or some of "lds", "races", "kernarg", "stores", "memory": what softgpu looks
    for beyond bounds; see Options. `timeout`: seconds that a launch may take; 120 unless set.
    `options`: of softgpu, by their names.

    `hardware`: True for a GPU, NotFound without one. A GPU is used only if asked for: so, or by
    RAWHAL_DEVICE=hsa in the environment; where nobody asks for either, it is softgpu, with a
    warning. `chip` and `hardware` come before RAWHAL_DEVICE, which is InvalidArgument where it is
    neither softgpu nor hsa, whoever is asked for.

    `index`: which device, of several (see open_all()). `limits`: names and values of
    rawhal_limit_t, {"memory": "1GiB", "gpu-share": "50%"}; for the first device that a process
    opens. `output(stream, text)`: gets what kernels print, instead of sys.stdout and sys.stderr.
    `log` (severity, message): gets one line at a time, from any thread, and must not use rawhal.

    A process has one runtime: what is open stays what it is until all that uses it is gone, and
    opening the same device again gives the same object."""
    asked = hardware
    _check_environment()
    if hardware is None:
        hardware = os.environ.get("RAWHAL_DEVICE") == "hsa" and chip is None
    if asked is None and chip is None and not os.environ.get("RAWHAL_DEVICE"):
        there = (
            ", though this machine has a GPU, which hardware=True takes"
            if os.path.exists("/dev/kfd")
            else ""
        )
        warnings.warn(
            f"kernels run on softgpu, a GPU in software{there}", SoftwareDeviceWarning, stacklevel=2
        )
    if hardware and (chip or checks or timeout is not None or options):
        raise InvalidArgument("chip, checks, timeout and options are softgpu's, not a GPU's")
    settings = dict(options or {})
    several = str(_settled.get("chips", "")).split(",") if len(_devices) else []
    if chip in several:  # of open_all()
        index += several.index(chip)
    elif chip:
        settings.update(chip=chip, listed=_LISTED.get(chip, 0))
    settings.update(_softgpu_settings(checks, timeout))
    if hardware:
        instance = _instance(_HSA, {}, limits, log)
    else:
        instance = _software_instance(settings, limits, log)
    count = lib.rawhal_instance_device_count(instance.pointer)
    if not 0 <= index < count:
        raise InvalidArgument(f"device {index}; there are {count}")
    handle = lib.rawhal_instance_device(instance.pointer, index)
    with _lock:
        key = int(ffi.cast("uintptr_t", handle))
        device = _devices.get(key)
        if device is None:
            device = _devices[key] = Device(instance, handle, output or print_text)
        elif output:
            device.output = output
    return device


def _check_environment() -> None:
    """RAWHAL_DEVICE that is misspelt says nothing, and is told of also by who has no need of it.
    What `chip` and `hardware` say comes before what it says."""
    error = error_record()
    if (lib.rawhal_backend_default(ffi.new("rawhal_backend_t *"), error)
            == lib.RAWHAL_INVALID_ARGUMENT):
        raise failure(error.status, error)


def open_all(chips: Iterable[str], **options: Any) -> list["Device"]:
    """Opens a device of softgpu's for each chip, in one process: open_all(["gfx942", "gfx950"]).
    Other options are open()'s. As long as one is open, open(chip=) gives those of them."""
    names = tuple(chips)
    if not names:
        raise InvalidArgument("no chips")
    settings = {**(options.pop("options", None) or {}), "chips": ",".join(names)}
    settings["listed"] = ",".join(_LISTED.get(name, name) for name in names)
    devices = [open(hardware=False, options=settings, **options)]
    options.pop("limits", None)  # are the first one's to set
    for index in range(1, len(names)):
        devices.append(open(hardware=False, options=settings, index=index, **options))
    return devices


def _softgpu_settings(checks: Union[str, Iterable[str], None],
                      timeout: Optional[float]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if checks is not None:
        wanted = (CHECKS if checks == "all" else (checks,) if isinstance(checks, str)
                  else tuple(checks))
        settings.update({f"check_{name}": "refuse" for name in wanted})
    if timeout is not None:
        settings["timeout_ms"] = round(timeout * 1000)
    return settings


def _software_instance(
    settings: dict[str, Any], limits: Optional[Mapping[str, str]], log: Optional[Log]
) -> Owned:
    """What is fixed while a device is open may be asked for again, as it is."""
    fixed = {name: value for name, value in settings.items() if name in _FIXED}
    others = {name: settings[name] for name in settings.keys() - fixed.keys()}
    is_settled = bool(fixed) and fixed.items() <= _settled.items()
    if is_settled and len(_devices):
        return _instance(_SOFTGPU, others, limits, log)
    try:
        instance = _instance(_SOFTGPU, settings, limits, log)
    except InvalidArgument as error:
        if not is_settled:  # else something of a device that is gone keeps it open
            there = ", ".join(sorted({device.name for device in _devices.values()}))
            raise InvalidArgument(error.message
                                  + (f"; open are: {there}" if there else "")) from None
        return _instance(_SOFTGPU, others, limits, log)
    if not len(_devices):
        _settled.clear()
    _settled.update(fixed)
    return instance


def _instance(
    backend: int, settings: Mapping[str, Any], limits: Optional[Mapping[str, str]],
    log: Optional[Log]
) -> Owned:
    options = sized("rawhal_instance_options_t", backend=backend)
    held: list[Any] = []

    if settings and backend == _SOFTGPU:
        held.append(ffi.new("char[]", b",".join(
            to_bytes(f"option {name!r}", f"{name}={_option_text(value)}")
            for name, value in settings.items()
        )))
        options.softgpu_options = held[-1]
    if limits:
        held.append(_limits(limits))
        options.limits = held[-1].pointer
    owner: Callable[[Any], None] = lib.rawhal_instance_destroy
    if log is not None:
        sink = log

        @ffi.callback("void(void *, rawhal_severity_t, const char *)")
        def logged(_context: Any, severity: int, message: Any) -> None:
            told = text(message)
            run_of_thread(lambda: sink(_SEVERITIES[severity], told))

        options.log = logged
        owner = functools.partial(_destroy, logged)
    return owned("rawhal_instance_t", owner, lib.rawhal_instance_create, options)


def _destroy(_called: Any, handle: Any) -> None:
    """With the function that is called until then."""
    lib.rawhal_instance_destroy(handle)


def _option_text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)


def _limits(limits: Mapping[str, str]) -> Owned:
    numbers: dict[str, int] = {}
    while (info := lib.rawhal_limit_info(len(numbers))) != NULL:
        numbers[text(info.name)] = len(numbers)
    config = owned("rawhal_limit_config_t", lib.rawhal_limit_config_destroy,
                   lib.rawhal_limit_config_create)
    for name, value in limits.items():
        if name not in numbers:
            raise InvalidArgument(f"no limit is named {name!r}; there are {', '.join(numbers)}")
        call(lib.rawhal_limit_config_set_text, config.pointer, numbers[name],
             to_bytes(f"limit {name!r}", str(value)), NULL)
    return config


@dataclass(frozen=True)
class DeviceInfo:
    """Facts of a device, which do not change. Sizes in bytes."""

    name: str
    description: str
    target: str
    is_software: bool
    memory_bytes: int
    compute_units: int
    wavefront_size: int
    lds_bytes: int
    max_workgroup_size: int
    max_grid: tuple[int, int, int]
    waves_per_cu: int
    simds_per_cu: int
    clock_mhz: int
    uuid: str


def _info(handle: Any) -> DeviceInfo:
    info = lib.rawhal_device_info(handle)
    target = ffi.new("char[64]")
    held = ffi.new("rawhal_target_t *", info.target)
    lib.rawhal_target_format(held, target, 64)
    return DeviceInfo(
        text(info.target.processor) or text(info.name),
        text(info.description),
        text(target),
        bool(info.is_software),
        info.memory_bytes,
        info.compute_units,
        info.wavefront_size,
        info.lds_bytes,
        info.max_workgroup_size,
        tuple(info.max_grid_dim),
        info.waves_per_cu,
        info.simds_per_cu,
        info.clock_mhz,
        text(info.uuid),
    )


class Options:
    """softgpu's options, for the dispatches that begin later.

        dev.options.update(races=False, timeout=10)

    Checks, True or False: `lds` (reads of unwritten LDS, and uses beyond it), `races` (of waves in
    LDS), `kernarg` (reads of arguments that were not supplied), `stores` (scalar stores that a GPU
    might not have written), `memory` (reads of what nothing has written, of arrays that are made
    while it is set). `timeout`: seconds that a launch may take. Others by softgpu's names, such as
    threads=1."""

    def __init__(self, device: "Device"):
        self._device = weakref.ref(device)

    def update(self, **changes: Any) -> None:
        settings: dict[str, Any] = {}
        for name, value in changes.items():
            if name == "timeout":
                settings["timeout_ms"] = round(value * 1000)
            elif isinstance(value, bool) and not name.startswith("check_"):
                settings[f"check_{name}"] = "refuse" if value else "off"
            else:
                settings[name] = (("refuse" if value else "off")
                                  if isinstance(value, bool) else value)
        device = self._device()
        if device is None or not device.is_software:
            raise InvalidArgument("a GPU has no options of softgpu's")
        _instance(_SOFTGPU, settings, None, None)  # which sets them until the runtime ends


class Device:
    """A GPU, or one in software. Made by open()."""

    def __init__(self, instance: Owned, handle: Any, output: Callable[[str, str], None]):
        self._instance = instance
        self._pointer = handle
        self.info = _info(handle)
        self.output = output
        self.host_ranges = HostRanges(handle)
        self.options = Options(self)
        self._lock = threading.RLock()
        self._default: Optional["Stream"] = None
        self.observers: tuple["Observer", ...] = ()  # recordings and traces, while they last

    def __repr__(self) -> str:
        return f"<rawhal.Device {self.description}>"

    @property
    def _handle(self) -> Any:
        return self._pointer if self._instance.pointer else NULL

    @property
    def name(self) -> str:
        """The processor whose code it runs, "gfx942"."""
        return self.info.name

    @property
    def description(self) -> str:
        """A sentence, which says plainly when the device is software."""
        return self.info.description

    @property
    def is_software(self) -> bool:
        return self.info.is_software

    @property
    def limited(self) -> bool:
        """Whether it was opened with limits, by the program or from outside."""
        return bool(lib.rawhal_device_limiter(self._handle) != NULL)

    @property
    def memory(self) -> tuple[int, int]:
        """How many bytes this process can ever have, and can still get."""
        total, available = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        lib.rawhal_device_memory(self._handle, total, available)
        return total[0], available[0]

    # ---- Code ----

    def load(self, source: "Source", kernel: Optional[str] = None) -> "Module":
        """Loads a code object: a path, or its bytes, which are copied. It may be in whatever
        `rawhal inspect` reads: a bundle, an archive, a library; the object that fits the device
        best is taken. `kernel`: that it must have, where several fit."""
        from .modules import Module

        return Module.load(self, source, kernel)

    # ---- Memory ----

    def array(self, values: Any, dtype: Any = None, label: Optional[str] = None) -> "DeviceArray":
        """An array of the device's with a copy of the values. `label`: names it in reports of
        faults (31 bytes)."""
        import numpy as np

        source = np.asarray(values, dtype)
        made_one = self.empty(source.shape, source.dtype, label)
        made_one.copy_from(source)
        return made_one

    def empty(self, shape: "Shape", dtype: Any = "f4",
              label: Optional[str] = None) -> "DeviceArray":
        """An array of the device's whose contents are undefined."""
        from .arrays import DeviceArray

        return DeviceArray.empty(self, shape, dtype, label)

    def zeros(self, shape: "Shape", dtype: Any = "f4",
              label: Optional[str] = None) -> "DeviceArray":
        """An array of the device's of zeros."""
        made_one = self.empty(shape, dtype, label)
        made_one.buffer.fill_zeros()
        return made_one

    def pinned(self, shape: "Shape", dtype: Any = "f4",
               label: Optional[str] = None) -> "np.ndarray":
        """An array of numpy's that kernels use in place, at one address; its contents are
        undefined. Nothing waits for launches that use it: ask their tickets."""
        from .arrays import pinned

        return pinned(self, shape, dtype, label)

    def from_dlpack(self, source: Any) -> "DeviceArray":
        """The array of another library, by DLPack: in place if it is in this device's memory, else
        a copy."""
        from .dlpack import import_from

        return import_from(self, source)

    def pool(self, budget: Optional[int] = None, *, slab: Optional[int] = None,
             label: Optional[str] = None) -> "Pool":
        """A pool of the device's memory, whose arrays are allocated and freed in the order of
        streams. `budget`: bytes that it may take together; `slab`: at once, 64 MiB unless set.
        See Pool."""
        from .pools import Pool

        return Pool(self, budget, slab, label)

    def map_host(self, address: int, nbytes: int) -> int:
        """The device's address of the program's own memory, in place and with exact bounds; for
        Kernel.launch(). Whoever owns the memory keeps it until the launches are complete. It stays
        mapped until another range overlaps it, or unmap_hosts()."""
        return self.host_ranges.mapped(address, nbytes)[0]

    def map_hosts(self, ranges: Sequence[tuple[int, int]]) -> tuple[list[int], list[Buffer]]:
        """The same for all (address, nbytes) of one launch, of which some may overlap; and what to
        give it as `keep`."""
        return self.host_ranges.mapped_all(ranges)

    def unmap_hosts(self) -> None:
        """Unmaps what map_host() has mapped and no launch uses."""
        self.host_ranges.forget()

    # ---- Streams ----

    @property
    def default_stream(self) -> "Stream":
        """Where launches go that name no stream."""
        if self._default is None:
            with self._lock:
                if self._default is None:
                    from .streams import Stream

                    self._default = Stream.default_of(self)
        return self._default

    def stream(self, **options: Any) -> "Stream":
        """A stream of its own: `share` of the device's time ("30%"), for a device with limits;
        `priority` ("low", "normal", "high"), a hint to the device; `compute_units`, which it may
        use; `output(stream, text)` for what its kernels print; `label`, which names it in faults,
        traces and to who watches."""
        from .streams import Stream

        return Stream(self, **options)

    def timeline(self, value: int = 0, label: Optional[str] = None) -> "Timeline":
        """A timeline semaphore of this value, for streams of all devices. See Timeline."""
        from .timelines import Timeline

        return Timeline(self, value, label)

    def graph(self) -> "Graph":
        """A graph without nodes, of launches on this device. See Graph, and Stream.capture()."""
        from .graphs import Graph

        return Graph(self)

    # ---- What is launched ----

    def record(self, path: "str | os.PathLike[str]", *, buffers: bool = True,
               max_bytes: Optional[int] = None) -> "Recording":
        """Records what is launched on this device, as long as `with` lasts, to a file that `rawhal
        replay` reads: kernels, arguments, code objects and, with `buffers`, the memory that they
        reach, before and after. It must not be there yet, and grows to `max_bytes` at most, 1 GiB
        unless set. See Recording.

            with dev.record("launches.rec"):
                kernel[4, 256](c, a, b, 1024)"""
        from .recordings import Recording

        return Recording(self, path, buffers, max_bytes)

    def trace(self) -> "Trace":
        """Notes of each launch on this device, as long as `with` lasts: which kernel, in which
        stream, how many instructions, and when. See Trace.

            with dev.trace() as trace:
                kernel[4, 256](c, a, b, 1024)
            trace[0].instructions"""
        from .traces import Trace

        return Trace(self)

    def synchronize(self) -> None:
        """Waits for the launches of the default stream."""
        if self._default is not None:
            self._default.synchronize()


__all__ = ["Device", "DeviceInfo", "Options", "SoftwareDeviceWarning", "open", "open_all",
           "RawhalError"]
