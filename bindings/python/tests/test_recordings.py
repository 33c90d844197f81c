"""Recordings: `rawhal replay` launches them again, and finds the same."""
import gc
import os
import re
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import rawhal
from conftest import SOURCE, fixture, run


def replay(path, *options):
    """What `rawhal replay` says, and its exit status: 0 where all is the same."""
    done = subprocess.run([sys.executable, "-m", "rawhal", "replay", *options, str(path)],
                          capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def listed(path):
    status, said = replay(path, "--list")
    assert status == 0, said
    return said.splitlines()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "launches.rec"


def test_what_was_launched_is_launched_again(dev, add, path):
    a, b, c = np.arange(300, dtype="f4"), np.ones(300, "f4"), np.zeros(300, "f4")
    x, y, h = dev.array(a), dev.zeros(300), dev.pinned(300)
    with dev.record(path) as recording:
        counted = add[2, 256](c, a, b, 300).instructions
        add[2, 256](y, x, x, 300)
        add[2, 256](h, y, x, 300)
        assert "3 dispatches, open" in repr(recording)
    add[2, 256](y, x, x, 100)  # is not in it
    assert (c == a + b).all() and (h == 3 * a).all() and counted == add[2, 256](c, a, b,
                                                                              300).instructions
    assert (recording.dispatches, recording.objects, recording.noted) == (3, 1, 0)
    assert "closed" in repr(recording) and recording.failure is None
    lines = listed(path)
    assert len(lines) == 4 and lines[3].endswith("closed")
    for number, buffers in enumerate((3, 2, 3), 1):
        status, said = replay(path, "--kernel", str(number))
        assert status == 0 and re.search(rf"same +{1200 * buffers} bytes of {buffers} buf", said)


def test_a_replay_notices_what_is_not_the_same(dev, add, path):
    """Of which the tests above live: what the file has after a launch is what it left there."""
    y = dev.zeros(64)
    with dev.record(path):
        add[1, 64](y, dev.array(np.full(64, 1.5, "f4")), dev.zeros(64), 64)
    data = bytearray(path.read_bytes())
    assert data.count(np.full(64, 1.5, "f4").tobytes()) == 2  # a, and then c
    status, said = replay(path)
    assert status == 0 and "same" in said
    data[data.rindex(np.full(64, 1.5, "f4").tobytes())] ^= 1
    path.write_bytes(data)
    assert replay(path)[0] == 3  # damage is one more thing that is noticed


def test_the_replay_of_an_overrun_faults(dev, add, path):
    x, y = dev.zeros(250), dev.zeros(256)
    with pytest.raises(rawhal.MemoryFault) as told:
        with dev.record(path) as recording:
            add[1, 256](y, x, y, 256)
    assert told.value.argument == "a" and recording.failure is None
    lines = listed(path)
    assert "before: 2 buffers, 2024 bytes" in lines[0] and "after" not in lines[0]
    status, said = replay(path)
    assert status == 3 and "FAULT" in said and "global_load_dword" in said, said


def test_one_runs_at_a_time_in_whatever_stream(dev, add, path):
    ones, y = dev.array(np.ones(1 << 16, "f4")), dev.zeros(1 << 16)
    out = np.zeros(64, "f4")
    with dev.stream() as one, dev.stream() as other:
        before = add[256, 256].submit(y, ones, y, 1 << 16, stream=one)  # is not in it
        with dev.record(path) as recording:
            for stream in (one, other, one, other):
                last = add[256, 256].submit(y, ones, y, 1 << 16, stream=stream)
            add[1, 64].submit(out, ones, y, 64, stream=one)
        assert before.done() and last.done() and (out == 6).all() and (y.numpy() == 5).all()
    assert (recording.dispatches, recording.noted) == (5, 0)
    for number in (1, 4, 5):
        assert replay(path, "--kernel", str(number))[0] == 0


def test_threads(dev, add, path):
    wrong = []

    def work(index):
        a, c = np.full(64, index, "f4"), np.zeros(64, "f4")
        for _ in range(5):
            add[1, 64](c, a, a, 64)
            if not (c == 2 * index).all():
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    with dev.record(path) as recording:
        [one.start() for one in threads]
        [one.join() for one in threads]
    assert not wrong and (recording.dispatches, recording.noted) == (20, 0)
    assert all("after: 2 buffers" in line for line in listed(path)[:20])


def test_an_exception_ends_it(dev, add, path):
    x = dev.zeros(64)
    with pytest.raises(ZeroDivisionError):
        with dev.record(path):
            add[1, 64](x, x, x, 64)
            1 / 0
    assert not dev.observers and listed(path)[1].endswith("closed") and replay(path)[0] == 0
    add[1, 64](x, x, x, 64)


def test_a_wrong_launch_is_refused_as_ever_and_leaves_nothing(dev, add, path):
    x = dev.zeros(64)
    with dev.record(path) as recording:
        for grid, block in ((1, 2048), ((1 << 31, 1, 1), 1024)):
            with pytest.raises(rawhal.RawhalError):
                add[grid, block](x, x, x, 64)
        assert recording.dispatches == 0
        add[1, 64](x, x, x, 64)
    assert recording.dispatches == 1 and recording.failure is None


def test_one_at_a_time(dev, add, path, tmp_path):
    x = dev.zeros(64)
    with dev.record(path) as recording:
        with pytest.raises(rawhal.InvalidArgument, match="launches.rec"):
            with dev.record(tmp_path / "other.rec"):
                pass
        assert not (tmp_path / "other.rec").exists()
        add[1, 64](x, x, x, 64)
        with pytest.raises(rawhal.InvalidArgument, match="begun before"):
            recording.__enter__()
    with pytest.raises(rawhal.InvalidArgument, match="begun before"):
        with recording:
            pass
    assert recording.dispatches == 1 and replay(path)[0] == 0


def test_files_that_cannot_be(dev, path, tmp_path):
    path.write_text("precious")
    for name, kind in ((path, rawhal.InvalidArgument), (tmp_path / "no" / "x", rawhal.NotFound)):
        with pytest.raises(kind):
            with dev.record(name):
                pass
    assert path.read_text() == "precious" and not dev.observers
    with pytest.raises(ValueError, match="^path has a NUL"):
        dev.record("a\0b")
    for size in (0, -1, 1 << 63):
        with pytest.raises(ValueError, match="max_bytes"):
            dev.record(tmp_path / "x", max_bytes=size)


def test_a_file_that_is_full_disturbs_no_launch(dev, add, path):
    x = dev.array(np.ones(1 << 12, "f4"))
    y = dev.zeros(1 << 12)
    with pytest.raises(rawhal.CapExceeded):
        with dev.record(path, max_bytes=60000) as recording:
            for index in range(5):
                y[...] = index
                add[16, 256](y, x, y, 1 << 12)
                assert (y.numpy() == index + 1).all()
            assert isinstance(recording.failure, rawhal.CapExceeded)
    assert os.path.getsize(path) <= 60000 and replay(path, "--kernel", "1")[0] == 0
    os.unlink(path)
    with pytest.raises(ZeroDivisionError):  # what the block raises comes first
        with dev.record(path, max_bytes=60000) as recording:
            for index in range(5):
                y[...] = index
                add[16, 256](y, x, y, 1 << 12)
            1 / 0
    assert isinstance(recording.failure, rawhal.CapExceeded)


def test_what_is_too_large_for_the_file_is_left_out(dev, add, path):
    x = dev.zeros(1 << 12)
    with dev.record(path, max_bytes=12000) as recording:
        add[16, 256](x, x, x, 1 << 12)
    assert recording.noted == 1 and "large" in "".join(listed(path))
    assert replay(path)[0] == 3


def test_without_buffers(dev, add, spin, path, flag):
    x = dev.zeros(64)
    with dev.stream() as stream, dev.record(path, buffers=False) as recording:
        waits = spin[1, 1].submit(flag, stream=stream)
        add[1, 64](x, x, x, 64)  # waits for nothing
        assert not waits.done()
        flag[0] = 1
    assert waits.done() and recording.dispatches == 2
    lines = listed(path)
    assert "spin" in lines[0] and "before" not in lines[0] and replay(path, "--kernel", "2")[0] == 3


def test_a_device_that_is_dropped_stays_until_the_end(path):
    done = run("""
import gc, sys, numpy as np, rawhal
dev = rawhal.open(chip="gfx90a", options={"vram_mib": 256})
add = dev.load(sys.argv[1])["vector_add"]
x = dev.zeros(64)
with dev.record(sys.argv[2]) as recording:
    add[1, 64].submit(x, x, x, 64)
    del dev, add, x
    gc.collect()
print(recording.dispatches)
""", fixture("lines-gfx90a-v5.co"), str(path))
    assert done.stdout == "1\n", done.stderr
    assert replay(path)[0] == 0


def test_it_keeps_nothing_when_it_has_ended(dev, add, path):
    x = dev.zeros(64)
    seen = weakref.ref(x.buffer)
    with dev.record(path) as recording:
        add[1, 64](x, x, x, 64)
        dev.default_stream.synchronize()
    del x
    dev.zeros(1).numpy()
    add[1, 64](dev.zeros(64), dev.zeros(64), dev.zeros(64), 64)
    gc.collect()
    assert seen() is None and recording.dispatches == 1


def test_streams_that_are_stopped(dev, spin, add, path):
    flag, x = dev.zeros(1, "u4"), dev.zeros(64)
    with dev.record(path) as recording:
        stream = dev.stream()
        ticket = spin[1, 1].submit(flag, stream=stream)
        stream.close(wait=False)
        assert isinstance(ticket.exception() or ticket.done() and ticket.exception(),
                          rawhal.Closed)
        add[1, 64](x, x, x, 64)
    assert recording.failure is None
    lines = listed(path)
    assert "after" not in lines[0] and "after: 1 buffers" in lines[1]


def test_ctrl_c_ends_a_launch_and_the_recording(path):
    """Also one that waits for another launch to end."""
    done = run("""
import _thread, sys, threading, time, numpy as np, rawhal
dev = rawhal.open(chip="gfx90a", timeout=50, options={"vram_mib": 256})
spin = dev.load(sys.argv[1])["spin"]
for both in (False, True):
    threading.Timer(0.3, _thread.interrupt_main).start()
    stream, begun = dev.stream(), time.monotonic()
    try:
        with dev.record(sys.argv[2] + str(both)):
            if both:
                spin[1, 1].submit(dev.zeros(1, "u4"), stream=stream)
            spin[1, 1](dev.zeros(1, "u4"))
    except KeyboardInterrupt:
        print(time.monotonic() - begun < 20)
    stream.close(wait=False)
""", fixture("spin-gfx90a-v5.co"), str(path))
    assert done.stdout == "True\nTrue\n", done.stderr
    for name in (f"{path}False", f"{path}True"):
        lines = listed(name)
        assert len(lines) == 2 and "after" not in lines[0] and lines[1].endswith("closed")


def test_a_disk_that_is_full(path):
    done = run("""
import resource, sys, numpy as np, rawhal
dev = rawhal.open(chip="gfx90a", options={"vram_mib": 256})
add = dev.load(sys.argv[1])["vector_add"]
ones, y = dev.array(np.ones(4096, "f4")), dev.zeros(4096)
resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))
try:
    with dev.record(sys.argv[2]) as recording:
        for index in range(5):
            y[...] = index
            add[16, 256](y, ones, y, 4096)
            assert (y.numpy() == index + 1).all()
        print(type(recording.failure).__name__)
except rawhal.RuntimeFailed as error:
    print(error)
""", fixture("lines-gfx90a-v5.co"), str(path))
    told, why = done.stdout.splitlines()
    assert told == "RuntimeFailed" and "File too large" in why, done.stderr
    assert os.path.getsize(path) <= 60000 and replay(path, "--kernel", "1")[0] == 0


def test_a_child_of_fork_leaves_the_file_alone(path):
    done = run("""
import os, sys, numpy as np, rawhal
sys.path.insert(0, sys.argv[3])
from child import forked
dev = rawhal.open(chip="gfx90a", options={"vram_mib": 256})
add = dev.load(sys.argv[1])["vector_add"]
x = dev.zeros(64)
def child():
    try:
        add[1, 64](x, x, x, 64)
    except rawhal.DeviceLost:
        return 7  # and the end of the block comes here, too
with dev.record(sys.argv[2]) as recording:
    add[1, 64](x, x, x, 64)
    print(os.waitstatus_to_exitcode(forked(child)))
    add[1, 64](x, x, x, 64)
print(recording.dispatches)
""", fixture("lines-gfx90a-v5.co"), str(path), os.path.join(SOURCE, "tests"))
    assert done.stdout == "7\n2\n", done.stdout + done.stderr
    assert len(listed(path)) == 3 and replay(path, "--kernel", "2")[0] == 0


def test_two_devices_at_once(tmp_path):
    done = run("""
import sys, numpy as np, rawhal
ones = np.ones(64, "f4")
def use(dev):
    out = np.zeros(64, "f4")
    dev.load(rawhal.demo_object(dev.name))["vector_add"][1, 64](out, ones, ones, 64)
    assert (out == 2).all()
one, other = rawhal.open_all(["gfx90a", "gfx942"], options={"vram_mib": 256})
with one.record(sys.argv[1] + "/one"), other.record(sys.argv[1] + "/other") as second:
    use(one), use(other), use(other)
print(second.dispatches)
""", str(tmp_path))
    assert done.stdout == "2\n", done.stderr
    for name, chip, number in (("one", "gfx90a", 1), ("other", "gfx942", 2)):
        assert f"amdgcn-amd-amdhsa--{chip}" in listed(tmp_path / name)[0]
        status, said = replay(tmp_path / name, "--kernel", str(number))
        assert status == 0 and chip in said and "recorded on" not in said, said


def test_what_prints_is_noted(dev, path, capsys):
    kernel = dev.load(fixture("printf-gfx90a-v5.co"))["printf_ids"]
    out = np.zeros(64, "u4")
    with dev.record(path) as recording:
        kernel[1, 4](*[out if one.is_pointer else 4 for one in kernel.args])
    assert recording.noted == 1 and capsys.readouterr().out
    assert "service" in "".join(listed(path))
