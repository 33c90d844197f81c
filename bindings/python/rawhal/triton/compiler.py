"""The compiler of the entry point `rawhal` in Triton's group `triton.backends`: none.

Triton asks each backend whether it compiles for a target. This one never does, so that Triton's own
compiler for AMD's GPUs is taken. The class is made so that it is concrete in every version of
Triton: `import triton` imports this module, and what goes wrong here would break it for
everybody."""
from triton.backends import compiler as _compiler


def _no_target(target):
    """Whether this compiles for a target: never."""
    return False


def _unreachable(*arguments, **named):
    raise NotImplementedError("rawhal has no compiler of its own: Triton's for 'hip' is meant")


RawhalCompiler = type(
    "RawhalCompiler", (_compiler.BaseBackend,),
    {**{name: _unreachable for name in _compiler.BaseBackend.__abstractmethods__},
     "supports_target": staticmethod(_no_target), "__doc__": __doc__, "__module__": __name__})
