"""Recordings of launches, for `rawhal replay`."""
from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, Optional

from ._library import NULL, Owned, call, ffi, lib, made, sized, to_path
from .errors import InvalidArgument, RawhalError
from .observing import Observer
from .queues import queues_of

if TYPE_CHECKING:
    from .devices import Device
    from .queues import Queue
    from .streams import Stream
    from .tickets import Record


class _File:
    """What is written, and why that has ended. Launches that run keep it, and no device."""

    def __init__(self, pointer: Any):
        self._owned = Owned(pointer, lambda one: lib.rawhal_recorder_close(one, NULL))
        self._lock = threading.RLock()
        self._last = sized("rawhal_recorder_info_t")
        self.failure: Optional[RawhalError] = None

    @property
    def pointer(self) -> Any:
        return self._owned.pointer

    def info(self) -> Any:
        """A rawhal_recorder_info_t; once it is closed, the last."""
        with self._lock:
            if self.pointer != NULL:
                lib.rawhal_recorder_info(self.pointer, self._last)
        return self._last

    def failed(self, error: RawhalError) -> None:
        if self.failure is None:
            self.failure = error.with_traceback(None)

    def close(self) -> None:
        self.info()
        with self._lock:
            pointer, self._owned.pointer = self.pointer, NULL
        try:
            call(lib.rawhal_recorder_close, pointer)
        except RawhalError as error:
            self.failed(error)


class _Capture:
    """A launch from its submission to its end. It has not finished, if it is let go before."""

    def __init__(self, file: _File, pointer: Any):
        self._file = file
        self._pointer = pointer

    def end(self, ran: bool = True) -> None:
        pointer, self._pointer = self._pointer, NULL
        try:
            call(lib.rawhal_recorder_end, pointer, ran)
        except RawhalError as error:
            self._file.failed(error)

    def __del__(self) -> None:
        if self._pointer != NULL:
            self.end(ran=False)


class Recording(Observer):
    """A file of what is launched on a device while `with` lasts. Made by Device.record().

        with dev.record("launches.rec") as recording:
            kernel[4, 256](c, a, b, 1024)

        rawhal replay launches.rec             launches it again, and compares what it leaves
        rawhal replay --list launches.rec      what is in it, and what a replay may lack

    The launches of all threads and streams of the device are recorded, from the beginning of the
    block; a device has one recording at a time, of which other devices know nothing. With buffers
    one launch runs at a time: each waits for those before it, in whatever stream, so a kernel that
    waits for a later launch does so until its time limit. submit() still returns at once; what a
    launch leaves is read when it is found to have ended, before arrays of numpy's are written back.

    A launch that faults is in the file as it was before it, and its replay faults, too. An
    exception in the block closes the file without waiting for what still runs, whose results are
    then not in it. A file that reaches its bound, or a disk that is full, disturbs no launch:
    nothing more is recorded, `failure` says why, and the end of the block raises it, unless the
    block raises something else. What is in the file can be read whatever becomes of the process. In
    a child of fork() nothing is recorded, and the file is left alone."""

    def __init__(self, device: "Device", path: "str | os.PathLike[str]", buffers: bool,
                 max_bytes: Optional[int]):
        super().__init__(device)
        self.path = os.fspath(path)
        self.buffers = buffers
        if max_bytes is not None and not 0 < max_bytes < 1 << 63:
            raise InvalidArgument(f"max_bytes is {max_bytes}")
        self._options = sized("rawhal_recorder_options_t", max_bytes=max_bytes or 0,
                              without_buffers=not buffers)
        self._name = to_path(path)
        self._file = _File(NULL)
        self._turn = threading.RLock()  # a signal's handler may launch at any line

    def __repr__(self) -> str:
        state = ("not begun" if not self._begun else "closed" if self._file.pointer == NULL
                 else "open")
        return f"<rawhal.Recording {self.path!r}: {self.dispatches} dispatches, {state}>"

    @property
    def dispatches(self) -> int:
        """How many are in the file."""
        return int(self._file.info().dispatches)

    @property
    def objects(self) -> int:
        """Code objects in it, each once."""
        return int(self._file.info().objects)

    @property
    def noted(self) -> int:
        """Dispatches of which a replay may lack something, or do it otherwise, so far: `rawhal
        replay --list` says what."""
        return int(self._file.info().noted)

    @property
    def failure(self) -> Optional[RawhalError]:
        """Why it ended before the block did: CapExceeded, at its bound; RuntimeFailed, where it
        cannot be written."""
        return self._file.failure

    # ---- While it lasts ----

    def _begin(self) -> None:
        for one in self.device.observers:
            if isinstance(one, Recording):
                raise InvalidArgument(f"the device is being recorded, to {one.path!r}")
        self._file = _File(made("rawhal_recorder_t", lib.rawhal_recorder_create,
                                self.device._handle, self._name, self._options))

    def _end(self, wait: bool) -> None:
        try:
            if wait:
                self._settle()
        finally:
            self._file.close()
        if wait and self.failure:
            raise self.failure.copy()

    def _forget(self) -> None:
        self._file.close()

    def _settle(self) -> None:
        """Until nothing runs on the device. Signals' handlers run meanwhile."""
        for queue in queues_of(self.device._handle):
            for record in list(queue.in_flight):
                queue.wait(record)

    @contextmanager
    def around(self, stream: "Stream", queue: "Queue", record: "Record",
               dispatch: Any) -> Iterator[None]:
        with self._turn:
            why = None
            if self.failure is None and self._file.pointer != NULL:
                if self.buffers:
                    self._settle()
                why = self._capture(queue, record, dispatch)
            yield
            if why:  # though it was submitted
                self._file.failed(why)

    def _capture(self, queue: "Queue", record: "Record", dispatch: Any) -> Optional[RawhalError]:
        """Why there is none: the launch is wrong, as its submission will say, or the file has
        ended."""
        file, out = self._file, ffi.new("rawhal_capture_t **")

        def begin(handle: Any, *arguments: Any) -> int:
            return lib.rawhal_recorder_begin_sized(file.pointer, handle, *arguments)

        try:
            queue._ask(begin, dispatch, ffi.sizeof("rawhal_dispatch_t"), out)
        except RawhalError as error:
            return error
        capture = _Capture(file, out[0])
        record.keep = (capture, *record.keep)
        record.after = (capture.end, *record.after)
        return None


__all__ = ["Recording"]
