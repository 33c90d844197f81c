"""One chip in this process: the device, the options of each test, and what is reported of
faults."""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, Optional

import pytest

from . import ENVIRONMENT_OF_CHECKS, environment, faults, restore_environment, set_environment

USUAL_TIMEOUT = 120  # seconds, softgpu's


class Running:
    """The plugin's part while tests run on a chip."""

    def __init__(self, config: pytest.Config, chip: str):
        self.chip = chip
        self._checks, self._timeout = (config.getoption("rawhal_checks"),
                                       config.getoption("rawhal_timeout"))
        self._before = set_environment(environment(chip, self._checks, self._timeout))
        self._device: Any = None
        self._posing: Any = None
        if config.getoption("rawhal_torch"):
            from . import posing
            self._posing = posing
            posing.turn_on(chip)
        from . import triton_hook
        triton_hook.install(chip)

    def device(self) -> Any:
        """The device, opened on first use."""
        if self._device is None:
            import rawhal
            self._device = rawhal.open(chip=self.chip)
        return self._device

    # ---- What pytest calls ----

    def pytest_report_header(self) -> str:
        torch = ', torch\'s "cuda" is host memory' if self._posing else ""
        checks = self._checks or "bounds alone"
        return f"rawhal: {self.chip} in software (no time, no caches), checks: {checks}{torch}"

    def pytest_unconfigure(self) -> None:
        from . import triton_hook
        triton_hook.remove()
        if self._posing:
            self._posing.turn_off()
        restore_environment(self._before)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        item.user_properties.append(("rawhal_chip", self.chip))
        yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        chips = _wanted(item).get("chips")
        if chips and self.chip not in ([chips] if isinstance(chips, str) else chips):
            pytest.skip(f"not for {self.chip}")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        wanted = _wanted(item)
        with self._options(wanted.get("checks"), wanted.get("timeout")):
            yield

    @contextmanager
    def _options(self, checks: Any, timeout: Optional[float]) -> Iterator[None]:
        """For one test, and then what the command line says again."""
        during: dict[str, Any] = {}
        after: dict[str, Any] = {}
        if checks is not None:
            wanted, usual = _names(checks), _names(self._checks or "none")
            for name in ENVIRONMENT_OF_CHECKS:
                during[name], after[name] = name in wanted, name in usual
        if timeout is not None:
            during["timeout"], after["timeout"] = timeout, self._timeout or USUAL_TIMEOUT
        if not during:
            yield
            return
        options = self.device().options
        options.update(**during)
        try:
            yield
        finally:
            options.update(**after)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
        outcome = yield
        fault = faults.fault_in(call.excinfo.value) if call.excinfo else None
        if fault is not None:
            outcome.get_result().sections.append((faults.TITLE, faults.section(fault)))
            # what JUnit files take, of the last report
            item.user_properties.extend(faults.properties(fault))


def _names(checks: Any) -> list[str]:
    names = ([each.strip() for each in checks.split(",")]
             if isinstance(checks, str) else list(checks))
    names = (list(ENVIRONMENT_OF_CHECKS) if names == ["all"]
             else [each for each in names if each not in ("", "none")])
    for name in names:
        if name not in ENVIRONMENT_OF_CHECKS:
            raise pytest.UsageError(f"@pytest.mark.rawhal: no check is named '{name}'; there are "
                                    f"{', '.join(ENVIRONMENT_OF_CHECKS)}, all and none")
    return names


def _wanted(item: pytest.Item) -> dict[str, Any]:
    """What the test's markers say; those nearest to it count."""
    wanted: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers("rawhal"))):
        unknown = set(marker.kwargs) - {"checks", "timeout", "chips"}
        if unknown or marker.args:
            raise pytest.UsageError("@pytest.mark.rawhal takes checks, timeout and chips by name, "
                                    "not "
                                    f"{', '.join(sorted(unknown)) or repr(marker.args[0])}")
        wanted.update({name: value for name, value in marker.kwargs.items() if value is not None})
    return wanted
