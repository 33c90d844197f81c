"""DLPack, both ways: arrays without copies between libraries.

Facts: dlpack.h 0.8 (the structure that every consumer takes); Python's part: the array API
standard's __dlpack__()."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .arrays import DeviceArray, dense_strides
from .memory import Buffer

if TYPE_CHECKING:
    from .devices import Device

CPU, ROCM, ROCM_HOST = 1, 10, 11  # DLDeviceType
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_NAMES = {0: "i", 1: "u", 2: "f", 4: "u", 5: "c", 6: "b"}  # numpy has no bfloat16: its bits


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("dtype", _DataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("manager_ctx", ctypes.c_void_p), ("deleter", _Deleter)]
_CapsuleDestructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]
_pointer_raw = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.restype, _set_name.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]

_FRESH, _USED = b"dltensor", b"used_dltensor"  # which must outlive the capsules
_exported: dict[int, tuple[Any, ...]] = (
    {}
)  # by the address of the structure, until the consumer gives it back


# Consumers and capsules may let go after this module is gone: what is called then needs nothing of
# its globals.
@_Deleter
def _given_back(managed: Any, exported: Any = _exported,
                address_of: Any = ctypes.addressof) -> None:
    exported.pop(address_of(managed.contents), None)


@_CapsuleDestructor
def _dropped(capsule: int, exported: Any = _exported, is_valid: Any = _is_valid,
             pointer: Any = _pointer_raw, fresh: bytes = _FRESH) -> None:
    """Of a capsule that nobody took."""
    if is_valid(capsule, fresh):
        exported.pop(pointer(capsule, fresh), None)


for _immortal in (_exported, _given_back, _dropped, _FRESH, _USED):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_immortal))


def device_of(array: DeviceArray) -> tuple[int, int]:
    """softgpu's memory is the device's as well: a consumer that is not rawhal has no use for it."""
    return ROCM, 0


def export(array: DeviceArray, dl_device: Optional[tuple[int, int]], copy: Optional[bool]) -> Any:
    """A capsule; of a copy on the host where that is asked for."""
    if dl_device is not None and tuple(dl_device) == (CPU, 0):
        if copy is False:
            raise BufferError("an array of the device's cannot be on the host without a copy")
        return array.numpy().__dlpack__()
    if dl_device is not None and tuple(dl_device) != device_of(array):
        raise BufferError(f"the array is on {device_of(array)}, not on {tuple(dl_device)}")
    if copy:
        copied = DeviceArray.empty(array.device, array.shape, array.dtype)
        copied.copy_from(array)
        array = copied
    if array.dtype.kind not in _CODES:
        raise BufferError(f"DLPack has no type for {array.dtype}")
    array.buffer.settle()
    count, step = len(array.shape), array.dtype.itemsize
    if any(stride % step for stride in array.strides):
        raise BufferError(f"strides of {array.strides} bytes are no multiples of {step}")
    shape = (ctypes.c_int64 * count)(*array.shape)
    strides = (ctypes.c_int64 * count)(*(stride // step for stride in array.strides))
    managed = _Managed()
    kind = _DataType(_CODES[array.dtype.kind], 8 * step, 1)
    managed.tensor = _Tensor(array.buffer.address + array.offset, ROCM, 0, count, kind,
                             shape, strides, 0)
    managed.deleter = _given_back
    address = ctypes.addressof(managed)
    _exported[address] = (managed, shape, strides, array.buffer, array.device)
    return _new(address, _FRESH, ctypes.cast(_dropped, ctypes.c_void_p))


class _Taken:
    """A structure of another library's, until we are done with its memory."""

    managed: Any = None

    def __init__(self, source: Any):
        capsule = source.__dlpack__()
        self.managed = _Managed.from_address(_pointer(capsule, _FRESH))
        _set_name(capsule, _USED)
        tensor = self.managed.tensor
        code, bits = tensor.dtype.code, tensor.dtype.bits
        if tensor.dtype.lanes != 1 or code not in _NAMES or bits % 8 or not bits:
            raise BufferError(f"type {code} of DLPack's with {bits} bits")
        self.dtype = np.dtype(f"{_NAMES[code]}{bits // 8}")
        self.shape = tuple(tensor.shape[index] for index in range(tensor.ndim))
        self.strides = dense_strides(self.shape, self.dtype)
        if tensor.strides:
            self.strides = tuple(tensor.strides[index] * self.dtype.itemsize
                                 for index in range(tensor.ndim))
        self.start = (tensor.data or 0) + tensor.byte_offset

    def bounds(self) -> tuple[int, int]:
        low = high = self.start
        for length, stride in zip(self.shape, self.strides):
            low, high = (
                (low + (length - 1) * stride, high) if stride < 0
                else (low, high + (length - 1) * stride)
            )
        return low, high + self.dtype.itemsize

    def __del__(self) -> None:
        if self.managed is not None and self.managed.deleter:
            self.managed.deleter(ctypes.byref(self.managed))


class _OnHost:
    """Memory of such a structure, for numpy, which keeps it."""

    def __init__(self, taken: _Taken):
        self.taken = taken
        self.__array_interface__ = {
            "shape": taken.shape,
            "strides": taken.strides,
            "typestr": taken.dtype.str,
            "data": (taken.start, False),
            "version": 3,
        }


def import_from(device: "Device", source: Any) -> DeviceArray:
    """See Device.from_dlpack()."""
    if isinstance(source, DeviceArray) and source.device is device:
        return source
    kind, _ = source.__dlpack_device__()
    if kind != ROCM:
        return device.array(numpy_of(source))
    if isinstance(source, DeviceArray):
        return device.array(source.numpy())
    taken = _Taken(source)
    low, high = taken.bounds()
    own = _exported_at(low, high)
    buffer = own or Buffer.import_host(device._handle, low, high - low, owner=taken)
    return DeviceArray(device, buffer, taken.start - buffer.address, taken.shape, taken.strides,
                       taken.dtype)


def _exported_at(low: int, high: int) -> Optional[Buffer]:
    """The buffer, if the memory is our own and came back."""
    for _, _, _, buffer, _ in list(_exported.values()):
        if buffer.address <= low and high <= buffer.address + buffer.nbytes:
            return buffer
    return None


def numpy_of(source: Any) -> np.ndarray:
    """An array of numpy's of what is on the host; shares its memory, to be written as well."""
    if isinstance(source, DeviceArray):
        return source.numpy()
    if isinstance(source, np.ndarray):
        return source
    kind, _ = source.__dlpack_device__()
    if kind not in (CPU, ROCM_HOST):
        raise TypeError(f"an array in memory of another device (DLPack's type {kind})")
    if hasattr(source, "detach"):  # of torch: one that needs a gradient is refused by __dlpack__()
        source = source.detach()
    taken = _Taken(source)
    return (np.asarray(_OnHost(taken)) if 0 not in taken.shape
            else np.empty(taken.shape, taken.dtype))


__all__ = ["device_of", "export", "import_from", "numpy_of"]
