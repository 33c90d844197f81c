#!/usr/bin/env python3
"""Kernels of wheels as they ship, unmodified, run on softgpu by `rawhal run`, against numpy.

usage: run.py RAWHAL CHIP FOLDER [PART...]
    RAWHAL  the command
    CHIP    of softgpu; where the runtime does not know it, it is listed as another
    FOLDER  gets the buffers
    PART    of a kernel's name: only those that have one of them, unless there is none

RAWHAL_WHEELS_DIR names a folder with what is in wheels, at any depth, as `pip download --no-deps` and `unzip` make it:
bitsandbytes 0.50.2, onnxruntime-rocm 1.22.2.post3 (python 3.11), or one of them. Of several libraries, for several ROCm, it
is the newest. Nothing of them runs but their kernels: no ROCm, no torch and no GPU is needed. RAWHAL_TRITON_PYTHON names an
interpreter that has numpy, if this one has none. Exits with 0 when all are right, 1 when not, and 77 (skipped) with the
reason when there is nothing to run or no numpy. softgpu's variables hold here, too: SOFTGPU_REFERENCE=1 for the reference
engine.

bitsandbytes' library for ROCm 6.4 fails in all of gemm_4bit_simt: its compiler converted numbers to integers around a
permutation (the project's issue 2087)."""
import os
import re
import subprocess
import sys

SKIPPED = 77
SEED = 12
HERE = os.path.dirname(os.path.abspath(__file__))


def newest(folder, pattern):
    """The library whose name has the greatest version."""
    found = []
    for path, _, files in os.walk(folder):
        for name in files:
            match = re.fullmatch(pattern, name)
            if match:
                found.append(([int(part or 0) for part in match.groups()], os.path.join(path, name)))
    return max(found)[1] if found else None


def lines_of(rawhal, library, chip, option):
    done = subprocess.run([rawhal, "inspect", "--brief", option, "--target", chip, library], capture_output=True, text=True,
                          check=False)
    return done.stdout.splitlines()


def kernels_of(rawhal, library, chip, folder):
    """By names as in the source, without arguments: names as the runtime has them, and the file of the object. The objects
    of the chip are taken out of the library, which may have half a gigabyte."""
    mangled = lines_of(rawhal, library, chip, "--no-demangle")
    plain = lines_of(rawhal, library, chip, "--demangle")
    if mangled:
        subprocess.run([rawhal, "unpack", "--force", "--output", folder, "--target", chip, library],
                       stdout=subprocess.DEVNULL, check=True)
    names, file = {}, None
    for code, source in zip(mangled, plain):
        begins = re.match(r"object (\d+): ", source)
        if begins:
            file = os.path.join(folder, f"{os.path.basename(library)}-{begins.group(1)}-{chip}.co")
        match = re.match(r"\s+(?:void )?([\w:]+<[^()]*>)\(", source)
        if match:
            names[match.group(1)] = code.split()[0], file
    return names


def run_wheel(rawhal, chip, folder, wheel, library, parts):
    """Whether all are right, or None: nothing was launched."""
    import numpy
    from case import LANES
    from launches import run
    names = kernels_of(rawhal, library, chip, folder)
    name = f"{os.path.basename(library)}, {chip}"
    if not names:
        print(f"{name}: no object for this chip")
        return None
    lanes = LANES.get(chip, 32 if chip.startswith("gfx1") else 64)
    right, done = 0, []
    for index, launch in enumerate(wheel.launches(numpy.random.default_rng(SEED), lanes)):
        if parts and not any(part in launch.name for part in parts):
            continue
        mangled, file = names.get(launch.kernel, (None, None))
        stem = os.path.join(folder, f"{wheel.__name__}.{index}")
        wrong = run(rawhal, file, mangled, launch, stem) if mangled else "is not in the library"
        right += wrong is None
        done.append(launch.kernel)
        print(f"{launch.name}: {wrong or 'right'}", flush=True)
    print(f"{name}: {right} of {len(done)} launches right, of {len(set(done))} kernels of {len(names)}")
    return right == len(done) if done else None


def main():
    sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "triton")]
    import interpreter
    interpreter.change()
    rawhal, chip, folder, *parts = sys.argv[1:]
    wheels = os.environ.get("RAWHAL_WHEELS_DIR")
    if not wheels:
        print("skipped: RAWHAL_WHEELS_DIR says no folder with wheels")
        return SKIPPED
    try:
        import numpy  # noqa: F401
    except ImportError as reason:
        print(f"skipped: {reason}; RAWHAL_TRITON_PYTHON names an interpreter that can")
        return SKIPPED
    import bitsandbytes
    import onnxruntime
    from case import LISTED
    os.makedirs(folder, exist_ok=True)
    os.environ["SOFTGPU_CHIP"] = chip
    if chip in LISTED:
        os.environ.setdefault("SOFTGPU_LISTED", LISTED[chip])
    found = [(wheel, newest(wheels, wheel.LIBRARY)) for wheel in (bitsandbytes, onnxruntime)]
    results = [run_wheel(rawhal, chip, folder, wheel, library, parts) for wheel, library in found if library]
    if all(each is None for each in results):
        print("skipped: RAWHAL_WHEELS_DIR has no library with kernels for the chip")
        return SKIPPED
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
