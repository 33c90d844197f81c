"""Traces: facts of launches, and the file for Perfetto."""
import gc
import json
import threading
import weakref

import numpy as np
import pytest

import rawhal
from conftest import run


def test_each_launch_in_order(dev, add):
    ones, y = dev.array(np.ones(512, "f4")), dev.zeros(512)
    with dev.trace() as trace, dev.stream() as other:
        assert len(trace) == 0
        first = add[2, 256](y, ones, ones, 512)
        assert trace[0].state == "complete" and trace[0].instructions == first.instructions
        for _ in range(2):
            add[4, 64, 128].submit(y, ones, ones, 256, stream=other)
    add[1, 64](y, ones, ones, 64)  # is not in it
    assert len(trace) == 3 and [one.kernel for one in trace] == ["vector_add"] * 3
    one, two, three = trace
    assert (one.grid, one.block, one.lds_bytes) == ((2, 1, 1), (256, 1, 1), 0)
    assert (two.grid, two.block, two.lds_bytes) == ((4, 1, 1), (64, 1, 1), 128)
    assert one.stream == dev.default_stream.number != two.stream == three.stream == other.number
    assert one.ticket == first._record.number[0] and (two.ticket, three.ticket) == (1, 2)
    assert first.times_ns == (one.start_ns, one.end_ns) and one.time_ns == first.time_ns > 0
    assert three.start_ns >= two.end_ns and two.instructions == three.instructions > 10
    assert trace[1:] == [two, three] and trace[-1] == three and "3 launches" in repr(trace)
    with pytest.raises(IndexError):
        trace[3]
    with pytest.raises(AttributeError):
        one.kernel = "another"


def test_labels(dev, add, tmp_path):
    x = dev.zeros(64)
    with dev.trace() as trace, dev.stream(label="decode") as stream:
        add[1, 64].labelled("layer 3")(x, x, x, 64, stream=stream)
        add[1, 64](x, x, x, 64, stream=stream)
        stream.label = "prefill \x1b"
        add[1, 64].labelled("a").labelled(None).submit(x, x, x, 64, stream=stream)
        blob = bytes(add.layout.size)
        add.launch(1, 64, blob, stream=stream, label="by hand")
    assert [(one.label, one.stream_label) for one in trace] == [
        ("layer 3", "decode"), (None, "decode"), (None, "prefill \x1b"),
        ("by hand", "prefill \x1b")]
    trace.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())
    assert any(one["args"].get("name", "").endswith("'prefill \\x1b'") for one in events)
    assert [one["args"].get("label") for one in events if one["ph"] == "X"] == [
        "layer 3", None, None, "by hand"]


def test_facts_of_more_than_a_queue_keeps(dev, add):
    x = dev.zeros(64)
    with dev.trace() as trace:
        for _ in range(700):
            add[1, 64].submit(x, x, x, 64)
    assert [one.ticket for one in trace] == list(range(trace[0].ticket, trace[0].ticket + 700))
    assert all(one.state == "complete" and one.time_ns > 0 for one in trace)
    assert len({one.instructions for one in trace}) == 1 and trace[0].instructions


def test_what_fails(dev, add):
    small, x = dev.zeros(10), dev.zeros(64)
    with dev.trace() as trace:
        add[1, 64](x, x, x, 64)
        with pytest.raises(rawhal.MemoryFault):
            add[1, 64](small, x, x, 64)
        add[1, 64](x, x, x, 64)
        with pytest.raises(rawhal.RawhalError):
            add[1, 4096](x, x, x, 64)  # was never submitted
    assert [one.state for one in trace] == ["complete", "failed", "complete"]
    assert (trace[1].instructions, trace[1].start_ns, trace[1].time_ns) == (None, None, None)
    ticket = None
    with dev.trace() as trace:  # whose fault is told to others
        ticket = add[1, 64].submit(small, x, x, 64)
    assert trace[0].state == "failed"
    with pytest.raises(rawhal.MemoryFault):
        ticket.wait()


def test_nested_and_threads(dev, add):
    x = dev.zeros(64)

    def work():
        y = dev.zeros(64)
        for _ in range(20):
            add[1, 64](y, y, y, 64)

    with dev.trace() as outer:
        add[1, 64](x, x, x, 64)
        with dev.trace() as inner:
            threads = [threading.Thread(target=work) for _ in range(4)]
            [one.start() for one in threads]
            [one.join() for one in threads]
        add[1, 64](x, x, x, 64)
        with pytest.raises(rawhal.InvalidArgument, match="begun before"):
            inner.__enter__()
    assert (len(inner), len(outer)) == (80, 82) and list(inner) == outer[1:-1]
    assert not dev.observers and all(one.state == "complete" for one in outer)


def test_an_exception_waits_for_nothing(dev, spin, flag):
    with dev.stream() as stream:
        with pytest.raises(ZeroDivisionError):
            with dev.trace() as trace:
                ticket = spin[1, 1].submit(flag, stream=stream)
                1 / 0
        assert trace[0].state == "running" and trace[0].end_ns is None and not dev.observers
        flag[0] = 1
        ticket.wait()
        assert trace[0].state == "complete" and trace[0].end_ns
        flag[0] = 0
        with dev.trace() as trace:
            ticket = spin[1, 1].submit(flag, stream=stream)
            stream.abandon()
        assert trace[0].state == "failed"


def test_it_keeps_nothing_that_a_launch_used(dev, add):
    x = dev.zeros(64)
    seen = weakref.ref(x.buffer)
    with dev.trace() as trace:
        add[1, 64](x, x, x, 64)
        add[1, 64](*(dev.zeros(64) for _ in range(3)), 64)
    del x
    gc.collect()
    assert seen() is None and len(trace) == 2


def test_a_file_as_rawhal_exec_writes_it(dev, add, tmp_path):
    x = dev.zeros(64)
    with dev.trace() as trace, dev.stream() as other:
        add[1, 64](x, x, x, 64)
        add[1, 64](x, x, x, 64, stream=other)
    path = tmp_path / "launches.json"
    trace.save(path)
    names, events = [], []
    for line in path.read_text().splitlines()[1:-1]:  # whole lines, each an event
        one = json.loads(line.rstrip(","))
        (events if one["ph"] == "X" else names).append(one)
    assert len(json.loads(path.read_text())) == len(names) + len(events) == 5
    assert "this machine's processors" in names[0]["args"]["name"]
    assert [one["args"]["name"] for one in names[1:]] == [f"stream {one.stream}" for one in trace]
    first, second = events
    assert first["ts"] == 0 and first["dur"] == trace[0].time_ns / 1e3
    assert first["cat"] == "dispatch"
    assert second["ts"] == (trace[1].start_ns - trace[0].start_ns) / 1e3
    assert first["args"] == {"work_items": [64, 1, 1], "workgroup": [64, 1, 1], "group_bytes": 0,
                             "instructions": trace[0].instructions, "ticket": trace[0].ticket,
                             "measured": True}
    with pytest.raises(FileExistsError):
        trace.save(path)
    done = run("import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (9, 9))\n"
               "import rawhal; dev = rawhal.open(chip='gfx90a', options={'vram_mib': 256})\n"
               "with dev.trace() as trace: pass\n"
               "try: trace.save(sys.argv[1])\n"
               "except OSError as error: print(error.errno)", str(tmp_path / "full.json"))
    assert done.stdout == "27\n" and not (tmp_path / "full.json").exists(), done.stderr


def test_recorded_and_traced(dev, add, tmp_path):
    x = dev.zeros(64)
    for order in (0, 1):
        both = (dev.trace(), dev.record(tmp_path / str(order)))
        one, other = both[order], both[1 - order]
        with one, other:
            add[1, 64](x, x, x, 64)
        assert len(both[0]) == both[1].dispatches == 1 and both[0][0].state == "complete"
