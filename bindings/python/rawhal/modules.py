"""Code objects that are loaded onto a device."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, Union

from ._library import Owned, call, ffi, lib, owned, sized, string, to_path, to_string
from .kernels import Facts, Kernel
from .memory import Buffer

if TYPE_CHECKING:
    from .arrays import DeviceArray
    from .devices import Device

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]


class Module(Mapping[str, Kernel]):
    """A code object on a device: its kernels by name. Made by Device.load(). The code stays loaded
    as long as the module, one of its kernels or a launch of one needs it."""

    def __init__(self, device: "Device", executable: Owned, source: str):
        self.device = device
        self._executable = executable
        self._source = source
        self._folder = os.path.dirname(source)
        hsaco = lib.rawhal_executable_hsaco(executable.pointer)
        count = lib.rawhal_hsaco_info(hsaco).kernel_count
        facts = [lib.rawhal_hsaco_kernel(hsaco, index) for index in range(count)]
        self._names = {string(one.name): bool(one.usable) for one in facts}
        self._kernels: dict[str, Kernel] = {}

    @classmethod
    def load(cls, device: "Device", source: Source, kernel: Optional[str] = None) -> "Module":
        """See Device.load()."""
        options = sized("rawhal_open_options_t")
        name, held = to_string("kernel", kernel or "")
        options.kernel = name
        if isinstance(source, (str, os.PathLike)):
            executable = owned(
                "rawhal_executable_t",
                lib.rawhal_executable_destroy,
                lib.rawhal_executable_open_file,
                device._handle,
                to_path(source, "source"),
                options,
            )
            return cls(device, executable, os.fspath(source))
        data = ffi.from_buffer(source)
        executable = owned("rawhal_executable_t", lib.rawhal_executable_destroy,
                           lib.rawhal_executable_open, device._handle, data, len(data), options)
        del held
        return cls(device, executable, f"{len(data)} bytes")

    def __getitem__(self, name: str) -> Kernel:
        kernel = self._kernels.get(name)
        return kernel if kernel is not None else self.kernel(name)

    def kernel(self, name: str, kernarg_size: int = 0) -> Kernel:
        """A kernel by its name or symbol. `kernarg_size`: bytes, of one whose object does not state
        them. NotFound; Unsupported: it cannot be used, and why."""
        wanted, held = to_string("name", name)
        handle = ffi.new("const rawhal_device_kernel_t **")
        call(lib.rawhal_executable_kernel, self._executable.pointer, wanted, kernarg_size, handle)
        del held
        found = Kernel(Facts(handle[0], self._executable, self._folder), self)
        if not kernarg_size:
            self._kernels[name] = found
        return found

    def variable(self, name: str, dtype: Any = "u1") -> "DeviceArray":
        """An exported variable, as an array of the device's with the module behind it."""
        from .arrays import DeviceArray, element_type

        kind = element_type(dtype)
        wanted, held = to_string("name", name)
        address, size = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        call(lib.rawhal_executable_variable, self._executable.pointer, wanted, address, size)
        del held
        buffer = Buffer.import_host(self.device._handle, address[0], size[0],
                                    owner=self._executable)
        count = size[0] // kind.itemsize
        return DeviceArray(self.device, buffer, 0, (count,), (kind.itemsize,), kind)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return f"<rawhal.Module {self._source} on {self.device.name}: {len(self)} kernels>"

    __hash__ = object.__hash__
    __eq__ = object.__eq__
