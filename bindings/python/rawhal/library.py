"""The kernels of many code objects, found by name."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator, Optional

from ._library import NULL, Owned, call, ffi, lib, owned, sized, string, text, to_path, to_string
from .errors import OutOfRange
from .kernels import Facts, Kernel

if TYPE_CHECKING:
    from .devices import Device


@dataclass(frozen=True)
class Match:
    """The kernel `name` of a file. `ordinal`: the number of its object there, at byte `offset`;
    `signature` 0: unusable, or not known."""

    name: str
    file: str
    ordinal: int
    offset: int
    bytes: int
    target: str
    signature: int
    usable: bool


class _Held:
    """A kernel that a library has loaded, until it is given back."""

    def __init__(self, library: Owned, handle: Any):
        self.library, self.pointer = library, handle

    def __del__(self) -> None:
        pointer, self.pointer = self.pointer, NULL
        lib.rawhal_library_release(self.library.pointer, pointer)


class _Found:
    """Stands for a module behind a kernel of a library."""

    def __init__(self, device: "Device"):
        self.device = device


class Library:
    """Folders of code objects, searched by the names of kernels. Nothing is read before the first
    search, which leaves an index for the next process; objects are loaded when a kernel of theirs
    is asked for.

        lib = rawhal.Library(dev, "/opt/kernels")
        lib["Cijk_..."][grid, block](...)
        [match.name for match in lib.kernels("Cijk_*_SB_*")]"""

    def __init__(
        self,
        device: "Device",
        *paths: "str | os.PathLike[str]",
        max_loaded_bytes: int = 0,
        cache: Optional[str] = None,
    ):
        """`max_loaded_bytes`: beyond it, what is not held is unloaded; 1 GiB unless set. `cache`:
        the folder of indexes, or "off"."""
        self.device = device
        options = sized("rawhal_library_options_t", max_loaded_bytes=max_loaded_bytes)
        named = ffi.new("char[]", to_path(cache, "cache")) if cache else None
        if named is not None:
            options.cache = named
        self._handle = owned(
            "rawhal_library_t",
            lib.rawhal_library_destroy,
            lib.rawhal_library_create,
            device._handle,
            options,
        )
        for path in paths:
            self.add(path)

    def add(self, path: "str | os.PathLike[str]") -> None:
        """A file, or a folder with all below it."""
        call(lib.rawhal_library_add, self._handle.pointer, to_path(path))

    def refresh(self) -> None:
        """Looks again at what is in the folders."""
        call(lib.rawhal_library_refresh, self._handle.pointer)

    def _query(self, name: str, file: Optional[str], signature: int) -> tuple[Any, list[Any]]:
        query = sized("rawhal_library_query_t", signature=signature)
        query.name, name_held = to_string("name", name)
        query.file, file_held = to_string("file", file or "")
        return query, [name_held, file_held]

    def find(self, name: str, *, file: Optional[str] = None, signature: int = 0) -> list[Match]:
        """The objects that have the kernel and fit the device, the best first. `file`: the last
        parts of the path. Loads nothing."""
        query, held = self._query(name, file, signature)
        count, room = ffi.new("size_t *"), 16
        while True:
            matches = ffi.new("rawhal_library_match_t[]", room)
            call(
                lib.rawhal_library_find,
                self._handle.pointer,
                query,
                matches,
                room,
                ffi.sizeof("rawhal_library_match_t"),
                count,
            )
            if count[0] <= room:
                break
            room = count[0]
        del held
        return [_match(matches[index], name) for index in range(count[0])]

    def kernels(
        self,
        pattern: Optional[str] = None,
        *,
        file: Optional[str] = None,
        argument: Optional[str] = None,
        signature: int = 0,
    ) -> Iterator[Match]:
        """The kernels that fit the device, in the order of the files, as an iterator that reads a
        page at a time. `pattern`: of names, with *, ? and [...]; `file`: the last parts of the
        path; `argument`: kernels with an argument of that name. What is added meanwhile comes at
        the end; NotFound: a file has changed meanwhile, begin again. Loads nothing."""
        wanted = sized("rawhal_library_filter_t", signature=signature)
        wanted.pattern, pattern_held = to_string("pattern", pattern or "")
        wanted.file, file_held = to_string("file", file or "")
        wanted.argument, argument_held = to_string("argument", argument or "")
        return self._pages(wanted, [pattern_held, file_held, argument_held])

    def _pages(self, wanted: Any, held: list[Any]) -> Iterator[Match]:
        matches = ffi.new("rawhal_library_match_t[]", 64)
        names = ffi.new("char[]", 1 << 16)
        page = sized(
            "rawhal_library_page_t", matches=matches, capacity=64, text=names,
            match_size=ffi.sizeof("rawhal_library_match_t"), text_size=len(names)
        )
        while True:
            try:
                call(lib.rawhal_library_list, self._handle.pointer, wanted, page)
            except OutOfRange:  # a longer name than there is room for
                names = ffi.new("char[]", page.text_used)
                page.text, page.text_size = names, len(names)
                continue
            yield from [_match(matches[index]) for index in range(page.count)]
            if page.cursor == 0:
                break
        del held

    def __iter__(self) -> Iterator[Match]:
        return self.kernels()

    def kernel(self, name: str, *, file: Optional[str] = None, signature: int = 0) -> Kernel:
        """Loads the kernel. NotFound: the message says what there is instead; Ambiguous: say which,
        by file or signature."""
        query, held = self._query(name, file, signature)
        handle = ffi.new("const rawhal_device_kernel_t **")
        call(lib.rawhal_library_kernel, self._handle.pointer, query, handle)
        del held
        module: Any = _Found(self.device)
        return Kernel(Facts(handle[0], _Held(self._handle, handle[0])), module)

    def __getitem__(self, name: str) -> Kernel:
        return self.kernel(name)

    def __repr__(self) -> str:
        return f"<rawhal.Library on {self.device.name}>"


def _match(raw: Any, name: Optional[str] = None) -> Match:
    target = ffi.new("char[64]")
    lib.rawhal_target_format(ffi.addressof(raw, "target"), target, 64)
    return Match(
        string(raw.name) if name is None else name,
        string(raw.file),
        raw.ordinal,
        raw.offset,
        raw.bytes,
        text(target),
        raw.signature,
        bool(raw.usable),
    )
