"""What needs no device: objects as dataclasses, the library of many, the command, the demo, and
what importing costs."""
import dataclasses
import json
import os
import subprocess
import sys

import pytest

import rawhal
from conftest import SOURCE, fixture, run


def test_inspect_has_kernels_arguments_and_registers():
    found = rawhal.inspect(fixture("vector_add-gfx90a-v5.co"))
    kernel = found.kernels["vector_add"]
    assert (found.target, found.version, found.loadable) == ("gfx90a", 5, True)
    assert [(one.name, one.offset, one.size, one.kind, one.const) for one in kernel.args] == [
        ("c", 0, 8, "global_buffer", False), ("a", 8, 8, "global_buffer", True),
        ("b", 16, 8, "global_buffer", True), ("n", 24, 4, "by_value", False)]
    assert (kernel.vgprs > 0 and kernel.sgprs > 0 and kernel.lds == 0 and kernel.usable
            and kernel.layout.size == 28)
    with pytest.raises(dataclasses.FrozenInstanceError):
        kernel.lds = 1
    assert (rawhal.inspect(fixture("reduce-gfx90a-v5.co")).kernels["reduce"].required_workgroup
            == (256, 1, 1))
    assert rawhal.inspect(fixture("bare-gfx90a-v5.co")).kernels["bare_store"].why_not


def test_inspect_chooses_by_target():
    bundle = fixture("vector_add.bundle")
    assert (rawhal.inspect(bundle, "gfx942").target == "gfx942"
            and rawhal.inspect(bundle).target == "gfx90a")
    with open(bundle, "rb") as file:
        assert rawhal.inspect(file.read(), "gfx942").data[:4] == b"\x7fELF"
    with pytest.raises(rawhal.NotFound, match="gfx90a, gfx942"):
        rawhal.inspect(bundle, "gfx950")
    for wrong in [b"", b"\x7fELF" * 20]:
        with pytest.raises(rawhal.RawhalError):
            rawhal.inspect(wrong)


def test_differences_and_coverage_are_the_commands():
    v4, v5 = (rawhal.inspect(fixture("vector_add-gfx90a-v4.co")),
              rawhal.inspect(fixture("vector_add-gfx90a-v5.co")))
    same = v5.diff(v5)
    assert not same and same.same_abi and same.changes == ()
    other = v4.diff(v5)
    assert other and {one.category for one in other.changes} & {"abi", "resource", "note"}
    assert {one.kernel for one in other.changes} == {"vector_add"}
    gone = v5.diff(rawhal.inspect(fixture("empty-gfx90a-v5.co")))
    assert gone.removed == ("vector_add",) and gone.added == ("empty",) and not gone.same_abi
    assert v5.coverage("gfx90a") and v5.coverage().instructions > 20
    illegal = rawhal.inspect(fixture("illegal-gfx90a-v5.co")).coverage()
    assert not illegal and illegal.missing[0].mnemonic is None and illegal.missing[0].count >= 1
    assert rawhal.inspect(fixture("vector_add-gfx1030-v5.co")).coverage().instructions > 20
    with pytest.raises(rawhal.NotFound):
        v5.coverage("gfx942")


def test_a_library_finds_kernels_by_name(dev, tmp_path):
    lib = rawhal.Library(dev, fixture("vector_add-gfx90a-v5.co"), fixture("write_ids-gfx90a-v5.co"),
                         cache="off")
    import numpy as np

    out = np.zeros(64, "f4")
    lib["vector_add"][1, 64](out, np.ones(64, "f4"), np.ones(64, "f4"), 64)
    assert (out == 2).all()
    match, = lib.find("write_ids")
    assert (match.file.endswith("write_ids-gfx90a-v5.co") and match.usable
            and match.target == "gfx90a" and match.signature)
    assert (lib.find("nothing") == []
            and lib.kernel("write_ids", signature=match.signature).name == "write_ids")
    with pytest.raises(rawhal.NotFound, match="nothing"):
        lib["nothing"]
    lib.add(fixture("vector_add-gfx90a-v4.co"))
    with pytest.raises(rawhal.Ambiguous):
        lib["vector_add"]
    kernel = lib.kernel("vector_add", file="vector_add-gfx90a-v4.co")
    del lib
    kernel[1, 64](out, out, out, 64)  # which keeps the library
    assert (out == 4).all()


def test_a_library_lists_its_kernels(dev, tmp_path):
    for number in range(150):  # more than a page
        with open(fixture("vector_add-gfx90a-v5.co"), "rb") as file:
            data = file.read().replace(b"vector_add", b"kern_%05d" % number)
        (tmp_path / f"{number:05}.co").write_bytes(data)
    lib = rawhal.Library(dev, tmp_path, fixture("write_ids-gfx90a-v5.co"), cache="off")
    names = [f"kern_{number:05}" for number in range(150)]
    assert [match.name for match in lib] == names + ["write_ids"]
    assert [match.name for match in lib.kernels("kern_*[05]")] == names[::5]
    first, second = lib.kernels("kern_0000[12]")
    assert (first.name == "kern_00001" and second.file == str(tmp_path / "00002.co")
            and first.usable and first.target == "gfx90a" and first.bytes == second.bytes)
    assert lib.find("kern_00001") == [first]
    assert [one.name for one in lib.kernels(file="00007.co")] == ["kern_00007"]
    with_n = [one.name for one in lib.kernels(argument="n", signature=first.signature)]
    assert with_n == names and list(lib.kernels(argument="nothing")) == []
    with pytest.raises(rawhal.NotFound, match="; nearest: 'write_ids'"):
        lib["write_id"]

    seen = lib.kernels()
    assert next(seen).name == names[0]
    lib.add(fixture("vector_add-gfx90a-v4.co"))
    assert [match.name for match in seen] == names[1:] + ["write_ids", "vector_add"]
    seen = lib.kernels()
    next(seen)
    (tmp_path / "00003.co").unlink()
    lib.refresh()
    with pytest.raises(rawhal.NotFound, match="begin again"):
        list(seen)
    assert len(list(lib)) == 151


def module(*arguments):
    return subprocess.run([sys.executable, "-m", "rawhal", *arguments], capture_output=True,
                          text=True, timeout=60)


def test_the_command_is_the_modules():
    done = module("inspect", "--json", fixture("vector_add-gfx90a-v5.co"))
    assert done.returncode == 0 and json.loads(done.stdout)
    done = module("no-such-verb")
    assert done.returncode == 2 and "no-such-verb" in done.stderr


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942"])
def test_the_demo_checks_and_catches(chip):
    done = module("demo", chip)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("4096 of 4096 sums" in done.stdout and "of 'a'" in done.stdout
            and "src/lines.cl:9: float x = a[i];" in done.stdout)


def test_importing_loads_nothing():
    done = run("import sys, rawhal; print(sorted(set(sys.modules) & {'numpy', '_cffi_backend', "
               "'dataclasses', 'ctypes'}), 'open' in dir(rawhal), hasattr(rawhal, 'nothing'))")
    assert done.stdout == "[] True False\n", done.stderr
    done = run("import rawhal, sys; rawhal.inspect(sys.argv[1]); assert 'numpy' not in sys.modules",
               fixture("empty-gfx90a-v5.co"))
    assert done.returncode == 0, done.stderr


def test_opening_says_what_it_takes():
    done = run("import rawhal, warnings; warnings.simplefilter('error'); rawhal.open()")
    assert done.returncode == 1 and "SoftwareDeviceWarning: kernels run on softgpu" in done.stderr
    text = """
import rawhal, gc
a = rawhal.open(chip="gfx942"); b = rawhal.open(chip="gfx942")
assert a is b and a.name == "gfx942" and a.is_software and a.info.wavefront_size == 64
for other in [dict(chip="gfx90a"), dict(hardware=True), dict(chip="gfx90a", hardware=True),
              dict(chip="gfx942", index=3), dict(chip="nothing")]:
    try:
        rawhal.open(**other); print("opened", other)
    except rawhal.RawhalError as error:
        print(type(error).__name__)
del a, b
gc.collect()
assert rawhal.open(chip="gfx90a").name == "gfx90a"
gc.collect()
assert rawhal.open(chip="gfx1151").name == "gfx1151"
"""
    done = run(text)
    assert (done.returncode == 0 and "opened" not in done.stdout
            and done.stdout.count("\n") == 5), done.stdout + done.stderr


DOCTESTS = """
import doctest, importlib, os, sys, rawhal
os.chdir(sys.argv[2])  # it writes files
tried = 0
for module in [rawhal, *(importlib.import_module("rawhal." + name) for name in
                         "arguments arrays devices faults kernels library modules objects "
                         "signatures streams tickets".split())]:
    found = doctest.testmod(module)
    assert not found.failed, module
    tried += found.attempted
found = doctest.testfile(sys.argv[1], module_relative=False)
assert not found.failed
print(tried + found.attempted)
"""


def test_what_documentation_shows_is_so(tmp_path):
    done = run(DOCTESTS, os.path.join(SOURCE, "docs", "python.md"), str(tmp_path))
    assert done.returncode == 0 and int(done.stdout) >= 35, done.stdout + done.stderr


SEVERAL = """
import rawhal, numpy as np, sys
one, other = rawhal.open_all(["gfx942", "gfx90a"], options={"vram_mib": 128, "threads": 1})
assert ((one.name, other.name) == ("gfx942", "gfx90a")
        and rawhal.open(chip="gfx90a") is other and rawhal.open(chip="gfx942") is one)
host = np.ones(64, "f4")
for dev in (one, other):
    add = dev.load(rawhal.demo_object(dev.name))["vector_add"]
    add[1, 64](host, host, host, 64)
    (address, kept), mapped = dev.map_hosts([(host.ctypes.data, 256)]), host.ctypes.data
    print(address[0] == mapped)
    try:
        dev.load(rawhal.demo_object("gfx90a" if dev is one else "gfx942"))
    except rawhal.TargetMismatch:
        print("mismatch")
assert (host == 4).all()
try:
    add[1, 64](one.zeros(64), host, host, 64)
except ValueError as error:
    print("other device" if "the array is on" in str(error) else error)
"""


def test_several_chips_are_several_devices():
    done = run(SEVERAL)
    assert (done.returncode == 0 and done.stdout.count("mismatch\n") == 2
            and "other device" in done.stdout), done.stderr
    assert done.stdout.count("True\n") == 2, done.stdout


def test_every_name_that_is_offered_is_there():
    for name in rawhal.__all__:
        assert getattr(rawhal, name) is not None
    assert (rawhal.__version__.count(".") == 2
            and os.path.exists(os.path.join(os.path.dirname(rawhal.__file__), "py.typed")))
