"""Code objects as facts, without a device and without a runtime."""
from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Union

from . import command
from ._library import NULL, ffi, lib, owned, sized, string, text, to_path
from .errors import NotFound
from .signatures import Argument, Layout, layout_of


@dataclass(frozen=True)
class KernelInfo:
    """A kernel as its object states it. Bytes of LDS are a work-group's, of scratch a
    work-item's."""

    name: str
    usable: bool
    why_not: str
    vgprs: int
    sgprs: int
    agprs: int
    spilled_vgprs: int
    spilled_sgprs: int
    lds: int
    scratch: int
    wavefront_size: int
    max_workgroup_size: int
    required_workgroup: Optional[tuple[int, int, int]]
    layout: Optional[Layout]

    @property
    def args(self) -> tuple[Argument, ...]:
        """Those that a caller gives."""
        return self.layout.visible if self.layout else ()


@dataclass(frozen=True)
class Change:
    """Between two objects. `category`: "abi", "resource" or "note"; `argument`: its name or index
    in the first, or None."""

    kernel: str
    category: str
    what: str
    argument: Optional[str]
    before: Any
    after: Any


@dataclass(frozen=True)
class Diff:
    """What callers and launches see of two files. False where nothing differs."""

    same_abi: bool
    same_resources: bool
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changes: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changes)


@dataclass(frozen=True)
class Missing:
    """Instructions that softgpu cannot execute: mnemonic (None: none that it knows), how many, and
    the first."""

    mnemonic: Optional[str]
    count: int
    offset: int
    text: str


@dataclass(frozen=True)
class Coverage:
    """How much of an object softgpu executes. True if all of it."""

    instructions: int
    missing: tuple[Missing, ...]

    def __bool__(self) -> bool:
        return not self.missing


@dataclass(frozen=True)
class CodeObject:
    """One code object. `version` 3 to 6; `target` "gfx90a:xnack-"; kernels by name."""

    target: str
    version: int
    kernels: Mapping[str, KernelInfo]
    diagnostics: tuple[str, ...]
    loadable: bool
    why_not: str
    data: bytes = field(repr=False)

    def diff(self, other: "CodeObject") -> Diff:
        """What is another's, as `rawhal diff` sees it."""
        told = command.answer("diff", "--json", "{}", "{}", files=(self.data, other.data))
        changes = tuple(
            _change(kernel["name"], one) for kernel in told["kernels"] for one in kernel["changes"]
        )
        return Diff(
            told["same_abi"],
            told["same_resources"],
            _names(told, "added"),
            _names(told, "removed"),
            changes,
        )

    def coverage(self, chip: Optional[str] = None) -> Coverage:
        """What softgpu lacks to execute it. `chip`: must be what it is for. NotFound: softgpu
        executes no code for that."""
        if chip and chip != self.target.split(":")[0]:
            raise NotFound(f"the object is for {self.target}, not for {chip}")
        try:
            told = command.answer("coverage", "--json", "{}", files=(self.data,))
        except RuntimeError as error:
            raise NotFound(str(error)) from None
        rows = tuple(
            Missing(row["mnemonic"], row["count"], row["offset"], row["text"] or "")
            for row in told["rows"]
        )
        return Coverage(told["instructions"], rows)


def inspect(source: Union[str, "os.PathLike[str]", bytes],
            target: Optional[str] = None) -> CodeObject:
    """Reads a code object from a path or bytes, or out of what carries it: bundles, archives,
    libraries. `target`: which, where there are several; without it, the first.

        >>> import rawhal
        >>> kernel = rawhal.inspect(rawhal.demo_object("gfx90a")).kernels["vector_add"]
        >>> [(one.name, one.offset, one.kind) for one in kernel.args][0]
        ('c', 0, 'global_buffer')"""
    return next(_chosen(source, target))


def _chosen(source: Any, target: Optional[str]) -> Any:
    copy = lib.RAWHAL_CONTAINER_COPY  # files may change
    options = sized("rawhal_container_options_t", flags=copy)
    if isinstance(source, (str, os.PathLike)):
        container = owned("rawhal_container_t", lib.rawhal_container_close,
                          lib.rawhal_container_open_file, to_path(source, "source"), options)
    else:
        data = ffi.from_buffer(source)
        container = owned(
            "rawhal_container_t",
            lib.rawhal_container_close,
            lib.rawhal_container_open,
            data,
            len(data),
            options,
        )
    seen = []
    for index in range(lib.rawhal_container_count(container.pointer)):
        found = lib.rawhal_container_object(container.pointer, index)
        seen.append(target_text(found.target))
        if found.readable and target in (None, seen[-1], seen[-1].split(":")[0]):
            yield read(bytes(ffi.buffer(found.bytes.data, found.bytes.size)))
    raise NotFound(f"no code object{f' for {target}' if target else ''}; there are: "
                   f"{', '.join(seen)}")


def target_text(target: Any) -> str:
    """Of a rawhal_target_t: "gfx90a:xnack-"."""
    buffer = ffi.new("char[64]")
    lib.rawhal_target_format(ffi.new("rawhal_target_t *", target), buffer, 64)
    return text(buffer)


def read(data: bytes) -> CodeObject:
    """Of the bytes of one code object."""
    held = ffi.from_buffer(data)
    opened = owned("rawhal_hsaco_t", lib.rawhal_hsaco_close, lib.rawhal_hsaco_open, held,
                   len(held), NULL)
    hsaco = opened.pointer
    info = lib.rawhal_hsaco_info(hsaco)
    kernels = (kernel_info(lib.rawhal_hsaco_kernel(hsaco, index))
               for index in range(info.kernel_count))
    diagnostics = (
        string(lib.rawhal_hsaco_diagnostic(hsaco, index).message)
        for index in range(info.diagnostic_count)
    )
    return CodeObject(
        target_text(info.target),
        info.code_object_version,
        {one.name: one for one in kernels},
        tuple(diagnostics),
        bool(info.loadable),
        string(info.not_loadable_reason),
        data,
    )


def kernel_info(raw: Any) -> KernelInfo:
    """Of a rawhal_kernel_t."""
    required = tuple(raw.reqd_workgroup_size)
    layout = None
    if raw.has_arguments:
        compiled = owned(
            "rawhal_kernarg_layout_t",
            lib.rawhal_kernarg_layout_destroy,
            lib.rawhal_kernarg_layout_create,
            raw,
            0,
        )
        layout = layout_of(compiled.pointer, raw)
    return KernelInfo(
        string(raw.name),
        bool(raw.usable),
        string(raw.unusable_reason),
        raw.vgpr_count,
        raw.sgpr_count,
        raw.agpr_count,
        raw.vgpr_spill_count,
        raw.sgpr_spill_count,
        raw.group_segment_fixed_size,
        raw.private_segment_fixed_size,
        raw.wavefront_size,
        raw.max_flat_workgroup_size,
        required if any(required) else None,
        layout,
    )


def _names(told: Any, change: str) -> tuple[str, ...]:
    return tuple(kernel["name"] for kernel in told["kernels"] if kernel["change"] == change)


def _change(kernel: str, one: Any) -> Change:
    argument = (one["argument"] or {}).get("a") or (one["argument"] or {}).get("b")
    named = None if not argument else argument.get("name") or str(argument.get("index"))
    return Change(kernel, one["category"], one["property"], named, one["a"], one["b"])


__all__ = ["Change", "CodeObject", "Coverage", "Diff", "KernelInfo", "Missing", "inspect", "read"]
