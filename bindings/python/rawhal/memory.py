"""Memory that kernels reach: who owns it, what still uses it, and which addresses of the host are
known.

A Buffer is freed when nothing refers to it. Launches refer to theirs until they are complete, so no
kernel ever runs on memory that was freed; arrays, modules and streams are not referred to by
either, so that none of them keeps the others alive."""
from __future__ import annotations

import bisect
import threading
import weakref
from typing import TYPE_CHECKING, Any, Iterable, Optional

from ._library import NULL, Owned, call, ffi, lib, owned, to_bytes
from .errors import Unsupported

if TYPE_CHECKING:
    from .tickets import Record

DEVICE, HOST = lib.RAWHAL_MEMORY_DEVICE, lib.RAWHAL_MEMORY_HOST


class Buffer:
    """A range of memory: `address` on the device, `nbytes`, and `host`, its address on the host, or
    0."""

    __slots__ = ("_handle", "address", "nbytes", "host", "owner", "_users", "__weakref__")

    def __init__(self, handle: Owned, owner: Any = None):
        self._handle = handle
        handle = handle.pointer
        self.address = int(lib.rawhal_buffer_address(handle))
        self.nbytes = int(lib.rawhal_buffer_size(handle))
        self.host = int(ffi.cast("uintptr_t", lib.rawhal_buffer_host(handle)))
        self.owner = owner  # of memory that is not the buffer's own
        # of each queue its last launch: those of one end in order
        self._users: dict[int, "Record"] = {}

    @classmethod
    def allocate(cls, device: Any, kind: int, nbytes: int, label: Optional[str] = None) -> "Buffer":
        """`nbytes`, 1 at least, undefined. An access beyond the last byte is a fault on softgpu."""
        buffer = cls(
            owned(
                "rawhal_buffer_t", lib.rawhal_buffer_free, lib.rawhal_buffer_allocate, device,
                kind, nbytes
            )
        )
        buffer.label(label)
        return buffer

    @classmethod
    def import_host(cls, device: Any, address: int, nbytes: int, owner: Any = None) -> "Buffer":
        """The program's own memory, in place: pinned until the buffer is freed. `owner` keeps it
        alive."""
        return cls(owned("rawhal_buffer_t", lib.rawhal_buffer_free,
                         lib.rawhal_buffer_import, device, ffi.cast("void *", address), nbytes),
                   owner)

    @classmethod
    def import_in_place(cls, device: Any, address: int, nbytes: int) -> "Buffer":
        """The same, at the host's own address where the device can have it there."""
        try:
            return cls(owned("rawhal_buffer_t", lib.rawhal_buffer_free,
                             lib.rawhal_buffer_import_in_place, device,
                             ffi.cast("void *", address), nbytes))
        except Unsupported:
            return cls.import_host(device, address, nbytes)

    def label(self, text: Optional[str]) -> None:
        """Names it in reports of faults (31 bytes)."""
        lib.rawhal_buffer_label(self._handle.pointer, to_bytes("label", text) if text else NULL)

    @property
    def origin(self) -> int:
        """Where in the library's buffer it begins, in bytes."""
        return 0

    # ---- Who uses it ----

    def use(self, record: "Record") -> None:
        """A launch that uses it was submitted."""
        self._users[record.queue_key] = record

    def settle(self) -> None:
        """Waits for the launches that use it. Raises the fault of one that nobody has been told
        of."""
        while self._users:
            try:
                key, record = next(iter(self._users.items()))
            except (StopIteration, RuntimeError):  # another thread changed it meanwhile
                continue
            record.wait()
            if self._users.get(key) is record:
                self._users.pop(key, None)

    # ---- Copies, which wait for the launches that use it ----

    def write(self, offset: int, data: Any) -> None:
        """From contiguous bytes-like data."""
        self.settle()
        view = ffi.from_buffer(data)
        call(lib.rawhal_buffer_write, self._handle.pointer, offset, view, len(view))

    def read_into(self, offset: int, data: Any) -> None:
        """Into contiguous writeable bytes-like data."""
        self.settle()
        self.peek_into(offset, data)

    def peek_into(self, offset: int, data: Any) -> None:
        """The same, for who has waited."""
        view = ffi.from_buffer(data, require_writable=True)
        call(lib.rawhal_buffer_read, self._handle.pointer, offset, view, len(view))

    def fill_zeros(self) -> None:
        self.settle()
        whole = self.nbytes & ~3
        if whole:
            call(lib.rawhal_buffer_fill, self._handle.pointer, 0, 0, whole)
        if whole < self.nbytes:
            self.write(whole, bytes(self.nbytes - whole))


class HostRanges:
    """The host's memory that a device reaches in place: pinned arrays, and what was mapped for it.

    mapped() pins a range when it is first asked for, and keeps it so, since the same tensors come
    again and again. A range that overlaps others takes their place once no launch uses them: memory
    that was given back and used anew has other bounds."""

    def __init__(self, device: Any):
        self._device = device  # rawhal_device_t *
        self._lock = threading.RLock()
        self._starts: list[int] = []  # sorted, and what begins there
        self._buffers: list["weakref.ref[Buffer]"] = []
        # by address and size, as they were asked for
        self._mapped: dict[tuple[int, int], Buffer] = {}

    def add(self, buffer: Buffer) -> None:
        """One whose memory the host reaches at `buffer.host`."""
        start = buffer.host

        def gone(reference: "weakref.ref[Buffer]") -> None:
            with self._lock:
                at = bisect.bisect_left(self._starts, start)
                while at < len(self._starts) and self._starts[at] == start:
                    if self._buffers[at] is reference:
                        del self._starts[at], self._buffers[at]
                        return
                    at += 1

        reference = weakref.ref(buffer, gone)
        # nothing in it is made that a collection, which calls gone(), could come with
        with self._lock:
            at = bisect.bisect_right(self._starts, start)
            self._starts.insert(at, start)
            self._buffers.insert(at, reference)

    def find(self, address: int, nbytes: int) -> Optional[Buffer]:
        """The buffer that has all of these bytes of the host's."""
        with self._lock:
            at = bisect.bisect_right(self._starts, address) - 1
            buffer = self._buffers[at]() if at >= 0 else None
        if buffer and address + nbytes <= buffer.host + buffer.nbytes:
            return buffer
        return None

    def _overlapping(self, low: int, high: int) -> list[Buffer]:
        found = [reference() for reference in self._buffers]
        return [one for one in found if one and one.host < high and one.host + one.nbytes > low]

    def mapped(self, address: int, nbytes: int) -> tuple[int, Buffer]:
        """The device's address of `nbytes` at the host's `address`, and the buffer, which whoever
        launches with it keeps until it is complete. Bounds are exact. Empty ranges have one
        byte."""
        key = (address, nbytes)
        buffer = self._mapped.get(key)
        if buffer is not None:
            return buffer.address + (address - buffer.host), buffer
        with self._lock:
            buffer = self._map(address, max(nbytes, 1))
            self._mapped[key] = buffer
        return buffer.address + (address - buffer.host), buffer

    def _map(self, low: int, nbytes: int) -> Buffer:
        high = low + nbytes
        pinned = self.find(low, nbytes)
        if pinned is not None and pinned not in self._mapped.values():
            return pinned
        pinned = None  # or it would stay
        self._make_room(low, high)
        buffer = Buffer.import_in_place(self._device, low, nbytes)
        self.add(buffer)
        return buffer

    def _make_room(self, low: int, high: int) -> None:
        others = self._overlapping(low, high)
        for other in others:
            other.settle()
        for key in [key for key, value in self._mapped.items() if value in others]:
            del self._mapped[key]

    def mapped_all(self, ranges: Iterable[tuple[int, int]]) -> tuple[list[int], list[Buffer]]:
        """The same for all arguments of one launch, of which some may overlap: those become one
        range, whose bounds are theirs together."""
        wanted = list(ranges)
        spans: list[list[int]] = []
        for low, nbytes in sorted(wanted):
            if spans and low < spans[-1][1]:
                spans[-1][1] = max(spans[-1][1], low + nbytes)
            else:
                spans.append([low, low + max(nbytes, 1)])
        starts = [low for low, _ in spans]
        places = [self.mapped(low, high - low) for low, high in spans]
        addresses = []
        for low, _ in wanted:
            at = bisect.bisect_right(starts, low) - 1
            addresses.append(places[at][0] + (low - starts[at]))
        return addresses, [buffer for _, buffer in places]

    def forget(self) -> None:
        """Unpins what was mapped, as far as no launch uses it."""
        with self._lock:
            self._mapped.clear()
