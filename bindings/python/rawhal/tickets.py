"""What was submitted, until it is complete.

A Record is what the device still uses: the queue keeps it, and it keeps buffers, arguments and
code. It refers to nothing that a user holds, so that a stream that is dropped can stop. A Ticket is
what the user holds: a record and its queue."""
from __future__ import annotations

import os
import sys
import weakref
from typing import TYPE_CHECKING, Any, Callable, Generator, Optional

from ._library import ffi
from .errors import RawhalError, TimedOut

if TYPE_CHECKING:
    from .streams import Queue

SLICE_NS = 50_000_000  # how long a signal's handler, such as Ctrl-C's, may have to wait


def in_ns(timeout: Optional[float]) -> Optional[int]:
    """Of seconds, 0 at least. None: as long as it takes, which is what more than 30 years are,
    too."""
    return None if timeout is None or timeout > 1e9 else round(max(timeout, 0) * 1e9)


class Record:
    """One submission. `number` is a uint64_t * that the library writes the ticket to: 0 until
    then."""

    __slots__ = ("number", "queue", "queue_key", "facts", "names", "keep", "after", "done",
                 "error", "told", "times")

    def __init__(self, queue: "Queue", facts: Any, names: Optional[tuple[str, ...]],
                 keep: tuple[Any, ...], after: tuple[Callable[[], None], ...]):
        self.number = ffi.new("rawhal_ticket_t *")
        self.queue = weakref.ref(queue)
        self.queue_key = queue.key
        self.facts = facts  # of the kernel
        self.names = names  # of its arguments, where the object has none
        self.keep = keep  # what the device uses
        self.after = after  # to be called once it is complete: copies to the host, what was printed
        self.done = False
        self.error: Optional[RawhalError] = None
        self.told = False  # has anybody been told of the error?
        self.times: Optional[tuple[int, int]] = None

    def wait(self, timeout_ns: Optional[int] = None) -> None:
        """Until it is complete. Does nothing if its queue is gone, and raises an error once."""
        queue = self.queue()
        if not self.done and queue is not None:
            queue.wait(self, timeout_ns)
        if self.error and not self.told:
            self.tell()

    def tell(self) -> None:
        """Raises its error: a copy, as several threads may."""
        self.told = True
        assert self.error is not None
        raise self.error.copy()

    def end(self, error: Optional[RawhalError] = None) -> None:
        """It is complete, or never will be."""
        self.error = error
        self.done = True

    def release(self) -> None:
        """The device uses nothing of it any more."""
        self.keep = ()
        self.after = ()


class Ticket:
    """A launch that was submitted: to wait for, and to ask. The launch goes on if it is dropped."""

    __slots__ = ("_record", "_queue", "kernel")

    def __init__(self, record: Record, queue: "Queue", kernel: str):
        self._record = record
        self._queue = queue
        self.kernel = kernel

    def __repr__(self) -> str:
        state = "failed" if self._record.error else "complete" if self._record.done else "running"
        return f"<rawhal.Ticket {int(self._record.number[0])} of {self.kernel}: {state}>"

    def wait(self, timeout: Optional[float] = None) -> "Ticket":
        """Waits until the launch is complete, and numpy arrays that were given to it are written
        back; returns itself. `timeout` in seconds; None: as long as it takes. Ctrl-C interrupts it
        within 50 ms.

        Raises the Fault that stopped the stream, whichever launch it was of; TimedOut, with which
        it goes on; Closed, if the stream was closed without waiting."""
        record = self._record
        if not record.done:
            self._queue.wait(record, in_ns(timeout))
        if record.error:
            record.tell()
        return self

    def done(self) -> bool:
        """Whether it has ended, one way or the other. Does not wait."""
        if not self._record.done:
            try:
                self._queue.wait(self._record, 0)
            except TimedOut:
                return False
        return True

    def exception(self) -> Optional[RawhalError]:
        """Why it failed, after it has ended."""
        self._record.told = True
        return self._record.error

    @property
    def times_ns(self) -> tuple[int, int]:
        """When it began and ended on the device, in nanoseconds of the HSA clock. Waits for it. On
        softgpu these are times of this machine's processors."""
        self.wait()
        if self._record.times is None:
            self._record.times = self._queue.times(self._record)
        return self._record.times

    @property
    def time_ns(self) -> int:
        """How long the device took, in nanoseconds: from the start of the launch to its end."""
        start, end = self.times_ns
        return end - start

    @property
    def instructions(self) -> int:
        """How many instructions its waves executed, one for each wave: the same each time, unlike
        times, and so what to compare variants of a kernel by. Waits for it. Unsupported: hardware
        does not count."""
        self.wait()
        return self._queue.instructions(self._record)

    def __await__(self) -> Generator[Any, None, "Ticket"]:
        """`await ticket` is wait() for asyncio: other tasks run meanwhile, and no thread waits."""
        from .timelines import until_notified

        if not self.done():
            yield from until_notified(self._notify).__await__()
        return self.wait()

    def _notify(self, descriptor: int) -> None:
        try:
            self._queue.notify(self._record, descriptor)
        except RawhalError:  # the queue has gone: wait() says why
            os.write(descriptor, (1).to_bytes(8, sys.byteorder))

    def on_complete(self, function: Callable[["Ticket"], None]) -> None:
        """Calls `function(ticket)` once when the launch has ended, from a thread of the stream's.
        What it raises goes to threading.excepthook(). It must not wait for what comes after it in
        the same stream."""
        self._queue.on_complete(self, function)
