"""Triton's kernels run on this process's chip from the moment that something imports Triton, not
before.

Its entry point does the same where the package is installed; a source tree has none."""
from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from typing import Any, Optional


class _Finder(importlib.abc.MetaPathFinder):
    """Sees `import triton`, lets it happen, and then activates."""

    def __init__(self, chip: str):
        self._chip = chip

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[Any]:
        if name != "triton":
            return None
        remove()
        specification = importlib.util.find_spec("triton")
        if specification is None or specification.loader is None:
            return None
        loader, chip = specification.loader, self._chip
        run = loader.exec_module

        def exec_module(module: Any) -> None:
            loader.exec_module = run  # type: ignore[method-assign]
            run(module)
            activate(chip)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return specification


def activate(chip: str) -> None:
    """Lets Triton take this driver, whether its entry point is installed or not."""
    from rawhal.triton import activate as run_on

    run_on(chip=chip)


def install(chip: str) -> None:
    """From now on. Triton that is there already is told at once."""
    if "triton" in sys.modules:
        activate(chip)
    elif not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder(chip))


def remove() -> None:
    """No more."""
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, _Finder)]
