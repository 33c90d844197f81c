"""Graphs: made by hand and captured, launched with other arguments, and what fails."""
import gc
import threading

import numpy as np
import pytest

import rawhal


@pytest.fixture
def ones(dev):
    return dev.array(np.ones(256, "f4"))


def test_captured_as_made_by_hand(dev, add, ones):
    y, z = dev.zeros(256), dev.zeros(256)
    with dev.stream() as stream, stream.capture() as captured:
        first = add[1, 256].labelled("first").submit(y, y, ones, 256, stream=stream)
        add[1, 256].bind(z, y, y, 256).submit(stream=stream)
    made = dev.graph()
    one = made.add(add[1, 256].labelled("first"), y, y, ones, 256)
    made.add(add[1, 256].bind(z, y, y, n=256), after=[one])
    assert not y.numpy().any() and len(captured) == len(made) == 2
    assert (first.number, first.label) == (0, "first") and "'first'" in repr(first)
    assert [node.launch for node in captured.nodes] == [node.launch for node in made.nodes]
    captured_exec, made_exec = captured.instantiate(), made.instantiate(dev.default_stream)
    assert captured_exec.packets == made_exec.packets == 2
    for step, exec in enumerate((captured_exec, made_exec), 1):
        ticket = exec.launch().wait()
        assert (y.numpy() == step).all() and (z.numpy() == 2 * step).all()
        assert ticket.time_ns > 0 and "a graph of 2" in repr(ticket)


def test_any_stream_and_many_at_once(dev, add, ones):
    y = dev.zeros(256)
    graph = dev.graph()
    for _ in range(5):
        graph.add(add[1, 256], y, y, ones, 256)
    exec = graph.instantiate()
    del graph
    with dev.stream(label="a") as a:
        tickets = [exec.launch(stream=a) for _ in range(100)]
        del exec
        gc.collect()
        tickets[-1].wait()
    assert (y.numpy() == 500).all()


def test_other_arguments_and_grids_for_one_launch(dev, add, ones):
    y, other, twos = dev.zeros(256), dev.zeros(256), dev.array(np.full(256, 2, "f4"))
    graph = dev.graph()
    node = graph.add(add[1, 256], y, ones, ones, 256)
    last = graph.add(add[1, 64], other, ones, ones, 64)
    exec = graph.instantiate()
    exec.launch({node: {"b": twos, 3: 100}}).wait()
    assert (y.numpy()[:100] == 3).all() and not y.numpy()[100:].any()
    exec.launch({node: {0: other}, last: {"c": y, "n": 256}}, grids={last: 4}).wait()
    assert (y.numpy() == 2).all() and (other.numpy() == 2).all()
    other[...] = 0
    exec.launch().wait()  # as it was made
    assert (y.numpy() == 2).all() and not other.numpy()[64:].any()
    host = np.full(256, 5, "f4")
    exec.launch({node: {"a": host, "c": other}}).wait()  # which is only read: copied now
    assert (other.numpy()[64:] == 6).all() and (y.numpy() == 2).all()
    gone = weak = dev.array(np.ones(256, "f4"))
    ticket = exec.launch({node: {"a": weak}})  # is kept until it is complete
    del gone, weak
    gc.collect()
    ticket.wait()
    for wrong in (lambda: exec.launch({node: {"d": 3}}), lambda: exec.launch({node: {4: 3}}),
                  lambda: exec.launch({3: {}}), lambda: exec.launch(grids={node: 0}),
                  lambda: exec.launch(grids={node: 1 << 30}),
                  lambda: exec.launch({node: {"c": np.zeros(256, "f4")}}),
                  lambda: exec.launch({dev.graph().add(add[1, 1], y, y, y, 1): {"n": 3}})):
        with pytest.raises(rawhal.InvalidArgument):
            wrong()
    with pytest.raises(TypeError):
        exec.launch({node: {"n": 1.5}})


def test_what_is_not_ordered_and_barriers(dev, add, ones, wait_for, flag):
    y = dev.zeros(256)
    graph = dev.graph()
    a = graph.add(add[1, 256], y, ones, ones, 256, after=())
    waits = graph.add(wait_for[1, 1], flag, after=())
    both = graph.barrier("both", after=(a, waits))
    graph.add(add[1, 256], y, y, ones, 256, after=[both])
    assert "a barrier 'both'" in repr(both)
    with pytest.raises(rawhal.InvalidArgument):
        graph.add(add[1, 256], y, y, ones, 256, after=[dev.graph().barrier()])
    with pytest.raises(rawhal.InvalidArgument):
        graph.instantiate().launch({both: {"n": 1}})
    for _ in range(3):
        flag[0] = 0
        ticket = graph.instantiate().launch()
        threading.Timer(0.01, lambda: flag.__setitem__(0, 1)).start()
        ticket.wait(20)
        assert flag[0] == 1 and (y.numpy() == 3).all()


def test_what_cannot_be_in_a_graph(dev, add, ones):
    host, y = np.zeros(256, "f4"), dev.zeros(256)
    timeline = dev.timeline()
    with pytest.raises(rawhal.InvalidArgument):
        dev.graph().instantiate()  # of no nodes
    with pytest.raises(rawhal.InvalidArgument, match="copied back"):
        dev.graph().add(add[1, 256], host, ones, ones, 256)
    with pytest.raises(TypeError):
        dev.graph().add(add[1, 256].bind(y, ones, ones, 256), y)
    with pytest.raises(rawhal.RawhalError):
        dev.graph().add(add[1, 4096], y, ones, ones, 256)
    with dev.stream() as stream, stream.capture() as graph:
        for wrong in (lambda: add[1, 256](y, ones, ones, 256, stream=stream),
                      lambda: add.launch(1, 256, bytes(28), stream=stream),
                      lambda: stream.wait_for(timeline.at(1)),
                      lambda: stream.signal(timeline.at(1)),
                      lambda: stream.capture().__enter__()):
            with pytest.raises(rawhal.InvalidArgument, match="captured"):
                wrong()
        add[1, 256](y, ones, ones, 256)  # on another stream
        assert len(graph) == 0
    assert stream.graph is None


def test_a_node_that_fails_is_named(dev, add, ones):
    small, y = dev.zeros(10), dev.zeros(256)
    graph = dev.graph()
    graph.add(add[1, 256].labelled("layer 1"), y, ones, ones, 256)
    node = graph.add(add[1, 256].labelled("layer 2"), y, small, ones, 256)
    graph.add(add[1, 256].labelled("layer 3"), y, ones, ones, 256)
    exec = graph.instantiate()
    with dev.stream(label="decode") as stream:
        ticket = exec.launch(stream=stream)
        with pytest.raises(rawhal.MemoryFault) as caught:
            ticket.wait()
        assert (caught.value.label, caught.value.stream_label) == ("layer 2", "decode")
        assert caught.value.argument == "a"
        exec.launch({node: {"a": ones}}, stream=stream).wait()  # with a new queue
    assert (y.numpy() == 2).all()


def test_with_pools_and_timelines(dev, add, ones):
    done = dev.timeline()
    with dev.pool(budget=1 << 20) as pool, dev.stream() as stream:
        x, y = pool.array(np.ones(256, "f4"), stream=stream), pool.empty(256, stream=stream)
        graph = dev.graph()
        graph.add(add[1, 256], y, x, x, 256)
        exec = graph.instantiate(stream)
        exec.launch(stream=stream)
        stream.signal(done.at(1))
        assert done.wait(1, timeout=20) and (y.numpy() == 2).all()
        pool.free(y, stream)
        with pytest.raises(rawhal.Closed):
            exec.launch(stream=stream)
        node = graph.nodes[0]
        with pytest.raises(rawhal.Closed):
            exec.launch({node: {"c": ones}}, stream=stream)  # it keeps what it was made with


def test_copies_fills_and_timelines(dev, add, ones):
    x, y, z = dev.zeros(256), dev.zeros((2, 128)), dev.zeros(4, "u2")
    go, done = dev.timeline(), dev.timeline()
    graph, host = dev.graph(), np.arange(256, dtype="f4")
    waits = graph.wait_for(go.at(1), label="go")
    graph.copy(x, host)
    host[...] = 0  # it was copied
    graph.add(add[1, 256], x, x, ones, 256)
    copied = graph.copy(y, x, label="out")
    graph.fill(z[1:3], 7)
    ends = graph.signal(done.at(1))
    assert "a copy 'out'" in repr(copied) and "a wait 'go'" in repr(waits)
    exec = graph.instantiate()
    for step in range(1, 4):
        y[...], z[...] = 0, 0
        ticket = exec.launch(points={waits: go.at(step), ends: [done.at(step)]})
        assert not ticket.done() and not done.reached(step)
        go.signal(step)
        assert done.wait(step, timeout=20)
        ticket.wait(20)
        assert (y.numpy().reshape(-1) == np.arange(256) + 1).all()
        assert z.numpy().tolist() == [0, 7, 7, 0]
    with pytest.raises(rawhal.InvalidArgument, match="has reached"):
        exec.launch()
    with dev.pool(budget=1 << 20) as pool:
        from_pool = pool.array(np.full(256, 3, "f4"))
        other = dev.graph()
        other.copy(x, from_pool)
        other.instantiate().launch().wait()
        assert (x.numpy() == 3).all()
    wide = dev.zeros((4, 4))
    for wrong in (lambda: graph.copy(x, z), lambda: graph.copy(wide[:, :2], wide[:, 2:]),
                  lambda: graph.copy(np.zeros(4), x), lambda: graph.wait_for(),
                  lambda: exec.launch(points={copied: go.at(9)}),
                  lambda: exec.launch(points={waits: [go.at(9), go.at(10)]}),
                  lambda: exec.launch({waits: {"n": 1}})):
        with pytest.raises(rawhal.InvalidArgument):
            wrong()
    with pytest.raises(TypeError):
        graph.signal(3)
