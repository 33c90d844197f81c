"""Timelines: the order of streams and of the host, what fails, and asyncio."""
import asyncio
import gc
import threading
import time

import numpy as np
import pytest

import rawhal
from conftest import run


def test_the_host(dev):
    one = dev.timeline(5, label="frames")
    assert (one.value, one.label) == (5, "frames") and "'frames'" in repr(one)
    assert one.reached(5) and not one.reached(6)
    with pytest.raises(rawhal.InvalidArgument):
        one.signal(5)
    with pytest.raises(rawhal.TimedOut):
        one.wait(6, timeout=0.01)
    with pytest.raises(rawhal.TimedOut):
        one.at(6).wait(0)
    threading.Timer(0.01, one.signal, [8]).start()
    assert one.wait(7) is one and one.value == 8
    assert one.at(8).done() and not one.at(9).done()
    for value in (-1, 1 << 64):
        with pytest.raises(rawhal.InvalidArgument):
            one.at(value)
        with pytest.raises(rawhal.InvalidArgument):
            dev.timeline(value)
    with pytest.raises(rawhal.InvalidArgument):
        dev.timeline(label="a\0b")
    one.label = None
    assert one.label is None


def test_streams_wait_for_what_is_signalled_later(dev, add):
    ones, x = dev.array(np.ones(64, "f4")), dev.zeros(64)
    ready, done = dev.timeline(), dev.timeline()
    with dev.stream() as first, dev.stream() as second:
        waits = second.wait_for(ready.at(1))
        after = add[1, 64].submit(x, x, ones, 64, stream=second)
        second.signal(done.at(1))
        assert not waits.done() and not after.done() and not done.reached(1)
        add[1, 64].submit(x, ones, ones, 64, stream=first)
        first.signal(ready.at(1), done.at(2))
        assert done.wait(2, timeout=20).value == 2
        assert waits.wait(20).done() and "a wait" in repr(waits)
        assert after.wait() and (x.numpy() == 3).all()


def test_what_can_never_happen_is_refused(dev):
    a, b = dev.timeline(), dev.timeline()
    with dev.stream() as first, dev.stream() as second:
        first.wait_for(a.at(1))
        first.signal(b.at(1))
        second.wait_for(b.at(1))
        with pytest.raises(rawhal.InvalidArgument):
            second.signal(a.at(1))
        with pytest.raises(rawhal.InvalidArgument):
            first.signal(b.at(1))
        with pytest.raises(TypeError):
            first.signal(a)
        a.signal(1)
    assert b.value == 1


def test_failures_are_told_and_streams_go_on(dev, add):
    ones, small, x = dev.array(np.ones(64, "f4")), dev.zeros(10), dev.zeros(64)
    ready, go = dev.timeline(), dev.timeline()
    with dev.stream(label="culprit") as first, dev.stream() as second:
        first.wait_for(go.at(1))  # so that the signal is there before the fault
        second.wait_for(ready.at(1))
        victim = add[1, 64].submit(x, ones, ones, 64, stream=second)
        broken = add[1, 64].submit(small, ones, ones, 64, stream=first)
        first.signal(ready.at(1))
        go.signal(1)
        with pytest.raises(rawhal.FaultError):
            ready.wait(1)
        with pytest.raises(rawhal.FaultError):
            victim.wait()
        with pytest.raises(rawhal.MemoryFault) as caught:
            broken.wait()
        assert caught.value.stream_label == "culprit"
        for stream in (first, second):  # with new queues
            add[1, 64](x, ones, ones, 64, stream=stream)
    ready = dev.timeline()
    with dev.stream() as stream:
        stream.wait_for(ready.at(3))
        victim = add[1, 64].submit(x, ones, ones, 64, stream=stream)
        ready.fail("no more frames")
        for told in (lambda: ready.wait(3), lambda: victim.wait(), lambda: ready.at(9).wait(1)):
            with pytest.raises(rawhal.RuntimeFailed, match="no more frames"):
                told()
        with pytest.raises(rawhal.RuntimeFailed):
            stream.wait_for(ready.at(3))
        add[1, 64](x, ones, ones, 64, stream=stream)
    assert not ready.reached(1)


def test_any_and_all(dev, add, wait_for, flag):
    ones, x = dev.array(np.ones(64, "f4")), np.zeros(64, "f4")
    timeline = dev.timeline()
    with dev.stream() as one, dev.stream() as two:
        runs = wait_for[1, 1].submit(flag, stream=one)
        ends = add[1, 64].submit(x, ones, ones, 64, stream=two)
        assert rawhal.wait_any(runs, ends, timeline.at(1)) == 1 and ends.done()
        assert (x == 2).all()  # it was written back
        assert rawhal.wait_any(runs, timeline.at(1), timeout=0.01) is None
        with pytest.raises(rawhal.TimedOut):
            rawhal.wait_all(runs, ends, timeout=0.01)
        timeline.signal(1)
        assert rawhal.wait_any(runs, timeline.at(1)) == 1
        flag[0] = 1
        rawhal.wait_all(runs, ends, timeline.at(1), timeout=20)
        assert runs.done()
        rawhal.wait_all()
    for wrong in [(), (3,)]:
        with pytest.raises((rawhal.InvalidArgument, TypeError)):
            rawhal.wait_any(*wrong)
    small = dev.zeros(10)
    with dev.stream() as stream:
        failed = add[1, 64].submit(small, ones, ones, 64, stream=stream)
        assert rawhal.wait_any(timeline.at(2), failed) == 1
        with pytest.raises(rawhal.MemoryFault):
            rawhal.wait_all(timeline.at(1), failed)


def test_asyncio(dev, add, wait_for, flag):
    ones, x, small = dev.array(np.ones(64, "f4")), np.zeros(64, "f4"), dev.zeros(10)
    timeline, steps = dev.timeline(), []

    async def runs(stream):
        ticket = wait_for[1, 1].submit(flag, stream=stream)
        steps.append("runs")
        assert await ticket is ticket and ticket.done()
        steps.append("ended")

    async def frees():
        while not steps:
            await asyncio.sleep(0)
        assert (await timeline.at(2)).value == 2
        steps.append("reached")
        flag[0] = 1

    async def all_of_it(stream):
        ticket = add[1, 64].submit(x, ones, ones, 64)
        await ticket
        assert (x == 2).all()
        await ticket  # again: it has ended
        both = asyncio.gather(runs(stream), frees())
        await asyncio.sleep(0.01)
        assert steps == ["runs"]
        timeline.signal(2)
        await asyncio.wait_for(both, 20)
        assert steps == ["runs", "reached", "ended"]
        with pytest.raises(rawhal.MemoryFault):
            await add[1, 64].submit(small, ones, ones, 64, stream=stream)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(_of(timeline.at(9)), 0.01)
        timeline.fail("enough")
        with pytest.raises(rawhal.RuntimeFailed, match="enough"):
            await timeline.at(9)

    async def _of(point):
        await point

    with dev.stream() as stream:
        asyncio.run(all_of_it(stream))


def test_a_stream_that_is_closed_fails_what_it_was_to_signal(dev, wait_for, flag):
    timeline = dev.timeline()
    stream = dev.stream()
    ticket = wait_for[1, 1].submit(flag, stream=stream)
    stream.signal(timeline.at(1))
    stream.close(wait=False)
    with pytest.raises(rawhal.RawhalError):
        timeline.wait(1)
    with pytest.raises(rawhal.Closed):
        ticket.wait()

    async def waits():
        await ticket

    with pytest.raises(rawhal.Closed):
        asyncio.run(waits())


def test_what_waits_keeps_the_timeline(dev, add):
    ones, x = dev.array(np.ones(64, "f4")), dev.zeros(64)
    timeline = dev.timeline()
    with dev.stream() as stream:
        stream.wait_for(timeline.at(1))
        ticket = add[1, 64].submit(x, ones, ones, 64, stream=stream)
        threading.Timer(0.01, timeline.signal, [1]).start()
        del timeline
        gc.collect()
        assert ticket.wait(20)


def test_an_interrupt_arrives_while_it_waits(dev):
    timeline, began = dev.timeline(), time.monotonic()

    import signal

    def handler(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            timeline.wait(1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 10


def test_the_interpreter_ends_with_anything_waiting():
    told = run("""
import rawhal
dev = rawhal.open(chip="gfx90a")
ready, stream = dev.timeline(), dev.stream()
stream.wait_for(ready.at(1))
stream.signal(dev.timeline().at(1))
print("done")
""", RAWHAL_DEVICE="softgpu")
    assert told.returncode == 0 and told.stdout == "done\n", told.stderr
