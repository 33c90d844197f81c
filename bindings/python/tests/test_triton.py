"""Triton's kernels through the backend, cold: those of tests/triton against numpy, and what
Triton's launcher can pass. Needs triton, and neither torch nor a GPU."""
import os
import subprocess
import sys

import numpy as np
import pytest
import triton
import triton.language as tl

from conftest import SOURCE

import rawhal
import rawhal.triton

sys.path.insert(0, os.path.join(SOURCE, "tests", "triton"))
import kernels  # noqa: E402,F401, which registers them
from case import CASES, Array  # noqa: E402

CHIP = os.environ.get("RAWHAL_PY_CHIP", "gfx942")
tensor = rawhal.triton.tensor

# Those that take Triton's compiler longest are run by tests/triton alone.
SLOW = ("atomics_integer", "matmul_f16_aligned", "scaled_bf8_fp4", "scaled_fp4", "scaled_fp8",
        "sort_and_topk", "sort_short")


@pytest.fixture(scope="session", autouse=True)
def driver(tmp_path_factory):
    before = os.environ.get("TRITON_CACHE_DIR")
    os.environ.setdefault("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
    made = rawhal.triton.activate(chip=CHIP)
    yield made
    if before is None:
        del os.environ["TRITON_CACHE_DIR"]


@pytest.fixture
def dev(driver):
    return driver.session.device


# ---- The kernels of tests/triton ----

KINDS = {"bf16": tl.bfloat16, "i1": tl.int1, "fp8e4nv": tl.float8e4nv, "fp8e4b8": tl.float8e4b8,
         "fp8e5": tl.float8e5, "fp8e5b16": tl.float8e5b16}


def argument(value):
    if not isinstance(value, Array):
        return value
    plain = tensor(value.bits)
    return triton.reinterpret(plain, KINDS[value.kind]) if value.kind in KINDS else plain


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make, chips in CASES
                                  if CHIP in chips and name not in SLOW])
def test_kernel(make):
    case = make(np.random.default_rng(12), CHIP)
    case.kernel[case.grid](**{name: argument(value) for name, value in case.arguments.items()},
                           **case.options)
    for name, value in case.arguments.items():
        if isinstance(value, Array) and value.expected is not None:
            assert value.wrong(value.bits.tobytes()) is None, name


# ---- What a launch can pass ----


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n)
    tl.store(y + offsets, values * factor, mask=offsets < n)


def test_numbers_arrays_of_the_device_and_of_the_host(dev):
    x = np.arange(1000, dtype="f4")
    for factor in (1, 2, -3, 2.5, 1e39, float("nan")):
        y = np.zeros_like(x)
        scale[(4,)](tensor(x), tensor(y), 1000, factor, BLOCK=256)
        with np.errstate(all="ignore"):
            assert np.array_equal(y, x * np.float32(factor), equal_nan=True)
    given, taken = dev.array(x), dev.zeros(1000, "f4")
    scale[(4,)](given, taken, 1000, 2.0, BLOCK=256)
    assert (taken.numpy() == 2 * x).all()
    parts = np.zeros((3, 1000), "f4")
    parts[0] = x  # two views of one array
    scale[(4,)](tensor(parts[0]), tensor(parts[2]), 1000, 3.0, BLOCK=256)
    assert (parts[2] == 3 * x).all() and not parts[1].any()
    scale[(0,)](given, taken, 0, 1.0, BLOCK=256)  # nothing to do


def test_an_overrun_is_told_with_argument_and_line(dev):
    x, y = np.zeros(1000, "f4"), np.zeros(1000, "f4")
    with pytest.raises(rawhal.MemoryFault) as told:
        scale[(4,)](tensor(x), tensor(y), 1003, 2.0, BLOCK=256)
    fault = told.value
    assert (fault.kernel, fault.argument, fault.access, fault.past_end) == ("scale", "x", "read", 0)
    assert (fault.source.text == "values = tl.load(x + offsets, mask=offsets < n)"
            and fault.source.file == __file__)
    with pytest.raises(rawhal.MemoryFault) as told:
        scale[(4,)](dev.zeros(1003, "f4"), tensor(y), 1003, 2.0, BLOCK=256)
    assert ((told.value.argument, told.value.access) == ("y", "write")
            and "tl.store(y" in told.value.source.text)
    scale[(4,)](tensor(x), tensor(y), 1000, 2.0, BLOCK=256)  # goes on


def test_bounds_are_those_of_what_lives(dev):
    whole = np.zeros(4096, "f4")
    scale[(16,)](tensor(whole), tensor(whole), 4096, 2.0, BLOCK=256)
    part = whole[:1000].copy()
    given = tensor(whole)
    del whole
    scale[(4,)](given, tensor(part), 1000, 2.0, BLOCK=256)
    with pytest.raises(rawhal.MemoryFault):
        scale[(4,)](given, tensor(part), 1001, 2.0, BLOCK=256)


@triton.jit
def bump(x, y):
    tl.atomic_add(x, 1.0)
    tl.store(y, tl.load(x).to(tl.float32))


def test_two_bytes_may_be_all_there_is():
    x, y = np.ones(1, "f2"), np.zeros(1, "f4")
    bump[(5,)](tensor(x), tensor(y), num_warps=1)
    assert x[0] == 6


@triton.jit
def of_tuples(pair, sizes, out):
    x, y = pair
    n, nested = sizes
    tl.store(out, tl.load(x) + tl.load(y) + n + nested[0])


def test_tuples():
    x, y, out = np.full(1, 3, "i4"), np.full(1, 40, "i4"), np.zeros(1, "i4")
    of_tuples[(1,)]((tensor(x), tensor(y)), (500, (6000, 1)), tensor(out))
    assert out[0] == 6543


@triton.jit
def of_host_descriptors(source, target):
    tile = source.load([0, 32])
    target.store([32, 0], tile)


@triton.jit
def of_device_descriptors(source, target, M, N, B: tl.constexpr):
    a = tl.make_tensor_descriptor(source, [M, N], [N, 1], [B, B])
    b = tl.make_tensor_descriptor(target, [M, N], [N, 1], [B, B])
    b.store([B, 0], a.load([0, B]))


def test_descriptors(dev):
    from triton.tools.tensor_descriptor import TensorDescriptor

    x = np.arange(64 * 64, dtype="f2").reshape(64, 64)
    for launch in ("host", "device"):
        y = np.zeros_like(x)
        if launch == "host":
            of_host_descriptors[(1,)](TensorDescriptor.from_tensor(tensor(x), [32, 32]),
                                      TensorDescriptor.from_tensor(tensor(y), [32, 32]))
        else:
            triton.set_allocator(lambda size, align, stream: dev.empty(size, "u1"))
            of_device_descriptors[(1,)](tensor(x), tensor(y), 64, 64, B=32)
        assert (y[32:, :32] == x[:32, 32:]).all() and not y[:32].any(), launch


@triton.jit
def says(n):
    tl.device_print("value ", n)


@triton.jit
def asserts(x):
    value = tl.load(x)
    tl.device_assert(value < 5, "too much of it")


def test_print(capsys):
    says[(1,)](42, num_warps=1)
    assert "value 42" in capsys.readouterr().out.replace(": ", " ").replace("  ", " ")


def test_assert():
    x = np.full(1, 4, "i4")
    asserts[(1,)](tensor(x), debug=True, num_warps=1)
    x[:] = 5
    with pytest.raises(rawhal.AssertFailed) as told:
        asserts[(1,)](tensor(x), debug=True, num_warps=1)
    assert "too much of it" in told.value.text


def test_the_autotuner_chooses_the_same_each_time():
    chosen = set()
    for _ in range(3):
        tuned = triton.autotune([triton.Config({"BLOCK": 64}, num_warps=1),
                                 triton.Config({"BLOCK": 512}, num_warps=1),
                                 triton.Config({"BLOCK": 16}, num_warps=4)], key=["n"])(scale)
        x, y = np.ones(5000, "f4"), np.zeros(5000, "f4")
        tuned[lambda meta: (triton.cdiv(5000, meta["BLOCK"]),)](tensor(x), tensor(y), 5000, 2.0)
        assert (y == 2).all()
        chosen.add(str(tuned.best_config))
    assert len(chosen) == 1


def test_checks_of_one_launch(dev):
    dev.options.update(races=True, lds=True)
    try:
        x, y = np.ones(1000, "f4"), np.zeros(1000, "f4")
        scale[(4,)](tensor(x), tensor(y), 1000, 2.0, BLOCK=256)
    finally:
        dev.options.update(races=False, lds=False)


def test_the_target_is_what_overrides_it(driver, monkeypatch):
    assert driver.get_current_target().arch == CHIP
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "gfx90a")
    assert driver.get_current_target().arch == "gfx90a"


# ---- The entry point ----


def entry_point(folder):
    """A folder with what an installed package says of itself."""
    info = folder / "rawhal-0.2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rawhal\nVersion: 0.2.0\n")
    (info / "entry_points.txt").write_text("[triton.backends]\nrawhal = rawhal.triton\n")
    return str(folder)


def program(folder, text, **variables):
    path = os.pathsep.join([entry_point(folder), *filter(None, sys.path)])
    return subprocess.run([sys.executable, "-W", "ignore", "-c", text], capture_output=True,
                          text=True, timeout=100,
                          env={**os.environ, "PYTHONPATH": path, **variables})


def test_no_line_of_code_changes(tmp_path):
    done = program(tmp_path, "import triton; driver = triton.runtime.driver.active;"
                   "print(type(driver).__name__, driver.get_current_target().arch)",
                   TRITON_DEFAULT_BACKEND="rawhal", RAWHAL_PY_CHIP="gfx950")
    assert done.stdout.split() == ["RawhalDriver", "gfx950"], done.stderr


def test_a_broken_library_does_not_break_triton(tmp_path):
    done = program(tmp_path, "import triton, triton.language; print('there');\n"
                   "try: triton.runtime.driver.active.get_current_target()\n"
                   "except ImportError as error: print(error)", RAWHAL_PY_PREFIX=str(tmp_path))
    there, why = done.stdout.splitlines()
    assert there == "there" and "RAWHAL_PY_PREFIX" in why, done.stderr
