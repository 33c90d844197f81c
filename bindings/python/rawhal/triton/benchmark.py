"""How long a kernel takes, for autotuning: on a GPU in software, by the instructions of its waves
and not by a clock.

Time there says nothing about hardware, and two runs of it choose differently. Instructions are the
same each time, so the same configuration wins on every machine; they say nothing of memory or
caches either."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

if TYPE_CHECKING:
    from .session import Session


class InstructionBenchmarker:
    """Triton's `Benchmarker`: calls once, and answers with thousands of wave instructions as if
    they were milliseconds.

    Where the device does not count, as hardware does not, all configurations are equal, and the
    first is taken."""

    def __init__(self, session: "Session"):
        self._session = session

    def __call__(self, kernel_call: Callable[[], Any], *,
                 quantiles: Optional[Sequence[float]] = None, **_unused: Any) -> Any:
        cost = self._session.count_instructions(kernel_call) / 1e3
        return cost if quantiles is None else [cost for _ in quantiles]
