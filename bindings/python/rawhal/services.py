"""What kernels ask the host for: printf(), malloc() and hostcalls."""
from __future__ import annotations

import functools
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Optional

from ._library import Owned, call, ffi, lib, owned, sized
from .errors import RawhalError

if TYPE_CHECKING:
    from .devices import Device

_STREAMS = ("stdout", "stderr")
_HEAP_BYTES = 16 << 20
_flushing = threading.local()  # texts: what a call of this thread's prints


def print_text(stream: str, text: str) -> None:
    """What kernels print goes to Python's sys.stdout and sys.stderr, whatever these are at the
    time."""
    file = sys.stderr if stream == "stderr" else sys.stdout
    if file is not None:
        file.write(text)


def run_of_thread(function: Callable[[], None], told: type[BaseException] = Exception) -> None:
    """Of a thread of the library's: what it raises is told as what ends a thread is."""
    try:
        function()
    except told:
        threading.excepthook(
            threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


def _destroy(_called: Any, handle: Any) -> None:
    """With the function that its thread calls until then."""
    lib.rawhal_services_destroy(handle)


class Services:
    """The buffers of one queue, and the thread that serves them. Destroyed after the queue, which
    keeps it."""

    def __init__(self, device: "Device", output: Callable[[str, str], None]):
        recent: deque[str] = deque(maxlen=64)
        self._output = output
        self._printing: Optional[Owned] = None
        self.recent = recent  # what was printed last, for assertions that fail

        @ffi.callback("void(void *, rawhal_services_stream_t, const char *, size_t)")
        def write(_context: Any, stream: int, text: Any, size: int) -> None:
            told = ffi.unpack(text, size).decode("utf-8", "replace") if size else ""
            recent.append(told)
            held = getattr(_flushing, "texts", None)
            if held is not None:
                held.append((_STREAMS[stream], told))
            else:
                run_of_thread(lambda: output(_STREAMS[stream], told))

        options = sized("rawhal_services_options_t", output=write, heap_bytes=_HEAP_BYTES)
        # The destructor has the function that the thread calls until then.
        self._handle = owned(
            "rawhal_services_t",
            functools.partial(_destroy, write),
            lib.rawhal_services_create,
            device._handle,
            options,
        )
        self.addresses = lib.rawhal_services_queue(self._handle.pointer)

    def expect(self, executable: Owned, settle: Callable[[], None]) -> None:
        """A kernel of it that prints is to be launched. What those of another object left is
        printed first: records have the numbers of formats, which each object counts from 0."""
        if self._printing is not None and self._printing is not executable:
            settle()
        self._printing = executable

    def flush_dead(self, executable: Owned) -> None:
        """The same as flush(), as far as it goes, of a queue that has died."""
        try:
            self.flush(executable)
        except RawhalError:
            pass

    def flush(self, executable: Owned) -> None:
        """Prints what kernels of the executable have left: after the call, which holds locks that
        whoever prints may want, too."""
        texts: list[tuple[str, str]] = []
        outer, _flushing.texts = getattr(_flushing, "texts", None), texts
        try:
            call(lib.rawhal_services_flush, self._handle.pointer, executable.pointer)
        finally:
            _flushing.texts = outer
            for stream, told in texts:
                run_of_thread(functools.partial(self._output, stream, told), BaseException)
