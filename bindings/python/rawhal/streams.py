"""Streams: launches in order, with limits of their own."""
from __future__ import annotations

import itertools
import operator
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, Union

from ._library import ffi, lib, to_bytes
from .errors import Closed, InvalidArgument, RawhalError
from .observing import submit_observed
from .queues import Queue
from .tickets import Record, Ticket, in_ns

if TYPE_CHECKING:
    from .devices import Device
    from .graphs import Capture, Graph
    from .timelines import Timepoint

Output = Callable[[str, str], None]
_MOST_UNITS = 1 << 16
_numbers = itertools.count()
_PRIORITIES = {
    None: lib.RAWHAL_QUEUE_PRIORITY_DEFAULT,
    "low": lib.RAWHAL_QUEUE_PRIORITY_LOW,
    "normal": lib.RAWHAL_QUEUE_PRIORITY_NORMAL,
    "high": lib.RAWHAL_QUEUE_PRIORITY_HIGH,
}


class Stream:
    """Launches that run one after the other, each seeing what those before it have written. Streams
    are not ordered among each other. Made by Device.stream().

    A launch that faults stops its stream's queue: all that has not finished fails of that fault,
    and so does the next launch, if nobody was told before; the one after that gets a new queue.
    `with` waits at its end, and closes."""

    def __init__(
        self,
        device: "Device",
        *,
        share: Union[str, float, None] = None,
        priority: Optional[str] = None,
        compute_units: Optional[Iterable[int]] = None,
        output: Optional[Output] = None,
        label: Optional[str] = None,
    ):
        if priority not in _PRIORITIES:
            raise InvalidArgument(f"priority is {priority!r}; it is one of low, normal and high")
        self._device: Callable[[], Optional["Device"]] = lambda: device
        self.output = output or device.output
        self.number = next(_numbers)  # in traces
        self._lock = threading.RLock()  # a signal's handler, or a finalizer, may launch at any line
        self._options: dict[str, Any] = {"priority": _PRIORITIES[priority]}
        self._held: list[Any] = []  # what the options point to
        self._closed = False
        self._label = self._label_bytes(label)
        if share is not None:
            self._options["share_ppm"] = _parts_per_million(share)
            if not device.limited:
                raise InvalidArgument("a stream can have a share only of a device with limits: "
                                      "open it with limits={'gpu-share': '100%'}")
        if compute_units is not None:
            self._mask(compute_units)
        self._queue: Optional[Queue] = None
        self.graph: Optional["Graph"] = None  # that takes what is launched

    @classmethod
    def default_of(cls, device: "Device") -> "Stream":
        """A device's own, which does not keep it."""
        stream = cls(device)
        stream._device = weakref.ref(device)
        return stream

    @property
    def device(self) -> "Device":
        device = self._device()
        if device is None:
            raise Closed("the device was closed")
        return device

    # ---- Its name ----

    @staticmethod
    def _label_bytes(label: Optional[str]) -> Optional[bytes]:
        return to_bytes("label", label) if label else None

    @property
    def label(self) -> Optional[str]:
        """What names it in faults, traces, core files and to `rawhal attach`, `events` and `top`;
        31 bytes of it are kept. It may be set at any time."""
        return self._label.decode("utf-8", "surrogateescape") if self._label else None

    @label.setter
    def label(self, text: Optional[str]) -> None:
        self._label = self._label_bytes(text)
        queue = self._queue
        if queue is not None:
            queue.label(self._label)

    def _mask(self, wanted: Iterable[int]) -> None:
        units = [operator.index(unit) for unit in wanted]
        if units and not 0 <= min(units) <= max(units) < _MOST_UNITS:
            raise InvalidArgument(f"compute units from {min(units)} to {max(units)}; a device has "
                                  f"fewer than {_MOST_UNITS}")
        words = [0] * (max(units, default=0) // 32 + 1)
        for unit in units:
            words[unit // 32] |= 1 << unit % 32
        mask = ffi.new("uint32_t[]", words)
        self._held.append(mask)
        self._options.update(cu_mask=mask, cu_mask_bits=32 * len(words))

    def __repr__(self) -> str:
        named = f" {self.label!r}" if self._label else ""
        return f"<rawhal.Stream{named} of {self._device()!r}{', closed' if self._closed else ''}>"

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.close(wait=kind is None)

    def _live(self, needs_services: bool) -> Queue:
        """The queue to submit to: made anew after a fault, and with services once a kernel asks for
        them."""
        queue = self._queue
        if (queue is not None and queue.handle is not None
            and (queue.services or not needs_services)):
            return queue
        with self._lock:
            if self._closed:
                raise Closed("the stream was closed")
            queue = self._queue
            if queue is not None and queue.handle is not None:
                if queue.services or not needs_services:
                    return queue
                queue.synchronize()
            services = None
            if needs_services:
                from .services import Services

                services = Services(self.device, self.output)
            fresh = Queue(self.device._handle, self._options, services)
            fresh.label(self._label)
            # else one of those was first
            if self._queue is queue or self._queue is None or self._queue.handle is None:
                self._queue = fresh
            return self._queue

    def _submit(self, make: Callable[[Queue], Record], dispatch: Any, kernel: str,
                needs_services: bool, deadline_ns: Optional[int]) -> Ticket:
        queue = self._live(needs_services)
        record = make(queue)
        observers = self.device.observers
        if observers:
            submit_observed(observers, self, queue, record, dispatch, deadline_ns)
        else:
            queue.submit(record, dispatch, deadline_ns)
        return Ticket(record, queue, kernel)

    # ---- Graphs ----

    def capture(self) -> "Capture":
        """Takes what is submitted to this stream while `with` lasts into a graph, instead of
        launching it: each after all before it. submit() then returns the graph's Node.

            with stream.capture() as graph:
                scale[4, 256].submit(x, 2.0, stream=stream)
                add[4, 256].submit(y, x, x, 1024, stream=stream)
            graph.instantiate().launch().wait()"""
        from .graphs import Capture

        return Capture(self)

    def check_not_captured(self, what: str) -> None:
        if self.graph is not None:
            raise InvalidArgument(f"{what}, on a stream that is captured: it takes submit() of "
                                  "kernels with arguments")

    # ---- Timelines ----

    def wait_for(self, *points: "Timepoint", timeout: Optional[float] = None) -> Ticket:
        """What comes after it in the stream begins when all of these have been reached; they may
        still be for somebody to signal. The host does not wait, but for room in the stream's rings.
        Raises the failure of one that never will be."""
        return self._mark("a wait", points, (), timeout)

    def signal(self, *points: "Timepoint", timeout: Optional[float] = None) -> Ticket:
        """They are reached when all that was submitted before is complete. InvalidArgument: a value
        that has been reached or is to be signalled by something else; a circle of streams that
        would wait for each other."""
        return self._mark("a signal", (), points, timeout)

    def _mark(self, name: str, waits: tuple["Timepoint", ...], signals: tuple["Timepoint", ...],
              timeout: Optional[float]) -> Ticket:
        from .timelines import Marker, points_of

        self.check_not_captured(name)
        awaited, kept = points_of(waits)
        signalled, also = points_of(signals)
        queue = self._live(False)
        record = Record(queue, Marker(name), None, (*kept, *also), ())
        wait_ns = in_ns(timeout)
        queue.timeline(record, awaited, signalled,
                       None if wait_ns is None else time.monotonic_ns() + wait_ns)
        return Ticket(record, queue, name)

    def synchronize(self, timeout: Optional[float] = None) -> None:
        """Waits until all that was submitted is complete. Raises the fault of what failed, if
        nobody was told of it; TimedOut after `timeout` seconds."""
        queue = self._queue
        if queue is not None:
            queue.synchronize(in_ns(timeout))

    def abandon(self) -> None:
        """Stops what runs, now. Its tickets raise Closed; the next launch gets a new queue."""
        queue = self._queue
        if queue is not None:
            queue.close()

    def close(self, wait: bool = True) -> None:
        """Waits for what was submitted, or stops it. The stream takes no more launches."""
        try:
            if wait and not self._closed:
                self.synchronize()
        finally:
            self._closed = True
            self.abandon()


def _parts_per_million(share: Union[str, float]) -> int:
    """Of "30%", or 0.3."""
    try:
        part = (float(share[:-1]) / 100 if isinstance(share, str) and share.endswith("%")
                else float(share))
    except ValueError:
        raise InvalidArgument(f"share is {share!r}; it is written '30%' or 0.3") from None
    if not 0 < part <= 1:
        raise InvalidArgument(f"share is {share!r}; it must be above 0 and at most 100%")
    return max(1, round(part * 1e6))
