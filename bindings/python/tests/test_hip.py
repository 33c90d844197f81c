"""The HIP door: where it is, and hip-python through it."""
import ctypes
import importlib.util
import os
import sys

import pytest

from conftest import fixture, run

DOOR = {"RAWHAL_DEVICE": "softgpu", "SOFTGPU_CHIP": "gfx90a"}


def test_library_is_a_path_and_loads_nothing():
    done = run("import sys, rawhal; print(rawhal.hip.library()); print('rawhal._library' in "
               "sys.modules)")
    path, loaded = done.stdout.split()
    assert (os.path.isabs(path) and path.endswith("rawhal/hip/libamdhip64.so.7")
            and loaded == "False"), done.stderr


def test_the_module_says_it_to_shells():
    import subprocess

    import rawhal

    said = [subprocess.run([sys.executable, "-m", "rawhal.hip", *options], capture_output=True,
                           text=True).stdout.strip()
            for options in ([], ["--folder"])]
    assert said == [rawhal.hip.library(), os.path.dirname(rawhal.hip.library())]
    assert sorted(os.listdir(said[1]))[-1] == "libamdhip64.so.7"


def test_no_loader_finds_it():
    import rawhal

    name = rawhal.hip.SONAME
    try:
        found = ctypes.CDLL(name)._name  # AMD's, where it is installed
    except OSError:
        return
    done = run(f"import ctypes; ctypes.CDLL('{found}'); print(open('/proc/self/maps').read())")
    assert rawhal.hip.library() not in done.stdout


def test_where_it_is_not_there(tmp_path):
    done = run("import rawhal; rawhal.hip.library()", RAWHAL_PY_PREFIX=str(tmp_path))
    assert "FileNotFoundError" in done.stderr and "lib/rawhal/hip" in done.stderr


# Only what HIP has: nothing of this package.
PROGRAM = """
import ctypes, sys, array
hip = ctypes.CDLL(sys.argv[1])
def ok(status):
    hip.hipGetErrorName.restype = ctypes.c_char_p
    assert status == 0, hip.hipGetErrorName(status)
count, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
ok(hip.hipGetDeviceCount(ctypes.byref(count)))
ok(hip.hipModuleLoad(ctypes.byref(module), sys.argv[2].encode()))
ok(hip.hipModuleGetFunction(ctypes.byref(function), module, b"vector_add"))
n = 1000
memory = [ctypes.c_void_p() for _ in range(3)]
values = (ctypes.c_float * n)(*range(n))
for pointer in memory:
    ok(hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(4 * n)))
    ok(hip.hipMemcpy(pointer, values, ctypes.c_size_t(4 * n), 1))
size = ctypes.c_uint(n)
arguments = (ctypes.c_void_p * 4)(*[ctypes.addressof(a) for a in (*memory, size)])
ok(hip.hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, None, arguments, None))
ok(hip.hipMemcpy(values, memory[0], ctypes.c_size_t(4 * n), 2))
print(count.value, list(values) == [2.0 * i for i in range(n)])
print(hip.hipGraphCreate(None, 0))
"""


def test_ctypes():
    import rawhal

    done = run(PROGRAM, rawhal.hip.library(), fixture("lines-gfx90a-v5.co"),
               RAWHAL_LOG="error", **DOOR)
    assert done.stdout == "1 True\n801\n", done.stderr
    assert "hipGraphCreate() is not served" in done.stderr


HIP_PYTHON = """
import ctypes, sys, numpy as np
from hip import hip
def ok(result):
    status, *rest = result
    assert status == hip.hipError_t.hipSuccess, status
    return rest[0] if len(rest) == 1 else rest
module = ok(hip.hipModuleLoad(sys.argv[1].encode()))
kernel = ok(hip.hipModuleGetFunction(module, b"vector_add"))
n = 1000
a, b, c = np.arange(n, dtype="f4"), np.ones(n, "f4"), np.zeros(n, "f4")
memory = [ok(hip.hipMalloc(x.nbytes)) for x in (c, a, b)]
stream = ok(hip.hipStreamCreate())
for pointer, x in zip(memory, (c, a, b)):
    ok(hip.hipMemcpyAsync(pointer, x, x.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice, stream))
ok(hip.hipModuleLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, sharedMemBytes=0, stream=stream,
                             kernelParams=None, extra=(*memory, ctypes.c_uint(n))))
ok(hip.hipMemcpyAsync(c, memory[0], c.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost, stream))
ok(hip.hipStreamSynchronize(stream))
properties = ok(hip.hipGetDeviceProperties(0))
def text(value):  # bytes before 10.0
    return value if isinstance(value, str) else value.decode()
print((c == a + b).all(), text(properties.gcnArchName).split(":")[0], properties.warpSize,
      len(properties.name) < 40)
"""


@pytest.mark.skipif(not importlib.util.find_spec("hip"), reason="hip-python is not installed")
def test_hip_python():
    import rawhal

    done = run(HIP_PYTHON, fixture("lines-gfx90a-v5.co"),
               LD_LIBRARY_PATH=rawhal.hip.folder(), **DOOR)
    assert done.stdout == "True gfx90a 64 True\n", done.stderr


ENDED = """
import ctypes, sys
hip = ctypes.CDLL(sys.argv[1])
event, other, stream, float = *[ctypes.c_void_p() for _ in range(3)], ctypes.c_float()
made = [hip.hipEventCreate(ctypes.byref(event)), hip.hipEventCreate(ctypes.byref(other)),
        hip.hipStreamCreate(ctypes.byref(stream)), hip.hipEventRecord(event, stream),
        hip.hipEventRecord(other, stream), hip.hipStreamDestroy(stream)]
print(made, hip.hipEventSynchronize(event), hip.hipEventDestroy(event))
for wrong in (event, ctypes.create_string_buffer(64)):
    print([hip.hipEventDestroy(wrong), hip.hipEventRecord(wrong, None), hip.hipEventQuery(wrong),
           hip.hipEventSynchronize(wrong), hip.hipStreamWaitEvent(None, wrong, 0),
           hip.hipEventElapsedTime(ctypes.byref(float), other, wrong)])
print(hip.hipEventDestroy(other), hip.hipDeviceSynchronize())
"""


def test_events_that_are_none():
    """What was destroyed, and what never was one, is refused as streams are."""
    import rawhal

    done = run(ENDED, rawhal.hip.library(), **DOOR)
    refused = str([400] * 6)
    assert done.stdout.splitlines() == [f"{[0] * 6} 0 0", refused, refused, "0 0"], done.stderr


UNLOADED = """
import ctypes, sys
hip = ctypes.CDLL(sys.argv[1])
module, function, value = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
print(hip.hipModuleLoad(ctypes.byref(module), sys.argv[2].encode()),
      hip.hipModuleGetFunction(ctypes.byref(function), module, b"vector_add"),
      hip.hipFuncGetAttribute(ctypes.byref(value), 0, function),
      hip.hipModuleUnload(module))
for wrong in (function, ctypes.create_string_buffer(64), ctypes.c_void_p(16)):
    print(hip.hipModuleLaunchKernel(wrong, 1, 1, 1, 64, 1, 1, 0, None, None, None),
          hip.hipFuncGetAttribute(ctypes.byref(value), 0, wrong))
"""


def test_functions_that_are_none():
    """Of a module that was unloaded, and what never was one."""
    import rawhal

    done = run(UNLOADED, rawhal.hip.library(), fixture("lines-gfx90a-v5.co"), **DOOR)
    assert done.stdout.splitlines() == ["0 0 0 0", "400 400", "400 400", "400 400"], done.stderr
