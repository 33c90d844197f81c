"""How long a kernel takes, for autotuning: on a GPU in software, by the instructions of its waves and not by a clock.

Time there says nothing about hardware, and two runs of it choose differently. Instructions are the same each time, so the
same configuration wins on every machine; they say nothing of memory or caches either."""
from __future__ import annotations

from typing import Any, Callable, Optional, Sequence


class InstructionBenchmarker:
    """Triton's `Benchmarker`: calls once and answers with thousands of wave instructions as if they were milliseconds.

    `counter` gives the instructions so far; without one all configurations are equal, and the first is taken."""

    def __init__(self, counter: Optional[Callable[[], int]]):
        self._counter = counter

    def __call__(self, kernel_call: Callable[[], Any], *, quantiles: Optional[Sequence[float]] = None,
                 **_unused: Any) -> Any:
        if self._counter is None:
            kernel_call()
            cost = 0.0
        else:
            before = self._counter()
            kernel_call()
            cost = (self._counter() - before) / 1e3
        return cost if quantiles is None else [cost for _ in quantiles]
