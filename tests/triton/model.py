#!/usr/bin/env python3
"""The model of examples/hal_driver with kernels that Triton has compiled, exact against the program's own reference.

usage: model.py PROGRAM CHIP FOLDER
    PROGRAM  example_hal_driver
    CHIP     gfx90a
    FOLDER   gets Triton's cache

RAWHAL_TRITON_PYTHON names the interpreter, which needs triton and nothing else. Exits with 0 when all is right, 1 when
not, and 77 (skipped) when triton cannot be imported."""
import os
import subprocess
import sys
import warnings

import interpreter

SKIPPED = 77


def compiled(kernel, pointers, numbers, constants, chip):
    """The JSON of the cache's entry."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    signature = {**{name: "*fp32" for name in pointers}, **{name: "i32" for name in numbers},
                 **{name: "constexpr" for name in constants}}
    made = triton.compile(ASTSource(kernel, signature=signature, constexprs=constants), target=GPUTarget("hip", chip, 64),
                          options=dict(num_warps=4))
    return next(path for name, path in made.metadata_group.items() if name == kernel.fn.__name__ + ".json")


def main():
    interpreter.change()
    program, chip, folder = sys.argv[1:]
    os.environ.update(TRITON_CACHE_DIR=os.path.join(folder, "cache"), SOFTGPU_CHIP=chip)
    warnings.simplefilter("ignore")
    try:
        import triton
    except ImportError as reason:
        print(f"skipped: {reason}; RAWHAL_TRITON_PYTHON names an interpreter that can")
        return SKIPPED
    import model_kernels as kernels
    entries = [compiled(kernels.matmul, "cab", "nk", dict(TILE=16), chip),
               compiled(kernels.softmax, ["out", "x"], "n", dict(BLOCK=256), chip),
               compiled(kernels.layernorm, ["out", "x", "weight", "bias"], "n", dict(BLOCK=256), chip)]
    print(f"triton {triton.__version__}, {chip}", flush=True)
    return subprocess.run([program, *entries], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
