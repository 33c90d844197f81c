"""pytest on GPUs that are not there: `pytest --rawhal-chip=gfx942,gfx950`.

    --rawhal-chip=CHIP[,CHIP...]   runs the tests on softgpu as this chip; with several, once for
                                   each in a process of its own
    --rawhal-checks=NAME[,...]     what softgpu checks besides bounds: lds, races, kernarg, stores,
                                   memory, or all
    --rawhal-timeout=SECONDS       time limit of one launch
    --rawhal-torch                 torch's device "cuda" is host memory, which kernels use in place
                                   (see posing.py)

    @pytest.mark.rawhal(checks="races", timeout=5, chips=["gfx950"])   for one test, class or module

Where a kernel faults, the report of its test has a section with the kernel, the argument, the
access and the line of the source; in a JUnit file the same is in properties (rawhal_chip,
rawhal_kernel, rawhal_argument, rawhal_source). Works with pytest-xdist: its workers have a device
each. Triton's kernels run here when its entry point is installed.

Without --rawhal-chip the plugin does nothing, and loads nothing of rawhal's library. softgpu models
neither time nor caches."""
from __future__ import annotations

import os
from importlib.metadata import entry_points
from typing import Any, Iterator, Optional

import pytest

MARKER = ("rawhal(checks=None, timeout=None, chips=None): with --rawhal-chip, what softgpu checks "
          "during this test (as --rawhal-checks), seconds that a launch may take, and the chips "
          "that the test is for")


def chips_of(config: pytest.Config) -> list[str]:
    """The chips that were asked for, in order, each once."""
    text = config.getoption("rawhal_chip", default=None) or ""
    return list(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rawhal", "GPU kernels without a GPU")
    group.addoption("--rawhal-chip", metavar="CHIP[,CHIP]",
                    help="run on softgpu, the GPU in software, as this chip: "
                    "gfx90a, gfx942, gfx950; with several, all tests run on each, in a process "
                    "of its own")
    group.addoption("--rawhal-checks", metavar="NAME[,NAME]",
                    help="what softgpu checks besides bounds: "
                    "lds, races, kernarg, stores, memory (reads of what was never written), or all")
    group.addoption("--rawhal-timeout", metavar="SECONDS", type=float,
                    help="time limit of one launch on softgpu")
    group.addoption("--rawhal-torch", action="store_true",
                    help='let torch\'s device "cuda" be host memory that kernels '
                    "use in place, and torch say that there is a GPU")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    chips = chips_of(config)
    if len(chips) == 1:
        from .running import Running
        config.pluginmanager.register(Running(config, chips[0]), "rawhal-running")
    elif not chips and config.getoption("rawhal_torch", default=False):
        raise pytest.UsageError("--rawhal-torch needs --rawhal-chip")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Optional[int]:
    """Several chips: a process each, since a process has one device."""
    chips = chips_of(config)
    if len(chips) < 2 or hasattr(config, "workerinput"):
        return None
    from .chips import run_each
    return run_each(config, chips)


@pytest.fixture(scope="session")
def rawhal_device(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The device of this process: a rawhal.Device of the chip that --rawhal-chip names. Skips where
    none is named."""
    running = request.config.pluginmanager.get_plugin("rawhal-running")
    if running is None:
        pytest.skip("needs a device: --rawhal-chip was not given")
    yield running.device()


@pytest.fixture(scope="session")
def rawhal_chip(request: pytest.FixtureRequest) -> str:
    """The chip that --rawhal-chip names. Skips where none is named."""
    chips = chips_of(request.config)
    if not chips:
        pytest.skip("needs a device: --rawhal-chip was not given")
    return chips[0]


# What subprocesses and pytest-xdist's workers find in their environment.
ENVIRONMENT_OF_CHECKS = {"lds": "SOFTGPU_CHECK_LDS", "races": "SOFTGPU_CHECK_RACES",
                         "kernarg": "SOFTGPU_CHECK_KERNARG", "stores": "SOFTGPU_CHECK_STORES",
                         "memory": "SOFTGPU_CHECK_MEMORY"}


def environment(chip: str, checks: Optional[str], timeout: Optional[float]) -> dict[str, str]:
    """The variables that say the same as the options: rawhal's package and softgpu read them.
    Raises UsageError."""
    found = {"RAWHAL_PY_CHIP": chip}
    points: Any = entry_points()
    group = (points.select(group="triton.backends") if hasattr(points, "select")
             else points.get("triton.backends", ()))
    if any(point.name == "rawhal" for point in group):
        found["TRITON_DEFAULT_BACKEND"] = "rawhal"
    names = [each.strip() for each in (checks or "").split(",") if each.strip()]
    for name in ENVIRONMENT_OF_CHECKS if names == ["all"] else names:
        if name not in ENVIRONMENT_OF_CHECKS:
            raise pytest.UsageError(f"--rawhal-checks: no check is named '{name}'; there are "
                                    f"{', '.join(ENVIRONMENT_OF_CHECKS)} and all")
        found[ENVIRONMENT_OF_CHECKS[name]] = "refuse"
    if timeout is not None:
        if not timeout > 0:
            raise pytest.UsageError("--rawhal-timeout: seconds above 0")
        found["SOFTGPU_TIMEOUT_MS"] = str(max(1, round(timeout * 1000)))
    return found


def set_environment(values: dict[str, str]) -> dict[str, Optional[str]]:
    """Sets variables and returns what they were."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    return before


def restore_environment(before: dict[str, Optional[str]]) -> None:
    """Undoes set_environment()."""
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
