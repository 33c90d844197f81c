"""The pytest plugin, on programs of tests of its own. Without torch and triton."""
import importlib.util
import os
import xml.etree.ElementTree as ElementTree

import pytest

from conftest import fixture, run

from rawhal.pytest_plugin import chips, faults

pytest_plugins = ["pytester"]
PLUGIN = ("-p", "rawhal.pytest_plugin", "-p", "no:cacheprovider")

PROGRAM = f"""
import numpy as np, pytest, rawhal

@pytest.fixture
def add(rawhal_device, rawhal_chip):
    return rawhal_device.load({fixture("")!r} + f"lines-{{rawhal_chip}}-v5.co")["vector_add"]

def run(add, n, size=256):
    c, a, b = np.zeros(size, "f4"), np.ones(size, "f4"), np.ones(size, "f4")
    add[1, 256](c, a, b, np.uint32(n))
    assert (c[:n] == 2).all()

def test_right(add):
    run(add, 256)

def test_overrun(add):
    run(add, 256, 200)

@pytest.mark.rawhal(chips=["gfx942"])
def test_of_one_chip(rawhal_chip):
    assert rawhal_chip == "gfx942"
"""


def properties(case):
    return {each.get("name"): each.get("value") for each in case.iter("property")}


def test_each_chip_in_a_process_of_its_own(pytester):
    pytester.makepyfile(PROGRAM)
    done = pytester.runpytest_subprocess(*PLUGIN, "--rawhal-chip=gfx90a,gfx942",
                                         "--junitxml=all.xml", "-rs")
    assert done.ret == 1
    done.stdout.fnmatch_lines(["rawhal: gfx90a in software*", "*- rawhal fault -*",
                               "fault: *MemoryFault", "kernel: *vector_add", "argument: *",
                               "access: *read of * bytes at 0x*, 0 bytes past the end",
                               "source: *lines.cl:*", "*1 failed, 1 passed, 1 skipped*",
                               "rawhal: gfx942 in software*", "*1 failed, 2 passed*",
                               "rawhal: gfx90a: failed", "rawhal: gfx942: failed"])
    cases = {case.get("classname").split(".")[0] + " " + case.get("name"): case
             for case in ElementTree.parse(pytester.path / "all.xml").getroot().iter("testcase")}
    assert len(cases) == 6
    for chip in ("gfx90a", "gfx942"):
        told = properties(cases[f"{chip} test_overrun"])
        assert (told["rawhal_chip"] == chip and told["rawhal_kernel"] == "vector_add"
                and "lines.cl:" in told["rawhal_source"])
        assert "rawhal_kernel" not in properties(cases[f"{chip} test_right"])
    assert not list(pytester.path.glob("all.xml.*"))


def test_checks_and_time_limits_of_one_test(pytester):
    """Each test asks softgpu what holds while it runs: what the marker says, and then what the
    command line does."""
    pytester.makepyfile("""
        import ctypes, pytest, rawhal

        @pytest.fixture
        def option(rawhal_device):
            with open("/proc/self/maps", encoding="utf-8") as maps:
                path = next(line.split()[-1] for line in maps if "/softgpu/" in line)
            get = ctypes.CDLL(path).softgpu_option_get
            def ask(name):
                value = ctypes.c_uint64()
                assert get(name.encode(), ctypes.byref(value))
                return value.value
            return ask

        def usual(option):
            assert [option("check_" + name) for name in ("lds", "races", "stores")] == [1, 0, 0]
            assert option("timeout_ms") == 7000

        def test_before(option):
            usual(option)

        @pytest.mark.rawhal(checks="races,stores", timeout=2.5)
        def test_marked(option):
            assert [option("check_" + name) for name in ("lds", "races", "stores")] == [0, 1, 1]
            assert option("timeout_ms") == 2500

        @pytest.mark.rawhal(checks="all")
        class TestNearest:
            @pytest.mark.rawhal(checks="none")
            def test_counts(self, option):
                assert option("check_lds") == 0

        def test_after(option):
            usual(option)
    """)
    done = pytester.runpytest_subprocess(*PLUGIN, "--rawhal-chip=gfx90a", "--rawhal-checks=lds",
                                         "--rawhal-timeout=7")
    done.assert_outcomes(passed=4)


def test_with_xdist(pytester):
    if importlib.util.find_spec("xdist") is None:
        pytest.skip("python3 has no xdist")
    pytester.makepyfile(PROGRAM)
    done = pytester.runpytest_subprocess(*PLUGIN, "--rawhal-chip=gfx90a", "-n", "2")
    done.assert_outcomes(passed=1, failed=1, skipped=1)
    done.stdout.fnmatch_lines(["*- rawhal fault -*"])


def test_without_a_chip_nothing_is_loaded(pytester):
    pytester.makepyfile("""
        import sys

        def test_nothing():
            assert "rawhal._library" not in sys.modules

        def test_device(rawhal_device):
            assert False
    """)
    done = pytester.runpytest_subprocess(*PLUGIN, "-rs")
    done.assert_outcomes(passed=1, skipped=1)
    done.stdout.fnmatch_lines(["*--rawhal-chip was not given*"])


@pytest.mark.parametrize("options, says", [
    (["--rawhal-chip=gfx90a", "--rawhal-checks=lds,rases"], "*no check is named 'rases'*"),
    (["--rawhal-chip=gfx90a", "--rawhal-timeout=0"], "*seconds above 0*"),
    (["--rawhal-torch"], "*needs --rawhal-chip*")])
def test_options_that_make_no_sense(pytester, options, says):
    pytester.makepyfile("def test_nothing(): pass")
    done = pytester.runpytest_inprocess(*PLUGIN, *options)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([says])


def test_the_checks_are_the_devices():
    from rawhal.devices import CHECKS
    from rawhal.pytest_plugin import ENVIRONMENT_OF_CHECKS

    assert {name: f"SOFTGPU_CHECK_{name.upper()}" for name in CHECKS} == ENVIRONMENT_OF_CHECKS


def test_several_exit_statuses_are_one():
    assert ([chips.verdict(each)
             for each in ([0, 0], [0, 5], [5, 5], [0, 1], [2, 1], [-11])] == [0, 0, 5, 1, 2, 1])
    assert chips.meaning(-11) == "ended by signal 11" and chips.meaning(5) == "no tests"


def test_a_file_of_a_run_that_died_is_left_out(tmp_path):
    (tmp_path / "a").write_text("<testsuites><testsuite name='a'/></testsuites>")
    (tmp_path / "b").write_text("<testsuites><tests")
    chips.merge([str(tmp_path / name) for name in ("a", "b", "c")], str(tmp_path / "all"))
    assert [each.get("name") for each in ElementTree.parse(tmp_path / "all").getroot()] == ["a"]


def test_a_fault_is_found_behind_what_it_led_to():
    import rawhal

    fault = rawhal.MemoryFault("it")
    try:
        try:
            raise fault
        except rawhal.Fault:
            raise ValueError("what came of it")
    except ValueError as error:
        assert faults.fault_in(error) is fault
    assert faults.fault_in(ValueError()) is None


# What tests that were written for a GPU ask of torch; with a stub of it, which has no GPU.
TORCH = f"""
import numpy as np, pytest, torch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

def test_a_kernel_uses_its_tensors(rawhal_device):
    add = rawhal_device.load({fixture("lines-gfx942-v5.co")!r})["vector_add"]
    x, y = torch.ones(64, device="cuda"), torch.empty(64, device="cuda")
    add[1, 64](y, x, x + x, 64)
    assert (y.array == 3).all()

def test_where_tensors_are():
    cuda, cpu = torch.device("cuda", 0), torch.device("cpu")
    x, host = torch.zeros(4, device="cuda"), torch.zeros(4)
    for one in (x, x + 1, host + x, host.cuda(), host.to("cuda:0"), host.to(x), host.to(cuda),
                host.to(device="cuda"), x.clone(), x.to(np.float64), x.to(0), x.to("cuda"),
                torch.ones(2, device=cuda), torch.empty(2, device="cuda", pin_memory=True)):
        assert (one.is_cuda and not one.is_cpu and one.device == cuda and one.get_device() == 0)
    for one in (host, host + 1, x.cpu(), x.to("cpu"), x.to(host), x.to(device=cpu), host.cpu(),
                torch.ones(2, device="cpu")):
        assert one.is_cpu and not one.is_cuda and one.device == cpu and one.get_device() == -1

def test_moves_copy():
    for device in ("cuda", "cpu"):
        for move in (lambda one: one.cpu(), lambda one: one.to("cpu"), lambda one: one.cuda(),
                     lambda one: one.to("cuda"), lambda one: one.to(torch.zeros(1))):
            one = torch.zeros(4, device=device)
            other = move(one)
            one.array[0] = 1
            assert other.array[0] == (one.is_cuda is other.is_cuda)

def test_what_else_makes_tensors_there():
    from torch.utils._device import DeviceContext

    torch._modes.insert(0, DeviceContext(torch.device("cuda")))  # torch.set_default_device()
    try:
        assert torch.zeros(4).is_cuda and torch.zeros(4, device="cpu").is_cpu
    finally:
        del torch._modes[0]
    assert torch.zeros(4).is_cpu and isinstance(torch.Generator("cuda"), torch.Generator)
    pinned = torch.zeros(4, pin_memory=True)
    assert pinned.is_pinned() and torch.zeros(4).pin_memory().is_pinned()
    assert pinned.is_cpu and not torch.zeros(4).is_pinned()
    mode = torch._modes.pop()  # which is off inside of torch's own functions
    try:
        engine = torch.autograd.Variable._execution_engine
        assert engine.run_backward(lambda: torch.zeros(4, device="cuda").is_cuda)
    finally:
        torch._modes.append(mode)

def test_the_gpu():
    assert torch.cuda.device_count() == 1 and torch.cuda.get_device_capability() == (9, 4)
    facts = torch.cuda.get_device_properties(0)
    assert facts.gcnArchName == "gfx942" and facts.warp_size == 64
    assert torch.version.hip and torch.version.cuda is None
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.synchronize()
    end.record()
    assert begin.elapsed_time(end) >= 0 and end.query()
"""


def test_torch_without_a_gpu_and_with_one_that_poses(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((
        os.path.join(os.path.dirname(__file__), "stub_torch"), os.environ["PYTHONPATH"])))
    pytester.makepyfile(TORCH)
    done = pytester.runpytest_subprocess(*PLUGIN, "--rawhal-chip=gfx942")
    done.assert_outcomes(skipped=5)
    done = pytester.runpytest_subprocess(*PLUGIN, "--rawhal-chip=gfx942", "--rawhal-torch")
    done.assert_outcomes(passed=5)
    done.stdout.fnmatch_lines(['rawhal: gfx942 *, torch\'s "cuda" is host memory'])


def test_posing_ends_as_it_was():
    done = run("""
import sys
sys.path.insert(0, sys.argv[1])
import torch
from rawhal.pytest_plugin import posing
before = dict(vars(torch.cuda)), dict(vars(torch.version))
for _ in range(2):
    posing.turn_on("gfx950")
    posing.turn_on("gfx950")
    x = torch.zeros(1, device="cuda")
    assert x.is_cuda and posing.is_on() and torch.cuda.get_device_capability() == (9, 5)
    posing.turn_off()
    posing.turn_off()
    assert not x.is_cuda and not posing.is_on() and not torch._modes
    now = [{name: value for name, value in vars(place).items() if value is not None}
           for place in (torch.cuda, torch.version)]
    assert now == [{name: value for name, value in one.items() if value is not None}
                   for one in before], now
print("right")
""", os.path.join(os.path.dirname(__file__), "stub_torch"))
    assert done.stdout == "right\n", done.stderr
