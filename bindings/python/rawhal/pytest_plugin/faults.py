"""What a kernel's fault looks like in the report of a test."""
from __future__ import annotations

from typing import Any, Iterator, Optional

TITLE = "rawhal fault"


def fault_in(error: Optional[BaseException]) -> Optional[Any]:
    """The kernel's fault that an exception is, or that led to it; None without one. Loads
    nothing."""
    seen = set()
    while error is not None and id(error) not in seen:
        if any(kind.__module__ == "rawhal.faults" and kind.__name__ == "Fault"
               for kind in type(error).__mro__):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


def _place(fault: Any) -> Optional[str]:
    source = getattr(fault, "source", None)
    if not source:
        return None
    file, line, text = ((source.file, source.line, source.text) if hasattr(source, "file")
                        else tuple(source)[:3])
    return f"{file}:{line}" + (f"\n             {text.strip()}" if text else "")


def _access(fault: Any) -> Optional[str]:
    access = getattr(fault, "access", None)
    if not access:
        return None
    words = f"{access} of {fault.size} bytes" if getattr(fault, "size", 0) else str(access)
    address = getattr(fault, "address", None)
    words += f" at {address:#x}" if isinstance(address, int) and address else ""
    past = getattr(fault, "past_end", None)
    return words + (f", {past} bytes past the end" if past is not None else "")


def _where(fault: Any) -> Optional[str]:
    program = getattr(fault, "program", None)
    if program is None:
        return None
    lanes = list(getattr(fault, "lanes", None) or [])
    words = f"{tuple(program)}, wave {getattr(fault, 'wave', 0)}"
    if lanes:
        words += f", lanes {_ranges(lanes)}"
    return words


def _ranges(numbers: list[int]) -> str:
    """"0-3, 7" of [0, 1, 2, 3, 7]."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in found)


_ROWS = (("kernel", lambda fault: getattr(fault, "kernel", None)),
         ("argument", lambda fault: getattr(fault, "argument", None)),
         ("access", _access), ("source", _place), ("program", _where),
         ("instruction", lambda fault: getattr(fault, "instruction", None)),
         ("text", lambda fault: getattr(fault, "text", None)))


def rows(fault: Any) -> Iterator[tuple[str, str]]:
    """What is known of a fault, one fact each."""
    yield "fault", type(fault).__name__
    for name, of in _ROWS:
        value = of(fault)
        if value not in (None, "", ()):
            yield name, str(value)


def section(fault: Any) -> str:
    """The section of a report."""
    return "\n".join(f"{name + ':':<12} {value}" for name, value in rows(fault)) + f"\n\n{fault}"


def properties(fault: Any) -> Iterator[tuple[str, str]]:
    """The properties of a JUnit file: strings without line breaks."""
    for name, value in rows(fault):
        if name in ("fault", "kernel", "argument"):
            yield f"rawhal_{name}", value
        elif name == "source":
            yield "rawhal_source", value.split("\n")[0]
