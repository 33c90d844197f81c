"""Faults of kernels, as exceptions: what failed, where, and why, as far as the device tells."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence

from ._library import lib, text
from .errors import DeviceLost, FaultError, RawhalError

if TYPE_CHECKING:
    from .tickets import Record

_ACCESSES = (None, "read", "write", "atomic")


class Source(NamedTuple):
    """A line of the kernel's source, by its object's debugging information. `text` is "" where the
    file is not there."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Cause:
    """Why it may have happened. `confidence` in percent, against the others; `argument`: the name
    or number of the one that leads there; `offset` and `nbytes`: of the address in an allocation,
    and its size."""

    kind: str
    confidence: int
    text: str
    argument: Optional[str]
    offset: int
    nbytes: int
    label: str


class Fault(FaultError):
    """A launch failed on the device, and with it what else was in its stream. Members that are not
    known are None.

    kernel, kind     its name; "memory access fault", ...
    label            of the launch; stream_label: of its stream. None without
    argument         name, or number where it has none, of the argument that most likely leads there
    access           "read", "write" or "atomic"
    address, size    what was accessed: on the device, or an offset in LDS or scratch; bytes of a
                     lane's access
    program          the work-group, (x, y, z); of Triton, the program
    wave, lanes      the wave in it, and the lanes that failed
    instruction      its text, by softgpu, or its dwords
    past_end         how many bytes behind the argument's last byte the access begins; negative:
                     before its first
    source           file, line and text of it
    causes           all that may be the reason, the most likely first
    details          the device's own words"""

    kernel: str
    kind: str
    label: Optional[str] = None
    stream_label: Optional[str] = None
    argument: Optional[str] = None
    access: Optional[str] = None
    address: Optional[int] = None
    size: Optional[int] = None
    program: Optional[tuple[int, int, int]] = None
    wave: Optional[int] = None
    lanes: Optional[list[int]] = None
    instruction: Optional[str] = None
    past_end: Optional[int] = None
    source: Optional[Source] = None
    causes: tuple[Cause, ...] = ()
    details: str = ""


class MemoryFault(Fault):
    """An access where no memory is, or none that the kernel may use so."""


class KernargFault(Fault):
    """Bytes of the arguments that were not supplied."""


class LdsFault(Fault):
    """An access beyond the work-group's LDS."""


class RaceFault(LdsFault):
    """Two waves use the same bytes of LDS with no barrier between, and one writes. Option
    `races`."""


class UninitializedRead(MemoryFault):
    """A read of what nothing has written: of LDS, by option `lds`; of the device's memory, by
    `memory`."""


class ScratchFault(Fault):
    """An access beyond the work-item's private memory, such as an array of the kernel's."""


class AssertFailed(Fault):
    """The kernel ended itself: assert(), abort(), __builtin_trap(). `text`: what it printed
    last."""

    text: str = ""


class IllegalInstruction(Fault):
    """Bytes that are no instruction, or one that cannot be used so."""


class Timeout(Fault, TimeoutError):
    """It ran longer than the device lets it: open(timeout=), Options."""


# By rawhal_fault_kind_t; Fault for others.
_KINDS: dict[int, type[Fault]] = {
    lib.RAWHAL_FAULT_MEMORY: MemoryFault,
    lib.RAWHAL_FAULT_READ_ONLY: MemoryFault,
    lib.RAWHAL_FAULT_NO_ACCESS: MemoryFault,
    lib.RAWHAL_FAULT_LDS: LdsFault,
    lib.RAWHAL_FAULT_SCRATCH: ScratchFault,
    lib.RAWHAL_FAULT_KERNARG: KernargFault,
    lib.RAWHAL_FAULT_MISALIGNED: MemoryFault,
    lib.RAWHAL_FAULT_INSTRUCTION: IllegalInstruction,
    lib.RAWHAL_FAULT_FETCH: IllegalInstruction,
    lib.RAWHAL_FAULT_TRAP: AssertFailed,
    lib.RAWHAL_FAULT_TIME_LIMIT: Timeout,
    lib.RAWHAL_FAULT_UNWRITTEN: UninitializedRead,
    lib.RAWHAL_FAULT_LDS_UNWRITTEN: UninitializedRead,
    lib.RAWHAL_FAULT_LDS_RACE: RaceFault,
}


def fault_of(raw: Any, record: Optional["Record"], otherwise: RawhalError,
             printed: Sequence[str] = ()) -> RawhalError:
    """The exception of a rawhal_fault_t; `otherwise` where it is the device that is lost. `record`:
    of the launch that failed, if it is known; `printed`: what its stream printed last."""
    if isinstance(otherwise, DeviceLost):
        return otherwise
    fault = _KINDS.get(raw.kind, Fault)(otherwise.message, hsa_status=raw.hsa_status)
    _tell_place(fault, raw)
    _tell_causes(fault, raw, record)
    fault.kernel = text(raw.kernel) or (record.facts.name if record else "")
    if record and raw.known & lib.RAWHAL_FAULT_KNOWS_OBJECT:
        from .lines import LineTable

        found = LineTable(record.facts.object_bytes(), record.facts.folder).find(raw.object_address)
        fault.source = Source(found.file, found.line, found.text) if found else None
    if isinstance(fault, AssertFailed):
        fault.text = _assertion(printed)
    fault.args = (_sentence(fault),)
    return fault


def _tell_place(fault: Fault, raw: Any) -> None:
    fault.kind = text(lib.rawhal_fault_kind_name(raw.kind))
    fault.details = text(raw.device_text)
    fault.label, fault.stream_label = text(raw.label) or None, text(raw.queue_label) or None
    fault.access = _ACCESSES[raw.access] if raw.access < len(_ACCESSES) else None
    if raw.known & lib.RAWHAL_FAULT_KNOWS_ADDRESS:
        fault.address, fault.size = raw.address, raw.bytes or None
    if raw.known & lib.RAWHAL_FAULT_KNOWS_PC:
        fault.program, fault.wave = tuple(raw.group), raw.wave
        fault.instruction = (text(raw.instruction_text)
                             or " ".join(f"{word:#010x}" for word in raw.instruction))
    if raw.known & lib.RAWHAL_FAULT_KNOWS_LANES:
        fault.lanes = [lane for lane in range(64) if raw.lanes >> lane & 1]
    elif raw.known & lib.RAWHAL_FAULT_KNOWS_LANE:
        fault.lanes = [raw.lane]


def _tell_causes(fault: Fault, raw: Any, record: Optional["Record"]) -> None:
    fault.causes = tuple(
        _cause(raw.causes[index], record) for index in range(min(raw.cause_count, len(raw.causes)))
    )
    if not fault.causes:
        return
    fault.argument = fault.causes[0].argument
    first = fault.causes[0]
    is_outside = raw.causes[0].kind == lib.RAWHAL_CAUSE_OUT_OF_BOUNDS
    if is_outside and raw.known & lib.RAWHAL_FAULT_KNOWS_ADDRESS and first.nbytes:
        fault.past_end = first.offset if first.offset < 0 else first.offset - first.nbytes


def _cause(raw: Any, record: Optional["Record"]) -> Cause:
    argument = None
    if raw.argument != lib.RAWHAL_NO_ARGUMENT:
        argument = (_argument_name(raw.argument, record) or text(raw.argument_name)
                    or str(raw.argument))
    return Cause(
        text(lib.rawhal_cause_kind_name(raw.kind)),
        raw.confidence,
        text(raw.text),
        argument,
        raw.offset,
        raw.allocation_bytes,
        text(raw.label),
    )


def _argument_name(index: int, record: Optional["Record"]) -> Optional[str]:
    """By the signature that it was launched with; the index is that of the metadata, hidden ones
    included."""
    if record is None or not record.names:
        return None
    arguments = record.facts.layout.arguments
    if index >= len(arguments) or arguments[index].hidden:
        return None
    position = sum(not one.hidden for one in arguments[:index])
    return record.names[position] if position < len(record.names) else None


def _assertion(printed: Sequence[str]) -> str:
    told = [line for line in printed if "ssert" in line]
    return (told or list(printed) or [""])[-1].rstrip("\n")


def _sentence(fault: Fault) -> str:
    """The library's message, with the line and the name that it does not know."""
    parts = [fault.message]
    if (fault.argument and not fault.argument.isdigit()
        and repr(fault.argument) not in fault.message):
        parts.append(f"argument {fault.argument!r}")
    if fault.source:
        where = f"{fault.source.file}:{fault.source.line}"
        parts.append(f"at {where}: {fault.source.text.strip()}" if fault.source.text
                     else f"at {where}")
    return "; ".join(parts)


__all__ = [
    "AssertFailed",
    "Cause",
    "Fault",
    "IllegalInstruction",
    "KernargFault",
    "LdsFault",
    "MemoryFault",
    "RaceFault",
    "ScratchFault",
    "Source",
    "Timeout",
    "UninitializedRead",
]
