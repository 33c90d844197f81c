"""What Triton makes for each compiled kernel, and calls for each launch."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from .arguments import Plan

if TYPE_CHECKING:
    from .session import Function, Session


def signature_of(source: Any) -> list[tuple[str, Any]]:
    """Names and types of a source's arguments, in order. What was compiled from Triton's IR has no
    names."""
    names = getattr(getattr(source, "fn", None), "arg_names", None) or []
    found = []
    for key, kind in source.signature.items():
        if isinstance(key, tuple):
            key = key[0]
        if isinstance(key, int):
            key = names[key] if key < len(names) else f"argument {key}"
        found.append((key, kind))
    return found


class Launcher:
    """Triton's `launcher_cls`: made once a kernel, called for each launch. Any number of threads
    may call it."""

    def __init__(self, session: "Session", source: Any, metadata: Any):
        self._session = session
        self._signature = signature_of(source)
        self._block = (metadata.num_warps * metadata.warp_size, 1, 1)
        self._shared = metadata.shared
        self._cooperative = bool(getattr(metadata, "launch_cooperative_grid", False))
        self._scratch = tuple((getattr(metadata, f"{kind}_scratch_size", 0) or 0,
                               getattr(metadata, f"{kind}_scratch_align", 1) or 1)
                              for kind in ("global", "profile"))
        self._no_scratch = self._scratch[0][0] == self._scratch[1][0] == 0
        self._plan: Optional[Plan] = None

    def _plan_of(self, function: "Function") -> Plan:
        plan = Plan(self._signature, function.layout)
        function.name_arguments(plan.names)
        self._plan = plan
        return plan

    def _allocate(self, groups: int, stream: Any) -> tuple[Any, Any]:
        """Global and profile scratch memory of one launch, by whoever the program says allocates
        it; None where none."""
        from triton.runtime import _allocation

        (size, align), (profile, profile_align) = self._scratch
        memory = [None, None]
        if size > 0:
            allocator = _allocation._allocator
            allocate = allocator.get() if hasattr(allocator, "get") else allocator
            memory[0] = allocate(size * groups, align, stream)
        if profile > 0:
            if _allocation.has_profile_allocator():
                memory[1] = _allocation._profile_allocator.get()(
                    profile * groups, profile_align, stream)
            else:
                memory[1] = self._session.scratch(profile * groups, profile_align, zero=True)
        return memory[0], memory[1]

    def __call__(self, grid_x: int, grid_y: int, grid_z: int, stream: Any, function: "Function",
                 kernel_metadata: Any, launch_metadata: Any, enter_hook: Any, exit_hook: Any,
                 *arguments: Any) -> None:
        if enter_hook is not None:
            enter_hook(launch_metadata)
        groups = grid_x * grid_y * grid_z
        if groups > 0:
            plan = self._plan or self._plan_of(function)
            scratch = (None, None) if self._no_scratch else self._allocate(groups, stream)
            values = plan.values(arguments, scratch)
            lent = self._session.lend(values, plan)
            self._session.launch(function, (grid_x, grid_y, grid_z), self._block, plan.pack(values),
                                 self._shared, self._cooperative, stream, lent)
        if exit_hook is not None:
            exit_hook(launch_metadata)
