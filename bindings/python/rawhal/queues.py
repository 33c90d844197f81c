"""One HSA queue, with everything that is in flight on it, until the device is done with it.

What is in flight is kept by a table of this module, not by the queue: it is let go only after the
queue has been destroyed, in whatever order Python lets go of the rest, also at the end of the
interpreter and in a collection of cycles. A queue that faulted is not used again: its stream makes
another."""
from __future__ import annotations

import atexit
import functools
import itertools
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import _library
from ._library import NULL, Owned, ffi, lib, made, sized
from .errors import Closed, RawhalError, TimedOut
from .services import run_of_thread
from .tickets import SLICE_NS, Record, Ticket

if TYPE_CHECKING:
    from .services import Services

_OK, _FAULT, _DEVICE_LOST = lib.RAWHAL_OK, lib.RAWHAL_FAULT, lib.RAWHAL_DEVICE_LOST
_WOULD_BLOCK, _TIMED_OUT = lib.RAWHAL_WOULD_BLOCK, lib.RAWHAL_TIMED_OUT
_CLOSED = -1
_keys = itertools.count(1)
_in_flight: dict[int, "deque[Record]"] = {}  # by the queue's key, until it is destroyed
_queues: "weakref.WeakSet[Queue]" = weakref.WeakSet()
_callbacks: dict[int, tuple[Any, Callable[[], None]]] = {}  # pending, by number
_exiting = False


def _destroy(key: int, services: Optional["Services"], handle: Any) -> None:
    """Stops the queue, whatever runs, and then lets go of what it used."""
    lib.rawhal_queue_destroy(handle)
    for record in _in_flight.pop(key, ()):
        if not record.done:
            record.told = True  # who asks is told, but nobody has to be
            record.end(Closed(f"{record.facts.name} was stopped: its stream was closed"))
        record.release()


def queues_of(device: Any) -> list["Queue"]:
    """Those of a rawhal_device_t * that are not gone."""
    return [queue for queue in list(_queues) if queue.device == device]


class Queue:
    """Of a stream, until it faults or is closed."""

    def __init__(self, device: Any, options: dict[str, Any], services: Optional["Services"] = None):
        if _exiting:
            raise Closed("the interpreter is ending")
        self.key = next(_keys)
        self.device = device
        self.services = services
        self.lock = threading.RLock()  # completing is one thread's
        self.waits = False  # for timelines, which may fail
        self.fault: Optional[RawhalError] = None
        chosen = sized("rawhal_queue_options_t", **options)
        if services:
            chosen.services = services.addresses
        handle = made("rawhal_queue_t", lib.rawhal_queue_create, device, chosen)
        self.in_flight: "deque[Record]" = deque()
        _in_flight[self.key] = self.in_flight
        self.handle: Optional[Owned] = Owned(handle,
                                             functools.partial(_destroy, self.key, services))
        _queues.add(self)

    # ---- Calls, which hold the queue while they last: exceptions keep the frames that they
    # left ----

    def _with(self, function: Callable[..., int], *arguments: Any) -> int:
        """The status of a call; _CLOSED if there is no queue any more."""
        handle = self.handle
        if handle is None:
            return _CLOSED
        try:
            return function(handle.pointer, *arguments)
        finally:
            del handle

    def _ask(self, function: Callable[..., int], *arguments: Any) -> None:
        error = _library.error_record()
        status = self._with(function, *arguments, error)
        if status == _CLOSED:
            raise self._closed()
        if status:
            raise _library.failure(status, error)

    def _closed(self) -> RawhalError:
        return self.fault.copy() if self.fault else Closed("the stream was closed")

    def label(self, text: Optional[bytes]) -> None:
        """Names it, or takes its name away."""
        handle = self.handle
        if handle is not None:
            lib.rawhal_queue_label(handle.pointer, text or NULL)

    # ---- Submitting ----

    def submit(self, record: Record, dispatch: Any, deadline_ns: Optional[int] = None) -> None:
        """Submits one dispatch. Waits for room, interruptibly, until the deadline
        (CLOCK_MONOTONIC)."""
        self.submit_by(record, lib.rawhal_queue_submit_sized, dispatch,
                       ffi.sizeof("rawhal_dispatch_t"), 1, deadline_ns=deadline_ns)

    def submit_by(self, record: Record, function: Callable[..., int], *arguments: Any,
                  deadline_ns: Optional[int] = None) -> None:
        """The same by any function of the library's that takes the queue, these arguments, a
        deadline, a ticket and an error record."""
        self.prune()
        self.in_flight.append(record)  # before: an interrupt may come between any two lines
        error = _library.error_record()
        try:
            while True:
                until = time.monotonic_ns() + SLICE_NS
                if deadline_ns is not None:
                    until = min(until, deadline_ns)
                status = self._with(function, *arguments, until, record.number, error)
                if status == _OK:
                    return
                if status not in (_WOULD_BLOCK, _TIMED_OUT) or until == deadline_ns:
                    raise self._refusal(status, error)
        except BaseException:
            if not record.number[0]:  # else it was submitted, and stays until it is complete
                record.end()
                record.release()
                self._drop(record)
            raise

    def _refusal(self, status: int, error: Any) -> RawhalError:
        """Of a submission; where the queue is dead, of what an earlier one did, which is told by
        this."""
        failure = self._failure(status, error)
        for record in list(self.in_flight):
            record.told = record.told or record.error is not None
        return failure

    def _drop(self, record: Record) -> None:
        try:
            self.in_flight.remove(record)
        except ValueError:
            pass

    def prune(self) -> None:
        """Lets go of what is complete, without waiting."""
        in_flight = self.in_flight
        while in_flight:
            record = in_flight[0]
            if not record.done and not self._is_complete(record):
                return
            self._drop(record)

    def _is_complete(self, record: Record) -> bool:
        number = record.number[0]
        if not number or self._with(lib.rawhal_queue_wait, number, 0, NULL) != _OK:
            return False
        self._complete(record)
        return True

    # ---- Waiting ----

    def wait(self, record: Record, timeout_ns: Optional[int] = None) -> None:
        """Until the record is complete or has failed, in slices, so that signals are handled.
        Raises only TimedOut, and what its completion raises; the record has the error."""
        number, error = record.number[0], _library.error_record()
        end = None if timeout_ns is None else time.monotonic_ns() + timeout_ns
        while not record.done:
            until = time.monotonic_ns() + SLICE_NS
            if end is not None:
                until = min(until, end)
            status = self._with(lib.rawhal_queue_wait, number, until, error)
            if status == _OK:
                self._complete(record)
            elif status in (_WOULD_BLOCK, _TIMED_OUT):
                if timeout_ns is not None and until == end:
                    raise TimedOut(f"{record.facts.name} has not ended after "
                                   f"{timeout_ns / 1e9:g} s")
            else:
                self._fail(record, status, error)

    def _fail(self, record: Record, status: int, error: Any) -> None:
        failure = self._closed() if status == _CLOSED else self._failure(status, error)
        if self.waits and self.fault is None and status != _CLOSED:
            with self.lock:  # for what never came: it runs on, on what was never made
                if self.fault is None:
                    self._die(failure)
                failure = self._closed()
        if not record.done:
            record.end(failure)

    def _complete(self, record: Record) -> None:
        with self.lock:
            if not record.done:
                failure = None
                try:
                    for function in record.after:
                        function()
                except RawhalError as error:  # of a copy, or of what was printed
                    failure = error.with_traceback(None)
                record.end(failure)
                record.release()

    def _failure(self, status: int, error: Any) -> RawhalError:
        """The exception for a status; where the queue is dead, everything in flight has failed of
        it."""
        if status == _CLOSED:
            return self._closed()
        failure = _library.failure(status, error)
        if status not in (_FAULT, _DEVICE_LOST):
            return failure
        with self.lock:
            if self.fault is None:
                self._die(failure)
            return self._closed()

    def _die(self, failure: RawhalError) -> None:
        """What ended before the fault is complete, though nobody has looked yet; the rest has
        failed."""
        from .faults import fault_of

        left = [one for one in list(self.in_flight) if one.number[0] and not one.done]
        left = [one for one in left if not self._is_complete(one)]
        raw = sized("rawhal_fault_t")
        known = self._with(lib.rawhal_queue_fault, raw, NULL) == _OK
        culprit = next((one for one in left if known and one.number[0] == raw.ticket), None)
        printed: tuple[str, ...] = ()
        if self.services:
            if culprit and culprit.facts.has_printf:
                self.services.flush_dead(culprit.facts.code)
            printed = tuple(self.services.recent)
        if self.fault is None:  # else a signal's handler came here meanwhile
            self.fault = fault_of(raw, culprit, failure, printed) if known else failure
        for record in left:
            record.end(self.fault)
        self.close()

    def synchronize(self, timeout_ns: Optional[int] = None) -> None:
        """Until all that was submitted is complete. Raises what failed and nobody was told of."""
        end = None if timeout_ns is None else time.monotonic_ns() + timeout_ns
        for record in list(self.in_flight):
            self.wait(record, None if end is None else max(0, end - time.monotonic_ns()))
            if record.error and not record.told:
                record.tell()

    # ---- Timelines ----

    def timeline(self, record: Record, waits: Any, signals: Any,
                 deadline_ns: Optional[int]) -> None:
        """Waits for all of the one, then signals all of the other: each NULL, or an array."""
        self.waits = self.waits or waits != NULL
        counts = [len(one) if one != NULL else 0 for one in (waits, signals)]
        self.submit_by(record, lib.rawhal_queue_timeline, waits, counts[0], signals, counts[1],
                       deadline_ns=deadline_ns)

    def notify(self, record: Record, descriptor: int) -> None:
        """Adds 1 to an eventfd's count when the record has ended, now where it has."""
        self._ask(lib.rawhal_queue_notify, record.number[0], descriptor)

    # ---- Asking ----

    def times(self, record: Record) -> tuple[int, int]:
        """Start and end on the device, in ns."""
        start, end = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        self._ask(lib.rawhal_queue_timing, record.number[0], start, end)
        return int(start[0]), int(end[0])

    def instructions(self, record: Record) -> int:
        """Of all its waves."""
        count = ffi.new("uint64_t *")
        self._ask(lib.rawhal_queue_instructions, record.number[0], count)
        return int(count[0])

    def on_complete(self, ticket: Ticket, function: Callable[[Ticket], None]) -> None:
        """Registers a callback, which has the ticket, and this queue with it, until it is
        called."""
        number = next(_keys)
        record = ticket._record

        def ended() -> None:
            if not record.done:
                self.wait(record)
            function(ticket)

        if record.done:
            run_of_thread(ended)
            return
        context = ffi.new("uint64_t *", number)
        _callbacks[number] = (context, ended)
        try:
            self._ask(lib.rawhal_queue_on_complete, record.number[0], _completed(), context)
        except BaseException:
            del _callbacks[number]
            raise

    def close(self) -> None:
        """Stops what runs. Threads that wait are told within 50 ms; the last of them destroys the
        queue."""
        self.handle = None


@functools.lru_cache(maxsize=None)
def _completed() -> Any:
    """The one C function of all callbacks."""

    @ffi.callback("void(void *, rawhal_ticket_t, const rawhal_error_t *)")
    def completed(context: Any, _ticket: int, _result: Any) -> None:
        found = _callbacks.pop(ffi.cast("uint64_t *", context)[0], None)
        if found and not _exiting:
            run_of_thread(found[1])

    return completed


def _stop_all() -> None:
    """Before the interpreter ends: no kernel may use memory that it takes back, nor call what is
    gone."""
    global _exiting
    _exiting = True
    for queue in list(_queues):
        queue.close()
    end = time.monotonic() + 2
    while _in_flight and time.monotonic() < end:
        time.sleep(0.005)
    # somebody is still inside of a call: what it uses must outlive this process
    if any(_in_flight.values()):
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_in_flight))


atexit.register(_stop_all)
