"""From what a program passes to a kernel to the address that the kernel gets.

A tensor may be an array of the device's, one of numpy's or torch's in host memory, which is used in
place, or anything that has `data_ptr()` and knows its address. Host memory is lent to the device
for one launch, with the bounds of the whole allocation (a kernel may follow strides out of a view,
never out of the storage), and is the host's alone again when the launch has ended."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional


class Span(NamedTuple):
    """Host memory: `size` bytes at `address`."""
    address: int
    size: int

    @property
    def end(self) -> int:
        return self.address + self.size


class HostTensor:
    """A numpy array that Triton takes for a tensor: kernels use its memory in place.

    Keeps the array alive. Only what has elements next to each other in some order of its own is a
    tensor; views with strides are fine. `array` is the array."""

    __slots__ = ("array", "dtype", "shape", "__weakref__")

    def __init__(self, array: Any):
        self.array, self.dtype, self.shape = array, array.dtype, array.shape

    def data_ptr(self) -> int:
        """The address of the first element, on the host."""
        return self.array.__array_interface__["data"][0]

    @property
    def data(self) -> "HostTensor":
        """Itself: Triton's reinterpretations ask for it."""
        return self

    @property
    def device(self) -> str:
        """Where it is: on the host."""
        return "cpu"

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def stride(self, dimension: Optional[int] = None) -> Any:
        """Strides in elements, as torch counts them."""
        strides = tuple(each // self.dtype.itemsize for each in self.array.strides)
        return strides if dimension is None else strides[dimension]

    def numel(self) -> int:
        """How many elements."""
        return self.array.size

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def ptr_range(self) -> int:
        """Bytes that the memory can be reached over, by which Triton's compiler chooses its
        loads."""
        return array_span(self.array).size

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array if dtype is None else self.array.astype(dtype)

    def __repr__(self) -> str:
        return f"HostTensor({self.array!r})"


def array_span(array: Any) -> Span:
    """The allocation that a numpy array lies in, as far as numpy knows: that of the array it is a
    view of."""
    from rawhal.arrays import byte_bounds

    base = array
    while (type(base.base) is type(array)
           or hasattr(base.base, "__array_interface__") and hasattr(base.base, "nbytes")):
        base = base.base
    address, size = base.__array_interface__["data"][0], base.nbytes
    low, high = byte_bounds(array)
    # a view that was made by hand, beyond what it says it is of
    if not address <= low <= high <= address + size:
        address, size = low, high - low
    return Span(address, size)


def host_span(tensor: Any) -> Optional[Span]:
    """Where a tensor's storage is in host memory; None if it is not there, or nobody says."""
    if isinstance(tensor, HostTensor):
        return array_span(tensor.array)
    storage = getattr(tensor, "untyped_storage", None)
    if storage is None:
        return None
    memory = storage()
    # asked of the storage: the tensor may pose (see pytest_plugin/posing.py)
    if memory.device.type != "cpu":
        return None
    return Span(memory.data_ptr(), memory.nbytes())


def unwrap(tensor: Any) -> Any:
    """What is inside of Triton's reinterpretation of a tensor as another type."""
    while type(tensor).__name__ == "TensorWrapper" and hasattr(tensor, "base"):
        tensor = tensor.base
    return tensor

