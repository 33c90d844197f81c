"""Graphs: launches that are described once, and then launched together again and again."""
from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Union

import numpy as np

from ._library import NULL, call, ffi, lib, owned, sized, to_bytes
from .arguments import pack
from .arrays import DeviceArray
from .errors import Closed, InvalidArgument
from .kernels import Bound, Extent, Kernel, Launch, _extent
from .memory import Buffer
from .signatures import Signature
from .tickets import Record, Ticket, in_ns
from .timelines import Timepoint, points_of

if TYPE_CHECKING:
    from .devices import Device
    from .queues import Queue
    from .streams import Stream

_ALL = (1 << 64) - 1  # RAWHAL_GRAPH_ALL


@dataclass(frozen=True, eq=False)
class Node:
    """A node of a graph, to be named where others come after it, and where a launch replaces what
    it has. `launch` is None of what runs no kernel, and `points` is how many timepoints it has."""

    graph: "Graph"
    number: int
    launch: Optional[Launch]
    label: Optional[str]
    what: str = "a barrier"
    points: int = 0

    def __repr__(self) -> str:
        what = self.launch.kernel.name if self.launch else self.what
        return f"<rawhal.Node {self.number}: {what}{f' {self.label!r}' if self.label else ''}>"


class Graph:
    """Launches and their order, which is checked and packed once. Made by Device.graph().

        >>> import numpy as np, rawhal
        >>> dev = rawhal.open(chip="gfx942")
        >>> add = dev.load(rawhal.demo_object("gfx942"))["vector_add"]
        >>> x, y = dev.array(np.ones(256, "f4")), dev.zeros(256)
        >>> with dev.stream() as stream, stream.capture() as graph:
        ...     for _ in range(3):
        ...         node = add[1, 256].submit(y, y, x, 256, stream=stream)
        >>> exec = graph.instantiate()
        >>> exec.launch().wait().kernel, exec.launch().wait().kernel
        ('a graph of 3', 'a graph of 3')
        >>> float(y.numpy()[0])
        6.0

    `with stream.capture()` takes what the program would launch, each after all before it; add()
    says after which nodes, so that others may overlap. Arrays are the device's, a pool's or pinned
    ones: a graph copies nothing back to the host. What kernels only read may be an array of
    numpy's, which is copied when the node is made. Nodes and their arrays are kept by the graph,
    and by what is made of it."""

    def __init__(self, device: "Device"):
        self.device = device
        self.nodes: list[Node] = []
        self._kept: list[tuple[Any, ...]] = []  # of each node: facts and arrays
        self._buffers: dict[int, Buffer] = {}
        self._handle = owned("rawhal_graph_t", lib.rawhal_graph_destroy, lib.rawhal_graph_create,
                             device._handle)

    def __repr__(self) -> str:
        return f"<rawhal.Graph of {len(self.nodes)} nodes on {self.device.name}>"

    def __len__(self) -> int:
        return len(self.nodes)

    # ---- Nodes ----

    def add(self, launch: Union[Launch, Bound], /, *args: Any,
            after: Optional[Iterable[Node]] = None, **kwargs: Any) -> Node:
        """Adds a launch, kernel[grid, block], with its arguments, or one that is bound. `after`:
        the nodes that it comes after; None: all that there are, and (): none.

            a = graph.add(scale[4, 256], x, 2.0, after=())
            b = graph.add(scale[4, 256], y, 3.0, after=())
            graph.add(add[4, 256], z, x, y, 1024, after=(a, b))"""
        bound = launch if isinstance(launch, Bound) else launch.bind(*args, **kwargs)
        if isinstance(launch, Bound) and (args or kwargs):
            raise TypeError("a launch that is bound has its arguments")
        return self._add(bound, after)

    def barrier(self, label: Optional[str] = None, *,
                after: Optional[Iterable[Node]] = None) -> Node:
        """A node that runs nothing: what comes after it comes after all that it comes after."""
        named = to_bytes("label", label) if label else NULL
        numbers, count = self._numbers(after)
        out = ffi.new("rawhal_graph_node_t *")
        call(lib.rawhal_graph_add_barrier, self._handle.pointer, named, numbers, count, out)
        return self._added(out, None, label or None, (), ())

    def copy(self, to: DeviceArray, source: Any, *, after: Optional[Iterable[Node]] = None,
             label: Optional[str] = None) -> Node:
        """A node that copies `source` to `to`, by the device's DMA: an array of the device's of as
        many bytes, or what numpy makes an array of `to`'s type of, which is copied now."""
        transfer, buffers, held = ffi.new("rawhal_transfer_t *"), [self._end(to)], None
        transfer.to, transfer.to_offset = _place(to)
        transfer.bytes = to.nbytes
        if isinstance(source, DeviceArray):
            buffers.append(self._end(source))
            if source.nbytes != to.nbytes:
                raise InvalidArgument(f"{source.nbytes} bytes to be copied to {to.nbytes}")
            setattr(transfer, "from", _place(source)[0])
            transfer.from_offset = _place(source)[1]
        else:
            dense = np.empty(to.shape, to.dtype)
            dense[...] = source
            held = ffi.from_buffer(dense.reshape(-1).view("u1")) if dense.size else NULL
            transfer.from_host = held
        return self._add_transfer(transfer, buffers, "a copy", after, label)

    def fill(self, to: DeviceArray, value: Any, *, after: Optional[Iterable[Node]] = None,
             label: Optional[str] = None) -> Node:
        """A node that sets all elements, of at most 16 bytes each, to a value."""
        pattern = np.asarray(value).astype(to.dtype).reshape(()).tobytes()
        if len(pattern) not in (1, 2, 4, 8, 16):
            raise InvalidArgument(f"elements of {len(pattern)} bytes; they may have 1, 2, 4, 8 or "
                                  "16")
        transfer = ffi.new("rawhal_transfer_t *")
        transfer.to, transfer.to_offset = _place(to)
        transfer.bytes, transfer.pattern_bytes = to.nbytes, len(pattern)
        ffi.memmove(transfer.pattern, pattern, len(pattern))
        return self._add_transfer(transfer, [self._end(to)], "a fill", after, label)

    def wait_for(self, *points: Timepoint, after: Optional[Iterable[Node]] = None,
                 label: Optional[str] = None) -> Node:
        """A node that waits until all of these have been reached. A launch may have others: see
        GraphExec.launch()."""
        return self._add_points("a wait", points, (), after, label)

    def signal(self, *points: Timepoint, after: Optional[Iterable[Node]] = None,
               label: Optional[str] = None) -> Node:
        """A node by which these are reached. As values only rise, each launch has others: see
        GraphExec.launch()."""
        return self._add_points("a signal", (), points, after, label)

    def _end(self, array: Any) -> Buffer:
        """Of a transfer."""
        if not isinstance(array, DeviceArray) or array.device is not self.device:
            raise InvalidArgument(f"{array!r} is no array of {self.device!r}")
        if not array.is_contiguous:
            raise InvalidArgument("a view whose elements do not follow one another")
        return array.buffer

    def _add_transfer(self, transfer: Any, buffers: Iterable[Buffer], what: str,
                      after: Optional[Iterable[Node]], label: Optional[str]) -> Node:
        named = to_bytes("label", label) if label else NULL
        numbers, count = self._numbers(after)
        out = ffi.new("rawhal_graph_node_t *")
        call(lib.rawhal_graph_add_transfers_sized, self._handle.pointer, transfer,
             ffi.sizeof("rawhal_transfer_t"), 1, named, numbers, count, out)
        return self._added(out, None, label or None, buffers, (), what)

    def _add_points(self, what: str, waits: tuple[Timepoint, ...], signals: tuple[Timepoint, ...],
                    after: Optional[Iterable[Node]], label: Optional[str]) -> Node:
        awaited, kept = points_of(waits)
        signalled, also = points_of(signals)
        named = to_bytes("label", label) if label else NULL
        numbers, count = self._numbers(after)
        out = ffi.new("rawhal_graph_node_t *")
        call(lib.rawhal_graph_add_timeline, self._handle.pointer, awaited, len(waits), signalled,
             len(signals), named, numbers, count, out)
        return self._added(out, None, label or None, (), (*kept, *also), what,
                           len(waits) + len(signals))

    def _add(self, bound: Bound, after: Optional[Iterable[Node]]) -> Node:
        launch, packed = bound.launch, bound.packed
        kernel = launch.kernel
        if kernel.device is not self.device:
            raise InvalidArgument(f"the kernel is on {kernel.device!r}, the graph on "
                                  f"{self.device!r}")
        if kernel.prints:
            raise InvalidArgument(f"{kernel.name} may ask the host for something, as printf() "
                                  "does, which graphs have no stream for")
        if packed.after:
            raise InvalidArgument("an array of numpy's that would be copied back: a graph takes "
                                  "arrays of the device's, and pinned ones")
        dispatch, _held = _dispatch_of(launch, packed.blob)
        numbers, count = self._numbers(after)
        out = ffi.new("rawhal_graph_node_t *")
        call(lib.rawhal_graph_add_kernel_sized, self._handle.pointer, dispatch,
             ffi.sizeof("rawhal_dispatch_t"), numbers, count, out)
        return self._added(out, launch, launch.label, packed.buffers,
                           (kernel._facts, *packed.keep))

    def _numbers(self, after: Optional[Iterable[Node]]) -> tuple[Any, int]:
        if after is None:
            return NULL, _ALL
        numbers = []
        for node in after:
            if not isinstance(node, Node) or node.graph is not self:
                raise InvalidArgument(f"{node!r} is no node of this graph")
            numbers.append(node.number)
        return ffi.new("rawhal_graph_node_t[]", numbers), len(numbers)

    def _added(self, number: Any, launch: Optional[Launch], label: Optional[str],
               buffers: Iterable[Buffer], kept: tuple[Any, ...], what: str = "a barrier",
               points: int = 0) -> Node:
        node = Node(self, int(number[0]), launch, label, what, points)
        self.nodes.append(node)
        self._kept.append(kept)
        for one in buffers:
            self._buffers[id(one)] = one
        return node

    # ---- Launching ----

    def instantiate(self, stream: Optional["Stream"] = None) -> "GraphExec":
        """What can be launched, of the nodes that there are now. `stream`: where launches cost
        least; they may be on any."""
        return GraphExec(self, stream)


class GraphExec:
    """A graph that can be launched, any number of times at once. Made by Graph.instantiate()."""

    def __init__(self, graph: Graph, stream: Optional["Stream"]):
        self.device = graph.device
        self.nodes = tuple(graph.nodes)
        options = sized("rawhal_graph_options_t")
        queue = stream._live(False) if stream else None
        handle = queue.handle if queue else None
        if handle is not None:
            options.queue = handle.pointer
        self._graph = graph  # whose nodes are named
        self._handle = owned("rawhal_graph_exec_t", lib.rawhal_graph_exec_destroy,
                             lib.rawhal_graph_instantiate, graph._handle.pointer, options)
        self._buffers = tuple(graph._buffers.values())
        self._keep = tuple(one for kept in graph._kept for one in kept)
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<rawhal.GraphExec of {len(self.nodes)} nodes on {self.device.name}>"

    @property
    def packets(self) -> int:
        """That a launch takes of a stream's ring."""
        info = sized("rawhal_graph_exec_info_t")
        lib.rawhal_graph_exec_info(self._handle.pointer, info)
        return int(info.packets)

    def launch(self, changes: Optional[Mapping[Node, Mapping[Union[str, int], Any]]] = None, *,
               stream: Optional["Stream"] = None, grids: Optional[Mapping[Node, Extent]] = None,
               points: Optional[Mapping[Node, Union[Timepoint, Iterable[Timepoint]]]] = None,
               timeout: Optional[float] = None) -> Ticket:
        """Launches all of it, and returns at once. For this launch alone, `changes` has other
        arguments of nodes, by name or position, `grids` other numbers of work-groups, and `points`
        other timepoints of nodes that wait or signal:

            exec.launch({node: {"b": other, "n": 512}}, grids={node: 2}, points={done: ready.at(4)})

        They are checked as when the node was made. `timeout`: seconds to wait for room in the
        stream's rings: TimedOut."""
        chosen = stream or self.device.default_stream
        if chosen.device is not self.device:
            raise InvalidArgument(f"the stream is on {chosen.device!r}, the graph on "
                                  f"{self.device!r}")
        bindings = _Bindings(self)
        for node, arguments in (changes or {}).items():
            bindings.add_arguments(node, arguments)
        for node, grid in (grids or {}).items():
            bindings.add_grid(node, grid)
        for node, others in (points or {}).items():
            bindings.add_points(node, (others,) if isinstance(others, Timepoint) else others)
        queue = chosen._live(False)
        name = f"a graph of {len(self.nodes)}"
        buffers = (*self._buffers, *bindings.buffers)
        record = Record(queue, _Launched(name, self), None,
                        (self._handle, *self._keep, *buffers, *bindings.keep), ())
        for one in buffers:
            one.use(record)
        wait_ns = in_ns(timeout)
        queue.submit_by(record, lib.rawhal_graph_launch_sized, self._handle.pointer,
                        bindings.packed(), ffi.sizeof("rawhal_graph_binding_t"),
                        len(bindings.items),
                        deadline_ns=None if wait_ns is None else time.monotonic_ns() + wait_ns)
        return Ticket(record, queue, name)


class _Launched:
    """What stands for a kernel's facts in the record of a graph's launch."""

    __slots__ = ("name", "code", "folder", "has_printf", "exec")

    def __init__(self, name: str, exec: GraphExec):
        self.name = name
        self.code: Any = None
        self.folder = ""
        self.has_printf = False
        self.exec = exec

    def object_bytes(self) -> bytes:
        """Of which node's kernel it is asked is not known here."""
        return b""


class _Bindings:
    """What a launch replaces. Values stay where they are until it has been submitted."""

    def __init__(self, exec: GraphExec):
        self.exec = exec
        self.items: list[tuple[int, int, int, int, Any]] = []
        self.buffers: list[Buffer] = []
        self.keep: list[Any] = []

    def packed(self) -> Any:
        return (ffi.new("rawhal_graph_binding_t[]",
                        [(kind, node, index, size, ffi.cast("void *", value))
                         for kind, node, index, size, value in self.items])
                if self.items else NULL)

    def _check(self, node: Node) -> None:
        if not isinstance(node, Node) or node.graph is not self.exec._graph \
                or node.number >= len(self.exec.nodes):
            raise InvalidArgument(f"{node!r} is no node of this graph")

    def add_points(self, node: Node, points: Iterable[Timepoint]) -> None:
        self._check(node)
        others = tuple(points)
        if len(others) != node.points:
            raise InvalidArgument(f"{len(others)} timepoints for {node!r}, which has {node.points}")
        packed, kept = points_of(others)
        self.keep.extend((packed, *kept))
        self.items.extend((lib.RAWHAL_GRAPH_TIMEPOINT, node.number, index,
                           ffi.sizeof("rawhal_timepoint_t"), packed + index)
                          for index in range(len(others)))

    def _launch_of(self, node: Node) -> Launch:
        self._check(node)
        if node.launch is None:
            raise InvalidArgument(f"{node!r} has no arguments and no grid")
        return node.launch

    def add_arguments(self, node: Node, arguments: Mapping[Union[str, int], Any]) -> None:
        kernel = self._launch_of(node).kernel
        parameters = kernel.signature.parameters
        for key, value in arguments.items():
            found = [one for one in parameters if key in (one.index, one.name)]
            if len(found) != 1:
                known = ", ".join(one.name or str(one.index) for one in parameters)
                raise InvalidArgument(f"{node!r} has no argument {key!r}; its arguments: {known}")
            parameter = found[0]
            packed = pack(kernel.device, Signature((parameter,)), kernel.layout.size, [value])
            if packed.after:
                raise InvalidArgument("an array of numpy's that would be copied back: a graph "
                                      "takes arrays of the device's, and pinned ones")
            argument = parameter.argument
            data = ffi.new("unsigned char[]", bytes(
                packed.blob[argument.offset:argument.offset + argument.size]))
            self.keep.extend((data, *packed.keep))
            self.buffers.extend(packed.buffers)
            self.items.append((lib.RAWHAL_GRAPH_ARGUMENT, node.number,
                               kernel.layout.arguments.index(argument), argument.size, data))

    def add_grid(self, node: Node, grid: Extent) -> None:
        launch = self._launch_of(node)
        items = [count * size for count, size in zip(_extent("grid", grid), launch.block)]
        if max(items) > 0xFFFFFFFF:
            raise InvalidArgument(f"a grid of {grid} work-groups of {launch.block}")
        value = ffi.new("rawhal_graph_grid_t *")
        value.work_items, value.workgroup = items, launch.block
        value.dynamic_lds = launch.lds_bytes
        self.keep.append(value)
        self.items.append((lib.RAWHAL_GRAPH_GRID, node.number, 0,
                           ffi.sizeof("rawhal_graph_grid_t"), value))


class Capture:
    """Takes what is launched on a stream while `with` lasts. Made by Stream.capture()."""

    def __init__(self, stream: "Stream"):
        self._stream = stream
        self._graph: Optional[Graph] = None

    def __enter__(self) -> Graph:
        stream = self._stream
        with stream._lock:
            if stream._closed:
                raise Closed("the stream was closed")
            if stream.graph is not None or self._graph is not None:
                raise InvalidArgument("the stream is being captured" if stream.graph is not None
                                      else "the capture has ended")
            self._graph = stream.graph = Graph(stream.device)
        return self._graph

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        with self._stream._lock:
            self._stream.graph = None


def _place(array: Any) -> tuple[Any, int]:
    """The library's buffer, and where an array begins in it."""
    if not isinstance(array, DeviceArray):
        raise InvalidArgument(f"{array!r} is no array of the device's")
    return array.buffer._handle.pointer, array.buffer.origin + array.offset


def _dispatch_of(launch: Launch, blob: Any) -> tuple[Any, Any]:
    """As kernels.submit() has it; and what must live as long as it is used."""
    items = [count * size for count, size in zip(launch.grid, launch.block)]
    if max(launch.block) > 0xFFFF or max(items) > 0xFFFFFFFF:
        raise InvalidArgument(f"a grid of {launch.grid} work-groups of {launch.block}")
    data = ffi.from_buffer(blob)
    dispatch = ffi.new("rawhal_dispatch_t *",
                       [launch.kernel._facts.handle, items, launch.block, launch.lds_bytes, data,
                        len(data), NULL, 0, 0])
    label = ffi.new("char[]", to_bytes("label", launch.label)) if launch.label else NULL
    dispatch.label = label
    return dispatch, (data, label)


__all__ = ["Capture", "Graph", "GraphExec", "Node"]
