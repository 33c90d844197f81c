"""Timelines: values that only rise, which order the work of streams and of the host."""
from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Generator, Optional, Union

from ._library import NULL, call, error_record, failure, ffi, lib, owned, to_bytes
from .errors import InvalidArgument, TimedOut
from .tickets import SLICE_NS, Ticket, in_ns

if TYPE_CHECKING:
    from .devices import Device

_WAITING = (lib.RAWHAL_WOULD_BLOCK, lib.RAWHAL_TIMED_OUT)


class Timeline:
    """A timeline semaphore. Made by Device.timeline().

        >>> import rawhal
        >>> ready = rawhal.open(chip="gfx942").timeline()
        >>> ready.signal(3)
        >>> ready.value, ready.wait(2).value
        (3, 3)

    Its value only rises. Streams and the host signal values and wait for values; a wait is over
    when the value has been reached or passed. A stream may wait for what nobody has been asked to
    signal yet: the device waits, not the host.

        stream.signal(ready.at(4))        when all before it in the stream is complete
        other.wait_for(ready.at(4))       what comes after it in the stream
        ready.wait(4, timeout=5)          the host
        await ready.at(4)                 asyncio

    It fails at a value, with a cause, when a stream that was to signal it faults or is closed, and
    by fail(). All that waits for that value or more is told, and a stream that waited takes a new
    queue: what it has not finished fails of that cause."""

    __slots__ = ("device", "_handle", "_label")

    def __init__(self, device: "Device", value: int, label: Optional[str]):
        self.device = device
        self._handle = owned("rawhal_semaphore_t", lib.rawhal_semaphore_destroy,
                             lib.rawhal_semaphore_create, device._handle, _number(value))
        self._label: Optional[str] = None
        self.label = label

    def __repr__(self) -> str:
        named = f" {self._label!r}" if self._label else ""
        return f"<rawhal.Timeline{named} on {self.device.name}>"

    @property
    def label(self) -> Optional[str]:
        """What names it in messages; 31 bytes of it are kept."""
        return self._label

    @label.setter
    def label(self, text: Optional[str]) -> None:
        lib.rawhal_semaphore_label(self._handle.pointer, to_bytes("label", text) if text else NULL)
        self._label = text or None

    @property
    def value(self) -> int:
        """What has been reached. Raises its failure, once it has failed: see reached()."""
        value = ffi.new("uint64_t *")
        call(lib.rawhal_semaphore_value, self._handle.pointer, value)
        return int(value[0])

    def reached(self, value: int) -> bool:
        """Whether it has reached the value, whatever it failed of at a later one."""
        now = ffi.new("uint64_t *")
        lib.rawhal_semaphore_value(self._handle.pointer, now, NULL)
        return bool(now[0] >= _number(value))

    def at(self, value: int) -> "Timepoint":
        """The moment at which it reaches a value."""
        return Timepoint(self, _number(value))

    def signal(self, value: int) -> None:
        """It reaches the value now, by the host. InvalidArgument: it has, or a stream is to signal
        just this value."""
        call(lib.rawhal_semaphore_signal, self._handle.pointer, _number(value))

    def fail(self, why: str) -> None:
        """It never reaches more than it has: RuntimeFailed, with these words, for all that waits or
        is going to."""
        cause = ffi.new("rawhal_error_t *")
        cause.status = lib.RAWHAL_RUNTIME
        words = to_bytes("why", why)[:ffi.sizeof(cause.message) - 1]
        ffi.memmove(cause.message, words, len(words))
        call(lib.rawhal_semaphore_fail, self._handle.pointer, cause)

    def wait(self, value: int, timeout: Optional[float] = None) -> "Timeline":
        """Waits until it has reached the value; returns itself. `timeout` in seconds: TimedOut.
        Raises why it never will. Ctrl-C interrupts it within 50 ms."""
        wait_all(self.at(value), timeout=timeout)
        return self


@dataclass(frozen=True, eq=False)
class Timepoint:
    """A value of a timeline, to be waited for or signalled. Made by Timeline.at(); it may be
    awaited."""

    timeline: Timeline
    value: int

    def __repr__(self) -> str:
        return f"<rawhal.Timepoint {self.value} of {self.timeline!r}>"

    def wait(self, timeout: Optional[float] = None) -> "Timepoint":
        """Timeline.wait()."""
        self.timeline.wait(self.value, timeout)
        return self

    def done(self) -> bool:
        """Whether it has been reached, or never will be. Does not wait."""
        return wait_any(self, timeout=0) == 0

    def notify(self, descriptor: int) -> None:
        """Adds 1 to the count of an eventfd, once, when it has been reached or has failed: for
        loops of the program's own. The descriptor may be closed at any time."""
        call(lib.rawhal_semaphore_notify, self.timeline._handle.pointer, self.value, descriptor)

    def __await__(self) -> Generator[Any, None, "Timepoint"]:
        yield from until_notified(self.notify).__await__()
        return self.wait(0)


Awaited = Union[Ticket, Timepoint]


def _number(value: int) -> int:
    if not 0 <= value < 1 << 64:
        raise InvalidArgument(f"a value of {value}; it is 0 to 2^64 - 1")
    return value


# ---- The host ----


def wait_all(*waits: Awaited, timeout: Optional[float] = None) -> None:
    """Waits for tickets and timepoints, whichever streams and devices they are of. Raises the first
    failure as soon as it is known; TimedOut after `timeout` seconds."""
    which = _wait(lib.rawhal_wait_all, waits, in_ns(timeout))
    for index, one in enumerate(waits):
        if isinstance(one, Ticket) and which in (None, index):
            one.wait()  # what is to be done when it is complete


def wait_any(*waits: Awaited, timeout: Optional[float] = None) -> Optional[int]:
    """Waits until one of them has ended, one way or the other: the index of the first such; ask it
    by its wait() how. None: `timeout` seconds are over."""
    if not waits:
        raise InvalidArgument("wait_any() of nothing")
    for index, one in enumerate(waits):
        if isinstance(one, Ticket) and one._record.done:
            return index
    try:
        return _wait(lib.rawhal_wait_any, waits, in_ns(timeout))
    except TimedOut:
        return None


def _wait(function: Callable[..., int], waits: tuple[Awaited, ...],
          timeout_ns: Optional[int]) -> Optional[int]:
    """The index of what has ended by itself; None: all have. Raises its failure only where that is
    not a ticket's, whose own wait() knows more. In slices, so that signals are handled."""
    end = None if timeout_ns is None else time.monotonic_ns() + timeout_ns
    which, error = ffi.new("size_t *"), error_record()
    items = ffi.new("rawhal_wait_t[]", len(waits))
    held: list[Any] = []
    for index, one in enumerate(waits):
        if isinstance(one, Timepoint):
            items[index].semaphore, items[index].value = one.timeline._handle.pointer, one.value
            continue
        if not isinstance(one, Ticket):
            raise TypeError(f"{index}: a {type(one).__name__}; it takes tickets and timepoints")
        handle = one._queue.handle  # is not destroyed meanwhile
        if one._record.done or handle is None:
            items[index].queue = NULL
            if one._record.error or handle is None:
                return index
            continue
        held.append(handle)
        items[index].queue, items[index].ticket = handle.pointer, one._record.number[0]
    live = [index for index, one in enumerate(waits)
            if isinstance(one, Timepoint) or items[index].queue != NULL]
    packed = ffi.new("rawhal_wait_t[]", [items[index] for index in live])
    while live:
        until = time.monotonic_ns() + SLICE_NS
        if end is not None:
            until = min(until, end)
        status = function(packed, len(live), until if timeout_ns != 0 else 0, which, error)
        if status == lib.RAWHAL_OK:
            break
        found = live[which[0]] if which[0] < len(live) else None
        if status not in _WAITING:
            if found is None:
                raise failure(status, error)
            if function is lib.rawhal_wait_all and isinstance(waits[found], Timepoint):
                raise failure(status, error)
            return found
        if timeout_ns is not None and until == end or timeout_ns == 0:
            raise TimedOut(f"{len(waits)} have not ended after {timeout_ns / 1e9:g} s"
                           if len(waits) != 1 else
                           f"{waits[0]!r} has not ended after {timeout_ns / 1e9:g} s")
    return live[which[0]] if function is lib.rawhal_wait_any and live else None


# ---- asyncio ----


def _eventfd() -> int:
    if hasattr(os, "eventfd"):
        return os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
    import ctypes  # before Python 3.10

    made = int(ctypes.CDLL(None, use_errno=True).eventfd(0, os.O_NONBLOCK | os.O_CLOEXEC))
    if made < 0:
        raise OSError(ctypes.get_errno(), "eventfd")
    return made


async def until_notified(notify: Callable[[int], None]) -> None:
    """Lets the running loop go on until the library has written to a descriptor, which `notify`
    gives to it. No thread of this program waits."""
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    descriptor = _eventfd()

    def readable() -> None:
        if not ended.done():
            ended.set_result(None)

    try:
        loop.add_reader(descriptor, readable)
        try:
            notify(descriptor)
            await ended
        finally:
            loop.remove_reader(descriptor)
    finally:
        os.close(descriptor)


# ---- Streams ----


class Marker:
    """What stands for a kernel's facts in a record of what runs none."""

    __slots__ = ("name", "code", "folder", "has_printf")

    def __init__(self, name: str):
        self.name = name
        self.code: Any = None
        self.folder = ""
        self.has_printf = False

    def object_bytes(self) -> bytes:
        return b""


def points_of(points: tuple[Timepoint, ...]) -> tuple[Any, Any]:
    """A rawhal_timepoint_t[] or NULL, and what must live as long as the device waits for it."""
    for one in points:
        if not isinstance(one, Timepoint):
            raise TypeError(f"a {type(one).__name__}; it takes timepoints, such as timeline.at(3)")
    if not points:
        return NULL, ()
    packed = ffi.new("rawhal_timepoint_t[]",
                     [(one.timeline._handle.pointer, one.value) for one in points])
    return packed, tuple(one.timeline._handle for one in points)


__all__ = ["Timeline", "Timepoint", "wait_all", "wait_any"]
