"""Programs that are not kind to a binding. Each is a process of its own, which must end by itself:
no signal, and no traceback that it does not expect."""
import os

import pytest

from conftest import SOURCE, fixture, run

HEAD = """
import gc, os, sys, threading, time, weakref
import numpy as np
import rawhal
ADD, SPIN, FAULT, PRINTF, TESTS = sys.argv[1:]
sys.path.insert(0, TESTS)
from child import forked
def opened(**options):
    return rawhal.open(chip="gfx90a", timeout=20, options={"vram_mib": 256, "threads": 2},
                       **options)
dev = opened()
add, spin = dev.load(ADD)["vector_add"], dev.load(SPIN)["spin"]
fault = dev.load(FAULT)["fault_store"]
ones = np.ones(1 << 16, "f4")
"""

PROGRAMS = {
    # What a launch uses are temporaries, and memory is used anew at once.
    "temporaries": """
h = dev.pinned(1 << 16)
tickets = []
for i in range(60):
    a = np.full(1 << 16, i, "f4")
    tickets.append((i, add[256, 256].submit(dev.empty(1 << 16), a, ones[:], 1 << 16)))
    t = add[256, 256].submit(h, dev.array(a), dev.array(np.zeros(1 << 16, "f4")), 1 << 16)
    add.launch(1, 64, bytearray(add.layout.size), keep=()) # whose blob is gone
    del a
    np.zeros(1 << 16); gc.collect() if i % 20 == 0 else None
t.wait()
assert (h == 59).all()
out = np.zeros(1 << 16, "f4")
for _ in range(20):
    # tickets are dropped: who sees the end writes back
    add[256, 256].submit(out, out.copy(), ones * 2, 1 << 16)
dev.synchronize()
assert (out >= 2).all()
""",
    # Threads wait for what never ends while the interpreter ends.
    "threads_at_exit": """
flag = dev.pinned(1, "u4"); flag[0] = 0
def waits(stream):
    spin[1, 1](flag, stream=stream)
def launches():
    x = dev.zeros(64)
    while True:
        add[1, 64](x, x, x, 64)
for i in range(4):
    threading.Thread(target=waits, args=(dev.stream(),), daemon=True).start()
    threading.Thread(target=launches, daemon=True).start()
ticket = spin[1, 1].submit(flag)
time.sleep(0.2)
""",
    # All is in use, something prints, and nobody has closed anything.
    "exit_in_the_middle": """
printing = dev.load(PRINTF)["printf_ids"]
arguments = [np.zeros(64, "i4") if one.is_pointer else 64 for one in printing.args]
held = []
for _ in range(4):
    stream = dev.stream(output=lambda stream, text: held.append(text))
    for _ in range(20):
        held.append(printing[1, 64].submit(*arguments, stream=stream))
        add[256, 256].submit(ones, ones, ones, 1 << 16, stream=stream)
    last = printing[1, 64].submit(*arguments, stream=stream)
    last.on_complete(lambda ticket: held.append(ticket))
spin[1, 1].submit(dev.zeros(1, "u4"), stream=stream)
sys.held = held  # as late as can be
""",
    # A child may use nothing of its parent's, is told so, and ends as any process does.
    "fork": """
flag = dev.pinned(1, "u4"); flag[0] = 0
with dev.stream() as stream:
    ticket = spin[1, 1].submit(flag, stream=stream)
    x = dev.zeros(64)
    def child():
        global x, ticket
        refused = 0
        for attempt in [lambda: add[1, 64](x, x, x, 64), lambda: x.numpy(), lambda: dev.empty(64),
                        lambda: ticket.wait(), lambda: dev.stream(),
                        lambda: dev.stream().synchronize(),
                        lambda: add[1, 64](ones, ones, ones, 64), lambda: dev.load(ADD),
                        lambda: dev.zeros(3), lambda: opened()]:
            try:
                attempt()
            except rawhal.DeviceLost:
                refused += 1
        del x, ticket
        gc.collect()
        return 0 if refused >= 7 else 100 + refused
    status = forked(child)
    assert status == 0, status
    assert not ticket.done()
    flag[0] = 1
    ticket.wait()
""",
    # Every order of letting go, of what refers to each other.
    "orders": """
import itertools
names = ["device", "module", "kernel", "array", "view", "pinned", "stream", "ticket", "bound"]
for shift in range(len(names)):
    for order in (names[shift:] + names[:shift], list(reversed(names[shift:] + names[:shift]))):
        it = {"device": dev}
        it["module"] = dev.load(ADD); it["kernel"] = it["module"]["vector_add"]
        it["array"] = dev.array(ones); it["view"] = it["array"][::2][5:]
        it["pinned"] = dev.pinned(1 << 16)[10:]; it["stream"] = dev.stream()
        it["bound"] = it["kernel"][128, 256].bind(it["pinned"], it["array"], it["array"], 1 << 15)
        it["ticket"] = it["bound"].submit(stream=it["stream"])
        for name in order:
            del it[name]
reference = weakref.ref(dev)
del dev, add, spin, fault, it
gc.collect()
assert reference() is None, gc.get_referrers(reference())
dev = rawhal.open(chip="gfx942")  # nothing is left of the other
""",
    # Exceptions where C calls Python, also those that end a program.
    "exceptions_in_callbacks": """
told = []
threading.excepthook = lambda arguments: told.append(arguments.exc_type)
def raises(kind):
    def function(*_):
        raise kind("from a callback")
    return function
printing = dev.load(PRINTF)["printf_ids"]
arguments = [np.zeros(64, "i4") if one.is_pointer else 4 for one in printing.args]
for kind in (ValueError, SystemExit, KeyboardInterrupt, StopIteration):
    with dev.stream(output=raises(kind)) as stream:
        ticket = printing[1, 4].submit(*arguments, stream=stream)
        ticket.on_complete(raises(kind))
        ended = threading.Event()
        ticket.on_complete(lambda _: ended.set())
        assert ended.wait(10)
        ticket.wait()
assert {ValueError, StopIteration} <= set(told), told
class Bad:
    def write(self, text): raise OSError("full")
sys.stdout, out = Bad(), sys.stdout
printing[1, 4](*arguments)
sys.stdout = out
""",
    # Sizes that are no sizes.
    "huge": """
lies = np.lib.stride_tricks.as_strided(ones[:1], (1 << 40,), (0,))
for attempt in [lambda: dev.empty(1 << 61), lambda: dev.empty((1 << 31, 1 << 31), "f8"),
                lambda: dev.empty(1 << 40), lambda: dev.pinned(1 << 46),
                lambda: dev.zeros((1 << 62,) * 4), lambda: add[1 << 32, 1],
                lambda: add[1 << 31, 1 << 15](ones, ones, ones, 1), lambda: add[1 << 70, 1],
                lambda: add[1, 64, 1 << 40](ones, ones, ones, 1),
                lambda: add[1, 64, -1](ones, ones, ones, 1),
                lambda: add[1, 64](ones, ones, ones, 1 << 80),
                lambda: add[1, 64](ones, ones, ones, -(1 << 80)),
                lambda: dev.map_host(8, 1 << 63), lambda: dev.map_host(-1, 5),
                lambda: dev.map_host(0, 16), lambda: dev.load(b"\\0" * (1 << 20)),
                lambda: add.launch(1, 64, bytes(1 << 20)), lambda: dev.array(ones)[1 << 70],
                lambda: dev.array(lies[:1 << 30][:0]).numpy()[0]]:
    try:
        (launch := attempt())
        if isinstance(launch, rawhal.Launch): launch(ones, ones, ones, 1)
        print("was done", attempt, launch)
    except (rawhal.RawhalError, MemoryError, OverflowError, ValueError, TypeError, IndexError):
        pass
add[1, 64](lies[:1].copy(), lies[:64], lies, 1)
""",
    # Signals' handlers that raise, at any line.
    "interrupts": """
import signal
class Now(Exception): pass
def handler(*_): raise Now
signal.signal(signal.SIGALRM, handler)
x, y = dev.array(ones), dev.zeros(1 << 16)
ended = time.monotonic() + 0.7
interrupted = 0
while time.monotonic() < ended:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0007)
        while time.monotonic() < ended:
            h = np.zeros(1 << 12, "f4")
            tickets = [add[16, 256].submit(h, x, x, 1 << 12) for _ in range(5)]
            tickets[-1].wait()
            add[16, 256](y, x, x, 1 << 12)
            y[:10].numpy()
    except Now:
        interrupted += 1
    finally:
        while True:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0, 0); break
            except Now: pass
assert interrupted > 5
dev.synchronize()
add[16, 256](y, x, x, 1 << 12)
assert (y.numpy()[:1 << 12] == 2).all()
from rawhal.queues import _in_flight
assert all(not one for one in _in_flight.values()) or dev.default_stream._queue.prune() is None
""",
    # Arguments that change under the binding's hands, or lie.
    "hostile_arguments": """
class Liar:
    __array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (1 << 20, False), "version": 3}
    shape = "no"
class Raises:
    def __index__(self): raise ZeroDivisionError
    @property
    def __array_interface__(self): raise ZeroDivisionError
class Capsule:
    def __init__(self, capsule): self.capsule = capsule
    def __dlpack__(self, **_): return self.capsule
    def __dlpack_device__(self): return 10, 0
for value in [Raises(), object(), "text", b"", {}, [1], (), 1j, np.array("s"),
              np.array(object()), Capsule(None), Capsule(5), np.ma.masked, type]:
    for arguments in [(value, ones, ones, 1), (ones, ones, ones, value)]:
        try:
            add[1, 64](*arguments)
        except (TypeError, ValueError, ZeroDivisionError, OverflowError, AttributeError,
                rawhal.RawhalError):
            pass
once = Capsule(dev.array(ones).__dlpack__())
first = dev.from_dlpack(once)
for attempt in [lambda: dev.from_dlpack(once), lambda: dev.from_dlpack(Capsule(None)),
                lambda: dev.from_dlpack(5), lambda: add[Raises(), 1], lambda: add.typed(5),
                lambda: add.launch(1, 64, None), lambda: add.launch(1, 64, "text"),
                lambda: dev.empty(Raises()), lambda: first[Raises()]]:
    try:
        attempt(); print("was done", attempt)
    except (TypeError, ValueError, ZeroDivisionError, AttributeError, rawhal.RawhalError):
        pass
del once
assert (first.numpy() == 1).all()
shrinking = np.zeros(1 << 20, "f4")
ticket = add[4096, 256].submit(shrinking, dev.zeros(1 << 20), dev.zeros(1 << 20), 1 << 20)
try:
    shrinking.resize(1, refcheck=True); print("was resized")
except ValueError:
    pass
ticket.wait()
bound = add[1, 64].bind(dev.zeros(64), ones, ones, 64)
bound.packed.blob.extend(b"x" * 10) if False else None
bound.submit().wait()
""",
    # The last reference goes in the callback itself; and what may not be done there.
    "callbacks_that_let_go": """
for i in range(30):
    box = [dev.stream()]
    ended = threading.Event()
    ticket = add[256, 256].submit(np.zeros(1 << 16, "f4"), ones, ones, 1 << 16, stream=box[0])
    ticket.on_complete(lambda one, box=box: (box[0].close(wait=bool(i % 2)), box.clear()))
    ticket.on_complete(lambda one, ended=ended: ended.set())
    del ticket
    if i % 3 == 0: gc.collect()
    assert ended.wait(10) or not box
def nested(one):
    inner = add[1, 64].submit(ones, ones, ones, 64)
    inner.wait(); done.set()
done = threading.Event()
add[1, 64].submit(ones, ones, ones, 64).on_complete(nested)
assert done.wait(10)
""",
    # Threads open, launch, fault, collect and close at once.
    "threads": """
errors = []
def works(seed):
    try:
        for i in range(5):
            mine = opened()
            with mine.stream() as stream:
                x, y = mine.array(ones), mine.zeros(1 << 16)
                kernel = mine.load(ADD)["vector_add"]
                t = kernel[256, 256].submit(y, x, x, 1 << 16, stream=stream)
                if (i + seed) % 3 == 0:
                    try:
                        mine.load(FAULT)["fault_store"][1, 1](mine.zeros(4, "u4"), 5000, 1,
                                                              stream=stream)
                    except rawhal.MemoryFault:
                        pass
                elif seed % 2:
                    gc.collect()
                t.wait()
                assert (y.numpy() == 2).all()
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=works, args=(i,)) for i in range(6)]
[one.start() for one in threads]; [one.join() for one in threads]
assert not errors, errors
""",
    # Cycles, finalizers that come back, and modules that are taken away.
    "cycles": """
class Node:
    def __init__(self):
        self.me = self
        self.stream = dev.stream()
        self.array = dev.zeros(1 << 12)
        self.ticket = add[16, 256].submit(self.array, self.array, dev.array(ones[:1 << 12]),
                                          1 << 12, stream=self.stream)
        self.spins = spin[1, 1].submit(dev.zeros(1, "u4"), stream=self.stream)
    def __del__(self):
        kept.append(self.array)
        if len(kept) % 3 == 0: kept.append(self)
kept = []
for _ in range(12):
    Node()
    gc.collect()
for one in kept:  # what was finalized and came back is refused
    node = one if isinstance(one, Node) else None
    for use in [lambda: (node.array if node else one).numpy(), lambda: node.ticket.wait(),
                lambda: node.ticket.done(), lambda: node.ticket.time_ns, lambda: node.spins.wait(),
                lambda: node.ticket.on_complete(print), lambda: add[1, 64](one, one, one, 64),
                lambda: add[1, 64].submit(ones, ones, ones, 64, stream=node.stream).wait(),
                lambda: node.stream.synchronize(), lambda: node.stream.close(wait=False)]:
        try:
            use()
        except (rawhal.RawhalError, AttributeError, TypeError):
            pass
class Loaded:
    def __init__(self):
        self.me, self.dev = self, opened()
        self.module = self.dev.load(PRINTF); self.kernel = self.module["printf_ids"]
    def __del__(self):
        back.append(self)
back = []
for _ in range(3):
    Loaded()
gc.collect()
for one in back:
    for use in [lambda: one.kernel[1, 4](*[None] * len(one.kernel.args)),
                lambda: one.module["printf_kinds"], lambda: one.module.kernel("printf_ids")]:
        try:
            use()
        except (rawhal.RawhalError, TypeError):
            pass
sys.late = Node()
for name in [name for name in sys.modules if name.startswith("rawhal")]:
    del sys.modules[name]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_ends_by_itself(name):
    files = [fixture(f"{one}-gfx90a-v5.co") for one in ("lines", "spin", "fault", "printf")]
    done = run(HEAD + PROGRAMS[name], *files, os.path.join(SOURCE, "tests"))
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "was done" not in done.stdout and "Fatal" not in done.stderr, done.stdout + done.stderr
