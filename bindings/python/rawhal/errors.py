"""What can go wrong, as exceptions: one class for each rawhal_status_t, all of them RawhalErrors.

Those that have a counterpart among Python's own are caught by that, too: InvalidArgument and
OutOfRange are ValueErrors, NotFound and Ambiguous LookupErrors, OutOfMemory a MemoryError, TimedOut
a TimeoutError. Faults of kernels are in faults.py."""
from __future__ import annotations

from typing import Optional


class RawhalError(Exception):
    """A call that failed. `status`: the name of the rawhal_status_t; `offset`: of the byte in the
    file that it is about, or None; `hsa_status`: what the HSA runtime said, or 0."""

    status = "UNKNOWN"

    def __init__(self, message: str, *, hsa_status: int = 0, offset: Optional[int] = None):
        super().__init__(message)
        self.message = message
        self.hsa_status = hsa_status
        self.offset = offset

    def copy(self) -> "RawhalError":
        """The same, with a traceback of its own."""
        made = type(self).__new__(type(self), *self.args)
        made.args = self.args
        made.__dict__.update(self.__dict__)
        return made


class InvalidArgument(RawhalError, ValueError):
    status = "INVALID_ARGUMENT"


class Malformed(RawhalError, ValueError):
    """The bytes of a file contradict its format."""

    status = "MALFORMED"


class Unsupported(RawhalError):
    status = "UNSUPPORTED"


class NotFound(RawhalError, LookupError):
    status = "NOT_FOUND"


class TargetMismatch(RawhalError):
    """A code object for another processor, or another of its settings."""

    status = "TARGET_MISMATCH"


class OutOfRange(RawhalError, ValueError):
    status = "OUT_OF_RANGE"


class CapExceeded(RawhalError):
    """A cap of the parsers, against files that are made to cost."""

    status = "CAP_EXCEEDED"


class OutOfMemory(RawhalError, MemoryError):
    status = "OUT_OF_MEMORY"


class QuotaExceeded(RawhalError):
    status = "QUOTA_EXCEEDED"


class WouldBlock(RawhalError):
    status = "WOULD_BLOCK"


class TimedOut(RawhalError, TimeoutError):
    """What was waited for has not happened yet. (A kernel that exceeds the device's time limit is a
    Timeout, a fault.)"""

    status = "TIMED_OUT"


class FaultError(RawhalError):
    """A kernel, or a packet, failed on the device; faults.Fault where it is known how."""

    status = "FAULT"


class DeviceLost(RawhalError):
    """The device, or its runtime, is gone; also in a child of fork(), for what its parent had
    open."""

    status = "DEVICE_LOST"


class RuntimeFailed(RawhalError):
    """The HSA runtime failed; see hsa_status."""

    status = "RUNTIME"


class Ambiguous(RawhalError, LookupError):
    status = "AMBIGUOUS"


class Closed(RawhalError, ValueError):
    """A stream that was closed, or work of one that was stopped."""

    status = "CLOSED"


CLASSES = {one.status: one for one in (
    InvalidArgument, Malformed, Unsupported, NotFound, TargetMismatch, OutOfRange, CapExceeded,
    OutOfMemory, QuotaExceeded, WouldBlock, TimedOut, FaultError, DeviceLost, RuntimeFailed,
    Ambiguous)}
