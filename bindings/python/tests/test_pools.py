"""Pools: memory in the order of streams."""
import gc
import threading

import numpy as np
import pytest

import rawhal


@pytest.fixture
def pool(dev):
    with dev.pool(budget=1 << 20, slab=1 << 20, label="tests") as made:
        yield made


def test_arrays_are_as_others(dev, add, pool):
    x = pool.array(np.arange(300, dtype="f4"), label="x")
    y, z = pool.zeros((3, 100)), pool.empty(300)
    assert (x.shape, y.shape, z.dtype) == ((300,), (3, 100), np.dtype("f4"))
    assert not y.numpy().any()
    add[2, 256](z, x, x, 300)
    assert (z.numpy() == 2 * np.arange(300)).all()
    z[10:20] = 5
    assert (z.numpy()[10:20] == 5).all() and z.numpy()[20] == 40
    y[1] = x[100:200].numpy()
    assert (y.numpy()[1] == np.arange(100, 200)).all() and not y.numpy()[0].any()
    info = pool.info
    assert info.allocations == 3 and info.used >= 3600 and info.budget == 1 << 20
    assert info.slabs == 1 and info.reserved >= info.used and "3 arrays" in repr(pool)
    addresses = sorted((one.data_ptr(), one.nbytes) for one in (x, y, z))
    assert all(a + n <= b for (a, n), (b, _) in zip(addresses, addresses[1:]))
    del x, y, z
    gc.collect()
    assert pool.info.allocations == 0


def test_freed_in_the_order_of_a_stream(dev, add, pool, wait_for, flag):
    ones = dev.array(np.ones(64, "f4"))
    with dev.stream() as stream, dev.stream() as other:
        first = pool.empty(64, stream=stream)
        address = first.data_ptr()
        wait_for[1, 1].submit(flag, stream=stream)
        used = add[1, 64].submit(first, ones, ones, 64, stream=stream)
        pool.free(first, stream)  # which has not run yet
        second = pool.empty(64, stream=stream)
        assert second.data_ptr() == address and pool.info.reused_allocations == 1
        elsewhere = pool.empty(64, stream=other)
        assert elsewhere.data_ptr() != address
        after = add[1, 64].submit(second, ones, ones, 64, stream=stream)
        assert not used.done()
        for gone in (lambda: first.numpy(), lambda: add[1, 64](first, ones, ones, 64),
                     lambda: pool.free(first, stream), lambda: first[3:]. copy_from(1)):
            with pytest.raises(rawhal.Closed):
                gone()
        flag[0] = 1
        assert (second.numpy() == 2).all() and after.done()  # waits for who had it before


def test_another_stream_waits_for_who_had_it_before(dev, add, pool, wait_for, flag):
    ones = dev.array(np.ones(64, "f4"))
    with dev.stream() as stream, dev.stream() as other:
        first = pool.empty(64, stream=stream)
        wait_for[1, 1].submit(flag, stream=stream)
        add[1, 64].submit(first, ones, ones, 64, stream=stream)
        pool.free(first, stream)
        second = pool.empty(64, stream=stream)
        threading.Timer(0.02, lambda: flag.__setitem__(0, 1)).start()
        ticket = add[1, 64].submit(second, second, ones, 64, stream=other)
        assert flag[0] == 1  # submitting waited
        ticket.wait()
        pool.free(second, stream)


def test_the_budget_is_held_and_memory_is_waited_for(dev, add, pool, wait_for, flag):
    with pytest.raises(rawhal.OutOfMemory):
        pool.empty(1 << 20, "f4")
    most = pool.empty((1 << 20) - 4096, "u1")
    with pytest.raises(rawhal.OutOfMemory):
        pool.empty(1 << 18, "u1")
    with dev.stream() as stream:
        wait_for[1, 1].submit(flag, stream=stream)
        pool.free(most, stream)
        with pytest.raises(rawhal.TimedOut):  # on another stream: it is in use
            pool.empty(1 << 19, "u1", timeout=0.01)
        threading.Timer(0.02, lambda: flag.__setitem__(0, 1)).start()
        again = pool.empty(1 << 19, "u1", timeout=20)
        assert again.nbytes == 1 << 19
    assert pool.info.peak_reserved <= 1 << 20
    before = dev.memory[1]
    assert pool.trim() == 0  # it is in use
    del again
    gc.collect()
    assert pool.trim() == pool.info.peak_reserved and pool.info.reserved == 0
    assert dev.memory[1] >= before


def test_what_outlives_what(dev, add):
    ones = dev.array(np.ones(64, "f4"))
    with dev.pool() as pool:
        x = pool.zeros(64)
    with pytest.raises(rawhal.Closed):
        pool.empty(3)
    stream = dev.stream()
    y = pool_of = None
    with dev.pool(label="other") as pool_of:
        y = pool_of.empty(64, stream=stream)
        add[1, 64].submit(y, ones, ones, 64, stream=stream)
        with pytest.raises(rawhal.InvalidArgument):
            pool_of.free(x)
        with pytest.raises(rawhal.InvalidArgument):
            pool_of.free(ones)
    del pool, pool_of
    gc.collect()
    add[1, 64](x, ones, x, 64)
    assert (x.numpy() == 1).all() and (y.numpy() == 2).all()
    stream.close()
    del stream
    gc.collect()
    assert (y.numpy() == 2).all()
    del x, y  # of a queue that is gone
    gc.collect()


def test_a_fault_names_the_pool(dev, add, pool):
    large, small = dev.empty(1 << 19, "f4"), pool.empty(10)
    with dev.stream() as stream, pytest.raises(rawhal.MemoryFault) as caught:
        add[2048, 256](large, small, small, 1 << 19, stream=stream)
    # Which of the work-groups beyond the end is the first is not said.
    assert caught.value.past_end >= 0 and caught.value.causes[0].label == "tests"
    assert (pool.zeros(3).numpy() == 0).all()


def test_wrong_calls(dev, pool):
    for wrong in (lambda: dev.pool(budget=0), lambda: dev.pool(budget=-1),
                  lambda: dev.pool(slab=1 << 63), lambda: dev.pool(label="a\0b"),
                  lambda: dev.pool(budget=1 << 20, slab=1 << 21), lambda: pool.trim(-1),
                  lambda: pool.empty(3, label="a\0b")):
        with pytest.raises(rawhal.InvalidArgument):
            wrong()
    assert pool.empty(0).numpy().size == 0


def test_threads(dev, add):
    ones, failures = dev.array(np.ones(64, "f4")), []

    def work(pool, number):
        with dev.stream() as stream:
            for i in range(30):
                x = pool.empty(64, stream=stream)
                add[1, 64].submit(x, ones, ones, 64, stream=stream)
                add[1, 64].submit(x, x, ones, 64, stream=stream)
                if i % 3 == 0 and not (x.numpy() == 3).all():
                    failures.append((number, i))
                pool.free(x, stream)

    with dev.pool(budget=1 << 20, slab=1 << 18) as pool:
        threads = [threading.Thread(target=work, args=(pool, i)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures and pool.info.allocations == 0
        assert pool.info.total_allocations == 90
