"""Traces: facts of each launch, to be asked, and for Perfetto."""
from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator, Optional, Sequence, Union, overload

from ._library import text
from .errors import RawhalError
from .observing import Observer

if TYPE_CHECKING:
    from .devices import Device
    from .queues import Queue
    from .streams import Stream
    from .tickets import Record

_MOST_IN_FLIGHT = 128  # half of the submissions of which a queue keeps times and counts


@dataclass(frozen=True)
class TracedLaunch:
    """A launch of a trace. `grid` counts work-groups, `block` work-items of one; `lds_bytes` are
    those of a work-group, static and dynamic. `stream` is Stream.number, `ticket` the number of the
    launch in its queue: after a fault the stream's next queue begins at 1.

    `label` and `stream_label` are what the program calls them: Launch.labelled(), Stream.label.

    `state`: "running", "complete" or "failed"; what follows is None unless it is complete.
    `instructions` are those of all waves, the same each time; None where the device does not count.
    `start_ns` and `end_ns` are the device's, in nanoseconds of the HSA clock: on softgpu **times of
    this machine's processors, not of any hardware**."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lds_bytes: int
    stream: int
    ticket: int
    state: str
    instructions: Optional[int]
    start_ns: Optional[int]
    end_ns: Optional[int]
    label: Optional[str] = None
    stream_label: Optional[str] = None

    @property
    def time_ns(self) -> Optional[int]:
        """How long it took the device."""
        return None if self.end_ns is None or self.start_ns is None else self.end_ns - self.start_ns


class _Entry:
    """Of a launch, until it has ended; then what is told of it."""

    __slots__ = ("_told", "_labels", "_record", "_facts")

    def __init__(self, stream: "Stream", record: "Record", dispatch: Any):
        items, block = tuple(dispatch.work_items), tuple(dispatch.workgroup)
        lds = int(record.facts.info.group_segment_size) + dispatch.dynamic_lds
        self._told = (record.facts.name, tuple(a // b for a, b in zip(items, block)), block, lds,
                      stream.number)
        self._labels = (text(dispatch.label) or None, stream.label)
        self._record: Optional["Record"] = record
        self._facts: tuple[Any, ...] = (0, "running", None, None, None)

    def completed(self) -> None:
        """Asked at once: the queue forgets what it counted when others have taken its place."""
        record = self._record
        queue = record.queue() if record else None
        if record is None or queue is None:
            return
        number, times, instructions = int(record.number[0]), (None, None), None
        try:
            times = queue.times(record)
            instructions = queue.instructions(record)
        except RawhalError:
            pass
        self._facts, self._record = (number, "complete", instructions, *times), None

    def launch(self) -> TracedLaunch:
        record = self._record
        if record is not None:
            failed = record.done and record.error is not None
            self._facts = (int(record.number[0]), "failed" if failed else "running",
                           None, None, None)
            if failed:
                self._record = None
        return TracedLaunch(*self._told, *self._facts, *self._labels)

    def wait(self) -> None:
        record = self._record
        queue = record.queue() if record else None
        if record is not None and queue is not None:
            queue.wait(record)


class Trace(Observer, Sequence[TracedLaunch]):
    """Facts of each launch on a device while `with` lasts, in the order of submission: a sequence
    of TracedLaunch. Made by Device.trace().

        with dev.trace() as trace:
            kernel[4, 256](c, a, b, 1024)
        trace[0].instructions, trace[0].time_ns
        trace.save("launches.json")                for Perfetto or chrome://tracing

    It may be looked at any time; the end of the block waits for what was launched in it, unless an
    exception ends it, and raises none of the launches' faults, of which others are told as ever.
    Traces may be nested, or overlap; each has the launches of its own block, of all threads and
    streams of the device. At most 128 launches of a stream are under way meanwhile. A trace grows
    with each launch and keeps nothing that a kernel uses."""

    def __init__(self, device: "Device"):
        super().__init__(device)
        self._entries: list[_Entry] = []
        self.description = device.description
        self.is_software = device.is_software

    def __repr__(self) -> str:
        return f"<rawhal.Trace of {len(self)} launches on {self.description}>"

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> TracedLaunch: ...

    @overload
    def __getitem__(self, index: slice) -> list[TracedLaunch]: ...

    def __getitem__(self, index: Union[int, slice]) -> Any:
        if isinstance(index, slice):
            return [one.launch() for one in self._entries[index]]
        return self._entries[index].launch()

    def _end(self, wait: bool) -> None:
        for entry in list(self._entries) if wait else ():
            entry.wait()

    @contextmanager
    def around(self, stream: "Stream", queue: "Queue", record: "Record",
               dispatch: Any) -> Iterator[None]:
        while len(queue.in_flight) >= _MOST_IN_FLIGHT:
            queue.wait(queue.in_flight[0])
            queue.prune()
        entry = _Entry(stream, record, dispatch)
        record.after = (entry.completed, *record.after)
        yield
        self._entries.append(entry)

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Writes a new file in the format of `rawhal exec --trace`, as Perfetto and
        chrome://tracing read it: a thread for each stream, and what has ended.
        FileExistsError: it is there."""
        launches = [one for one in self if one.start_ns is not None]
        begin = min((one.start_ns or 0 for one in launches), default=0)
        process = os.getpid()
        told = self.description + ("; times are those of this machine's processors"
                                   if self.is_software else "")
        events: list[dict[str, Any]] = [_name("process_name", process, 0, told)]
        streams = {one.stream: one.stream_label for one in launches}  # the last that it had
        for number, label in sorted(streams.items(), key=lambda one: one[0]):
            named = f" {label!r}" if label else ""
            events.append(_name("thread_name", process, number, f"stream {number}{named}"))
        events.extend(_event(one, process, begin) for one in launches)
        text = "[\n" + ",\n".join(json.dumps(event) for event in events) + "\n]\n"
        with open(path, "x", encoding="ascii") as file:
            try:
                file.write(text)
                file.flush()
            except BaseException:
                os.unlink(path)
                raise


def _name(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _event(one: TracedLaunch, process: int, begin: int) -> dict[str, Any]:
    """As front/trace.c has them, in microseconds."""
    assert one.start_ns is not None and one.time_ns is not None
    return {"name": one.kernel, "cat": "dispatch", "ph": "X", "pid": process, "tid": one.stream,
            "ts": (one.start_ns - begin) / 1e3, "dur": one.time_ns / 1e3,
            "args": {"work_items": [a * b for a, b in zip(one.grid, one.block)],
                     "workgroup": list(one.block), "group_bytes": one.lds_bytes,
                     "instructions": one.instructions, "ticket": one.ticket, "measured": True,
                     **({"label": one.label} if one.label else {})}}


__all__ = ["Trace", "TracedLaunch"]
