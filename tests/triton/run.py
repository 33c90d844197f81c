#!/usr/bin/env python3
"""Kernels in Triton, compiled ahead of time for one chip and run on softgpu by `rawhal run`, against numpy.

usage: run.py RAWHAL CHIP FOLDER [NAME...]
    RAWHAL  the command
    CHIP    of case.py; where the runtime does not know it, it is listed as another
    FOLDER  gets Triton's cache, from which they are run, NAME.s and the buffers
    NAME    of cases: all, unless some are named

RAWHAL_TRITON_PYTHON names the interpreter that does it, such as that of a virtual environment. Exits with 0 when all are
right, 1 when not, and 77 (skipped) with the reason when triton or numpy cannot be imported. Neither ROCm nor a GPU is
needed: triton 3.x brings its own LLVM and AMD's device libraries. softgpu's other variables hold here, too:
SOFTGPU_REFERENCE=1 for the reference engine, SOFTGPU_LISTED=0 for a runtime that knows the chip."""
import os
import subprocess
import sys
import warnings

import interpreter

SKIPPED = 77
SEED = 12


def type_of(value):
    from case import Array
    if isinstance(value, Array):
        return "*" + value.kind
    return "fp32" if isinstance(value, float) else "i32"


def attributes_of(value):
    """What Triton's launcher tells its compiler about an argument."""
    from case import Array
    if isinstance(value, Array):  # buffers are aligned, and smaller than 2 GiB
        return [["tt.divisibility", 16], ["tt.pointer_range", 32]]
    return [["tt.divisibility", 16]] if isinstance(value, int) and value % 16 == 0 else []


def compile_case(case, chip, stem):
    """Returns the JSON of Triton's own cache, beside which the code object is."""
    import triton
    from case import LANES
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    signature, constants, attributes = {}, {}, {}
    for index, name in enumerate(case.kernel.arg_names):
        value = case.arguments[name]
        if name.isupper():
            signature[name], constants[name] = "constexpr", value
            continue
        signature[name] = type_of(value)
        if case.aligned:
            attributes[(index,)] = attributes_of(value)
    source = ASTSource(case.kernel, signature=signature, constexprs=constants, attrs=attributes)
    compiled = triton.compile(source, target=GPUTarget("hip", chip, LANES.get(chip, 64)), options=case.options)
    with open(stem + ".s", "w", encoding="utf-8") as file:
        file.write(compiled.asm["amdgcn"])
    return next(path for name, path in compiled.metadata_group.items() if name.endswith(".json"))


def words_of(case, stem):
    """The arguments of `rawhal run` in the order of the kernel's, and the arrays whose results it writes."""
    from case import Array
    words, results = [], []
    for name in case.kernel.arg_names:
        value = case.arguments[name]
        if name.isupper():
            continue
        if not isinstance(value, Array):
            words.append(f"{'f32' if isinstance(value, float) else 'i32'}:{value}")
            continue
        before = f"{stem}.{name}.bin"
        value.bits.tofile(before)
        if value.expected is None:
            words.append(f"ptr:{before}")
        else:
            words.append(f"inout:{before}:{stem}.{name}.out")
            results.append((name, value))
    return words, results


def run_case(rawhal, case, entry, stem):
    """What is wrong, or None. Name, warps, LDS and scratch are rawhal's to find."""
    words, results = words_of(case, stem)
    for name, _ in results:
        if os.path.exists(f"{stem}.{name}.out"):
            os.unlink(f"{stem}.{name}.out")
    grid = ",".join(str(each) for each in case.grid)
    done = subprocess.run([rawhal, "run", "--grid", grid, "--device", "softgpu", "--timeout", "300", entry, *words],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip() or f"exit status {done.returncode}"
    for name, array in results:
        with open(f"{stem}.{name}.out", "rb") as file:
            wrong = array.wrong(file.read())
        if wrong:
            return f"{name}: {wrong}"
    return None


def main():
    interpreter.change()
    rawhal, chip, folder, *names = sys.argv[1:]
    try:
        import numpy
        os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # as 3.9 has it; what is expected allows for both
        os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(folder, "cache"))
        warnings.simplefilter("ignore")
        import triton
    except ImportError as reason:
        print(f"skipped: {reason}; RAWHAL_TRITON_PYTHON names an interpreter that can")
        return SKIPPED
    import kernels  # noqa: F401, which registers them
    from case import CASES, LISTED, loosen
    os.makedirs(folder, exist_ok=True)
    os.environ["SOFTGPU_CHIP"] = chip
    if chip in LISTED:
        os.environ.setdefault("SOFTGPU_LISTED", LISTED[chip])
    chosen = [each for each in CASES if chip in each[2] and (not names or each[0] in names)]
    right = 0
    for name, make, _ in chosen:
        case = make(numpy.random.default_rng(SEED), chip)
        if make.__module__ == "kernels.products" or name == "convolution_2d":
            loosen(case, chip)
        stem = os.path.join(folder, name)
        try:
            entry = compile_case(case, chip, stem)
        except Exception as reason:  # whatever a compiler does not like: the case is wrong, and the others go on
            wrong = f"does not compile: {str(reason).strip().splitlines()[-1:]}"
        else:
            wrong = run_case(rawhal, case, entry, stem)
        right += wrong is None
        print(f"{name}: {wrong or 'right'}", flush=True)
    print(f"triton {triton.__version__}, {chip}: {right} of {len(chosen)} kernels right")
    return 0 if right == len(chosen) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
