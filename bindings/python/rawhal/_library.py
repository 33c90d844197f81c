"""The shared library: where it is, its interface, and how its functions are called.

Importing this module opens the library, so the others import it when they need it, and
`import rawhal` does not.

What is looked for, in this order:
  RAWHAL_PY_PREFIX   a folder with lib/librawhal.so.*, the command (bin/ or tools/) and
                     python/rawhal/, the generated part of this package: a build folder, or an
                     installation
  the wheel          where this package has a lib/ of its own
  the system         the dynamic linker's
"""
from __future__ import annotations

import os
import threading
from typing import Any, Callable

from . import PREFIX
from ._places import find_library
from .errors import CLASSES, InvalidArgument, RawhalError


try:
    from ._interface import SONAME, ffi
except ImportError as missing:
    raise ImportError(
        f"rawhal's generated interface (_interface.py) is neither in {os.path.dirname(__file__)} "
        f"nor below RAWHAL_PY_PREFIX={os.environ.get('RAWHAL_PY_PREFIX', '')!r}: install the "
        "wheel, or name a build folder that has python/rawhal/, and have cffi "
        f"({missing})") from missing


def _open() -> Any:
    path = find_library(SONAME)
    if PREFIX and not path:
        raise ImportError(f"there is no {SONAME} in the folders lib of {PREFIX}")
    try:
        # For good: destructors may run after this module's globals are gone.
        library = ffi.dlopen(path or SONAME, os.RTLD_NOW | os.RTLD_NODELETE)
    except OSError as error:
        raise ImportError(f"rawhal's library cannot be loaded: {error}") from None
    return library


lib = _open()
NULL = ffi.NULL
_local = threading.local()


def error_record() -> Any:
    """A rawhal_error_t that is nobody else's: a signal's handler may call between a failure and its
    exception."""
    return _local.__dict__.pop("error", None) or ffi.new("rawhal_error_t *")


def failure(status: int, error: Any) -> RawhalError:
    """The exception of a call that failed."""
    kind = CLASSES.get(text(lib.rawhal_status_name(status)), RawhalError)
    offset = None if error.offset == lib.RAWHAL_NO_OFFSET else error.offset
    return kind(text(error.message), hsa_status=error.hsa_status, offset=offset)


def call(function: Callable[..., int], *arguments: Any) -> None:
    """Calls a function whose last parameter is an error record. Raises a RawhalError unless it
    returns OK."""
    error = error_record()
    status = function(*arguments, error)
    if status:
        raise failure(status, error)
    _local.error = error  # for the next


class Owned:
    """An object of the library's, destroyed when nothing refers to this. `pointer` is NULL from
    then on, which every function refuses: what a collection of cycles has finalized may come
    back."""

    __slots__ = ("pointer", "_destroy", "__weakref__")

    def __init__(self, pointer: Any, destroy: Callable[[Any], None]):
        self.pointer = pointer
        self._destroy = destroy

    def __del__(self) -> None:
        pointer, self.pointer = self.pointer, NULL
        self._destroy(pointer)

    def __reduce__(self) -> Any:
        raise TypeError("what the library has made cannot be copied, nor pickled")


def made(kind: str, function: Callable[..., int], *arguments: Any) -> Any:
    """Calls a function that makes a `kind` and returns it by the parameter before the error
    record."""
    out = ffi.new(kind + " **")
    call(function, *arguments, out)
    return out[0]


def owned(kind: str, destroy: Callable[[Any], None], function: Callable[..., int],
          *arguments: Any) -> Owned:
    """The same, with what destroys it."""
    return Owned(made(kind, function, *arguments), destroy)


def sized(kind: str, **members: Any) -> Any:
    """A structure that begins with its size, zeros but for `members`."""
    made_one = ffi.new(kind + " *")
    made_one.size = ffi.sizeof(kind)
    for name, value in members.items():
        setattr(made_one, name, value)
    return made_one


def text(characters: Any) -> str:
    """Of a char array or a C string."""
    return ffi.string(characters).decode("utf-8", "surrogateescape") if characters else ""


def string(value: Any) -> str:
    """Of a rawhal_string_t."""
    return (ffi.unpack(value.data, value.size).decode("utf-8", "surrogateescape")
            if value.size else "")


def to_bytes(what: str, value: str) -> bytes:
    """Text as C has it, for the argument or the name that `what` says: a NUL would end it there."""
    data = value.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise InvalidArgument(f"{what} has a NUL in it: {value!r}")
    return data


def to_string(what: str, value: str) -> tuple[Any, Any]:
    """A rawhal_string_t, and what must live as long as it is used."""
    data = to_bytes(what, value)
    held = ffi.new("char[]", data)
    return ffi.new("rawhal_string_t *", [held, len(data)])[0], held


def to_path(path: Any, what: str = "path") -> bytes:
    """As C wants it."""
    return to_bytes(what, os.fsdecode(path))
