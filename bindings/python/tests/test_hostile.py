"""What a hostile program, or a clumsy one, does to the binding: an exception that says why, and
nothing else happens."""
import mmap
import os
import signal

import numpy as np
import pytest

import rawhal
from conftest import fixture, run


@pytest.fixture(scope="module")
def loaded(dev):
    return lambda name, kernel: dev.load(fixture(f"{name}-gfx90a-v5.co"))[kernel]


def test_masks_are_no_indices(dev):
    x = dev.array(np.arange(4, dtype="f4"))
    for wrong in (True, False, (..., True), (0, False), np.bool_(True), [0, 1], 1.5, "0"):
        with pytest.raises(TypeError):
            x[wrong]


def test_what_was_writeable_when_it_was_launched_is_written_back(add, spin, flag):
    """Nor does an array that changed meanwhile spoil the launches after it."""
    ones = np.ones(64, "f4")
    for shape in ((64,), (8, 16)):  # the second has gaps
        flag[0] = 0
        out = np.zeros(shape, "f4")
        view = out if len(shape) == 1 else out[:, :8]
        spin[1, 1].submit(flag)
        ticket = add[1, 64].submit(view, ones, ones, 8)
        view.flags.writeable = False
        flag[0] = 1
        ticket.wait()
        assert out.sum() == 16 and view.reshape(-1)[:8].sum() == 16
        add[1, 64](np.zeros(64, "f4"), ones, ones, 64)


def test_classes_of_arrays_do_not_say_where_memory_is(add):
    class Liar(np.ndarray):
        shape, nbytes, strides = (1 << 40,), 1 << 50, (1 << 30,)

        def __setitem__(self, *_):
            raise ZeroDivisionError

    out, ones = np.zeros(64, "f4").view(Liar), np.ones(64, "f4").view(Liar)
    add[1, 64](out, ones, ones, 64)
    assert (np.asarray(out) == 2).all()
    masked = np.ma.masked_array(np.zeros(64, "f4"), mask=True)
    add[1, 64](masked, ones, ones, 64)
    assert (masked.data == 2).all()


def test_numbers_of_the_other_order_of_bytes(dev, loaded):
    store = loaded("fault", "fault_store")
    out = np.zeros(4, "u4")
    store[1, 1](out, np.array(2, ">i8"), np.array(7, ">u4"))
    assert out.tolist() == [0, 0, 7, 0]
    with pytest.raises(TypeError, match=">u4"):
        store[1, 1](np.zeros(4, ">u4"), 2, 7)
    with pytest.raises(TypeError, match=">u4"):
        store.typed("out:*void index:i64 value:u32")[1, 1](np.zeros(4, ">u4"), 2, 7)


def test_compute_units_by_any_iterable(dev, add):
    x = dev.zeros(64)
    with dev.stream(compute_units=iter(range(4))) as stream:
        add[1, 64](x, x, x, 64, stream=stream)
    for wrong in ([-1], [3, 1 << 40]):
        with pytest.raises(rawhal.InvalidArgument, match="compute units"):
            dev.stream(compute_units=wrong)


def test_forever_is_a_time(dev, add, spin, flag):
    x = dev.zeros(64)
    for forever in (float("inf"), 1e300):
        add[1, 64](x, x, x, 64, timeout=forever)
        add.launch(1, 64, bytes(add.layout.size), timeout=forever).wait(forever)
        dev.default_stream.synchronize(forever)
    with pytest.raises(ValueError):
        add[1, 64].submit(x, x, x, 64).wait(float("nan"))
    with dev.stream() as stream:
        waiting = spin[1, 1].submit(flag, stream=stream)
        with pytest.raises(rawhal.TimedOut):
            waiting.wait(-float("inf"))
        flag[0] = 1


def test_output_may_ask_about_launches(dev, add, loaded):
    printing, ones = loaded("printf", "printf_ids"), np.ones(64, "f4")
    arguments = [np.zeros(64, "i4") if one.is_pointer else 4 for one in printing.args]
    heard, tickets, asked = [], [], []

    def output(_stream, text):
        heard.append(text)
        for ask in (tickets[0].done, tickets[0].wait, stream.synchronize):
            asked.append(ask())
        add[1, 64].submit(np.zeros(64, "f4"), ones, ones, 64, stream=stream)

    with dev.stream(output=output) as stream:
        tickets.append(printing[1, 4].submit(*arguments, stream=stream))
        tickets[0].wait(timeout=20)
    assert len(heard) == 4 and len(asked) == 12


def test_sources_that_are_no_files(dev, tmp_path):
    """An object names its sources, and what it names may wait forever."""
    from rawhal.lines import LineTable

    os.mkdir(tmp_path / "src")
    os.mkfifo(tmp_path / "src" / "lines.cl")
    with open(fixture("lines-gfx90a-v5.co"), "rb") as file:
        table = LineTable(file.read(), str(tmp_path))

    def late(*_):
        raise AssertionError("it waits for a writer")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        found = table.find(table._rows[0][0])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert found.line > 0 and found.text == ""


def test_copies_of_what_the_library_made(dev, add, monkeypatch):
    import copy
    import sys

    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    x = dev.array([1.0])
    assert copy.copy(x).item() == 1
    for one in (x, add, dev, dev.default_stream):
        with pytest.raises(TypeError):
            copy.deepcopy(one)
    assert not ignored


LATE = """
import ctypes, os, sys, threading, numpy as np
import rawhal
os.chdir("/")  # what is imported later is found all the same
dev = rawhal.open(chip="gfx90a", options={"threads": 1, "vram_mib": 64})
from rawhal.dlpack import _Managed, _pointer, _set_name
class Consumer:
    def __init__(self, capsule):
        self.tensor = _Managed.from_address(_pointer(capsule, b"dltensor"))
        _set_name(capsule, b"used_dltensor")
        self.byref = ctypes.byref
    def __del__(self):
        self.tensor.deleter(self.byref(self.tensor))
x = dev.array(np.ones(64, "f4"))
for late in (sys, threading, np, os):  # which end in their own order
    late.capsule, late.consumer = x.__dlpack__(), Consumer(x.__dlpack__())
del x
"""


def test_consumers_that_let_go_after_the_module(dev, tmp_path):
    prefix = os.environ["RAWHAL_PY_PREFIX"]
    done = run(LATE, RAWHAL_PY_PREFIX=os.path.relpath(prefix))
    assert (done.returncode, done.stderr) == (0, "")


def test_arguments_may_have_any_name(dev, add):
    x, y = dev.array(np.ones(64, "f4")), dev.zeros(64)
    add.typed("self:*f32 args:*f32 kwargs:*f32 class:u32")[1, 64](
        **{"self": y, "args": x, "kwargs": x, "class": 64})
    assert (y.numpy() == 2).all()
    for wrong in (5, "0", x):
        with pytest.raises(TypeError, match="stream is a"):
            add[1, 64](y, x, x, 64, stream=wrong)


NAMES = """
import rawhal, sys
data = open(sys.argv[1], "rb").read()
one, other = (rawhal.inspect(data.replace(b"vector_add", name))
              for name in ("v\\u00e9ctor_ad".encode(), b"vector_\\xff\\xfe\\x80"))
print(ascii([*one.diff(other).added, *one.diff(other).removed, *one.kernels, *other.kernels]))
"""


def test_names_in_a_locale_without_them():
    done = run(NAMES, fixture("lines-gfx90a-v5.co"), LC_ALL="C", PYTHONUTF8="0",
               PYTHONCOERCECLOCALE="0")
    assert done.stdout.count("v\\xe9ctor_ad") == 2, done.stderr


def test_handlers_may_launch_while_a_queue_is_made(dev, add, monkeypatch):
    import threading

    from rawhal import streams

    x, y, inside = dev.array(np.ones(64, "f4")), dev.zeros(64), []

    class Interrupted(streams.Queue):
        def __init__(self, *arguments):
            if not inside:
                inside.append(None)
                # what a signal's handler does
                inside.append(add[1, 64].submit(y, y, x, 64, stream=stream))
            super().__init__(*arguments)

    monkeypatch.setattr(streams, "Queue", Interrupted)
    stream, ended = dev.stream(), []
    thread = threading.Thread(target=lambda: (add[1, 64](y, y, x, 64, stream=stream),
                                              ended.append(True)), daemon=True)
    thread.start()
    thread.join(20)
    assert ended and inside[1].wait() and (y.numpy() == 2).all()


def test_messages_are_those_of_their_own_call(monkeypatch):
    from rawhal import _library

    def fails(data):
        return _library.made("rawhal_hsaco_t", _library.lib.rawhal_hsaco_open, data, len(data),
                             _library.NULL)

    def interrupted(status, error, failure=_library.failure):
        monkeypatch.undo()
        with pytest.raises(rawhal.Malformed, match="0 bytes"):
            fails(b"")  # what a signal's handler does
        return failure(status, error)

    monkeypatch.setattr(_library, "failure", interrupted)
    with pytest.raises(rawhal.RawhalError) as told:
        fails(b"no ELF at all" * 100)
    assert "(0 bytes)" not in str(told.value)


def test_memory_that_cannot_be_written_is_not_mapped(dev):
    """A kernel's store there would end the process."""
    with mmap.mmap(-1, 8192, prot=mmap.PROT_READ) as pages:
        with pytest.raises(rawhal.RawhalError, match="host memory"):
            dev.map_host(np.frombuffer(pages, "u1").ctypes.data, 4096)
