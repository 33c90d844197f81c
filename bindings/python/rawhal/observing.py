"""What sees every launch of a device while a `with` lasts: recordings and traces."""
from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ContextManager, Optional

from .errors import InvalidArgument

if TYPE_CHECKING:
    from .devices import Device
    from .queues import Queue
    from .streams import Stream
    from .tickets import Record


class Observer:
    """Of one device, which has it as long as `with` lasts. One that has ended does not begin
    again."""

    def __init__(self, device: "Device"):
        self.device = device
        self._begun = False
        self._process = os.getpid()

    def __enter__(self) -> Any:
        with self.device._lock:
            if self._begun:
                raise InvalidArgument(f"{self!r} has begun before")
            self._begin()
            self._begun = True
            self.device.observers = (*self.device.observers, self)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if self._process != os.getpid():  # a child's: all that it has is the parent's, locks too
            self._forget()
            return
        with self.device._lock:
            self.device.observers = tuple(one for one in self.device.observers if one is not self)
        self._end(wait=kind is None)

    def _begin(self) -> None:
        """May fail, and has then not begun."""

    def _end(self, wait: bool) -> None:
        """What is launched from here on is not seen. `wait`: for what was; without, an exception is
        on its way."""

    def _forget(self) -> None:
        """In a child of fork()."""

    def around(self, stream: "Stream", queue: "Queue", record: "Record",
               dispatch: Any) -> ContextManager[None]:
        """Around the submission of one launch."""
        raise NotImplementedError


def submit_observed(observers: tuple[Observer, ...], stream: "Stream", queue: "Queue",
                    record: "Record", dispatch: Any, deadline_ns: Optional[int]) -> None:
    """Queue.submit() on a device that has observers."""
    with ExitStack() as stack:
        for one in observers:
            stack.enter_context(one.around(stream, queue, record, dispatch))
        queue.submit(record, dispatch, deadline_ns)
