"""Values of Python's, as the bytes of a kernarg blob: checked against what the kernel takes, and
kept alive.

An array of the host's is copied to the device for one launch, and back where it can be written and
the kernel does not say that it only reads. Those that share memory share it there, too. Arrays of
the device's, and pinned ones, are used in place."""
from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Optional

import numpy as np

from .arrays import DeviceArray, byte_bounds, element_type
from .memory import DEVICE, Buffer
from .signatures import TYPES, Argument, Parameter, Signature, Type

if TYPE_CHECKING:
    from .devices import Device

_UNSIGNED = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}
_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}


@dataclass
class Packed:
    """A blob, what it refers to, and what is to be done when the launch is complete."""

    blob: bytearray
    keep: tuple[Any, ...]
    buffers: tuple[Buffer, ...]
    after: tuple[Callable[[], None], ...]


def pack(device: "Device", signature: Signature, size: int, values: list[Any]) -> Packed:
    """The blob of `size` bytes. TypeError, ValueError, OverflowError: a value that does not fit its
    parameter, which the message names."""
    packing = _Packing(device, bytearray(size))
    for parameter, value in zip(signature.parameters, values):
        try:
            packing.add(parameter, value)
        except (TypeError, ValueError, OverflowError, struct.error) as error:
            kind = OverflowError if isinstance(error, struct.error) else type(error)
            named = (f"argument {parameter.index}"
                     + (f" {parameter.name!r}" if parameter.name else ""))
            raise kind(f"{named}: {error}") from None
    packing.check_shapes(signature)
    return packing.end()


class _Packing:
    def __init__(self, device: "Device", blob: bytearray):
        self.device = device
        self.blob = blob
        self.keep: list[Any] = []
        self.buffers: dict[int, Buffer] = {}
        self.hosts: list[tuple[Argument, np.ndarray, bool]] = []  # to be copied; whether back, too
        self.shapes: list[tuple[Parameter, tuple[int, ...]]] = []
        self.numbers: dict[str, int] = {}

    def put(self, argument: Argument, data: bytes) -> None:
        self.blob[argument.offset:argument.offset + len(data)] = data

    def put_address(self, argument: Argument, address: int) -> None:
        self.put(argument, struct.pack("<Q", address))

    def add(self, parameter: Parameter, value: Any) -> None:
        argument, kind = parameter.argument, parameter.type
        if kind is not None and kind.pointer:
            self.add_pointer(parameter, kind, value)
        elif (
            kind is None and argument.size == 8 and _is_array(value)
        ):  # a pointer that the object calls a value
            self.add_pointer(parameter, Type("void", True, strict=False), value)
        else:
            self.put(argument, _value_bytes(argument, kind, value))
            if isinstance(value, (int, np.integer)):
                self.numbers[parameter.name] = int(value)

    # ---- Pointers ----

    def add_pointer(self, parameter: Parameter, kind: Type, value: Any) -> None:
        argument = parameter.argument
        if value is None:
            self.put_address(argument, 0)
            return
        if isinstance(value, DeviceArray):
            if value.device is not self.device:
                raise ValueError(f"the array is on {value.device!r}, the kernel on {self.device!r}")
            self.check(parameter, kind, value.dtype, value.shape)
            self.use(value.buffer)
            self.put_address(argument, value.buffer.address + value.offset)
            return
        array = _host_array(value)
        self.check(parameter, kind, array.dtype, array.shape)
        low, high = byte_bounds(array)
        pinned = self.device.host_ranges.find(low, high - low) if high > low else None
        if pinned is None:
            self.hosts.append((argument, array, array.flags.writeable and not kind.const))
            return
        self.use(pinned)
        self.keep.append(array)
        self.put_address(argument, pinned.address + (array.ctypes.data - pinned.host))

    def use(self, buffer: Buffer) -> None:
        self.buffers[id(buffer)] = buffer

    def check(self, parameter: Parameter, kind: Type, dtype: np.dtype,
              shape: tuple[int, ...]) -> None:
        if not _dtype_fits(kind, dtype):
            raise TypeError(f"an array of {dtype}; the kernel takes {kind}")
        if kind.shape is not None:
            self.shapes.append((parameter, shape))

    def check_shapes(self, signature: Signature) -> None:
        """Names in shapes are those of numbers among the arguments, or equal wherever they
        stand."""
        known = dict(self.numbers)
        for parameter, shape in self.shapes:
            assert parameter.type is not None and parameter.type.shape is not None
            wanted = parameter.type.shape
            fits = len(wanted) == len(shape)
            for name, actual in zip(wanted, shape):
                fits &= actual == (int(name) if name.isdigit() else known.setdefault(name, actual))
            if not fits:
                meant = ", ".join(f"{name}={known[name]}" for name in wanted if name in known)
                raise ValueError(
                    f"argument {parameter.index} {parameter.name!r}: the shape is {shape}; "
                    f"it must be ({', '.join(wanted)}){', with ' + meant if meant else ''}"
                )

    # ---- Arrays of the host's ----

    def end(self) -> Packed:
        after = self.copy_hosts() if self.hosts else ()
        return Packed(self.blob, tuple(self.keep), tuple(self.buffers.values()), after)

    def copy_hosts(self) -> tuple[Callable[[], None], ...]:
        after: list[Callable[[], None]] = []
        bounds = [byte_bounds(array) for _, array, _ in self.hosts]
        for span in _joined(bounds):
            members = [
                one for one, (low, high) in zip(self.hosts, bounds)
                if span[0] <= low and high <= span[1]
            ]
            nbytes = max(span[1] - span[0], 1)
            buffer = Buffer.allocate(self.device._handle, DEVICE, nbytes,
                                     members[0][0].name or None)
            self.use(buffer)
            if span[1] > span[0]:
                buffer.write(0, _bytes_at(members[0][1], span))
            for argument, array, _ in members:
                self.put_address(argument, buffer.address + (array.ctypes.data - span[0]))
            back = [array for _, array, is_back in members if is_back and array.size]
            if back:
                after.append(_copy_back(buffer, span, back))
        return tuple(after)


def _joined(bounds: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges that overlap as one. Those without bytes stay apart."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(set(bounds)):
        if joined and low < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


class _Range:
    """Memory that `owner` has, for numpy: whoever gets the array keeps the owner."""

    def __init__(self, owner: Any, span: tuple[int, int], read_only: bool):
        self.owner = owner
        self.__array_interface__ = {
            "shape": (span[1] - span[0],),
            "typestr": "|u1",
            "data": (span[0], read_only),
            "version": 3,
        }


def _bytes_at(array: np.ndarray, span: tuple[int, int]) -> np.ndarray:
    return np.asarray(_Range(array, span, True))


def _copy_back(buffer: Buffer, span: tuple[int, int],
               arrays: list[np.ndarray]) -> Callable[[], None]:
    """All of the range, where one array has all of its bytes; else those of each array. What could
    be written when the launch was made is written, whatever was made of the arrays since."""
    whole = np.asarray(_Range(arrays, span, False))
    is_alone = len(arrays) == 1 and arrays[0].nbytes == len(whole)

    def among(memory: np.ndarray, array: np.ndarray) -> np.ndarray:
        return np.ndarray(array.shape, array.dtype, memory, array.ctypes.data - span[0],
                          array.strides)

    targets = [among(whole, array) for array in arrays]

    def copy() -> None:
        if is_alone:
            buffer.peek_into(0, whole)
            return
        read = np.empty_like(whole)
        buffer.peek_into(0, read)
        for target in targets:
            target[...] = np.ndarray(target.shape, target.dtype, read, target.ctypes.data - span[0],
                                     target.strides)

    return copy


# ---- What a value is ----


def _is_array(value: Any) -> bool:
    return (
        isinstance(value, (DeviceArray, np.ndarray)) and getattr(value, "ndim", 0) > 0
        or _has_buffer(value)
    )


def _has_buffer(value: Any) -> bool:
    return isinstance(value, (bytearray, memoryview))


def _host_array(value: Any) -> np.ndarray:
    """An array of the host's that shares the value's memory."""
    if isinstance(value, np.ndarray):
        array = np.asarray(value)  # without what a class of the user's makes of it
    elif isinstance(value, (bytes, bytearray, memoryview)):
        array = np.frombuffer(value, "u1")
    elif hasattr(value, "__array_interface__"):
        array = np.asarray(value)
    elif hasattr(value, "__dlpack__"):
        from .dlpack import numpy_of

        array = numpy_of(value)
    else:
        raise TypeError(f"a {type(value).__name__}; it takes an array of numpy's or the "
                        "device's, or None. Device addresses are for Kernel.launch()")
    element_type(array.dtype)
    return array


def _dtype_fits(kind: Type, dtype: np.dtype) -> bool:
    if kind.base == "void":
        return dtype.isnative  # the device has one order of bytes
    name = TYPES[kind.base]
    if name is None:
        return dtype.itemsize == kind.bytes and (
            dtype.kind in "uV" or dtype.name.startswith(("bfloat", "float8"))
        )
    wanted = np.dtype(name)
    if dtype == wanted:
        return True
    if kind.strict:
        return kind.base in ("bool", "i1") and dtype == np.dtype("u1")
    integers = dtype.kind in "iub" and wanted.kind in "iub"
    return (dtype == np.dtype("u1")
            or integers and dtype.isnative and dtype.itemsize == wanted.itemsize)


def _value_bytes(argument: Argument, kind: Optional[Type], value: Any) -> bytes:
    """Of an argument that is passed by value."""
    if isinstance(value, (bool, np.bool_)):
        return int(value).to_bytes(argument.size, "little")
    if isinstance(value, int):
        return _number_bytes(argument, kind, value)
    if isinstance(value, float):
        if kind is None or kind.base not in _FLOATS:
            raise TypeError(
                "a float, where "
                f"{kind or f'{argument.size} bytes of a type that the object does not state'}"
                " is taken: give a number of numpy's, or types by typed()"
            )
        return struct.pack(_FLOATS[kind.base], value)
    if isinstance(value, (np.generic, np.ndarray)):
        return _numpy_bytes(argument, kind, value)
    try:
        data = bytes(memoryview(value))  # bytes, a structure of ctypes'
    except TypeError:
        raise TypeError(f"a {type(value).__name__}, where {argument.size} bytes are "
                        "taken") from None
    if len(data) != argument.size:
        raise ValueError(f"{len(data)} bytes, where {argument.size} are taken")
    return data


def _number_bytes(argument: Argument, kind: Optional[Type], value: int) -> bytes:
    if kind is not None and kind.base in _FLOATS:
        return struct.pack(_FLOATS[kind.base], value)
    if argument.size not in _UNSIGNED:
        raise TypeError(f"an int, where {argument.size} bytes are taken")
    bits = 8 * argument.size
    low, high = -(1 << bits - 1), (1 << bits) - 1
    if kind is not None and kind.strict:
        low, high = (0, high) if kind.base[0] == "u" else (low, (1 << bits - 1) - 1)
    if not low <= value <= high:
        raise OverflowError(f"{value} does not fit {kind or f'{argument.size} bytes'}: {low} "
                            f"to {high}")
    return struct.pack(_UNSIGNED[argument.size], value & (1 << bits) - 1)


def _numpy_bytes(argument: Argument, kind: Optional[Type], value: Any) -> bytes:
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    if (
        kind is not None
        and value.size == 1
        and not _dtype_fits(kind, value.dtype)
        and value.dtype.kind in "iu"
    ):
        return _number_bytes(argument, kind, int(value))
    if value.dtype.kind not in "biufcV" or kind is not None and not _dtype_fits(kind, value.dtype):
        raise TypeError(f"a number of type {value.dtype}, where "
                        f"{kind or f'{argument.size} bytes'} is taken")
    if value.nbytes != argument.size:
        raise ValueError(f"{value.nbytes} bytes of {value.dtype}, where {argument.size} are taken")
    return value.tobytes()


__all__ = ["Packed", "pack"]
