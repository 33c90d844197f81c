#!/usr/bin/env python3
"""Holds the description of gfx1030's instructions against LLVM 22's disassembler, as llvm_opcodes.py does GFX9's: which
opcodes every encoding has, with which operands, modifiers and other forms. Images, interpolation and exports, which
kernels do not use, are not described.

usage: gfx10_opcodes.py GENERATED        (generated/gfx10 of softgpu/isa/describe; needs llvm-mc-22)

It asks in wave64, in which masks of lanes are pairs of registers, as the description has them.
"""
import os
import re
import sys

import llvm_opcodes as gfx9
from described import compare, described
from llvm_opcodes import FIELDS, S1, S_DST, S_SRC0, V0, V1, V2, V_DST, V_SRC0, V_SRC1, vmem

CHIPS = (("gfx1030", 1),)
TOOL = ("llvm-mc-22", "--mattr=+wavefrontsize64")
S_MOV_B32, NULL, EXEC = 3, 0x7D, 0x7E


def disassemble(chip, words):
    return gfx9.disassemble(chip, words, TOOL, S_MOV_B32)


def vop3(op, src0, src1, src2, extra=0, dst=V_DST):
    return [0xD4000000 | op << 16 | extra | dst, src0 | src1 << 9 | src2 << 18]


def smem(op, data, base, offset):
    return [0xF4000000 | op << 18 | data * S_DST << 6 | base * S_SRC0 >> 1, offset * 0x10 | offset * NULL << 25]


def buffer(prefix, op, address, data, soffset, lds=0):
    format_ = 22 << 19 | (op & 7) << 16 if prefix == 0xE8000000 else op << 18
    high = (op >> 3) << 21 if prefix == 0xE8000000 else 0
    return [prefix | format_ | soffset << 12 | lds << 16,
            address * V_SRC0 | data * V_DST << 8 | soffset * S_SRC0 >> 2 << 16 | soffset << 31 | high]


def flat(segment):
    return [lambda op, g=g, f=f: vmem(0xDC000000 | segment << 14 | op << 18 | g << 16, f, NULL)
            for g in (1, 0) for f in FIELDS if not f[2]]


FORMS = ((1, 1, 1), (1, 0, 1), (0, 0, 0))
PROBES = {
    "SOP1": gfx9.PROBES["SOP1"],
    "SOP2": gfx9.PROBES["SOP2"],
    "SOPK": (0x1D, [*gfx9.PROBES["SOPK"][1], lambda op: [0xB0000000 | op << 23 | 0x1004]]),
    "SOPC": gfx9.PROBES["SOPC"],
    "SOPP": gfx9.PROBES["SOPP"],
    "SMEM": (0x100, [lambda op, f=f: smem(op, *f) for f in ((1, 1, 1), (1, 0, 0), (0, 1, 1), (0, 0, 0))]),
    "VOP1": gfx9.PROBES["VOP1"],
    "VOP2": gfx9.PROBES["VOP2"],
    "VOPC": gfx9.PROBES["VOPC"],
    "VOP3": (0x400, [lambda op, s=s: vop3(op, *s, extra=S_DST << 8) for s in ((V0, V1, V2), (V0, V1, 96), (V0, V1, 0))]
             + [lambda op, s=s, dst=dst: vop3(op, *s, dst=dst) for dst in (V_DST, EXEC) for s in gfx9.VOP3_SOURCES + [(V0, S1, 96)]]
             + [lambda op: vop3(op, 0, 0, 0, dst=0)]),
    "VOP3P": (0x80, [lambda op, s=s, m=m: [0xCC000000 | m[0] | op << 16 | V_DST, m[1] | s[0] | s[1] << 9 | s[2] << 18]
                     for m in ((0x4000, 0x18000000), (0, 0x18000000), (0, 0x08000000), (0, 0))
                     for s in ((V0, V1, V2), (V0, V1, 0), (V0, 0, 0))]),
    "DS": (0x100, [lambda op, f=f, gds=gds: vmem(0xD8000000 | op << 18 | gds << 17, f) for gds in (0, 1) for f in FIELDS]),
    "FLAT": (0x80, flat(0)),
    "GLOBAL": (0x80, flat(2)),
    "SCRATCH": (0x80, flat(1)),
    "MUBUF": (0x100, [lambda op, f=f: buffer(0xE0000000, op, *f) for f in FORMS]
              + [lambda op: buffer(0xE0000000, op, 0, 0, 1, lds=1)]),
    "MTBUF": (0x10, [lambda op, f=f: buffer(0xE8000000, op, *f) for f in FORMS]),
}


def spelled(folder):
    """The rows by the names that the family has for them."""
    names = dict(re.findall(r"ISA_MNEMONIC\((\w+), (\w+)\)", open(os.path.join(folder, "..", "mnemonics.inc")).read()))
    names.update(re.findall(r'\[ISA_(\w+)\] = "(\w+)"', open(os.path.join(folder, "spellings.inc")).read()))
    rows = described(os.path.join(folder, "opcodes.inc"))
    return {(*key[:2], names.get(key[2], key[2]), *key[3:]): chips for key, chips in rows.items()}


def enumerated(chips, *how):
    """{row: bits of the chips that have it}, as spelled() has them."""
    rows = {}
    for chip, bit in chips:
        for (encoding, op), (name, flags, widths) in gfx9.enumerate_chip(chip, *how).items():
            if name.startswith("v_interp_"):
                continue
            key = (encoding, op, name, frozenset(flags), tuple(widths))
            rows[key] = rows.get(key, 0) | bit
    return rows


def main():
    compare(enumerated(CHIPS, PROBES, disassemble), spelled(sys.argv[1]), sum(bit for _, bit in CHIPS))


if __name__ == "__main__":
    main()
