"""Streams, tickets, callbacks, printing, and shares."""
import threading
import time

import numpy as np
import pytest

import rawhal
from conftest import fixture, run


def test_streams_are_not_ordered_and_tickets_are_asked(dev, add, spin, flag):
    x, y = dev.array(np.ones(64, "f4")), dev.zeros(64)
    with dev.stream(priority="high") as slow, \
            dev.stream(priority="low", compute_units=range(8)) as other:
        waiting = spin[1, 1].submit(flag, stream=slow)
        behind = add[1, 64].submit(y, y, x, 64, stream=slow)
        add[1, 64](y, x, x, 64, stream=other)
        assert not waiting.done() and not behind.done() and "running" in repr(behind)
        with pytest.raises(rawhal.TimedOut):
            behind.wait(timeout=0.02)
        flag[0] = 1
        behind.wait()
        assert waiting.done() and (y.numpy() == 3).all()
        begun, ended = waiting.times_ns
        assert (0 < begun < ended and behind.times_ns[0] >= ended
                and waiting.time_ns == ended - begun)
    with pytest.raises(rawhal.Closed):
        add[1, 64](y, x, x, 64, stream=slow)


def test_instructions_are_counted_and_the_same_each_time(dev, add):
    x, y = dev.array(np.ones(64, "f4")), dev.zeros(64)
    one, other, twice = (add[grid, 64](y, x, x, 64).instructions for grid in (1, 1, 2))
    assert 10 < one == other < twice <= 2 * one


def test_closing_stops_what_runs(dev, spin, add):
    flag = dev.zeros(1, "u4")
    stream = dev.stream()
    ticket = spin[1, 1].submit(flag, stream=stream)
    found = []
    waits = threading.Thread(target=lambda: found.append(pytest.raises(rawhal.Closed, ticket.wait)))
    waits.start()
    stream.close(wait=False)
    waits.join(10)
    assert found and ticket.done() and isinstance(ticket.exception(), rawhal.Closed)
    assert flag.numpy().tolist() == [0]
    with pytest.raises(rawhal.Closed):
        stream._submit(None, None, "", False, None)


def test_dropping_a_stream_stops_it_and_frees_its_memory(dev, spin):
    from rawhal.queues import _in_flight

    before = dict(_in_flight)
    stream = dev.stream()
    spin[1, 1].submit(dev.zeros(1, "u4"), stream=stream)
    assert len(_in_flight) == len(before) + 1
    del stream
    assert _in_flight.keys() == before.keys()


def test_exceptions_that_are_kept_keep_no_queue_running(dev, add, spin):
    from rawhal.queues import _in_flight

    before, kept = dict(_in_flight), []
    stream = dev.stream()
    ticket = spin[1, 1].submit(dev.zeros(1, "u4"), stream=stream)
    for fails in [lambda: add[1, 2048](None, None, None, 0, stream=stream),
                  lambda: ticket.wait(timeout=0), lambda: stream.synchronize(timeout=0.01)]:
        try:
            fails()
        except rawhal.RawhalError as error:
            kept.append(error)  # with the frames that it has left
    assert len(_in_flight) == len(before) + 1 and len(kept) == 3
    stream.close(wait=False)
    assert _in_flight.keys() == before.keys()


def test_rings_that_are_full_wait(dev, add):
    x, y = dev.array(np.ones(64, "f4")), dev.zeros(64)
    with dev.stream() as stream:
        bound = add[1, 64].bind(y, y, x, 64)
        tickets = [bound.submit(stream=stream) for _ in range(1500)]
        tickets[-1].wait()
        assert len(stream._queue.in_flight) < 1500 and all(ticket.done() for ticket in tickets)
    assert (y.numpy() == 1500).all()


def test_threads_share_a_stream(dev, add):
    one = dev.array(np.ones(64, "f4"))
    sums = [dev.zeros(64) for _ in range(4)]

    def work(mine):
        for _ in range(50):
            add[1, 64](mine, mine, one, 64)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in sums]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((mine.numpy() == 50).all() for mine in sums)


def test_callbacks_come_once_and_their_exceptions_are_told(dev, add, monkeypatch):
    told, called, ended = [], [], threading.Event()
    monkeypatch.setattr(threading, "excepthook", told.append)
    x = dev.array(np.ones(64, "f4"))
    host = np.zeros(64, "f4")

    def fails(ticket):
        raise KeyError(ticket.kernel)

    ticket = add[1, 64].submit(host, x, x, 64)
    ticket.on_complete(fails)
    ticket.on_complete(lambda one: (called.append((one.done(), host.sum())), ended.set()))
    assert ended.wait(10) and called == [(True, 128)]
    ticket.on_complete(lambda one: called.append("again"))  # of what has ended: at once
    assert called[1:] == ["again"] and [one.exc_type for one in told] == [KeyError]
    failing = dev.load(fixture("fault-gfx90a-v5.co"))["fault_store"][1, 1].submit(
        x.view("u4"), 5000, 7)
    ended.clear()
    failing.on_complete(lambda one: (called.append(one.exception()), ended.set()))
    assert ended.wait(10) and isinstance(called[-1], rawhal.MemoryFault)


def test_what_kernels_print_goes_where_python_prints(dev, capsys):
    kernels = dev.load(fixture("printf-gfx90a-v5.co"))
    out = np.zeros(64, "i4")
    kernels["printf_ids"][1, 4](*[out if one.is_pointer else 4
                                  for one in kernels["printf_ids"].args])
    assert capsys.readouterr().out.count("\n") == 4
    heard = []
    with dev.stream(output=lambda stream, text: heard.append((stream, text))) as stream:
        kernels["printf_ids"][1, 4](*[out if one.is_pointer else 4
                                      for one in kernels["printf_ids"].args], stream=stream)
        fatal = dev.load(fixture("fault-gfx90a-v5.co"))["fault_trap"]
        kernels["printf_ids"][1, 2].submit(stream=stream)
        with pytest.raises(rawhal.AssertFailed) as caught:
            fatal[1, 1](1, stream=stream)
        assert caught.value.text == "item 1" and len(heard) == 6
        del heard[4:]
    assert (len(heard) == 4 and {stream for stream, _ in heard} == {"stdout"}
            and capsys.readouterr().out == "")


class Late(BaseException):
    """What a handler of a signal's raises, as pytest-timeout's does."""


def late(_number, _frame):
    raise Late


@pytest.mark.parametrize("name, raised", [("SIGINT", KeyboardInterrupt), ("SIGUSR2", Late)])
def test_interrupts_arrive_within_a_slice(dev, spin, add, name, raised):
    import signal

    number = getattr(signal, name)
    before = signal.getsignal(number)
    if raised is Late:
        signal.signal(number, late)
    flag = dev.zeros(1, "u4")
    main = threading.get_ident()
    began = time.monotonic()

    def interrupt():
        while not any(one.facts.name == "spin" and one.number[0]
                      for one in list(dev.default_stream._queue.in_flight)):
            time.sleep(0.001)
        signal.pthread_kill(main, number)

    add[1, 1](None, None, None, 0)
    helper = threading.Thread(target=interrupt)
    helper.start()
    with pytest.raises(raised):
        spin[1, 1](flag)  # whose time limit is 20 s
    helper.join()
    signal.signal(number, before)
    assert time.monotonic() - began < 10
    flag[...] = 1
    spin[1, 1](flag)  # on a new queue


SHARES = """
import rawhal, numpy as np, sys
dev = rawhal.open(chip="gfx90a", options={"threads": 1, "vram_mib": 64},
                  limits={"memory": "16MiB", "gpu-share": "100%"})
assert dev.limited
add = dev.load(sys.argv[1])["vector_add"]
x, y = dev.array(np.ones(64, "f4")), dev.zeros(64)
with dev.stream(share="30%") as some, dev.stream(share=0.5) as more:
    for _ in range(5):
        add[1, 64](y, y, x, 64, stream=some)
        add[1, 64](y, y, x, 64, stream=more)
assert (y.numpy() == 10).all()
for wrong in ["0%", "130%", "x", -1]:
    try:
        dev.stream(share=wrong)
    except rawhal.InvalidArgument as error:
        print(error)
try:
    dev.empty(20 << 20, "u1")
except rawhal.QuotaExceeded as error:
    print("quota", error)
"""


def test_shares_and_quotas(dev):
    with pytest.raises(rawhal.InvalidArgument, match="limits="):
        dev.stream(share="30%")
    done = run(SHARES, fixture("vector_add-gfx90a-v5.co"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 5 and "quota" in done.stdout
