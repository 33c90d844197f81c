"""Arrays of the device's, pinned ones, and those of other libraries."""
import gc
import weakref

import numpy as np
import pytest

import rawhal


def test_values_go_there_and_back(dev):
    for values in [np.arange(12, dtype="i2").reshape(3, 4), np.float64(3), np.zeros((0, 4)),
                   [[1, 2], [3, 4]], np.arange(5)[::-1],
                   np.array([(1, 2.5)], [("a", "u1"), ("b", "f4")])]:
        array = dev.array(values)
        expected = np.asarray(values)
        assert (array.shape == expected.shape and array.dtype == expected.dtype
                and array.nbytes == expected.nbytes)
        assert (array.numpy().tobytes() == expected.tobytes()
                and np.asarray(array).tobytes() == expected.tobytes())
    assert dev.zeros((3, 5), "u1").numpy().tolist() == [[0] * 5] * 3
    assert dev.array([1, 2], "f4").dtype == "f4" and dev.array([7]).item() == 7


def test_views_are_numpys(dev):
    host = np.arange(2 * 3 * 5, dtype="i4").reshape(2, 3, 5)
    array = dev.array(host)
    keys = [0, -1, (1, 2), (1, 2, 3), slice(1, None), (Ellipsis, slice(None, None, -2)),
            (slice(None), None, 1), (0, Ellipsis), slice(5, 9),
            (slice(None), slice(2, 0, -1), slice(1, 4, 2))]
    for key in keys:
        assert array[key].numpy().tolist() == host[key].tolist(), key
        assert array[key].shape == np.shape(host[key])
    for key in keys:
        array[key] = host[key] = np.arange(np.size(host[key])).reshape(np.shape(host[key])) * 100
        assert (array.numpy() == host).all(), key
    array[:, 1] = -1
    array[1:, :, ::2] = array[:1, :, ::2]
    host[:, 1] = -1
    host[1:, :, ::2] = host[:1, :, ::2]
    assert (array.numpy() == host).all() and len(array) == 2
    assert array.reshape(5, 6)[4].numpy().tolist() == host.reshape(5, 6)[4].tolist()
    assert array.view("u4").numpy().dtype == "u4"
    for wrong in [lambda: array[[0, 1]], lambda: array[0.5], lambda: array[:, ::2].reshape(12),
                  lambda: array.reshape(7), lambda: array.view("u1"), lambda: array[9]]:
        with pytest.raises((TypeError, ValueError, IndexError)):
            wrong()


def test_memory_is_freed_with_the_last_view(dev):
    array = dev.empty(32 << 20, "u1")
    freed = weakref.ref(array.buffer)
    view = array[100:200][::2]
    del array
    assert freed() is not None
    view[:] = 5
    assert (view.numpy() == 5).all()
    del view
    assert freed() is None


def test_arrays_that_are_too_large(dev):
    with pytest.raises(rawhal.OutOfMemory):
        dev.empty(1 << 40, "u1")
    for shape in [1 << 62, (1 << 40, 1 << 40)]:
        with pytest.raises((MemoryError, OverflowError)):
            dev.empty(shape, "f8")
    for wrong in [-1, (2, -3), 1.5, "x"]:
        with pytest.raises((ValueError, TypeError)):
            dev.empty(wrong)
    with pytest.raises(TypeError):
        dev.empty(3, object)
    with pytest.raises(TypeError):
        dev.array([object()])


def test_pinned_arrays_are_used_in_place(dev, add):
    h = dev.pinned((4, 64))
    assert isinstance(h, np.ndarray) and h.dtype == "f4" and h.flags.writeable
    h[...] = 1
    row = h[2]
    ticket = add[1, 64].submit(row, h[0], h[1], 64)
    ticket.wait()
    assert (row == 2).all() and (h[3] == 1).all()
    with pytest.raises(rawhal.MemoryFault) as caught:  # its end is the array's
        add[1, 128](h[3], h[0], h[0], 128)
    assert (caught.value.access == "write" and caught.value.past_end == 0
            and caught.value.argument == "c")
    assert (dev.pinned(0).size == 0
            and dev.pinned((), [("x", "i8"), ("y", "u1")]).dtype.names == ("x", "y"))


def test_pinned_memory_lives_as_long_as_a_view_of_it(dev, add):
    h = dev.pinned(1000)
    last = h[10:20][::2]
    del h
    gc.collect()
    last[:] = 3
    assert dev.host_ranges.find(last.ctypes.data, 4) is not None
    del last
    gc.collect()
    before = len(dev.host_ranges._starts)
    other = dev.pinned(1000)
    assert len(dev.host_ranges._starts) == before + 1
    del other
    assert len(dev.host_ranges._starts) == before


def test_reading_waits_for_launches(dev, add):
    x, y = dev.array(np.ones(64, "f4")), dev.zeros(64)
    for _ in range(100):
        add[1, 64].submit(y, y, x, 64)
    assert (y.numpy() == 100).all()


def test_dlpack_out(dev):
    array = dev.array(np.arange(6, dtype="f4").reshape(2, 3))
    freed = weakref.ref(array.buffer)
    assert array.__dlpack_device__() == (10, 0)
    back = dev.from_dlpack(_Capsule(array[:, ::2]))
    assert back.numpy().tolist() == [[0, 2], [3, 5]]
    on_host = array.__dlpack__(dl_device=(1, 0))
    assert np.from_dlpack(_Host(on_host)).tolist() == [[0, 1, 2], [3, 4, 5]]
    for _ in range(3):
        array.__dlpack__()  # which nobody takes
    with pytest.raises(BufferError):
        array.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError):
        array.__dlpack__(dl_device=(1, 0), copy=False)
    copied = dev.from_dlpack(_Capsule(array, copy=True))
    array[...] = 0
    assert back.numpy().tolist() == [[0, 0], [0, 0]] and copied.numpy().max() == 5
    del array, on_host
    assert freed() is not None
    del back
    gc.collect()
    assert freed() is None


class _Capsule:
    """An array of a library that knows nothing but DLPack."""

    def __init__(self, array, **options):
        self.capsule, self.device = array.__dlpack__(**options), array.__dlpack_device__()

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self):
        return self.capsule


class _Host(_Capsule):
    def __init__(self, capsule):
        self.capsule, self.device = capsule, (1, 0)


def test_dlpack_in(dev, add):
    host = np.arange(6, dtype="f4")
    taken = dev.from_dlpack(host)
    host[:] = 0
    assert taken.numpy().tolist() == [0, 1, 2, 3, 4, 5]

    class Foreign:  # of another library, on the host
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **_):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return 1, 0

    out = np.zeros(6, "f4")
    add[1, 64](Foreign(out), Foreign(np.ones(6, "f4")), taken, 6)
    assert out.tolist() == [1, 2, 3, 4, 5, 6]


def test_what_software_is_not(dev):
    with pytest.raises(AttributeError, match="software"):
        dev.zeros(3).__cuda_array_interface__
    assert (not hasattr(dev.zeros(3), "__cuda_array_interface__")
            and not hasattr(dev.zeros(3), "__array_interface__"))
