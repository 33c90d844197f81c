"""Pools: memory that is allocated and freed in the order of streams."""
from __future__ import annotations

import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

from ._library import NULL, Owned, call, error_record, failure, ffi, lib, owned, sized, to_bytes
from .arrays import DeviceArray, Shape, dense_strides, element_type, shape_of
from .errors import Closed, InvalidArgument, RawhalError
from .memory import Buffer
from .tickets import SLICE_NS, Record, in_ns

if TYPE_CHECKING:
    from .devices import Device
    from .queues import Queue
    from .streams import Stream

_WAITING = (lib.RAWHAL_WOULD_BLOCK, lib.RAWHAL_TIMED_OUT)


@dataclass(frozen=True)
class PoolInfo:
    """What a pool has, in bytes. `reserved`: taken from the device; `used`: of arrays; `waiting`:
    freed, and not known to be out of use; `budget`: None without."""

    reserved: int
    used: int
    waiting: int
    peak_reserved: int
    peak_used: int
    budget: Optional[int]
    slabs: int
    allocations: int
    total_allocations: int
    reused_allocations: int


class Pool:
    """Memory of a device that is given out in parts. Made by Device.pool().

        >>> import rawhal
        >>> dev = rawhal.open(chip="gfx942")
        >>> with dev.pool(budget=1 << 20) as pool:
        ...     x = pool.zeros(1024, "f4")
        ...     pool.info.used >= x.nbytes, pool.info.allocations
        (True, 1)

    Arrays of it are as others: memory goes back when the last view, and the last launch that uses
    it, is gone. free() gives it back in the order of a stream, at once: what is launched there
    later may have it, and other streams when what was launched has ended. An array is allocated for
    a stream, by default the device's own, and may be used on others, which wait for the memory's
    former users.

    Bounds are those of all of the pool's memory, its slabs: softgpu does not find an access beyond
    an array that hits another one of the pool's.

    The device's quota is charged for what a pool takes, not for each array. `with` closes the pool
    at its end: it makes no more arrays, and is given back with the last of them."""

    def __init__(self, device: "Device", budget: Optional[int], slab: Optional[int],
                 label: Optional[str]):
        self.device = device
        self._closed = False
        for name, value in (("budget", budget), ("slab", slab)):
            if value is not None and not 0 < value < 1 << 63:
                raise InvalidArgument(f"{name} is {value}")
        options = sized("rawhal_pool_options_t", budget_bytes=budget or 0, slab_bytes=slab or 0)
        named = ffi.new("char[]", to_bytes("label", label)) if label else NULL
        options.label = named
        self._handle = owned("rawhal_pool_t", lib.rawhal_pool_destroy, lib.rawhal_pool_create,
                             device._handle, options)

    def __repr__(self) -> str:
        info = self.info
        return (f"<rawhal.Pool on {self.device.name}: {info.used} of {info.reserved} bytes in "
                f"{info.allocations} arrays{', closed' if self._closed else ''}>")

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.close()

    def close(self) -> None:
        """It makes no more arrays; those that there are stay."""
        self._closed = True

    # ---- Arrays ----

    def empty(self, shape: Shape, dtype: Any = "f4", *, stream: Optional["Stream"] = None,
              label: Optional[str] = None, timeout: Optional[float] = None) -> DeviceArray:
        """An array whose contents are undefined, for what is launched in the stream from now on.
        Where nothing is free it waits for what has been freed in the order of streams, at most
        `timeout` seconds: TimedOut. OutOfMemory: the budget, or the device's memory; QuotaExceeded.
        `label`: names it in reports of faults (31 bytes)."""
        if self._closed:
            raise Closed("the pool was closed")
        chosen = stream or self.device.default_stream
        if chosen.device is not self.device:
            raise InvalidArgument(f"the stream is on {chosen.device!r}, the pool on "
                                  f"{self.device!r}")
        sizes, kind = shape_of(shape), element_type(dtype)
        strides = dense_strides(sizes, kind)
        nbytes = kind.itemsize
        for size in sizes:
            nbytes *= size
        buffer = PoolBuffer(self._handle, chosen._live(False), max(nbytes, 1), label,
                            in_ns(timeout))
        return DeviceArray(self.device, buffer, 0, sizes, strides, kind)

    def zeros(self, shape: Shape, dtype: Any = "f4", **options: Any) -> DeviceArray:
        """An array of zeros, which the host writes; otherwise as empty()."""
        made_one = self.empty(shape, dtype, **options)
        made_one.buffer.fill_zeros()
        return made_one

    def array(self, values: Any, dtype: Any = None, **options: Any) -> DeviceArray:
        """An array with a copy of the values; otherwise as empty()."""
        import numpy as np

        source = np.asarray(values, dtype)
        made_one = self.empty(source.shape, source.dtype, **options)
        made_one.copy_from(source)
        return made_one

    def free(self, array: DeviceArray, stream: Optional["Stream"] = None) -> None:
        """Gives an array's memory back behind all that has been launched in the stream, without
        waiting for it; for launches of other streams that use it, it waits. The array, and its
        views, cannot be used any more."""
        buffer = array.buffer
        if not isinstance(buffer, PoolBuffer) or buffer.pool is not self._handle:
            raise InvalidArgument("the array is not of this pool")
        chosen = stream or self.device.default_stream
        if chosen.device is not self.device:
            raise InvalidArgument(f"the stream is on {chosen.device!r}, the pool on "
                                  f"{self.device!r}")
        buffer.free(chosen._live(False))

    # ---- Memory ----

    def trim(self, keep: int = 0) -> int:
        """Gives memory back to the device, of which nothing is in use, until the pool has no more
        than `keep` bytes. Returns how many. Does not wait."""
        if not 0 <= keep < 1 << 64:
            raise InvalidArgument(f"keep is {keep}")
        return int(lib.rawhal_pool_trim(self._handle.pointer, keep))

    @property
    def info(self) -> PoolInfo:
        """What it has at this moment."""
        raw = sized("rawhal_pool_info_t")
        lib.rawhal_pool_info(self._handle.pointer, raw)
        budget = None if raw.budget_bytes == (1 << 64) - 1 else int(raw.budget_bytes)
        return PoolInfo(raw.reserved_bytes, raw.used_bytes, raw.waiting_bytes,
                        raw.peak_reserved_bytes, raw.peak_used_bytes, budget, raw.slabs,
                        raw.allocations, raw.total_allocations, raw.reused_allocations)


class PoolBuffer(Buffer):
    """Part of a pool's memory. `_handle` is the pool's slab, which is not freed with it."""

    __slots__ = ("pool", "_queue", "_key", "_allocation", "_before", "_base", "_freed")

    def __init__(self, pool: Owned, queue: "Queue", nbytes: int, label: Optional[str],
                 timeout_ns: Optional[int]):
        self._freed = True  # while there is nothing to free
        self.pool = pool
        self._queue = weakref.ref(queue)
        self._key = queue.key
        self._allocation = ffi.new("rawhal_pool_allocation_t *")
        request = sized("rawhal_pool_request_t", bytes=nbytes)
        named = ffi.new("char[]", to_bytes("label", label)) if label else NULL
        request.label = named
        self._allocate(queue, request, timeout_ns)
        made_one = self._allocation
        self._freed = False
        self._handle = _Slab(made_one.buffer, pool)  # type: ignore[assignment]
        self.address = int(made_one.address)
        self.nbytes = int(made_one.bytes)
        self.host = 0
        self.owner = None
        self._users: dict[int, Record] = {}
        self._base = int(made_one.offset)
        self._before = int(made_one.after)  # a ticket of the queue, which may still use the memory

    def _allocate(self, queue: "Queue", request: Any, timeout_ns: Optional[int]) -> None:
        end = None if timeout_ns is None else time.monotonic_ns() + timeout_ns
        error = error_record()
        while True:
            until = time.monotonic_ns() + SLICE_NS
            if end is not None:
                until = min(until, end)

            def ask(handle: Any) -> int:
                return int(lib.rawhal_pool_allocate_with(self.pool.pointer, handle, request,
                                                         until, self._allocation, error))

            status = queue._with(ask)
            if status == lib.RAWHAL_OK:
                return
            if status < 0:
                raise queue._closed()
            if status not in _WAITING or until == end:
                raise failure(status, error)

    def __del__(self) -> None:
        if not self._freed:
            self._give_back(self._queue())

    def _give_back(self, queue: Optional["Queue"]) -> None:
        """In its order; without one, which has been destroyed, nothing uses it."""
        self._freed = True

        def give(handle: Any) -> int:
            return int(lib.rawhal_pool_free(self.pool.pointer, handle, self._allocation, NULL))

        if queue is None or queue._with(give):
            give(NULL)

    def free(self, queue: "Queue") -> None:
        """See Pool.free()."""
        self._check()
        for key, record in list(self._users.items()):
            if key != queue.key:
                record.wait()
        if queue.key != self._key:
            self._await_before()
        self._give_back(queue)

    def _check(self) -> None:
        if self._freed:
            raise Closed("the array's memory was given back to its pool")

    def _await_before(self) -> None:
        """Who is not of its queue waits for who had the memory before."""
        number, queue = self._before, self._queue()
        while number and queue is not None:
            error = error_record()
            status = queue._with(lib.rawhal_queue_wait, number, time.monotonic_ns() + SLICE_NS,
                                 error)
            if status not in _WAITING:
                break  # it has ended, or its queue has
        self._before = 0

    # ---- As a Buffer ----

    @property
    def origin(self) -> int:
        return int(self._base)

    def use(self, record: Record) -> None:
        self._check()
        if record.queue_key != self._key:
            self._await_before()
        super().use(record)

    def settle(self) -> None:
        self._check()
        self._await_before()
        super().settle()

    def label(self, text: Optional[str]) -> None:
        raise RawhalError("the arrays of a pool are named when they are made")

    def write(self, offset: int, data: Any) -> None:
        self.settle()
        view = ffi.from_buffer(data)
        self._fits(offset, len(view))
        call(lib.rawhal_buffer_write, self._handle.pointer, self._base + offset, view, len(view))

    def peek_into(self, offset: int, data: Any) -> None:
        self._check()
        view = ffi.from_buffer(data, require_writable=True)
        self._fits(offset, len(view))
        call(lib.rawhal_buffer_read, self._handle.pointer, self._base + offset, view, len(view))

    def _fits(self, offset: int, nbytes: int) -> None:
        """The slab has more than this."""
        if not 0 <= offset <= offset + nbytes <= self.nbytes:
            raise InvalidArgument(f"bytes {offset} to {offset + nbytes} of {self.nbytes}")

    def fill_zeros(self) -> None:
        self.write(0, bytes(self.nbytes))


class _Slab:
    """A pool's buffer, which lives as long as the pool."""

    __slots__ = ("pointer", "pool")

    def __init__(self, pointer: Any, pool: Owned):
        self.pointer = pointer
        self.pool = pool


__all__ = ["Pool", "PoolInfo"]
