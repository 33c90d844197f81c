#!/usr/bin/env python3
"""Holds the description of gfx1100's and gfx1151's instructions against LLVM 22's disassembler, as gfx10_opcodes.py does
gfx1030's; besides, which operands are halves of registers, and which encodings of 64 bits may have DPP.

usage: gfx11_opcodes.py GENERATED        (generated/gfx11 of softgpu/isa/describe; needs llvm-mc-22)
"""
import sys

import llvm_opcodes as gfx9

# Halves of registers have numbers of seven bits in encodings of 32 bits.
gfx9.V_SRC1 = 96
V0, V1, V2, S1 = 256 + 64, 256 + 96, 256 + 192, 64
gfx9.V0, gfx9.V1, gfx9.V2 = V0, V1, V2

import gfx10_opcodes as gfx10
from described import compare
from llvm_opcodes import FIELDS, S_DST, S_SRC0, V_DST, V_SRC0

CHIPS = (("gfx1100", 1), ("gfx1151", 2))
NULL, EXEC = 0x7C, 0x7E
TOOL = ("llvm-mc-22", "--mattr=+wavefrontsize64,+real-true16")
V_SRC1 = 96


def disassemble(chip, words):
    return gfx9.disassemble(chip, words, TOOL, 0)


def vmem(low, fields, saddr=0):
    a, b, c, d = fields
    return [low, a * V_SRC0 | b * V_SRC1 << 8 | c * 192 << 16 | saddr << 16 | d * V_DST << 24]


def smem(op, data, base, offset):
    return [0xF4000000 | op << 18 | data * S_DST << 6 | base * S_SRC0 >> 1, offset * 0x10 | offset * NULL << 25]


def buffer(prefix, op, address, data, soffset):
    format_ = 22 << 19 | op << 15 if prefix == 0xE8000000 else op << 18
    offen = soffset << 22
    return [prefix | format_, address * V_SRC0 | data * V_DST << 8 | soffset * S_SRC0 >> 2 << 16 | soffset << 31 | offen]


def flat(segment):
    sve = segment == 1
    return [lambda op, g=g, f=f, v=v: vmem(0xDC000000 | segment << 16 | op << 18 | g << 14, f, NULL | v << 7)
            for g in (1, 0) for v in (sve, 0)[:1 + sve] for f in FIELDS if not f[2]]


SOURCES = [(V0, V1, V2), (V0, S1, V2), (S_SRC0, S1, V2), (V0, V1, 96), (V0, S1, 96), (S_SRC0, S1, 96),
           (V0, V1, 0), (V0, S1, 0), (S_SRC0, S1, 0), (V0, 0, 0), (S_SRC0, 0, 0), (0, 0, 0)]
FORMS = ((1, 1, 1), (1, 0, 1), (0, 0, 0))
vop3 = gfx10.vop3
PROBES = {
    "SOP1": gfx9.PROBES["SOP1"],
    "SOP2": (0x60, [*gfx9.PROBES["SOP2"][1], lambda op: [0x80000000 | op << 23 | S_DST << 16 | 64 << 8 | S_SRC0, 0x12345678]]),
    "SOPK": gfx10.PROBES["SOPK"],
    "SOPC": gfx9.PROBES["SOPC"],
    "SOPP": gfx9.PROBES["SOPP"],
    "SMEM": (0x100, [lambda op, f=f: smem(op, *f) for f in ((1, 1, 1), (1, 0, 0), (0, 1, 1), (0, 0, 0))]),
    "VOP1": (0x80, [lambda op: [0x7E000000 | V_DST << 17 | op << 9 | V0], lambda op: [0x7E000000 | V_DST << 17 | op << 9 | S_SRC0],
                    lambda op: [0x7E000000 | op << 9]]),
    "VOP2": (0x3E, [lambda op: [op << 25 | V_DST << 17 | V_SRC1 << 9 | V0],
                    lambda op: [op << 25 | V_DST << 17 | V_SRC1 << 9 | V0, 0x12345678]]),
    "VOPC": (0x100, [lambda op: [0x7C000000 | op << 17 | V_SRC1 << 9 | V0]]),
    "VOP3": (0x400, [lambda op, s=s: vop3(op, *s, extra=S_DST << 8) for s in ((V0, V1, V2), (V0, V1, 96), (V0, V1, 0))]
             + [lambda op, s=s, dst=dst: vop3(op, *s, dst=dst) for dst in (V_DST, EXEC) for s in SOURCES]
             + [lambda op: vop3(op, 0, 0, 0, dst=0)]),
    "VOP3P": gfx10.PROBES["VOP3P"],
    "DS": (0x100, [lambda op, f=f, gds=gds: vmem(0xD8000000 | op << 18 | gds << 17, f) for gds in (0, 1) for f in FIELDS]),
    "FLAT": (0x80, flat(0)),
    "GLOBAL": (0x80, flat(2)),
    "SCRATCH": (0x80, flat(1)),
    "MUBUF": (0x100, [lambda op, f=f: buffer(0xE0000000, op, *f) for f in FORMS]),
    "MTBUF": (0x10, [lambda op, f=f: buffer(0xE8000000, op, *f) for f in FORMS]),
}


def named_halves():
    """{number: mnemonic} of what instructions of VOPD can do: the second half knows all of it."""
    names, tool = {}, ("llvm-mc-22", "--mattr=+wavefrontsize32")
    for src1 in (10, 0):  # 0 where there is none; the other half is an addition
        words = [[0xC9000504 | y << 17, 0x0610000D | src1 << 9, 0x12345678] for y in range(32)]
        for y, text in enumerate(gfx9.disassemble(CHIPS[0][0], words, tool, 0)):
            if text and y not in names:
                names[y] = text.split(" :: ")[1].split()[0].replace("v_dual_", "v_")
    return names


def main():
    rows = gfx10.enumerated(CHIPS, PROBES, disassemble, True)
    known = gfx10.spelled(sys.argv[1])
    halves = {key[1]: key[2] for key in known if key[0] == "VOPD"}
    if halves != named_halves():
        sys.exit(f"VOPD: {sorted(halves.items() ^ named_halves().items())}")
    rest = {key: chips for key, chips in known.items() if key[0] != "VOPD"}
    compare(rows, rest, sum(bit for _, bit in CHIPS))


if __name__ == "__main__":
    main()
