"""What open() refuses, and what of arguments would be lost on the way to C."""
import os
import subprocess
import sys

import numpy as np
import pytest

import rawhal
from conftest import fixture, run

OPEN = """
import sys, rawhal
try:
    print(rawhal.open(**eval(sys.argv[1])).name)
except rawhal.RawhalError as error:
    print(type(error).__name__, error)
"""
MISSPELT = "InvalidArgument RAWHAL_DEVICE: expected softgpu or hsa, got 'nonsense'"
SOFTGPU = "dict(chip='gfx90a', options={'vram_mib': 256})"


@pytest.mark.parametrize("value, options, said", [
    ("nonsense", SOFTGPU, MISSPELT),
    ("nonsense", "dict(hardware=False)", MISSPELT),
    ("nonsense", "dict(hardware=True)", MISSPELT),
    ("hsa", SOFTGPU, "gfx90a"),  # what the program says comes first
    ("softgpu", SOFTGPU, "gfx90a"),
    ("", SOFTGPU, "gfx90a")])
def test_a_misspelt_variable_is_told_and_one_that_is_right_gives_way(value, options, said):
    done = run(OPEN, options, RAWHAL_DEVICE=value)
    assert done.stdout.startswith(said), done.stdout + done.stderr


unsanitized = pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""),
                                 reason="AddressSanitizer itself takes terabytes of address space")


@unsanitized
@pytest.mark.parametrize("gib, gpus, opens", [(2, 1, False), (4, 1, False), (6, 1, True),
                                              (6, 2, False), (11, 2, True)])
def test_too_little_address_space_is_an_error_before_the_runtime_ends_the_process(gib, gpus, opens):
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({gib << 30},) * 2)"
    done = run(limit + OPEN, f"dict(chip='gfx90a', options={{'vram_mib': 256, 'gpus': {gpus}}})")
    refusal = (f"OutOfMemory the HSA runtime takes {4096 * gpus + 64} MiB of address space for "
               f"{gpus} GPU{'s' if gpus > 1 else ''}")
    assert done.returncode == 0 and done.stdout.startswith("gfx90a" if opens else refusal), done
    assert opens or f"(RLIMIT_AS is {gib << 10} MiB: ulimit -v)" in done.stdout


@unsanitized
def test_the_command_says_so_too():
    done = subprocess.run(["bash", "-c", 'ulimit -v 2000000; exec "$@"', "-", sys.executable, "-m",
                           "rawhal", "devices", "--device", "softgpu"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and "RLIMIT_AS is 1953 MiB" in done.stderr, done


def refused(what):
    return pytest.raises(ValueError, match=f"^{what} has a NUL in it: ")


def test_no_text_is_cut_at_a_nul(dev, add, tmp_path):
    path = fixture("lines-gfx90a-v5.co")
    module = dev.load(path)
    library = rawhal.Library(dev, tmp_path)
    for what, function in (
            ("name", lambda: module["vector_add\0x"]), ("name", lambda: module.variable("x\0")),
            ("kernel", lambda: dev.load(path, "vector_add\0")),
            ("source", lambda: dev.load(path + "\0")),
            ("source", lambda: rawhal.inspect(path + "\0")),
            ("label", lambda: dev.zeros(4, label="a\0b")),
            ("label", lambda: dev.pinned(4, label="a\0b")),
            ("label", lambda: dev.array([1], label="a\0b")),
            ("path", lambda: library.add("/opt\0")), ("path", lambda: rawhal.Library(dev, "/\0")),
            ("cache", lambda: rawhal.Library(dev, cache="off\0")),
            ("name", lambda: library["x\0"]), ("name", lambda: library.find("x\0")),
            ("file", lambda: library.find("x", file="y\0")),
            ("file", lambda: library.kernel("x", file="y\0")),
            ("pattern", lambda: library.kernels("*\0")),
            ("file", lambda: library.kernels(file="y\0")),
            ("argument", lambda: library.kernels(argument="n\0")),
            ("path", lambda: dev.record("x\0")),
            ("option 'chip'", lambda: rawhal.open(chip="gfx90a\0,gpus=2")),
            ("option 'threads'", lambda: dev.options.update(threads="1\0")),
            ("option 'a.b'", lambda: rawhal.open(chip="gfx90a", options={"a\0b": 1})),
            ("limit 'memory'", lambda: rawhal.open(chip="gfx90a", limits={"memory": "1GiB\0"}))):
        with refused(what.replace("a.b", r"a\\x00b")):
            function()


@pytest.mark.parametrize("dtype", ["S", "U", "V", "V0", np.dtype([])], ids=str)
def test_elements_of_no_bytes(dev, add, dtype):
    for function in (lambda: dev.empty(4, dtype), lambda: dev.zeros(4, dtype),
                     lambda: dev.pinned(4, dtype), lambda: dev.zeros(4).view(dtype),
                     lambda: dev.empty(0, dtype)):
        with pytest.raises(TypeError, match="elements have no bytes"):
            function()
    with pytest.raises(TypeError, match="argument 1 'a': .*elements have no bytes"):
        add[1, 1](None, np.empty(3, "V0"), None, 1)
