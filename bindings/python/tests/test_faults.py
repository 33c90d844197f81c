"""Faults, as exceptions with what is known of them; and what works after one."""
import numpy as np
import pytest

import rawhal
from conftest import fixture


@pytest.fixture(scope="module")
def faults(dev):
    return dev.load(fixture("fault-gfx90a-v5.co"))


@pytest.fixture(scope="module")
def mistakes(dev):
    return dev.load(fixture("mistakes-gfx90a-v5.co"))


def test_an_overrun_has_argument_lanes_and_line(add):
    a, b, c = np.ones(1024, "f4"), np.ones(1030, "f4"), np.zeros(2048, "f4")
    with pytest.raises(rawhal.MemoryFault) as caught:
        add[5, 256](c, a, b, 1100)
    fault = caught.value
    assert ((fault.kernel, fault.argument, fault.access, fault.size, fault.past_end)
            == ("vector_add", "a", "read", 4, 0))
    assert fault.program == (4, 0, 0) and fault.wave == 0 and fault.lanes == list(range(64))
    assert fault.instruction.startswith("global_load_dword ") and fault.address > 0
    assert fault.source[:2] == ("src/lines.cl", 9) and fault.source.text == "float x = a[i];"
    assert (fault.kind == "memory access fault" and fault.causes[0].nbytes == 4096
            and fault.causes[0].kind == "out of bounds")
    assert ("'a'" in str(fault) and "src/lines.cl:9" in str(fault)
            and isinstance(fault, rawhal.FaultError))
    assert not c.any()  # nothing is copied back


def test_labels_of_launches_and_streams(dev, add):
    x, small = dev.zeros(64), dev.zeros(10)
    with dev.stream(label="decode") as stream:
        for label, name in (("layer 3", "decode"), (None, "decode"), ("last", None)):
            with pytest.raises(rawhal.MemoryFault) as caught:
                add[1, 64].labelled(label)(small, x, x, 64, stream=stream)
            fault = caught.value
            assert (fault.label, fault.stream_label) == (label, name)
            assert ("'layer 3'" in str(fault)) == (label == "layer 3")
            if label is None:  # the queues are new ones, which are named, too
                stream.label = None
        assert stream.label is None
    for wrong in (lambda: add[1, 64].labelled("a\0b"), lambda: dev.stream(label="a\0b"),
                  lambda: add.launch(1, 1, b"", label="\0")):
        with pytest.raises(rawhal.InvalidArgument, match="label has a NUL"):
            wrong()


def test_before_the_start_and_labels(dev, mistakes):
    x = dev.zeros(16, "u4", label="the ledger")
    with pytest.raises(rawhal.MemoryFault) as caught:
        mistakes["store_at"][1, 1](x, -3, 7)
    assert (caught.value.past_end == -12 and caught.value.access == "write"
            and "the ledger" in str(caught.value))
    assert caught.value.causes[0].label == "the ledger" and caught.value.source is None


def test_names_of_typed_kernels_are_told(dev, mistakes):
    store = mistakes["store_at"].typed("ledger:*u32 where:i64 what:u32")
    with pytest.raises(rawhal.MemoryFault) as caught:
        store[1, 1](dev.zeros(16, "u4"), 16, 7)
    assert caught.value.argument == "ledger" and "'ledger'" in str(caught.value)


def test_each_kind_has_its_class(dev, faults, mistakes):
    out = dev.zeros(16, "u4")
    for kind, kernel, arguments in [
            (rawhal.LdsFault, faults["fault_lds_store"], (out, 1 << 17)),
            (rawhal.ScratchFault, faults["fault_scratch"], (out, 1 << 20)),
            (rawhal.MemoryFault, faults["fault_atomic"], (out, 2)),
            (rawhal.AssertFailed, faults["fault_trap"], (1,)),
            (rawhal.IllegalInstruction, mistakes["not_code"], (out,)),
            (rawhal.IllegalInstruction, mistakes["go_to"], (4096,))]:
        dev.options.update(lds=True)
        with pytest.raises(kind) as caught:
            kernel[1, 1](*arguments)
        assert caught.value.kernel == kernel.name
    dev.options.update(lds=False)
    assert (out.numpy() <= 1).all()


def test_checks_may_be_turned_on_and_off(dev):
    checks = dev.load(fixture("lds_checks-gfx90a-v5.co"))
    race, unwritten = checks["lds_race"], checks["lds_unwritten"]
    give = lambda kernel: [  # noqa: E731
        dev.zeros(4096, "u4") if one.is_pointer else 0 for one in kernel.args]
    found = {}
    for kernel, option in [(race, "races"), (unwritten, "lds")]:
        for value in range(4):
            arguments = [value if isinstance(one, int) else one for one in give(kernel)]
            dev.options.update(races=False, lds=False)
            kernel[1, 256](*arguments)
            dev.options.update(**{option: True})
            try:
                kernel[1, 256](*arguments)
            except rawhal.LdsFault as fault:
                found[option] = fault
            except rawhal.UninitializedRead as fault:
                found[option] = fault
    dev.options.update(races=False, lds=False)
    assert (isinstance(found["races"], rawhal.RaceFault)
            and isinstance(found["lds"], rawhal.UninitializedRead))
    assert not isinstance(found["lds"], rawhal.RaceFault)


def test_reads_of_memory_that_was_not_written(dev, add):
    dev.options.update(memory=True)
    x, y = dev.empty(64), dev.empty(64)
    y[:63] = 1
    dev.options.update(memory=False)
    add[1, 64](x, y[:63], y[:63], 63)
    dev.options.update(memory=True)
    add[1, 64](dev.empty(64), x, y, 63)
    with pytest.raises(rawhal.UninitializedRead) as caught:
        add[1, 64](dev.empty(64), x, y, 64)
    dev.options.update(memory=False)
    assert (caught.value.access == "read" and caught.value.argument == "a"
            and caught.value.lanes == [63])


def test_time_limits(dev, spin):
    flag = dev.zeros(1, "u4")
    dev.options.update(timeout=0.05)
    with pytest.raises(rawhal.Timeout) as caught:
        spin[1, 1](flag)
    dev.options.update(timeout=20)
    assert caught.value.kernel == "spin" and isinstance(caught.value, TimeoutError)
    with pytest.raises(rawhal.TimedOut):
        spin[1, 1](flag, timeout=0.05)  # which stops it
    flag[...] = 1
    spin[1, 1](flag)


def test_all_that_has_not_finished_fails_and_the_stream_goes_on(dev, add, faults, spin, flag):
    x, y = dev.array(np.ones(64, "f4")), dev.zeros(64)
    with dev.stream() as stream:
        first = add[1, 64].submit(y, x, x, 64, stream=stream)
        spin[1, 1].submit(flag, stream=stream)
        bad = faults["fault_store"][1, 1].submit(x.view("u4"), 5000, 7, stream=stream)
        later = add[1, 64].submit(y, y, x, 64, stream=stream)
        flag[0] = 1
        with pytest.raises(rawhal.MemoryFault, match="fault_store"):
            later.wait()
        with pytest.raises(rawhal.MemoryFault, match="fault_store") as again:
            bad.wait()
        assert again.value is not bad.exception() and bad.done() and later.done()
        first.wait()
        assert (y.numpy() == 2).all()
        add[1, 64](y, y, x, 64, stream=stream)
        assert (y.numpy() == 3).all()


def test_the_next_launch_tells_of_a_fault_that_nobody_waited_for(dev, add, faults):
    x, y = dev.array(np.ones(64, "f4")), dev.zeros(64)
    with dev.stream() as stream:
        ticket = faults["fault_store"][1, 1].submit(x.view("u4"), 5000, 7, stream=stream)
        queue = stream._queue
        with pytest.raises(rawhal.MemoryFault, match="fault_store"):
            while True:
                add[1, 64].submit(y, y, x, 64, stream=stream)
        assert stream._queue is queue and ticket.done()
        assert (x.numpy() == 1).all()  # who has been told is not told again
        add[1, 64](x, x, x, 64, stream=stream)
        assert (x.numpy() == 2).all()


def test_a_fault_that_nobody_waited_for_is_told_by_the_array(dev, faults):
    x = dev.zeros(4, "u4")
    faults["fault_store"][1, 1].submit(x, 5000, 7)
    with pytest.raises(rawhal.MemoryFault):
        x.numpy()
    assert x.numpy().tolist() == [0, 0, 0, 0]  # once


def test_errors_are_pythons_own_as_well(dev):
    assert (issubclass(rawhal.InvalidArgument, ValueError)
            and issubclass(rawhal.NotFound, LookupError))
    assert issubclass(rawhal.OutOfMemory, MemoryError) and issubclass(rawhal.TimedOut, TimeoutError)
    with pytest.raises(rawhal.RawhalError) as caught:
        dev.load(b"\x7fELF")
    assert caught.value.status in ("MALFORMED", "UNSUPPORTED") and str(caught.value)
    with pytest.raises(rawhal.InvalidArgument, match="no_such"):
        dev.options.update(no_such=1)
