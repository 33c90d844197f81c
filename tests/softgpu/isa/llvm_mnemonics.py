#!/usr/bin/env python3
"""Holds the mnemonics of the description of the instruction set against LLVM's assembler: every one that it takes for a
chip is described, and every one that is described it takes.

usage: llvm_mnemonics.py GENERATED        (the folder softgpu/isa/describe/generated)

LLVM 22 is asked, which knows gfx950, and where it is not installed LLVM 19, which does not; the last line says which.

Assemblers do not list what they know. But the table of it is in libLLVM, names with their lengths before them, one after
the other; and of a name without operands the assembler says whether the chip has no such instruction, or what operands
are missing.
"""
import ctypes.util
import glob
import os
import re
import shutil
import subprocess
import sys

from described import described

CHIPS = {"22": {"gfx90a": 1, "gfx942": 2, "gfx950": 4}, "19": {"gfx90a": 1, "gfx942": 2}}
NAME = re.compile(rb"[a-z][a-z0-9_]*\Z")
SEED = b"v_accvgpr_read_b32"
FEWEST = {"22": 2500, "19": 2200}  # of all chips; fewer would be a table that was not found

# Other spellings of the assembler's, with what they are assembled to. Which of the two names of a matrix instruction is the
# other spelling depends on the chip.
ALIASES = {"v_mul_lo_i32": "v_mul_lo_u32"}
ALIASES.update({f"v_mfma_scale_{name}": f"v_mfma_{name}" for name in ("f32_16x16x128_f8f6f4", "f32_32x32x64_f8f6f4")})
for types, shapes in {
    "f32 f32": {"32x32x1": "2b", "16x16x1": "4b", "4x4x1": "16b", "32x32x2": "", "16x16x4": ""},
    "f32 f16": {"32x32x4": "2b", "16x16x4": "4b", "4x4x4": "16b", "32x32x8": "", "16x16x16": "", "16x16x32": "", "32x32x16": ""},
    "f32 bf16": {"32x32x4": "2b", "16x16x4": "4b", "4x4x4": "16b", "32x32x8": "", "16x16x16": "", "16x16x32": "", "32x32x16": ""},
    "i32 i8": {"32x32x4": "2b", "16x16x4": "4b", "4x4x4": "16b", "16x16x32": "", "32x32x16": "", "16x16x64": "", "32x32x32": ""},
    "f64 f64": {"4x4x4": "4b", "16x16x4": ""},
    "f32 xf32": {"16x16x8": "", "32x32x4": ""},
}.items():
    result, source = types.split()
    for shape, blocks in shapes.items():
        name = "_".join(part for part in ("v_mfma", result, shape, blocks, source) if part)
        ALIASES[f"v_mfma_{result}_{shape}{source}"] = name
        if source == "bf16":
            ALIASES[f"v_mfma_{result}_{shape}{source}_1k"] = name

# What the two disagree about: (LLVM's version, chip): names.
NOT_DESCRIBED = {
    ("19", "gfx942"): {"buffer_store_lds_dword"},  # LLVM 22 has it for gfx90a alone
}
NOT_LLVMS = {
    ("22", "gfx942"): {"buffer_wbinvl1", "buffer_wbinvl1_vol"},  # LLVM 19 has them
    ("22", "gfx950"): {"buffer_wbinvl1", "buffer_wbinvl1_vol"},
}


def library(version):
    found = glob.glob(f"/usr/lib/llvm-{version}/lib/libLLVM*.so*") + glob.glob(f"/usr/lib/*/libLLVM*.so.{version}*")
    found = [os.path.realpath(path) for path in found]
    return found[0] if found else ctypes.util.find_library(f"LLVM-{version}")


def chain(data, at):
    """The names of the table around the one whose length is at `at`."""
    names, end, begin = [], at, at
    while end < len(data) and NAME.match(data[end + 1:end + 1 + data[end]]):
        names.append(data[end + 1:end + 1 + data[end]])
        end += 1 + data[end]
    while True:
        length = next((n for n in range(1, 96) if data[begin - 1 - n] == n and NAME.match(data[begin - n:begin])), 0)
        if not length:
            return {name.decode() for name in names}
        names.append(data[begin - length:begin])
        begin -= 1 + length


def mnemonics(version):
    with open(library(version), "rb") as file:
        data = file.read()
    seed, best, at = bytes([len(SEED)]) + SEED, set(), -1
    while (at := data.find(seed, at + 1)) >= 0:
        best = max(best, chain(data, at), key=len)
    return sorted(best)


def taken(version, chip, names):
    """Those of the names that are instructions of the chip, without the suffixes of encodings."""
    done = subprocess.run([f"llvm-mc-{version}", "--triple=amdgcn-amd-amdhsa", f"--mcpu={chip}"],
                          input="\n".join(names) + "\n", capture_output=True, text=True)
    refused = set()
    for number, message in re.findall(r"<stdin>:(\d+):\d+: error: (.*)", done.stderr):
        if message.startswith("instruction not supported on this GPU"):
            refused.add(int(number))
        elif not re.match("too few operands|invalid operand|expected", message):
            sys.exit(f"LLVM {version}, {chip}: '{names[int(number) - 1]}': {message}")
    found = {name for number, name in enumerate(names, 1) if number not in refused}
    return {re.sub(r"_(e32|e64|sdwa|dpp)$", "", name) for name in found}


def described_names(folder, mask):
    names = dict(re.findall(r"ISA_MNEMONIC\((\w+), (\w+)\)", open(os.path.join(folder, "mnemonics.inc")).read()))
    return {names[key[2]] for key, chips in described(os.path.join(folder, "opcodes.inc")).items() if chips & mask}


def main(folder):
    version = next((v for v in CHIPS if shutil.which(f"llvm-mc-{v}") and library(v)), None)
    if not version:
        sys.exit("neither llvm-mc-22 nor llvm-mc-19 is installed with its libLLVM")
    names = mnemonics(version)
    if len(names) < FEWEST[version]:
        sys.exit(f"{len(names)} mnemonics in {library(version)}")
    findings = []
    for chip, mask in CHIPS[version].items():
        ours, theirs = described_names(folder, mask), taken(version, chip, names)
        unknown = {name for name in theirs - ours if ALIASES.get(name) not in ours}
        for what, some, expected in (("not described", unknown, NOT_DESCRIBED.get((version, chip), set())),
                                     ("not LLVM's", ours - theirs, NOT_LLVMS.get((version, chip), set()))):
            findings += [f"{chip}: {name}: {what}" for name in sorted(some - expected)]
            findings += [f"{chip}: {name}: no longer {what}" for name in sorted(expected - some)]
        print(f"{chip}: {len(theirs)} mnemonics of LLVM {version}, {len(ours)} described")
    if findings:
        sys.exit("\n".join(findings))
    print(f"held against LLVM {version}")


if __name__ == "__main__":
    main(sys.argv[1])
