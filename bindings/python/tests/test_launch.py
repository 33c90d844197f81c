"""Launches: arguments in, results out, and what is refused before it is submitted."""
import ctypes

import numpy as np
import pytest

import rawhal
from conftest import fixture


@pytest.fixture
def abc():
    return np.arange(1000, dtype="f4"), np.full(1000, 0.5, "f4"), np.zeros(1000, "f4")


def test_numpy_is_copied_in_and_back(add, abc):
    a, b, c = abc
    ticket = add[4, 256](c=c, a=a, b=b, n=1000)
    assert (c == a + b).all() and ticket.done() and ticket.time_ns > 0


def test_arguments_by_position_and_of_numpys_types(add, abc):
    a, b, c = abc
    add[(4,), (256, 1)](c, a, b=b, n=np.uint32(500))
    assert (c[:500] == a[:500] + b[:500]).all() and not c[500:].any()


def test_arrays_that_share_memory_share_it_on_the_device(add):
    whole = np.arange(64, dtype="f4")
    add[1, 32](c=whole[16:48], a=whole[16:48], b=whole[:32], n=32)  # in place, with an overlap
    assert (whole[16:48] == np.arange(16, 48) + np.arange(32)).all() or whole[16] == 16
    assert whole[:16].tolist() == list(range(16)) and whole[48:].tolist() == list(range(48, 64))


def test_strided_arrays_keep_their_bytes(add, abc):
    a, b, _ = abc
    pairs = np.zeros((1000, 2), "f4")
    pairs[:, 1] = 7
    add[1, 256](c=pairs[:128], a=a, b=b, n=256)
    assert (pairs.reshape(-1)[:256] == a[:256] + b[:256]).all() and (pairs[128:, 1] == 7).all()


def test_read_only_arrays_can_be_read(add, abc):
    _, b, c = abc
    add[1, 64](c=c, a=np.frombuffer(bytes(4 * 64), "f4"), b=b, n=64)
    assert (c[:64] == 0.5).all()


def test_a_result_that_cannot_be_written_stays(add, abc):
    a, b, c = abc
    c.setflags(write=False)
    add[1, 64](c=c, a=a, b=b, n=64)
    assert not c.any()


def test_what_does_not_fit_is_named(add, abc):
    a, b, c = abc
    for error, words, arguments in [
            (TypeError, "argument 1 'a': an array of float64", (c, a.astype("f8"), b, 1)),
            (OverflowError, "argument 3 'n': 4294967296 does not fit", (c, a, b, 2**32)),
            (TypeError, "argument 3 'n': a float", (c, a, b, 1.5)),
            (TypeError, "argument 2 'b': a int", (c, a, 4096, 1)),
            (TypeError, "missing arguments: n", (c, a, b)),
            (TypeError, "takes 4 arguments, 5", (c, a, b, 1, 2)),
            (OverflowError, "argument 3 'n'", (c, a, b, np.uint64(2**40))),
            (TypeError, "argument 3 'n': a number of type float32", (c, a, b, np.float32(1))),
            (TypeError, "argument 3 'n': a number of type <U1", (c, a, b, np.array("s")))]:
        with pytest.raises(error, match=words):
            add[1, 64](*arguments)
    with pytest.raises(TypeError, match="no argument 'm'"):
        add[1, 64](c, a, b, n=1, m=2)
    with pytest.raises(TypeError, match="'c' was given twice"):
        add[1, 64](c, a, b, c=1, n=1)
    assert not c.any()


def test_geometry_is_checked(add):
    for geometry in [(0, 1), (1, 0), (1, 2, -1), (1, (1, 1, 1, 1)), (1, 70000), (1.5, 1), 4]:
        with pytest.raises((TypeError, ValueError, OverflowError)):
            add[geometry](None, None, None, 0)
    with pytest.raises(rawhal.OutOfRange, match="the kernel allows 256"):
        add[1, 2048](None, None, None, 0)


def test_typed_signatures_check_types_and_shapes(add, abc):
    a, b, c = abc
    typed = add.typed("out:*f32[n] x:*const f32[n], y:*const f32 n:u32")
    typed[4, 256](out=c, x=a, y=b, n=1000)
    assert (c == a + b).all()
    for error, words, arguments in [
            (ValueError, r"'out': the shape is \(1000,\); it must be \(n\), with n=10",
             (c, a, b, 10)),
            (TypeError, "'y': an array of uint8", (c, a, b.view("u1"), 1000)),
            (OverflowError, "'n': -1 does not fit u32", (c, a, b, -1))]:
        with pytest.raises(error, match=words):
            typed[4, 256](*arguments)
    for wrong in ["c:*f32", "c:*f32 a:*f32 b:*f32 n:u64", "c:u64 a:*f32 b:*f32 n:u32",
                  "c:*f32 c:*f32 b:*f32 n:u32", "c:*float a:*f32 b:*f32 n:u32", "c f32",
                  "c:f32[3] a:*f32 b:*f32 n:u32"]:
        with pytest.raises(rawhal.InvalidArgument):
            add.typed(wrong)


def test_objects_without_names_take_types(dev):
    store = dev.load(fixture("bare-gfx90a-v5.co"))
    assert "bare_store" in store
    with pytest.raises(rawhal.Unsupported, match="bare_store"):
        store["bare_store"]


def test_structures_by_value(dev):
    many = dev.load(fixture("many_args-gfx90a-v5.co"))["many_args"]
    assert str(many.signature).startswith("flag:u8 rgb:4B out:*u32 record:24B half_bits:u16 "
                                          "scratchpad:4B")
    values = {one.name: bytes(one.size) if one.kind == "by_value" else None for one in many.args}
    values.update({"out": np.zeros(64, "u4"), "in": np.full(64, 9, "u4"), "scratchpad": 0,
                   "flag": 3, "last": np.uint8(5)})
    values["rgb"] = (ctypes.c_uint8 * 4)(1, 2, 3, 0)
    values["blob"] = np.arange(27, dtype="u4")
    many[1, 1, 64](**values)
    assert values["out"].any()
    for name, wrong in [("rgb", (ctypes.c_uint8 * 3)()), ("record", bytes(23)),
                        ("record", object()), ("blob", 1)]:
        with pytest.raises((TypeError, ValueError), match=name):
            many[1, 1, 64](**{**values, name: wrong})


def test_bound_launches_may_be_repeated(dev, add):
    x, y, z = dev.array(np.ones(64, "f4")), dev.array(np.ones(64, "f4")), dev.zeros(64)
    bound = add[1, 64].bind(z, z, y, 64)
    for _ in range(5):
        bound.submit()
    assert (z.numpy() == 5).all() and (x.numpy() == 1).all()


def test_blobs_are_launched_as_they_are(dev, add):
    x = dev.array(np.arange(64, dtype="f4"))
    layout = add.layout
    assert [(one.name, one.offset, one.size, one.kind) for one in layout.visible] == [
        ("c", 0, 8, "global_buffer"), ("a", 8, 8, "global_buffer"), ("b", 16, 8, "global_buffer"),
        ("n", 24, 4, "by_value")]
    host = np.zeros(64, "f4")
    address = dev.map_host(host.ctypes.data, host.nbytes)
    assert dev.map_host(host.ctypes.data, host.nbytes) == address
    blob = (address.to_bytes(8, "little") + x.buffer.address.to_bytes(8, "little") * 2
            + (64).to_bytes(4, "little"))
    add.launch(1, 64, blob, keep=(x, x.buffer, host)).wait()
    assert (host == 2 * np.arange(64)).all()
    with pytest.raises(rawhal.OutOfRange, match="blob"):
        add.launch(1, 64, blob[:20])


def test_mapped_memory_has_exact_bounds_and_may_overlap(dev, add):
    host = np.zeros(1024, "u1")
    base = host.ctypes.data
    addresses, keep = dev.map_hosts([(base, 400), (base + 200, 300), (base + 800, 100)])
    assert addresses[1] - addresses[0] == 200 and len(keep) == 2
    x = dev.array(np.zeros(128, "f4"))
    blob = (addresses[2].to_bytes(8, "little") + x.buffer.address.to_bytes(8, "little") * 2
            + (26).to_bytes(4, "little"))
    with pytest.raises(rawhal.MemoryFault) as caught:
        add.launch(1, 64, blob, keep=(x.buffer, *keep), names=("out", "x", "y", "n")).wait()
    assert ((caught.value.argument, caught.value.past_end, caught.value.access)
            == ("out", 0, "write"))
    del keep
    assert dev.map_host(base + 100, 800) != 0  # where others were, which nothing uses any more
    assert dev.map_host(base + 200, 64) != 0  # a part of that
    within, _ = dev.map_hosts([(base, 64), (base + 64, 64), (base + 1024, 0)])
    assert len(within) == 3
    dev.unmap_hosts()


def test_modules_are_mappings(dev):
    module = dev.load(fixture("mistakes-gfx90a-v5.co"))
    assert len(module) == len(list(module)) > 10 and "fill" in module and "nothing" not in module
    assert module["fill"] is module["fill"]
    with pytest.raises(rawhal.NotFound, match="nothing"):
        module["nothing"]
    with open(fixture("vector_add.bundle"), "rb") as file:
        assert list(dev.load(file.read())) == ["vector_add"]
    with pytest.raises(rawhal.TargetMismatch):
        dev.load(fixture("vector_add-gfx1030-v5.co"))
    with pytest.raises(rawhal.NotFound):
        dev.load("/nonexistent")
    with pytest.raises(rawhal.Malformed):
        dev.load(b"not a code object at all")


def test_kernels_know_what_their_object_states(dev, add):
    info = add.info
    assert (info.name == "vector_add" and info.vgprs > 0 and info.max_workgroup_size == 256
            and info.layout == add.layout)
    assert (not add.prints and dev.load(fixture("printf-gfx90a-v5.co"))["printf_ids"].prints
            and add.lds_bytes == 0)


def test_variables_are_arrays(dev):
    module = dev.load(fixture("variables-gfx90a-v5.co"))
    primes = module.variable("primes", "u4")
    assert primes.numpy()[:3].tolist() == [2, 3, 5]
