"""Arrays of the device's, and of the host's that the device reaches."""
from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Iterable, Optional, Union

import numpy as np

from .memory import DEVICE, HOST, Buffer

if TYPE_CHECKING:
    from .devices import Device

Shape = Union[int, Iterable[int]]


def byte_bounds(array: np.ndarray) -> tuple[int, int]:
    """The addresses of its first byte and behind its last; equal for an array without elements."""
    low = high = int(array.ctypes.data)
    if array.size == 0:
        return low, high
    for length, stride in zip(array.shape, array.strides):
        reach = (length - 1) * stride
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high + array.itemsize


def shape_of(shape: Shape) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    found = tuple(operator.index(size) for size in sizes)
    if any(size < 0 for size in found):
        raise ValueError(f"a negative size: {found}")
    return found


def element_type(dtype: Any) -> np.dtype:
    """A dtype whose elements are bytes that a kernel can have: some, and no Python objects."""
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise TypeError("an array of Python objects")
    if kind.itemsize == 0:
        raise TypeError(f"an array of {kind.str!r}, whose elements have no bytes: state how many, "
                        f"as in '{kind.kind}8'")
    return kind


def _bytes_of(shape: tuple[int, ...], dtype: np.dtype) -> int:
    count = dtype.itemsize
    for size in shape:
        count *= size
    if count > 2**62:
        raise MemoryError(f"an array of {count} bytes")
    return count


class _Lines:
    """Strides and offsets by numpy's own rules: the array has no memory, and none is looked at."""

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype):
        self.__array_interface__ = {
            "shape": shape,
            "strides": strides,
            "typestr": f"|V{dtype.itemsize}",
            "data": (1 << 40, True),
            "version": 3,
        }


# but True, which numpy takes for a mask
_INDICES = (int, np.integer, slice, type(Ellipsis), type(None))


class DeviceArray:
    """An array in the device's memory, or a view of one. Made by Device.array(), empty() and
    zeros().

        >>> import rawhal
        >>> dev = rawhal.open(chip="gfx942")
        >>> x = dev.array([[1, 2, 3], [4, 5, 6]], "f4")
        >>> x[:, ::2] = 0
        >>> x[1].numpy()
        array([0., 5., 0.], dtype=float32)
        >>> x.shape, x[0].nbytes, x.reshape(6).ndim
        ((2, 3), 12, 1)

    It begins and ends at exactly its bytes: an access of a kernel beyond them is a MemoryFault on
    softgpu. Reading and writing it from Python copies, after the launches that use it are complete.
    Views share its memory, which is freed when the last of them, and the last launch that uses one,
    is gone."""

    __slots__ = ("device", "buffer", "offset", "shape", "strides", "dtype")
    __array_priority__ = 100  # numpy does not take it for a sequence

    def __init__(self, device: "Device", buffer: Buffer, offset: int, shape: tuple[int, ...],
                 strides: tuple[int, ...], dtype: np.dtype):
        self.device = device
        self.buffer = buffer
        self.offset = offset
        self.shape = shape
        self.strides = strides
        self.dtype = dtype

    @classmethod
    def empty(cls, device: "Device", shape: Shape, dtype: Any,
              label: Optional[str] = None) -> "DeviceArray":
        sizes, kind = shape_of(shape), element_type(dtype)
        buffer = Buffer.allocate(device._handle, DEVICE, max(_bytes_of(sizes, kind), 1), label)
        return cls(device, buffer, 0, sizes, dense_strides(sizes, kind), kind)

    def __repr__(self) -> str:
        return f"<rawhal.DeviceArray {self.dtype}{list(self.shape)} on {self.device.name}>"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return _bytes_of(self.shape, np.dtype("u1"))

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    @property
    def is_contiguous(self) -> bool:
        return self.strides == dense_strides(self.shape, self.dtype) or self.size == 0

    # ---- Views ----

    def _view(self, key: Any) -> "DeviceArray":
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, bool) or not isinstance(part, _INDICES) for part in parts):
            raise TypeError(
                "arrays of the device's take numbers, slices, None and ... as indices; "
                "others are for array.numpy()"
            )
        if not any(part is Ellipsis for part in parts):
            parts = (*parts, Ellipsis)  # an array, not an element that would be looked at
        lines = np.asarray(_Lines(self.shape, self.strides, self.dtype))
        view = lines[parts]
        offset = (self.offset
                  + (int(view.__array_interface__["data"][0]) - (1 << 40) if view.size else 0))
        return DeviceArray(self.device, self.buffer, offset, view.shape, view.strides, self.dtype)

    def __getitem__(self, key: Any) -> "DeviceArray":
        """A view: numbers, slices, None and ..."""
        return self._view(key)

    def reshape(self, *shape: Any) -> "DeviceArray":
        """A view of another shape; of a contiguous array."""
        sizes = shape_of(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
        if not self.is_contiguous or _bytes_of(sizes, self.dtype) != self.nbytes:
            raise ValueError(f"no view of {self.shape} with strides {self.strides} has the "
                             f"shape {sizes}")
        return DeviceArray(
            self.device, self.buffer, self.offset, sizes,
            dense_strides(sizes, self.dtype), self.dtype
        )

    def view(self, dtype: Any) -> "DeviceArray":
        """The same bytes as another type of the same size."""
        kind = element_type(dtype)
        if kind.itemsize != self.dtype.itemsize:
            raise ValueError(f"elements of {self.dtype.itemsize} bytes as {kind}")
        return DeviceArray(self.device, self.buffer, self.offset, self.shape, self.strides, kind)

    # ---- Copies ----

    def _bounds(self) -> tuple[int, int]:
        low = high = self.offset
        for length, stride in zip(self.shape, self.strides):
            reach = (length - 1) * stride
            low, high = (low + reach, high) if reach < 0 else (low, high + reach)
        return low, high + self.dtype.itemsize

    def _image(self) -> tuple[np.ndarray, np.ndarray, int]:
        """The bytes from its first to its last, as they are now, the array among them, and where
        they begin."""
        low, high = self._bounds()
        image = np.empty(high - low, "u1")
        self.buffer.read_into(low, image)
        array = np.ndarray(self.shape, self.dtype, image, self.offset - low, self.strides)
        return image, array, low

    def numpy(self) -> np.ndarray:
        """A copy of the host's. Waits for the launches that use the array, and raises the fault of
        one that nobody was told of."""
        if self.size == 0:
            return np.empty(self.shape, self.dtype)
        if self.is_contiguous:
            copy = np.empty(self.shape, self.dtype)
            self.buffer.read_into(self.offset, copy.reshape(-1).view("u1"))
            return copy
        return self._image()[1].copy()

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array of the device's cannot be one of numpy's without a copy")
        found = self.numpy()
        return found if dtype is None else found.astype(dtype, copy=False)

    def copy_from(self, values: Any) -> None:
        """Writes values, which are broadcast and converted as numpy does. As
        `array[...] = values`."""
        if self.size == 0:
            return
        if isinstance(values, DeviceArray):
            values = values.numpy()
        if self.is_contiguous:
            dense = np.empty(self.shape, self.dtype)
            dense[...] = values
            self.buffer.write(self.offset, dense.reshape(-1).view("u1"))
            return
        image, view, low = self._image()  # what lies between is written as it was read
        view[...] = values
        self.buffer.write(low, image)

    def __setitem__(self, key: Any, values: Any) -> None:
        self._view(key).copy_from(values)

    def item(self) -> Any:
        """The only element."""
        return self.numpy().item()

    # ---- For others ----

    def data_ptr(self) -> int:
        """The device's address of the first element: for what takes tensors by it, such as Triton.
        It does not keep the array."""
        return self.buffer.address + self.offset

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """For libraries that use the device's memory in place. Waits for the launches that use the
        array."""
        if self.device.is_software:
            raise AttributeError(
                "the memory of a device in software is not for libraries of GPUs: use numpy()"
            )
        self.buffer.settle()
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "strides": None if self.is_contiguous else self.strides,
            "data": (self.buffer.address + self.offset, False),
            "version": 3,
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        from .dlpack import device_of

        return device_of(self)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
        copy: Any = None
    ) -> Any:
        """DLPack's capsule of it: memory of the device's (kDLROCM), which the consumer keeps."""
        from .dlpack import export

        return export(self, dl_device, copy)


def dense_strides(shape: tuple[int, ...], dtype: np.dtype) -> tuple[int, ...]:
    strides, step = [], dtype.itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


class _Pinned:
    """What a pinned array of numpy's refers to, and what keeps its memory."""

    def __init__(self, buffer: Buffer):
        self.buffer = buffer
        self.__array_interface__ = {
            "shape": (buffer.nbytes,),
            "typestr": "|u1",
            "data": (buffer.host, False),
            "version": 3,
        }


def pinned(device: "Device", shape: Shape, dtype: Any, label: Optional[str] = None) -> np.ndarray:
    """See Device.pinned()."""
    sizes, kind = shape_of(shape), element_type(dtype)
    nbytes = _bytes_of(sizes, kind)
    buffer = Buffer.allocate(device._handle, HOST, max(nbytes, 1), label)
    device.host_ranges.add(buffer)
    return np.asarray(_Pinned(buffer))[:nbytes].view(kind).reshape(sizes)
