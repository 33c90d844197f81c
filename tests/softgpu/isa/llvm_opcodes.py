#!/usr/bin/env python3
"""Holds the description of the instruction set against LLVM's disassembler: which opcodes every GFX9 encoding has on
gfx90a and gfx942, with which operands, modifiers and other forms.

usage: llvm_opcodes.py OPCODES_INC        (generated/opcodes.inc of softgpu/isa/describe; needs llvm-mc-19)

Each opcode is disassembled with a different register in each operand field, so that the text tells which fields the
instruction uses and how many dwords each one is. MIMG's data are as wide as its dmask says, its address as the image's
shape: here 1.
"""
import re
import struct
import subprocess
import sys
import tempfile

from described import compare, described

CHIPS = (("gfx90a", 1), ("gfx942", 2))
BATCH = 20000
# Register numbers of the probes, one per field; a multiple of 4 each, and far enough apart for the widest operands.
S_DST, S_SRC0, S_SRC1 = 8, 32, 64
V_DST, V_SRC0, V_SRC1, V_SRC2 = 32, 64, 128, 192


def run_llvm(chip, blocks, tool=("llvm-mc-19",), s_mov_b32=0):
    """Text per block of bytes, None for what is not an instruction. A crash of LLVM is narrowed down by halving. The number
    of s_mov_b32 is the chip's."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        for number, block in enumerate(blocks):
            marker = struct.pack("<II", 0xBE8000FF | s_mov_b32 << 8, 0x40000 + number)  # s_mov_b32 s0, literal
            for data in (marker, block):
                file.write("[" + " ".join(f"0x{b:02x}" for b in data) + "]\n")
        file.flush()
        done = subprocess.run([*tool, "--disassemble", "--triple=amdgcn-amd-amdhsa", f"--mcpu={chip}", file.name],
                              capture_output=True, text=True)
    if done.returncode < 0:
        if len(blocks) == 1:
            return [None]
        half = len(blocks) // 2
        return run_llvm(chip, blocks[:half], tool, s_mov_b32) + run_llvm(chip, blocks[half:], tool, s_mov_b32)
    out, number = [None] * len(blocks), -1
    for line in done.stdout.split("\n"):
        line = line.strip()
        marker = re.match(r"s_mov_b32 s0, 0x4([0-9a-f]{4})$", line)
        if marker:
            number = int(marker.group(1), 16)
        elif number >= 0 and line and out[number] is None:
            out[number] = re.sub(r"\s*(;|//).*", "", line)
    return out


def disassemble(chip, words, *how):
    blocks = [struct.pack(f"<{len(w)}I", *w) for w in words]
    out = []
    for at in range(0, len(blocks), BATCH):
        out += run_llvm(chip, blocks[at:at + BATCH], *how)
    return out


def mnemonic_of(text):
    return re.sub(r"_(e32|e64|sdwa|dpp|e64_dpp)$", "", text.split()[0])


def registers(text):
    """{(file, first): dwords} of the register operands of a disassembled instruction, and the operand strings."""
    found, operands = {}, [o.strip() for o in text.partition(" ")[2].split(",")]
    for file, low, high, single in re.findall(r"(?<![\w.])([vas])(?:\[(\d+):(\d+)\]|(\d+))(?:\.[lh])?(?![\w.])", text.partition(" ")[2]):
        first = int(single or low)
        found[file, first] = 1 if single else int(high) - first + 1
    return found, operands


def width(found, files, first):
    return next((found[f, first] for f in files if (f, first) in found), 0)


# --- probes: encoding -> (number of opcodes, list of variants); a variant builds the words from the opcode --------------

def vop3(op, src0, src1, src2, extra=0, dst=V_DST):
    return [0xD0000000 | op << 16 | extra | dst, src0 | src1 << 9 | src2 << 18]


V0, V1, V2, S0, S1 = 256 + V_SRC0, 256 + V_SRC1, 256 + V_SRC2, S_SRC0, S_SRC1
# The disassembler wants fields that an instruction does not use to be 0, hence the variants with fewer fields.
VOP3_SOURCES = [(V0, V1, V2), (V0, S1, V2), (S0, S1, V2), (V0, V1, 96), (S0, S1, 96),
                (V0, V1, 0), (V0, S1, 0), (S0, S1, 0), (V0, 0, 0), (S0, 0, 0), (0, 0, 0)]
FIELDS = sorted(((a, b, c, d) for a in (1, 0) for b in (1, 0) for c in (1, 0) for d in (1, 0)), key=sum, reverse=True)


def vmem(low, fields, saddr=0):
    a, b, c, d = fields
    return [low, a * V_SRC0 | b * V_SRC1 << 8 | c * V_SRC2 << 16 | saddr << 16 | d * V_DST << 24]


def flat(segment, saddr):
    sve = segment == 1  # gfx942: scratch with a VGPR address says so in the bit that is lds elsewhere
    return [lambda op, g=g, f=f, l=l: vmem(0xDC000000 | segment << 14 | l << 13 | op << 18 | g << 16, f, saddr)
            for g in (1, 0) for l in (sve, 0)[:1 + sve] for f in FIELDS if not f[2]]


def buffer(low, op_at):  # offen and soffset = inline 0 in all but the last, which are cache operations
    return [lambda op, a=a, d=d, s=s: [low | s << 12 | op << op_at, a * V_SRC0 | d * V_DST << 8 | s * S_SRC0 >> 2 << 16 | s << 31]
            for a, d, s in ((1, 1, 1), (1, 0, 1), (0, 0, 0))]


PROBES = {  # in the order of isa_encoding_t: the decoder searches the sorted rows
    "SOP1": (0x100, [lambda op: [0xBE800000 | S_DST << 16 | op << 8 | S_SRC0]]),
    "SOP2": (0x60, [lambda op: [0x80000000 | op << 23 | S_DST << 16 | S_SRC1 << 8 | S_SRC0]]),
    "SOPK": (0x1D, [lambda op: [0xB0000000 | op << 23 | S_DST << 16 | 0x1004],
                    lambda op: [0xB0000000 | op << 23 | S_DST << 16 | 0x1004, 0x12345678]]),
    "SOPC": (0x80, [lambda op: [0xBF000000 | op << 16 | S_SRC1 << 8 | S_SRC0]]),
    "SOPP": (0x80, [lambda op: [0xBF800000 | op << 16]]),
    "SMEM": (0x100, [lambda op, d=d, b=b, o=o: [0xC0000000 | o << 17 | op << 18 | d * S_DST << 6 | b * S_SRC0 >> 1, o * 0x10]
                     for d, b, o in ((1, 1, 1), (1, 0, 0), (0, 1, 1), (0, 0, 0))]),
    "VOP1": (0x100, [lambda op: [0x7E000000 | V_DST << 17 | op << 9 | V0], lambda op: [0x7E000000 | V_DST << 17 | op << 9 | S0],
                      lambda op: [0x7E000000 | op << 9]]),
    "VOP2": (0x3E, [lambda op: [op << 25 | V_DST << 17 | V_SRC1 << 9 | V0],
                    lambda op: [op << 25 | V_DST << 17 | V_SRC1 << 9 | V0, 0x12345678]]),
    "VOPC": (0x100, [lambda op: [0x7C000000 | op << 17 | V_SRC1 << 9 | V0]]),
    "VOP3": (0x380, [lambda op, s=s: vop3(op, *s, extra=S_DST << 8) for s in ((V0, V1, V2), (V0, V1, 96), (V0, V1, 0))]
             + [lambda op, s=s: vop3(op, *s) for s in VOP3_SOURCES] + [lambda op: vop3(op, 0, 0, 0, dst=0)]),
    "VOP3P": (0x80, [lambda op, s=s, m=m: [0xD3800000 | m[0] | op << 16 | V_DST, m[1] | s[0] | s[1] << 9 | s[2] << 18]
                     for m in ((0x4000, 0x18000000), (0, 0x10000000), (0, 0x08000000), (0, 0))
                     for s in ((V0, V1, V2), (V0, V1, 0), (V0, 0, 0))]),
    "DS": (0x100, [lambda op, f=f: vmem(0xD8000000 | op << 17, f) for f in FIELDS]
           + [lambda op, f=f: vmem(0xD8010000 | op << 17, f) for f in FIELDS]),
    "FLAT": (0x80, flat(0, 0)),
    "GLOBAL": (0x80, flat(2, 0x7F)),
    "SCRATCH": (0x80, flat(1, 0x7F)),
    "MUBUF": (0x80, buffer(0xE0000000, 18) + [lambda op: [0xE0010000 | op << 18, S_SRC0 >> 2 << 16 | 1 << 31]]),  # lds
    "MTBUF": (0x10, buffer(0xE8780000, 15)),
    "MIMG": (0x80, [lambda op, s=s: [0xF0000100 | op << 18, V_SRC0 | V_DST << 8 | S_SRC0 >> 2 << 16 | s >> 2 << 21]
                    for s in (S_SRC1, 0)]),
}
MEMORY = ("FLAT", "GLOBAL", "SCRATCH")


def shape(encoding, text):
    """(flags, dst, sdst, src0, src1, src2) of a probe's text."""
    found, operands = registers(text)
    name, flags = mnemonic_of(text), set()
    v = lambda first: width(found, "va", first)
    s = lambda first: width(found, "s", first)
    if encoding in ("SOP1", "SOP2", "SOPC", "SOPK"):
        if "0x12345678" in text:
            flags.add("LITERAL")
        return flags, s(S_DST), 0, s(S_SRC0), s(S_SRC1), 0
    if encoding == "SOPP":
        return flags, 0, 0, 0, 0, 0
    if encoding == "SMEM":
        store = re.search("store|atomic", name)
        return flags, 0 if store else s(S_DST), s(S_SRC0), s(S_DST) if store else 0, 0, 0
    if encoding == "DS":
        return flags, v(V_DST), 0, v(V_SRC1), v(V_SRC2), v(V_SRC0)
    if encoding in MEMORY:
        return flags, v(V_DST), 0, v(V_SRC1), 0, v(V_SRC0)
    if encoding in ("MUBUF", "MTBUF"):
        load = "load" in name
        return flags, v(V_DST) if load else 0, s(S_SRC0), 0 if load else v(V_DST), 0, v(V_SRC0)
    if encoding == "MIMG":
        load = re.search("load|sample|get", name)
        return flags, v(V_DST) if load else 0, s(S_SRC0), 0 if load else v(V_DST), s(S_SRC1), v(V_SRC0)
    if "0x12345678" in text:
        flags.add("LITERAL")
    if operands[-1] == "vcc" and encoding == "VOP2":
        flags.add("CARRY_IN")
    if encoding == "VOP2" and operands[1] == "vcc":
        flags.add("CARRY_OUT")
    if encoding == "VOP3" and s(S_DST):
        flags.add("VOP3B")
    dst = v(V_DST)
    if not dst and s(V_DST):
        dst = s(V_DST)
        flags.add("DST_SGPR")
    if re.match(r"v_(fmac|mac|pk_fmac|dot\d(c|acc))_", name):
        flags.add("TIED")
    src0 = v(V_SRC0) or s(S_SRC0)
    if encoding == "VOP1" and "DST_SGPR" in flags and V_DST == S_SRC0:
        src0 = v(V_SRC0) or dst
    names = {V_DST: "HALF_DST", V_SRC0: "HALF_0", V_SRC1: "HALF_1", V_SRC2: "HALF_2"}
    flags |= {names[int(number)] for number in re.findall(r"\bv(\d+)\.[lh]", text)}
    if encoding == "VOP3P" and re.match("v_(mfma|smfmac|accvgpr)", name):
        flags.add("MAI")
    return flags, dst, s(S_DST), src0, v(V_SRC1) or s(S_SRC1), v(V_SRC2) or s(96)


def vop_variants(chip, encoding, ops, ask):
    """Ops of VOP1/VOP2/VOPC with an SDWA and a DPP form."""
    build = {"VOP1": lambda op, src: 0x7E000000 | V_DST << 17 | op << 9 | src,
             "VOP2": lambda op, src: op << 25 | V_DST << 17 | V_SRC1 << 9 | src,
             "VOPC": lambda op, src: 0x7C000000 | op << 17 | V_SRC1 << 9 | src}[encoding]
    out = {op: set() for op in ops}
    selects = {"VOP1": 0x00060600, "VOP2": 0x06060600, "VOPC": 0x06060000}[encoding]
    for name, src, tail in (("SDWA", 0xF9, selects | V_SRC0), ("DPP", 0xFA, 0xFF00E400 | V_SRC0)):
        for op, text in zip(ops, ask(chip, [[build(op, src), tail] for op in ops])):
            if text and (name.lower() in text.split()[0] or name == "DPP" and "quad_perm:" in text):
                out[op].add(name)
    return out


def modifiers(chip, encoding, words, ask):
    """Which modifier fields of VOP3/VOP3P the instruction has, per word pair."""
    bits = {"VOP3": {"NEG": (0, 1 << 29, r"-[vs](64|32|\[64|\[32)"), "ABS": (1 << 8, 0, r"\|"), "OMOD": (0, 1 << 27, "mul:2"),
                     "CLAMP": (1 << 15, 0, "clamp"), "OP_SEL": (1 << 11, 0, "op_sel:")},
            "VOP3P": {"NEG": (0, 1 << 29, "neg_lo:|-v"), "NEG_HI": (1 << 8, 0, "neg_hi:"), "ABS": (1 << 8, 0, r"\|"), "CLAMP": (1 << 15, 0, "clamp"),
                      "OP_SEL": (1 << 11, 0, "op_sel:"), "OP_SEL_HI": (0x4000, 0x18000000, "op_sel_hi:"),
                      "CBSZ": (1 << 8, 0, "cbsz:"), "BLGP": (0, 1 << 29, "blgp:")}}[encoding]
    out = [set() for _ in words]
    for name, (low, high, expect) in bits.items():
        probes = [[w[0] ^ low, w[1] ^ high] for w in words]
        for at, text in enumerate(ask(chip, probes)):
            if text and re.search(expect, text):
                out[at].add(name)
    return out


def long_dpp(chip, words, ask):
    """Which of them have DPP in 64 bits."""
    probes = [[w[0], w[1] & ~511 | 250, 0xFF00E400 | V_SRC0] if w[1] & 511 == V0 else w for w in words]
    return [bool(text) and "quad_perm" in text for text in ask(chip, probes)]


def enumerate_chip(chip, probes=None, ask=disassemble, has_long_dpp=False):
    """{(encoding, op): (mnemonic, flags, widths)}"""
    table = {}
    for encoding, (count, variants) in (probes or PROBES).items():
        used = {}
        texts = iter(ask(chip, [build(op) for build in variants for op in range(count)]))
        for build in variants:
            for op, text in zip(range(count), texts):
                if (encoding, op) in table and encoding not in MEMORY:
                    continue  # an earlier variant showed more of it
                if not text or text.endswith(" lds") and encoding == "SCRATCH":
                    continue
                flags, *widths = shape(encoding, text)
                if encoding == "VOP3" and "VOP3B" not in flags and build(op)[0] & 0x7F00:
                    continue  # those bits are abs and op_sel here: the other variant
                if encoding in ("SOPK", "VOP2") and len(build(op)) == 2 and "LITERAL" not in flags:
                    continue
                if (encoding, op) in table:  # the form without glc: no result
                    if "atomic" in text and widths[0] == 0 and table[encoding, op][2][0]:
                        table[encoding, op][1].add("GLC_RETURNS")
                    continue
                table[encoding, op] = (mnemonic_of(text), flags, widths)
                used[op] = build(op)
        if encoding in ("VOP1", "VOP2", "VOPC"):
            for op, flags in vop_variants(chip, encoding, sorted(used), ask).items():
                table[encoding, op][1].update(flags)
        if encoding in ("VOP3", "VOP3P"):
            ops = sorted(used)
            for op, flags in zip(ops, modifiers(chip, encoding, [used[op] for op in ops], ask)):
                table[encoding, op][1].update(flags)
            if has_long_dpp:
                for op, has in zip(ops, long_dpp(chip, [used[op] for op in ops], ask)):
                    table[encoding, op][1].update({"DPP"} if has else ())
    return table


# buffer_store_lds_dword, which LLVM 22 has for gfx90a alone.
CORRECTED = {("MUBUF", 0x3D): 1}


def main():
    rows = {}
    for chip, bit in CHIPS:
        for (encoding, op), (name, flags, widths) in enumerate_chip(chip).items():
            key = (encoding, op, name, frozenset(flags), tuple(widths))
            if bit & CORRECTED.get((encoding, op), bit):
                rows[key] = rows.get(key, 0) | bit
    compare(rows, described(sys.argv[1]), sum(bit for _, bit in CHIPS))


if __name__ == "__main__":
    main()
