#!/usr/bin/env python3
"""Kernels of a wheel as it ships, unmodified, run on softgpu by `rawhal run`, against numpy.

usage: run.py RAWHAL CHIP FOLDER [PART...]
    RAWHAL  the command
    CHIP    of softgpu; where the runtime does not know it, it is listed as another
    FOLDER  gets the buffers
    PART    of a kernel's name: only those that have one of them, unless there is none

RAWHAL_WHEELS_DIR names a folder with what is in bitsandbytes' wheel, at any depth, as `pip download` and `unzip` make it; of
several libraries, for several ROCm, it is the newest. Nothing of them runs but their kernels: no ROCm, no torch and no GPU
is needed. RAWHAL_TRITON_PYTHON names an interpreter that has numpy, if this one has none. Exits with 0 when all are right, 1
when not, and 77 (skipped) with the reason when there is nothing to run or no numpy. softgpu's variables hold here, too:
SOFTGPU_REFERENCE=1 for the reference engine."""
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
                found.append(([int(part) for part in match.groups()], os.path.join(path, name)))
    return max(found)[1] if found else None


def lines_of(rawhal, library, chip, option):
    done = subprocess.run([rawhal, "inspect", "--brief", option, "--target", chip, library], capture_output=True, text=True,
                          check=False)
    return done.stdout.splitlines()


def kernels_of(rawhal, library, chip):
    """Names as the runtime has them, by names as in the source, without arguments."""
    mangled = lines_of(rawhal, library, chip, "--no-demangle")
    plain = lines_of(rawhal, library, chip, "--demangle")
    names = {}
    for code, source in zip(mangled, plain):
        match = re.match(r"\s+(?:void )?(\w+<[^()]*>)\(", source)
        if match:
            names[match.group(1)] = code.split()[0]
    return names


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
        import numpy
    except ImportError as reason:
        print(f"skipped: {reason}; RAWHAL_TRITON_PYTHON names an interpreter that can")
        return SKIPPED
    import bitsandbytes
    from case import LANES, LISTED
    from launches import run
    library = newest(wheels, bitsandbytes.LIBRARY)
    if not library:
        print("skipped: RAWHAL_WHEELS_DIR has no library of bitsandbytes")
        return SKIPPED
    os.makedirs(folder, exist_ok=True)
    os.environ["SOFTGPU_CHIP"] = chip
    if chip in LISTED:
        os.environ.setdefault("SOFTGPU_LISTED", LISTED[chip])
    names = kernels_of(rawhal, library, chip)
    lanes = LANES.get(chip, 32 if chip.startswith("gfx1") else 64)
    right, done = 0, []
    for index, launch in enumerate(bitsandbytes.launches(numpy.random.default_rng(SEED), lanes)):
        if parts and not any(part in launch.name for part in parts):
            continue
        mangled = names.get(launch.kernel)
        wrong = run(rawhal, library, mangled, launch, os.path.join(folder, str(index))) if mangled else "is not in the library"
        right += wrong is None
        done.append(launch.kernel)
        print(f"{launch.name}: {wrong or 'right'}", flush=True)
    print(f"{os.path.basename(library)}, {chip}: {right} of {len(done)} launches right, of {len(set(done))} kernels of "
          f"{len(names)}")
    for name in sorted(set(names) - set(done)) if not parts else ():
        print(f"not launched: {name}")
    return 0 if right == len(done) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
